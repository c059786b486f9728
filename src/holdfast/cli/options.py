"""What a command module is made of: its options as a table, and the types that its `run` is handed.

`OPTIONS` are the command's own, `VERBS` its subcommands with theirs. A verb's options have no default of their own, so
that what is said before the verb counts too.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any, NamedTuple

from holdfast.store.machine import Machine

__all__ = [
    "SUPPRESS",
    "Machine",
    "Namespace",
    "Verb",
    "at_least_one",
    "count",
    "declare",
    "flag",
    "of_verb",
    "option",
]

_MOST_DIGITS = 16


class Option(NamedTuple):
    """What argparse's `add_argument` takes. Options of one `group` exclude each other."""

    names: tuple[str, ...]
    settings: dict[str, Any]
    group: str = ""


class Verb(NamedTuple):
    about: str
    options: tuple[Option, ...] = ()


def option(*names: str, group: str = "", **settings: Any) -> Option:
    return Option(names, settings, group)


def flag(name: str, about: str, **settings: Any) -> Option:
    return option(name, action="store_true", help=about, **settings)


def declare(command: object, parser: ArgumentParser) -> None:
    """Gives the parser what the command's tables say; a command without tables does it itself."""
    if configure := getattr(command, "configure", None):
        configure(parser)
        return
    groups: dict[str, Any] = {"": parser}
    for names, settings, group in getattr(command, "OPTIONS", ()):
        if group not in groups:
            groups[group] = parser.add_mutually_exclusive_group()
        groups[group].add_argument(*names, **settings)
    if verbs := getattr(command, "VERBS", None):
        parsers = parser.add_subparsers(dest="verb", metavar="VERB")
        for verb, (about, options) in verbs.items():
            own = parsers.add_parser(verb, help=about)
            for names, settings, _ in options:
                own.add_argument(*names, **settings)


def of_verb(*options: Option) -> tuple[Option, ...]:
    """The same options once more, for a verb: where it does not say them, what was said before it holds."""
    return tuple(one._replace(settings={**one.settings, "default": SUPPRESS}) for one in options)


def count(text: str) -> int:
    """A number on the command line: whole, not absurd, and refused in words."""
    try:
        value = int(text) if len(text) <= _MOST_DIGITS else -1
    except ValueError:
        value = -1
    if value < 0:
        raise ArgumentTypeError("must be a whole number from 0 to 10^15")
    return value


def at_least_one(text: str) -> int:
    if (value := count(text)) < 1:
        raise ArgumentTypeError("must be 1 or more")
    return value
