"""A ledger row: the metadata of one session, and never its content."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """What sort of work a session was."""

    FEATURE = "feature"
    BUGFIX = "bugfix"
    REFACTOR = "refactor"
    TEST = "test"
    DOCS = "docs"
    CONFIG = "config"
    MIGRATION = "migration"
    REVIEW = "review"
    EXPLORATION = "exploration"
    OTHER = "other"


class Complexity(StrEnum):
    TRIVIAL = "trivial"
    SIMPLE = "simple"
    MODERATE = "moderate"
    COMPLEX = "complex"


class Outcome(StrEnum):
    """How a session ended, as far as its transcript shows. FORGOTTEN marks a tombstone."""

    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"
    FORGOTTEN = "forgotten"


class FailureReason(StrEnum):
    SYNTAX_ERROR = "syntax_error"
    TEST_FAILURE = "test_failure"
    TIMEOUT = "timeout"
    DEPENDENCY_ERROR = "dependency_error"
    LLM_REFUSAL = "llm_refusal"
    USER_REJECTED = "user_rejected"
    TOOL_ERROR = "tool_error"
    API_ERROR = "api_error"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class Tokens(Struct, frozen=True):
    """Tokens by the four prices they have. `input` excludes what was read from or written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class Completeness(StrEnum):
    """What the transcript shows of its own usage; nothing where it shows no gap."""

    INCOMPLETE = "incomplete"
    MISSING = "missing"


class LedgerEntry(Struct, frozen=True):
    """One row. `None` means unknown, which is not zero; unknown columns travel in `extra`.

    Written with keywords everywhere but in `ledger/markdown.py`, which reads millions by position.
    """

    session: str
    model: str | None = None
    tasks: int | None = None
    failed: int | None = None
    cost_usd: Decimal | None = None
    duration_s: int | None = None
    framework: str | None = None
    goal: tuple[str, ...] = ()
    timestamp: datetime | None = None
    agent: str | None = None
    provider: str | None = None
    kind: str | None = None
    skipped: int | None = None
    project_type: str | None = None
    failures: tuple[str, ...] = ()
    complexity: str | None = None
    tokens: Tokens | None = None
    commits: int | None = None
    outcome: str | None = None
    recorded: datetime | None = None
    usage: str | None = (
        None  # incomplete or missing, where the transcript shows it: cost and tokens are too low
    )
    clock: str | None = None  # the cell with its stamp, see `ledger/order.py`
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def forgotten(self) -> bool:
        return self.outcome == Outcome.FORGOTTEN
