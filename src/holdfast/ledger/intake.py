"""Rows on their way into a ledger: each gets its stamp here, once, from the evidence that there is.

A stamp that cannot be true is clamped. The row is written as it came, with the stamp to use before the one it claimed,
so that every reader sees the same order and a person can see why. ADR 20 says what is evidence for which row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from holdfast.core.stamp import LATEST, LEEWAY_MS, Stamp, clamp, later_than
from holdfast.ledger.order import clamped_cell, used_stamp
from holdfast.ledger.store import ProjectLedger, row_of
from holdfast.model.ledger import LedgerEntry
from holdfast.store.clock import MachineClock


def stamp_of(entry: LedgerEntry) -> Stamp:
    """The stamp in the cells of a row."""
    return used_stamp(entry.clock, entry.recorded)


def stamps_of(rows: Iterable[LedgerEntry]) -> list[Stamp]:
    """The stamps that order these rows: of a row that was clamped, the lowest."""
    stamps: dict[object, Stamp] = {}
    for row in rows:
        stamp, key = stamp_of(row), row_of(row)
        stamps[key] = min(stamp, stamps.get(key, stamp))
    return list(stamps.values())


def stamped(entry: LedgerEntry, clock: MachineClock, known: Iterable[LedgerEntry] = ()) -> LedgerEntry:
    """A row that this machine writes now, later than those that it knows of the session."""
    seen = stamps_of(row for row in known if row.session == entry.session)
    return replace(entry, clock=str(clock.tick(seen)))


def captured(
    entry: LedgerEntry, known: Sequence[LedgerEntry], ended: int, claimed: int | None, letters: str
) -> LedgerEntry | None:
    """The row of a transcript, stamped with the transcript's end: who read further counts, not who read later.

    `claimed` is the end that the transcript itself names, if that cannot be true. Rows of this machine are of the same
    transcript, so a new one is later than they are. None if another machine has read further.
    """
    stamps = stamps_of(known)
    seen = [stamp for stamp in stamps if stamp.wall <= ended or stamp.machine in ("", letters)]
    stamp = later_than(seen, ended, letters)
    if stamps and stamp < max(stamps):
        return None
    cell = str(stamp) if claimed is None else clamped_cell(stamp, str(Stamp(claimed, 0, letters)))
    return replace(entry, clock=cell)


def end_of_transcript(ended: float | None, changed: Iterable[int], now: int) -> tuple[int, int | None]:
    """When a transcript ended, in milliseconds, and the end that it claims if that is not possible.

    The last line says it, unless that is later than now: then it is when the file was last `changed` (nanoseconds).
    """
    changes = [time // 1_000_000 for time in changed]
    last_change = max((time for time in changes if 0 < time <= now), default=now)
    if ended is None:
        return last_change, None
    claimed = Stamp.of_seconds(ended).wall
    return (last_change, claimed) if claimed > now + LEEWAY_MS else (claimed, None)


def clamped(
    entries: Sequence[LedgerEntry], bound: int, known: Iterable[LedgerEntry] = ()
) -> list[LedgerEntry]:
    """Entries from elsewhere, none with a stamp later than `bound`, the latest moment at which they can be written."""
    late = _sessions_later_than(entries, bound)
    stamps: defaultdict[str, list[Stamp]] = defaultdict(list)
    for row in (*entries, *known) if late else ():
        if row.session in late:
            stamps[row.session].append(stamp_of(row))
    used = {session: clamp(of_session, bound, of_session) for session, of_session in stamps.items()}
    return [
        row
        if row.session not in used or (stamp := used[row.session].get(stamp_of(row))) is None
        else replace(row, clock=clamped_cell(stamp, row.clock))
        for row in entries
    ]


def corrections(entries: Sequence[LedgerEntry], bound: int) -> list[LedgerEntry]:
    """The rows of a ledger whose stamps cannot be true, once more, with stamps that can: the lower one counts."""
    sessions = _sessions_later_than(entries, bound)
    rows = [row for row in entries if row.session in sessions] if sessions else []
    corrected = {row_of(row) for row in rows if stamp_of(row).wall <= bound + LEEWAY_MS}
    late = list({row_of(row): row for row in rows if row_of(row) not in corrected}.values())
    return clamped(late, bound, rows)


def _sessions_later_than(entries: Iterable[LedgerEntry], bound: int) -> set[str]:
    """Sessions with a row whose stamp is too late. Most rows are told by a glance at their cells."""
    limit = Stamp(min(bound + LEEWAY_MS, LATEST))
    text, time = str(limit), limit.time
    return {
        row.session
        for row in entries
        if ((row.clock or "") > text or (row.recorded is not None and row.recorded > time))
        and stamp_of(row).wall > limit.wall
    }


def correct_stamps(ledger: ProjectLedger, entries: list[LedgerEntry], clock: MachineClock) -> None:
    """Clamps rows that came through git or from an older version, and adds their corrections to `entries`."""
    if late := corrections(entries, clock.now()):
        ledger.append(late)
        entries += late
