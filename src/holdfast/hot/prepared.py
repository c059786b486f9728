"""Reads `<memory>/hot.db`, which the application wrote: switches and texts. docs/hot-path.md has its tables."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import Any

FORMAT = "1"
NAME = "hot.db"


class Unreadable(Exception):
    """The prepared file is broken, or of a format that this hook does not know."""


class Prepared:
    """An open prepared file. It is replaced as a whole, never written in place, so no lock is needed."""

    def __init__(self, memory: str) -> None:
        # Imported here: in a project that is not enabled nothing is to be read, and nothing to be paid.
        import sqlite3

        self._error = sqlite3.Error
        path = os.path.join(memory, NAME).replace("\\", "/")
        for sign, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
            path = path.replace(sign, code)
        slash = "" if path.startswith("/") else "/"
        try:
            self._db = sqlite3.connect(f"file:{slash}{path}?mode=ro&immutable=1", uri=True, timeout=0.2)
            self.meta = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
        except sqlite3.Error as error:
            raise Unreadable(str(error)) from error
        if self.meta.get("format") != FORMAT:
            raise Unreadable(f"format {self.meta.get('format')!r}, this hook reads {FORMAT}")

    def enabled(self, place_is_git: bool, identity_file: str) -> bool:
        """Enabled on this machine. Outside git an identity can come with a download: the place must be known."""
        if self.meta.get("enabled") != "1":
            return False
        return place_is_git or bool(
            self._rows("SELECT 1 FROM place WHERE path = ?", (os.path.realpath(identity_file),))
        )

    def excluded(self, directories: list[str]) -> bool:
        patterns = self._rows("SELECT regex FROM exclude")
        if not patterns:
            return False
        import re

        flat = [directory.replace("\\", "/") for directory in directories]
        return any(re.match(regex, directory) for (regex,) in patterns for directory in flat)

    def off(self, directories: list[str]) -> tuple[bool, bool]:
        """Whether capture and injection are switched off in any of these directories or above it."""
        capture = inject = False
        for path, no_capture, no_inject in self._rows("SELECT path, capture, inject FROM off"):
            base = path.rstrip("/\\")
            if any(d == path or d.startswith((base + "/", base + "\\")) for d in directories):
                capture, inject = capture or bool(no_capture), inject or bool(no_inject)
        return capture, inject

    def digest(self, source: str, branch: str) -> tuple[str, int, str] | None:
        """Text, tokens and reasons (a JSON list, one for each line) for this branch, else for every branch."""
        rows = self._rows(
            "SELECT text, tokens, reasons FROM digest WHERE source = ? AND branch IN (?, '') "
            "ORDER BY branch DESC LIMIT 1",
            (source, branch),
        )
        return rows[0] if rows else None

    def _rows(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except self._error as error:
            raise Unreadable(str(error)) from error
