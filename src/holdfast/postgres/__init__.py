"""A PostgreSQL server for a team that outgrew one machine: its schema, who may see what, and search over all of it."""
