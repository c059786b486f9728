"""`holdfast fenced COMMAND …`: what a command prints, fenced as notes, for slash commands of agents.

Capture leaves fenced blocks out, so what an agent was shown does not come back as something a person said.
"""

from __future__ import annotations

import argparse
import io
from contextlib import redirect_stdout
from secrets import token_hex

from holdfast.core.errors import UsageError
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, option

READS = ("resume", "ledger", "lessons", "why")
DESCRIPTION = f"""Runs one of {", ".join(READS)} and prints its output as notes for an agent, between markers that
holdfast skips when it reads the session. The plugins' slash commands call it."""
EXAMPLES = """examples:
  holdfast fenced resume
  holdfast fenced ledger -n 5
"""

OPTIONS = (option("words", nargs=argparse.REMAINDER, metavar="COMMAND …", help="with its own options"),)


def run(options: Namespace, machine: Machine) -> int:
    from holdfast.cli.main import COMMANDS, resolve, subcommands
    from holdfast.core.fence import wrap
    from holdfast.terminal.run import run_command

    name, *words = options.words or [""]
    if name not in READS:
        problem = f"{name} cannot be fenced" if name else "no command to fence"
        raise UsageError(problem, fix=f"One of: {', '.join(READS)}")
    printed = io.StringIO()
    with redirect_stdout(printed):
        name, words = resolve([name, *words])
        code = run_command(name, *COMMANDS[name], words, subcommands(name))
    lines = printed.getvalue().strip("\n").split("\n")
    # Not wrapped to a terminal, which is only the host's: a line is a line.
    output.write(wrap(lines if any(lines) else ["Nothing is known here yet."], token_hex(3)) + "\n")
    return code
