"""What a command module is made of: its options as a table, and the types that its `run` takes.

`OPTIONS` are the command's own, `VERBS` its subcommands with theirs. The verb `add` runs the module's `run_add`; where
there is no such function, and without a verb, `run` is called. A verb's options have no default of their own, so that
an option given before the verb counts too.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from holdfast.core.errors import UsageError
from holdfast.store.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "SUPPRESS",
    "Machine",
    "Namespace",
    "Verb",
    "at_least_one",
    "count",
    "declare",
    "flag",
    "limit",
    "moment_from",
    "newest",
    "of_verb",
    "option",
    "since",
]
_Item = TypeVar("_Item")

_MOST_DIGITS = 16
_SPANS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAYS = {"today": 0, "yesterday": 1}


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
    """Adds the options and verbs of a command module to its parser."""
    groups: dict[str, Any] = {"": parser}
    for names, settings, group in getattr(command, "OPTIONS", ()):
        if group not in groups:
            groups[group] = parser.add_mutually_exclusive_group()
        groups[group].add_argument(*names, **settings)
    if verbs := getattr(command, "VERBS", None):
        parsers = parser.add_subparsers(dest="verb", metavar="VERB")
        for verb, (about, options) in verbs.items():
            subparser = parsers.add_parser(verb, help=about)
            for names, settings, _ in options:
                subparser.add_argument(*names, **settings)


def of_verb(*options: Option) -> tuple[Option, ...]:
    """The same options again, for a verb: what is given before the verb holds unless it is given after it."""
    return tuple(same._replace(settings={**same.settings, "default": SUPPRESS}) for same in options)


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


def since(what: str) -> Option:
    """The option that every command has for a period: `--since 7d`."""
    return option(
        "--since", metavar="WHEN", help=f"only {what} from then on: 7d, 24h, 2w, today or YYYY-MM-DD"
    )


def limit(
    what: str, note: str, *, type: Callable[[str], int] = at_least_one, **settings: Any
) -> tuple[Option, Option]:
    """The option that every list has for its length, and its names of version 0.1, which are not listed."""
    listed = option("-n", "--limit", type=type, metavar="N", help=f"at most N {what} ({note})", **settings)
    older = option("--last", "--most", dest="limit", type=type, help=SUPPRESS, default=SUPPRESS)
    return listed, older


def newest(items: Sequence[_Item], most: int | None, at: Callable[[_Item], float | None]) -> list[_Item]:
    """At most so many, the newest, in the order that they came in."""
    if not most or most >= len(items):
        return list(items)
    chosen = sorted(range(len(items)), key=lambda place: at(items[place]) or 0.0, reverse=True)[:most]
    return [items[place] for place in sorted(chosen)]


def moment_from(text: str | None, now: datetime | None = None) -> datetime | None:
    """The moment of an ISO date or time (one without a zone is in the user's own), of `today`, or a span before now."""
    if text is None:
        return None
    now = now or datetime.now().astimezone()
    today = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if text in _DAYS:
            return today - timedelta(days=_DAYS[text])
        if text[-1:] in _SPANS and text[:-1].isdecimal():
            return now - int(text[:-1]) * _SPANS[text[-1]]
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{text!r} is neither a date nor a span", fix="Write 7d, 24h, 2w, today or YYYY-MM-DD"
        ) from error
