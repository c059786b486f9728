"""One memory on several machines, and what a team shares: entries, their merge, and the ways they travel."""
