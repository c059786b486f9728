"""The protocols in which clients ask their models: what a request says, and how an answer looks."""
