"""Patterns that are compiled when they are first used: an import has hundreds, and most sessions need few of them.

Compiling all of them takes a tenth of a second. `Sought` looks for words first: most texts have none, and words cost
less. Hooks load this module, so `re` waits too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_IGNORECASE = 2  # re.IGNORECASE
_METHODS = (
    "search",
    "match",
    "fullmatch",
    "finditer",
    "findall",
    "sub",
    "subn",
    "split",
    "groupindex",
    "groups",
)


class _Late:
    """Becomes the pattern at the first touch: from then on its methods are those of the compiled one, at no cost."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _METHODS:
            raise AttributeError(name)
        import re

        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def late(source: str, flags: int = 0) -> re.Pattern[str]:
    """Used like `re.compile(source, flags)`; a source that is no pattern is an error only when it is used."""
    return _Late(source, flags)  # type: ignore[return-value]


class Sought:
    """Behaves like the pattern of the same source.

    Every match holds one of the `words`, which stand between bars and in lower case where the pattern ignores
    case; a test draws matches from each pattern and looks for its words.
    """

    __slots__ = ("_folds", "_pattern", "flags", "source", "words")

    def __init__(self, source: str, flags: int = 0, *, words: str) -> None:
        self.source = source
        self.flags = flags
        self.words = tuple(words.split("|"))
        self._folds = bool(flags & _IGNORECASE)
        self._pattern: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._pattern is None:
            import re

            self._pattern = re.compile(self.source, self.flags)
        return self._pattern

    def _may_match(self, text: str) -> bool:
        looked_at = text.lower() if self._folds else text
        return any(word in looked_at for word in self.words)

    def search(self, text: str) -> re.Match[str] | None:
        looked_at = text.lower() if self._folds else text
        for word in self.words:  # a loop costs half of a generator, and every text is asked
            if word in looked_at:
                return self.pattern.search(text)
        return None

    def match(self, text: str) -> re.Match[str] | None:
        return self.pattern.match(text) if self._may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.pattern.fullmatch(text) if self._may_match(text) else None
