"""Reads and writes lessons as markdown: a block of keys, then a bullet for each rule; a person's other text stays.

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

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.yaml import Value
from holdfast.lessons import front_matter
from holdfast.lessons.front_matter import FrontMatter, LessonError, splice
from holdfast.model.lesson import Fingerprint, Lesson, LessonEvidence, LessonKind
from holdfast.store.line_grammar import parse_time, render_time

KINDS: tuple[str, ...] = get_args(LessonKind)
_HEADING = lazy_regex(r"#{1,6}[ \t]+(.+?)[ \t#]*")
_FENCED = ("---\n", "---\n")
_BULLET = lazy_regex(r"[-*+][ \t]+(\S.*)")
_NESTED = lazy_regex(r"[ \t]+[-*+][ \t]+(\S.*)")
_CONTINUED = lazy_regex(r"(?:[ ]{2}|\t)[ \t]*(\S.*)")
_RULER = lazy_regex(r"[-*+_ \t]+")
_CODE = lazy_regex(r" {0,3}(`{3,}|~{3,})")


def one_line(text: str) -> str:
    return " ".join(text.split())


class Rule(Struct, frozen=True):
    """A bullet: its text, and its lines from `first` up to `end`."""

    text: str
    first: int
    end: int


def rules_of(body: str) -> list[Rule]:
    """Return the bullets outside of code and comments. Indented lines below a bullet belong to it."""
    lines = [line.rstrip("\r") for line in body.split("\n")]
    rules: list[Rule] = []
    number = 0
    while number < len(lines):
        skipped = _past_other(lines, number)
        if skipped > number:
            number = skipped
            continue
        bullet = _BULLET.fullmatch(lines[number])
        number += 1
        if bullet is None or _RULER.fullmatch(bullet[1]):
            continue
        first, words = number - 1, [bullet[1]]
        while number < len(lines):
            nested, more = _NESTED.fullmatch(lines[number]), _CONTINUED.fullmatch(lines[number])
            if nested is None and more is None:
                break
            words.append(f"; {nested[1]}" if nested else f" {more[1]}" if more else "")
            number += 1
        rules.append(Rule(one_line("".join(words)), first, number))
    return rules


def _past_other(lines: Sequence[str], number: int) -> int:
    """Return the end of the code block or comment that begins on this line, or the line itself."""
    if code := _CODE.match(lines[number]):
        fence = code[1]
        for end in range(number + 1, len(lines)):
            closing = _CODE.match(lines[end])
            if closing and closing[1].startswith(fence) and not lines[end].strip().strip(fence[0]):
                return end + 1
        return len(lines)
    if lines[number].lstrip().startswith("<!--"):
        for end in range(number, len(lines)):
            if "-->" in lines[end]:
                return end + 1
        return len(lines)
    return number


def with_rules(body: str, rules: Sequence[str], newline: str) -> str:
    """Return the body with these rules. Unchanged bullets and all other text keep their bytes."""
    bullets = rules_of(body)
    old = [rule.text for rule in bullets]
    if list(dict.fromkeys(old)) == list(rules):
        return body
    lines = body.split("\n")
    if bullets and bullets[-1].end == len(lines):
        lines.append("")  # the last bullet ends without a line feed
    ending = "\r" if newline == "\r\n" else ""
    blocks = [(rule.first, rule.end) for rule in bullets]
    return "\n".join(splice(lines, blocks, old, list(rules), [[f"- {rule}{ending}"] for rule in rules]))


class LessonFile(Struct, frozen=True, kw_only=True):
    """A file as read. `doubts` are values that were not understood, and are left unchanged."""

    lesson: Lesson
    front: FrontMatter
    doubts: tuple[str, ...] = ()


def normal(lesson: Lesson) -> Lesson:
    """Normalise a lesson to what a file can hold: every text on one line; sessions without a line once, at the end."""
    rules = dict.fromkeys(filter(None, map(one_line, lesson.rules)))
    evidence = [
        replace(item, session=one_line(item.session), line=one_line(item.line)) for item in lesson.evidence
    ]
    with_details = [item for item in dict.fromkeys(evidence) if item.line or item.at is not None]
    named = {item.session for item in with_details}
    bare = [
        item
        for item in dict.fromkeys(evidence)
        if item not in with_details and item.session and item.session not in named
    ]
    prints = {
        one_line(item.target): one_line(item.digest) for item in lesson.fingerprint if item.target.strip()
    }
    return replace(
        lesson,
        description=one_line(lesson.description),
        rules=tuple(rules),
        fingerprint=tuple(Fingerprint(target=target, digest=digest) for target, digest in prints.items()),
        evidence=(*with_details, *bare),
    )


def parse_lesson(text: str, name: str) -> LessonFile:
    """Parse a file called `<name>.md`; its name is the lesson's. Raises LessonError if it is not a lesson."""
    front = front_matter.parse(text)
    rules = tuple(dict.fromkeys(rule.text for rule in rules_of(front.body)))
    if not rules:
        raise LessonError("no rule: a lesson has lines that begin with a dash", text.count("\n") or 1)
    values, doubts = _Values(front.values), []
    stated_name = values.text("name")
    if stated_name and stated_name.casefold() != name.casefold():
        doubts.append(f"it calls itself {stated_name[:60]!r}; the name of the file counts")
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
    """The keys of a block, each read as its expected type; anything else becomes a doubt."""

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
        by_target = {target: digests.get(target, "") for target in self.texts("fingerprint")}
        return tuple(
            Fingerprint(target=target, digest=digest if isinstance(digest, str) else "")
            for target, digest in by_target.items()
        )

    def evidence(self) -> tuple[LessonEvidence, ...]:
        written = self._values.get("evidence", "")
        items = written if isinstance(written, list) else []
        if written and not items:
            self.doubts.append("evidence should be a list")
        detailed = [item for value in items if (item := self._one(value)) is not None]
        named = {item.session for item in detailed}
        bare = [LessonEvidence(session=name) for name in self.texts("sources") if name not in named]
        return (*dict.fromkeys(detailed), *bare)

    def _one(self, value: Value) -> LessonEvidence | None:
        if isinstance(value, str):
            return LessonEvidence(session="", line=one_line(value)) if value.strip() else None
        if isinstance(value, list):
            self.doubts.append("evidence should name a session and a line")
            return None
        fields = _Values(value)
        item = LessonEvidence(
            session=fields.text("session"), at=fields.moment("at"), line=fields.text("line")
        )
        self.doubts += fields.doubts
        return item if item.line or item.at is not None else None


def _moment(written: str) -> float:
    with suppress(ValueError):
        if (parsed := parse_time(written)) is not None:
            return parsed
    moment = datetime.fromisoformat(written)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _heading(body: str) -> str:
    """Return the first heading, used if the description is missing."""
    headings = (_HEADING.fullmatch(line.rstrip("\r")) for line in body.split("\n"))
    return next((one_line(heading[1]) for heading in headings if heading), "")


def render_lesson(lesson: Lesson) -> str:
    return rewrite_lesson(None, lesson)


def rewrite_lesson(file: LessonFile | None, lesson: Lesson) -> str:
    """Return the file with another lesson in it. Raises LessonError if that would lose a person's text."""
    lesson = normal(lesson)
    if not lesson.rules:
        raise LessonError("a lesson without a rule")
    front = file.front if file else FrontMatter(opening="", block="", closing="", body="", values={})
    # A value that is unchanged keeps a person's formatting.
    before = _keys(file.lesson) if file else {}
    changed = {key: value for key, value in _keys(lesson).items() if value != before.get(key)}
    block = front_matter.edit(front, changed)
    body = with_rules(front.body, lesson.rules, front.newline)
    if not block and not front.opening:
        return body
    opening, closing = (front.opening, front.closing) if front.opening else _FENCED
    text = f"{opening}{block}{closing}{body}"
    if parse_lesson(text, lesson.name).lesson != lesson:
        raise LessonError("holdfast cannot change this file without losing what stands in it")
    return text


def _keys(lesson: Lesson) -> dict[str, Value | None]:
    digests: Value = {item.target: item.digest for item in lesson.fingerprint if item.digest}
    detailed = [item for item in lesson.evidence if item.line or item.at is not None]
    return {
        "name": lesson.name,
        "description": lesson.description or None,
        "fingerprint": [item.target for item in lesson.fingerprint] or None,
        # A day; with the time only if there is one.
        "captured-at": None
        if lesson.captured_at is None
        else render_time(lesson.captured_at).removesuffix(" 00:00"),
        "id": lesson.id,
        "kind": None if lesson.kind == "other" else lesson.kind,
        "met": "once" if lesson.seldom else None,
        "digests": digests or None,
        "sources": list(lesson.sessions) or None,
        "evidence": [_evidence(item) for item in detailed] or None,
    }


def _evidence(item: LessonEvidence) -> Value:
    fields = {
        "session": item.session,
        "at": "" if item.at is None else render_time(item.at),
        "line": item.line,
    }
    return {key: value for key, value in fields.items() if value}
