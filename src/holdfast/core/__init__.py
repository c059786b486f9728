"""Standard library only, imported by hooks and by every room: git, places, shell lines, words, the fence, files, errors."""
