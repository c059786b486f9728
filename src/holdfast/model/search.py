"""What search is about: chunks that go in, hits that come out, and the figures of an index."""

from __future__ import annotations

from msgspec import Struct

TIMELESS = frozenset({"fact", "lesson", "knowledge", "convention"})
"""Kinds that do not fade: what is true is not truer for being new. All others prefer the recent."""

EXACT_FIRST = frozenset({"fact", "command", "id"})
"""Kinds where a text that holds the question word for word comes before one that is only like it."""


WORDS, MEANING = "words: ", "meaning: "
"""How a hit's reasons begin: the words that it shares with the question, and how near it is where that tells."""


WEAK = "little speaks for it"
"""A hit's reason that it may as well be chance, beside the others."""


OUTCOME, FILES, COMMITS = "Outcome: ", "Files: ", "Commits: "
"""How the lines of a session's text begin; before them stands its goal, and its summary has no name."""

CUT_OFF = "… "
"""Before a passage that begins in the middle of a line."""


class Chunk(Struct, frozen=True, kw_only=True):
    """One thing that can be found: a fact, a part of a log entry, a lesson. Long texts are cut up inside the index.

    `title` is searched too and counts double: a heading, other names of the thing.
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


class Hit(Struct, frozen=True, kw_only=True):
    """One answer. `text` is the whole chunk, or the best passage of a long one, and `line` is where that stands.

    `score` lies between 0 and 1, falls along the list and means the same for every question; `date` is ISO 8601
    in UTC or ''; `why` is for people.
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
