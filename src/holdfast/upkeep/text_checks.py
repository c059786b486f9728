"""Checks of one file at a time: secrets, planted instructions, and files that agents cut off."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import visible
from holdfast.guard.planted_text import why_planted
from holdfast.guard.redact import Redactor
from holdfast.upkeep.audited_files import MOST_READ, AuditedFile
from holdfast.upkeep.finding import AuditFinding, quoted

_MOST_OF_A_KIND = 50  # findings of one check in one file: more add nothing
_FENCE = lazy_regex(r"[ \t]*(?:[-*+][ \t]+)?(?:```|~~~)")
_VERSION = "history/contents/"

# What agents read of their own files, from their documentation: Claude Code's memory page, Codex's page on AGENTS.md
# (project_doc_max_bytes), Windsurf's page on rules. Name or folder, area, most bytes, most lines, what happens.
_LIMITS = (
    ("/MEMORY.md", "agent", 25_000, 200, "Claude Code loads the first 200 lines or 25 KB of it"),
    ("AGENTS.md", "", 32_768, 0, "Codex stops reading at 32 KiB"),
    ("AGENTS.override.md", "", 32_768, 0, "Codex stops reading at 32 KiB"),
    (".windsurf/rules/", "", 12_000, 0, "Windsurf reads only 12,000 characters of a rules file"),
    (".windsurfrules", "", 6_000, 0, "Windsurf reads only 6,000 characters of it"),
)
_LARGE_GUIDE = 40_000  # characters; Claude Code warns from here on


def find_secrets(file: AuditedFile, redactor: Redactor) -> Iterator[AuditFinding]:
    ends = _line_ends(file.text)
    for secret in redactor.findings(file.text)[:_MOST_OF_A_KIND]:
        yield AuditFinding(
            check="secret",
            level="problem",
            file=file.shown,
            path=str(file.path),
            line=bisect_right(ends, secret.start) + 1,
            what=f"It looks like a secret ({secret.kind}, {secret.end - secret.start} characters).",
            why=_why_secret(file),
            fix=_secret_fix(file),
            fixable=_is_redacted_by_us(file),
        )


def _why_secret(file: AuditedFile) -> str:
    if file.area in ("guide", "shared"):
        return "Every agent and everyone with the repository can read it, and git keeps it."
    return "Every agent that reads this file can repeat it."


def _is_redacted_by_us(file: AuditedFile) -> bool:
    return file.is_prose and file.area != "shared" and file.size <= MOST_READ


def _secret_fix(file: AuditedFile) -> str:
    if _is_redacted_by_us(file):
        return "Rotate it, then run holdfast audit --fix, which redacts it."
    if _VERSION in file.shown:
        return (
            "Rotate it, then run holdfast forget with a few words of that line: it edits older versions too."
        )
    return "Rotate it, then replace it by hand or run holdfast forget."


def find_planted(file: AuditedFile) -> Iterator[AuditFinding]:
    if not file.is_prose:
        return
    in_code = False
    found = 0
    for number, line in enumerate(file.text.removeprefix("\ufeff").split("\n"), 1):
        fence = _FENCE.match(line) is not None
        in_code = in_code != fence
        if why := why_planted(line, in_code=in_code or fence):
            found += 1
            yield AuditFinding(
                check="planted",
                level="problem",
                file=file.shown,
                path=str(file.path),
                line=number,
                what=f"It may be a planted instruction: {why}. {quoted(visible(line))}",
                why="An agent that reads this file may obey it.",
                fix="Read the line. If you did not write it, delete it, and find out who did: git log -p or git blame.",
            )
        if found >= _MOST_OF_A_KIND:
            return


def find_oversized(file: AuditedFile) -> Iterator[AuditFinding]:
    lines = file.text.count("\n") + 1
    if file.size > MOST_READ:
        yield _oversized(
            file,
            f"It has {file.size:,} bytes; the audit read {MOST_READ:,}.",
            "The rest was not checked, and no agent reads a file of this size.",
            level_note=file.area == "memory",
        )
        return
    for name, area, most_bytes, most_lines, consequence in _LIMITS:
        named = f"/{file.shown}".endswith(f"/{name.lstrip('/')}") or (
            name.endswith("/") and name in file.shown
        )
        if not named or (area and file.area != area):
            continue
        if file.size > most_bytes or (most_lines and lines > most_lines):
            extent = f"{lines:,} lines, {file.size:,} bytes"
            yield _oversized(file, f"It has {extent}.", f"{consequence}: the rest never reaches the agent.")
            return
    if file.area in ("guide", "personal") and len(file.text) > _LARGE_GUIDE:
        yield _oversized(
            file,
            f"It has {len(file.text):,} characters.",
            "It is loaded into every session: it costs tokens, and agents follow long guides less well.",
            level_note=True,
        )


def _oversized(file: AuditedFile, what: str, why: str, *, level_note: bool = False) -> AuditFinding:
    return AuditFinding(
        check="oversized",
        level="note" if level_note else "problem",
        file=file.shown,
        path=str(file.path),
        line=0,
        what=what,
        why=why,
        fix="Shorten it, or move parts to files that are read on demand.",
    )


def _line_ends(text: str) -> list[int]:
    return [position for position, char in enumerate(text) if char == "\n"]
