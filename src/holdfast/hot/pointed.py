"""A file that is pointed to, and why: which sessions touched it, and what they were asked with as well."""

from __future__ import annotations

from holdfast.hot.words import LONGEST_PROMPT, as_written

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.hot.postings import Postings


class Reasons:
    """What speaks for files, worked out for those that are told only."""

    def __init__(
        self, postings: Postings, query: dict[str, float], likeness: dict[int, float], prompt: str
    ) -> None:
        self._postings = postings
        self._query = query
        self._likeness = likeness
        self._written = as_written([prompt[:LONGEST_PROMPT]], postings.empty)
        self.named: Collection[str] = ()

    def speaker(self, path: str) -> int:
        touches = self._postings.touches(path)
        return max(touches, key=lambda number: (self._likeness.get(number, 0.0), number), default=-1)

    def session(self, path: str) -> str:
        """The session that speaks most for a file; '' where only git knows it."""
        number = self.speaker(path)
        return "" if number < 0 else self._postings.session(number)

    def why(self, path: str) -> str:
        if path in self.named:
            return "the prompt names it"
        touches = self._postings.touches(path)
        if not touches:
            return "changes together with likely files"
        edits = sum(touches.values())
        did = f"edited in {edits}" if edits else f"read in {len(touches)}"
        shared = ", ".join(self._shared(self.speaker(path)))
        return f"{did} of {self._postings.sessions} sessions" + (f"; {shared}" if shared else "")

    def _shared(self, number: int) -> list[str]:
        """The most telling words that a session was asked with as well."""
        found = [word for word in self._query if number in self._postings.holding(word)]
        telling = sorted(found, key=lambda word: (-self._query[word] * self._postings.rarity(word), word))
        return [self._written.get(word, word) for word in telling[:3]]


class Pointed:
    """A file with its chance: how often files with this standing were touched in the histories that the weights were
    fitted on."""

    __slots__ = ("_reasons", "chance", "path")

    def __init__(self, path: str, chance: float, reasons: Reasons) -> None:
        self.path = path
        self.chance = chance
        self._reasons = reasons

    @property
    def why(self) -> str:
        return self._reasons.why(self.path)

    @property
    def session(self) -> str:
        return self._reasons.session(self.path)
