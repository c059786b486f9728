"""The denylist: what was forgotten and must not come back. Every import and every capture checks it.

`denied.jsonl` lists sessions and ids. For a text it stores a keyed hash of its folded words and their number, to
compare with every window of that many words in a new text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.files import Held
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.model.memory import Decision, Fact, Harvest, LogEntry, Passage, Question, ids_of
from holdfast.store.json_files import encode_json_lines, read_json_lines
from holdfast.store.phrases import FORGOTTEN, HEAD, Windows, head_key, whole_key, words_of_phrase

NAME = "denied.jsonl"
Gathered = TypeVar("Gathered", Harvest, LogEntry)
_KEY = lazy_regex(r"(?:[0-9a-f]{2}){1,64}")
_KINDS = ("decisions", "questions", "findings", "dead_ends", "open_items", "facts")


class _DenylistLine(Struct, omit_defaults=True):
    session: str = ""
    id: str = ""
    text: str = ""
    head: str = ""
    words: int = 0
    key: str = ""
    at: float = 0.0


class Denied:
    """The denylist as read at construction."""

    def __init__(self, memory: Path) -> None:
        self._path = memory / NAME
        self._lines = read_json_lines(self._path, _DenylistLine)
        self.sessions = frozenset(line.session for line in self._lines if line.session)
        self.ids = frozenset(line.id for line in self._lines if line.id)

    def __bool__(self) -> bool:
        return bool(self._lines)

    @cached_property
    def texts(self) -> Windows:
        """The forgotten texts; false if there are none."""
        lines = [line for line in self._lines if line.text and _KEY.fullmatch(line.key)]
        hashes = {name for line in lines for name in (line.text, line.head) if name}
        keys = sorted({line.key for line in lines})
        return Windows(
            {line.words for line in lines}, lambda key: any(_hash(key, salt) in hashes for salt in keys)
        )

    def strip(self, text: str) -> str:
        """A text for storage: `[forgotten]` replaces every forgotten text."""
        return self.texts.strip(text)

    def cleaner(self, clean: Callable[[str], str]) -> Callable[[str], str]:
        """`clean`, then `strip`; only `clean` if no text was forgotten."""
        return (lambda text: self.texts.strip(clean(text))) if self.texts else clean

    def lets(self, item: object) -> bool:
        """Whether a statement may be stored. A fact, question, decision or passage with a hole in it may not."""
        if not self.ids.isdisjoint(ids_of(item)):
            return False
        return not (isinstance(item, Fact | Question | Decision | Passage) and FORGOTTEN in item.text)

    def left_of(self, gathered: Gathered) -> Gathered:
        """A harvest or log entry without forgotten statements."""
        if not self:
            return gathered
        kinds = [name for name in _KINDS if hasattr(gathered, name)]
        allowed = {name: tuple(filter(self.lets, getattr(gathered, name))) for name in kinds}
        return msgspec.structs.replace(gathered, **allowed)

    def add(
        self, held: Held, at: float, sessions: Iterable[str], ids: Iterable[str], texts: Iterable[str]
    ) -> None:
        """Adds entries. Call it before anything is removed, so that no import undoes an interrupted removal."""
        lines = [_DenylistLine(session=name, at=at) for name in sorted(set(sessions) - self.sessions)]
        lines += [_DenylistLine(id=name, at=at) for name in sorted(set(ids) - self.ids)]
        key = next((line.key for line in self._lines if _KEY.fullmatch(line.key)), "") or os.urandom(16).hex()
        hashes = {line.text for line in self._lines}
        for words in dict.fromkeys(map(words_of_phrase, texts)):
            if words and _hash(whole_key(words), key) not in hashes:
                number = len(words)
                head = _hash(head_key(words, number), key) if number > HEAD else ""
                whole = _hash(whole_key(words), key)
                lines.append(_DenylistLine(text=whole, head=head, words=number, key=key, at=at))
        if lines:
            files.append_held(held, self._path, encode_json_lines(lines))


def _hash(text: str, key: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), key=bytes.fromhex(key), digest_size=16).hexdigest()
