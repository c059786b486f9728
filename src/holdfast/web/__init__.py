"""The page of `holdfast ui`: parses what a browser asks, calls what the command line calls, and renders."""
