"""Removes forgotten items from statements, log entries, prose and plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from msgspec.structs import asdict, replace

from holdfast.core.patterns import lazy_regex
from holdfast.model.memory import DeadEnd, Decision, Fact, LogEntry, Question, content_id, ids_of
from holdfast.store import line_grammar as md
from holdfast.store.phrases import SHORTEST, Phrases, Windows, replaced, tokens

T = TypeVar("T")
_LETTERS = {
    "decisions": "D",
    "questions": "Q",
    "findings": "N",
    "open_items": "T",
    "facts": "F",
    "passages": "D",
}
# Fields with names and codes instead of words: of statements, and of everything stored.
_FIXED = frozenset({"session", "agent", "by", "owner", "priority", "category"})
_NAMES = _FIXED | {"parent", "own", "status", "action", "kind", "outcome", "complexity", "reason", "sources"}
_NAMES |= {"model", "provider", "project_type", "framework"}
_BY_WORDS = frozenset(  # maps whose keys are texts
    {"commands", "todos", "files", "working", "mentions", "stumbles", "shaky", "jobs"}
)
# Removed as a whole: a hole would change the meaning.
_WHOLE = frozenset({"facts", "questions", "decisions", "passages"})
_MOST_KEYWORDS = 2
_TRACE = 4  # words in a row that no other session has
_QUOTED = lazy_regex(r"” \(([A-Z]-[0-9a-z]{6})\)")  # in the question which of two statements holds
_LINE_ID = lazy_regex(r" · ([A-Z]-[0-9a-z]{6})(?= <!--|\s*$)")
_LINE_SESSION = lazy_regex(r"<!-- session (.*?)(?: · at .*)? -->\s*$")


class Removal:
    """Sessions, ids and phrases to forget.

    `phrases` were given by a person. `said` are the words of forgotten statements, which are removed from captured
    text but not from what a person wrote. A question that quotes an id in `quoted` is removed. `instead` returns the
    same statement from another session. `traces` says whether a text without a source repeats a forgotten session.
    `hits` counts the removed items.
    """

    def __init__(
        self,
        sessions: Iterable[str] = (),
        ids: Iterable[str] = (),
        phrases: Iterable[str] = (),
        said: Iterable[str] = (),
        quoted: Iterable[str] = (),
        instead: Callable[[Any], Any] = lambda item: None,
        traces: Callable[[str], bool] = lambda text: False,
    ) -> None:
        self.sessions = frozenset(sessions)
        self.ids = frozenset(ids)
        self.asked: Windows = Phrases(phrases := tuple(phrases))
        self.phrases: Windows = (spelled := Phrases((*phrases, *said)))
        self._spelled = spelled.words
        self.quoted = frozenset(quoted)
        self.instead = instead
        self.traces = traces
        self.hits = 0

    @classmethod
    def of_hashes(cls, texts: Windows) -> Removal:
        """The removal of texts of which only hashes are here: they were forgotten on another machine."""
        removal = cls()
        removal.asked = removal.phrases = texts
        return removal

    def counted(self, edit: Callable[[T], T], value: T) -> tuple[T, int]:
        """The edited value, and how much was removed from it."""
        self.hits = 0
        return edit(value), self.hits

    # --- texts -----------------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        if not self.phrases or not text:
            return text
        spans = self.phrases.spans(text)
        self.hits += len(spans)
        return replaced(text, spans) if spans else text

    def trace(self, text: str) -> str:
        """A text without a source: empty if it repeats a forgotten session."""
        if self.sessions and self.traces(text):
            self.hits += 1
            return ""
        return self.text(text)

    def prose(self, text: str) -> str:
        """A person's text, which may contain lines of ours."""
        if self.sessions or self.ids:
            remaining = [line for line in text.split("\n") if not self._is_of(line)]
            self.hits += text.count("\n") + 1 - len(remaining)
            text = "\n".join(remaining)
        spans = self.asked.spans(text)
        self.hits += len(spans)
        return replaced(text, spans)

    def _is_of(self, line: str) -> bool:
        id = _LINE_ID.search(line)
        if id and id[1] in self.ids:
            return True
        source = _LINE_SESSION.search(line) if self.sessions else None
        return source is not None and md.decode(source[1]) in self.sessions and "· forgotten" not in source[1]

    def keywords(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Keywords without those of a phrase of one or two words. Longer phrases do not occur as keywords."""
        if not self._spelled and (found := {word for word in words if self.phrases.found_in(word)}):
            self.hits += len(found)
            words = tuple(word for word in words if word not in found)
        for signs in self._spelled:
            phrase = {word for word in signs if word[:1].isalnum()}
            if not 0 < len(phrase) <= _MOST_KEYWORDS:
                continue
            of_phrase = [word for word in words if phrase & {token.folded for token in tokens(word)}]
            if phrase <= {token.folded for word in of_phrase for token in tokens(word)}:
                self.hits += len(of_phrase)
                words = tuple(word for word in words if word not in of_phrase)
        return words

    # --- statements ------------------------------------------------------------------------------------

    def item(self, item: Any) -> Any:
        """The statement, the same one from another session, one with holes, or None."""
        is_listed = not self.ids.isdisjoint(ids_of(item))
        if self._by_forgotten(item) and not is_listed:
            self.hits += 1
            replacement = self.instead(item)
            return None if replacement is None else self.item(replacement)
        holed = isinstance(item, Fact | Question | Decision) and self.phrases.found_in(item.text)
        quotes = isinstance(item, Question) and not self.quoted.isdisjoint(_QUOTED.findall(item.text))
        if is_listed or holed or quotes:
            self.hits += 1
            return None
        return self.with_holes(item)

    def items(self, items: Iterable[T]) -> tuple[T, ...]:
        """The remaining statements. Another session's wording is not added twice."""
        all_items = tuple(items)
        ids = {getattr(item, "id", "") for item in all_items if not self._by_forgotten(item)}
        remaining: list[T] = []
        for item in all_items:
            edited = self.item(item)
            if edited is not None and not (self._by_forgotten(item) and edited.id in ids):
                remaining.append(edited)
                ids.add(getattr(edited, "id", ""))
        return tuple(remaining)

    def _by_forgotten(self, item: Any) -> bool:
        session = getattr(item, "session", "")
        return bool(session) and session in self.sessions

    def entry(self, entry: LogEntry) -> LogEntry:
        """A log entry of another session, without forgotten items."""
        kinds = ("decisions", "findings", "dead_ends", "questions", "open_items")
        statements = {name: tuple(filter(None, map(self.item, getattr(entry, name)))) for name in kinds}
        return self.with_holes(replace(entry, **statements))

    def with_holes(self, item: T) -> T:
        """The value with `[forgotten]` in place of the phrases in its texts."""
        if not self.phrases:
            return item
        changed: dict[str, object] = {}
        for name, value in asdict(cast("Any", item)).items():
            if name in _FIXED:
                continue
            if isinstance(value, str):
                changed[name] = self.text(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], str):
                changed[name] = tuple(map(self.text, value))
        return cast("T", replace(cast("Any", item), **changed)) if changed else item

    # --- plain values, as records, digests and traces are stored ----------------------------------------

    def plain(self, value: Any, name: str = "") -> Any:
        """Maps, lists and texts without forgotten items, and with holes. `name` is the name of the field."""
        if name in _NAMES:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list) and name == "keywords":
            return list(self.keywords(tuple(value)))
        if isinstance(value, list):
            remaining = [item for item in value if not self._is_forgotten(name, item)]
            self.hits += len(value) - len(remaining)
            return [self.plain(item) for item in remaining]
        if isinstance(value, dict) and name in _BY_WORDS:
            # An agent's to-do list has the text of each item as its key.
            forgotten = [key for key in value if name == "todos" and content_id("T", str(key)) in self.ids]
            self.hits += len(forgotten)
            return {self.plain(key): self.plain(item) for key, item in value.items() if key not in forgotten}
        if isinstance(value, dict):
            return {key: self.plain(item, str(key)) for key, item in value.items()}
        return value

    def _is_forgotten(self, name: Any, item: Any) -> bool:
        if isinstance(item, str):
            return name == "open_items" and content_id("T", item) in self.ids
        if not isinstance(item, dict):
            return False
        if name == "dead_ends":
            tried, failed = str(item.get("tried", "")), str(item.get("failed", ""))
            return not self.ids.isdisjoint(ids_of(DeadEnd(tried=tried, failed=failed)))
        text = str(item.get("text", ""))
        if name in _WHOLE and self.phrases.found_in(text):
            return True
        return name in _LETTERS and content_id(_LETTERS[name], text) in self.ids


class Traces:
    """Word sequences that only forgotten sessions contain: they reveal where their texts were repeated."""

    def __init__(self, own: Iterable[str], others: Callable[[], Iterable[str]]) -> None:
        self._own: set[tuple[str, ...]] = set()
        for text in own:
            words = _words(text)
            if len(words) > 1 or len(text) >= SHORTEST:
                self._own.update(_windows(words, min(_TRACE, len(words))))
        self._sizes = {len(window) for window in self._own}
        self._others = others
        self._settled = False

    def __call__(self, text: str) -> bool:
        if not self._own or not self._in(text):
            return False
        if not self._settled:  # all other sessions are read only after a first match
            self._settled = True
            for other_text in self._others():
                self._own.difference_update(self._all_windows(other_text))
        return self._in(text)

    def _in(self, text: str) -> bool:
        return not self._own.isdisjoint(self._all_windows(text))

    def _all_windows(self, text: str) -> Iterable[tuple[str, ...]]:
        words = _words(text)
        return (window for size in self._sizes for window in _windows(words, size))


def _windows(words: list[str], size: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[place : place + size]) for place in range(len(words) - size + 1)) if size else ()


def _words(text: str) -> list[str]:
    return [token.folded for token in tokens(text) if token.folded[:1].isalnum()]


def texts_in(value: Any) -> Iterable[str]:
    """Every text in plain values, except names and codes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _BY_WORDS and isinstance(item, dict):
                yield from map(str, item)
            if name not in _NAMES:
                yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
