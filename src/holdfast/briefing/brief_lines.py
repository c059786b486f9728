"""The lines of a brief, and the sections that they are gathered in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field


class BriefLine(Struct, frozen=True, kw_only=True):
    """One thing that is known, with its source: a session or a commit, a date, an id, a place in a file.

    `title` is what its session was about, `branch` where it was settled if it does not count everywhere yet. `until`
    is when the session `replaced_by` settled it differently; `later` is the latest session on the same subject.
    """

    text: str
    kind: str
    status: str = "agreed"
    id: str = ""
    by: str = ""
    reason: str = ""
    evidence: str = ""
    at: float | None = None
    until: float | None = None
    replaced_by: str = ""
    later: str = ""
    session: str = ""
    title: str = ""
    branch: str = ""
    commit: str = ""
    path: str = ""
    line: int = 0
    position: int = 0  # within its session
    score: float = 0.0

    def as_json(self) -> dict[str, Any]:
        names = (
            "id",
            "kind",
            "status",
            "text",
            "reason",
            "evidence",
            "by",
            "session",
            "title",
            "branch",
            "commit",
        )
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        values |= {"replaced_by": self.replaced_by, "later": self.later}
        places = {"path": self.path, "line": self.line, "score": round(self.score, 4)}
        return {**values, "date": _iso(self.at), "until": _iso(self.until), **places}


class Gathered(Struct):
    """The candidates of each section. `weak`: nothing is clearly about the subject."""

    lines: dict[str, list[BriefLine]] = field(default_factory=dict)
    weak: bool = True

    def add(self, section: str, line: BriefLine) -> None:
        self.lines.setdefault(section, []).append(line)


def _iso(at: float | None) -> str:
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return ""
