"""The files that the page loads beside itself, read once: a request can name one of them and no path."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).with_name("static")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(Struct, frozen=True):
    data: bytes
    type: str
    version: str  # a hash of the content: what a browser kept of an older holdfast has another address


def static_files() -> dict[str, StaticFile]:
    """By the path below `static/`."""
    return {
        path.relative_to(FOLDER).as_posix(): _read(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in _TYPES
    }


def _read(path: Path) -> StaticFile:
    data = path.read_bytes()
    return StaticFile(data, _TYPES[path.suffix], blake2b(data, digest_size=6).hexdigest())
