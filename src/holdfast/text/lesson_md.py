"""Lessons as markdown: a block of keys, then a bullet for each rule; what a person wrote beside them stays.

    ---
    name: testing
    description: Test runner and file convention
    fingerprint:
      - package.json#scripts.test
    captured-at: 2026-05-05
    ---
    - vitest, tests/**/*.test.ts, run via `npm test`

The keys above are all a person needs to write, and none of them is required. `id`, `kind`, `digests`, `sources` and
`evidence` are ours.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from holdfast.model.lesson import Fingerprint, Lesson, LessonEvidence, LessonKind
from holdfast.text import front_matter
from holdfast.text.front_matter import FrontMatter, FrontMatterError
from holdfast.text.lesson_body import one_line, rules_of, with_rules
from holdfast.text.memory_md import parse_time, render_time
from holdfast.text.yaml_safe import Value

KINDS: tuple[str, ...] = get_args(LessonKind)
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t#]*")
_FENCED = ("---\n", "---\n")


class LessonError(ValueError):
    """Why a file is no lesson, and the line to blame."""

    def __init__(self, problem: str, line: int = 1) -> None:
        self.problem = problem
        self.line = line
        super().__init__(f"line {line}: {problem}")


class LessonFile(Struct, frozen=True, kw_only=True):
    """A file as it was read. `doubts` are values that were not understood, and are left as they stand."""

    lesson: Lesson
    front: FrontMatter
    doubts: tuple[str, ...] = ()


def normal(lesson: Lesson) -> Lesson:
    """The lesson as a file can hold it: every text on one line, each session once without words, those last."""
    rules = dict.fromkeys(filter(None, map(one_line, lesson.rules)))
    evidence = [
        replace(item, session=one_line(item.session), line=one_line(item.line)) for item in lesson.evidence
    ]
    told = [item for item in dict.fromkeys(evidence) if item.line or item.at is not None]
    named = {item.session for item in told}
    bare = [
        item
        for item in dict.fromkeys(evidence)
        if item not in told and item.session and item.session not in named
    ]
    prints = {
        one_line(item.target): one_line(item.digest) for item in lesson.fingerprint if item.target.strip()
    }
    return replace(
        lesson,
        description=one_line(lesson.description),
        rules=tuple(rules),
        fingerprint=tuple(Fingerprint(target=target, digest=digest) for target, digest in prints.items()),
        evidence=(*told, *bare),
    )


# --- reading -------------------------------------------------------------------------------------------


def parse_lesson(text: str, name: str) -> LessonFile:
    """A file called `<name>.md`. LessonError when it cannot be one; the name of the file is the lesson's."""
    try:
        front = front_matter.parse(text)
    except FrontMatterError as error:
        raise LessonError(error.problem, error.line) from None
    rules = tuple(dict.fromkeys(rule.text for rule in rules_of(front.body)))
    if not rules:
        raise LessonError("no rule: a lesson has lines that begin with a dash", text.count("\n") or 1)
    values, doubts = _Values(front.values), []
    own = values.text("name")
    if own and own.casefold() != name.casefold():
        doubts.append(f"it calls itself {own[:60]!r}; the name of the file counts")
    lesson = Lesson(
        name=name,
        description=values.text("description") or _heading(front.body),
        rules=rules,
        kind=cast("LessonKind", values.text("kind") if values.text("kind") in KINDS else "other"),
        fingerprint=values.fingerprint(),
        captured_at=values.moment("captured-at"),
        evidence=values.evidence(),
        seldom=values.text("met") == "once",
    )
    return LessonFile(lesson=lesson, front=front, doubts=(*doubts, *values.doubts))


class _Values:
    """The keys of a block, each read as what it should be; what it is not becomes a doubt."""

    def __init__(self, values: dict[str, Value] | object) -> None:
        self._values = cast("dict[str, Value]", values)
        self.doubts: list[str] = []

    def text(self, key: str) -> str:
        value = self._values.get(key, "")
        if isinstance(value, str):
            return one_line(value)
        self.doubts.append(f"{key} should be one line of text")
        return ""

    def texts(self, key: str) -> list[str]:
        value = self._values.get(key, "")
        if isinstance(value, str):
            return [one_line(value)] if value.strip() else []
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return list(dict.fromkeys(line for item in value if (line := one_line(str(item)))))
        self.doubts.append(f"{key} should be a list of texts")
        return []

    def moment(self, key: str) -> float | None:
        written = self.text(key)
        try:
            return _moment(written) if written else None
        except ValueError:
            self.doubts.append(f"{key} should be a date such as 2026-05-05")
            return None

    def fingerprint(self) -> tuple[Fingerprint, ...]:
        digests = self._values.get("digests", "")
        if not isinstance(digests, dict):
            if digests:
                self.doubts.append("digests should have a key for each fingerprint")
            digests = {}
        found = {target: digests.get(target, "") for target in self.texts("fingerprint")}
        return tuple(
            Fingerprint(target=target, digest=digest if isinstance(digest, str) else "")
            for target, digest in found.items()
        )

    def evidence(self) -> tuple[LessonEvidence, ...]:
        written = self._values.get("evidence", "")
        items = written if isinstance(written, list) else []
        if written and not items:
            self.doubts.append("evidence should be a list")
        told = [item for value in items if (item := self._one(value)) is not None]
        named = {item.session for item in told}
        bare = [LessonEvidence(session=name) for name in self.texts("sources") if name not in named]
        return (*dict.fromkeys(told), *bare)

    def _one(self, value: Value) -> LessonEvidence | None:
        if isinstance(value, str):
            return LessonEvidence(session="", line=one_line(value)) if value.strip() else None
        if isinstance(value, list):
            self.doubts.append("evidence should name a session and a line")
            return None
        own = _Values(value)
        item = LessonEvidence(session=own.text("session"), at=own.moment("at"), line=own.text("line"))
        self.doubts += own.doubts
        return item if item.line or item.at is not None else None


def _moment(written: str) -> float:
    try:
        known = parse_time(written)
    except ValueError:
        known = None
    if known is None:
        moment = datetime.fromisoformat(written)
        known = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return known


def _heading(body: str) -> str:
    """What a person wrote above the bullets, where no description is given."""
    for line in body.split("\n"):
        if found := _HEADING.fullmatch(line.rstrip("\r")):
            return one_line(found[1])
    return ""


# --- writing -------------------------------------------------------------------------------------------


def render_lesson(lesson: Lesson) -> str:
    """A new file."""
    return rewrite_lesson(None, lesson)


def rewrite_lesson(file: LessonFile | None, lesson: Lesson) -> str:
    """The file with another lesson in it. LessonError when that cannot be done without losing a person's words."""
    lesson = normal(lesson)
    if not lesson.rules:
        raise LessonError("a lesson without a rule")
    front = file.front if file else FrontMatter(opening="", block="", closing="", body="", values={})
    known = file.lesson if file else None
    try:
        block = front_matter.edit(front, _changed(lesson, known))
    except FrontMatterError as error:
        raise LessonError(error.problem, error.line) from None
    body = with_rules(front.body, lesson.rules, front.newline)
    if not block and not front.opening:
        return body
    opening, closing = (front.opening, front.closing) if front.opening else _FENCED
    text = f"{opening}{block}{closing}{body}"
    if parse_lesson(text, lesson.name).lesson != lesson:
        raise LessonError("holdfast cannot change this file without losing what stands in it")
    return text


def _changed(lesson: Lesson, known: Lesson | None) -> dict[str, Value | None]:
    """The keys whose meaning differs from what the file says: the others keep a person's way of writing them."""
    now, before = _keys(lesson), _keys(known) if known else {}
    return {key: value for key, value in now.items() if value != before.get(key)}


def _keys(lesson: Lesson) -> dict[str, Value | None]:
    digests: Value = {item.target: item.digest for item in lesson.fingerprint if item.digest}
    told = [item for item in lesson.evidence if item.line or item.at is not None]
    return {
        "name": lesson.name,
        "description": lesson.description or None,
        "fingerprint": [item.target for item in lesson.fingerprint] or None,
        "captured-at": None if lesson.captured_at is None else _date(lesson.captured_at),
        "id": lesson.id,
        "kind": None if lesson.kind == "other" else lesson.kind,
        "met": "once" if lesson.seldom else None,
        "digests": digests or None,
        "sources": list(lesson.sessions) or None,
        "evidence": [_evidence(item) for item in told] or None,
    }


def _evidence(item: LessonEvidence) -> Value:
    fields = {
        "session": item.session,
        "at": "" if item.at is None else render_time(item.at),
        "line": item.line,
    }
    return {key: value for key, value in fields.items() if value}


def _date(at: float) -> str:
    """As the seed writes it where it is a day, else to the second."""
    return render_time(at).removesuffix(" 00:00")
