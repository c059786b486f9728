"""`holdfast hook HOST EVENT`: the machine interface, for hosts and people who call it by name.

Installed hooks run `hot/hook_entry.py` instead, which is the same without the time it takes to get here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from holdfast.store.machine import Machine

DESCRIPTION = """Answers one event of an agent's host: reads the event as JSON from standard input and prints what
the host expects, or nothing. It always ends with exit code 0, so that no session is ever held up by it."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help="the agent, e.g. claude-code")
    parser.add_argument(
        "event", metavar="EVENT", help="the event's name as the host has it, e.g. SessionStart"
    )


def run(options: argparse.Namespace, machine: Machine) -> int:
    run_hook([options.host, options.event])
    return 0


def run_hook(words: list[str]) -> None:
    """Does not return."""
    from holdfast.hooks.hook import run as answer

    answer(words)
