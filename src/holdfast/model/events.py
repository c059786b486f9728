"""What a session consists of: the closed union of events that every importer speaks.

Times are seconds since the epoch (UTC). Texts are what the agent's file says; nothing is redacted here,
because nothing here is written anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import astuple

from holdfast.model.lesson import Experience
from holdfast.model.memory import Harvest, Owner, Passage

Action = Literal["shell", "edit", "read", "search", "web", "ask", "plan", "todo", "agent", "other"]
MOST_TOKENS = 10**12  # of one response
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one model response. `input` excludes cached tokens; `cache_write_1h` is part of `cache_write`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cache_write_1h + other.cache_write_1h,
        )

    @property
    def prompt_tokens(self) -> int:
        """Everything the model had to read: what long-context prices are decided by."""
        return self.input + self.cache_read + self.cache_write


def sane(usage: Usage) -> Usage:
    """Clamp token counts: a hostile file may report negative or absurdly large ones."""
    counts = astuple(usage)
    if min(counts) >= 0 and max(counts) <= MOST_TOKENS:
        return usage
    return Usage(*(min(max(count, 0), MOST_TOKENS) for count in counts))


class UsageTotal(Struct, gc=False):
    """All responses of one model in one price step; `stated_usd` is the agent's own figure."""

    model: str
    band: int
    usage: Usage
    responses: int = 0
    stated_usd: float | None = None


class Began(Struct, frozen=True, gc=False):
    """Who and where: said at the start, and again whenever it changes. Empty strings say nothing."""

    at: float | None
    session: str = ""
    agent: str = ""  # said only by importers that read other agents' sessions
    parent: str = ""  # the session that spawned this one; set for subagents only
    cwd: str = ""
    branch: str = ""
    version: str = ""
    provider: str = ""
    headless: bool = False
    title: str = ""  # of a person or the agent itself, never a first prompt


class UserTurn(Struct, frozen=True, gc=False):
    """Words of a person. `command` is the slash command they were given through, without arguments.

    `feedback` is what they said while declining a step: it steers the work and asks for nothing new.
    """

    at: float | None
    text: str
    command: str = ""
    feedback: bool = False


class AgentTurn(Struct, frozen=True, gc=False):
    at: float | None
    text: str


class ToolCall(Struct, frozen=True, gc=False):
    """`target` is the command line, the path or the query, whichever the action has.

    `written` is what an edit puts in and takes out, one text for each of `paths`, cut; empty where that is not known.
    `given` is all that an edit was given, as the agent recorded it: its arguments, or the text of a patch.
    """

    at: float | None
    call: str
    tool: str
    action: Action
    target: str = ""
    paths: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    given: Mapping[str, Any] | str = ""


class ToolResult(Struct, frozen=True, gc=False):
    """`ok` is None when the host does not say. `text` is an excerpt: the head and the tail of long output."""

    at: float | None
    call: str
    ok: bool | None
    text: str = ""
    exit_code: int | None = None
    rejected: bool = False
    own_fault: bool = (
        False  # the agent's tool refused (unread file, sibling cancelled): no evidence of anything
    )


class Todo(Struct, frozen=True, gc=False):
    text: str
    status: TodoStatus


class TodoList(Struct, frozen=True, gc=False):
    """The whole list as it stands now."""

    at: float | None
    items: tuple[Todo, ...]


class Asked(Struct, frozen=True, gc=False):
    """A question that the agent put through its host, and the answer ('' when there was none).

    `options` are the choices that were offered, each with what the agent said of it.
    """

    at: float | None
    question: str
    options: tuple[tuple[str, str], ...] = ()
    answer: str = ""
    by: Owner = "user"


class Planned(Struct, frozen=True, gc=False):
    """A plan that was shown to a person. `approved` is None until the person replies."""

    at: float | None
    text: str
    approved: bool | None = None


class UsageReport(Struct, frozen=True, gc=False):
    """Tokens of one response. Reports with one `key` are repeats of one response: the largest output counts."""

    at: float | None
    key: str
    model: str
    usage: Usage
    cost_usd: float | None = None  # only where the agent itself states it
    written: int = 0  # characters of the response on this line, where usage may have been stated too early


class Compaction(Struct, frozen=True, gc=False):
    at: float | None
    summary: str = ""


class Guided(Struct, frozen=True, gc=False):
    """What the repository's own instructions (AGENTS.md and its kin) tell the agent, where a transcript records it."""

    at: float | None
    text: str


class Interruption(Struct, frozen=True, gc=False):
    at: float | None


class ApiFailure(Struct, frozen=True, gc=False):
    at: float | None
    text: str


class Tick(Struct, frozen=True, gc=False):
    """Something happened that matters for time only."""

    at: float


Event = (
    Began
    | UserTurn
    | AgentTurn
    | ToolCall
    | ToolResult
    | TodoList
    | Asked
    | Planned
    | UsageReport
    | Compaction
    | Guided
    | Interruption
    | ApiFailure
    | Tick
)


class TaskResult(Struct, frozen=True, kw_only=True):
    """One unit of work, how it ended, and what in the transcript decided that."""

    title: str
    status: Literal["done", "failed", "skipped", "unknown"]
    reason: str = ""
    evidence: str = ""
    at: float | None = None
    listed: bool = False  # an item of the agent's list, not a request


class ModelUsage(Struct, frozen=True, kw_only=True):
    """All responses of one model in a session, with the price they had (None: unknown)."""

    model: str
    usage: Usage
    responses: int
    cost_usd: str | None = None


class FileTouch(Struct, frozen=True):
    path: str
    reads: int = 0
    edits: int = 0


class DistilledSession(Struct, frozen=True, kw_only=True):
    """What is kept of a session in local state: redacted, bounded, and enough to explain its ledger row."""

    session: str
    agent: str
    started: float | None
    ended: float | None
    active_s: int | None  # None where the transcript has no more than one moment
    wall_s: int | None
    cwd: str
    branch: str
    version: str
    headless: bool
    provider: str
    goal: str
    prompts: tuple[str, ...]
    tasks: tuple[TaskResult, ...]
    outcome: str
    outcome_why: str
    kind: str
    kind_why: str
    complexity: str
    keywords: tuple[str, ...]
    project_type: str | None
    framework: str | None
    models: tuple[ModelUsage, ...]
    files: tuple[FileTouch, ...]
    commands: tuple[str, ...]
    verified: tuple[tuple[str, str], ...]  # kind of check and the command that passed, the last of each kind
    open_items: tuple[str, ...]
    commits: int
    tool_calls: int
    failed_calls: int
    compactions: int
    subagents: int
    final_message: str
    sources: tuple[str, ...]
    harvest: Harvest = Harvest()
    experience: Experience = Experience()
    named: tuple[tuple[str, str], ...] = ()  # a file, and the names that were written into it
    passages: tuple[Passage, ...] = ()
    summary: str = ""  # what was done, in a sentence or two
    usage_gaps: dict[str, int] = {}  # why its usage is incomplete, and how often
    title: str = ""  # what a person would call it
    calls_before_edit: int | None = None  # None: it edited nothing, or an older version did not count


class Lived(Struct, frozen=True, kw_only=True):
    """The part of a session's record that lessons are learned from."""

    session: str
    agent: str = ""
    cwd: str = ""
    started: float | None = None
    ended: float | None = None
    files: tuple[FileTouch, ...] = ()
    commands: tuple[str, ...] = ()
    experience: Experience = Experience()
