"""holdfast: memory that every coding agent shares."""

__version__ = "0.1.0"
