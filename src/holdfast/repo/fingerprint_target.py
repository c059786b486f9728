"""What a fingerprint may name, and where that is: a file, a folder, a glob or a field, always inside the repository."""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

Kind = Literal["file", "folder", "glob", "field"]
MOST_CHARACTERS = 500
MOST_KEYS = 32


class Refused(ValueError):
    """A target that must not be looked at; says why."""


class Target(Struct, frozen=True):
    """`path` is relative, with `/` and no trailing one; `keys` lead to a field."""

    kind: Kind
    path: str
    keys: tuple[str, ...] = ()


def parse_target(text: str) -> Target:
    """Raises Refused for whatever could leave the repository or enter `.git`."""
    if not text or len(text) > MOST_CHARACTERS:
        raise Refused("is empty or too long")
    path, mark, field = text.partition("#")
    is_folder = path.endswith("/") and not mark
    path = path.removeprefix("./").rstrip("/") if is_folder else path.removeprefix("./")
    _refuse_unsafe(path)
    if mark:
        return Target("field", path, parse_field(field))
    if any(sign in path for sign in "*?["):
        return Target("glob", path)
    return Target("folder" if is_folder else "file", path)


def _refuse_unsafe(path: str) -> None:
    if not path.isprintable() or any(sign in path for sign in "\\:"):
        raise Refused("holds a character that no path here may have")
    if path.startswith(("/", "~")):
        raise Refused("is not relative to the repository")
    for part in path.split("/"):
        bare = part.rstrip(" .").lower()  # as some file systems read them
        if part == ".." or not bare:
            raise Refused("has a part that is empty or leads upwards")
        if bare in (".git", "git~1"):
            raise Refused("is in .git")


def parse_field(text: str) -> tuple[str, ...]:
    """`scripts.test`, `jobs.0.name`, `scripts."build.prod"`: keys by dots, those with dots in quotes."""
    keys: list[str] = []
    rest = text
    while True:
        if rest[:1] in ('"', "'"):
            key, rest = _quoted(rest)
        else:
            cut = len(rest) if "." not in rest else rest.index(".")
            key, rest = rest[:cut], rest[cut:]
            if not key:
                raise Refused("has an empty part in its field")
        keys.append(key)
        if len(keys) > MOST_KEYS:
            raise Refused(f"has more than {MOST_KEYS} parts in its field")
        if not rest:
            return tuple(keys)
        if not rest.startswith("."):
            raise Refused("has something after a quoted part of its field")
        rest = rest[1:]


def _quoted(text: str) -> tuple[str, str]:
    quote, at, key = text[0], 1, ""
    while at < len(text):
        sign = text[at]
        if sign == "\\" and at + 1 < len(text):
            key += text[at + 1]
            at += 2
            continue
        if sign == quote:
            return key, text[at + 1 :]
        key += sign
        at += 1
    raise Refused("has a quotation mark in its field that is not closed")


def field_text(keys: tuple[str, ...]) -> str:
    """The field as `parse_field` reads it."""
    return ".".join(key if key and not set(key) & set(".\"'\\") else _in_quotes(key) for key in keys)


def _in_quotes(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def place_of(root: str, path: str) -> str:
    """The absolute path of something inside; Refused where a link leads out of the repository or into `.git`.

    `root` must be resolved already.
    """
    full = os.path.join(root, path)
    try:
        real = os.path.realpath(full)
    except (OSError, ValueError):
        raise Refused("cannot be followed") from None
    if real != root and not real.startswith(root + os.sep):
        raise Refused("leads out of the repository")
    inside = real[len(root) + 1 :].split(os.sep)
    if any(part.lower() == ".git" for part in inside):
        raise Refused("leads into .git")
    return full
