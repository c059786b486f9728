"""The `Index` contract of every search backend.

tests/search/test_index_contract.py tests all backends. A new backend adds itself to the table there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, date, datetime
from types import TracebackType
from typing import Protocol

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit, Stats

FLOOR = 0.42
"""The least evidence that is worth a reader's attention; docs/research/benchmarks.md says how it was found."""

FITTING = 0.35
"""The least evidence of a query's best answer: less than FLOOR, because a person can judge the result."""

NEAR = 0.21
"""The least cosine of a text that shares no word with the question and may still be meant; found in the same place."""

NO_WORD = 0.6
"""The same for a question that is no word at all: the pieces that a model makes of it are near to anything."""

When = float | int | str | datetime | date | None
"""A time: seconds since 1970, an ISO 8601 string, or a datetime; without a zone it is UTC."""

LONGEST_TEXT = 100_000_000
"""The most characters of a chunk. Text after the first million is found by its words alone."""

_LONGEST_ID = 1000


class Index(Protocol):
    """A search index. It is derived: a rebuilt index gives the same answers."""

    def put(
        self,
        id: str,
        text: str,
        kind: str = "history",
        when: When = None,
        *,
        title: str = "",
        path: str = "",
        line: int = 0,
        session: str = "",
        project: str = "",
    ) -> bool:
        """Stores `text` under `id`, replacing any earlier text. Returns False if nothing has changed."""

    def put_many(self, chunks: Iterable[Chunk]) -> Changes:
        """Stores all chunks or, on an error, none; unchanged ones cost almost nothing."""

    def delete(self, id: str) -> bool:
        """Returns False if there was no such chunk."""

    def delete_many(self, ids: Iterable[str]) -> int:
        """Deletes in one transaction, and returns how many chunks there were."""

    def search(
        self,
        query: str,
        k: int = 10,
        now: When = None,
        kinds: Collection[str] | None = None,
        project: str | Collection[str] | None = None,
        *,
        before: When = None,
        since: When = None,
        floor: float = 0.0,
        fitting: bool = False,
    ) -> list[Hit]:
        """The `k` best, one for each id, best first; the same question gets the same answer.

        `now` is what recency is measured from: the newest chunk's moment unless told. `before` leaves out what is
        not older, and then nothing newer is the newest; `since` leaves out what is older, and with it a question may be
        empty: then all of that time answers, newest first. `floor` leaves out what has less evidence than that, however
        recent: FLOOR is the one that was calibrated. With `fitting` there is no answer at all where no text has as
        much as FITTING; where none holds a word of the question one must be as near as NEAR. The nearest of what
        does not fit is no answer.
        """

    def ids(self) -> Iterator[str]:
        """Every id, in order."""

    def text(self, id: str) -> str:
        """The whole text of a chunk, of which a hit may show only a passage; '' if there is no such chunk."""

    def mark(self) -> str:
        """The value of the last `set_mark`; '' in a rebuilt index."""

    def set_mark(self, mark: str) -> None:
        """Stores a mark, durable only together with all earlier writes."""

    def stats(self) -> Stats: ...

    def close(self) -> None: ...

    def __enter__(self) -> Index: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def seconds(when: When) -> float | None:
    """The time in seconds since 1970."""
    if when is None or when == "":  # as in a hit without a date
        return None
    if isinstance(when, str):
        when = _read(when)
    if isinstance(when, datetime):
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    if isinstance(when, date):
        return datetime(when.year, when.month, when.day, tzinfo=UTC).timestamp()
    if not isinstance(when, int | float):
        raise UsageError(f"not a moment: {type(when).__name__}", fix="Give seconds since 1970")
    number = float(when)
    if not -1e11 < number < 1e12:  # years -1200 to 33000; also refuses what is not a number
        raise UsageError(f"not a moment: {when!r}", fix="Give seconds since 1970")
    return number


def _read(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        fix = "Give seconds since 1970, or a date and time as in 2026-01-31T12:00:00Z"
        raise UsageError(f"not a date: {text[:40]!r}", fix=fix) from error


def typed(chunk: Chunk) -> Chunk:
    """Checks the types of a chunk. A struct does not check its fields, and numbers as ids are an easy mistake."""
    for field in _TEXTS:
        value = getattr(chunk, field)
        if not isinstance(value, str):
            fix = "Give a text: str(...) makes one of a number"
            raise UsageError(f"the {field} of a chunk is not a text but {type(value).__name__}", fix=fix)
    if not isinstance(chunk.line, int):
        raise UsageError("the line of a chunk is not a whole number", fix="Count lines from 1; 0 is none")
    return chunk


_TEXTS = ("id", "text", "kind", "title", "path", "session", "project", "data")


def checked(chunk: Chunk) -> Chunk:
    """The chunk as it can be stored: replaces characters that no database accepts, refuses an unusable id."""
    if not chunk.id or len(chunk.id) > _LONGEST_ID or storable(chunk.id) != chunk.id:
        fix = f"Use 1 to {_LONGEST_ID} characters, without NUL or lone surrogates"
        raise UsageError(f"not usable as the id of a chunk: {chunk.id[:40]!a}", fix=fix)
    if len(chunk.text) > LONGEST_TEXT:
        fix = f"Cut it into parts of at most {LONGEST_TEXT:,} characters"
        raise UsageError(f"the text of {chunk.id[:40]!a} has {len(chunk.text):,} characters", fix=fix)
    return Chunk(
        id=chunk.id,
        text=storable(chunk.text),
        kind=storable(chunk.kind),
        when=seconds(chunk.when),
        title=storable(chunk.title[:_LONGEST_ID]),
        path=storable(chunk.path),
        line=max(0, min(chunk.line, 2**31)),
        session=storable(chunk.session),
        project=storable(chunk.project),
        data=storable(chunk.data),
    )


def storable(text: str) -> str:
    """`text` with U+FFFD for NUL and for lone surrogates."""
    text = text.replace("\0", "\ufffd")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


# --- queries -------------------------------------------------------------------------------------------


class Scope(Struct, frozen=True):
    """Which chunks may answer."""

    kinds: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    before: float | None = None
    since: float | None = None

    @property
    def is_everything(self) -> bool:
        return self == Scope()

    def condition(self) -> tuple[str, list[object]]:
        """As SQL over `chunk`."""
        parts = ["1"]
        values: list[object] = []
        for column, allowed in (("kind", self.kinds), ("project", self.projects)):
            if allowed is not None:
                parts.append(f"chunk.{column} IN ({', '.join('?' * len(allowed))})")
                values.extend(allowed)
        if self.before is not None:
            parts.append("chunk.at < ?")
            values.append(self.before)
        if self.since is not None:
            parts.append("chunk.at >= ?")
            values.append(self.since)
        return " AND ".join(parts), values


class Query(Struct, frozen=True):
    """`least` is the cosine below which a text that shares no word with it does not fit; None where all do.

    `lift` is by how much the cosines of its embedder are smaller than those that the floors were set with.
    """

    text: str
    scope: Scope
    now: float | None
    vector: bytes | None
    least: float | None = None
    lift: float = 0.0
    recency: float = 0.0
