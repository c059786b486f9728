"""Whether what a lesson depends on is still as it was: only stat where nothing changed, a hash where something did.

A file stands for its content (line ends aside), `file#field` for that value alone, a glob for the names and contents of
the files that match, and a folder for its layout: subfolders by name, files by ending. One test more in `tests/` is
the same folder; `tests/` gone, or its `.test.ts` turned `.spec.ts`, is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lessons import fingerprint_content as content
from holdfast.lessons.fingerprint_content import Place, Renames
from holdfast.model.lesson import PRESENT, Fingerprint

# What a fingerprint may name, and where that is: a file, a folder, a glob or a field, always inside the
# repository.

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
    escaped = {key: key.replace("\\", "\\\\").replace('"', '\\"') for key in keys}
    return ".".join(key if key and not set(key) & set(".\"'\\") else f'"{escaped[key]}"' for key in keys)


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


RACY_NS = (
    2_000_000_000  # a file that changed this shortly before may change again within one tick of its clock
)


class Stamp(Struct, frozen=True):
    """What was seen: the digest, and the places (path, size, mtime_ns) that are as they were while it holds."""

    digest: str
    places: tuple[Place, ...] = ()
    value: str = ""  # a short field, redacted: to say later what it was


class Same(Struct, frozen=True):
    """`digest` is what was found; a fingerprint that had none yet is the same as whatever is there."""

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
    """`to` is the target's name now; `same`, whether what is there is what was."""

    target: str
    to: str
    digest: str
    same: bool


class Unreadable(Struct, frozen=True):
    """Refused, or there and not to be read: nothing can be said of it."""

    target: str
    why: str


Verdict: TypeAlias = Same | Changed | Missing | Renamed | Unreadable


class Checked(Struct, frozen=True):
    """A verdict for each fingerprint, in order, and the stamps to keep for the next time (derived: may be lost)."""

    verdicts: tuple[Verdict, ...]
    stamps: dict[str, Stamp]


def check(
    root: str | os.PathLike[str],
    fingerprints: Iterable[Fingerprint],
    stamps: Mapping[str, Stamp] | None = None,
    *,
    now: float | None = None,
    clean: Callable[[str], str] | None = None,
) -> Checked:
    """Looks at each target once. `now` keeps files that changed just then from being trusted by their stamp.

    `clean` redacts; without it no value is quoted.
    """
    look = _Look(os.path.realpath(root), stamps or {}, now, clean)
    verdicts: list[Verdict] = []
    kept: dict[str, Stamp] = {}
    looked: dict[tuple[str, str], Verdict] = {}
    stat, base, known = os.stat, look.root + "/", look.stamps
    for item in fingerprints:
        target = item.target
        stamp = known.get(target)
        if stamp is not None and stamp.digest == item.digest and stamp.places:
            try:  # the one path that is taken a thousand times: stat, compare, done
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
        if key not in looked:
            looked[key] = look.judged(item, kept)
        verdicts.append(looked[key])
    return Checked(tuple(verdicts), kept)


def take(
    root: str | os.PathLike[str], target: str, *, clean: Callable[[str], str] | None = None
) -> Fingerprint | Missing | Unreadable:
    """A fingerprint of what is there now, for a lesson that is being written."""
    found = _Look(os.path.realpath(root), {}, None, clean).judged(Fingerprint(target=target), {})
    if isinstance(found, Same):
        return Fingerprint(target=target, digest=found.digest)
    return (
        found if isinstance(found, Missing) else Unreadable(target, getattr(found, "why", "cannot be read"))
    )


def places_of(fingerprints: Iterable[Fingerprint], stamps: Mapping[str, Stamp]) -> tuple[Place, ...] | None:
    """The rows for the hook: while all are as they were, the lesson holds. None: it cannot tell."""
    rows: dict[str, Place] = {}
    for item in fingerprints:
        stamp = stamps.get(item.target)
        if stamp is None or stamp.digest != item.digest or not stamp.places:
            return None
        rows.update({place[0]: place for place in stamp.places})
    return tuple(rows.values())


class _Look:
    """One look at a repository: files are parsed once however many fields are asked of them."""

    def __init__(
        self, root: str, stamps: Mapping[str, Stamp], now: float | None, clean: Callable[[str], str] | None
    ) -> None:
        self.root = root
        self.stamps = stamps
        self._now = now
        self._clean = clean
        self._parsed: dict[str, Any] = {}
        self._renames = Renames(root)

    def judged(self, item: Fingerprint, kept: dict[str, Stamp]) -> Verdict:
        try:
            target = parse_target(item.target)
            stamp = self._stamped(target)
        except (Refused, content.Unreadable, content.FieldError) as error:
            return Unreadable(item.target, str(error))
        except FileNotFoundError:
            return self._gone(item, target)
        except (OSError, ValueError, MemoryError) as error:
            return Unreadable(item.target, f"cannot be read: {type(error).__name__}")
        if stamp is None:
            return Missing(item.target, "the file has no such field")
        before = self.stamps.get(item.target)
        if item.digest == PRESENT:
            stamp = Stamp(PRESENT, stamp.places)
        if item.digest in ("", stamp.digest):
            latest = None if self._now is None else self._now * 1_000_000_000 - RACY_NS
            settled = latest is None or all(place[2] < latest for place in stamp.places)
            kept[item.target] = stamp if settled else replace(stamp, places=())
            return Same(item.target, stamp.digest)
        old, new = "", stamp.value
        if before is not None and before.digest == item.digest:
            kept.setdefault(
                item.target, replace(before, places=())
            )  # so that it can still be said what it was
            old = before.value
        what = f"{old} → {new}" if old and new else f"now {new}" if new else ""
        return Changed(item.target, stamp.digest, what)

    def _stamped(self, target: Target) -> Stamp | None:
        """What is there now; None where a file lacks the field. FileNotFoundError where there is nothing."""
        if target.kind == "glob":
            place_of(self.root, content.fixed_part(target.path))
            digest, places = content.digest_glob(self.root, target.path)
            return Stamp(digest, tuple(places))
        full = place_of(self.root, target.path)
        try:
            place = content.place_at(self.root, target.path)
        except NotADirectoryError:
            raise FileNotFoundError(target.path) from None
        if target.kind == "field":
            return self._field(target, full, place)
        if os.path.isdir(full):
            return Stamp(content.digest_folder(full), (place,))
        if target.kind == "folder":
            raise FileNotFoundError(target.path)
        return Stamp(content.digest_file(full), (place,))

    def _field(self, target: Target, full: str, place: Place) -> Stamp | None:
        if target.path not in self._parsed:
            self._parsed[target.path] = content.parse_fields(
                os.path.basename(target.path), content.read_regular(full, content.MOST_FIELD_BYTES)
            )
        value = content.find_field(self._parsed[target.path], target.keys)
        if isinstance(value, content.Absent):
            return None
        quoted = self._clean(content.shown(value)) if self._clean else ""
        return Stamp(content.digest_of(content.canonical(value)), (place,), quoted)

    def _gone(self, item: Fingerprint, target: Target) -> Verdict:
        if target.kind == "glob":
            return Missing(item.target, "nothing matches")

        def fits(path: str) -> bool:
            if target.kind == "field" and os.path.basename(path) != os.path.basename(target.path):
                return False
            try:
                moved = self._stamped(parse_target(_named(replace(target, path=path))))
            except (Refused, content.Unreadable, content.FieldError, OSError, ValueError):
                return False
            return moved is not None and moved.digest == item.digest != content.digest_of(b"")

        to = self._renames.followed(target.path, target.kind == "folder", fits)
        if not to:
            return Missing(item.target)
        name = _named(replace(target, path=to))
        try:
            moved = self._stamped(parse_target(name))
        except (Refused, content.Unreadable, content.FieldError, OSError, ValueError):
            return Missing(item.target, f"renamed to {to}, which cannot be read")
        if moved is None:
            return Missing(item.target, f"renamed to {to}, which has no such field")
        return Renamed(item.target, name, moved.digest, not item.digest or moved.digest == item.digest)


def _named(target: Target) -> str:
    if target.kind == "field":
        return f"{target.path}#{field_text(target.keys)}"
    return f"{target.path}/" if target.kind == "folder" else target.path
