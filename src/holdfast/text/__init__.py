"""Markdown and words to values and back: pure, round-trip tested."""
