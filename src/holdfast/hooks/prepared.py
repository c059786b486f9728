"""Reads `<memory>/hot.db`, which the application wrote: switches and texts. docs/contributing/hot-path.md has the
tables."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

FORMAT = "2"  # 1 was that of 0.1.0
NAME = "hot.db"
MOMENT = ("rule", "token", "needs", "place", "project", "text", "reason", "id")
MOST_MOMENTS = 500
LONGEST_CELL = 8 << 20  # bytes; a longer one is an error, whatever wrote the file


class Unreadable(Exception):
    """The prepared file is damaged, or has an unknown format. One of an older version is no fault."""

    def __init__(self, message: str, *, older: bool = False) -> None:
        super().__init__(message)
        self.older = older


class Prepared:
    """An open prepared file. It is replaced as a whole, never written in place, so no lock is needed."""

    def __init__(self, memory: str, *, older: bool = False) -> None:
        """`older`: one of 0.1.0 will do, for what is in both."""
        # Imported here: a project that is not enabled must not pay for it.
        sqlite = _sqlite()
        self._error = sqlite.Error
        _check(os.path.join(memory, NAME))
        try:
            self.db = sqlite.connect(
                _address(os.path.join(memory, NAME), "&immutable=1"), uri=True, timeout=0.2
            )
            self.db.setlimit(0, LONGEST_CELL)  # SQLITE_LIMIT_LENGTH
            self.meta = dict(self.db.execute("SELECT key, value FROM meta").fetchall())
        except sqlite.Error as error:
            raise Unreadable(str(error)) from error
        found = str(self.meta.get("format"))
        if found != FORMAT and not (older and found == "1"):
            raise Unreadable(f"format {found!r}, this hook reads {FORMAT}", older=found == "1")

    @property
    def enabled(self) -> bool:
        """Whether a person enabled memory for this project. Which project it is, `core/place.py` has decided."""
        return self.meta.get("enabled") == "1"

    def excluded(self, directories: list[str]) -> bool:
        try:
            patterns = self._rows("SELECT regex, start FROM exclude")
        except Unreadable:  # prepared by an older version
            patterns = self._rows("SELECT regex, '' FROM exclude")
        flat = [directory.replace("\\", "/") for directory in directories]
        near = [regex for regex, start in patterns if any(directory.startswith(start) for directory in flat)]
        if not near:
            return False
        import re

        return any(re.match(regex, directory) for regex in near for directory in flat)

    def off(self, directories: list[str]) -> tuple[bool, bool]:
        """Whether capture and injection are switched off in any of these directories or their parents."""
        capture = inject = False
        for path, no_capture, no_inject in self._rows("SELECT path, capture, inject FROM off"):
            base = path.rstrip("/\\")
            if any(d == path or d.startswith((base + "/", base + "\\")) for d in directories):
                capture, inject = capture or bool(no_capture), inject or bool(no_inject)
        return capture, inject

    def digest(self, source: str, branch: str) -> list[tuple[str, str]]:
        """Lines with their reasons for this branch, else for every branch."""
        rows = self._rows(
            "SELECT text, reasons FROM digest WHERE source = ? AND branch IN (?, '') ORDER BY branch DESC LIMIT 1",
            (source, branch),
        )
        if not rows or not rows[0][0]:
            return []
        from holdfast.core.bare_json import loads

        texts, reasons = rows[0][0].split("\n"), loads(rows[0][1])
        return list(zip(texts, reasons + [""] * len(texts), strict=False))

    def since(self, at: float, session: str, branch: str, begun: bool = False) -> list[tuple[str, str]]:
        """What other sessions did after a time in this session's project: this branch first, newest first.

        `begun`: only those that also began after that time.
        """
        rows = self._rows(
            f"SELECT text, reason FROM since WHERE {'began' if begun else 'at'} > ? AND session != ? "
            "AND project IN ('', ?) "
            "ORDER BY branch NOT IN ('', ?), at DESC LIMIT 100",
            (at, session, self.project_of(session, branch), branch),
        )
        return _texts(rows)

    def last_of(self, session: str) -> float | None:
        """When a session was last active, if known."""
        ((at,),) = self._rows("SELECT max(at) FROM since WHERE session = ? AND session != ''", (session,))
        return at if isinstance(at, float) else None

    def own(self, session: str) -> list[tuple[str, str]]:
        """What this session has left open."""
        return _texts(
            self._rows(
                "SELECT text, reason FROM own WHERE session = ? ORDER BY position LIMIT 100", (session,)
            )
        )

    def moments(self, tool: str, key: str | None, project: str | None = "") -> list[dict[str, Any]]:
        """The rows for a tool's calls with this key, newest first; None: for all its calls. `project` None: of all.

        A file prepared by an older version has no such table: the next stop prepares it again.
        """
        from holdfast.core.bare_json import loads

        key_condition = "AND key = ? " if key is not None else ""
        project_condition = "AND project IN ('', ?) " if project is not None else ""
        try:
            rows = self._rows(
                f"SELECT {', '.join(MOMENT)} FROM moment WHERE tool = ? {key_condition}{project_condition}"
                f"ORDER BY position LIMIT {MOST_MOMENTS}",
                # A payload may contain a lone surrogate, which SQLite rejects.
                (
                    tool,
                    *([key.encode("utf-8", "replace").decode()] if key is not None else []),
                    *([project] if project is not None else []),
                ),
            )
        except Unreadable as error:
            if "no such table" in str(error):
                return []
            raise
        moments = [
            dict(zip(MOMENT, row, strict=True)) for row in rows if all(isinstance(c, str) for c in row)
        ]
        for row in moments:
            row["needs"] = loads(row["needs"])
            row["text"] = row["text"].partition("\n")[0]
        return moments

    def project_of(self, session: str, branch: str) -> str:
        rows = self._rows("SELECT project FROM since WHERE session = ? AND project != '' LIMIT 1", (session,))
        rows = rows or self._rows(
            "SELECT name FROM project WHERE branch IN (?, '') ORDER BY branch DESC LIMIT 1", (branch,)
        )
        return rows[0][0] if rows else ""

    def _rows(self, query: str, values: tuple[str | float, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            rows: list[tuple[Any, ...]] = self.db.execute(query, values).fetchall()
            return rows
        except self._error as error:
            raise Unreadable(str(error)) from error


def _check(path: str) -> None:
    """SQLite would wait for a pipe."""
    from stat import S_ISREG

    try:
        regular = S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise Unreadable(str(error)) from error
    if not regular:
        raise Unreadable(f"{path}: not a regular file")


def read_only(path: str) -> Any:
    """A connection to a file that the application may be writing; it waits a moment for a writer."""
    db = _sqlite().connect(_address(path), uri=True, timeout=0.2)
    db.setlimit(0, LONGEST_CELL)
    return db


def _address(path: str, more: str = "") -> str:
    path = path.replace("\\", "/")
    for sign, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(sign, code)
    return f"file:{'' if path.startswith('/') else '/'}{path}?mode=ro{more}"


def _sqlite() -> Any:
    """The C module of SQLite without Python's wrapper, which imports `datetime` and is slow to load."""
    try:
        import _sqlite3
    except ImportError:  # this interpreter is built differently
        import sqlite3

        return sqlite3
    return _sqlite3


def _texts(rows: list[tuple[Any, ...]]) -> list[tuple[str, str]]:
    """Keeps text values, and only their first line: SQLite lets a column hold anything."""
    return [
        (text.partition("\n")[0], reason if isinstance(reason, str) else "")
        for text, reason in rows
        if isinstance(text, str) and text
    ]
