"""Use cases: the only place where rooms meet."""
