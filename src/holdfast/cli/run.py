"""Runs one command: its parser, its errors, its exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from holdfast.app.wiring import Machine
from holdfast.errors import HoldfastError, UsageError

INTERRUPTED = 130


class Command(Protocol):
    """What a command module offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace, machine: Machine) -> int: ...


def load(module: str) -> Command:
    return cast(Command, import_module(module))


def parser_for(name: str, command: Command, about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"holdfast {name}",
        description=getattr(command, "DESCRIPTION", None) or about[0].upper() + about[1:] + ".",
        epilog=getattr(command, "EXAMPLES", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    return parser


def run_command(name: str, module: str, about: str, words: Sequence[str]) -> int:
    command = load(module)
    parser = parser_for(name, command, about)
    try:
        options = parser.parse_args(list(words))
        code = command.run(options, Machine())
        sys.stdout.flush()
        return code
    except HoldfastError as error:
        sys.stderr.write(f"holdfast: {error.line()}\n")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        sys.stderr.write(
            "\nholdfast: interrupted; what was written is whole, and the next run goes on from there.\n"
        )
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`holdfast ledger | head`): nobody is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
