"""The line grammar of all memory files: one value per bullet, followed by its fields, all on one line.

    - Use short links · because: the proxy cuts long ones · by: user · D-k3f9ab <!-- session 847ff7d2 -->

Escapes are those of `markdown_table` (a pipe needs none here). A field with its default value, or a value that the
context gives, is left out. The id at the end is for people: it is a hash of the text and is not parsed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import fields as struct_fields

from holdfast.core import markdown_table
from holdfast.core.patterns import lazy_regex
from holdfast.core.reuse import for_same_object
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Passage, Question

T = TypeVar("T", bound=Struct)

_PIPE = lazy_regex(r"\\(.)", re.DOTALL)
_COMMENT = lazy_regex(r"<(?=!--)|(?<=--)>|(?<=holdfast):(?=\s*(?:begin|end))")
# A sign that would be parsed as the start of a field, or as the id at the end.
_SIGN = lazy_regex(r"(?:^|(?<=\s))[·→](?=\s*(?:$|[a-z][a-z ]*:|[A-Z]-[0-9a-z]{6}))")
_ID = lazy_regex(r" · [A-Z]-[0-9a-z]{6}$")
_ID_OF_LINE = lazy_regex(r" · ([A-Z]-[0-9a-z]{6})(?: <!--.*)?\s*$")
_TIME = lazy_regex(r"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d)(?::(\d\d)(\.\d{1,6})?)?)?")
_SOURCE = lazy_regex(r"\s*<!-- session (.*) -->$")
_UNKNOWN_TIME = "?"
_HALF = lazy_regex(r"[\ud800-\udfff]")  # bytes that are no UTF-8, and halves of characters
_NOTHING = object()


class Problem(Struct, frozen=True):
    """A line that could not be parsed and is left unchanged. `message` is the whole sentence, with the place."""

    where: str
    line: int
    message: str


def problem(where: str, line: int, what: str, fix: str = "Correct the line, or delete it") -> Problem:
    return Problem(where, line, f"{where}:{line}: {what}. {fix}.")


# --- values --------------------------------------------------------------------------------------------


def readable(text: str) -> str:
    """The text with U+FFFD for bytes that are no UTF-8 and halves of characters: no database takes those."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def encode(text: str) -> str:
    """Any text as one line that cannot be parsed as a field, a comment or a marker."""
    cell = markdown_table.encode_cell(readable(text)) or markdown_table.EMPTY
    cell = _PIPE.sub(lambda match: "|" if match[1] == "|" else match[0], cell)
    return _plain(_SIGN.sub(_as_escape, cell))


def decode(cell: str) -> str:
    return readable(markdown_table.decode_cell(cell))


def encode_list(items: Sequence[str]) -> str:
    return _plain(markdown_table.encode_list(map(readable, items), " · "))


def decode_list(cell: str) -> tuple[str, ...]:
    return tuple(map(readable, markdown_table.decode_list(cell, " · ")))


def _plain(cell: str) -> str:
    return _COMMENT.sub(_as_escape, cell)


def _as_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def render_time(at: float | None) -> str:
    """The time in UTC, as short as possible without loss; a time outside the calendar is written as a number."""
    if at is None:
        return _UNKNOWN_TIME
    moment = _moment(at)
    if moment is None or moment.timestamp() != at:
        return f"@{at!r}"
    if moment.microsecond:
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0")
    return moment.strftime("%Y-%m-%d %H:%M:%S" if moment.second else "%Y-%m-%d %H:%M")


def parse_time(cell: str) -> float | None:
    """The time in a cell. Raises ValueError if it is not a time."""
    if cell == _UNKNOWN_TIME:
        return None
    if cell.startswith("@"):
        return float(cell[1:])
    match = _TIME.fullmatch(cell)
    if match is None:
        raise ValueError(f"{cell!r} is not a time such as 2026-01-05 14:02")
    year, month, day, hour, minute, second = (int(group or 0) for group in match.groups()[:6])
    micro = round(float(match[7] or 0) * 1_000_000)
    return datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC).timestamp()


def render_minute(at: float | None) -> str:
    """The time to the minute, for headings; the exact time is written elsewhere."""
    moment = None if at is None else _moment(at)
    return "undated" if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def render_month(at: float | None) -> str:
    return "undated" if render_minute(at) == "undated" else render_minute(at)[:7]


def _moment(at: float) -> datetime | None:
    # Only years with four digits: strftime does not pad others.
    if not math.isfinite(at) or not -30_610_224_000 <= at < 253_402_300_799:
        return None
    return datetime.fromtimestamp(at, UTC)


# --- bullets -------------------------------------------------------------------------------------------


class Field(Struct, frozen=True):
    """The format of one attribute: ` · key: value`."""

    key: str
    name: str
    kind: Literal["text", "time", "list", "count"] = "text"
    one_of: tuple[str, ...] = ()
    sign: str = "·"


class Form(Struct, Generic[T], frozen=True):
    """The format of a value as a bullet: its leading text, then its fields in this order."""

    type: type[T]
    lead: str
    fields: tuple[Field, ...] = ()

    def render(self, item: T, known: Mapping[str, object] | None = None) -> str:
        """The line without its bullet. `known` are the values that the context gives."""
        return f"{self.head(item)}{self.tail(item, known)}{shown_id(item)}{self.source(item, known)}"

    def head(self, item: T) -> str:
        return encode(getattr(item, self.lead))

    def tail(self, item: T, known: Mapping[str, object] | None = None) -> str:
        """The fields that differ from the known and default values, each after its sign."""
        expected = {**_defaults(self.type), **(known or {})}
        return "".join(
            f" {field.sign} {field.key}: {_WRITE[field.kind](value)}"
            for field in self.fields
            if (value := getattr(item, field.name)) != expected.get(field.name, _NOTHING)
        )

    def source(self, item: T, known: Mapping[str, object] | None = None) -> str:
        """The session, in a comment: its id is long, and would distract a reader."""
        session = getattr(item, "session", "")
        return "" if session == (known or {}).get("session", "") else f" <!-- session {encode(session)} -->"

    def parse(self, line: str, known: Mapping[str, object] | None = None) -> T:
        """The value of a line. Raises ValueError with the reason if a field is invalid."""
        parsed: T = _parsed(self, line, tuple((known or {}).items()))
        return parsed


@for_same_object
def _parsed(form: Form[Any], line: str, known: tuple[tuple[str, object], ...]) -> Any:
    if readable(line) != line:  # an escape is text; this is a byte that somebody's editor wrote
        raise ValueError("it contains bytes that are not UTF-8")
    values: dict[str, Any] = dict(known)
    line = line.strip(markdown_table.BLANKS)
    if source := _SOURCE.search(line):
        line = line[: source.start()]
        values["session"] = decode(source[1])
    pieces = _splitter(form.fields).split(without_id(line))
    values[form.lead] = decode(pieces[0])
    by_key = {field.key: field for field in form.fields}
    for key, cell in zip(pieces[1::2], pieces[2::2], strict=True):
        values[by_key[key].name] = _read(by_key[key], cell.strip(markdown_table.BLANKS))
    optional = _defaults(form.type)  # type: ignore[arg-type]
    missing = [f.key for f in form.fields if f.name not in values and f.name not in optional]
    if missing:
        raise ValueError(f"it does not say {missing[0]!r}")
    return form.type(**values)


def shown_id(item: object) -> str:
    id = getattr(item, "id", "")
    return f" · {id}" if id else ""


def id_of_line(line: str) -> str:
    """The id at the end of a line, before the comment that names its session; '' if there is none."""
    match = _ID_OF_LINE.search(line)
    return match[1] if match else ""


def without_id(line: str) -> str:
    return _ID.sub("", line.rstrip(markdown_table.BLANKS))


@cache
def _defaults(type_: type[Struct]) -> dict[str, object]:
    return {field.name: field.default for field in struct_fields(type_) if not field.required}


@cache
def _splitter(fields: tuple[Field, ...]) -> re.Pattern[str]:
    keys = "|".join(re.escape(field.key) for field in fields) or "(?!)"
    return re.compile(f" [·→] ({keys}): ")


_WRITE: dict[str, Callable[[Any], str]] = {
    "time": render_time,
    "count": str,
    "list": encode_list,
    "text": encode,
}
_READ: dict[str, Callable[[str], object]] = {
    "time": parse_time,
    "count": int,
    "list": decode_list,
    "text": decode,
}


def _read(field: Field, cell: str) -> object:
    value = _READ[field.kind](cell)
    if field.one_of and value not in field.one_of:
        raise ValueError(f"{field.key} is {value!r}, and may be {', '.join(filter(None, field.one_of))}")
    return value


_BY = Field("by", "by", one_of=("user", "agent", ""))
AT = Field("at", "at", "time")

DECISION = Form(Decision, "text", (Field("because", "rationale"), _BY, AT))
PASSAGE = Form(
    Passage,
    "text",
    (
        Field("answers", "question"),
        Field(
            "kind",
            "kind",
            one_of=("decision", "rule", "cause", "measurement", "answer", "dead_end", "next_step"),
        ),
        Field("status", "status", one_of=("agreed", "proposed", "rejected", "superseded")),
        _BY,
        Field("worth", "worth", "count"),
    ),
)
FINDING = Form(Finding, "text", (AT,))
DEAD_END = Form(
    DeadEnd,
    "tried",
    (Field("failed", "failed", sign="→"), Field("instead", "instead", sign="→"), AT),
)
QUESTION = Form(
    Question,
    "text",
    (Field("answer", "answer", sign="→"), _BY, Field("answered", "answered_at", "time"), AT),
)
OPEN_ITEM = Form(
    OpenItem,
    "text",
    (
        Field("because", "why"),
        Field("priority", "priority", one_of=("high", "normal", "low")),
        Field("owner", "owner", one_of=("user", "agent", "")),
        Field("branch", "branch"),
        Field("project", "project"),
        AT,
    ),
)
FACT = Form(
    Fact,
    "text",
    (
        Field("command", "command"),
        Field("showed", "evidence", sign="→"),
        Field("verified", "verified_at", "time"),
        AT,
    ),
)
