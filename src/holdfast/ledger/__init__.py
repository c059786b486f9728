"""Reads and writes the ledger as markdown, and computes figures and advice from it."""
