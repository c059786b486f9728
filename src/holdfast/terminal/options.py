"""What a command module is made of: its options as a table, and the types that its `run` takes.

`OPTIONS` are the command's own, `VERBS` its subcommands with theirs. The verb `add` runs the module's `run_add`; where
there is no such function, and without a verb, `run` is called. A verb's options have no default of their own, so that
an option given before the verb counts too. `DEFAULT_VERB` is the verb that is meant where a text comes in its place:
`note decision "Use pnpm"` is `note decision add "Use pnpm"`. A verb's own help has its line of help as a sentence, and
those `EXAMPLES` of the command that call it; one that needs no words has an example without any.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from holdfast.core.errors import UsageError
from holdfast.store.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "SUPPRESS",
    "Machine",
    "Namespace",
    "Verb",
    "at_least_one",
    "at_most",
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
_ALL = 10**9
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


def declare(
    command: object, parser: ArgumentParser, further: Mapping[str, str] | None = None
) -> dict[str, ArgumentParser]:
    """Adds the options and verbs of a command module to its parser; returns the parsers of `further` subcommands,
    which are modules of their own."""
    groups: dict[str, Any] = {"": parser}
    for names, settings, group in getattr(command, "OPTIONS", ()):
        if group not in groups:
            groups[group] = parser.add_mutually_exclusive_group()
        groups[group].add_argument(*names, **settings)
    verbs = getattr(command, "VERBS", {})
    if verbs or further:
        parsers = parser.add_subparsers(dest="verb", metavar="VERB")
        for verb, (about, options) in verbs.items():
            subparser = parsers.add_parser(
                verb,
                help=about,
                description=f"{about[0].upper()}{about[1:]}.",
                epilog=_examples(command, f"{parser.prog} {verb}"),
                formatter_class=parser.formatter_class,
            )
            for names, settings, _ in options:
                subparser.add_argument(*names, **settings)
        return {name: parsers.add_parser(name, help=about) for name, about in (further or {}).items()}
    return {}


def _examples(command: object, called: str) -> str:
    """A verb's lines of its command's `EXAMPLES`; where there are none, the verb by itself is the example."""
    lines = getattr(command, "EXAMPLES", "").splitlines()
    alone = f"  {called}"
    own = [line for line in lines if line.startswith(f"{alone} ") or line == alone]
    return "\n".join(["examples:", *(own or [alone])])


def with_default_verb(
    command: object, words: Sequence[str], further: Mapping[str, str] | None = None
) -> list[str]:
    """The words with the verb that is meant, where a command has one for words that begin with none."""
    default = getattr(command, "DEFAULT_VERB", "")
    if not default:
        return list(words)
    verbs = getattr(command, "VERBS", {})
    declared = [*getattr(command, "OPTIONS", ()), *(one for verb in verbs.values() for one in verb.options)]
    flags = {name for one in declared if one.settings.get("action") == "store_true" for name in one.names}
    given = iter(words)
    for word in given:
        if word == "--" or not word.startswith("-"):
            return list(words) if _may_be_verb(word, [*verbs, *(further or {})]) else [default, *words]
        if word not in flags and "=" not in word:
            next(given, None)  # the option's value
    return list(words)


def _may_be_verb(word: str, verbs: Sequence[str]) -> bool:
    """Whether a word is a verb, or one mistyped, which the parser then asks about. A text has spaces."""
    from difflib import get_close_matches

    return word in verbs or (" " not in word and bool(get_close_matches(word, verbs, n=1, cutoff=0.75)))


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


def at_most(text: str) -> int:
    """The length of a list: 0 is all of it, a number that no list has."""
    return count(text) or _ALL


def since(what: str) -> Option:
    """The option that every command has for a period: `--since 7d`."""
    return option(
        "--since", metavar="WHEN", help=f"only {what} from then on: 7d, 24h, 2w, today or YYYY-MM-DD"
    )


def limit(what: str, note: str, *older_names: str, **settings: Any) -> tuple[Option, Option]:
    """The option that every list has for its length, and its names of version 0.1, which are not listed."""
    note = note if note.endswith("all") else f"{note}; 0: all"
    listed = option("-n", "--limit", type=at_most, metavar="N", help=f"at most N {what} ({note})", **settings)
    older = option(
        "--last", "--most", *older_names, dest="limit", type=at_most, help=SUPPRESS, default=SUPPRESS
    )
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
