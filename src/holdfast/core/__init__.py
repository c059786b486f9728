"""Standard library only, for hooks and for every room: git, places, shell lines, words, files, errors."""
