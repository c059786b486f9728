"""Runs one command: its parser, its errors, its exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from holdfast.cli.options import declare
from holdfast.cli.output import begin_at, note, on_screen, places
from holdfast.cli.output import wrap_line as wrapped
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import visible
from holdfast.store.machine import Machine

# What becomes of output that nobody can take: a reader that has gone, a full disk, a stream that was closed.

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG)


def open_missing() -> None:
    """A stream that was closed (`>&-`) swallows what is said; no file of ours may get its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def is_ours(error: BaseException) -> bool:
    """Whether an error is about a stream. Those about files name them."""
    return isinstance(error, BrokenPipeError) or (
        isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE
    )


def give_up(error: OSError) -> int:
    """The exit code, after one line where there is something to say; the rest of the output is dropped."""
    gone = isinstance(error, BrokenPipeError)  # `holdfast ledger | head`: nobody is left to be told
    if not gone:
        try:
            sys.stderr.write(f"holdfast: the output could not be written: {error.strerror}.\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
    abandon()
    return 0 if gone else 1


def abandon() -> None:
    """What is still buffered cannot be written: the interpreter must not try again at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass


INTERRUPTED = 130
_CHOICE = lazy_regex(r"invalid choice: '([^']*)' \(choose from (.*)\)")
_MISSING = lazy_regex(r"the following arguments are required: (.*)")
_STRANGE = lazy_regex(r"is missing|unrecognized arguments")
_EXAMPLE = lazy_regex(r" +\S.*\S {2,}(?=\S)")


class Command(Protocol):
    """What a command module offers, beside its OPTIONS and VERBS."""

    def run(self, options: argparse.Namespace, machine: Machine) -> int | None:
        """The exit code; None is 0."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions as wide as the terminal, whatever the lines of the source; examples stay line by line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if all(len(line) <= width for line in text.splitlines()):
            return super()._fill_text(text, width, indent)
        return "\n".join(f"{indent}{wrapped(line, width, _under(line))}" for line in _paragraphs(text))


class Parser(argparse.ArgumentParser):
    """Says what a mistyped word may have meant, and what a missing one is for."""

    def error(self, message: str) -> NoReturn:
        if missing := _MISSING.search(message):
            message = "; ".join(map(self._missing, missing[1].split(", ")))
        if wrong := _CHOICE.search(message):
            from difflib import get_close_matches

            if close := get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1):
                message = f"{message}. Did you mean {close[0]!r}?"
        super().error(f"{message}{self._after_dashes(message)}")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def _after_dashes(self, message: str) -> str:
        """How to say a text that begins with a dash, where any text may be said: people search for flags."""
        free = next((one for one in self._actions if not one.option_strings and one.nargs == "+"), None)
        unknown = [
            word
            for word in self._words
            if word.startswith("-") and word.partition("=")[0] not in self._option_string_actions
        ]
        if free is None or not unknown or not _STRANGE.search(message):
            return ""
        return f". A {free.metavar} that begins with a dash goes after --: {self.prog} -- {unknown[0]}"

    def _missing(self, name: str) -> str:
        """By what argparse calls it: its metavar, or its option."""
        known = (
            one for one in self._actions if name in (one.metavar, one.dest, "/".join(one.option_strings))
        )
        about = next((one.help for one in known if one.help), None)
        return f"{name} is missing{f': {about}' if about else ''}"


def _under(line: str) -> int:
    """Where a line goes on: an example's under what is said of it, a description's at the edge."""
    if said := _EXAMPLE.match(line):
        return said.end()
    return 4 if line.startswith(" ") else 0


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        goes_on = lines and line[:1].strip() and lines[-1][:1].strip() and not lines[-1].endswith(":")
        if goes_on:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def load(module: str) -> Command:
    return cast(Command, import_module(module))


def parser_for(name: str, command: Command, about: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"holdfast {name}",
        description=getattr(command, "DESCRIPTION", None) or about[0].upper() + about[1:] + ".",
        epilog=getattr(command, "EXAMPLES", None),
        formatter_class=Help,
    )
    declare(command, parser)
    return parser


def run_command(name: str, module: str, about: str, words: Sequence[str]) -> int:
    command = load(module)
    parser = parser_for(name, command, about)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a terminal that cannot show a letter still gets the rest
    try:
        options = parser.parse_args(list(words))
        machine = Machine()
        machine.tell = note
        begin_at(machine.user_home)
        code = command.run(options, machine)
        sys.stdout.flush()
        return code or 0
    except HoldfastError as error:
        _complain(error.line())
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return interrupted()
    except Exception as error:
        if isinstance(error, OSError) and is_ours(error):
            return give_up(error)
        if os.environ.get("HOLDFAST_DEBUG"):
            raise
        _complain(
            f"{type(error).__name__}: {error}. This is a fault of holdfast; HOLDFAST_DEBUG=1 shows where."
        )
        abandon()
        return 1


def interrupted() -> int:
    _complain("interrupted; what was written is whole, and the next run goes on from there.")
    return INTERRUPTED


def _complain(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        said = f"holdfast: {visible(places(' '.join(text.split())))}"
        sys.stderr.write(f"{on_screen(said) if sys.stderr.isatty() else said}\n")
