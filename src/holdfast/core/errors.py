"""Every error that holdfast raises on purpose: one base class, a stable code, and a line a person can act on.

HoldfastError            base; `code` never changes once released
├── UsageError           the command line is wrong (exit 2)
├── TranscriptError      a transcript cannot be read
├── LedgerError          the ledger file is unusable
├── StoreError           the disk, a lock or a permission prevents reading or writing
├── CopiedProject        a folder has another project's id
├── NameRefused          a name cannot be used as a path
├── FormatTooNew         written by a newer holdfast; read-only here
├── ConfigError          a configuration file is invalid
├── NotALesson           a file in the lessons folder is not a lesson or cannot be used
├── ModelError           a configured model gave no usable answer
└── NotFound             an id does not exist
"""

from __future__ import annotations

LONGEST = 2_000  # characters of each part of a line


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class HoldfastError(Exception):
    """Says where it happened, what is wrong, and what to do about it."""

    code = "error"

    def __init__(self, problem: str, *, where: str = "", fix: str = "") -> None:
        self.problem = problem
        self.where = where
        self.fix = fix
        super().__init__(self.line())

    def line(self) -> str:
        """The whole error as one line: `where: problem. What to do.` What it quotes may be long; a line is not."""
        place = f"{_short(self.where)}: " if self.where else ""
        text = f"{place}{_short(self.problem.rstrip('.'))}."
        if self.fix:
            text += f" {_short(self.fix.rstrip('.'))}."
        return " ".join(text.split())


class UsageError(HoldfastError):
    code = "usage"


class TranscriptError(HoldfastError):
    code = "transcript"


class LedgerError(HoldfastError):
    code = "ledger"


class StoreError(HoldfastError):
    code = "store"


class CopiedProject(HoldfastError):
    code = "copied-project"


class NameRefused(HoldfastError):
    code = "name"


class FormatTooNew(HoldfastError):
    code = "format"


class ConfigError(HoldfastError):
    code = "config"


class NotALesson(HoldfastError):
    code = "lesson"


class ModelError(HoldfastError):
    code = "model"


class NotFound(HoldfastError):
    code = "not-found"
