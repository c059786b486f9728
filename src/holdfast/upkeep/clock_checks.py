"""Checks the order of ledger rows: clamped stamps, cells that are no stamps, and a clock that ran ahead."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from holdfast.core.stamp import Stamp
from holdfast.ledger.intake import corrections, stamp_of
from holdfast.ledger.markdown import LedgerFile
from holdfast.ledger.order import claimed_stamp, is_clamped, is_readable
from holdfast.ledger.store import ProjectLedger, row_of
from holdfast.store.clock import MachineClock
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_SHOWN = 5
AHEAD_MS = 3_600_000  # clocks are set right by seconds; by more than an hour, one was wrong


class ClampedRow(Struct, frozen=True):
    """A row that claims a time at which it cannot have been written. `used` is None until it is clamped."""

    session: str
    line: int
    claimed: str
    used: str | None


def clamped_rows(machine: Machine, project: Project) -> list[ClampedRow]:
    """The rows whose stamps cannot be true, in the order of the file, each once."""
    ledger = ProjectLedger(project)
    return _clamped(ledger.read(), machine.clock) if ledger.exists else []


def _clamped(ledger: LedgerFile, clock: MachineClock) -> list[ClampedRow]:
    waiting = {row_of(row) for row in corrections(ledger.entries, clock.now())}
    found: dict[object, ClampedRow] = {}
    for row, line in zip(ledger.entries, ledger.lines, strict=True):
        key = row_of(row)
        if is_clamped(row.clock) or key in waiting:
            used = None if key in waiting else _iso(stamp_of(row))
            earlier = found.get(key)
            lower = earlier is None or (used is not None and (earlier.used or used) >= used)
            if lower:
                claimed = _iso(claimed_stamp(row.clock, row.recorded))
                found[key] = ClampedRow(row.session, line, claimed, used)
    return list(found.values())


def _iso(stamp: Stamp) -> str:
    return stamp.time.isoformat(timespec="seconds").replace("+00:00", "Z")


def check_stamps(machine: Machine, project: Project) -> Iterator[tuple[str, str]]:
    """Level and message of each result."""
    ledger = ProjectLedger(project)
    if not ledger.exists:
        return
    read = ledger.read()
    for row, line in zip(read.entries, read.lines, strict=True):
        if not is_readable(row.clock):
            what = f"the Clock cell of session {row.session} is not a stamp, so Recorded orders the row"
            yield "problem", f"{_place(line)}: {what}. Empty the cell, or restore it."
    rows = _clamped(read, machine.clock)
    for clamped in rows[:MOST_SHOWN]:
        yield "note", _message(clamped)
    if len(rows) > MOST_SHOWN:
        more = len(rows) - MOST_SHOWN
        yield (
            "note",
            f"{more} more row{'s' if more > 1 else ''} of that kind: holdfast doctor --json lists all.",
        )


def _message(row: ClampedRow) -> str:
    claim = f"{_place(row.line)}: the row of session {row.session} claims to be from {_readable(row.claimed)}"
    if row.used is None:
        return (
            f"{claim}, which is in the future. The next holdfast import sets it to the time of that import."
        )
    used = f"but it was here before. It counts as written at {_readable(row.used)}"
    fix = f"To replace the row: holdfast ledger add --session {row.session}"
    return f"{claim}, {used}. Check the clock of the machine that wrote it. {fix}"


def _place(line: int) -> str:
    return f"ledger.md:{line}" if line else "ledger.md"


def _readable(time: str) -> str:
    return f"{time[:10]} {time[11:16]} UTC"


def check_clock(machine: Machine, project: Project) -> Iterator[tuple[str, str]]:
    """Whether the stamps of this machine run ahead of its clock, because the clock was put back since."""
    if machine.home.is_dir() and (ahead := machine.clock.ahead_ms()) > AHEAD_MS:
        what = f"the last stamp of this machine is {_duration(ahead)} ahead of its clock; new ones continue from there"
        yield "note", f"{what}. If the clock is right now, holdfast doctor --fix resets the stamps."


def put_clock_back(machine: Machine, *, dry_run: bool) -> Iterator[str]:
    if machine.home.is_dir() and (ahead := machine.clock.ahead_ms()) > AHEAD_MS:
        yield f"set the stamps of this machine back by {_duration(ahead)}"
        if not dry_run:
            machine.clock.put_back()


def _duration(milliseconds: int) -> str:
    hours = milliseconds // 3_600_000
    number, unit = (hours // 24, "day") if hours >= 48 else (hours, "hour")
    return f"{number:,} {unit}{'s' if number != 1 else ''}"
