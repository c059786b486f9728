"""The order of ledger rows: the stamp of each, and which row of a session counts.

The cell of the `Clock` column is a stamp; or the stamp that is used, `<`, and what the cell was when the row came in
with a stamp that could not be true. A row without a readable stamp has that of its `Recorded` time. Nothing here looks
at a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress

from holdfast.core.stamp import NEVER, Stamp, parse_stamp

FORGOTTEN = "forgotten"
LONG_AGO = datetime.min.replace(tzinfo=UTC)
_BELOW = "<"

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    RowKey = tuple[str, str, datetime | None, str | None]


def clamped_cell(used: Stamp, clock: str | None) -> str:
    """The cell of a row that came with the cell `clock`, whose stamp could not be true."""
    return f"{used}{_BELOW}{_claim(clock)}"


def used_stamp(clock: str | None, recorded: datetime | None) -> Stamp:
    """The stamp that orders a row."""
    return _stamp((clock or "").partition(_BELOW)[0], recorded)


def claimed_stamp(clock: str | None, recorded: datetime | None) -> Stamp:
    """The stamp that a row came with, which is the one that orders it unless it was clamped."""
    return _stamp(_claim(clock), recorded)


def is_clamped(clock: str | None) -> bool:
    return clock is not None and _BELOW in clock


def is_readable(clock: str | None) -> bool:
    """Whether a cell says something that can be understood; an empty one does."""
    try:
        return not clock or bool(parse_stamp(clock.partition(_BELOW)[0]))
    except ValueError:
        return False


def _stamp(text: str, recorded: datetime | None) -> Stamp:
    if text:
        try:
            return parse_stamp(text)
        except ValueError:
            pass  # doctor reports what a hand wrote there; the row is not lost for it
    return NEVER if recorded is None else Stamp.of_time(recorded)


def _claim(clock: str | None) -> str:
    """What a cell was when its row came in. It stays the same when the row is clamped, here or elsewhere."""
    first, separator, claim = (clock or "").partition(_BELOW)
    return claim if separator else first


def row_key(session: str, clock: str | None, recorded: datetime | None, outcome: str | None) -> RowKey:
    """What identifies a row: two ledgers that have the same one have one row between them."""
    return session, _claim(clock), recorded, outcome


def missing(
    keys: Sequence[RowKey], clocks: Sequence[str | None], known: Mapping[RowKey, str | None]
) -> list[int]:
    """The rows that are not known yet, each once; of a row that was clamped somewhere, the copy with the lowest stamp.

    `known` has the cell of each known row, as `lowest_cells` finds it.
    """
    rows: dict[RowKey, int] = {}
    for row, key in enumerate(keys):
        if key not in rows or not _is_lower(key, clocks[rows[key]], clocks[row]):
            rows[key] = row
    return [row for key, row in rows.items() if key not in known or _is_lower(key, clocks[row], known[key])]


def lowest_cells(keys: Sequence[RowKey], clocks: Sequence[str | None]) -> dict[RowKey, str | None]:
    """For each row the cell with its lowest stamp."""
    cells: dict[RowKey, str | None] = {}
    for key, clock in zip(keys, clocks, strict=True):
        if key not in cells or _is_lower(key, clock, cells[key]):
            cells[key] = clock
    return cells


def _is_lower(key: RowKey, clock: str | None, than: str | None) -> bool:
    """Whether one copy of a row was clamped lower than another one."""
    if not is_clamped(clock) and not is_clamped(than):
        return False
    return used_stamp(clock, key[2]) < used_stamp(than, key[2])


def latest_rows(
    sessions: Sequence[str],
    clocks: Sequence[str | None],
    recorded: Sequence[datetime | None],
    outcomes: Sequence[str | None],
) -> list[int]:
    """The row that counts of each session: the one with the latest stamp; forgotten is final.

    The order of the lines decides only between rows that nothing else tells apart, as in the oldest ledgers.
    """
    rows: dict[str, int] = {}
    repeated: dict[str, list[int]] = {}
    for row, session in enumerate(sessions):
        if (first := rows.setdefault(session, row)) != row:
            repeated.setdefault(session, [first]).append(row)
    for session, places in repeated.items():
        cells = [clocks[row] or "" for row in places]
        stamps: Sequence[Stamp] = ()
        if any(cells):  # else the times of recording are the stamps
            stamps = [used_stamp(clocks[row], recorded[row]) for row in places]
            if any(_BELOW in cell for cell in cells):
                stamps = _lowest(
                    [row_key("", clocks[row], recorded[row], outcomes[row]) for row in places], stamps
                )
        rows[session] = max(
            (
                stamps[place] if stamps else NEVER,
                moment or LONG_AGO,
                (_claim(cell), outcomes[row] or "") if cell or moment else ("", ""),
                row,
            )
            for place, (row, cell) in enumerate(zip(places, cells, strict=True))
            for moment in (recorded[row],)
        )[-1]
    gone = set(compress(sessions, [outcome == FORGOTTEN for outcome in outcomes]))
    return [row for session, row in rows.items() if session not in gone]


def _lowest(keys: Sequence[RowKey], stamps: Sequence[Stamp]) -> list[Stamp]:
    """For each copy of a row the lowest stamp of all: one machine may have clamped the row and another not."""
    lowest: dict[RowKey, Stamp] = {}
    for key, stamp in zip(keys, stamps, strict=True):
        lowest[key] = min(stamp, lowest.get(key, stamp))
    return [lowest[key] for key in keys]
