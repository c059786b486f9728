"""A pattern that is looked for only where one of its words stands: most texts have none, and words cost less.

It is compiled when it is first needed; compiling all the patterns of an import takes a tenth of a second.
"""

from __future__ import annotations

import re


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
        self._folds = bool(flags & re.IGNORECASE)
        self._pattern: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._pattern is None:
            self._pattern = re.compile(self.source, self.flags)
        return self._pattern

    def search(self, text: str) -> re.Match[str] | None:
        looked_at = text.lower() if self._folds else text
        for word in self.words:  # a loop costs half of a generator
            if word in looked_at:
                return self.pattern.search(text)
        return None

    def match(self, text: str) -> re.Match[str] | None:
        looked_at = text.lower() if self._folds else text
        for word in self.words:
            if word in looked_at:
                return self.pattern.match(text)
        return None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        looked_at = text.lower() if self._folds else text
        for word in self.words:
            if word in looked_at:
                return self.pattern.fullmatch(text)
        return None
