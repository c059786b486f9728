"""Reads one field of a JSON, TOML or YAML file of a repository that may be anyone's, and says what it is in a line."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from holdfast.text.yaml_safe import YamlError
from holdfast.text.yaml_safe import load as load_yaml

MOST_BYTES = 4 << 20
LONGEST_SHOWN = 60
JSON_NAMES = (".json", ".jsonc", ".json5", ".webmanifest", ".code-workspace", ".ipynb", "composer.lock")
TOML_NAMES = (".toml", ".lock", "pipfile")
YAML_NAMES = (".yaml", ".yml")


class FieldError(ValueError):
    """A file whose fields cannot be read; says why, in a line and without its text."""


class Absent(Struct, frozen=True):
    """No such field in a file that is there."""


class Number(Struct, frozen=True):
    """A number as it is written: 1.10 is not 1.1."""

    text: str


def parse_fields(name: str, content: bytes) -> Any:
    """The whole file as plain values, by its name, else by trying. Raises FieldError and nothing else."""
    if len(content) > MOST_BYTES:
        raise FieldError(f"is larger than {MOST_BYTES >> 20} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FieldError("is not UTF-8") from None
    low = name.lower()
    if low.endswith(JSON_NAMES):
        return _json(text)
    if low.endswith(TOML_NAMES):
        return _toml(text)
    if low.endswith(YAML_NAMES):
        return _yaml(text)
    for reader in (_json, _toml, _yaml):
        try:
            found = reader(text)
        except FieldError:
            continue
        if isinstance(found, dict | list):
            return found
    raise FieldError("is neither JSON nor TOML nor YAML")


def _json(text: str) -> Any:
    try:
        return _load_json(text)
    except (ValueError, RecursionError):
        pass
    try:  # as editors and compilers allow it in their configuration
        return _load_json(_without_comments(text))
    except RecursionError:
        raise FieldError("is nested too deeply") from None
    except ValueError:
        raise FieldError("is not JSON") from None


def _load_json(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def _without_comments(text: str) -> str:
    """JSON without // and /* */ comments and without commas before a closing bracket."""
    kept: list[str] = []
    at, end = 0, len(text)
    while at < end:
        sign = text[at]
        if sign == '"':
            stop = at + 1
            while stop < end and text[stop] != '"':
                stop += 2 if text[stop] == "\\" else 1
            kept.append(text[at : stop + 1])
            at = stop + 1
        elif sign == "/" and text[at + 1 : at + 2] == "/":
            stop = text.find("\n", at)
            at = end if stop < 0 else stop
        elif sign == "/" and text[at + 1 : at + 2] == "*":
            stop = text.find("*/", at + 2)
            at = end if stop < 0 else stop + 2
        else:
            if sign in "]}":
                last = len(kept) - 1
                while last >= 0 and kept[last].isspace():
                    last -= 1
                if last >= 0 and kept[last] == ",":
                    del kept[last:]
            kept.append(sign)
            at += 1
    return "".join(kept)


def _toml(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text, parse_float=Number)
    except RecursionError:
        raise FieldError("is nested too deeply") from None
    except ValueError:
        raise FieldError("is not TOML") from None


def _yaml(text: str) -> Any:
    try:
        return load_yaml(text)
    except YamlError as error:
        raise FieldError(f"is not YAML we read: {error}") from None


def find_field(values: Any, keys: tuple[str, ...]) -> Any:
    """The value the keys lead to, or Absent(); in a list a key is an index from 0."""
    for key in keys:
        if isinstance(values, dict) and key in values:
            values = values[key]
        elif (
            isinstance(values, list)
            and key.isascii()
            and key.isdigit()
            and len(key) < 9
            and int(key) < len(values)
        ):
            values = values[int(key)]
        else:
            return Absent()
    return values


def canonical(value: Any) -> bytes:
    """The same bytes for the same value, whatever the order of keys and the layout of the file."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_other, ensure_ascii=True)
    except (RecursionError, ValueError, TypeError):
        raise FieldError("is nested too deeply, or mixes kinds of keys") from None
    return text.encode()


def _other(value: Any) -> Any:
    return (
        {"number": value.text} if isinstance(value, Number) else {"written": str(value)}
    )  # TOML's dates and times


def shown(value: Any) -> str:
    """A scalar in a few characters; '' for what is longer than a line: nothing else of a file is ever quoted."""
    if isinstance(value, dict | list | Absent):
        return ""
    text = (
        value.text
        if isinstance(value, Number)
        else value
        if isinstance(value, str)
        else json.dumps(value, default=str)
    )
    return text if len(text) <= LONGEST_SHOWN and text.isprintable() else ""
