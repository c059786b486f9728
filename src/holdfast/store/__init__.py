"""The only code that writes what a person owns."""
