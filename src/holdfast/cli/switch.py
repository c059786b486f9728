"""`holdfast agents off` and `holdfast agents on`: whether hooks work in this directory and below."""

from __future__ import annotations

from holdfast.briefing.prepare import prepare
from holdfast.store.switches import switch
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag

DESCRIPTION = """Turns hooks off, or back on, in this directory and below: with --capture only recording, with
--inject only what agents see. For a single session, set HOLDFAST=off; for a pattern, set exclude in
~/.holdfast/config.toml. CI=true means off."""
EXAMPLES = """examples:
  holdfast agents off             record and show nothing here and below
  holdfast agents off --inject    record sessions, but show them nothing
  holdfast agents on
"""

OPTIONS = (
    flag("--capture", "only recording"),
    flag("--inject", "only what agents see"),
    flag("--json", "the state as JSON"),
)
_SAID = {
    (True, True): "sessions are recorded and see memory",
    (True, False): "sessions are recorded, and see nothing of memory",
    (False, True): "sessions see memory, and are not recorded",
    (False, False): "sessions are neither recorded nor shown anything",
}


def run(options: Namespace, machine: Machine) -> None:
    project, on = machine.project(), options.command.endswith("on")  # one module for the two commands
    both = options.capture == options.inject
    after = switch(
        project,
        machine.cwd,
        capture=on if both or options.capture else None,
        inject=on if both or options.inject else None,
    )
    prepare(machine, project)
    capture, inject = (not off for off in after.at(machine.cwd))
    output.answer(
        options,
        {"directory": str(machine.cwd), "capture": capture, "inject": inject},
        f"{output.place(machine.cwd)} and below: {_SAID[capture, inject]}.",
    )
