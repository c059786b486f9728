"""A host's configuration in JSON, of which only our entries change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.agent_kit.host_contract import Change, Scope, Where
from holdfast.core.errors import ConfigError
from holdfast.core.json_text import Span, append, has_comments, member, parse, remove

FIX = "Fix the file and run the command again; nothing was changed"


class JsonFile(Struct, frozen=True, kw_only=True):
    """A host's configuration that is one JSON object, edited as text.

    `title` is the host's name for messages, `comments` whether it reads a file with comments itself.
    """

    where: Where
    path: Path
    title: str
    comments: bool = False
    linked: bool = False  # a link in a repository could lead anywhere: refused, and never read

    def data(self) -> bytes | None:
        return None if self.linked else self.where.read(self.path)

    def text(self, data: bytes | None) -> str:
        """Return the file as text that holds one JSON object; otherwise raise an error that says why not."""
        if self.linked:
            raise self.error("is a link, and links in a repository are not followed")
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
        """Return the content of the file, or an empty object."""
        content = self.span(self.text(data)).value
        return content if isinstance(content, dict) else {}

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
        """Set the value at a path of names; missing objects are created, an existing value is replaced."""
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
        """Return the value at a path of names, or None."""
        node: Any = self.span(text).value
        for key in keys:
            node = node.get(key) if isinstance(node, dict) else None
        return node

    def without_member(self, text: str, keys: Sequence[str]) -> str:
        """Remove the value, and the objects that held nothing else."""
        trail: list[tuple[Span, int]] = []
        span = self.span(text)
        for key in keys:
            child = member(span, key)
            if child is None:
                return text
            trail.append((span, span.members.index(child)))
            span = child.span
        while len(trail) > 1 and len(trail[-1][0].members) == 1:
            trail.pop()
        container, number = trail[-1]
        return remove(text, container, number)

    def with_entry(self, keys: Sequence[str], wanted: Mapping[str, Any], *ours: str) -> Change:
        """Add the entry of our tools, keeping what a person set there."""
        data = self.data()
        text = self.text(data)
        existing = self.at(text, keys)
        entry = kept(existing, wanted, *ours)
        return (
            self.unchanged(data)
            if existing == entry
            else self.change(data, self.with_member(text, keys, entry))
        )

    def without_entry(self, keys: Sequence[str]) -> Change:
        data = self.data()
        if data is not None and b"holdfast" in data and self.at(self.text(data), keys) is not None:
            return self.change(data, self.without_member(self.text(data), keys))
        return self.unchanged(data)


def host_file(where: Where, scope: Scope, path: Path, title: str, *, comments: bool = False) -> JsonFile:
    """A host's file. The user's may be a link, a repository's is not followed."""
    path = followed(path) if scope == "user" else path
    linked = leads_elsewhere(where, path, scope)
    return JsonFile(where=where, path=path, title=title, comments=comments, linked=linked)


def kept(known: Any, wanted: Mapping[str, Any], *ours: str) -> dict[str, Any]:
    """The entry of our tools with what a person set there, such as variables, or that it is switched off."""
    theirs = known if isinstance(known, dict) and "command" in known else {}
    return {**wanted, **theirs, **{name: wanted[name] for name in ours if name in wanted}}


def leads_elsewhere(where: Where, path: Path, scope: Scope) -> bool:
    """Whether the file, or a folder on the way to it, is a link: one from a repository could point anywhere."""
    if scope != "project" or not path.is_relative_to(where.project):
        return False  # the user's own file
    below = path.relative_to(where.project).parts
    return any(where.project.joinpath(*below[:depth]).is_symlink() for depth in range(1, len(below) + 1))


def followed(path: Path) -> Path:
    """Resolve the user's settings, which may be a link into a folder of dotfiles."""
    return path.resolve() if path.is_symlink() else path
