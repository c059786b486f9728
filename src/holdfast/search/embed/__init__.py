"""Ways to turn text into vectors: the table that holdfast ships, and the model it was distilled from."""
