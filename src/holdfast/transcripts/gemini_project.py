"""Which directory a Gemini CLI session ran in: its file knows a hash or a nickname of the directory only.

A candidate is taken from the folder's marker, the client's registry, or any absolute path in the session; the
SHA-256 of the right one is the hash in the file, so nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from holdfast.transcripts.jsonl import decoded, string_after

_ABSOLUTE = re.compile(
    rb'(?<![\w.~/])(/[^\s"\\<>|*?:,;()\[\]{}\']{2,300}|[A-Za-z]:(?:\\\\|/)[^\s"<>|*?,;()\[\]{}\']{2,300})'
)
_WORKSPACE = re.compile(rb"Workspace Directories:\*\*\\n\s+- ([^\\\"]+)")
_LARGEST_MARKER = 4 * 1024 * 1024
_MOST_PATHS = 2000

_objects = msgspec.json.Decoder(dict[str, Any])


def project_root(path: Path, head: bytes) -> str:
    """The session's directory, or '' where nothing proves one."""
    home = _project_folder(path)
    if home is not None and (marked := _read(home / ".project_root").decode("utf-8", "replace").strip()):
        return marked
    registered = _registered(home) if home is not None else {}
    if home is not None:
        for root, nickname in registered.items():
            if nickname == home.name:
                return root
    wanted = string_after("projectHash", head[:4096])
    if wanted:
        for candidate in _candidates(head, registered):
            if sha256(candidate.encode("utf-8", "replace")).hexdigest() == wanted:
                return candidate
    stated = _WORKSPACE.search(head)  # the context a session begins with names the directory itself
    return stated[1].decode("utf-8", "replace").strip() if stated else ""


def _project_folder(path: Path) -> Path | None:
    """`tmp/<hash or nickname>`, above `chats/`."""
    for parent in list(path.parents)[:3]:
        if parent.name == "chats":
            return parent.parent
    return None


def _registered(home: Path) -> dict[str, str]:
    """Directories the client knows, with their nicknames ('' when it only trusts them)."""
    base = home.parent.parent
    trusted = decoded(_objects, Raw(_read(base / "trustedFolders.json")), {})
    projects = decoded(_objects, Raw(_read(base / "projects.json")), {}).get("projects")
    known = dict.fromkeys(trusted, "")
    if isinstance(projects, dict):
        known.update({root: str(nickname) for root, nickname in projects.items()})
    return known


def _candidates(head: bytes, registered: dict[str, str]) -> Iterator[str]:
    yield from registered
    seen: set[str] = set()
    for number, found in enumerate(_ABSOLUTE.finditer(head)):
        if number > _MOST_PATHS:
            return
        place = found[1].decode("utf-8", "replace").replace("\\\\", "\\").rstrip("/\\.")
        while place not in seen and len(place) > 1:
            seen.add(place)
            yield place
            place = place[: max(place.rfind("/"), place.rfind("\\"))]


def _read(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST_MARKER)
    except OSError:
        return b""
