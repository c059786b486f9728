"""`holdfast off` and `holdfast on`: whether hooks work in this directory and below."""

from __future__ import annotations

import argparse

from holdfast.briefing.prepare import prepare
from holdfast.cli import output
from holdfast.cli.options import Machine, Namespace
from holdfast.store.switches import switch

DESCRIPTION = """Switches hooks off (or on again) in the current directory and everything below it.
--capture is what is remembered of sessions, --inject what they are told; without either, both.
For one session: HOLDFAST=off. For a pattern: exclude in ~/.holdfast/config.toml. CI=true means off."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--capture", action="store_true", help="only what is remembered")
    parser.add_argument("--inject", action="store_true", help="only what is told")
    parser.add_argument("--json", action="store_true", help="the state as JSON")
    parser.set_defaults(on=parser.prog.rpartition(" ")[2] == "on")  # one module for the two commands


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    both = options.capture == options.inject
    after = switch(
        project,
        machine.cwd,
        capture=options.on if both or options.capture else None,
        inject=options.on if both or options.inject else None,
    )
    prepare(machine, project)
    no_capture, no_inject = after.at(machine.cwd)
    if options.json:
        return output.show_json(
            {"directory": str(machine.cwd), "capture": not no_capture, "inject": not no_inject}
        )
    output.line(f"{output.place(machine.cwd)}: capture {_word(no_capture)}, inject {_word(no_inject)}.")


def _word(off: bool) -> str:
    return "off" if off else "on"
