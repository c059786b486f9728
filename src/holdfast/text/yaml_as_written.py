"""YAML as we write it ourselves: one key per line, lists of texts and of flat mappings. All else is for a real reader.

Loading that reader takes longer than reading all lessons of a project, and most files are as we wrote them. What is
read here is read as YAML has it: a test compares the two.
"""

from __future__ import annotations

import json
import re
from functools import cache

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
    """The values of such a text, in their order; None for one that is written in any other way."""
    if not text.replace("\n", "").isprintable():
        return None
    lines = text.removesuffix("\n").split("\n")
    found: dict[str, str | list[Item]] = {}
    items: list[Item] | None = None  # of the list that stands open
    for line in lines if len(lines) <= MOST_LINES else ("",):
        match = _line().fullmatch(line)
        if match is None:
            return None
        key, value, item, more, name, field = match.groups()
        if key is not None:
            if key in found or items == []:
                return None
            items = [] if value is None else None
            found[key] = items if items is not None else _text(value)
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
    return None if items == [] else found


def _text(value: str) -> str:
    if value[0] != '"':
        return value
    return str(json.loads(value)) if "\\" in value else value[1:-1]
