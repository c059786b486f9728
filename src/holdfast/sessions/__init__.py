"""Events in, one session out: title, tasks, outcome, kind, cost, files; and the store of what was read."""
