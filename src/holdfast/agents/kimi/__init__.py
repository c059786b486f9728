"""Kimi Code."""
