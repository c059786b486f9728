"""A running session handed over to another agent: what it needs to go on, and the client started with it."""
