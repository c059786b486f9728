"""Figures over ledger rows, and over what memory was worth."""
