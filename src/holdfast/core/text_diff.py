"""Compares two versions of a file: as `diff -u`, as a count of lines, and by name.

By name, a person grasps a change of seventy lines at once. Settings are JSON, TOML or similar, with a name on each
line; a file written on one line has no names here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher, unified_diff

from holdfast.core.patterns import lazy_regex

NOTHING = "/dev/null"


def unified(before: bytes | None, after: bytes | None, name: str) -> str:
    """`diff -u` of a file; None means that it does not exist."""
    names = (NOTHING if before is None else name, NOTHING if after is None else name)
    lines = unified_diff(_lines(before), _lines(after), *names)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def count(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """Numbers of added and removed lines; a line that only moved is neither."""
    old, new = Counter(_lines(before)), Counter(_lines(after))
    return (new - old).total(), (old - new).total()


def _lines(data: bytes | None, *, with_ends: bool = True) -> list[str]:
    return [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=with_ends)


DEEPEST = 2  # levels of names; deeper ones count for these
_NAME = lazy_regex(r'([ \t]*)(?:"((?:[^"\\]|\\.)*)"\s*:|([\w.-]+)\s*=|\[+\s*([^\]]+?)\s*\]+\s*$)')
_ONLY_SIGNS = lazy_regex(r"[\s{}\[\](),;]*")
Path = tuple[str, ...]


def outline(before: bytes | None, after: bytes | None) -> list[str]:
    """`+ hooks: SessionStart`, `- mcpServers: holdfast`; `~ hooks: Stop` has changed.

    Lines without a name are only counted.
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
    removed, inserted = _named(old, went), _named(new, came)
    changed = {path: None for path in removed if path in inserted}
    return [
        *_told("-", [path for path in removed if path not in changed]),
        *_told("~", [path for path in changed if path]),
        *_told("+", [path for path in inserted if path not in changed]),
        *_counted("-", removed.get((), 0)),
        *_counted("+", inserted.get((), 0)),
    ]


def _named(lines: list[str], chosen: Iterable[int]) -> dict[Path, int]:
    """The names that the lines belong to, in order, with their number of lines; () is no name."""
    paths = _paths(lines)
    line_counts: dict[Path, int] = {}
    for number in chosen:
        if not _ONLY_SIGNS.fullmatch(lines[number]):
            line_counts[paths[number]] = line_counts.get(paths[number], 0) + 1
    return line_counts


def _told(sign: str, paths: Iterable[Path]) -> list[str]:
    children: dict[str, dict[str, None]] = {}
    for first, *rest in filter(None, paths):
        children.setdefault(first, {}).update(dict.fromkeys(rest))
    return [f"{sign} {name}{': ' if inner else ''}{', '.join(inner)}" for name, inner in children.items()]


def _counted(sign: str, lines: int) -> list[str]:
    return [f"{sign} {lines} line{'s' * (lines != 1)}"] if lines else []


def _paths(lines: list[str]) -> list[Path]:
    """The names that each line belongs to, outermost first, by indentation.

    Items of a list have no names.
    """
    paths: list[Path] = []
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
        paths.append((*table, *_names(above))[:DEEPEST])
    return paths


def _names(above: list[tuple[int, str, bool]]) -> Iterator[str]:
    for _, name, holds_list in above:
        yield name
        if holds_list:
            return
