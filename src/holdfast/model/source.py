"""Where statements come from: a session, a commit or a document, with the words by which it is found."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from holdfast.model.statement import Statement

SourceKind = Literal["session", "commit", "document"]


class Source(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session, commit or section of a document, and the statements in it that an agent may be told.

    `turns` are the texts by which it is found, in order: the messages of a conversation, the subject and the
    paragraphs of a commit. `branches` are those on which it counts; empty means every branch. From the time
    `everywhere_from` it counts on every branch. `stamp` is a hash of what it was made from.
    """

    id: str
    kind: SourceKind
    at: float | None = None
    title: str = ""
    who: str = ""
    project: str = ""
    branches: tuple[str, ...] = ()
    everywhere_from: float | None = None
    turns: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    stamp: str = ""
