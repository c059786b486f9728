"""A host's configuration that is one JSON object: read with clear errors, one member set or taken out as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.hosts.contract import Change, Scope, Where
from holdfast.hosts.json_text import Span, append, has_comments, member, parse, remove

FIX = "Correct the file and run the command again; nothing was changed"


class JsonFile(Struct, frozen=True, kw_only=True):
    """`title` is the host's name for messages, `comments` whether it reads a file with comments itself."""

    where: Where
    path: Path
    title: str
    comments: bool = False
    linked: bool = False  # a repository's link, which could lead anywhere: refused, and never read

    def data(self) -> bytes | None:
        return None if self.linked else self.where.read(self.path)

    def text(self, data: bytes | None) -> str:
        """The file as text that is one JSON object, or an error that says what is in the way."""
        if self.linked:
            raise self.error("is a link, and what a repository links to is not followed")
        if data is None or not data.strip():
            return "{}\n"
        try:
            text = data.decode("utf-8").removeprefix("\ufeff")
            span = self.span(text)
        except UnicodeDecodeError as error:
            raise self.error("is not UTF-8") from error
        except (json.JSONDecodeError, RecursionError) as error:
            raise self._unreadable(error, data) from error
        if not isinstance(span.value, dict):
            raise self.error("is not a JSON object")
        return text

    def _unreadable(self, error: Exception, data: bytes) -> ConfigError:
        if (
            not self.comments
            and isinstance(error, json.JSONDecodeError)
            and has_comments(data.decode("utf-8", "replace"))
        ):
            return self.error(f"has comments, which {self.title} does not read either")
        problem = f"is not valid JSON: {getattr(error, 'msg', 'nested too deeply')}"
        return self.error(problem, f":{getattr(error, 'lineno', 1)}")

    def error(self, problem: str, place: str = "") -> ConfigError:
        return ConfigError(problem, where=f"{self.path}{place}", fix=FIX)

    def span(self, text: str) -> Span:
        return parse(text, comments=self.comments)

    def value(self, data: bytes | None) -> dict[str, Any]:
        """What the file says; nothing where it says nothing."""
        found = self.span(self.text(data)).value
        return found if isinstance(found, dict) else {}

    def change(self, data: bytes | None, text: str) -> Change:
        mark = b"\xef\xbb\xbf" if data is not None and data.startswith(b"\xef\xbb\xbf") else b""
        return Change(path=self.path, before=data, after=mark + text.encode())

    def unchanged(self, data: bytes | None) -> Change:
        return Change(path=self.path, before=data, after=data)

    def require(self, span: Span, kind: type, name: str) -> None:
        if not isinstance(span.value, kind):
            word = "an object" if kind is dict else "a list"
            raise self.error(f"{name} is not {word}, as {self.title} wants it")

    def with_member(self, text: str, keys: Sequence[str], value: Any) -> str:
        """The text with one value under a path of names; objects on the way are made, a value that is there goes."""
        text = self.without_member(text, keys) if self.at(text, keys) is not None else text
        span = self.span(text)
        for depth, key in enumerate(keys[:-1]):
            inner = member(span, key)
            if inner is None:
                for rest in reversed(keys[depth + 1 :]):
                    value = {rest: value}
                return append(text, span, value, key)
            self.require(inner.span, dict, ".".join(keys[: depth + 1]))
            span = inner.span
        return append(text, span, value, keys[-1])

    def at(self, text: str, keys: Sequence[str]) -> Any:
        """The value under a path of names, None where there is none."""
        found: Any = self.span(text).value
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def without_member(self, text: str, keys: Sequence[str]) -> str:
        """The text without that value, and without the objects that held nothing else."""
        trail: list[tuple[Span, int]] = []
        span = self.span(text)
        for key in keys:
            found = member(span, key)
            if found is None:
                return text
            trail.append((span, span.members.index(found)))
            span = found.span
        while len(trail) > 1 and len(trail[-1][0].members) == 1:
            trail.pop()
        container, number = trail[-1]
        return remove(text, container, number)


def kept(known: Any, wanted: Mapping[str, Any], *ours: str) -> dict[str, Any]:
    """The entry of our tools with what a person set there, such as variables, or that it is switched off."""
    theirs = known if isinstance(known, dict) and "command" in known else {}
    return {**wanted, **theirs, **{name: wanted[name] for name in ours}}


def leads_elsewhere(where: Where, path: Path, scope: Scope) -> bool:
    """A link that came with a repository could point anywhere, be it the file or a folder on the way to it."""
    if scope != "project" or not path.is_relative_to(where.project):
        return False  # one's own
    below = path.relative_to(where.project).parts
    return any(where.project.joinpath(*below[:depth]).is_symlink() for depth in range(1, len(below) + 1))


def followed(path: Path) -> Path:
    """One's own settings may be a link into a folder of dotfiles."""
    return path.resolve() if path.is_symlink() else path
