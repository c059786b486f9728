"""Figures over ledger rows."""
