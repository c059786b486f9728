"""What crosses rooms, one use case per module."""
