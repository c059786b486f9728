"""Addresses that installations of 0.1 know: capture.py and opencode_plugin.js. The code is in flows/ and agents/."""
