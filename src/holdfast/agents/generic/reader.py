"""Any agent that writes holdfast's own events: `docs/contributing/events-format.md` describes the file, line by line.

What each line may hold is a type here; the schema beside this module is generated from those types, and reading is one
function from a line to events.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from holdfast.agent_kit.contract import Glance, usual_folder
from holdfast.agent_kit.jsonl import LineAgent, excerpt, seconds, text_in
from holdfast.agent_kit.loose import LineReading, PassState, first_object
from holdfast.model import events as model
from holdfast.store.machine import Places

FORMAT: Literal["holdfast-events-1"] = "holdfast-events-1"

When = Annotated[
    str | float | None, Meta(description="ISO 8601 with a zone, or seconds or milliseconds since 1970.")
]
Count = Annotated[int, Meta(ge=0)]


class Session(Struct, tag="session", tag_field="type", kw_only=True):
    """The first line: who worked where. `parent` is the session that spawned this one, for subagents."""

    format: Literal["holdfast-events-1"]
    id: Annotated[str, Meta(min_length=1, description="Stable, and unique among this agent's sessions.")]
    agent: Annotated[
        str, Meta(min_length=1, description="The agent's own name; it is shown and filtered by.")
    ]
    cwd: str
    started: When
    branch: str = ""
    version: str = ""
    provider: Annotated[str, Meta(description="Whose prices apply: anthropic, openai, google, …")] = ""
    parent: str = ""
    headless: Annotated[bool, Meta(description="Nobody was there to be asked.")] = False
    title: Annotated[str, Meta(description="What the agent or a person calls the session.")] = ""


class User(Struct, tag="user", tag_field="type", kw_only=True):
    """Words of a person: nothing that the client, a hook or a tool put there."""

    at: When = None
    text: str
    command: str = ""
    feedback: Annotated[bool, Meta(description="Said while declining a step.")] = False


class Agent(Struct, tag="agent", tag_field="type", kw_only=True):
    """What the agent said to the person."""

    at: When = None
    text: str


class ToolCall(Struct, tag="tool_call", tag_field="type", kw_only=True):
    """`target` is the command line, the path or the query, whichever the action has."""

    at: When = None
    call: str
    tool: str
    action: model.Action = "other"
    target: str = ""
    paths: tuple[str, ...] = ()


class ToolResult(Struct, tag="tool_result", tag_field="type", kw_only=True):
    """How a call ended. Leave `ok` out when nobody knows."""

    at: When = None
    call: str
    ok: bool | None = None
    text: str = ""
    exit_code: int | None = None
    rejected: Annotated[bool, Meta(description="A person declined it.")] = False
    own_fault: Annotated[bool, Meta(description="The tool refused to start: evidence of nothing.")] = False


class UsageLine(Struct, tag="usage", tag_field="type", kw_only=True):
    """Tokens of one response. Repeats under one `key` count once. No line means: not known."""

    at: When = None
    key: str
    model: str
    input: Annotated[Count, Meta(description="Without what came from the cache.")] = 0
    output: Annotated[Count, Meta(description="Thinking included.")] = 0
    cache_read: Count = 0
    cache_write: Count = 0
    cost_usd: float | None = None


class TodoEntry(Struct, kw_only=True):
    text: str
    status: model.TodoStatus = "pending"


class TodoLine(Struct, tag="todo", tag_field="type", kw_only=True):
    """The whole list as it stands now."""

    at: When = None
    items: tuple[TodoEntry, ...]


class Compaction(Struct, tag="compaction", tag_field="type", kw_only=True):
    """The history was replaced by a summary."""

    at: When = None
    summary: str = ""


class Interrupted(Struct, tag="interrupted", tag_field="type", kw_only=True):
    """A person stopped the agent."""

    at: When = None


class ApiError(Struct, tag="api_error", tag_field="type", kw_only=True):
    """The model's service failed."""

    at: When = None
    text: str = ""


EventLine = User | Agent | ToolCall | ToolResult | UsageLine | TodoLine | Compaction | Interrupted | ApiError
Line = Session | EventLine
_EVENTS: dict[type, Callable[..., model.Event]] = {
    User: model.UserTurn,
    Agent: model.AgentTurn,
    ToolCall: model.ToolCall,
    ToolResult: model.ToolResult,
    Compaction: model.Compaction,
    Interrupted: model.Interruption,
    ApiError: model.ApiFailure,
}


class _State(PassState):
    session: str = ""
    objects: int = 0


class GenericReading(LineReading[Line, _State]):
    line: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
    carried = _State

    def _events(self) -> Iterator[model.Event]:
        state = self._state
        for line in self._lines:
            state.objects += 1
            if isinstance(line, Session):
                if not state.session:
                    state.session = f"{line.agent}:{line.id}"
                    yield _began(line)
                continue
            # The same file may lie in two places: its lines keep their number and their time.
            if not self._claims.repeated(f"{state.session}#{state.objects}:{line.at}"):
                yield event_of(line)


class Generic(LineAgent):
    agent = "generic"
    title = "any agent (events.jsonl)"
    reading = GenericReading

    def roots(self, places: Places) -> Iterable[Path]:
        for folder in places.env.get("HOLDFAST_EVENTS", "").split(os.pathsep):
            if folder.strip():
                yield Path(folder)
        yield usual_folder(places, "HOLDFAST_HOME", ".holdfast") / "events"

    def recognise(self, path: Path, head: bytes) -> bool:
        return first_object(head).get("format") == FORMAT

    def glance(self, path: Path, head: bytes) -> Glance:
        line = first_object(head)
        return Glance(cwd=text_in(line, "cwd"), started=seconds(line.get("started")))


def _began(line: Session) -> model.Began:
    return model.Began(
        seconds(line.started),
        session=_identity(line.agent, line.id),
        agent=line.agent,
        parent=_identity(line.agent, line.parent) if line.parent else "",
        cwd=line.cwd,
        branch=line.branch,
        version=line.version,
        provider=line.provider,
        headless=line.headless,
        title=line.title,
    )


def _identity(agent: str, name: str) -> str:
    """A short name is another agent's, too: the agent's own name makes it unique."""
    return name if len(name) >= 16 else f"{agent}-{name}"


def event_of(line: EventLine) -> model.Event:
    """One line is one event: the fields have the same names."""
    at = seconds(line.at)
    if isinstance(line, UsageLine):
        usage = model.Usage(line.input, line.output, line.cache_read, line.cache_write)
        return model.UsageReport(at, line.key, line.model, usage, line.cost_usd)
    if isinstance(line, TodoLine):
        return model.TodoList(at, tuple(model.Todo(item.text, item.status) for item in line.items))
    if isinstance(line, ToolResult):
        line.text = excerpt(line.text)
    return _EVENTS[type(line)](**{**msgspec.structs.asdict(line), "at": at})


def schema() -> dict[str, object]:
    """The JSON Schema of one line; `generic_events.schema.json` is this, written down."""
    generated = msgspec.json.schema(Line)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:holdfast:events:1",
        "title": "One line of a holdfast-events-1 file",
        **generated,
    }
