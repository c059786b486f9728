"""Decides what an agent sees, and why: at start, prompt and tool call; search index, recall, the hooks' file."""
