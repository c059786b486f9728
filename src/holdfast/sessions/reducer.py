"""Reduces the events of a transcript to a digest, one at a time; keeps only what the session's summary needs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import msgspec

from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.language import checks
from holdfast.language.prose import unwrap_prompt
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Asked,
    Began,
    Compaction,
    Event,
    Guided,
    Interruption,
    Planned,
    Tick,
    TodoList,
    ToolCall,
    ToolResult,
    Usage,
    UsageReport,
    UsageTotal,
    UserTurn,
    sane,
)
from holdfast.sessions.cost import PRICE_STEPS
from holdfast.sessions.digest import (
    COMMAND_LENGTH,
    EVIDENCE_LENGTH,
    FINAL_LENGTH,
    LEEWAY,
    MOST_COMMANDS,
    MOST_FILES,
    MOST_TODOS,
    MOST_TURNS,
    OPEN_RESPONSES,
    PROMPT_LENGTH,
    TARGET_LENGTH,
    TITLE_LENGTH,
    CheckResult,
    Digest,
    OpenCall,
    OpenResponse,
    TodoItem,
    Turn,
    cut_raw,
    note_names,
)
from holdfast.sessions.failing_calls import missing_in
from holdfast.sessions.harvest import Harvester
from holdfast.sessions.outcome import IDLE_SECONDS, add_to_spans
from holdfast.sessions.usage_gaps import is_low

_GO_ON = lazy_regex(
    r"\W*(?:(?:sorry|ok|okay|yes|please|great|sure)\W+)?(?:continue|go on|go ahead|keep going|carry on"
    r"|proceed|resume|retry|try again|yes|yep|yeah|ok|okay|sure|do it"
    r"|y|weiter|mach weiter|continúa|continue[rz]?|继续|続けて)\W*",
    re.IGNORECASE,
)


JUDGED_LENGTH = 600  # of an agent's last message in a turn: a refusal comes first
RECENT_RESPONSES = 16  # repeats of a response are close together; these may be repeated in the next pass
_APPLIES_ANSWERS = ("aider",)  # an answer holds the edits, which the host applies after it
_PROSE_FILES = (".md", ".txt", ".rst", ".adoc")


NO_EDIT = -1


class Reducer:
    """Feeds a digest. Several passes over a growing file may share one digest."""

    def __init__(self, digest: Digest) -> None:
        self.digest = digest
        is_new = not (digest.turns or digest.usage)
        digest.watched = digest.watched or is_new
        if is_new and digest.before_edit is None:
            digest.before_edit = NO_EDIT
        self.harvester = Harvester(digest.harvest, digest.cwd)
        self._last = digest.spans[-1][1] if digest.spans else 0.0
        self._response_key: str | None = None
        self._response: OpenResponse | None = None  # the last one reported, often several times in a row
        self._earlier = set(digest.open_responses)  # from an earlier pass: hashes of their ids
        self._takers: dict[type, Callable[[Any], None]] = {
            Began: self._began,
            UserTurn: self._user,
            AgentTurn: self._agent,
            ToolCall: self._call,
            ToolResult: self._result,
            TodoList: self._todos,
            Asked: self.harvester.asked,
            Planned: self.harvester.planned,
            UsageReport: self._usage,
            Compaction: self._compaction,
            Guided: self.harvester.guided,
            Interruption: self._interruption,
            ApiFailure: self._api_failure,
            Tick: lambda event: None,  # time was counted already
        }

    def take_all(self, events: Iterable[Event]) -> None:
        takers = self._takers
        spans = self.digest.spans
        last = self._last
        start, end = spans[-1] if spans else (inf, inf)
        latest = end + IDLE_SECONDS
        for event in events:
            at = event.at
            if at is not None and at != last:
                if start <= at <= latest:  # time runs forward, mostly
                    if at > end:
                        end, latest = at, at + IDLE_SECONDS
                else:
                    _put(spans, start, end)
                    add_to_spans(spans, at)
                    start, end = spans[-1]
                    latest = end + IDLE_SECONDS
                last = at
            takers[type(event)](event)
        _put(spans, start, end)
        self._last = last
        self._seal_responses()
        if spans:
            self.digest.first_at, self.digest.last_at = spans[0][0], spans[-1][1]

    def _began(self, event: Began) -> None:
        digest = self.digest
        for name in ("session", "agent", "parent", "branch", "version", "provider"):
            setattr(digest, name, getattr(event, name) or getattr(digest, name))
        digest.cwd = self.harvester.cwd = digest.cwd or event.cwd
        if event.cwd:
            below = self._relative(event.cwd)
            digest.below = "" if below == event.cwd or below.startswith(".") else below
        digest.headless = digest.headless or event.headless
        if event.title:
            digest.title = cut_raw(event.title, TITLE_LENGTH)

    def _turn(self) -> Turn:
        """Return the current turn. Work before any prompt (a resumed file, a subagent) opens one without text."""
        if not self.digest.turns:
            self.digest.turns.append(Turn(None, ""))
        return self.digest.turns[-1]

    def _user(self, event: UserTurn) -> None:
        if event.text[:1] == "<" and (unwrapped := unwrap_prompt(event.text)) != event.text:
            event = msgspec.structs.replace(event, text=unwrapped)
        self.harvester.person(event)
        turns = self.digest.turns
        text = cut_raw(event.text, PROMPT_LENGTH)
        if turns and not event.command and (_GO_ON.fullmatch(text[:60]) or _asked_again(turns[-1], text)):
            # The same work continues: an interruption did not end it.
            turns[-1].interrupted = turns[-1].rejected = False
            turns[-1].api_error = ""
            return
        if turns and (event.feedback or (turns[-1].rejected and not event.command)):
            # A message with a declined step, or right after it, steers the same work.
            turns[-1].rejected = turns[-1].interrupted = turns[-1].handed_over = False
            turns[-1].sealed = False
            turns[-1].feedback.append(cut_raw(text, EVIDENCE_LENGTH))
            return
        if len(turns) >= MOST_TURNS:
            turns[-1].answered = False
            return
        if turns:  # only the last message of a session is shown in full
            turns[-1].final = cut_raw(turns[-1].final, JUDGED_LENGTH // LEEWAY)
        turns.append(Turn(event.at, text, command=event.command))

    def _agent(self, event: AgentTurn) -> None:
        self.harvester.agent(event)
        turn = self._turn()
        turn.final = cut_raw(event.text, FINAL_LENGTH // LEEWAY)
        turn.answered, turn.final_edit = True, False
        turn.interrupted = turn.rejected = False
        turn.api_error = ""

    def _call(self, event: ToolCall) -> None:
        digest, turn = self.digest, self._turn()
        digest.tool_calls += 1
        turn.calls += 1
        turn.final_edit = (turn.answered or turn.final_edit) and digest.agent in _APPLIES_ANSWERS
        turn.answered = turn.interrupted = turn.rejected = False
        target = event.target
        if event.action == "shell":
            command = cut_raw(target, COMMAND_LENGTH // LEEWAY)
            commands = digest.commands
            if command in commands or len(commands) < MOST_COMMANDS:
                commands[command] = commands.get(command, 0) + 1
        if event.action == "edit":
            target = "\n".join(event.paths)
            if digest.before_edit == NO_EDIT:
                digest.before_edit = digest.tool_calls - 1
        digest.open_calls[event.call] = OpenCall(
            event.action, cut_raw(target, TARGET_LENGTH // LEEWAY), len(digest.turns) - 1, digest.below
        )
        if event.action in ("read", "edit"):
            for path in event.paths:
                self._count(path, reads=1)
            for path, text in zip(event.paths, event.written, strict=False):
                note_names(digest.names, self._relative(path), text)

    def _relative(self, path: str) -> str:
        cwd = self.digest.cwd
        return path[len(cwd) + 1 :] if cwd and path.startswith(cwd + "/") else path

    def _from_here(self, command: str) -> str:
        """Remove a `cd` into the directory that the session is already in."""
        prefix = f"cd {self.digest.cwd}"
        if len(prefix) > 3 and command.startswith(prefix):
            rest = command[len(prefix) :]
            if rest.startswith("/"):
                return f"cd {rest[1:]}"
            return rest.lstrip().removeprefix("&&").lstrip() if rest.lstrip().startswith("&&") else command
        return command

    def _result(self, event: ToolResult) -> None:
        digest = self.digest
        call = digest.open_calls.pop(event.call, None)
        if call is None:
            return
        turn = digest.turns[call.turn] if 0 <= call.turn < len(digest.turns) else self._turn()
        turn.sealed = False
        if call.action == "shell":
            self.harvester.below = "" if call.target.lstrip().startswith("cd ") else call.below
            self.harvester.ended("shell", self._from_here(call.target), event)
        elif call.action in ("edit", "read"):
            self.harvester.ended(call.action, self._relative(call.target), event)
            if call.action == "read" and event.ok is False and "not exist" in event.text[:200]:
                self._count(call.target, reads=-1)  # the file does not exist
        elif call.action == "search":
            if event.ok is False:
                if path := missing_in(event.text):
                    self.harvester.ended("search", self._relative(path), event)
            elif digest.harvest.slips:  # it may show where a missing file is
                self.harvester.ended("search", f"{digest.cwd}/", event)
        elif call.action == "web" and event.ok is False:
            self.harvester.ended("web", call.target, event)
        if event.rejected and call.action == "plan":
            # Claude Code records a plan that was accepted with a fresh context as refused. A plan that the person
            # refuses with words is followed by these.
            turn.handed_over = turn.answered = True
            return
        if event.rejected:
            turn.rejected = True
            return
        if event.own_fault:
            return  # it never ran: neither success nor failure
        if call.action == "shell" and checks.answers_no(call.target, event.exit_code, event.text):
            return
        if event.ok is False:
            digest.failed_calls += 1
        if call.action == "shell":
            self._ran(call.target, event, turn)
        elif call.action == "edit" and event.ok is not False:
            turn.edits += 1
            turn.failure = None
            paths = call.target.splitlines()
            for path in paths:
                self._count(path, reads=-1, edits=1)
            if not all(path.lower().endswith(_PROSE_FILES) for path in paths):
                # Checks that passed before this edit say nothing about the code after it.
                turn.checks = {kind: check for kind, check in turn.checks.items() if not check.passed}

    def _count(self, path: str, *, reads: int, edits: int = 0) -> None:
        """Update the read and edit counts of a file. A call counts as a read until its result says otherwise."""
        files, path = self.digest.files, self._relative(path)
        if path in files or (reads > 0 and len(files) < MOST_FILES):
            before = files.get(path, (0, 0))
            files[path] = (max(before[0] + reads, 0), before[1] + edits)
            if files[path] == (0, 0):
                del files[path]

    def _ran(self, command: str, event: ToolResult, turn: Turn) -> None:
        kinds = checks.check_kinds(command)
        if kinds and checks.runs_elsewhere(command, self.digest.cwd):
            return  # it says nothing about this repository
        kind = kinds[0] if kinds else None
        commits = checks.commits_in(command, event.text, event.ok)
        self.digest.commits += commits
        turn.commits += commits
        if commits:
            self.harvester.committed(command, event)
            # A commit comes after the work: what was red before it is settled.
            turn.checks = {name: check for name, check in turn.checks.items() if check.passed}
            turn.failure = None
        if event.ok is False and checks.lacks_network(command, event.text):
            return  # the work is done; only the network was missing
        trusted = bool(kinds) and event.ok is not None and checks.exit_code_counts(command)
        failure_line = checks.says_failed(event.text) if kind and not trusted else ""
        if event.ok is False or failure_line:
            reason, evidence = checks.why_failed(event.text, kind, event.exit_code)
            turn.failure = CheckResult(
                False,
                reason,
                cut_raw(evidence or failure_line, EVIDENCE_LENGTH // LEEWAY),
                cut_raw(self._from_here(command), EVIDENCE_LENGTH // LEEWAY),
            )
            if kind and checks.failed_in_check(command, event.text):
                turn.checks[kind] = turn.failure
            return
        turn.failure = None
        if event.ok and checks.publishes(command):
            turn.published = True
            turn.checks = {name: check for name, check in turn.checks.items() if check.passed}
        if kinds and (trusted or (event.ok and kind != "test") or checks.says_passed(event.text)):
            self.harvester.verified(self._from_here(command), event)
            for check in kinds:
                turn.checks[check] = CheckResult(True, "", cut_raw(command, EVIDENCE_LENGTH // LEEWAY))
                self.digest.verified[check] = cut_raw(command, COMMAND_LENGTH // LEEWAY)

    def _todos(self, event: TodoList) -> None:
        todos = self.digest.todos
        turn = self._turn()
        number = len(self.digest.turns) - 1
        turn.sealed = False
        listed = {cut_raw(" ".join(item.text.split()), TITLE_LENGTH // LEEWAY): item for item in event.items}
        if not listed.keys() <= todos.keys():
            # New items mean a new plan: open items that are missing from it are removed. Otherwise they were skipped.
            for text in [text for text, item in todos.items() if item.status != "completed"]:
                if text not in listed:
                    del todos[text]
        for text, item in listed.items():
            existing = todos.get(text)
            if existing is None:
                if len(todos) < MOST_TODOS:
                    todos[text] = TodoItem(item.status, number, event.at)
            else:
                existing.status = item.status

    def _usage(self, event: UsageReport) -> None:
        key, response, waiting = event.key, self._response, self.digest.open_responses
        if key != self._response_key:
            response = waiting.get(key) or (waiting.get(_sealed_key(key)) if self._earlier else None)
        if response is None:
            response = waiting[key] = OpenResponse(
                event.model, sane(event.usage), event.cost_usd, event.written
            )
            if len(waiting) > OPEN_RESPONSES:
                settle_responses(self.digest, OPEN_RESPONSES // 2)
        else:
            response.written += event.written
            if max(event.usage.output, 0) >= response.usage.output:
                response.usage, response.model = sane(event.usage), event.model
        if self.digest.turns:
            self.digest.turns[-1].reported = True
        self._response_key, self._response = key, response

    def _seal_responses(self) -> None:
        """Replace the ids of recent responses with hashes; drop all others."""
        digest = self.digest
        settle_responses(digest, RECENT_RESPONSES)
        digest.open_responses = {
            key if key in self._earlier else _sealed_key(key): response
            for key, response in digest.open_responses.items()
        }
        self._earlier = set(digest.open_responses)

    def _compaction(self, event: Compaction) -> None:
        self.digest.compactions += 1
        self.harvester.summary(event)

    def _interruption(self, event: Interruption) -> None:
        turn = self._turn()
        turn.interrupted = True
        turn.sealed = False

    def _api_failure(self, event: ApiFailure) -> None:
        turn = self._turn()
        turn.api_error = cut_raw(event.text, EVIDENCE_LENGTH) or "the model's service failed"
        turn.sealed = False


def _put(spans: list[tuple[float, float]], start: float, end: float) -> None:
    """Extend the current activity span."""
    if spans:
        spans[-1] = (start, end)


def _sealed_key(key: str) -> str:
    return blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _asked_again(turn: Turn, text: str) -> bool:
    """Whether the person repeats a request that was interrupted."""
    stopped = turn.interrupted or turn.rejected or turn.api_error
    return bool(stopped) and turn.text[: PROMPT_LENGTH - 1] == text[: PROMPT_LENGTH - 1]


def settle_responses(digest: Digest, keep: int) -> None:
    """Add the oldest open responses to the totals, by model and price step."""
    waiting = digest.open_responses
    if len(waiting) <= keep:
        return
    totals = {(total.model, total.band): total for total in digest.usage}
    for key in list(waiting)[: len(waiting) - keep]:
        response = waiting.pop(key)
        band = bisect_left(PRICE_STEPS, response.usage.prompt_tokens)
        total = totals.get((response.model, band))
        if total is None:
            total = totals[response.model, band] = UsageTotal(response.model, band, Usage())
            digest.usage.append(total)
        total.usage = total.usage + response.usage
        total.responses += 1
        digest.low_output += is_low(response.written, response.usage.output)
        if response.stated_usd is not None:
            total.stated_usd = (total.stated_usd or 0.0) + response.stated_usd
