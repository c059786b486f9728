"""The running summary of one transcript, updated as events stream by.

It is bounded, it can be stored and resumed when the file grows, and several of them (the main file, subagents,
later copies) merge into one session. Texts in it are raw until `seal` cleans them. Sentences are kept whole or not at
all, so none is cut in the middle of a secret; command lines and output are kept longer than shown, and cut after
cleaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple
from holdfast.language.dialogue import LONGEST_MESSAGE, Message
from holdfast.model.events import Action, TodoStatus, Usage, UsageTotal
from holdfast.model.lesson import Correction, Stumble
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question

Clean = Callable[[str], str]

_IN_A_WORD = "".join(map(chr, range(ord("!"), ord("~") + 1)))
LEEWAY = 2  # raw text kept per character shown, so that a cut never falls inside a secret

REPORT_LENGTH = 8000  # of an agent's message: the first pages hold what is worth keeping
LINE_LENGTH = 300
MOST_OF_A_KIND = 24
MOST_COMMITS = 40
MOST_FAILURES = 4
MOST_WATCHED = 40  # commands and names whose uses are counted
_WORD = lazy_regex(r"\w{3,}")
ALIKE = 0.7  # share of common words above which two texts count as the same
Said = TypeVar("Said", Decision, Question, Finding, DeadEnd, OpenItem, Fact)

_GATHERED_TEXTS = (
    *(
        "decisions",
        "questions",
        "question",
        "findings",
        "dead_ends",
        "open_items",
        "older_items",
        "facts",
        "commits",
        "bodies",
        "failures",
    ),
    *("working", "mentions", "slips", "refused", "shaky", "jobs", "corrections", "stated"),
)

MOST_NAMES = 40  # of one file
MOST_NAMED = 1_000  # of one session
# The lookbehind follows the first character: a pattern that begins with a character set is twice as fast.
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
TARGET_LENGTH = 4000  # of a call that has no result yet: all of it is needed to judge the result
TITLE_LENGTH = 160
MOST_TURNS = 2000
MOST_COMMANDS = 200
MOST_FILES = 1000
MOST_TODOS = 500
OPEN_RESPONSES = 512  # responses that may still be reported again before their usage is added up


def clean_and_cut(text: str, limit: int, clean: Clean) -> str:
    """Clean a text and then cut it, never the other way round."""
    if not text:
        return text
    cleaned = clean(cut_raw(text, limit))
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def cut_raw(text: str, limit: int) -> str:
    """Cut raw text so that it can still be cleaned: the word at the cut goes too.

    No rule recognises half a secret.
    """
    size = limit * LEEWAY
    return text if len(text) <= size else text[:size].rstrip(_IN_A_WORD)


class Failure(Struct, gc=False):
    """A failed call that another call may remedy, and the calls since."""

    command: str
    line: str
    at: float | None
    age: int = 0
    read: bool = False  # a file that was read, not a command
    remedies: list[str] = []

    def resolved(self, instead: str) -> DeadEnd:
        return DeadEnd(tried=self.command, failed=self.line, instead=instead, at=self.at)


class Working(Struct, gc=False):
    """A verification that passed: how often, and the output line that proves it."""

    kind: str
    line: str
    at: float | None
    times: int = 1


class Mention(Struct, gc=False):
    """An endpoint or id in commands that worked: how often, and the first line of the response."""

    category: str
    command: str
    line: str
    at: float | None
    times: int = 1


class Slip(Struct, gc=False):
    """A call that failed because of how or where it was made, waiting for the variant that works."""

    cause: str
    subject: str
    token: str
    line: str
    at: float | None
    part: Simple | None  # None: a missing file, not a command
    age: int = 0
    settled: bool = False  # there is no remedy to wait for
    vain: list[str] = []  # attempted remedies that failed too

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
    sought: bool = False  # the session looked for it, or another command failed, before it first worked


class Gathered(Struct):
    decisions: list[Decision] = []
    questions: list[Question] = []
    findings: list[Finding] = []
    dead_ends: list[DeadEnd] = []
    open_items: list[OpenItem] = []
    older_items: list[OpenItem] = []  # that the last report did not speak of
    facts: list[Fact] = []
    commits: list[str] = []
    bodies: dict[str, str] = {}  # commits -> the first sentence of the body
    report: str = ""  # the agent's last message, read when the person replies
    report_at: float | None = None
    edited: bool = False  # files were edited since the last report
    question: Question | None = None  # an open question that the next message may answer
    failures: list[Failure] = []
    working: dict[str, Working] = {}
    mentions: dict[str, Mention] = {}
    slips: list[Slip] = []
    stumbles: dict[str, Stumble] = {}
    refused: dict[str, str] = {}  # commands that a hook refused -> key of the stumble
    ruled: bool = False  # a linter had findings, which may still be fixed
    shaky: dict[str, str] = {}  # failed tests -> command: a test that passes without an edit is flaky
    jobs: dict[str, Job] = {}
    corrections: list[Correction] = []
    stated: list[str] = []  # commands in the repository's own instructions
    calls: int = 0
    looked_at: int = 0  # the call that last looked where commands are defined
    dialogue: list[Message] = []

    def seal(self, clean: Clean) -> None:
        """Clean every text."""

        def line(text: str) -> str:
            return clean_and_cut(text, LINE_LENGTH, clean)

        self.report = clean_and_cut(self.report, REPORT_LENGTH, clean)
        for name in _GATHERED_TEXTS:
            setattr(self, name, _sealed(getattr(self, name), line))
        for message in self.dialogue:
            if not message.sealed:
                message.text, message.sealed = clean_and_cut(message.text, LONGEST_MESSAGE, clean), True
        # A stumble's key is made of its texts.
        self.stumbles = {item.key: item for item in _sealed([*self.stumbles.values()], line)}


# The fields that hold text from a transcript; the others are our own words, numbers and times.
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
    """Return the value with all its texts cleaned."""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, list | tuple):
        return type(value)(_sealed(item, line) for item in value)
    if isinstance(value, dict):
        return {line(key): _sealed(item, line) for key, item in value.items()}
    names = _TEXT_FIELDS.get(type(value), ())
    return replace(value, **{name: _sealed(getattr(value, name), line) for name in names}) if names else value


def cut_raw_line(text: str) -> str:
    """Cut a line, keeping as much as cleaning needs."""
    return cut_raw(text, LINE_LENGTH)


def add_new(items: list[Said], new: Iterable[Said]) -> None:
    """Add the items that no existing one resembles; when there are too many, drop the oldest."""
    for item in new:
        words = item_words(item)
        if not any(is_alike(words, item_words(existing)) for existing in items):
            items.append(item)
            if len(items) > MOST_OF_A_KIND:
                del items[0]


def item_words(item: Said) -> frozenset[str]:
    return words_of(f"{item.tried} {item.failed}" if isinstance(item, DeadEnd) else item.text)


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def is_alike(some: frozenset[str], other: frozenset[str]) -> bool:
    return some == other or len(some & other) > ALIKE * len(some | other)


# Names that a session wrote into its files: identifiers of several words, in order of appearance.


def note_names(names: dict[str, list[str]], path: str, text: str) -> None:
    """Add the new names in a text that was written into a file."""
    if not text or _is_settings(path):
        return
    previous = names.get(path) or []
    room = min(MOST_NAMES - len(previous), MOST_NAMED - sum(map(len, names.values())))
    if room <= 0:
        return
    fresh = [
        name
        for name in dict.fromkeys(_NAME.findall(text))
        if _has_several_words(name) and name not in previous
    ]
    if fresh:
        names[path] = [*previous, *fresh[:room]]


def clean_names(names: dict[str, list[str]], clean: Clean) -> dict[str, list[str]]:
    """Drop the names that cleaning changes."""
    result = {}
    for path, written in names.items():
        cleaned = set(clean(" ".join(written)).split())
        if remaining := [name for name in written if name in cleaned]:
            result[clean(path)] = remaining
    return result


def _has_several_words(name: str) -> bool:
    plain = name.strip("_")
    return "_" in plain or not (plain.islower() or plain.isupper() or plain[1:].islower())


def _is_settings(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith(_SETTINGS) or name.startswith(".env") or "secret" in name or "credential" in name


class CheckResult(Struct, gc=False):
    """The latest result of one kind of verification (test, build, lint, types) within a turn."""

    passed: bool
    reason: str = ""
    evidence: str = ""
    command: str = ""  # of one that failed


class Turn(Struct, gc=False):
    """From one request of a person to the next: the smallest unit that can succeed or fail."""

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
    handed_over: bool = False  # it wrote a plan, for another session to carry out
    api_error: str = ""
    final: str = ""
    answered: bool = False
    final_edit: bool = False  # the host applied the edits of the last answer
    feedback: list[str] = []
    sealed: bool = False
    reported: bool = False  # its usage was


class TodoItem(Struct, gc=False):
    status: TodoStatus
    turn: int
    at: float | None = None


class OpenCall(Struct, gc=False):
    action: Action
    target: str
    turn: int
    below: str = ""  # the subfolder of the session's folder in which it was made


class OpenResponse(Struct, gc=False):
    model: str
    usage: Usage
    stated_usd: float | None = None
    written: int = 0


class Digest(Struct):
    agent: str
    session: str = ""
    parent: str = ""
    cwd: str = ""
    below: str = ""  # the subfolder of it that the session moved into
    branch: str = ""
    version: str = ""
    provider: str = ""
    headless: bool = False
    title: str = ""
    first_at: float | None = None
    last_at: float | None = None
    spans: list[tuple[float, float]] = []
    turns: list[Turn] = []
    todos: dict[str, TodoItem] = {}
    open_calls: dict[str, OpenCall] = {}
    open_responses: dict[str, OpenResponse] = {}  # by a hash of the response's id
    usage: list[UsageTotal] = []
    watched: bool = False  # turns know whether their usage was reported
    low_output: int = 0  # responses with more text than their output tokens can be
    unreadable: int = 0  # lines
    files: dict[str, tuple[int, int]] = {}
    names: dict[str, list[str]] = {}  # file -> names written into it
    commands: dict[str, int] = {}
    verified: dict[str, str] = {}  # kind of check -> the command that passed last
    tool_calls: int = 0
    before_edit: int | None = None  # calls before the first edit; -1: no edit so far, None: not counted
    failed_calls: int = 0
    commits: int = 0
    compactions: int = 0
    harvest: Gathered = field(default_factory=Gathered)

    @property
    def empty(self) -> bool:
        """Whether the transcript has no content of its own: a copied history, or notes that belong to no session."""
        return not self.session or self.first_at is None

    def seal(self, clean: Clean) -> None:
        """Clean every raw text. Must be called before anything is written."""
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
        self.files = {clean(path): counts for path, counts in self.files.items()}
        self.names = clean_names(self.names, clean)
        self.title = clean_and_cut(self.title, TITLE_LENGTH, clean)
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
        check.command = clean_and_cut(check.command, EVIDENCE_LENGTH, clean)
    turn.sealed = True
