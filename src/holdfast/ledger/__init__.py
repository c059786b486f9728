"""Ledger rows to markdown and back, and the figures and advice that rest on them."""
