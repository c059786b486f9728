"""What is kept while a session's words stream by: a bounded list of each kind, and what is still undecided.

Sentences are taken whole or not at all, so nothing here is cut in the middle of a secret; command lines and
output are kept with leeway and cut when they have been cleaned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.shell import Simple
from holdfast.model.lesson import Correction, Stumble
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question

# How a text becomes one that may be stored: cleaned first, cut afterwards.

Clean = Callable[[str], str]

_IN_A_WORD = "".join(map(chr, range(ord("!"), ord("~") + 1)))
LEEWAY = 2  # raw text kept per character shown, so that a cut never falls inside a secret


def kept(text: str, limit: int, clean: Clean) -> str:
    """A text as it may be stored: cleaned first and cut afterwards, never the other way round."""
    if not text:
        return text
    cleaned = clean(clipped(text, limit))
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def clipped(text: str, limit: int) -> str:
    """Raw text cut so that it can still be cleaned: the word that the cut falls into goes too.

    Half a secret is no secret to any rule, and enough to whoever reads it.
    """
    size = limit * LEEWAY
    return text if len(text) <= size else text[:size].rstrip(_IN_A_WORD)


REPORT_LENGTH = 8000  # of an agent's message: what is worth keeping stands in its first pages
LINE_LENGTH = 300
MOST_OF_A_KIND = 24
MOST_COMMITS = 40
MOST_FAILURES = 4
MOST_COMMANDS = 40

_WORD = re.compile(r"\w{3,}")
ALIKE = 0.7  # share of words in common from which two texts say the same

Said = TypeVar("Said", Decision, Question, Finding, DeadEnd, OpenItem, Fact)


class Failure(Struct, gc=False):
    """A call that failed in a way that another call may remedy, and what was run since."""

    command: str
    line: str
    at: float | None
    age: int = 0
    read: bool = False  # a file that was looked for, not a command
    remedies: list[str] = []


class Working(Struct, gc=False):
    """A verification that passed: how often, and the line that proves it."""

    kind: str
    line: str
    at: float | None
    times: int = 1


class Mention(Struct, gc=False):
    """An endpoint or id in commands that worked: how often, and the line that it answered."""

    category: str
    command: str
    line: str
    at: float | None
    times: int = 1


class Slip(Struct, gc=False):
    """A call that failed because of how or where it was called, waiting for the variant that works."""

    cause: str
    subject: str
    token: str
    line: str
    at: float | None
    part: Simple | None  # None: a file that was looked for
    age: int = 0
    settled: bool = False  # nothing is to be waited for
    vain: list[str] = []  # what would have been its remedy, and failed too

    @property
    def key(self) -> str:
        return f"{self.cause}|{self.subject}|{self.token}"


class Job(Struct, gc=False):
    """A command that tests, builds, lints, …: how often it worked here."""

    purpose: str
    at: float | None
    worked: int = 0
    failed: int = 0
    line: str = ""
    sought: bool = False  # the session looked for it, or called another in vain, before it first worked


class Gathered(Struct):
    decisions: list[Decision] = []
    questions: list[Question] = []
    findings: list[Finding] = []
    dead_ends: list[DeadEnd] = []
    open_items: list[OpenItem] = []
    facts: list[Fact] = []
    commits: list[str] = []
    report: str = ""  # the agent's last words, undecided until the person speaks
    report_at: float | None = None
    edited: bool = False  # since the last report was read
    question: Question | None = None  # asked, and the next words may answer it
    failures: list[Failure] = []
    working: dict[str, Working] = {}
    mentions: dict[str, Mention] = {}
    slips: list[Slip] = []
    stumbles: dict[str, Stumble] = {}
    refused: dict[str, str] = {}  # commands that a hook refused, and the stumble that says so
    ruled: bool = False  # a linter had findings, which may be heeded yet
    shaky: dict[str, str] = {}  # tests that failed, and the command: one that passes unchanged is no proof
    jobs: dict[str, Job] = {}
    corrections: list[Correction] = []
    stated: list[str] = []  # commands in the repository's own instructions
    calls: int = 0
    looked_at: int = 0  # the call that last looked where commands are defined

    def seal(self, clean: Clean) -> None:
        """Cleans every text."""

        def line(text: str) -> str:
            return kept(text, LINE_LENGTH, clean)

        self.report = kept(self.report, REPORT_LENGTH, clean)
        self.decisions = [
            replace(item, text=line(item.text), rationale=line(item.rationale)) for item in self.decisions
        ]
        self.questions = [_sealed_question(item, line) for item in self.questions]
        self.question = _sealed_question(self.question, line) if self.question else None
        self.findings = [replace(item, text=line(item.text)) for item in self.findings]
        self.dead_ends = [
            replace(item, tried=line(item.tried), failed=line(item.failed), instead=line(item.instead))
            for item in self.dead_ends
        ]
        self.open_items = [
            replace(item, text=line(item.text), why=line(item.why)) for item in self.open_items
        ]
        self.facts = [
            replace(item, text=line(item.text), command=line(item.command), evidence=line(item.evidence))
            for item in self.facts
        ]
        self.commits = [line(text) for text in self.commits]
        for failure in self.failures:
            failure.command, failure.line = line(failure.command), line(failure.line)
            failure.remedies = [line(text) for text in failure.remedies]
        for working in self.working.values():
            working.line = line(working.line)
        for mention in self.mentions.values():
            mention.command, mention.line = line(mention.command), line(mention.line)
        self.working = {line(command): working for command, working in self.working.items()}
        self.mentions = {line(text): mention for text, mention in self.mentions.items()}
        self._seal_lessons(line)

    def _seal_lessons(self, line: Callable[[str], str]) -> None:
        for slip in self.slips:
            slip.subject, slip.token, slip.line = line(slip.subject), line(slip.token), line(slip.line)
            if slip.part is not None:
                part = slip.part
                slip.part = Simple(
                    tuple(line(word) for word in part.words),
                    line(part.directory),
                    tuple(line(text) for text in part.variables),
                    part.shapes,
                )
        sealed = (
            replace(
                item,
                subject=line(item.subject),
                token=line(item.token),
                tried=line(item.tried),
                failed=line(item.failed),
                instead=line(item.instead),
                vain=tuple(line(text) for text in item.vain),
                example=line(item.example),
            )
            for item in self.stumbles.values()
        )
        self.stumbles = {item.key: item for item in sealed}
        self.refused = {line(token): line(key) for token, key in self.refused.items()}
        self.shaky = {line(name): line(command) for name, command in self.shaky.items()}
        for job in self.jobs.values():
            job.line = line(job.line)
        self.jobs = {line(command): job for command, job in self.jobs.items()}
        self.corrections = [replace(item, text=line(item.text)) for item in self.corrections]
        self.stated = [line(command) for command in self.stated]


def _sealed_question(item: Question, line: Callable[[str], str]) -> Question:
    return replace(item, text=line(item.text), answer=line(item.answer))


def raw(text: str) -> str:
    """As much of a line as may wait for its cleaning."""
    return clipped(text, LINE_LENGTH)


def add(items: list[Said], item: Said, text: Callable[[Said], str]) -> None:
    """Adds what is not there yet in the same or in other words; the newest stay when there are too many."""
    words = words_of(text(item))
    if any(alike(words, words_of(text(known))) for known in items):
        return
    items.append(item)
    if len(items) > MOST_OF_A_KIND:
        del items[0]


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def alike(some: frozenset[str], other: frozenset[str]) -> bool:
    return some == other or len(some & other) > ALIKE * len(some | other)
