"""Checks whether the files a lesson depends on are unchanged: by stat alone if possible, otherwise by a hash.

A file target covers its content (apart from line endings), `file#field` only that value, a glob the names and contents
of the matching files, and a folder its layout: subfolders by name, files by extension. A new test in `tests/` is no
change; a missing `tests/`, or `.spec.ts` files instead of `.test.ts`, is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.lessons import fingerprint_content as content
from holdfast.lessons.fingerprint_content import FileStat, Renames, TargetError
from holdfast.model.lesson import PRESENT, Fingerprint

Kind = Literal["file", "folder", "glob", "field"]
MOST_CHARACTERS = 500
MOST_KEYS = 32
RACY_NS = 2_000_000_000  # a file that changed this recently may change again within one tick of the file system's clock
_KEY = lazy_regex(r""" "((?:\\.|[^"\\])*)" | '((?:\\.|[^'\\])*)' | ([^."'][^.]*) """, re.VERBOSE | re.DOTALL)


class Target(Struct, frozen=True):
    """`path` is relative, with `/` as separator and none at the end; `keys` lead to a field."""

    kind: Kind
    path: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind == "field":
            return f"{self.path}#{field_text(self.keys)}"
        return f"{self.path}/" if self.kind == "folder" else self.path


def parse_target(text: str) -> Target:
    """Parse a target. Raises TargetError if it could leave the repository or enter `.git`."""
    if not text or len(text) > MOST_CHARACTERS:
        raise TargetError("is empty or too long")
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
        raise TargetError("holds a character that no path here may have")
    if path.startswith(("/", "~")):
        raise TargetError("is not relative to the repository")
    for part in path.split("/"):
        bare = part.rstrip(" .").lower()  # as some file systems normalise them
        if part == ".." or not bare:
            raise TargetError("has a part that is empty or leads upwards")
        if bare in (".git", "git~1"):
            raise TargetError("is in .git")


def parse_field(text: str) -> tuple[str, ...]:
    """Split a field into keys: `scripts.test`, `jobs.0.name`, `scripts."build.prod"`. Keys with dots are quoted."""
    keys: list[str] = []
    position = 0
    while True:
        match = _KEY.match(text, position)
        if match is None and text.startswith(('"', "'"), position):
            raise TargetError("has a quotation mark in its field that is not closed")
        if match is None:
            raise TargetError("has an empty part in its field")
        keys.append(match[3] or re.sub(r"\\(.)", r"\1", match[1] or match[2] or "", flags=re.DOTALL))
        position = match.end() + 1
        if len(keys) > MOST_KEYS:
            raise TargetError(f"has more than {MOST_KEYS} parts in its field")
        if position > len(text):
            return tuple(keys)
        if text[position - 1] != ".":
            raise TargetError("has something after a quoted part of its field")


def field_text(keys: tuple[str, ...]) -> str:
    """Write a field as `parse_field` reads it."""
    escaped = {key: key.replace("\\", "\\\\").replace('"', '\\"') for key in keys}
    return ".".join(key if key and not set(key) & set(".\"'\\") else f'"{escaped[key]}"' for key in keys)


def place_of(root: str, path: str) -> str:
    """Return the absolute path. Raises TargetError if a link leads out of the repository or into `.git`.

    `root` must already be resolved.
    """
    full = os.path.join(root, path)
    try:
        real = os.path.realpath(full)
    except (OSError, ValueError):
        raise TargetError("cannot be followed") from None
    if real != root and not real.startswith(root + os.sep):
        raise TargetError("leads out of the repository")
    inside = real[len(root) + 1 :].split(os.sep)
    if any(part.lower() == ".git" for part in inside):
        raise TargetError("leads into .git")
    return full


class PlaceStamp(Struct, frozen=True):
    """A digest, and the files (path, size, mtime_ns) that show whether it is still valid."""

    digest: str
    places: tuple[FileStat, ...] = ()
    value: str = ""  # a short field, redacted: shown later as the old value


class Same(Struct, frozen=True):
    """`digest` is the current one; a fingerprint without a digest matches anything."""

    target: str
    digest: str


class Changed(Struct, frozen=True):
    target: str
    digest: str
    what: str = ""  # `old → new` where both are short


class Missing(Struct, frozen=True):
    target: str
    what: str = ""


class Renamed(Struct, frozen=True):
    """`to` is the new name of the target; `same` says whether its content is unchanged."""

    target: str
    to: str
    digest: str
    same: bool


class Unreadable(Struct, frozen=True):
    """The target is refused, or exists and cannot be read: no verdict is possible."""

    target: str
    why: str


Verdict: TypeAlias = Same | Changed | Missing | Renamed | Unreadable


class Checked(Struct, frozen=True):
    """A verdict for each fingerprint, in order, and the stamps for the next check (derived data, may be lost)."""

    verdicts: tuple[Verdict, ...]
    stamps: dict[str, PlaceStamp]


def check(
    root: str | os.PathLike[str],
    fingerprints: Iterable[Fingerprint],
    stamps: Mapping[str, PlaceStamp] | None = None,
    *,
    now: float | None = None,
    clean: Callable[[str], str] | None = None,
) -> Checked:
    """Check each target once. With `now`, files that changed just before it are not trusted by their stamp.

    `clean` redacts; without it no value is quoted.
    """
    look = _Look(os.path.realpath(root), stamps or {}, now, clean)
    verdicts: list[Verdict] = []
    kept: dict[str, PlaceStamp] = {}
    judged: dict[tuple[str, str], Verdict] = {}
    stat, base, known = os.stat, look.root + "/", look.stamps
    for item in fingerprints:
        target = item.target
        stamp = known.get(target)
        if stamp is not None and stamp.digest == item.digest and stamp.places:
            try:  # the hot path: stat and compare
                for path, size, mtime_ns in stamp.places:
                    status = stat(base + path)
                    if status.st_mtime_ns != mtime_ns or status.st_size != size:
                        break
                else:
                    kept[target] = stamp
                    verdicts.append(Same(target, stamp.digest))
                    continue
            except (OSError, ValueError):
                pass
        key = (target, item.digest)
        if key not in judged:
            judged[key] = look.judge(item, kept)
        verdicts.append(judged[key])
    return Checked(tuple(verdicts), kept)


def take(root: str | os.PathLike[str], target: str) -> Fingerprint | Missing | Unreadable:
    """Return the current fingerprint of a target, for a new lesson."""
    verdict = _Look(os.path.realpath(root), {}, None, None).judge(Fingerprint(target=target), {})
    if isinstance(verdict, Same):
        return Fingerprint(target=target, digest=verdict.digest)
    if isinstance(verdict, Missing):
        return verdict
    return Unreadable(target, getattr(verdict, "why", "cannot be read"))


def places_of(
    fingerprints: Iterable[Fingerprint], stamps: Mapping[str, PlaceStamp]
) -> tuple[FileStat, ...] | None:
    """Return the files that a hook stats: while they are unchanged, the lesson applies. None if stat is not enough."""
    rows: dict[str, FileStat] = {}
    for item in fingerprints:
        stamp = stamps.get(item.target)
        if stamp is None or stamp.digest != item.digest or not stamp.places:
            return None
        rows.update({place[0]: place for place in stamp.places})
    return tuple(rows.values())


class _Look:
    """One check of a repository: each file is parsed once, for any number of fields."""

    def __init__(
        self,
        root: str,
        stamps: Mapping[str, PlaceStamp],
        now: float | None,
        clean: Callable[[str], str] | None,
    ) -> None:
        self.root = root
        self.stamps = stamps
        self._now = now
        self._clean = clean
        self._parsed: dict[str, Any] = {}
        self._renames = Renames(root)

    def judge(self, item: Fingerprint, kept: dict[str, PlaceStamp]) -> Verdict:
        try:
            target = parse_target(item.target)
            stamp = self._stamp(target)
        except TargetError as error:
            return Unreadable(item.target, str(error))
        except FileNotFoundError:
            return self._gone(item, target)
        except LookupError:
            return Missing(item.target, "the file has no such field")
        except (OSError, ValueError, MemoryError) as error:
            return Unreadable(item.target, f"cannot be read: {type(error).__name__}")
        before = self.stamps.get(item.target)
        if item.digest == PRESENT:
            stamp = PlaceStamp(PRESENT, stamp.places)
        if item.digest in ("", stamp.digest):
            latest = None if self._now is None else self._now * 1_000_000_000 - RACY_NS
            settled = latest is None or all(place[2] < latest for place in stamp.places)
            kept[item.target] = stamp if settled else replace(stamp, places=())
            return Same(item.target, stamp.digest)
        old, new = "", stamp.value
        if before is not None and before.digest == item.digest:
            kept.setdefault(item.target, replace(before, places=()))  # shown later as the old value
            old = before.value
        what = f"{old} → {new}" if old and new else f"now {new}" if new else ""
        return Changed(item.target, stamp.digest, what)

    def _stamp(self, target: Target) -> PlaceStamp:
        """Return the current stamp. Raises FileNotFoundError if the target is missing, LookupError if the field is."""
        if target.kind == "glob":
            place_of(self.root, content.fixed_part(target.path))
            digest, places = content.digest_glob(self.root, target.path)
            return PlaceStamp(digest, tuple(places))
        full = place_of(self.root, target.path)
        try:
            place = content.stat_of(self.root, target.path)
        except NotADirectoryError:
            raise FileNotFoundError(target.path) from None
        if target.kind == "field":
            return self._field(target, full, place)
        if os.path.isdir(full):
            return PlaceStamp(content.digest_folder(full), (place,))
        if target.kind == "folder":
            raise FileNotFoundError(target.path)
        return PlaceStamp(content.digest_file(full), (place,))

    def _field(self, target: Target, full: str, place: FileStat) -> PlaceStamp:
        if target.path not in self._parsed:
            data = content.read_regular(full, content.MOST_FIELD_BYTES)
            self._parsed[target.path] = content.parse_fields(os.path.basename(target.path), data)
        value = content.find_field(self._parsed[target.path], target.keys)
        quoted = self._clean(content.quotable(value)) if self._clean else ""
        return PlaceStamp(content.digest_of(content.canonical(value)), (place,), quoted)

    def _gone(self, item: Fingerprint, target: Target) -> Verdict:
        if target.kind == "glob":
            return Missing(item.target, "nothing matches")

        def fits(path: str) -> bool:
            if target.kind == "field" and os.path.basename(path) != os.path.basename(target.path):
                return False
            try:
                digest = self._stamp(parse_target(str(replace(target, path=path)))).digest
            except (LookupError, OSError, ValueError):
                return False
            return digest == item.digest != content.digest_of(b"")

        to = self._renames.follow(target.path, target.kind == "folder", fits)
        if not to:
            return Missing(item.target)
        name = str(replace(target, path=to))
        try:
            digest = self._stamp(parse_target(name)).digest
        except LookupError:
            return Missing(item.target, f"renamed to {to}, which has no such field")
        except (OSError, ValueError):
            return Missing(item.target, f"renamed to {to}, which cannot be read")
        return Renamed(item.target, name, digest, not item.digest or digest == item.digest)
