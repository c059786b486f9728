"""The hook process: standard library only, one prepared file to read, and no way to disturb the host."""
