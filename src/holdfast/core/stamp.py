"""Stamps: hybrid logical clock values, which order what several machines wrote, whatever their wall clocks say.

A stamp is a wall time in milliseconds, a counter for what was written later within the same wall time, and the letters
of the machine that wrote it. Its text sorts as the stamp does:

    20261118T162703.123-0-kfmt

Standard library only, because figures over a ledger are counted before anything larger could be loaded.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MILLISECOND
LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MILLISECOND
MOST_COUNTED = 10**9 - 1
MOST_LETTERS = 12
LEEWAY_MS = 60_000  # clocks that are kept right differ by less: a claim that is later by no more is believed
# A number of more than one digit is preceded by a letter that says how many follow, so that texts sort as numbers do.
_LENGTHS = "__abcdefgh"
_SHORT = frozenset("0123456789")
_EPOCH = datetime(1970, 1, 1)


class Stamp(namedtuple("Stamp", ("wall", "counter", "machine"), defaults=(0, ""))):
    """Compared by wall time, then counter, then letters: a total order that needs no agreement between machines."""

    __slots__ = ()
    wall: int  # milliseconds since 1970, UTC
    counter: int
    machine: str

    @classmethod
    def of_time(cls, time: datetime) -> Stamp:
        """The stamp of something that has no more than a time."""
        return cls((time - EPOCH) // MILLISECOND)

    @classmethod
    def of_seconds(cls, seconds: float) -> Stamp:
        """The same for seconds since 1970. What no calendar has becomes its first or last moment."""
        if seconds != seconds:  # not a number
            return NEVER
        return cls(round(min(max(seconds * 1000, EARLIEST), LATEST)))

    @property
    def at(self) -> float:
        """The wall time in seconds since 1970."""
        return self.wall / 1000

    @property
    def time(self) -> datetime:
        return EPOCH + self.wall * MILLISECOND

    def __str__(self) -> str:
        time = self.time.isoformat(timespec="milliseconds")[:23].replace("-", "").replace(":", "")
        return f"{time}-{_render_counter(self.counter)}-{self.machine}"

    def next(self, machine: str) -> Stamp:
        """The earliest stamp of a machine that is later than this one."""
        if self.counter >= MOST_COUNTED:
            return Stamp(min(self.wall + 1, LATEST), 0, machine)
        return Stamp(self.wall, self.counter + 1, machine)


NEVER = Stamp(EARLIEST)
"""Earlier than every other: the stamp of what has neither a stamp nor a time."""


def later_than(seen: Iterable[Stamp], wall: int, machine: str) -> Stamp:
    """A machine's stamp at this wall time, or just after the latest of those that it has seen."""
    last = max(seen, default=NEVER)
    stamp = Stamp(wall, 0, machine)
    return stamp if last < stamp and last.wall < wall else last.next(machine)


def parse_stamp(text: str) -> Stamp:
    """The stamp of its text. ValueError for any other text: one stamp has one spelling."""
    counter, separator, machine = text[20:].partition("-")
    digits = f"{text[:8]}{text[9:15]}{text[16:19]}"
    if (
        separator
        and text.isascii()
        and digits.isdigit()
        and text[8] + text[15] + text[19] == "T.-"
        and (not machine or _are_letters(machine))
    ):
        time = datetime.fromisoformat(text[:19]) - _EPOCH
        wall = (time.days * 86_400 + time.seconds) * 1000 + time.microseconds // 1000
        return Stamp(wall, int(counter) if counter in _SHORT else _parse_counter(counter), machine)
    raise ValueError(f"{text[:60]!r} is no stamp")


def _are_letters(machine: str) -> bool:
    return len(machine) <= MOST_LETTERS and machine.isalnum() and machine == machine.lower()


def _render_counter(counter: int) -> str:
    digits = str(counter)
    return digits if len(digits) == 1 else f"{_LENGTHS[len(digits)]}{digits}"


def _parse_counter(text: str) -> int:
    digits = text if len(text) == 1 else text[1:]
    if digits.isdigit() and len(digits) < len(_LENGTHS) and _render_counter(int(digits)) == text:
        return int(digits)
    raise ValueError(f"{text[:60]!r} is no counter")


def clamp(stamps: Iterable[Stamp], bound: int, seen: Iterable[Stamp] = ()) -> dict[Stamp, Stamp]:
    """For each stamp that is too late to be true the one to use in its place: at the bound, in the same order.

    `bound` is the latest wall time for which there is evidence. `seen` are stamps of the same thing that are used
    already: those at the bound stay earlier.
    """
    last = max((stamp.counter for stamp in seen if stamp.wall == bound), default=-1)
    late = sorted({stamp for stamp in stamps if stamp.wall > bound + LEEWAY_MS})
    return {stamp: Stamp(bound, last + place, stamp.machine) for place, stamp in enumerate(late, 1)}
