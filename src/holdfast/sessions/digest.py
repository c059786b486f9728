"""The running summary of one transcript: everything that is kept while events stream by.

It is bounded, it can be stored and taken up again where the file grows, and several of them (the main file,
subagents, later copies) merge into one session. Texts in it are raw until `seal` has cleaned them.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from holdfast.model.events import Action, TodoStatus, Usage
from holdfast.sessions.harvest_state import Clean, Gathered, kept

# Which names a session wrote into its files: identifiers of several words, in the order in which they came.

MOST_NAMES = 40  # of one file
MOST_NAMED = 1_000  # of one session
_NAME = re.compile(r"(?<![\w\"'`=$@/\\%-])_{0,2}[A-Za-z][A-Za-z_]{5,49}(?![\w\"'`$@\\%-])")
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
