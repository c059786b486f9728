"""The address that installed hosts know: hook_entry.py. The code is in hooks/."""
