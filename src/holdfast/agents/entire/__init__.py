"""Entire checkpoints."""
