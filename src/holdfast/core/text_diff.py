"""What differs between two contents of a file: as `diff -u` shows it, as a count of lines, and by name.

By name a person takes in a change of seventy lines at once. Settings are JSON, TOML or much like it, a name on each
line; what is written on one line has no names here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher, unified_diff

from holdfast.core.patterns import lazy_regex

NOTHING = "/dev/null"


def unified(before: bytes | None, after: bytes | None, name: str) -> str:
    """`diff -u` of a file; None is no file."""
    names = (NOTHING if before is None else name, NOTHING if after is None else name)
    lines = unified_diff(_lines(before), _lines(after), *names)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def count(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """Lines that came and lines that went; one that only moved is neither."""
    old, new = Counter(_lines(before)), Counter(_lines(after))
    return (new - old).total(), (old - new).total()


def _lines(data: bytes | None, *, with_ends: bool = True) -> list[str]:
    return [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=with_ends)


DEEPEST = 2  # names of names: what is within is counted for them
_NAME = lazy_regex(r'([ \t]*)(?:"((?:[^"\\]|\\.)*)"\s*:|([\w.-]+)\s*=|\[+\s*([^\]]+?)\s*\]+\s*$)')
_ONLY_SIGNS = lazy_regex(r"[\s{}\[\](),;]*")
Path = tuple[str, ...]


def outline(before: bytes | None, after: bytes | None) -> list[str]:
    """`+ hooks: SessionStart`, `- mcpServers: holdfast`; `~ hooks: Stop` was and is there, changed.

    What has no name is a number of lines.
    """
    old, new = _lines(before, with_ends=False), _lines(after, with_ends=False)
    went: list[int] = []
    came: list[int] = []
    # A comma after the former last item of a list does not count as a change.
    matcher = SequenceMatcher(None, [line.rstrip(", ") for line in old], [line.rstrip(", ") for line in new])
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            went += range(a, b)
            came += range(c, d)
    gone, there = _named(old, went), _named(new, came)
    both = {path: None for path in gone if path in there}
    return [
        *_told("-", [path for path in gone if path not in both]),
        *_told("~", [path for path in both if path]),
        *_told("+", [path for path in there if path not in both]),
        *_counted("-", gone.get((), 0)),
        *_counted("+", there.get((), 0)),
    ]


def _named(lines: list[str], chosen: Iterable[int]) -> dict[Path, int]:
    """The names that lines stand under, in their order, and how many lines each has; () is no name."""
    paths = _paths(lines)
    named: dict[Path, int] = {}
    for number in chosen:
        if not _ONLY_SIGNS.fullmatch(lines[number]):
            named[paths[number]] = named.get(paths[number], 0) + 1
    return named


def _told(sign: str, paths: Iterable[Path]) -> list[str]:
    named: dict[str, dict[str, None]] = {}
    for first, *rest in filter(None, paths):
        named.setdefault(first, {}).update(dict.fromkeys(rest))
    return [f"{sign} {name}{': ' if inner else ''}{', '.join(inner)}" for name, inner in named.items()]


def _counted(sign: str, lines: int) -> list[str]:
    return [f"{sign} {lines} line{'s' * (lines != 1)}"] if lines else []


def _paths(lines: list[str]) -> list[Path]:
    """The names that each line stands under, its own last; an indentation tells how deep.

    What a list holds has no name in it.
    """
    found: list[Path] = []
    table: Path = ()
    above: list[tuple[int, str, bool]] = []
    for line in lines:
        match = _NAME.match(line)
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth and line.strip():
            above.pop()
        if match and match[4] and not line.lstrip().startswith('["'):
            table = tuple(part.strip().strip("\"'") for part in match[4].split("."))
            above = []
        elif match:
            above.append((depth, match[2] if match[2] is not None else match[3], line.rstrip()[-1:] == "["))
        found.append((*table, *_names(above))[:DEEPEST])
    return found


def _names(above: list[tuple[int, str, bool]]) -> Iterator[str]:
    for _, name, holds_list in above:
        yield name
        if holds_list:
            return
