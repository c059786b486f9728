"""What Copilot CLI asks a person with `ask_user`: a form with fields or, in first versions, a question with choices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from holdfast.model.session import Asked

_ANSWERED = re.compile(r"User (?:responded|selected|answered)[^:\n]{0,40}:\s*(\S.*)", re.DOTALL)


class Field(Struct):
    """One thing that is asked for. `shown` is how each choice is shown, by the value it stands for."""

    name: str
    text: str
    shown: dict[str, str] = {}


def fields_in(arguments: Mapping[str, Any]) -> list[Field]:
    message, question = arguments.get("message"), arguments.get("question")
    if isinstance(question, str) and question.strip():
        choices = arguments.get("choices")
        values = choices if isinstance(choices, list) else []
        return [Field("", question, {one: one for one in values if isinstance(one, str)})]
    schema = arguments.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(message, str) or not isinstance(properties, dict):
        return []
    fields = {name: value for name, value in properties.items() if isinstance(value, dict)}
    return [
        Field(name, message if len(fields) == 1 else _text(message, name, field), _shown(field))
        for name, field in fields.items()
    ]


def _text(message: str, name: str, field: Mapping[str, Any]) -> str:
    """A field among several asks with its own words where these are a question."""
    described, title = field.get("description"), field.get("title")
    if isinstance(described, str) and described.rstrip().endswith("?"):
        return described
    return f"{message} ({title if isinstance(title, str) and title else name})"


def _shown(field: Mapping[str, Any]) -> dict[str, str]:
    named, values, names = field.get("oneOf"), field.get("enum"), field.get("enumNames")
    if isinstance(named, list):
        pairs = [(one.get("const"), one.get("title")) for one in named if isinstance(one, dict)]
    elif isinstance(values, list):
        shown = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, shown, strict=True))
    else:
        pairs = []
    return {value: name for value, name in pairs if isinstance(value, str) and isinstance(name, str)}


def answered(at: float | None, fields: Sequence[Field], content: object) -> Iterator[Asked]:
    """Each field with what the person chose, as it was shown to them."""
    for field in fields:
        value = content.get(field.name) if isinstance(content, dict) else None
        yield Asked(at, field.text, _options(field), _answer(field, value), by="user")


def told(at: float | None, fields: Sequence[Field], text: str) -> Iterator[Asked]:
    """The same, read from what the tool told the model; of several fields only that they were asked."""
    found = _ANSWERED.search(text)
    value = found[1].strip() if found and len(fields) == 1 else None
    for field in fields:
        yield Asked(at, field.text, _options(field), _answer(field, value), by="user")


def _options(field: Field) -> tuple[tuple[str, str], ...]:
    return tuple((name, "") for name in field.shown.values())


def _answer(field: Field, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    chosen = value if isinstance(value, list) else [value]
    return ", ".join(
        field.shown.get(str(one), str(one)) for one in chosen if isinstance(one, str | int | float)
    )
