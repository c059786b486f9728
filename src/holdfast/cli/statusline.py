"""`holdfast statusline`: prints Claude Code's status line, without loading the application."""

from __future__ import annotations

from holdfast.terminal.options import Machine, Namespace

DESCRIPTION = """Reads Claude Code's status line JSON from standard input and prints one line: what is open in this
project, how many lines the session saw, its cost so far, and the cost that 90% of similar sessions stay under.
Prints nothing where memory is not enabled. Set it up with `holdfast agents install claude-code --status-line`."""
EXAMPLES = """examples:
  echo '{"session_id": "847ff7d2"}' | holdfast statusline
"""


def run(options: Namespace, machine: Machine) -> None:
    """Does not return."""
    from holdfast.hooks.statusline import run as show

    show()
