"""`holdfast mcp`: the command that an agent's host starts."""

from __future__ import annotations

import argparse
from pathlib import Path

from holdfast.core.errors import NotFound, UsageError
from holdfast.store.installation import how_to_add
from holdfast.store.machine import Machine
from holdfast.terminal.options import SUPPRESS, option

DESCRIPTION = """Speaks the Model Context Protocol over standard input and output: an agent's host starts it in a
project's directory and it ends with that host. It provides tools to recall, search, open, remember, ask, hand over,
correct and recommend, and the files of the memory as resources. It works only where a person has enabled memory
(holdfast install), and obeys off, exclude and HOLDFAST=off."""
EXAMPLES = """examples:
  claude mcp add holdfast -- holdfast mcp
  codex mcp add holdfast -- holdfast mcp"""


OPTIONS = (
    option(
        "--directory", metavar="DIR", help="the project's directory, for hosts that start servers elsewhere"
    ),
    option("--project", dest="directory", default=SUPPRESS, help=SUPPRESS),  # its first name, in hosts' files
)


def run(options: argparse.Namespace, machine: Machine) -> None:
    directory = _directory(options.directory, machine)
    try:
        from holdfast.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "holdfast":
            raise
        raise UsageError(
            f"the MCP server needs a package that is not installed ({error.name})",
            fix=f"Run `{how_to_add('tools')}`",
        ) from error
    serve(directory)


def _directory(named: str | None, machine: Machine) -> Path:
    if named is None:
        project = Path(machine.env.get("CLAUDE_PROJECT_DIR", ""))
        # An agent that Claude Code started elsewhere inherits the variable, and must not get this memory.
        inside = project.is_absolute() and machine.cwd.resolve().is_relative_to(project.resolve())
        return project if inside else machine.cwd
    directory = (machine.cwd / Path(named).expanduser()).absolute()
    if not directory.is_dir():
        raise NotFound("no such directory", where=str(directory), fix="Name the project's directory")
    return directory
