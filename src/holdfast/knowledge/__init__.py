"""What a checkout and its git history say of themselves, and live context."""
