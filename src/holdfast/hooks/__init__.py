"""The hook process: standard library only, reads one prepared file, and never disturbs the host."""
