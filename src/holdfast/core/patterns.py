"""Regular expressions that are compiled on first use, or loaded from a cache of compiled programs.

A command uses a tenth of our several hundred patterns, and compiling them took a quarter of the CPU time of a session
end. `load_programs` loads the compiled programs of earlier processes from a file, and `save_programs` adds those of
this one. Only patterns of `lazy_regex` and `PrefilteredRegex` are saved, whose sources are constants of this package; a
pattern made from a user's text goes through `re.compile` and is never written. Hooks load this module, so `re` is
imported lazily too.
"""

from __future__ import annotations

from holdfast.core.reading import bytes_of, open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

REGEX_CACHE = "cache/regex"  # in our home; capture and import write it, every command reads it
_MOST_KEPT = 64 << 20  # bytes of compiled patterns
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


class _LazyRegex:
    """Compiles on first access; after that its methods are those of the compiled pattern, at no cost."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled: re.Pattern[Any] = _programs.compile(self.pattern, int(self.flags))
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def lazy_regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Used like `re.compile(source, flags)`; an invalid source is an error only when the pattern is used."""
    return _LazyRegex(source, flags)  # type: ignore[return-value]


def constant_regex(source: str) -> re.Pattern[str]:
    """A pattern that is put together from constants of this package: kept like one of `lazy_regex`."""
    return _programs.compile(source, 0)


class PrefilteredRegex:
    """A pattern that is searched only in texts that contain one of its words, which is faster.

    Every match contains one of the `words`, separated by bars and in lower case where the pattern ignores case; a test
    draws matches from each pattern and looks for its words. Without words every text is searched.

    A pattern that ignores case is matched in lower-cased text, which takes a third of the time: positions hold, groups
    are in lower case.
    """

    __slots__ = ("_folds", "_pattern", "flags", "source", "words")

    def __init__(self, source: str, flags: int = 0, *, words: str = "") -> None:
        self.source = source
        self.flags = flags
        self.words = tuple(words.split("|"))
        self._folds = bool(flags & _IGNORECASE)
        self._pattern: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._pattern is None:
            source = _lower_case(self.source) if self._folds else self.source
            self._pattern = _programs.compile(source, int(self.flags) & ~_IGNORECASE)
        return self._pattern

    def search(self, text: str) -> re.Match[str] | None:
        text = fold_case(text) if self._folds else text
        for word in self.words:  # twice as fast as a generator, and this runs for every text
            if word in text:
                return self.pattern.search(text)
        return None

    def match(self, text: str) -> re.Match[str] | None:
        text = fold_case(text) if self._folds else text
        return self.pattern.match(text) if any(word in text for word in self.words) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        text = fold_case(text) if self._folds else text
        return self.pattern.fullmatch(text) if any(word in text for word in self.words) else None


def fold_case(text: str) -> str:
    """Lower case of the same length; letters that match `i` or `s` when case is ignored become `i` and `s`."""
    if not text.isascii():
        text = text.replace("\u0130", "i").replace("\u0131", "i").replace("\u017f", "s")
    return text.lower()


def _lower_case(source: str) -> str:
    """The same pattern for lower-cased text: a capital outside of escapes and `(?P` is a literal or part of a range."""
    import re

    def lowered(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "\\(" else found[0].lower()

    return re.sub(r"\\.|\(\?P|[A-Z]+", lowered, source)


def load_programs(path: str) -> None:
    """Uses the compiled programs in this file from now on. If it is missing or damaged, patterns are compiled.

    The file is read when a pattern is first needed: many commands need none.
    """
    _programs.load(path)


def save_programs() -> None:
    """Adds the programs compiled since `load_programs` to the file. Ignores errors."""
    _programs.save()


class _Programs:
    """Compiled programs by a hash of source and flags: (flags, code as bytes, groups, names, names by number).

    The file holds no source, so that a search of a memory's files for a text does not find our pattern for it.
    """

    def __init__(self) -> None:
        self._path = ""
        self._known: dict[bytes, tuple[Any, ...]] | None = None  # None: the file was not read yet
        self._added = False

    def compile(self, source: AnyStr, flags: int) -> re.Pattern[AnyStr]:
        import re

        if not self._path:
            return re.compile(source, flags)
        try:
            known = self._read() if self._known is None else self._known
            key = _key(source, flags)
            program = known.get(key)
            if program is None:
                program = known[key] = _compiled(source, flags)
                self._added = True
            return _pattern(source, program)
        except re.error:
            raise
        except Exception:  # these internals of `re` may change: the public way always works
            return re.compile(source, flags)

    def load(self, path: str) -> None:
        self._path, self._known, self._added = path, None, False

    def _read(self) -> dict[bytes, tuple[Any, ...]]:
        import marshal

        self._known = {}
        try:
            stamp, programs = marshal.loads(bytes_of(self._path, _MOST_KEPT) or b"")
            if stamp == _stamp() and isinstance(programs, dict):
                self._known = programs
        except (OSError, EOFError, ValueError, TypeError):
            pass
        return self._known

    def save(self) -> None:
        if not self._added:
            return
        import marshal
        import os

        beside = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            descriptor = open_regular(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, follow=False)
            with os.fdopen(descriptor, "wb") as file:
                file.write(marshal.dumps((_stamp(), self._known)))
            os.replace(beside, self._path)
        except OSError:
            pass
        self._added = False


_programs = _Programs()


def _stamp() -> tuple[str, int, int, int]:
    """Identifies the interpreter that a program is compiled for: another cannot use it."""
    import _sre  # type: ignore[import-not-found]
    import sys

    return sys.version, _sre.MAGIC, _sre.CODESIZE, sys.maxsize


def _key(source: str | bytes, flags: int) -> bytes:
    from holdfast.core.hashes import blake2b

    return blake2b(repr((source, flags)).encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _compiled(source: str | bytes, flags: int) -> tuple[Any, ...]:
    from array import array
    from re import _compiler, _parser  # type: ignore[attr-defined]

    tree = _parser.parse(source, flags)
    names: dict[str, int] = tree.state.groupdict
    by_number: list[str | None] = [None] * tree.state.groups
    for name, number in names.items():
        by_number[number] = name
    code = array("I", _compiler._code(tree, flags)).tobytes()
    return flags | tree.state.flags, code, tree.state.groups - 1, names, tuple(by_number)


def _pattern(source: AnyStr, program: tuple[Any, ...]) -> re.Pattern[AnyStr]:
    """`_sre.compile` checks the code, so a damaged program is an error and not a crash."""
    import _sre
    from array import array

    flags, code, groups, names, by_number = program
    words = array("I")
    words.frombytes(code)
    compiled: re.Pattern[AnyStr] = _sre.compile(source, flags, words.tolist(), groups, names, by_number)
    return compiled
