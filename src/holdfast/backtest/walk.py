"""One past session as the steps that it took: prompts, calls with their outcome, questions, what the agent said.

An import reads each transcript once; the steps are noted while it does, so that both see the same lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.agent_kit.contract import Claims, Glance, Importer, Reading, Warned
from holdfast.model.events import (
    AgentTurn,
    Asked,
    Began,
    Compaction,
    Event,
    ToolCall,
    ToolResult,
    UsageReport,
    UserTurn,
)
from holdfast.store.machine import Places

Did = Literal["prompt", "shell", "read", "edit", "look", "ask", "said", "compaction", "other"]
MOST_STEPS = 20_000  # of one transcript
LONGEST_SAID = 4_000  # characters
LONGEST_OUTPUT = 1_000
_ACTIONS: dict[str, Did] = {
    "shell": "shell",
    "read": "read",
    "edit": "edit",
    "search": "look",
    "agent": "look",
}


class Step(Struct, gc=False):
    """`text` is a prompt, a command, a question or what was said; `request` counts the model's answers before it.

    `ok` is None where the transcript does not say, and for calls that the host or the person refused.
    """

    did: Did
    at: float | None
    text: str = ""
    paths: tuple[str, ...] = ()
    ok: bool | None = None
    output: str = ""  # unless it succeeded
    answer: str = ""
    request: int = 0
    cwd: str = ""
    is_main: bool = True
    ended: float | None = None


class Walk(Struct):
    """The steps of one session. `requests` holds the tokens that the model read for each of its answers."""

    steps: list[Step] = []
    requests: list[int] = []
    cwd: str = ""
    branch: str = ""
    model: str = ""
    provider: str = ""

    @property
    def calls(self) -> int:
        return sum(step.did in ("shell", "read", "edit", "look", "other") for step in self.steps)


class Notebook:
    """Notes the steps of one transcript as its events pass by."""

    def __init__(self) -> None:
        self.walk = Walk()
        self._open: dict[str, Step] = {}
        self._counted: dict[str, int] = {}
        self._cwd = ""

    def follow(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if len(self.walk.steps) < MOST_STEPS:
                self._take(event)
            yield event

    def _take(self, event: Event) -> None:
        kind = type(event)
        if kind is ToolCall:
            self._call(event)  # type: ignore[arg-type]
        elif kind is ToolResult:
            self._result(event)  # type: ignore[arg-type]
        elif kind is UsageReport:
            self._usage(event)  # type: ignore[arg-type]
        elif isinstance(event, UserTurn):
            if not event.feedback:
                self._add(Step("prompt", event.at, f"{event.command} {event.text}".strip()))
        elif isinstance(event, AgentTurn):
            self._add(Step("said", event.at, event.text[:LONGEST_SAID]))
        elif isinstance(event, Asked):
            self._asked(event)
        elif isinstance(event, Began):
            self._cwd = event.cwd or self._cwd
            self.walk.cwd = self.walk.cwd or event.cwd
            self.walk.branch = self.walk.branch or event.branch
            self.walk.provider = self.walk.provider or event.provider
        elif isinstance(event, Compaction):
            self._add(Step("compaction", event.at))

    def _add(self, step: Step) -> Step:
        step.request, step.cwd = len(self.walk.requests), self._cwd
        self.walk.steps.append(step)
        return step

    def _call(self, call: ToolCall) -> None:
        if call.action == "ask":
            return  # `Asked` says it with its answer
        did = _ACTIONS.get(call.action, "other")
        text = call.target if did in ("shell", "look") else ""
        step = self._add(Step(did, call.at, text, call.paths or _path_of(call, did)))
        self._open[call.call] = step

    def _result(self, result: ToolResult) -> None:
        step = self._open.pop(result.call, None)
        if step is None or result.rejected or result.own_fault:
            return
        step.ok, step.ended = result.ok, result.at
        if result.ok is not True:
            step.output = result.text[:LONGEST_OUTPUT]

    def _asked(self, asked: Asked) -> None:
        step = next(
            (one for one in reversed(self.walk.steps) if one.did == "ask" and one.text == asked.question),
            None,
        )
        if step is None:
            step = self._add(Step("ask", asked.at, asked.question, tuple(name for name, _ in asked.options)))
        step.answer = asked.answer or step.answer

    def _usage(self, report: UsageReport) -> None:
        read = report.usage.prompt_tokens
        known = self._counted.get(report.key) if report.key else None
        if known is None:
            self._counted[report.key] = len(self.walk.requests)
            self.walk.requests.append(read)
        else:
            self.walk.requests[known] = max(self.walk.requests[known], read)
        self.walk.model = report.model or self.walk.model


def _path_of(call: ToolCall, did: Did) -> tuple[str, ...]:
    return (call.target,) if did in ("read", "edit") and call.target else ()


class Followed:
    """A reader whose events are noted as they are read."""

    def __init__(self, importer: Importer, notebooks: dict[str, Notebook], key: str) -> None:
        self.agent, self.title = importer.agent, importer.title
        self.appends, self.copies = importer.appends, importer.copies
        self._importer, self._notebooks, self._key = importer, notebooks, key

    def roots(self, places: Places) -> Iterable[Path]:
        return self._importer.roots(places)

    def candidates(self, root: Path) -> Iterable[Path]:
        return self._importer.candidates(root)

    def recognise(self, path: Path, head: bytes) -> bool:
        return self._importer.recognise(path, head)

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        return self._importer.sessions(path, head)

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> Reading:
        notebook = self._notebooks[self._key] = Notebook()
        return _Noted(self._importer.open(path, offset, state, claims, part), notebook)


class _Noted:
    def __init__(self, reading: Reading, notebook: Notebook) -> None:
        self._reading, self._notebook = reading, notebook

    @property
    def warnings(self) -> list[Warned]:
        return self._reading.warnings

    @warnings.setter
    def warnings(self, warnings: list[Warned]) -> None:
        self._reading.warnings = warnings

    def events(self) -> Iterator[Event]:
        return self._notebook.follow(self._reading.events())

    def position(self) -> int:
        return self._reading.position()

    def state(self) -> bytes:
        return self._reading.state()


def joined(main: Sequence[Walk], subagents: Sequence[Walk]) -> Walk:
    """The transcripts of one session as one walk; the requests are those of the session itself."""
    whole = Walk()
    for walk in main:
        shift = len(whole.requests)
        for step in walk.steps:
            step.request += shift
        whole.steps += walk.steps
        whole.requests += walk.requests
        for name in ("cwd", "branch", "model", "provider"):
            setattr(whole, name, getattr(whole, name) or getattr(walk, name))
    if subagents:
        _weave(whole, [step for walk in subagents for step in walk.steps])
    return whole


def _weave(whole: Walk, steps: list[Step]) -> None:
    """Puts the calls of subagents where they were made. What they were asked is no prompt of a person."""
    calls = [
        step for step in steps if step.did not in ("prompt", "ask", "compaction") and step.at is not None
    ]
    for step in calls:
        step.is_main = False
    last = 0.0
    order: list[tuple[float, int, Step]] = []
    for number, step in enumerate(whole.steps):
        last = max(last, step.at or 0.0)
        order.append((last, number, step))
    order += [(step.at or 0.0, len(whole.steps), step) for step in calls]
    order.sort(key=lambda item: item[:2])
    whole.steps = [step for _, _, step in order]
    request = 0
    for step in whole.steps:
        if step.is_main:
            request = step.request
        else:
            step.request = request
