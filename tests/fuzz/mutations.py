"""Changes an input as damage, other versions and attackers do: by its shape where it has one, else byte by byte.

The same random numbers give the same change, so that a run can be repeated.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

MOST_BYTES = 64 * 1024
_SQLITE = b"SQLite format 3\x00"
_FILE = b"%%% file "  # a line that begins one of several files in one input

_NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    10**30,
    0.1,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
)
_TEXTS = (
    "", " ", "0", "-", "\x00", "\ud800", "\udfff\ud800", "\ufeff", "\u202e", "\u2028", "\x1b[31m", "\r", "\r\n", "é́",
    "\U000e0041", "İ", "ß", "٣", "../../etc/passwd", "/", "~", "C:\\x", "null", "[]", "{}", "[[[[", "true", "NaN",
    "9999-99-99T99:99:99Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-03-02T09:00:00", "1e999",
    "<private>", "</private>", "[holdfast abc123: x]", "[/holdfast abc123]", "[redacted:token]", "```", "<!--", "-->",
    "---", "a" * 5000, "%22", "\\n", "\\u0000", "$(id)", "-rf", "| |", "\\|", "· because:", "## ", "- ",
)  # fmt: skip


def mutate(data: bytes, random: Random, words: Sequence[bytes] = (), others: Sequence[bytes] = ()) -> bytes:
    """A changed input. `words` are those of the format; `others` are inputs to take parts from."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        data = _once(data, random, words, others)
    return data[:MOST_BYTES]


def _once(data: bytes, random: Random, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    if data.startswith(_FILE) and random.random() < 0.95:
        names, contents = split_files(data)
        place = random.randrange(len(names))
        contents[place] = _once(contents[place], random, words, ())
        return join_files(dict(zip(names, contents, strict=True)))
    if data.startswith(_SQLITE) and random.random() < 0.9:
        return _cell_changed(data, random, words)
    ways: list[Callable[[], bytes]] = [lambda: _bytes_changed(data, random, words, others)]
    ways += [lambda: _lines_changed(data, random, others)] * 2
    if data.lstrip()[:1] in (b"{", b"["):
        ways += [lambda: _json_changed(data, random, words)] * 6
    elif b"\n{" in data:
        ways += [lambda: _below_first_line(data, random, words)] * 6
    return random.choice(ways)()


# --- several files in one input ------------------------------------------------------------------------


def join_files(files: dict[str, bytes]) -> bytes:
    return b"".join(_FILE + name.encode() + b"\n" + content + b"\n" for name, content in files.items())


def split_files(data: bytes) -> tuple[list[str], list[bytes]]:
    """The names and contents of `join_files`; of anything else one file without a name."""
    pieces = (b"\n" + data).split(b"\n" + _FILE)
    if len(pieces) < 2 or pieces[0]:
        return [""], [data]
    parts = [piece.partition(b"\n") for piece in pieces[1:]]
    contents = [content for _, _, content in parts]
    contents[-1] = contents[-1].removesuffix(b"\n")
    return [name.decode("utf-8", "replace") for name, _, _ in parts], contents


# --- bytes and lines -----------------------------------------------------------------------------------


def _bytes_changed(data: bytes, random: Random, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    at = random.randrange(len(data) + 1)
    to = min(len(data), at + random.choice((1, 1, 2, 8, 64, 1000)))
    way = random.randrange(8)
    if way == 0:
        return data[:at] + data[to:]
    if way == 1:
        return data[:at]
    if way == 2:
        return data[:at] + bytes((random.randrange(256),)) + data[at + 1 :]
    if way == 3:
        return data[:to] + data[at:to] * random.choice((1, 1, 3, 50)) + data[to:]
    if way == 4:
        return data[:at] + random.choice(_TEXTS).encode("utf-8", "surrogatepass") + data[to:]
    if way == 5 and others:
        other = random.choice(others)
        return data[:at] + other[random.randrange(len(other) + 1) :]
    if way == 6:
        return data[:at] + bytes(random.randrange(256) for _ in range(random.randrange(1, 9))) + data[at:]
    return data[:at] + (random.choice(words) if words else b"\xff") + data[random.choice((at, to)) :]


def _lines_changed(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    way = random.randrange(6)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(other, lines[at])
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    elif way == 4 and others:
        lines.insert(at, random.choice(random.choice(others).split(b"\n")))
    else:
        lines[at] = _bytes_changed(lines[at], random, (), ())
    return b"\n".join(lines)


# --- JSON ----------------------------------------------------------------------------------------------


def _below_first_line(data: bytes, random: Random, words: Sequence[bytes]) -> bytes:
    first, _, rest = data.partition(b"\n")
    return first + b"\n" + _json_changed(rest, random, words)


def _json_changed(data: bytes, random: Random, words: Sequence[bytes]) -> bytes:
    """A document, or a line of JSON lines, with one of its values changed."""
    lines = [data]
    at = 0
    with contextlib.suppress(ValueError, RecursionError):
        return _encoded(_value_changed(json.loads(data), random, words))
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    try:
        lines[at] = _encoded(_value_changed(json.loads(lines[at]), random, words))
    except (ValueError, RecursionError):
        lines[at] = _bytes_changed(lines[at], random, words, ())
    return b"\n".join(lines)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def _value_changed(value: Any, random: Random, words: Sequence[bytes]) -> Any:
    places = list(_places(value))
    if not places:
        return _other_value(value, random, words)
    holder, key = random.choice(places)
    way = random.randrange(10)
    if way == 0:
        del holder[key]
    elif way == 1:
        holder[key] = [holder[key]]
    elif way == 2:
        holder[key] = {"text": holder[key]} if random.random() < 0.5 else {str(key): holder[key]}
    elif way == 3:
        other, name = random.choice(places)
        holder[key] = json.loads(json.dumps(other.get(name) if isinstance(other, dict) else other[name]))
    elif way == 4 and isinstance(holder, dict):
        holder[random.choice(words).decode("utf-8", "replace") if words else "x"] = holder[key]
    elif way == 5 and isinstance(holder, list):
        holder *= random.choice((2, 3, 40))
    elif way == 6 and isinstance(holder[key], str):
        holder[key] = _text_changed(holder[key], random, words)
    else:
        holder[key] = _other_value(holder[key], random, words)
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left and len(found) < 5000:
        inner = left.pop()
        keys = (
            list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        )
        found += [(inner, key) for key in keys]
        left += [inner[key] for key in keys]
    return found


def _other_value(value: Any, random: Random, words: Sequence[bytes]) -> Any:
    way = random.randrange(9)
    if way == 0:
        return None
    if way == 1:
        return random.choice((True, False))
    if way in (2, 3):
        return random.choice(_NUMBERS)
    if way == 4:
        return random.choice(([], {}, [None], [[]], {"": None}, [{}], [0, "", {}]))
    if way == 5:
        deep: Any = value
        for _ in range(random.choice((3, 60, 450))):
            deep = [deep]
        return deep
    if way == 6 and words:
        return random.choice(words).decode("utf-8", "replace")
    return random.choice(_TEXTS)


def _text_changed(text: str, random: Random, words: Sequence[bytes]) -> str:
    at = random.randrange(len(text) + 1)
    if words and random.random() < 0.4:
        return text[:at] + random.choice(words).decode("utf-8", "replace") + text[at:]
    if random.random() < 0.5:
        return text[:at] + random.choice(_TEXTS) + text[at:]
    changed = _bytes_changed(text.encode("utf-8", "surrogatepass"), random, words, ())
    return changed.decode("utf-8", "replace")


# --- SQLite --------------------------------------------------------------------------------------------


def _cell_changed(data: bytes, random: Random, words: Sequence[bytes]) -> bytes:
    """A database with one cell changed; its JSON as JSON."""
    try:
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            # A file in WAL mode cannot be opened in memory.
            database.deserialize(data[:18] + b"\x01\x01" + data[20:])
            database.text_factory = bytes
            names = [
                row[0].decode()
                for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
            ]
            rows = [
                (name, row[0])
                for name in names
                for row in database.execute(f'SELECT rowid FROM "{name}" LIMIT 200')
            ]
            if not rows:
                return _bytes_changed(data, random, words, ())
            table, row = random.choice(rows)
            columns = [column[1].decode() for column in database.execute(f'PRAGMA table_info("{table}")')]
            column = random.choice(columns)
            found = database.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid=?', (row,)).fetchone()
            value = found[0] if found else None  # a damaged index lists rows that are not there
            way = random.randrange(12)
            if way == 0:
                database.execute(f'DELETE FROM "{table}" WHERE rowid=?', (row,))
            elif way == 1:
                database.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
            else:
                changed = _cell(value, random, words)
                database.execute(f'UPDATE "{table}" SET "{column}"=? WHERE rowid=?', (changed, row))
            return bytes(database.serialize())
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, AttributeError, IndexError):
        return _bytes_changed(data, random, words, ())


def _cell(value: Any, random: Random, words: Sequence[bytes]) -> Any:
    if isinstance(value, bytes) and value[:1] in b"{[" and random.random() < 0.85:
        return _json_changed(value, random, words).decode("utf-8", "replace")
    if isinstance(value, bytes) and random.random() < 0.5:
        changed = _bytes_changed(value, random, words, ())
        return changed if random.random() < 0.3 else changed.decode("utf-8", "replace")
    return random.choice((None, 0, -1, 2**63 - 1, 1e308, b"\xff\xfe", "", "x", "null", "[]", '{"a":1}'))
