"""The running summary of one transcript: everything that is kept while events stream by.

It is bounded, it can be stored and taken up again where the file grows, and several of them (the main file,
subagents, later copies) merge into one session. Texts in it are raw until `seal` has cleaned them. Sentences are taken
whole or not at all, so none is cut in the middle of a secret; command lines and output are kept with leeway and cut
when they have been cleaned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple
from holdfast.model.events import Action, TodoStatus, Usage
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
MOST_WATCHED = 40  # commands and names of which it is counted how often they were seen

_WORD = lazy_regex(r"\w{3,}")
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

    def resolved(self, instead: str) -> DeadEnd:
        return DeadEnd(tried=self.command, failed=self.line, instead=instead, at=self.at)


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


def add(items: list[Said], new: Iterable[Said]) -> None:
    """Adds what is not there yet in the same or in other words; the newest stay when there are too many."""
    for item in new:
        words = item_words(item)
        if not any(alike(words, item_words(known)) for known in items):
            items.append(item)
            if len(items) > MOST_OF_A_KIND:
                del items[0]


def item_words(item: Said) -> frozenset[str]:
    return words_of(f"{item.tried} {item.failed}" if isinstance(item, DeadEnd) else item.text)


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def alike(some: frozenset[str], other: frozenset[str]) -> bool:
    return some == other or len(some & other) > ALIKE * len(some | other)


# Which names a session wrote into its files: identifiers of several words, in the order in which they came.

MOST_NAMES = 40  # of one file
MOST_NAMED = 1_000  # of one session
_NAME = lazy_regex(r"(?<![\w\"'`=$@/\\%-])_{0,2}[A-Za-z][A-Za-z_]{5,49}(?![\w\"'`$@\\%-])")
_SETTINGS = (
    ".env",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".cfg",
    ".conf",
    ".properties",
    ".tfvars",
    ".pem",
    ".key",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".csv",
    ".lock",
    ".txt",
    ".log",
)


def note_names(names: dict[str, list[str]], path: str, text: str) -> None:
    """Adds what is new in a text that was written into a file."""
    if not text or _is_settings(path):
        return
    known = names.get(path) or []
    room = min(MOST_NAMES - len(known), MOST_NAMED - sum(map(len, names.values())))
    if room <= 0:
        return
    fresh = [
        name for name in dict.fromkeys(_NAME.findall(text)) if _has_several_words(name) and name not in known
    ]
    if fresh:
        names[path] = [*known, *fresh[:room]]


def clean_names(names: dict[str, list[str]], clean: Clean) -> dict[str, list[str]]:
    """What may be stored: a name that the cleaning touches is gone."""
    kept = {}
    for path, found in names.items():
        cleaned = set(clean(" ".join(found)).split())
        if left := [name for name in found if name in cleaned]:
            kept[clean(path)] = left
    return kept


def _has_several_words(name: str) -> bool:
    plain = name.strip("_")
    return "_" in plain or not (plain.islower() or plain.isupper() or plain[1:].islower())


def _is_settings(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith(_SETTINGS) or name.startswith(".env") or "secret" in name or "credential" in name


PROMPT_LENGTH = 1500
FINAL_LENGTH = 1500
EVIDENCE_LENGTH = 300
COMMAND_LENGTH = 300
TARGET_LENGTH = 4000  # of a call without its result yet: what it proves is decided from all of it
TITLE_LENGTH = 160
MOST_TURNS = 2000
MOST_COMMANDS = 200
MOST_FILES = 1000
MOST_TODOS = 500
OPEN_RESPONSES = 512  # how many responses may still be repeated before their usage is settled


class Check(Struct, gc=False):
    """The last word of one kind of verification (test, build, lint, types) within a turn."""

    passed: bool
    reason: str = ""
    evidence: str = ""


class Turn(Struct, gc=False):
    """From one request of a person to the next: the smallest thing that can succeed or fail."""

    at: float | None
    text: str
    command: str = ""
    calls: int = 0
    edits: int = 0
    commits: int = 0
    published: bool = False  # pushed, or a pull request opened or merged
    checks: dict[str, Check] = {}
    failure: Check | None = None  # the last call, when it failed
    interrupted: bool = False
    rejected: bool = False
    api_error: str = ""
    final: str = ""
    answered: bool = False
    feedback: list[str] = []
    sealed: bool = False


class TodoItem(Struct, gc=False):
    status: TodoStatus
    turn: int
    at: float | None = None


class OpenCall(Struct, gc=False):
    action: Action
    target: str
    turn: int
    below: str = ""  # the folder below the session's in which it was made


class UsageTotal(Struct, gc=False):
    model: str
    band: int
    usage: Usage
    responses: int = 0
    stated_usd: float | None = None


class OpenResponse(Struct, gc=False):
    model: str
    usage: Usage
    stated_usd: float | None = None


class Digest(Struct):
    agent: str
    session: str = ""
    parent: str = ""
    cwd: str = ""
    below: str = ""  # the folder below it that the session moved into
    branch: str = ""
    version: str = ""
    provider: str = ""
    headless: bool = False
    first_at: float | None = None
    last_at: float | None = None
    spans: list[tuple[float, float]] = []
    turns: list[Turn] = []
    todos: dict[str, TodoItem] = {}
    open_calls: dict[str, OpenCall] = {}
    open_responses: dict[str, OpenResponse] = {}  # by a hash of the response's id
    usage: list[UsageTotal] = []
    files: dict[str, tuple[int, int]] = {}
    names: dict[str, list[str]] = {}  # of a file: what was written into it
    commands: dict[str, int] = {}
    verified: dict[str, str] = {}  # kind of check -> the command that passed last
    tool_calls: int = 0
    failed_calls: int = 0
    commits: int = 0
    compactions: int = 0
    harvest: Gathered = field(default_factory=Gathered)

    @property
    def empty(self) -> bool:
        """Nothing of this transcript's own: a copied history, or notes that belong to no session."""
        return not self.session or self.first_at is None

    def seal(self, clean: Clean) -> None:
        """Cleans every text that is not clean yet. Nothing may be written before."""
        for turn in self.turns:
            if not turn.sealed:
                _seal_turn(turn, clean)
        if self.turns:
            self.turns[-1].sealed = False  # it may still grow
        self.commands = {kept(text, COMMAND_LENGTH, clean): count for text, count in self.commands.items()}
        self.verified = {kind: kept(text, COMMAND_LENGTH, clean) for kind, text in self.verified.items()}
        self.todos = {kept(text, TITLE_LENGTH, clean): item for text, item in self.todos.items()}
        self.open_calls = {clean(name): call for name, call in self.open_calls.items()}
        for call in self.open_calls.values():
            call.target = kept(call.target, TARGET_LENGTH, clean)
        for response in self.open_responses.values():
            response.model = clean(response.model)
        for total in self.usage:
            total.model = clean(total.model)
        self.session, self.parent = clean(self.session), clean(self.parent)
        self.files = {clean(path): touched for path, touched in self.files.items()}
        self.names = clean_names(self.names, clean)
        self.cwd, self.branch = clean(self.cwd), clean(self.branch)
        self.harvest.seal(clean)
        self.version, self.provider = clean(self.version), clean(self.provider)


def _seal_turn(turn: Turn, clean: Clean) -> None:
    turn.command = kept(turn.command, TITLE_LENGTH, clean)
    turn.text = kept(turn.text, PROMPT_LENGTH, clean)
    turn.final = kept(turn.final, FINAL_LENGTH, clean)
    turn.api_error = kept(turn.api_error, EVIDENCE_LENGTH, clean)
    turn.feedback = [kept(text, EVIDENCE_LENGTH, clean) for text in turn.feedback]
    for check in [*turn.checks.values(), *([turn.failure] if turn.failure else [])]:
        check.evidence = kept(check.evidence, EVIDENCE_LENGTH, clean)
    turn.sealed = True
