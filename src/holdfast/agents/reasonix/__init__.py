"""Reasonix."""
