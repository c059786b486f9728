"""Files of one JSON object per line that are only appended to. A line that a crash tore is passed over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from holdfast.core import files

T = TypeVar("T")


def read_json_lines(path: Path, kind: type[T]) -> list[T]:
    """Oldest first; nothing where there is no file."""
    return parsed(files.read(path) or b"", kind)


def parsed(data: bytes, kind: type[T]) -> list[T]:
    decoder = msgspec.json.Decoder(kind)
    found: list[T] = []
    for line in data.split(b"\n"):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            found.append(decoder.decode(line))
    return found


def encoded(items: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(item) + b"\n" for item in items)
