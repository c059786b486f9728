"""Digests of what fingerprints name: a file's content, a folder's layout, the files of a glob; all of it bounded."""

from __future__ import annotations

import fnmatch
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

from holdfast.core.file_names import LEFT_OUT
from holdfast.core.git import ask_git
from holdfast.core.hashes import sha256
from holdfast.core.yaml import YamlError
from holdfast.core.yaml import load as load_yaml

MOST_BYTES = 64 << 20
MOST_ENTRIES = 20_000
MOST_MATCHES = 2_000
PIECE = 1 << 20
DIGEST_LENGTH = 16

Place = tuple[str, int, int]
"""A path below the root, and the size and mtime_ns that it had."""


class Unreadable(Exception):
    """Something is there, and cannot be looked at; says why."""


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()[:DIGEST_LENGTH]


def place_at(root: str, path: str) -> Place:
    status = os.stat(f"{root}/{path}")
    return path, status.st_size, status.st_mtime_ns


def read_regular(full: str, most: int) -> bytes:
    """A regular file's bytes. A pipe is not waited for, a device not read."""
    with open(_opened(full), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Unreadable("is no regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise Unreadable(f"is larger than {most >> 20} MB")
    return content


def _opened(full: str) -> int:
    try:
        if not stat.S_ISREG(os.stat(full).st_mode):
            raise Unreadable("is no regular file")
        return os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be opened: {error.strerror or error}") from None


def digest_file(full: str) -> str:
    """Of the content, with line ends as \\n in text: a checkout on Windows is the same checkout."""
    content = read_regular(full, MOST_BYTES)
    return digest_of(content if b"\0" in content[:8192] else content.replace(b"\r\n", b"\n"))


def digest_folder(full: str) -> str:
    """Of the layout: subfolders by name, files by ending. One test more is the same folder, another kind is not."""
    forms: set[str] = set()
    try:
        with os.scandir(full) as entries:
            for count, entry in enumerate(entries):
                if count >= MOST_ENTRIES:
                    raise Unreadable(f"holds more than {MOST_ENTRIES:,} names")
                if entry.name in LEFT_OUT:
                    continue
                forms.add(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else _ending(entry.name))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be listed: {error.strerror or error}") from None
    return digest_of("\n".join(sorted(forms)).encode("utf-8", "surrogateescape"))


def _ending(name: str) -> str:
    """`.test.ts` of `cart.test.ts`; a name without an ending, or one that is all ending, is itself."""
    at = name.find(".", 1)
    return name if at < 0 else f"*{name[at:]}"


def digest_glob(root: str, pattern: str) -> tuple[str, list[Place]]:
    """Of the names and contents of the files that match, and the places to look at to know that nothing changed.

    FileNotFoundError when none match.
    """
    places: list[Place] = []
    matched = sorted(_matching(root, pattern, places))
    if not matched:
        raise FileNotFoundError(pattern)
    whole, left = sha256(), MOST_BYTES
    for path in matched:
        place = place_at(root, path)
        left -= place[1]
        if left < 0:
            raise Unreadable(f"matches more than {MOST_BYTES >> 20} MB")
        whole.update(f"{path}\0{digest_file(f'{root}/{path}')}\n".encode("utf-8", "surrogateescape"))
        places.append(place)
    return whole.hexdigest()[:DIGEST_LENGTH], places


def fixed_part(pattern: str) -> str:
    """The folder that a glob begins in."""
    parts = pattern.split("/")
    return "/".join(parts[: next(at for at, part in enumerate(parts) if any(sign in part for sign in "*?["))])


def _matching(root: str, pattern: str, places: list[Place]) -> Iterable[str]:
    parts = pattern.split("/")
    base = fixed_part(pattern)
    named = set(parts)
    deepest = None if "**" in parts else len(parts) - 1
    folders, seen, found = [base], 0, 0
    while folders:
        folder = folders.pop()
        try:
            status = os.lstat(f"{root}/{folder}" if folder else root)
            if not stat.S_ISDIR(status.st_mode):
                continue
            places.append((folder, status.st_size, status.st_mtime_ns))
            entries = list(os.scandir(f"{root}/{folder}" if folder else root))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_ENTRIES or found > MOST_MATCHES:
                raise Unreadable(f"is too wide: more than {MOST_ENTRIES:,} names or {MOST_MATCHES:,} matches")
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                left_out = entry.name == ".git" or (entry.name in LEFT_OUT and entry.name not in named)
                if not left_out and (deepest is None or path.count("/") < deepest):
                    folders.append(path)
            elif entry.is_file(follow_symlinks=False) and _fits(path.split("/"), parts):
                found += 1
                yield path


def _fits(names: list[str], parts: list[str]) -> bool:
    """Whether a path fits a glob, part by part: `**` is any number of folders, `*` stays within one."""
    reached = {0}  # how many parts of the glob are used up
    for name in names:
        after: set[int] = set()
        for at in _past_stars(reached, parts):
            if at < len(parts) and parts[at] == "**":
                after.add(at)
            elif at < len(parts) and fnmatch.fnmatchcase(name, parts[at]):
                after.add(at + 1)
        reached = after
    return len(parts) in _past_stars(reached, parts)


def _past_stars(reached: set[int], parts: list[str]) -> set[int]:
    """Also what is reached when a `**` stands for nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(parts) and parts[at] == "**":
            at += 1
            found.add(at)
    return found


# Reads one field of a JSON, TOML or YAML file of a repository that may be anyone's, and says what it is in a
# line.

MOST_FIELD_BYTES = 4 << 20
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
    if len(content) > MOST_FIELD_BYTES:
        raise FieldError(f"is larger than {MOST_FIELD_BYTES >> 20} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FieldError("is not UTF-8") from None
    readers = {_json: JSON_NAMES, _toml: TOML_NAMES, _yaml: YAML_NAMES}
    for reader, endings in readers.items():
        if name.lower().endswith(endings):
            return reader(text)
    for reader in readers:
        try:
            found = reader(text)
        except FieldError:
            continue
        if isinstance(found, dict | list):
            return found
    raise FieldError("is neither JSON nor TOML nor YAML")


def _json(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return _load_json(text)
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


# Where something that is gone went: by what git knows of renames, else by a new file of the same content.

SECONDS = 5.0
MOST_RENAME_BYTES = 4_000_000
MOST_STEPS = 5
MOST_CANDIDATES = 200


class Renames:
    """The renames of one repository, asked for when first needed and remembered for one check."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._pending: list[tuple[str, str]] | None = None
        self._untracked: list[str] | None = None

    def followed(self, path: str, is_folder: bool, fits: Callable[[str], bool]) -> str:
        """The path it has now, or ''. `fits` tells whether a new file has the content that was there."""
        if not os.path.lexists(os.path.join(self.root, ".git")):
            return ""
        start = path
        for _ in range(MOST_STEPS):
            path = self._one_step(path, is_folder)
            if not path:
                break
            if os.path.lexists(os.path.join(self.root, path)):
                return path
        return "" if is_folder else next(filter(fits, self._new_files_like(start)), "")

    def _one_step(self, path: str, is_folder: bool) -> str:
        if self._pending is None:
            self._pending = list(self._renames("diff", "HEAD"))
        if found := _target_of(path, is_folder, self._pending):
            return found
        # The last commit in which it was deleted, or moved away: without -M a move is a deletion and an addition.
        last = self._git(
            "log", "-1", "--format=%H", "--no-renames", "--diff-filter=D", "HEAD", "--", f":(literal){path}"
        )
        commit = last.decode("ascii", "replace").strip()
        return (
            _target_of(
                path, is_folder, list(self._renames("show", "--format=", "-m", "--first-parent", commit))
            )
            if commit
            else ""
        )

    def _renames(self, command: str, *words: str) -> Iterator[tuple[str, str]]:
        options = ("-z", "--name-status", "--find-renames=50%", "--diff-filter=R")
        parts = iter(os.fsdecode(self._git(command, *options, *words)).split("\0"))
        for status in parts:
            if status.strip()[:1] == "R":
                old, new = next(parts, ""), next(parts, "")
                if old and new:
                    yield old, new

    def _new_files_like(self, path: str) -> Iterator[str]:
        """Files that git does not know yet, those of the same name first."""
        if self._untracked is None:
            listing = self._git("ls-files", "--others", "--exclude-standard", "-z")
            self._untracked = [os.fsdecode(name) for name in listing.split(b"\0")[:-1]]
        name, ending = os.path.basename(path), os.path.splitext(path)[1]
        alike = [other for other in self._untracked if os.path.splitext(other)[1] == ending]
        yield from sorted(alike, key=lambda other: os.path.basename(other) != name)[:MOST_CANDIDATES]

    def _git(self, *words: str) -> bytes:
        return ask_git(self.root, words, os.environ, SECONDS, MOST_RENAME_BYTES) or b""


def _target_of(path: str, is_folder: bool, renames: list[tuple[str, str]]) -> str:
    if not is_folder:
        return next((new for old, new in renames if old == path), "")
    # A folder went where most of its files went, under their own names.
    went: Counter[str] = Counter()
    for old, new in renames:
        if old.startswith(path + "/"):
            tail = old[len(path) :]
            if new.endswith(tail) and len(new) > len(tail):
                went[new[: -len(tail)]] += 1
    return went.most_common(1)[0][0] if went else ""
