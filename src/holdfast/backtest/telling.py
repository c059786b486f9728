"""What the hooks would have told a session at each of its steps: by their own code, from what was prepared for them.

Left out is what depends on a running host: notices of changes since the session last looked, what a session wrote down
about itself before a compaction, and hints for the person.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from holdfast.backtest.past import Past
from holdfast.backtest.scratch import remove
from holdfast.backtest.walk import Step, Walk
from holdfast.briefing.file_pointers import prompt_words, repository_path
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import LOAD_FROM, Place, is_checkout
from holdfast.hooks import moment, start_lines, trace
from holdfast.hooks import prompt as prompts
from holdfast.hooks.host_protocol import MOMENT, PROMPT, READ, START, Call
from holdfast.hooks.offers import COMMANDS_HEADING, HEADING
from holdfast.hooks.prepared import Prepared
from holdfast.hooks.ranking import path_lines

if TYPE_CHECKING:
    from holdfast.hooks.start_lines import Lines

When = Literal["start", "first prompt", "later prompt", "file", "command", "question"]
HOST = "claude-code"
_COMMAND = lazy_regex(
    r"[a-z][a-z ]{2,20}: `[^`]+`(?: \[L-[0-9a-z]{6}\])?\Z"
)  # a lesson on how something is run here
_ON_BRANCH = lazy_regex(r" \(on ([^\s()]+)\)\Z")
_FOLDER_LINE = "folder of what is below it"
_TOOLS = {"shell": moment.SHELL, "read": READ, "edit": "Edit", "ask": moment.ASK}
_AT: dict[str, When] = {"shell": "command", "read": "file", "edit": "file", "ask": "question"}


class ToldLine(Struct, frozen=True, kw_only=True):
    """One line, and the step before which the session had it. `path` is set for a pointer to a file.

    `shown` is false of headings and links to files: they cost tokens, and say nothing that could be used.
    """

    text: str
    reason: str
    when: When
    step: int
    tokens: int
    path: str = ""
    shown: bool = True


class Teller:
    """Asks the prepared memory what it would have said."""

    def __init__(self, past: Past, place: Place) -> None:
        self._memory = str(past.project.memory)
        self._root = str(past.project.root)
        self._place = place
        self._prepared = Prepared(self._memory)
        self._has_files = is_checkout(past.project.root)
        rows = self._prepared.db.execute("SELECT tool, key FROM moment").fetchall()
        self._programs = {key for tool, key in rows if tool == moment.SHELL}
        self._names = {os.path.basename(key) for tool, key in rows if tool == READ}
        self._asks = any(tool == moment.ASK for tool, _ in rows)

    def close(self) -> None:
        self._prepared.db.close()

    def told(self, walk: Walk, session: str, now: float) -> list[ToldLine]:
        for name in ("why.jsonl", "why.jsonl.1"):
            remove(Path(self._memory, name))
        telling = _Session(self, walk, session, now)
        return list(telling.lines())

    def may_matter(self, step: Step) -> bool:
        """Whether a prepared line can be about this call, by the words that every such call has."""
        if step.did == "ask":
            return self._asks
        if step.did == "shell":
            return any(word in step.text for word in self._programs) or any(
                name in step.text for name in self._names
            )
        return step.did in ("read", "edit") and any(
            os.path.basename(path) in self._names for path in step.paths
        )


class _Session:
    """One session's hooks, from its start to its end."""

    def __init__(self, teller: Teller, walk: Walk, session: str, now: float) -> None:
        self._teller, self._walk, self._session, self._now = teller, walk, session, now
        self._earlier: list[list[str]] = []
        self._touched: set[str] = set()

    def lines(self) -> Iterator[ToldLine]:
        yield from self._start()
        for number, step in enumerate(self._walk.steps):
            if step.did == "prompt":
                yield from self._prompt(number, step)
            elif step.did == "compaction":
                self._compacted(step)
            elif step.did in _TOOLS and self._teller.may_matter(step):
                yield from self._moment(number, step)
            if step.did in ("read", "edit"):
                self._touched.update(self._inside(step))

    def _inside(self, step: Step) -> list[str]:
        root = Path(self._teller._root)
        return [path for given in step.paths if (path := repository_path(given, step.cwd, root))]

    def _call(self, event: str, at: float | None, **payload: Any) -> Call:
        call = Call(HOST, event, event, {"session_id": self._session, **payload})
        call.now = self._now if at is None else at
        return call

    def _start(self) -> Iterator[ToldLine]:
        place, prepared = self._teller._place, self._teller._prepared
        call = self._call(START, None, source="startup")
        told = start_lines.choose(prepared, place.memory, call.payload, place.branch())
        lines, _ = start_lines.fitting(self._of_its_branch(told.lines), start_lines.START_TOKENS)
        self._record(call, lines)
        yield from _as_lines(lines, "start", 0)

    def _of_its_branch(self, lines: Lines) -> Lines:
        """Without a checkout memory tells the state of all branches, each with its name; in one that of its own."""
        branch = self._teller._place.branch()
        if not branch or self._teller._has_files:
            return lines
        return [line for line in lines if (on := _ON_BRANCH.search(line[0])) is None or on[1] == branch]

    def _prompt(self, number: int, step: Step) -> Iterator[ToldLine]:
        place, prepared = self._teller._place, self._teller._prepared
        text = step.text.encode("utf-8", "replace").decode()
        if not text.strip():
            return
        heard = prompts.heard_by(place.memory, self._session)
        heard.files |= self._touched
        first = not self._earlier
        call = self._call(PROMPT, step.at, prompt=text)
        answer = prompts.choose(
            prepared.db,
            text,
            self._session,
            heard,
            self._teller._root if self._teller._has_files else None,
            list(self._earlier),
            project=prepared.project_of(self._session, place.branch()),
            branch=place.branch(),
            cwd=step.cwd if self._teller._has_files else "",
            memory=place.memory,
            as_of=call.now,
        )
        self._earlier.append(prompt_words(text))
        self._record(call, answer.lines, {"class": answer.kind, "files": answer.files})
        paths = dict(path_lines(answer.files))
        yield from _as_lines(answer.lines, "first prompt" if first else "later prompt", number, paths)

    def _moment(self, number: int, step: Step) -> Iterator[ToldLine]:
        place = self._teller._place
        call = self._call(MOMENT, step.at, tool_name=_TOOLS[step.did], tool_input=_input(step), cwd=step.cwd)
        if not moment.respond(self._teller._prepared, call, [place.root, step.cwd or place.root], place):
            return
        entries = trace.told_to(place.memory, self._session)
        lines = [(line["text"], line["reason"]) for line in entries[0]["lines"]] if entries else []
        when: When = "file" if entries and entries[0].get("tool") == READ else _AT[step.did]
        yield from _as_lines(lines, when, number)

    def _compacted(self, step: Step) -> None:
        """What was told before is lost, and may be told again."""
        self._record(self._call(START, step.at, source="compact"), [])

    def _record(
        self, call: Call, lines: Sequence[tuple[str, str]], more: dict[str, object] | None = None
    ) -> None:
        tokens = sum(start_lines.count_tokens(text) for text, _ in lines)
        place = self._teller._place
        trace.record(place.memory, trace.entry(call, place), lines, tokens, **(more or {}))


def _input(step: Step) -> dict[str, object]:
    if step.did == "shell":
        return {"command": step.text}
    if step.did == "ask":
        options = [{"label": name, "description": ""} for name in step.paths]
        return {"questions": [{"question": step.text, "options": options}]}
    return {"file_path": step.paths[0] if step.paths else ""}


def _as_lines(
    lines: Sequence[tuple[str, str]], when: When, step: int, paths: dict[str, str] | None = None
) -> Iterator[ToldLine]:
    for text, reason in lines:
        path = (paths or {}).get(text, "")
        yield ToldLine(
            text=text,
            reason=reason,
            when=when,
            step=step,
            tokens=start_lines.count_tokens(text),
            path=path,
            shown=bool(path) or not (text == HEADING or reason == _FOLDER_LINE or text.startswith(LOAD_FROM)),
        )


def commands_in(text: str) -> list[str]:
    """The commands that a line of commands lists."""
    is_list = text.startswith(COMMANDS_HEADING) or _COMMAND.match(text)
    return text.split("`")[1::2] if is_list else []
