"""Converts a form in which Copilot CLI asks a person to our question format, and back with notes beside the choices."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def with_questions(given: dict[Any, Any]) -> dict[Any, Any]:
    """Adds the question of a form to a call's arguments, unless the form asks several things at once."""
    question, labels = given.get("question"), given.get("choices")
    field = _field(given)
    if field is not None:
        question, labels = given.get("message"), _labels(field)
    if not isinstance(question, str) or not isinstance(labels, list):
        return given
    options = [{"label": label, "description": ""} for label in labels if isinstance(label, str)]
    return {**given, "questions": [{"question": question, "options": options}]}


def noted(changed: dict[Any, Any]) -> dict[Any, Any] | None:
    """The arguments with the notes on choices; None where a note would change the value of a choice."""
    arguments = {name: value for name, value in changed.items() if name != "questions"}
    field = _field(arguments)
    if field is None:
        return None
    options = changed["questions"][0]["options"]
    titles = [f"{option['label']}{option['description']}" for option in options]
    if len(titles) != len(field.get("oneOf") or field.get("enum") or ()):
        return None
    if isinstance(field.get("oneOf"), list):
        pairs = zip(field["oneOf"], titles, strict=True)
        field = {**field, "oneOf": [{**choice, "title": title} for choice, title in pairs]}
    else:
        field = {**field, "enumNames": titles}
    schema = arguments["requestedSchema"]
    (name,) = schema["properties"]
    return {**arguments, "requestedSchema": {**schema, "properties": {name: field}}}


def _field(given: dict[Any, Any]) -> dict[Any, Any] | None:
    """The field of a form that has a single field with choices."""
    schema = given.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict) or len(fields) != 1:
        return None
    (field,) = fields.values()
    return field if isinstance(field, dict) and _labels(field) else None


def _labels(field: dict[Any, Any]) -> list[Any]:
    """The choices as displayed."""
    choices = field.get("oneOf")
    if isinstance(choices, list):
        return [choice.get("title") for choice in choices if isinstance(choice, dict)]
    values, names = field.get("enum"), field.get("enumNames")
    if not isinstance(values, list):
        return []
    return names if isinstance(names, list) and len(names) == len(values) else values
