"""`holdfast statusline`: prints Claude Code's status line, without loading the application."""

from __future__ import annotations

from holdfast.terminal.options import Machine, Namespace

DESCRIPTION = """Reads what Claude Code gives its status line as JSON from standard input and prints one line: what is
open in this project, how many lines the session was told, what it costs so far and under what nine of ten of its like
stay. Where memory is not enabled it prints nothing. `holdfast agents install claude-code --status-line` sets it up."""
EXAMPLES = """examples:
  echo '{"session_id": "847ff7d2"}' | holdfast statusline
"""


def run(options: Namespace, machine: Machine) -> None:
    """Does not return."""
    from holdfast.hooks.statusline import run as show

    show()
