"""Reads untrusted YAML: mappings, lists and strings, nothing else, within fixed limits.

Scalars stay strings as written: `no`, `1.10`, `2026-05-05` and `~` are text, an empty value is ''. Tags are ignored, so
no object is ever constructed. Aliases count as much as their target, merge keys (`<<`) are supported, and a duplicate
key is an error because parsers disagree on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias, cast

from msgspec import Struct

# YAML as we write it: one key per line, lists of strings and of flat mappings. PyYAML parses everything else.

Item = str | dict[str, str]

MOST_LINES = 5_000
_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
_PLAIN = r"[A-Za-z0-9_./](?:[A-Za-z0-9_ ./@+()=,*'~-]*[A-Za-z0-9_./)*~])?"
_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?"
_QUOTED = r'"(?:[^"\\]|\\["\\])*"'


@cache
def _line() -> re.Pattern[str]:
    value = rf"(?:{_PLAIN}|{_DATE}|{_QUOTED})"
    return re.compile(
        rf"(?P<key>{_NAME}):(?: (?P<value>{value}))?"
        rf"|  - (?P<item>{value})|(?:  - |(?P<more>    ))(?P<name>{_NAME}): (?P<field>{value})"
    )


def read(text: str) -> dict[str, str | list[Item]] | None:
    """Parses YAML in the form we write; None for any other form."""
    if not text.replace("\n", "").isprintable():
        return None
    lines = text.removesuffix("\n").split("\n")
    values: dict[str, str | list[Item]] = {}
    items: list[Item] | None = None  # of the open list
    for line in lines if len(lines) <= MOST_LINES else ("",):
        match = _line().fullmatch(line)
        if match is None:
            return None
        key, value, item, more, name, field = match.groups()
        if key is not None:
            if key in values or items == []:
                return None
            items = [] if value is None else None
            values[key] = items if items is not None else _text(value)
        elif items is None:
            return None
        elif item is not None:
            items.append(_text(item))
        elif not more:
            items.append({name: _text(field)})
        elif not items or not isinstance(last := items[-1], dict) or name in last:
            return None
        else:
            last[name] = _text(field)
    return None if items == [] else values


def _text(value: str) -> str:
    if value[0] != '"':
        return value
    return str(json.loads(value)) if "\\" in value else value[1:-1]


Value: TypeAlias = "str | list[Value] | dict[str, Value]"

MOST_CHARACTERS = 1 << 20
MOST_VALUES = 50_000  # every use of an alias counts: an alias bomb is refused long before it is big
DEEPEST = 64
MERGE = "<<"


class YamlError(ValueError):
    """The text is not YAML, or exceeds our limits; `line` counts from 1, 0 means no particular line."""

    def __init__(self, problem: str, line: int = 0) -> None:
        self.problem = problem
        self.line = line
        super().__init__(f"line {line}: {problem}" if line else problem)


def load(text: str) -> Value:
    """Parses the single document of a text; '' for an empty one. Raises only YamlError."""
    if len(text) > MOST_CHARACTERS:
        raise YamlError(f"longer than {MOST_CHARACTERS:,} characters")
    if (written := read(text)) is not None:
        return cast(Value, written)
    import yaml

    # libyaml where the wheel includes it: many times faster than the parser in Python.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Building().document(yaml.parse(text.removeprefix("\ufeff"), Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(_one_line(error.problem or error.context), mark.line + 1 if mark else 0) from None
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise YamlError(_one_line(getattr(error, "reason", "") or "characters that YAML forbids")) from None


class _Open(Struct, kw_only=True):
    """A collection that is being read."""

    value: dict[str, Value] | list[Value]
    anchor: str | None
    before: int  # how many values were counted when it began
    height: int = 1
    key: str | None = None
    merged: list[Value] = []


class _Anchored(Struct, frozen=True):
    value: Value
    size: int
    height: int


class _Building:
    """Builds values from parser events without recursion, so that our own limit bounds the depth."""

    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.anchors: dict[str, _Anchored] = {}
        self.count = 0
        self.done: list[Value] = []

    def document(self, events: Iterator[Any]) -> Value:
        for event in events:
            kind = type(event).__name__
            line = event.start_mark.line + 1
            if kind == "ScalarEvent":
                self._counted(1, 0, line)
                self._anchor(event.anchor, _Anchored(event.value, 1, 0))
                self._scalar(event, line)
            elif kind == "AliasEvent":
                self._alias(event.anchor, line)
            elif kind in ("MappingStartEvent", "SequenceStartEvent"):
                self._begin({} if kind == "MappingStartEvent" else [], event.anchor, line)
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                self._end(line)
            elif kind == "DocumentStartEvent" and self.done:
                raise YamlError("a second document begins; one is read", line)
        return self.done[0] if self.done else ""

    def _scalar(self, event: Any, line: int) -> None:
        owner = self.open[-1] if self.open else None
        if owner is None or isinstance(owner.value, list) or owner.key is not None:
            self._put(event.value, 0, line)
        elif event.value in owner.value:
            raise YamlError(f"the key {event.value[:40]!r} is given twice", line)
        else:
            owner.key = event.value

    def _alias(self, name: str, line: int) -> None:
        anchored = self.anchors.get(name)
        if anchored is None:
            raise YamlError(f"the alias *{name[:40]} stands for nothing before it", line)
        self._counted(anchored.size, anchored.height, line)
        self._put(anchored.value, anchored.height, line)

    def _begin(self, value: dict[str, Value] | list[Value], anchor: str | None, line: int) -> None:
        if self.open and self.open[-1].key is None and isinstance(self.open[-1].value, dict):
            raise YamlError("a key that is itself a list or mapping", line)
        self.open.append(_Open(value=value, anchor=anchor, before=self.count))
        self._counted(1, 0, line)

    def _end(self, line: int) -> None:
        closed = self.open.pop()
        if isinstance(closed.value, dict):
            for merged in closed.merged:
                _merge(closed.value, merged, line)
        self._anchor(closed.anchor, _Anchored(closed.value, self.count - closed.before, closed.height))
        self._put(closed.value, closed.height, line)

    def _put(self, value: Value, height: int, line: int) -> None:
        if not self.open:
            self.done.append(value)
            return
        owner = self.open[-1]
        owner.height = max(owner.height, height + 1)
        if isinstance(owner.value, list):
            owner.value.append(value)
        elif owner.key is None:
            raise YamlError("a key that is itself a list, a mapping or an alias", line)
        elif owner.key == MERGE and not isinstance(value, str):
            owner.merged.append(value)
            owner.key = None
        else:
            owner.value[owner.key] = value
            owner.key = None

    def _anchor(self, name: str | None, known: _Anchored) -> None:
        if name is not None:
            self.anchors[name] = known

    def _counted(self, more: int, height: int, line: int) -> None:
        self.count += more
        if self.count > MOST_VALUES:
            raise YamlError(f"more than {MOST_VALUES:,} values, aliases counted as what they stand for", line)
        if len(self.open) + height > DEEPEST:
            raise YamlError(f"nested deeper than {DEEPEST}", line)


def _merge(into: dict[str, Value], merged: Value, line: int) -> None:
    """Keys of the mapping itself win, then those that were merged first."""
    for source in merged if isinstance(merged, list) else [merged]:
        if not isinstance(source, dict):
            raise YamlError("<< merges mappings only", line)
        for key, value in source.items():
            into.setdefault(key, value)


def _one_line(problem: object) -> str:
    return " ".join(str(problem).split())[:200]
