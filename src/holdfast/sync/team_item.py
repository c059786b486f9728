"""A statement as a team shares it, and what makes one that came from elsewhere fit to be shown."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.guard.hidden_text import has_hidden
from holdfast.guard.quoted_text import is_hostile

KINDS = ("decision", "fact", "lesson")
LARGEST = 100_000  # bytes of one as JSON
_ID = re.compile(r"\w[\w .:@+=,~-]{0,119}")  # it is written into Markdown as it is


class TeamItem(Struct, frozen=True, kw_only=True):
    """What is shared of a statement. `kind` is that of the statement, or `fact` or `lesson`."""

    id: str
    kind: str
    text: str
    reason: str = ""
    not_: tuple[str, ...] = ()
    command: str = ""
    evidence: str = ""
    at: float | None = None
    replaces: str = ""


def readable_item(body: Any, id: str) -> TeamItem | None:
    """A statement that can be shown to people and agents; None for anything else."""
    try:
        item = msgspec.convert(body, TeamItem)
    except msgspec.ValidationError:
        return None
    said = " ".join((item.text, item.reason, *item.not_))
    if item.id != id or not _ID.fullmatch(id) or not item.text.strip():
        return None
    if has_hidden(said) or is_hostile(said) or len(msgspec.json.encode(body)) > LARGEST:
        return None
    return item
