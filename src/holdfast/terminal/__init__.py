"""The terminal: options, output, pager, progress, questions, and how a command runs. It knows no command."""
