"""The address that hooks of 0.1 know: capture.py. The code is in flows/capture_child.py."""
