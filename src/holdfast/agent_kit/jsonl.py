"""Reads JSON lines as agents really write them: torn tails, joined objects, bad UTF-8, huge lines.

Bytes are split on `\\n` only. A tail without a newline is read if it is a complete object, or else left for
the next pass. One bad line gives one warning; the rest is read.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from holdfast.agent_kit.contract import Claims, Glance, OneSessionPerFile, Reading, Warned
from holdfast.core.errors import TranscriptError
from holdfast.core.json_depth import nested_too_deeply, too_deep
from holdfast.model.events import Event, Tick

LONGEST_LINE = 96 * 1024 * 1024
READ_AHEAD = 1024 * 1024  # lines are long: with the default 8 kB, finding their ends is three times as slow

T = TypeVar("T")
_plain = json.JSONDecoder(strict=False)
_texts = msgspec.json.Decoder(str)
OBJECTS = msgspec.json.Decoder(dict[str, Any])
ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class JsonLines(Generic[T]):
    """Typed objects of a file from a byte offset; `position` is where the next pass starts."""

    def __init__(self, path: Path, offset: int, line: int, decoder: msgspec.json.Decoder[T]) -> None:
        self.path = path
        self.position = offset
        self.line = line
        self.warnings: list[Warned] = []
        self._decode = decoder.decode

    def __iter__(self) -> Iterator[T]:
        decode = self._decode
        try:
            with open(self.path, "rb", buffering=READ_AHEAD) as file:
                within_line = self._seek(file)
                while raw := file.readline(LONGEST_LINE):
                    self.line += not within_line
                    within_line = False
                    if raw[-1] != 10:
                        if len(raw) == LONGEST_LINE:
                            yield from self._skip_giant(file, len(raw))
                            continue
                        yield from self._tail(raw)
                        return
                    self.position += len(raw)
                    try:
                        yield decode(raw)
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                        yield from self._rescue(raw)
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _seek(self, file: Any) -> bool:
        """Seek to where the last pass stopped; return whether that is within a line, after an unterminated object."""
        file.seek(max(self.position - 1, 0))
        return bool(self.position and file.read(1) != b"\n")

    def _skip_giant(self, file: Any, taken: int) -> Iterator[T]:
        """Skip a line that is too long for memory, in pieces; an unfinished one waits for the next pass."""
        while piece := file.readline(1 << 20):
            taken += len(piece)
            if piece[-1] == 10:
                self.position += taken
                self.warn("line-too-long", f"a line of {taken:,} bytes was left out")
                return
        self.line -= 1
        yield from ()

    def _tail(self, raw: bytes) -> Iterator[T]:
        """Read an unterminated last line: complete objects count, a torn one is still being written."""
        try:
            value = self._decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            values, rest = self._split(raw)
            if not values or rest:
                self.line -= 1
                return
            self.position += len(raw)
            yield from self._typed(values)
        else:
            self.position += len(raw)
            yield value

    def _rescue(self, raw: bytes) -> Iterator[T]:
        """A line the fast path refused: blank, glued, badly encoded, of unusual types, or broken."""
        if not raw.strip(b" \t\r\n\x00"):
            return
        values, rest = self._split(raw)
        yield from self._typed(values)
        if rest:
            self.warn("bad-line", f"not JSON, left out: {rest}")

    def _split(self, raw: bytes) -> tuple[list[Any], str]:
        """Return all JSON values on one line, and the problem with the rest, or ''."""
        if too_deep(raw):
            return [], "nested too deeply"
        text = raw.decode("utf-8-sig", "replace").strip(" \t\r\n\x00")
        values: list[Any] = []
        at = 0
        while at < len(text):
            try:
                value, at = _plain.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                return values, f"{getattr(error, 'msg', error)} at character {at + 1}"
            values.append(value)
            while at < len(text) and text[at] in " \t\r\x00":
                at += 1
        return values, ""

    def _typed(self, values: list[Any]) -> Iterator[T]:
        for value in values:
            if not isinstance(value, dict):
                self.warn("bad-line", "a JSON value that is no object, left out")
                continue
            try:
                yield self._decode(msgspec.json.encode(clean_strings(value)))
            except (msgspec.MsgspecError, RecursionError, ValueError, OverflowError) as error:
                self.warn("bad-line", f"unexpected shape, left out: {error}")

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(Warned(str(self.path), self.line, code, message[:200]))


class LineCount(Struct):
    """State for the next pass over a grown file; readers add to it."""

    line: int = 0


S = TypeVar("S", bound=LineCount)


class JsonLinesReading(ABC, Generic[T, S]):
    """One pass over a file of JSON lines, from where the last one stopped."""

    line: msgspec.json.Decoder[T]
    carried: type[S]

    def __init__(self, path: Path, offset: int, state: bytes, claims: Claims) -> None:
        self._state: S = msgspec.msgpack.decode(state, type=self.carried) if state else self.carried()
        self._lines = JsonLines(path, offset, self._state.line, self.line)
        self._claims = claims
        self._path = path
        self.warnings: list[Warned] = self._lines.warnings

    def position(self) -> int:
        return self._lines.position

    def state(self) -> bytes:
        self._state.line = self._lines.line
        return msgspec.msgpack.encode(self._state)

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """Yield the events of the new lines."""


class LineAgent(OneSessionPerFile):
    """An agent that appends each session to a file of JSON lines of its own."""

    reading: type[JsonLinesReading[Any, Any]]
    pattern = "**/*.jsonl"

    def candidates(self, root: Path) -> Iterable[Path]:
        return root.glob(self.pattern)

    def glance(self, path: Path, head: bytes) -> Glance:
        return glance_at(head)

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> Reading:
        return self.reading(path, offset, state, claims)


def unreadable(path: Path, error: OSError) -> TranscriptError:
    return TranscriptError(
        f"cannot be read: {error.strerror or error}",
        where=str(path),
        fix="Check that the file exists and that you may read it",
    )


def decoded(decoder: msgspec.json.Decoder[T], raw: Raw, default: T) -> T:
    """Decode a raw part; repair bad encoding, return `default` if it has another shape or is nested too deeply."""
    try:
        value = decoder.decode(raw)
        return default if nested_too_deeply(value) else value
    except msgspec.ValidationError:
        return default
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            value = _plain.decode(bytes(raw).decode("utf-8", "replace"))
            return decoder.decode(msgspec.json.encode(clean_strings(value)))
        except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
            return default


def string_in(raw: Raw) -> str:
    """Decode a raw part if it is a string; '' for anything else."""
    return decoded(_texts, raw, "") if bytes(memoryview(raw)[:1]) == b'"' else ""


def string_after(key: str, head: bytes) -> str:
    """Return the first string under a key at any depth, for a quick look at a file without parsing it."""
    match = re.search(rb'"%s"\s*:\s*("(?:[^"\\]|\\.)*")' % key.encode(), head)
    return string_in(Raw(match[1])) if match else ""


def glance_at(head: bytes) -> Glance:
    """Return the glance of a file whose lines hold their own directory and time."""
    return Glance(cwd=string_after("cwd", head), started=seconds(string_after("timestamp", head)))


class Block(Struct, gc=False):
    """A content block of a message, as in Anthropic's API and several agents modelled on it."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = Raw(b"")
    arguments: Raw = Raw(b"")


_blocks = msgspec.json.Decoder(list[Block])


def blocks_in(raw: Raw) -> list[Block]:
    """Return the blocks of a message; a plain text is one block."""
    start = bytes(memoryview(raw)[:1])
    if start == b'"':
        return [Block(type="text", text=string_in(raw))]
    return decoded(_blocks, raw, []) if start == b"[" else []


def words_in(raw: Raw) -> str:
    """The text blocks of a message, joined."""
    return "\n".join(block.text for block in blocks_in(raw) if block.type == "text" and block.text)


def text_in(value: Mapping[str, Any], *names: str) -> str:
    """Return the first of the named entries that is a non-empty text."""
    for name in names:
        entry = value.get(name)
        if isinstance(entry, str) and entry:
            return entry
    return ""


def clean_strings(value: Any) -> Any:
    """Lone surrogates replaced, so that every string can be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if not value.isascii() else value
    if isinstance(value, list):
        return [clean_strings(item) for item in value]
    if isinstance(value, dict):
        return {clean_strings(key): clean_strings(item) for key, item in value.items()}
    return value


_moment = datetime.fromisoformat  # every line has a time: the lookup would take a fifth of the reading time
_utc = UTC


def seconds(stamp: object) -> float | None:
    """An ISO time or an epoch in seconds or milliseconds, as epoch seconds; None for anything else."""
    try:
        if isinstance(stamp, str):
            moment = _moment(stamp)
            value = moment.timestamp() if moment.tzinfo else moment.replace(tzinfo=_utc).timestamp()
        elif isinstance(stamp, int | float) and not isinstance(stamp, bool):
            value = float(stamp)
            value = value / 1000 if value > 1e11 else value
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return value if 0 < value < 1e11 else None


def tick(at: float | None) -> tuple[Tick, ...]:
    """Return a tick for a line that matters only for its time; () if it has none."""
    return (Tick(at),) if at is not None else ()


LONGEST_OUTPUT = 4000
LONGEST_GUIDE = 40_000  # of the repository's own instructions


def excerpt(text: str, limit: int = LONGEST_OUTPUT) -> str:
    """Head and tail of a long text: commands announce themselves first and say how they ended last."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[…]\n{text[-half:]}"
