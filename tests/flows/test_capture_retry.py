"""A session that cannot be read is tried again soon, then seldom, then only when somebody asks; and nobody waits for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.command import Holdfast
from tests.flows.test_capture import GONE, leave, rows_of, transcript, write_transcript
from tests.hooks.enabled import SESSION, Enabled

from holdfast.core.errors import StoreError
from holdfast.flows import capture as capturing
from holdfast.flows.capture import DIED, MOST_TRIES, WAITS_S, capture
from holdfast.hooks import trace
from holdfast.store import inbox
from holdfast.upkeep.doctor import CheckResult, examine, repair

__all__ = ["transcript"]
pytestmark = pytest.mark.promise("M7")


SECRET = "Authorization: Bearer hQ7vZ2kLm9XcR4tY8wB1nP6s"
UNKNOWN = cast(Path, "")  # as some hosts have it at most of their events


class Reader:
    """Stands before the importers, and fails for one session as often as it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: BaseException | None = ValueError(f"no cell for {SECRET}")
        self.tries = 0
        self._located = capturing.locate_session
        monkeypatch.setattr(capturing, "locate_session", self._read)

    def _read(self, machine: Any, project: Any, host: str, session: str, path: str) -> Any:
        if session == SESSION:
            self.tries += 1
            if self.error is not None:
                raise self.error
        return self._located(machine, project, host, session, path)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    yield Reader(monkeypatch)


@pytest.fixture
def clock(enabled: Enabled) -> list[float]:
    """Seconds from now at which it is."""
    offset = [0.0]
    began = datetime.now(UTC)
    enabled.machine.now = lambda: began + timedelta(seconds=offset[0])  # type: ignore[method-assign]
    return offset


def findings(enabled: Enabled) -> list[CheckResult]:
    return [finding for finding in examine(enabled.machine, enabled.project) if finding.check == "sessions"]


def test_it_is_tried_seldom_and_then_no_more(
    enabled: Enabled, transcript: Path, reader: Reader, clock: list[float]
) -> None:
    leave(enabled, "SessionEnd", transcript)
    for number, wait in enumerate((*WAITS_S, 10 * 86_400.0), 1):
        for _ in range(3):
            capture(enabled.machine, enabled.project)
            clock[0] += 1
        assert reader.tries == min(number, MOST_TRIES), "not at every capture"
        clock[0] += wait
    for _ in range(5):
        capture(enabled.machine, enabled.project)
        clock[0] += 86_400
    assert reader.tries == MOST_TRIES
    assert enabled.inbox() == [], "no start takes it for something that has to be read first"
    (finding,) = findings(enabled)
    assert finding.level == "problem" and "holdfast doctor --fix tries again" in finding.message
    assert (
        f"session {SESSION[:8]} of claude-code could not be read, tried 5 times: ValueError"
        in finding.message
    )
    assert "hQ7vZ2" not in finding.message


def test_a_start_does_not_wait_for_what_cannot_be_read(
    enabled: Enabled, transcript: Path, reader: Reader
) -> None:
    leave(enabled, "SessionEnd", transcript)
    assert trace.ended(str(enabled.memory), "another")
    capture(enabled.machine, enabled.project)
    assert not trace.ended(str(enabled.memory), "another") and not trace.waiting(
        str(enabled.memory), "another"
    )
    (finding,) = findings(enabled)
    assert finding.level == "note" and "tried again after" in finding.message


def test_what_can_be_read_by_then_is(
    enabled: Enabled, transcript: Path, reader: Reader, clock: list[float]
) -> None:
    leave(enabled, "SessionEnd", transcript)
    capture(enabled.machine, enabled.project)
    reader.error = None
    clock[0] += WAITS_S[0] + 1
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [SESSION] and findings(enabled) == []
    assert list(inbox.quarantine(enabled.memory).iterdir()) == []


def test_the_others_are_read_meanwhile(
    enabled: Enabled, transcript: Path, home: Path, reader: Reader
) -> None:
    other = write_transcript(
        home / ".claude" / "projects" / "-shop" / "other.jsonl", enabled.root, session="other"
    )
    leave(enabled, "SessionEnd", transcript)
    leave(enabled, "SessionEnd", other, session="other")
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == ["other"]


def test_a_session_that_goes_on_is_not_tried_at_every_stop_and_nothing_of_it_piles_up(
    enabled: Enabled, transcript: Path, reader: Reader, clock: list[float]
) -> None:
    leave(enabled, "Stop", transcript, os.getpid())
    for _ in range(5):
        leave(enabled, "Stop", UNKNOWN, os.getpid())
        capture(enabled.machine, enabled.project)
    assert reader.tries == 1
    letters = inbox.quarantined(enabled.memory, "claude-code", SESSION)
    assert 1 <= len(letters) <= 2 and letters[0].transcript == str(transcript)
    reader.error = None
    clock[0] += WAITS_S[0] + 1
    leave(enabled, "SessionEnd", UNKNOWN, GONE)
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [SESSION], "the transcript is known though the last word did not say it"


@pytest.mark.usefixtures("scanner_off")
def test_doctor_tries_again_when_asked(
    enabled: Enabled, transcript: Path, reader: Reader, clock: list[float]
) -> None:
    leave(enabled, "SessionEnd", transcript)
    for _ in range(MOST_TRIES):
        capture(enabled.machine, enabled.project)
        clock[0] += max(WAITS_S)
    fix = f"read session {SESSION[:8]} again"
    assert fix in repair(enabled.machine, enabled.project, dry_run=True)
    assert reader.tries == MOST_TRIES
    assert fix in repair(enabled.machine, enabled.project, dry_run=False)
    assert "tried once" in findings(enabled)[0].message, "it failed again, and begins anew"
    reader.error = None
    repair(enabled.machine, enabled.project, dry_run=False)
    assert findings(enabled) == [] and rows_of(enabled) == [SESSION]


def test_another_holdfast_tries_at_once(
    enabled: Enabled, transcript: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(enabled, "SessionEnd", transcript)
    capture(enabled.machine, enabled.project)
    reader.error = None
    monkeypatch.setattr("holdfast.flows.capture.version", lambda: "99")
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [SESSION]


class Killed(BaseException):
    """What no handler of ours catches: as if the process were gone."""


def test_a_reading_that_kills_its_process_is_not_repeated_for_ever(
    enabled: Enabled, transcript: Path, reader: Reader, clock: list[float]
) -> None:
    reader.error = Killed()
    leave(enabled, "SessionEnd", transcript)
    for number in (1, 2):
        with pytest.raises(Killed):
            capture(enabled.machine, enabled.project)
        assert reader.tries == number, "once more at once: a machine may have been switched off"
    capture(enabled.machine, enabled.project)
    assert reader.tries == 2
    assert DIED in findings(enabled)[0].message


def test_what_lies_outside_of_a_session_is_tried_at_every_capture(
    enabled: Enabled, transcript: Path, reader: Reader
) -> None:
    reader.error = StoreError("the disk is full", where="x", fix="y")
    leave(enabled, "SessionEnd", transcript)
    for _ in range(3):
        capture(enabled.machine, enabled.project)
    assert reader.tries == 3 and len(enabled.inbox()) == 1 and findings(enabled) == []


def test_a_torn_note_is_no_note(enabled: Enabled, transcript: Path, reader: Reader) -> None:
    leave(enabled, "SessionEnd", transcript)
    capture(enabled.machine, enabled.project)
    (note,) = inbox.quarantine(enabled.memory).glob("*.fault")
    note.write_bytes(b"{torn")
    reader.error = None
    assert findings(enabled) == []
    leave(enabled, "SessionEnd", transcript)
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [SESSION]


@pytest.mark.promise("G5")
def test_what_was_set_aside_is_forgotten_with_its_session(
    enabled: Enabled, transcript: Path, reader: Reader, holdfast: Holdfast
) -> None:
    leave(enabled, "SessionEnd", transcript)
    capture(enabled.machine, enabled.project)
    holdfast("forget", "--session", SESSION, "--yes", cwd=enabled.root, check=0)
    assert list(inbox.quarantine(enabled.memory).iterdir()) == []
