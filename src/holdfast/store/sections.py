"""Markdown that a person and holdfast edit together: managed parts between two comments, all else untouched.

    ## Next
    <!-- holdfast:begin next -->
    - fix the failing test
    <!-- holdfast:end next 3f2a9c -->

The heading is outside, so a person may rename or move it. The end marker has a short hash of each line we wrote:
any other line was written by a person and is moved below the part, byte for byte, when the part is rewritten. A part
that was deleted is added again at the end of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from holdfast.core.errors import StoreError
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex

_MARKER = lazy_regex(r"[ \t]*<!-- holdfast:(begin|end) ([a-z][a-z-]*)((?: [0-9a-f]{6})*) -->\s*")
_LIKE_A_MARKER = lazy_regex(r"<?!?--\s*holdfast:\s*(?:begin|end)\b|\bholdfast:(?:begin|end)\b.*-->")
_CONFLICT = (lazy_regex(r"<{7} "), lazy_regex(r"={7}\s*\Z"), lazy_regex(r">{7} "))
_TICKED = lazy_regex(r"^(\s*- )\[[xX]\]")


class Part(Struct, frozen=True):
    """A managed part: `start` and `stop` are the lines of its markers, counted from 0."""

    name: str
    start: int
    stop: int
    marks: frozenset[str]


class Document(Struct, frozen=True):
    """A whole file: every line with its line ending, so that joining them restores the file."""

    lines: tuple[str, ...]
    parts: tuple[Part, ...]
    where: str = ""

    def part(self, name: str) -> Part | None:
        return next((part for part in self.parts if part.name == name), None)

    def body(self, name: str) -> tuple[str, ...]:
        """The lines between the markers, without line endings; empty if there is no such part."""
        part = self.part(name)
        if part is None:
            return ()
        return tuple(line.rstrip("\r\n") for line in self.lines[part.start + 1 : part.stop])

    def line_number(self, name: str, index: int) -> int:
        """The line number in the file of a line of a part's body, counted from 1."""
        part = self.part(name)
        return index + 1 if part is None else part.start + 2 + index

    def ours(self, name: str) -> frozenset[int]:
        """The lines of a body that are still as we wrote them, ignoring ticked boxes and trailing blanks."""
        part = self.part(name)
        marks = part.marks if part else frozenset()
        return frozenset(n for n, line in enumerate(self.body(name)) if mark_of(line) in marks)

    def replace(
        self, name: str, body: Sequence[str], *, heading: str = "", ours: Collection[int] | None = None
    ) -> Document:
        """The document with a new body in the part; a person's lines inside it are moved below it.

        `ours` is for callers that parse the lines themselves: the lines of the old body that may be replaced. Such
        parts have no hashes.
        """
        if any(_MARKER.match(line) or "\n" in line or "\r" in line for line in body):
            raise ValueError(f"a line of part {name!r} holds a line break or a marker")
        part = self.part(name)
        if part is None:
            return self._add(name, body, heading, marked=ours is None)
        end = _end_of(self.lines[part.start]) or "\n"
        written = [line + end for line in _framed(name, body, marked=ours is None)]
        foreign = _foreign_lines(
            self.lines[part.start + 1 : part.stop], self.ours(name) if ours is None else ours
        )
        rest = self.lines[part.stop + 1 :]
        if not foreign and not rest:
            written[-1] = written[-1].removesuffix(end) + _end_of(self.lines[part.stop])
        return parse("".join([*self.lines[: part.start], *written, *foreign, *rest]), self.where)

    def _add(self, name: str, body: Sequence[str], heading: str, *, marked: bool) -> Document:
        text = self.render()
        end = _end_of(self.lines[0]) if self.lines else ""
        end = end or "\n"
        beginning = [f"## {heading}"] if heading else []
        if text:
            beginning = ["", *beginning] if text.endswith("\n") else ["", "", *beginning]
        added = "".join(line + end for line in [*beginning, *_framed(name, body, marked=marked)])
        return parse(text + added, self.where)

    def edited(
        self,
        ours: Callable[[str], Collection[int]],
        edit: Callable[[str, str], str | None],
        prose: Callable[[str], str],
    ) -> str:
        """The file with `edit(part, line)` applied to every line of ours, and `prose` to all other text.

        Nothing moves. `ours(part)` returns the lines of a body that are ours; None from `edit` removes a line.
        """
        pieces: list[str] = []
        place = 0
        for part in self.parts:
            our_lines = ours(part.name)
            pieces.append(prose("".join(self.lines[place : part.start])))
            pieces.append(self.lines[part.start])
            body = self.lines[part.start + 1 : part.stop]
            our_text, text = _edited_body(
                body,
                our_lines,
                lambda line, name=part.name: edit(name, line),  # type: ignore[misc]
                prose,
            )
            pieces.append(text)
            end = self.lines[part.stop]
            if part.marks and [body[n].rstrip("\r\n") for n in sorted(our_lines)] != our_text:
                end = _framed(part.name, our_text, marked=True)[-1] + _end_of(end)
            pieces.append(end)
            place = part.stop + 1
        return "".join([*pieces, prose("".join(self.lines[place:]))])

    def render(self) -> str:
        return "".join(self.lines)

    def outside(self) -> str:
        """What a person wrote: everything except the parts."""
        lines: list[str] = []
        place = 0
        for part in self.parts:
            lines += self.lines[place : part.start]
            place = part.stop + 1
        return "".join([*lines, *self.lines[place:]])


def decode_text(data: bytes) -> str:
    """Decodes a file so that `encode_text` restores it, including bytes that are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def mark_of(line: str) -> str:
    """The short hash that identifies a line of ours."""
    plain = _TICKED.sub(r"\1[ ]", line.rstrip())
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()


def is_marker(line: str) -> bool:
    """Whether a line is a marker, intact or damaged."""
    return "holdfast:" in line and _LIKE_A_MARKER.search(line) is not None


def parse(text: str, where: str = "") -> Document:
    """The parts of a file. Raises StoreError if its markers do not match or it contains a git conflict."""
    lines = tuple(_split(text))
    _refuse_conflict(lines, where)
    parts: list[Part] = []
    begun: tuple[str, int] | None = None
    for number, line in enumerate(lines):
        if not is_marker(line):
            continue
        marker = _MARKER.fullmatch(line)
        if marker is None:
            raise _broken(
                where, number, "a damaged holdfast marker", "Restore the comment or delete the line"
            )
        kind, name, marks = marker.groups()
        if kind == "begin":
            _refuse_second(name, parts, begun, where, number)
            begun = name, number
        elif begun is None or begun[0] != name:
            problem = f"the end of part {name!r}, which did not begin"
            raise _broken(
                where, number, problem, f"Put <!-- holdfast:begin {name} --> above it, or delete it"
            )
        else:
            parts.append(Part(name, begun[1], number, frozenset(marks.split())))
            begun = None
    if begun is not None:
        problem = f"part {begun[0]!r} begins and does not end"
        raise _broken(where, begun[1], problem, f"Put <!-- holdfast:end {begun[0]} --> below it")
    return Document(lines, tuple(parts), where)


def _refuse_second(
    name: str, parts: Iterable[Part], begun: tuple[str, int] | None, where: str, number: int
) -> None:
    if begun is not None:
        problem = f"part {name!r} begins inside part {begun[0]!r}"
        raise _broken(where, number, problem, f"Put <!-- holdfast:end {begun[0]} --> above it")
    first = next((part for part in parts if part.name == name), None)
    if first is not None:
        problem = f"part {name!r} is here a second time (first in line {first.start + 1})"
        raise _broken(where, number, problem, "Delete the markers of one of the two")


def _refuse_conflict(lines: Sequence[str], where: str) -> None:
    """Looks for the three conflict markers in order: each alone may be a quotation or an underline."""
    stage, first = 0, 0
    for number, line in enumerate(lines):
        if _CONFLICT[stage].match(line):
            first = number if stage == 0 else first
            stage += 1
            if stage == len(_CONFLICT):
                fix = "Resolve the conflict, or indent these lines if they are an example"
                raise _broken(where, first, "an unresolved git conflict", fix)


def _broken(where: str, number: int, problem: str, fix: str) -> StoreError:
    return StoreError(f"{problem}; it is left as it is", where=f"{where}:{number + 1}", fix=fix)


def _split(text: str) -> list[str]:
    """Lines with their line endings. Only `\\n` ends a line; str.splitlines has eight more separators."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _end_of(line: str) -> str:
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def _framed(name: str, body: Sequence[str], *, marked: bool) -> list[str]:
    marks = "".join(f" {mark}" for mark in dict.fromkeys(map(mark_of, body))) if marked else ""
    return [f"<!-- holdfast:begin {name} -->", *body, f"<!-- holdfast:end {name}{marks} -->"]


def _edited_body(
    body: Sequence[str],
    ours: Collection[int],
    edit: Callable[[str], str | None],
    prose: Callable[[str], str],
) -> tuple[list[str], str]:
    """Our remaining lines, without line endings, and the whole body including a person's lines."""
    our_lines: list[str] = []
    pieces: list[str] = []
    foreign = ""
    for number, line in enumerate(body):
        if number not in ours:
            foreign += line
            continue
        pieces.append(prose(foreign))
        foreign = ""
        if (edited := edit(line.rstrip("\r\n"))) is not None:
            our_lines.append(edited)
            pieces.append(edited + _end_of(line))
    return our_lines, "".join([*pieces, prose(foreign)])


def _foreign_lines(body: Sequence[str], ours: Collection[int]) -> list[str]:
    """A person's lines of a body, with the blank lines between them."""
    places = [n for n, line in enumerate(body) if n not in ours and line.strip()]
    lines: list[str] = []
    for previous, place in zip([None, *places], places, strict=False):
        if previous is not None:
            between = body[previous + 1 : place]
            lines += between if not any(line.strip() for line in between) else []
        lines.append(body[place])
    return lines
