"""Holdfast beside what a user would pick instead, on the same histories: `make bench-peers`."""
