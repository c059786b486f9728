"""Knowledge about a repository from its checkout and git history, and live context."""
