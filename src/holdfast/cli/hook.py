"""`holdfast hook HOST EVENT`: the machine interface, for hosts and people who call it by name.

Installed hooks run `hot/hook_entry.py` instead, which is the same without the time it takes to get here.
"""

from __future__ import annotations

from holdfast.terminal.options import Machine, Namespace, option

DESCRIPTION = """Answers one hook event of an agent: reads the event as JSON from standard input and prints what the
agent expects, or nothing. The exit code is always 0, so it never blocks a session."""
EXAMPLES = """examples:
  echo '{"cwd": ".", "source": "startup"}' | holdfast hook claude-code SessionStart
"""

OPTIONS = (
    option("host", metavar="HOST", help="the agent, e.g. claude-code"),
    option("event", metavar="EVENT", help="the event's name as the host has it, e.g. SessionStart"),
)


def run(options: Namespace, machine: Machine) -> None:
    """Does not return."""
    from holdfast.hooks.hook import run as answer

    answer([options.host, options.event])
