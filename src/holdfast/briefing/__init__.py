"""What an agent sees and why: start, prompt, file and command; the search index and recall; the hooks' file."""
