"""What differs between two contents of a file: as `diff -u` shows it, and as a count of lines."""

from __future__ import annotations

from collections import Counter
from difflib import unified_diff

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


def _lines(data: bytes | None) -> list[str]:
    return [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=True)
