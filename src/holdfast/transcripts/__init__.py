"""Agents' own session files to events, one module per agent."""
