"""Computes bounded digests of fingerprint targets: a file, a field of one, a folder's layout, the files of a glob."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
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

MOST_FIELD_BYTES = 4 << 20
LONGEST_QUOTED = 60
SECONDS = 5.0
MOST_RENAME_BYTES = 4_000_000
MOST_STEPS = 5
MOST_CANDIDATES = 200
_STRING = r'"(?:\\.|[^"\\])*"?'

FileStat = tuple[str, int, int]
"""A path below the root, and the size and mtime_ns that it had."""


class TargetError(ValueError):
    """A target that must not or cannot be read; says why in one line, without text of the file."""


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()[:DIGEST_LENGTH]


def stat_of(root: str, path: str) -> FileStat:
    status = os.stat(f"{root}/{path}")
    return path, status.st_size, status.st_mtime_ns


def read_regular(full: str, most: int) -> bytes:
    """Read a regular file. Does not wait for a pipe, and does not read a device."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(full, flags) if stat.S_ISREG(os.stat(full).st_mode) else -1
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetError(f"cannot be opened: {error.strerror or error}") from None
    if descriptor < 0:
        raise TargetError("is no regular file")
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise TargetError("is no regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise TargetError(f"is larger than {most >> 20} MB")
    return content


def digest_file(full: str) -> str:
    """Hash the content, with \\n as line endings in text: a checkout on Windows gives the same digest."""
    content = read_regular(full, MOST_BYTES)
    return digest_of(content if b"\0" in content[:8192] else content.replace(b"\r\n", b"\n"))


def digest_folder(full: str) -> str:
    """Hash the layout: subfolders by name, files by extension. A new test is no change, a new kind of file is."""
    forms: set[str] = set()
    try:
        with os.scandir(full) as entries:
            for count, entry in enumerate(entries):
                if count >= MOST_ENTRIES:
                    raise TargetError(f"holds more than {MOST_ENTRIES:,} names")
                if entry.name in LEFT_OUT:
                    continue
                forms.add(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else _ending(entry.name))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetError(f"cannot be listed: {error.strerror or error}") from None
    return digest_of("\n".join(sorted(forms)).encode("utf-8", "surrogateescape"))


def _ending(name: str) -> str:
    """Return `*.test.ts` for `cart.test.ts`; a name without an extension, or that is all extension, as it is."""
    dot = name.find(".", 1)
    return name if dot < 0 else f"*{name[dot:]}"


def digest_glob(root: str, pattern: str) -> tuple[str, list[FileStat]]:
    """Hash the names and contents of the matching files; also return the files and folders to stat for changes.

    Raises FileNotFoundError if none match.
    """
    places: list[FileStat] = []
    matched = sorted(_matching(root, pattern, places))
    if not matched:
        raise FileNotFoundError(pattern)
    digest, budget = sha256(), MOST_BYTES
    for path in matched:
        place = stat_of(root, path)
        budget -= place[1]
        if budget < 0:
            raise TargetError(f"matches more than {MOST_BYTES >> 20} MB")
        digest.update(f"{path}\0{digest_file(f'{root}/{path}')}\n".encode("utf-8", "surrogateescape"))
        places.append(place)
    return digest.hexdigest()[:DIGEST_LENGTH], places


def fixed_part(pattern: str) -> str:
    """Return the folder that a glob begins in."""
    parts = pattern.split("/")
    return "/".join(
        parts[: next(index for index, part in enumerate(parts) if any(sign in part for sign in "*?["))]
    )


def _matching(root: str, pattern: str, places: list[FileStat]) -> Iterable[str]:
    parts = pattern.split("/")
    base = fixed_part(pattern)
    named = set(parts)
    deepest = None if "**" in parts else len(parts) - 1
    folders, scanned, matches = [base], 0, 0
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
            scanned += 1
            if scanned > MOST_ENTRIES or matches > MOST_MATCHES:
                raise TargetError(
                    f"is too wide: more than {MOST_ENTRIES:,} names or {MOST_MATCHES:,} matches"
                )
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                left_out = entry.name == ".git" or (entry.name in LEFT_OUT and entry.name not in named)
                if not left_out and (deepest is None or path.count("/") < deepest):
                    folders.append(path)
            elif entry.is_file(follow_symlinks=False) and _fits(path.split("/"), parts):
                matches += 1
                yield path


def _fits(names: list[str], parts: list[str]) -> bool:
    """Whether a path matches a glob, part by part: `**` is any number of folders, `*` stays within one."""
    reached = _past_stars({0}, parts)  # possible numbers of matched glob parts
    for name in names:
        used = (index for index in reached if index < len(parts))
        after = {
            index if parts[index] == "**" else index + 1
            for index in used
            if fnmatch.fnmatchcase(name, parts[index])
        }
        reached = _past_stars(after, parts)
    return len(parts) in reached


def _past_stars(reached: set[int], parts: list[str]) -> set[int]:
    """Add the positions reached if a `**` matches nothing."""
    for index in sorted(reached):
        while index < len(parts) and parts[index] == "**":
            index += 1
            reached.add(index)
    return reached


# --- fields of JSON, TOML and YAML files, which are untrusted --------------------------------------------


class Number(Struct, frozen=True):
    """A number as written: 1.10 is not 1.1."""

    text: str


def parse_fields(name: str, content: bytes) -> Any:
    """Parse a file to plain values, by its name, or else by trying each format. Raises only TargetError."""
    if len(content) > MOST_FIELD_BYTES:
        raise TargetError(f"is larger than {MOST_FIELD_BYTES >> 20} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TargetError("is not UTF-8") from None
    for kind, (_, endings) in _FORMATS.items():
        if name.lower().endswith(endings):
            return _parse(kind, text)
    for kind in _FORMATS:
        try:
            values = _parse(kind, text)
        except TargetError:
            continue
        if isinstance(values, dict | list):
            return values
    raise TargetError("is neither JSON nor TOML nor YAML")


def _parse(kind: str, text: str) -> Any:
    try:
        return _FORMATS[kind][0](text)
    except YamlError as error:
        raise TargetError(f"is not YAML we read: {error}") from None
    except RecursionError:
        raise TargetError("is nested too deeply") from None
    except ValueError:
        raise TargetError(f"is not {kind}") from None


def _parse_json(text: str) -> Any:
    """Parse JSON, with the comments and trailing commas that editors and compilers allow in their configuration."""
    numbers: dict[str, Any] = {"parse_int": Number, "parse_float": Number, "parse_constant": Number}
    try:
        return json.loads(text, **numbers)
    except ValueError:
        for dropped in (r"//[^\n]*|/\*.*?(?:\*/|\Z)", r",\s*(?=[\]}])"):
            pattern = re.compile(f"({_STRING})|{dropped}", re.DOTALL)
            text = pattern.sub(lambda match: match[1] or "", text)
        return json.loads(text, **numbers)


def _parse_toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text, parse_float=Number)


_FORMATS: dict[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "JSON": (
        _parse_json,
        (".json", ".jsonc", ".json5", ".webmanifest", ".code-workspace", ".ipynb", "composer.lock"),
    ),
    "TOML": (_parse_toml, (".toml", ".lock", "pipfile")),
    "YAML": (load_yaml, (".yaml", ".yml")),
}


def find_field(values: Any, keys: tuple[str, ...]) -> Any:
    """Return the value at the keys; in a list a key is an index from 0. Raises LookupError if there is none."""
    for key in keys:
        if isinstance(values, list) and re.fullmatch("[0-9]{1,8}", key):
            values = values[int(key)]
        elif isinstance(values, dict):
            values = values[key]
        else:
            raise KeyError(key)
    return values


def canonical(value: Any) -> bytes:
    """Return the same bytes for the same value, whatever the order of keys and the layout of the file."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_tagged, ensure_ascii=True)
    except (RecursionError, ValueError, TypeError):
        raise TargetError("is nested too deeply, or mixes kinds of keys") from None
    return text.encode()


def _tagged(value: Any) -> dict[str, str]:
    """Encode numbers, and TOML's dates and times."""
    return {"number": value.text} if isinstance(value, Number) else {"written": str(value)}


def quotable(value: Any) -> str:
    """Return a short scalar as text, or '': nothing else of a file is ever quoted."""
    if isinstance(value, dict | list):
        return ""
    if isinstance(value, Number):
        value = value.text
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST_QUOTED and text.isprintable() else ""


# --- renames -------------------------------------------------------------------------------------------


class Renames:
    """Finds the new path of missing targets: by git's renames, or else by a new file with the same content."""

    def __init__(self, root: str) -> None:
        self.root = root

    def follow(self, path: str, is_folder: bool, fits: Callable[[str], bool]) -> str:
        """Return the current path, or ''. `fits` tells whether a new file has the old content."""
        if not os.path.lexists(os.path.join(self.root, ".git")):
            return ""
        start = path
        for _ in range(MOST_STEPS):
            path = self._next(path, is_folder)
            if not path:
                break
            if os.path.lexists(os.path.join(self.root, path)):
                return path
        return "" if is_folder else next(filter(fits, self._new_files_like(start)), "")

    def _next(self, path: str, is_folder: bool) -> str:
        if target := _target_of(path, is_folder, self._uncommitted):
            return target
        # The last commit that deleted or moved it: without -M a move is a deletion and an addition.
        options = ("-1", "--format=%H", "--no-renames", "--diff-filter=D")
        commit = self._git("log", *options, "HEAD", "--", f":(literal){path}").strip()
        if not commit:
            return ""
        return _target_of(path, is_folder, self._renames("show", "--format=", "-m", "--first-parent", commit))

    @cached_property
    def _uncommitted(self) -> list[tuple[str, str]]:
        return self._renames("diff", "HEAD")

    def _renames(self, command: str, *words: str) -> list[tuple[str, str]]:
        options = ("-z", "--name-status", "--find-renames=50%", "--diff-filter=R")
        parts = iter(self._git(command, *options, *words).split("\0"))
        pairs = [(next(parts, ""), next(parts, "")) for status in parts if status.strip()[:1] == "R"]
        return [(old, new) for old, new in pairs if old and new]

    @cached_property
    def _untracked(self) -> list[str]:
        return self._git("ls-files", "--others", "--exclude-standard", "-z").split("\0")[:-1]

    def _new_files_like(self, path: str) -> list[str]:
        """Return untracked files with the same extension, those of the same name first."""
        name, ending = os.path.basename(path), os.path.splitext(path)[1]
        alike = [other for other in self._untracked if os.path.splitext(other)[1] == ending]
        return sorted(alike, key=lambda other: os.path.basename(other) != name)[:MOST_CANDIDATES]

    def _git(self, *words: str) -> str:
        return os.fsdecode(ask_git(self.root, words, os.environ, SECONDS, MOST_RENAME_BYTES) or b"")


def _target_of(path: str, is_folder: bool, renames: list[tuple[str, str]]) -> str:
    if not is_folder:
        return next((new for old, new in renames if old == path), "")
    # A folder moved to where most of its files moved, under their own names.
    destinations: Counter[str] = Counter()
    for old, new in renames:
        if old.startswith(path + "/"):
            tail = old[len(path) :]
            if new.endswith(tail) and len(new) > len(tail):
                destinations[new[: -len(tail)]] += 1
    return destinations.most_common(1)[0][0] if destinations else ""
