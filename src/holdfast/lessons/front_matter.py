"""Reads the YAML block at the top of a markdown file, and edits it key by key so that all other bytes stay.

    ---
    name: testing          # what a person wrote here
    fingerprint:
      - tests/
    ---

A key keeps its lines until its value changes; a list loses and gains only the items that differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct

from holdfast.core import yaml as yaml_safe
from holdfast.core.patterns import lazy_regex
from holdfast.core.yaml import Value

_FENCE = lazy_regex(r"---[ \t]*\r?\n?")
_END = lazy_regex(r"(?:---|\.\.\.)[ \t]*\r?\n?")
_PLAIN = lazy_regex(r"(?!\.\w)[\w./](?:[\w ./#@+()=,*'~-]*[\w./)*~])?")
_DATE = lazy_regex(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?")
# Texts that a typed YAML reader would not read as text.
_NO_TEXT = lazy_regex(
    r"[-+]?[\d._]+(?:[eE][-+]?\d+)?|0[xXoObB]\w*|[-+]?\d[\d_]*|\d{4}-\d\d?-\d\d?.*"
    r"|y|n|yes|no|on|off|true|false|null|nan|inf",
    re.IGNORECASE,
)
_UNPRINTABLE = lazy_regex(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u0600-\u0605\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff0-\uffff\U000e0000-\U000e0fff]"
)


class LessonError(ValueError):
    """Why a file is not a lesson, and the line of the problem."""

    def __init__(self, problem: str, line: int = 1) -> None:
        self.problem = problem
        self.line = line
        super().__init__(f"line {line}: {problem}")


class FrontMatter(Struct, frozen=True, kw_only=True):
    """A file in parts; `opening` `block` `closing` `body` joined are the file."""

    opening: str
    block: str
    closing: str
    body: str
    values: Mapping[str, Value]

    @property
    def newline(self) -> str:
        return "\r\n" if (self.opening or self.body).partition("\n")[0].endswith("\r") else "\n"


def parse(text: str) -> FrontMatter:
    """Split a file; one without a block is all body. Raises LessonError if the block cannot be read."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = _lines(text.removeprefix(mark))
    if not lines or not _FENCE.fullmatch(lines[0]):
        return FrontMatter(opening="", block="", closing="", body=text, values={})
    end = next((number for number, line in enumerate(lines[1:], 1) if _END.fullmatch(line)), 0)
    if not end:
        raise LessonError("the block of keys that begins with --- never ends", 1)
    block = "".join(lines[1:end])
    return FrontMatter(
        opening=mark + lines[0],
        block=block,
        closing=lines[end],
        body="".join(lines[end + 1 :]),
        values=_load(block),
    )


def _load(block: str) -> dict[str, Value]:
    try:
        values = yaml_safe.load(block)
    except yaml_safe.YamlError as error:
        raise LessonError(error.problem, error.line + 1) from None
    if values == "":
        return {}
    if not isinstance(values, dict):
        raise LessonError("no keys with values, such as name: testing", 2)
    return values


def _lines(text: str) -> list[str]:
    """Split lines as editors count them: only a line feed ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def edit(file: FrontMatter, values: Mapping[str, Value | None]) -> str:
    """Return the block with these values; None removes a key. Unchanged keys keep their bytes."""
    changed = {key: value for key, value in values.items() if file.values.get(key) != value}
    if not changed:
        return file.block
    lines = _lines(file.block)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += file.newline
    written: list[str] = []
    done = 0
    for entry in _entries(file.block) if file.block else ():
        written += lines[done : entry.first]
        if entry.key in changed:
            written += _rewritten(entry, lines, changed.pop(entry.key))
        else:
            written += lines[entry.first : entry.end]
        done = entry.end
    written += lines[done:]
    for key, value in changed.items():
        written += [] if value is None else _rendered(key, value)
    block = "".join(line if line.endswith("\n") else line + file.newline for line in written)
    wanted = {key: value for key, value in {**file.values, **values}.items() if value is not None}
    # A person's YAML may be laid out in ways that lines cannot follow. A block of ours alone needs no check, and
    # loading YAML takes a while.
    if file.block and _load(block) != wanted:
        raise LessonError("holdfast cannot change this block: write one key per line", 1)
    return block


class _Entry(Struct, frozen=True):
    """One key: its lines from `first` up to `end`, without comments below it. `items` are the lines of a list."""

    key: str
    first: int
    end: int
    items: tuple[tuple[int, int], ...] = ()


def _entries(block: str) -> list[_Entry]:
    import yaml

    node = yaml.compose(block, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if node is None:
        return []
    if getattr(node, "flow_style", True):
        raise LessonError("holdfast cannot change keys in braces: write one key per line", 2)
    lines = _lines(block)
    starts = [key.start_mark.line for key, _ in node.value]
    stops = [*starts[1:], len(lines)]
    return [
        _Entry(key.value, first, end := _own_end(lines, first, stop), _items(value, lines, end))
        for (key, value), first, stop in zip(node.value, starts, stops, strict=True)
    ]


def _items(value: Any, lines: Sequence[str], end: int) -> tuple[tuple[int, int], ...]:
    """Return the lines of each item, if every item of a list has its own lines; otherwise ()."""
    if type(value).__name__ != "SequenceNode" or value.flow_style:
        return ()
    starts = [item.start_mark.line for item in value.value]
    if len(set(starts)) < len(starts) or any(not lines[n].lstrip().startswith("- ") for n in starts):
        return ()
    return tuple(
        (first, _own_end(lines, first, stop)) for first, stop in zip(starts, [*starts[1:], end], strict=True)
    )


def _own_end(lines: Sequence[str], first: int, stop: int) -> int:
    """Return the end of a key without the blank lines and comments after it."""
    while stop > first + 1 and (not lines[stop - 1].strip() or lines[stop - 1].lstrip().startswith("#")):
        stop -= 1
    return stop


def _rewritten(entry: _Entry, lines: Sequence[str], value: Value | None) -> list[str]:
    if value is None:
        return []
    if not entry.items or not isinstance(value, list):
        return _rendered(entry.key, value)
    current = _load("".join(lines[entry.first : entry.end])).get(entry.key)
    if not isinstance(current, list) or len(current) != len(entry.items):
        return _rendered(entry.key, value)
    first = lines[entry.items[0][0]]
    indent = first[: len(first) - len(first.lstrip())]
    entry_lines = lines[entry.first : entry.end]
    blocks = [(start - entry.first, end - entry.first) for start, end in entry.items]
    old, new = ([json.dumps(item, sort_keys=True) for item in items] for items in (current, value))
    return splice(entry_lines, blocks, old, new, [_item(item, indent) for item in value])


def splice(
    lines: Sequence[str],
    blocks: Sequence[tuple[int, int]],
    old: Sequence[str],
    new: Sequence[str],
    rendered: Sequence[Sequence[str]],
) -> list[str]:
    """Replace the `old` items in their blocks with the `new` ones, whose lines are in `rendered`.

    Blocks of items that stay keep their bytes, and so do all lines between blocks.
    """
    written: list[str] = []
    done = 0
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, False).get_opcodes():
        if tag in ("replace", "insert"):
            position = (
                blocks[old_from][0] if old_from < len(blocks) else max((end for _, end in blocks), default=0)
            )
            written += lines[done:position]
            done = max(done, position)
            written += [line for item in rendered[new_from:new_to] for line in item]
        for start, end in blocks[old_from:old_to]:
            written += lines[done : end if tag == "equal" else start]
            done = end
    return [*written, *lines[done:]]


def _rendered(key: str, value: Value) -> list[str]:
    if isinstance(value, str):
        return [f"{scalar(key)}: {scalar(value)}"]
    if isinstance(value, list):
        return [f"{scalar(key)}:", *(line for item in value for line in _item(item, "  "))]
    return [f"{scalar(key)}:", *(f"  {scalar(name)}: {_leaf(item)}" for name, item in value.items())]


def _item(value: Value, indent: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{indent}- {_leaf(value)}"]
    fields = [f"{scalar(name)}: {_leaf(item)}" for name, item in value.items()]
    return [f"{indent}{'  ' if number else '- '}{field}" for number, field in enumerate(fields)]


def _leaf(value: Value) -> str:
    # Nested deeper than our own values: JSON is valid YAML.
    return scalar(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=True)


def scalar(text: str) -> str:
    """Write a text as one line of YAML that every reader reads as this text, unquoted if possible."""
    plain = _PLAIN.fullmatch(text) and " #" not in text and not _NO_TEXT.fullmatch(text)
    if plain or _DATE.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda sign: sign[0].encode("unicode_escape").decode("ascii"), quoted)
