"""Chats: which chunks are turns of one session, and in what order.

A reply seldom repeats what the turn before asked, so turns are ranked with those around them (`context`). A chunk
belongs to the `session` that it was put with. Without one its id may say so: `chat7:3`, `chat7#3`, `s1_turn_12` and
`conv-26/D1:3` are turns 3, 3, 12 and 3 of `chat7`, `chat7`, `s1` and `conv-26/D1`. Nothing here depends on the order
in which chunks are put.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.search import TIMELESS, Chunk
from holdfast.search.database import Database

# What ids call a turn, or whoever speaks in it.
_LABEL = "turn|t|message|msg|m|utterance|utt|user|u|human|assistant|a|agent|ai|bot|system|part|line|l"
_SIGN = "[:#/_.|@-]"
_NUMBERED = lazy_regex(
    rf"(?P<chat>.*?)(?P<sign>{_SIGN}?)(?P<label>(?:(?<![A-Za-z])(?:{_LABEL}){_SIGN}?)?)(?<!\d)(?P<number>\d{{1,6}})"
)
_CONTAINS = (
    ":#"  # signs between a container and what is in it; the others also count the pieces of a collection
)
_OWN_ID = lazy_regex(r"[A-Za-z]-[0-9A-Za-z]{4,12}")  # a letter and a hash: digits at its end count nothing
_STEP = 1e-6  # of a place, for each number; times are kept to the microsecond


class Turn(Struct, frozen=True):
    """Where a chunk stands: the name of its series, and its place there."""

    series: str
    place: float


def turn_of(chunk: Chunk) -> Turn | None:
    """None for a chunk that stands alone: facts and lessons do, whatever session they were learned in.

    So does a part of a file that is not numbered: a note says itself what it is about, or its title does.
    """
    if chunk.kind in TIMELESS:
        return None
    match = None if _OWN_ID.fullmatch(chunk.id) else _NUMBERED.fullmatch(chunk.id)
    if match is None and chunk.path:
        return None
    number = int(match["number"]) if match else None
    series = chunk.session
    if not series:
        if match is None or not match["sign"] or not match["chat"]:
            return None
        is_chat = match["sign"] in _CONTAINS or match["label"] or any(map(str.isdigit, match["chat"]))
        if not is_chat:
            return None
        series = match["chat"]
    return Turn(f"{chunk.project}\n{series}", _place(chunk.when or 0.0, number))


def _place(when: float, number: int | None) -> float:
    """By time, then by number: all turns of a chat may have its date."""
    return when if number is None else int(when) + number * _STEP


def note_turns(database: Database, numbered: Iterable[tuple[int, Chunk]]) -> None:
    """Stores of which series chunks are turns, by their row numbers."""
    known: dict[str, int] = {}
    for number, chunk in numbered:
        turn = turn_of(chunk)
        if turn is None:
            continue
        if turn.series not in known:
            database.ask("INSERT OR IGNORE INTO series (name) VALUES (?)", (turn.series,))
            known[turn.series] = database.number("SELECT n FROM series WHERE name = ?", (turn.series,))
        database.ask("INSERT INTO turn VALUES (?, ?, ?)", (number, known[turn.series], turn.place))


def forget_turn(database: Database, number: int) -> None:
    row = database.row("SELECT series FROM turn WHERE chunk = ?", (number,))
    if row is not None:
        database.ask("DELETE FROM turn WHERE chunk = ?", (number,))
        empty = "DELETE FROM series WHERE n = ? AND NOT EXISTS (SELECT 1 FROM turn WHERE series = ?)"
        database.ask(empty, (row[0], row[0]))
