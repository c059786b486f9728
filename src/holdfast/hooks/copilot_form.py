"""A form in which Copilot CLI asks a person: as a question in our words, and back with a remark beside a choice."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def with_questions(given: dict[Any, Any]) -> dict[Any, Any]:
    """A call's arguments with the question that they ask; without one where they ask several things at once."""
    question, labels = given.get("question"), given.get("choices")
    field = _field(given)
    if field is not None:
        question, labels = given.get("message"), _labels(field)
    if not isinstance(question, str) or not isinstance(labels, list):
        return given
    options = [{"label": label, "description": ""} for label in labels if isinstance(label, str)]
    return {**given, "questions": [{"question": question, "options": options}]}


def noted(changed: dict[Any, Any]) -> dict[Any, Any] | None:
    """The arguments with what was remarked on choices; None where that would change what a choice stands for."""
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
    """The only field of a form, where there is one and it has choices."""
    schema = given.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict) or len(fields) != 1:
        return None
    (field,) = fields.values()
    return field if isinstance(field, dict) and _labels(field) else None


def _labels(field: dict[Any, Any]) -> list[Any]:
    """The choices as they are shown."""
    choices = field.get("oneOf")
    if isinstance(choices, list):
        return [choice.get("title") for choice in choices if isinstance(choice, dict)]
    values, names = field.get("enum"), field.get("enumNames")
    if not isinstance(values, list):
        return []
    return names if isinstance(names, list) and len(names) == len(values) else values
