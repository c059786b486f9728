"""The running summary of one transcript: everything that is kept while events stream by.

It is bounded, it can be stored and taken up again where the file grows, and several of them (the main file,
subagents, later copies) merge into one session. Texts in it are raw until `seal` has cleaned them. Sentences are taken
whole or not at all, so none is cut in the middle of a secret; command lines and output are kept with leeway and cut
when they have been cleaned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple
from holdfast.model.events import Action, TodoStatus, Usage
from holdfast.model.lesson import Correction, Stumble
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question

Clean = Callable[[str], str]

_IN_A_WORD = "".join(map(chr, range(ord("!"), ord("~") + 1)))
LEEWAY = 2  # raw text kept per character shown, so that a cut never falls inside a secret

REPORT_LENGTH = 8000  # of an agent's message: what is worth keeping stands in its first pages
LINE_LENGTH = 300
MOST_OF_A_KIND = 24
MOST_COMMITS = 40
MOST_FAILURES = 4
MOST_WATCHED = 40  # commands and names whose uses are counted
_WORD = lazy_regex(r"\w{3,}")
ALIKE = 0.7  # share of words in common from which two texts say the same
Said = TypeVar("Said", Decision, Question, Finding, DeadEnd, OpenItem, Fact)

_GATHERED_TEXTS = (
    *(
        "decisions",
        "questions",
        "question",
        "findings",
        "dead_ends",
        "open_items",
        "facts",
        "commits",
        "failures",
    ),
    *("working", "mentions", "slips", "refused", "shaky", "jobs", "corrections", "stated"),
)

MOST_NAMES = 40  # of one file
MOST_NAMED = 1_000  # of one session
# What stands before a name is asked after its first sign: a pattern that begins with a set is twice as fast.
_NAME = lazy_regex(
    r"[A-Za-z_](?<![\w\"'`=$@/\\%-].)(?:(?<=_)_?[A-Za-z]|(?<=[A-Za-z]))[A-Za-z_]{5,49}(?![\w\"'`$@\\%-])"
)
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


def clean_and_cut(text: str, limit: int, clean: Clean) -> str:
    """A text as it may be stored: cleaned first and cut afterwards, never the other way round."""
    if not text:
        return text
    cleaned = clean(cut_raw(text, limit))
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def cut_raw(text: str, limit: int) -> str:
    """Raw text cut so that it can still be cleaned: the word that the cut falls into goes too.

    No rule recognises half a secret, and a reader may not need the rest.
    """
    size = limit * LEEWAY
    return text if len(text) <= size else text[:size].rstrip(_IN_A_WORD)


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
            return clean_and_cut(text, LINE_LENGTH, clean)

        self.report = clean_and_cut(self.report, REPORT_LENGTH, clean)
        for name in _GATHERED_TEXTS:
            setattr(self, name, _sealed(getattr(self, name), line))
        # A stumble's key is made of its texts.
        self.stumbles = {item.key: item for item in _sealed([*self.stumbles.values()], line)}


# The fields of each value that hold text of a transcript; the others are words of ours, numbers and times.
_TEXT_FIELDS: dict[type, tuple[str, ...]] = {
    Decision: ("text", "rationale"),
    Question: ("text", "answer"),
    Finding: ("text",),
    DeadEnd: ("tried", "failed", "instead"),
    OpenItem: ("text", "why"),
    Fact: ("text", "command", "evidence"),
    Failure: ("command", "line", "remedies"),
    Working: ("line",),
    Mention: ("command", "line"),
    Slip: ("subject", "token", "line", "part", "vain"),
    Simple: ("words", "directory", "variables"),
    Stumble: ("subject", "token", "tried", "failed", "instead", "vain", "example"),
    Job: ("line",),
    Correction: ("text",),
}


def _sealed(value: Any, line: Clean) -> Any:
    """The value with all its texts cleaned."""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, list | tuple):
        return type(value)(_sealed(item, line) for item in value)
    if isinstance(value, dict):
        return {line(key): _sealed(item, line) for key, item in value.items()}
    names = _TEXT_FIELDS.get(type(value), ())
    return replace(value, **{name: _sealed(getattr(value, name), line) for name in names}) if names else value


def cut_raw_line(text: str) -> str:
    """As much of a line as may wait for its cleaning."""
    return cut_raw(text, LINE_LENGTH)


def add_new(items: list[Said], new: Iterable[Said]) -> None:
    """Adds what is not there yet in the same or in other words; the newest stay when there are too many."""
    for item in new:
        words = item_words(item)
        if not any(is_alike(words, item_words(known)) for known in items):
            items.append(item)
            if len(items) > MOST_OF_A_KIND:
                del items[0]


def item_words(item: Said) -> frozenset[str]:
    return words_of(f"{item.tried} {item.failed}" if isinstance(item, DeadEnd) else item.text)


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def is_alike(some: frozenset[str], other: frozenset[str]) -> bool:
    return some == other or len(some & other) > ALIKE * len(some | other)


# Which names a session wrote into its files: identifiers of several words, in the order in which they came.


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


class CheckResult(Struct, gc=False):
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
    checks: dict[str, CheckResult] = {}
    failure: CheckResult | None = None  # the last call, when it failed
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
        self.commands = {
            clean_and_cut(text, COMMAND_LENGTH, clean): count for text, count in self.commands.items()
        }
        self.verified = {
            kind: clean_and_cut(text, COMMAND_LENGTH, clean) for kind, text in self.verified.items()
        }
        self.todos = {clean_and_cut(text, TITLE_LENGTH, clean): item for text, item in self.todos.items()}
        self.open_calls = {clean(name): call for name, call in self.open_calls.items()}
        for call in self.open_calls.values():
            call.target = clean_and_cut(call.target, TARGET_LENGTH, clean)
        for response in self.open_responses.values():
            response.model = clean(response.model)
        for total in self.usage:
            total.model = clean(total.model)
        self.files = {clean(path): touched for path, touched in self.files.items()}
        self.names = clean_names(self.names, clean)
        for name in ("session", "parent", "cwd", "branch", "version", "provider"):
            setattr(self, name, clean(getattr(self, name)))
        self.harvest.seal(clean)


def _seal_turn(turn: Turn, clean: Clean) -> None:
    turn.command = clean_and_cut(turn.command, TITLE_LENGTH, clean)
    turn.text = clean_and_cut(turn.text, PROMPT_LENGTH, clean)
    turn.final = clean_and_cut(turn.final, FINAL_LENGTH, clean)
    turn.api_error = clean_and_cut(turn.api_error, EVIDENCE_LENGTH, clean)
    turn.feedback = [clean_and_cut(text, EVIDENCE_LENGTH, clean) for text in turn.feedback]
    for check in [*turn.checks.values(), *([turn.failure] if turn.failure else [])]:
        check.evidence = clean_and_cut(check.evidence, EVIDENCE_LENGTH, clean)
    turn.sealed = True
