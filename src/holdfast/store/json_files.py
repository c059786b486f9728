"""JSON on disk: files of one value, and files of one object per line that are only appended to."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from holdfast.core import files
from holdfast.core.errors import StoreError

T = TypeVar("T")


def decode_json(data: bytes | None, kind: type[T], path: Path, fix: str) -> T:
    """The value of a file, its default where there is none; StoreError with the advice where it is unreadable."""
    try:
        return kind() if data is None else msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot be read: {error}", where=str(path), fix=fix) from error


def encode_json(value: object, indent: int = 2) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=indent) + b"\n"


def read_json_lines(path: Path, kind: type[T]) -> list[T]:
    """The lines of a file, oldest first; none where there is no file."""
    return decode_json_lines(files.read(path) or b"", kind)


def decode_json_lines(data: bytes, kind: type[T]) -> list[T]:
    """Skips a line that a crash tore."""
    decoder = msgspec.json.Decoder(kind)
    values: list[T] = []
    for line in data.split(b"\n"):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            values.append(decoder.decode(line))
    return values


def encode_json_lines(values: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)
