"""What memory's worth is counted over: values only, handed in by whoever has read them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

ENOUGH_WORDS = 2  # that a line and a session have in common, for the session to have gone on from it


class Subject(Struct, frozen=True):
    """What a text or a session is about: its telling words, and the paths it names."""

    words: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()

    def continues(self, line: Subject) -> bool:
        return bool(self.paths & line.paths) or len(self.words & line.words) >= ENOUGH_WORDS


class Stumble(Struct, frozen=True):
    command: str
    resolved: bool


class SessionFacts(Struct, frozen=True, kw_only=True):
    """One session. None is unknown; `told` is None where the trace of what sessions were told is gone."""

    session: str
    at: float | None
    told: bool | None
    cost_usd: float | None = None
    minutes: float | None = None
    tokens: int | None = None
    new_input: int | None = None  # tokens that the model read for the first time
    tasks: int = 0
    failed: int = 0
    opened: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    stumbles: tuple[Stumble, ...] = ()
    subject: Subject = Subject()

    @property
    def touched(self) -> frozenset[str]:
        return self.opened | self.changed


class ToldFacts(Struct, frozen=True, kw_only=True):
    """What one session was told in all; `opening` is what it was told at its start to go on with, line by line."""

    session: str
    tokens: int
    bytes: int
    opening: tuple[Subject, ...] = ()


class Asking(Struct, frozen=True):
    """One time that a question was asked; the askings of one group ask the same in other words."""

    session: str
    at: float | None
    answered_at: float | None


class Kept(Struct, frozen=True, kw_only=True):
    """What the files of one category hold."""

    category: str
    named: str
    files: int
    lines: int
    bytes: int


class Evidence(Struct, frozen=True, kw_only=True):
    """All that is counted over. `sessions` are in time order and `since` says which of them are asked about."""

    sessions: Sequence[SessionFacts] = ()
    told: Sequence[ToldFacts] = ()
    questions: Sequence[Sequence[Asking]] = ()
    offered: int = 0
    kept: Sequence[Kept] = ()
    transcript_files: int = 0
    transcript_bytes: int = 0
    since: float | None = None
    notes: Sequence[str] = ()

    def wanted(self, at: float | None) -> bool:
        return self.since is None or (at is not None and at >= self.since)
