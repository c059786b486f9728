"""Markdown that a person and holdfast write together: managed parts between two comments, all else untouched.

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
    """A managed part: the lines `start` and `stop` are its markers, counted from 0."""

    name: str
    start: int
    stop: int
    marks: frozenset[str]


class Document(Struct, frozen=True):
    """A whole file: every line with its end, so that joining them gives the file back."""

    lines: tuple[str, ...]
    parts: tuple[Part, ...]
    where: str = ""

    def part(self, name: str) -> Part | None:
        return next((part for part in self.parts if part.name == name), None)

    def body(self, name: str) -> tuple[str, ...]:
        """The lines between the markers, without their ends; none when there is no such part."""
        part = self.part(name)
        if part is None:
            return ()
        return tuple(line.rstrip("\r\n") for line in self.lines[part.start + 1 : part.stop])

    def line_number(self, name: str, index: int) -> int:
        """Where in the file a line of a part's body stands, counted from 1."""
        part = self.part(name)
        return index + 1 if part is None else part.start + 2 + index

    def ours(self, name: str) -> frozenset[int]:
        """The lines of a body that are as we wrote them; a ticked box and trimmed blanks do not matter."""
        part = self.part(name)
        marks = part.marks if part else frozenset()
        return frozenset(n for n, line in enumerate(self.body(name)) if mark_of(line) in marks)

    def replace(
        self, name: str, body: Sequence[str], *, heading: str = "", ours: Collection[int] | None = None
    ) -> Document:
        """The document with this body in the part; a person's lines inside it go below it.

        `ours`, where the caller reads the lines itself: those of the old body that may go. Such parts
        carry no hashes.
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
        after = self.lines[part.stop + 1 :]
        if not foreign and not after:
            written[-1] = written[-1].removesuffix(end) + _end_of(self.lines[part.stop])
        return parse("".join([*self.lines[: part.start], *written, *foreign, *after]), self.where)

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
        """The file with every line of ours as `edit(part, line)` makes it, and all other text as `prose` does.

        Nothing moves. `ours(part)` says which lines of a body are ours; None from `edit` takes a line out.
        """
        written: list[str] = []
        place = 0
        for part in self.parts:
            known = ours(part.name)
            written.append(prose("".join(self.lines[place : part.start])))
            written.append(self.lines[part.start])
            body = self.lines[part.start + 1 : part.stop]
            own, text = _edited_body(body, known, lambda line, name=part.name: edit(name, line), prose)  # type: ignore[misc]
            written.append(text)
            end = self.lines[part.stop]
            if part.marks and [body[n].rstrip("\r\n") for n in sorted(known)] != own:
                end = _framed(part.name, own, marked=True)[-1] + _end_of(end)
            written.append(end)
            place = part.stop + 1
        return "".join([*written, prose("".join(self.lines[place:]))])

    def render(self) -> str:
        return "".join(self.lines)

    def outside(self) -> str:
        """What a person wrote: everything but the parts."""
        kept: list[str] = []
        place = 0
        for part in self.parts:
            kept += self.lines[place : part.start]
            place = part.stop + 1
        return "".join([*kept, *self.lines[place:]])


def decode_text(data: bytes) -> str:
    """Bytes that are no UTF-8 pass through unharmed: a person's file comes back as it was."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def mark_of(line: str) -> str:
    """The short hash that identifies a line of ours."""
    plain = _TICKED.sub(r"\1[ ]", line.rstrip())
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()


def is_marker(line: str) -> bool:
    """Whether a line is a marker, whole or damaged."""
    return _LIKE_A_MARKER.search(line) is not None


def parse(text: str, where: str = "") -> Document:
    """The parts of a file. StoreError when its markers contradict each other or git left a conflict in it."""
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
    """Looks for the three signs in their order: each alone may be a quotation or an underline."""
    stage, first = 0, 0
    for number, line in enumerate(lines):
        if _CONFLICT[stage].match(line):
            first = number if stage == 0 else first
            stage += 1
            if stage == len(_CONFLICT):
                fix = "Resolve the conflict, or indent these lines if they are an example"
                raise _broken(where, first, "a git conflict that nobody resolved", fix)


def _broken(where: str, number: int, problem: str, fix: str) -> StoreError:
    return StoreError(f"{problem}; it is left as it is", where=f"{where}:{number + 1}", fix=fix)


def _split(text: str) -> list[str]:
    """Lines with their ends; only `\\n` ends one, for str.splitlines knows eight more."""
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
    """The lines of ours that are left, without their ends, and the whole body with a person's lines among them."""
    own: list[str] = []
    written: list[str] = []
    foreign = ""
    for number, line in enumerate(body):
        if number not in ours:
            foreign += line
            continue
        written.append(prose(foreign))
        foreign = ""
        if (new := edit(line.rstrip("\r\n"))) is not None:
            own.append(new)
            written.append(new + _end_of(line))
    return own, "".join([*written, prose(foreign)])


def _foreign_lines(body: Sequence[str], ours: Collection[int]) -> list[str]:
    """A person's lines of a body, with the blank lines between them."""
    places = [n for n, line in enumerate(body) if n not in ours and line.strip()]
    kept: list[str] = []
    for before, place in zip([None, *places], places, strict=False):
        if before is not None:
            between = body[before + 1 : place]
            kept += between if not any(line.strip() for line in between) else []
        kept.append(body[place])
    return kept
