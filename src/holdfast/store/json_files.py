"""JSON on disk: files with one value, and append-only files with one object per line."""

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
    """The value of a file, or the default if there is no file. Raises StoreError with `fix` if it is unreadable."""
    try:
        return kind() if data is None else msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot be read: {error}", where=str(path), fix=fix) from error


def encode_json(value: object, indent: int = 2) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=indent) + b"\n"


def read_json_lines(path: Path, kind: type[T]) -> list[T]:
    """The values in a file, oldest first; empty if there is no file."""
    return decode_json_lines(files.read(path) or b"", kind)


def decode_json_lines(data: bytes, kind: type[T]) -> list[T]:
    """The values of all complete lines; a line that a crash cut off is skipped."""
    decoder = msgspec.json.Decoder(kind)
    values: list[T] = []
    for line in data.split(b"\n"):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            values.append(decoder.decode(line))
    return values


def encode_json_lines(values: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)
