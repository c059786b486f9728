"""Signs in a transcript that its usage is incomplete: the figure is then a lower bound, and is shown as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from holdfast.sessions.digest import Digest

LOW_OUTPUT: Final = "low_output"
NO_USAGE: Final = "no_usage"
UNREADABLE: Final = "unreadable"


class LineWarning(Protocol):
    @property
    def code(self) -> str: ...


_GAPS: dict[str, tuple[str, str]] = {
    LOW_OUTPUT: (
        "1 response with too few output tokens for its text",
        "{:,} responses with too few output tokens for their text",
    ),
    NO_USAGE: ("1 reply without usage", "{:,} replies without usage"),
    UNREADABLE: ("1 unreadable line", "{:,} unreadable lines"),
}
# These agents write the usage of a whole run at its end: one report covers all turns before it.
REPORT_AT_END = frozenset(("copilot", "goose"))
_UNREADABLE_CODES = frozenset(("bad-line", "line-too-long"))
# A token is four characters of English and two to three of code. Of 753 Claude responses that were recorded with
# their end, one has more than this; of 4,656 recorded without it, 2,619 have (docs/research/cost.md).
_MOST_CHARACTERS = 8
_LEEWAY = 100


def in_words(gaps: Mapping[str, int]) -> str:
    """`3 replies without usage, 1 unreadable line`."""
    return ", ".join(
        _GAPS[reason][times != 1].format(times)
        for reason, times in sorted(gaps.items())
        if times and reason in _GAPS
    )


def unreadable_lines(warnings: Iterable[LineWarning]) -> int:
    """How many lines a reader had to leave out."""
    return sum(warning.code in _UNREADABLE_CODES for warning in warnings)


def gaps_of(digests: Iterable[Digest]) -> dict[str, int]:
    """The gaps in the usage of a session's transcripts."""
    gaps = {LOW_OUTPUT: 0, NO_USAGE: 0, UNREADABLE: 0}
    for digest in digests:
        gaps[LOW_OUTPUT] += digest.low_output
        gaps[UNREADABLE] += digest.unreadable
        turns = [turn for turn in digest.turns if turn.text or turn.command]
        if digest.agent in REPORT_AT_END:
            last = max((place for place, turn in enumerate(turns) if turn.reported), default=-1)
            turns = turns[last + 1 :]
        if digest.watched:
            gaps[NO_USAGE] += sum((turn.answered or turn.calls > 0) and not turn.reported for turn in turns)
    return {reason: times for reason, times in gaps.items() if times}


def is_low(written: int, output: int) -> bool:
    """Whether a response contains more characters than so few output tokens can be."""
    return written > _MOST_CHARACTERS * output + _LEEWAY
