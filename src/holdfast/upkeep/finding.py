"""What an audit finds: the place, what is wrong there, why it matters, and what to do about it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Check = Literal["secret", "planted", "contradiction", "oversized", "duplicate", "stale", "unused"]
Level = Literal["problem", "note"]
# The worst first. Problems need a person; notes only cost tokens or attention.
LEVELS: dict[Check, Level] = {
    "secret": "problem",
    "planted": "problem",
    "contradiction": "problem",
    "oversized": "problem",
    "duplicate": "note",
    "stale": "note",
    "unused": "note",
}
_ORDER = {check: number for number, check in enumerate(LEVELS)}


class AuditFinding(Struct, frozen=True, kw_only=True):
    """One finding. `file` is the name for people, `path` the whole one; `line` 0 is the file as a whole.

    `also` is the other place of a pair, `fixable` says that `audit --fix` can do it.
    """

    check: Check
    level: Level
    file: str
    path: str
    line: int
    what: str
    why: str
    fix: str
    also: str = ""
    fixable: bool = False

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def in_order(findings: list[AuditFinding]) -> list[AuditFinding]:
    """Problems before notes, the worst checks first, then by place."""
    return sorted(
        findings, key=lambda one: (one.level != "problem", _ORDER[one.check], one.file, one.line, one.what)
    )


def quoted(text: str, most: int = 90) -> str:
    """Words of a file in quotation marks, on one line and cut."""
    flat = " ".join(text.split())
    return f"“{flat if len(flat) <= most else flat[: most - 1].rstrip() + '…'}”"
