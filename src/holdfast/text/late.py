"""Patterns that are compiled when they are first used: an import has hundreds, and most sessions need few of them."""

from __future__ import annotations

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    import re

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
        import re  # not for free either: what uses no pattern need not pay for it

        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def late(source: str, flags: int = 0) -> re.Pattern[str]:
    """Used like `re.compile(source, flags)`; a source that is no pattern is an error only when it is used."""
    return _Late(source, flags)  # type: ignore[return-value]
