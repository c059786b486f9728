"""The values of search: chunks, hits, and the figures of an index."""

from __future__ import annotations

from msgspec import Struct, structs

from holdfast.model.origin import Origin
from holdfast.model.statement import Statement, decoded

TIMELESS = frozenset({"fact", "lesson", "knowledge", "convention"})
"""Kinds that do not fade: what is true is not truer for being new. All others prefer the recent."""

EXACT_FIRST = frozenset({"fact", "command", "id"})
"""Kinds where a text that holds the question word for word comes before one that is only like it."""


WEAK = "weak evidence"
"""A hit's reason that it may as well be chance, beside the others."""


class Chunk(Struct, frozen=True, kw_only=True):
    """One thing that can be found: a fact, a part of a log entry, a lesson. Long texts are cut up inside the index.

    `title` is searched too and counts double: a heading, other names of the thing. `data` is what the text says as
    values for the reader of a hit; the index only stores it.
    """

    id: str
    text: str
    kind: str = "history"
    when: float | None = None
    title: str = ""
    path: str = ""
    line: int = 0
    session: str = ""
    project: str = ""
    data: str = ""


class Grounds(Struct, frozen=True):
    """Why something was found: its id is in the query, shared words, similarity of meaning, its date.

    `weak` is what may as well be chance; `context` says which turns around it fit, where it shares no word itself.
    """

    named: bool = False
    words: tuple[str, ...] = ()
    meaning: str = ""
    weak: bool = False
    dated: str = ""
    context: str = ""

    @property
    def are_one_word(self) -> bool:
        """Whether one shared word is all there is."""
        return len(self.words) == 1 and not (self.meaning or self.weak or self.dated or self.context)

    def text(self, otherwise: str = "") -> str:
        """For people; `otherwise` where nothing can be named."""
        reasons = ["its id"] if self.named else []
        reasons += [f"words: {', '.join(self.words)}"] if self.words else []
        reasons += [f"meaning: {self.meaning}"] if self.meaning else []
        reasons += [f"context: {self.context}"] if self.context else []
        reasons += [WEAK] if self.weak else []
        reasons += [f"dated {self.dated}"] if self.dated else []
        return "; ".join(reasons) or otherwise


class Hit(Struct, frozen=True, kw_only=True):
    """One answer. `text` is the whole chunk, or the best passage of a long one, and `line` is where that stands.

    `score` lies between 0 and 1, falls along the list and means the same for every question; `date` is ISO 8601
    in UTC or ''; `why` is for people, `grounds` is the same as values, and `data` is the chunk's.
    """

    id: str
    kind: str
    text: str
    path: str
    line: int
    session: str
    project: str
    date: str
    score: float
    why: str
    grounds: Grounds = Grounds()
    data: str = ""
    origin: Origin = "session"
    trusted: bool = True  # whether it may reach agents unasked

    @property
    def by(self) -> str:
        """Who shared it, if it is somebody else's."""
        said = decoded(self.data) if self.origin == "team" else None
        return said.who if isinstance(said, Statement) else ""

    def as_json(self) -> dict[str, object]:
        fields = structs.asdict(self)
        shown = {name: value for name, value in fields.items() if name not in ("grounds", "data")}
        return {**shown, "by": self.by} if self.by else shown


class Changes(Struct, frozen=True, kw_only=True):
    """What a batch did."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0


class Stats(Struct, frozen=True, kw_only=True):
    """The figures of an index. `vectors` is the embedder's name, '' where only words are searched."""

    chunks: int
    passages: int
    bytes: int
    vectors: str
    kinds: dict[str, int]
