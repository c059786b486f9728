"""What a model answered, held against what it was shown: lessons that stand on the session, and why others do not.

A model says what it is told to say, also by whoever wrote the file that the session read. So nothing of its answer is
believed: a lesson must quote the session, and every command, path, flag and address in its rule must have been run or
named by the user there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from holdfast.distill.extracting import MOST_LESSONS, Material, by_source
from holdfast.errors import ModelError, NameRefused
from holdfast.guard.lesson_text import why_line_refused, why_target_refused
from holdfast.guard.names import safe_name
from holdfast.model.lesson import BY_MODEL, Fingerprint, Lesson, LessonEvidence, LessonKind

LONGEST_ANSWER = 64_000
LONGEST_RULE = 240
SHORTEST_RULE = 12
SHORTEST_QUOTE = 6
MOST_FILES = 3
AGAIN = "It is asked again when the next session ends"

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){0,9}")
_BLOCK = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
_SPAN = re.compile(r"`+([^`]+)`+")
_ANYTHING = re.compile(r"<[\w .-]+>|…|\.\.\.")  # a placeholder in a command
_PLAIN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", re.UNICODE)
_COMMON = frozenset(["and/or", "e.g", "i.e", "etc", "vs", "->", "→", "=>", "-", "–", "—", "&", "+", "="])
_LONG = 5  # characters of a word that is known again within another
_EDGES = "\"'`.,:;!?()[]{}*“”‘’"


class _Raw(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=60)]
    kind: LessonKind
    rule: Annotated[str, Meta(max_length=LONGEST_RULE, min_length=SHORTEST_RULE)]
    evidence: Annotated[str, Meta(max_length=400, min_length=1)]
    files: Annotated[tuple[str, ...], Meta(max_length=10)] = ()


class _Answer(Struct, frozen=True):
    lessons: Annotated[tuple[msgspec.Raw, ...], Meta(max_length=50)]


class Extracted(Struct, frozen=True):
    """Lessons that may be proposed, and for each of the others a line that says why not."""

    lessons: tuple[Lesson, ...]
    dropped: tuple[str, ...]


def extracted(answer: str, shown: Material, model: str) -> Extracted:
    """The lessons of an answer. One that is not what was asked for as a whole is an error."""
    if len(answer) > LONGEST_ANSWER:
        raise ModelError(f"the model answered {len(answer):,} characters", fix=AGAIN)
    block = _BLOCK.fullmatch(answer)
    try:
        raw = msgspec.json.decode((block[1] if block else answer).encode("utf-8"), type=_Answer).lessons
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ModelError("the model did not answer with the JSON that was asked for", fix=AGAIN) from None
    ground = _Ground(shown)
    lessons: dict[str, Lesson] = {}
    dropped = [f"one more than {MOST_LESSONS}" for _ in raw[MOST_LESSONS:]]
    for number, data in enumerate(raw[:MOST_LESSONS], 1):
        try:
            one = msgspec.json.decode(data, type=_Raw)
        except (msgspec.MsgspecError, RecursionError):
            dropped.append(f"lesson {number} has not the form that was asked for")
            continue
        if reason := ground.why_not(one):
            dropped.append(f"lesson {number} is refused: {reason}")
        else:
            lesson = _lesson(one, shown, model)
            lessons.setdefault(lesson.id, lesson)
    return Extracted(tuple(lessons.values()), tuple(dropped))


def _lesson(one: _Raw, shown: Material, model: str) -> Lesson:
    rule = " ".join(one.rule.split())
    targets = [path for path in dict.fromkeys(one.files) if path in shown.files]
    evidence = LessonEvidence(
        session=shown.session, at=shown.at, line=f"{BY_MODEL}{model}: {_flat(one.evidence)}"
    )
    return Lesson(
        name=one.name,
        description="",
        rules=(rule,),
        kind=one.kind,
        fingerprint=tuple(
            Fingerprint(target=path) for path in targets[:MOST_FILES] if not why_target_refused(path)
        ),
        captured_at=shown.at,
        evidence=(evidence,),
    )


class _Ground:
    """What a rule may stand on: lines that can be quoted, commands that ran, words of the user."""

    def __init__(self, shown: Material) -> None:
        lines = list(shown.lines)
        self._quotable = by_source(lines, "user", "ran", "output")
        self._user = [_flat(line.said) for line in by_source(lines, "user")]
        self._ran = [_flat(line.said) for line in by_source(lines, "ran")]
        self._all = "\n".join((*self._user, *self._ran))
        self._words = {word.strip(_EDGES) for word in self._all.split()}

    def why_not(self, one: _Raw) -> str:
        """'' when a lesson stands on the session."""
        if reason := _why_not_text(one):
            return reason
        quote = _flat(one.evidence)
        sources = {
            line.source
            for line in self._quotable
            if quote in (_flat(line.said), _flat(line.text))
            or (len(quote) >= SHORTEST_QUOTE and quote in _flat(line.text))
        }
        if not sources:
            return "its evidence is no line of the session that could show it"
        if one.kind == "correction" and "user" not in sources:
            return "a correction needs words of the user"
        return self._why_not_grounded(one.rule)

    def _why_not_grounded(self, rule: str) -> str:
        for span in _SPAN.findall(rule):
            if not self._was_there(_flat(span)):
                return "it names a command or path that the session neither ran nor was told by the user"
        rest = _SPAN.sub(" ", rule)
        for word in rest.split():
            bare = word.strip(_EDGES)
            if (
                not _is_plain(bare)
                and bare not in self._words
                and (len(bare) < _LONG or bare not in self._all)
            ):
                return "it names something that the session neither ran nor was told by the user"
        return ""

    def _was_there(self, span: str) -> bool:
        if any(span in line for line in (*self._user, *self._ran)):
            return True
        words = [word for word in span.split() if not _ANYTHING.fullmatch(word)]
        # A command may be quoted without the arguments of the moment; words of the user only as they stand.
        return bool(words) and any(_in_order(words, line.split()) for line in self._ran)


def _why_not_text(one: _Raw) -> str:
    if not _NAME.fullmatch(one.name):
        return "its name is not lower-case words with dashes"
    try:
        safe_name(one.name)
    except NameRefused as error:
        return error.problem
    if "\n" in one.rule.strip() or "\r" in one.rule:
        return "its rule has several lines"
    for text in (one.rule, one.evidence, *one.files):
        if reason := why_line_refused(text):
            return reason
    return "" if one.rule.count("`") % 2 == 0 else "its backticks do not match"


def _is_plain(word: str) -> bool:
    """A word of a language, a small number, or a sign between words."""
    return (
        not word
        or word in _COMMON
        or _PLAIN.fullmatch(word) is not None
        or (word.isdigit() and len(word) < 4)
    )


def _in_order(words: Sequence[str], line: Sequence[str]) -> bool:
    rest = iter(line)
    return all(word in rest for word in words)


def _flat(text: str) -> str:
    return " ".join(text.split())


def says_the_same(one: Lesson, known: Lesson) -> bool:
    """Whether a known lesson of the same kind already names every command of a new one: then it says nothing new.

    Only for calls that fail or work: of a command there may be more pitfalls than one.
    """
    if one.kind != known.kind or one.kind not in ("stumble", "command"):
        return False
    there = [_flat(span) for rule in known.rules for span in _SPAN.findall(rule)]
    spans = [_flat(span) for rule in one.rules for span in _SPAN.findall(rule)]
    return bool(spans) and all(any(span in other for other in there) for span in spans)
