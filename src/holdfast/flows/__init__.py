"""The use cases, one per module; each combines several packages."""
