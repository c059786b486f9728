"""One folder per agent: its reader (transcript to events) and its host (configuration with our hooks and without)."""
