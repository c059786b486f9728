"""Runs one command: its parser, its errors, its exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import holdfast.core.light_msgspec  # noqa: F401  # before anything that imports msgspec

# isort: split
from holdfast.core.errors import HoldfastError, StoreError, UsageError
from holdfast.core.patterns import REGEX_CACHE, lazy_regex, load_programs
from holdfast.store.machine import Machine
from holdfast.terminal.options import declare, with_default_verb
from holdfast.terminal.output import flat, note, wrap_line

INTERRUPTED = 130
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG)
_CHOICE = lazy_regex(r"invalid choice: '([^']*)' \(choose from (.*)\)")
_MISSING = lazy_regex(r"the following arguments are required: (.*)")
_STRANGE = lazy_regex(r"is missing|unrecognized arguments")
_EXAMPLE = lazy_regex(r" +\S.*\S {2,}(?=\S)")


def open_missing() -> None:
    """A stream that was closed (`>&-`) swallows all output; no file of ours may get its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def is_ours(error: BaseException) -> bool:
    """Whether an error is about a stream: one about a file names it, or was raised below the command line."""
    return isinstance(error, BrokenPipeError) or (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in _UNWRITABLE
        and _raised_in(error).startswith(
            ("holdfast.cli", "holdfast.views", "holdfast.terminal", "rich.", "argparse")
        )
    )


def _raised_in(error: BaseException) -> str:
    """The module whose code raised an error."""
    name, at = "", error.__traceback__
    while at is not None:
        name, at = str(at.tb_frame.f_globals.get("__name__", "")), at.tb_next
    return name


def give_up(error: OSError) -> int:
    """The exit code when output cannot be written: the reader is gone, the disk is full, the stream is closed."""
    gone = isinstance(error, BrokenPipeError)  # `holdfast ledger | head`: no error
    if not gone:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"holdfast: the output could not be written: {error.strerror}.\n")
            sys.stderr.flush()
    abandon()
    return 0 if gone else 1


def abandon() -> None:
    """The interpreter must not try again, at its end, to write what is still buffered."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions as wide as the terminal; examples line by line as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if all(len(line) <= width for line in text.splitlines()):
            return super()._fill_text(text, width, indent)
        return "\n".join(f"{indent}{wrap_line(line, width, _under(line))}" for line in _paragraphs(text))


class Parser(argparse.ArgumentParser):
    """Suggests what a mistyped word may mean, and explains a missing one."""

    def error(self, message: str) -> NoReturn:
        if missing := _MISSING.search(message):
            optional = {
                action.metavar or action.dest for action in self._actions if action.nargs in ("*", "?")
            }
            names = [name for name in missing[1].split(", ") if name not in optional]
            message = "; ".join(map(self._missing, names))
        if wrong := _CHOICE.search(message):
            from difflib import get_close_matches

            if close := get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1):
                message = f"{message}. Did you mean {close[0]!r}?"
        super().error(f"{message}{self._after_dashes(message)}")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def _after_dashes(self, message: str) -> str:
        """How to give a text that starts with a dash, where any text is taken: people search for flags."""
        free = next(
            (action for action in self._actions if not action.option_strings and action.nargs == "+"), None
        )
        unknown = [
            word
            for word in self._words
            if word.startswith("-") and word.partition("=")[0] not in self._option_string_actions
        ]
        if free is None or not unknown or not _STRANGE.search(message):
            return ""
        return f". A {free.metavar} that begins with a dash goes after --: {self.prog} -- {unknown[0]}"

    def _missing(self, name: str) -> str:
        """`name` is what argparse calls an argument: its metavar, or its option."""
        for action in self._actions:
            if name in (action.metavar, action.dest, "/".join(action.option_strings)) and action.help:
                return f"{name} is missing: {action.help}"
        return f"{name} is missing"


def _under(line: str) -> int:
    """The column where a line continues: an example's under its comment, a description's at the edge."""
    example = _EXAMPLE.match(line)
    return example.end() if example else 4 if line.startswith(" ") else 0


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if lines and line[:1].strip() and lines[-1][:1].strip() and not lines[-1].endswith(":"):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def parser_for(
    name: str, command: ModuleType, about: str, further: Mapping[str, str] | None = None
) -> argparse.ArgumentParser:
    """The parser of a command; `further` are its subcommands that are modules of their own, with their help."""
    parser = Parser(
        prog=f"holdfast {name}",
        description=getattr(command, "DESCRIPTION", None) or about[0].upper() + about[1:] + ".",
        epilog=getattr(command, "EXAMPLES", None),
        formatter_class=Help,
    )
    for below in declare(command, parser, further).values():
        below.add_argument("words", nargs=argparse.REMAINDER)
    return parser


def verbs_of(module: str) -> Sequence[str]:
    """The names of a command's verbs, to find what a mistyped word may mean."""
    return tuple(getattr(import_module(module), "VERBS", ()))


def run_command(
    name: str, module: str, about: str, words: Sequence[str], further: Mapping[str, str] | None = None
) -> int:
    """Runs a command module; returns the exit code."""
    command = import_module(module)
    parser = parser_for(name, command, about, further)
    escape_unprintable()
    try:
        options = parser.parse_args(
            with_default_verb(command, words, further), argparse.Namespace(command=name, verb=None)
        )
        if further and options.verb in further:  # reached behind options of the command itself
            raise UsageError(
                f"{options.verb} must come before options", fix=f"holdfast {name} {options.verb} [OPTIONS]"
            )
        machine = Machine()
        load_programs(os.path.join(machine.home, REGEX_CACHE))
        machine.tell = note
        run = getattr(command, f"run_{options.verb}", None) or command.run
        code: int = run(options, machine) or 0
        sys.stdout.flush()
        return code
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
        if (refused := _refused(error)) is not None:
            _complain(refused.line())
            abandon()
            return 1
        _complain(
            f"{type(error).__name__}: {error}. This is a bug in holdfast; HOLDFAST_DEBUG=1 shows where."
        )
        abandon()
        return 1


def _refused(error: Exception) -> HoldfastError | None:
    """What the disk or the system refused, where no code on the way has put it into words; None for a fault of ours."""
    from sqlite3 import OperationalError

    from holdfast.core.files import refusal

    if isinstance(error, OSError) and error.errno is not None:
        return refusal(error, str(error.filename or ""))
    if isinstance(error, OperationalError) and "syntax" not in str(error):
        return StoreError(
            f"a database cannot be used: {error}", fix="Check the disk, then run holdfast doctor"
        )
    return None


def complete(commands: Mapping[str, tuple[str, str]]) -> None:
    """Answers the shell's question for the words typed so far, and ends the process."""
    import argcomplete

    parser = argparse.ArgumentParser(prog="holdfast")
    parsers = parser.add_subparsers(dest="command")
    declared: dict[str, dict[str, argparse.ArgumentParser]] = {}
    for name, (module, about) in commands.items():
        above, _, below = name.rpartition(" ")
        if above:
            declare(import_module(module), declared[above][below])
            continue
        prefix = f"{name} "
        further = {
            key.removeprefix(prefix): text for key, (_, text) in commands.items() if key.startswith(prefix)
        }
        declared[name] = declare(import_module(module), parsers.add_parser(name, help=about), further)
    argcomplete.autocomplete(parser)


def escape_unprintable() -> None:
    """A terminal that cannot show a letter still gets the rest."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def interrupted() -> int:
    _complain("interrupted; what was written is complete, and the next run continues from there.")
    return INTERRUPTED


def _complain(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        note(f"holdfast: {flat(text)}")
