"""SpecStory: `.specstory/history/*.md`, other agents' sessions written down as markdown.

Who spoke when, which tools ran and what they answered is there; tokens are not, so nothing is said of cost.
These are copies: where the agent's own transcript is known, that one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.agents.claude_code.reader import ACTIONS, COMMAND_NAME, INTERRUPTED, commanded
from holdfast.agents.contract import Claims, Glance, OneSessionPerFile, ReadAnew, Warned
from holdfast.agents.jsonl import excerpt, seconds, tick, unreadable
from holdfast.agents.loose import patched_paths
from holdfast.core.errors import TranscriptError
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

_OPENING = lazy_regex(r'<tool-use(?: data-tool-type="([^"]*)")?(?: data-tool-name="([^"]*)")?')
_SUMMARY = lazy_regex(r"<summary>(.*?)</summary>", re.DOTALL)
_FENCED = lazy_regex(r"^(`{3,}|~{3,})([\w+-]*)[^\n]*\n(.*?)(?:\n\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_INLINE = lazy_regex(r"`([^`\n]+)`")
_WRITTEN = lazy_regex(r"(?:File created successfully at: |The file )(/\S+|[A-Za-z]:\\\S+)")
_TITLED = lazy_regex(r"• \w+ file: ([^\n<]+)")  # as the IDE's tools are summed up
_EXIT = lazy_regex(r"\A(?:Exit code:? (\d+)|.{0,200}?Process exited with code (\d+))", re.DOTALL)
_TODO = lazy_regex(r"^- \[(.{1,2})\] (?:[🔥🌡❄]\ufe0f? )?(.+?)\s*$", re.MULTILINE)
_REJECTED = "The user doesn't want to proceed with this tool use"
_USER_SAID = "the user said:\n"
_KINDS: dict[str, ev.Action] = {"shell": "shell", "read": "read", "write": "edit", "search": "search"}
_NAMES: dict[str, ev.Action] = {
    "shell": "shell",
    "exec_command": "shell",
    "update_plan": "todo",
    "apply_patch": "edit",
}
_MARKS: dict[str, ev.TodoStatus] = {"X": "completed", "x": "completed", "⚡": "in_progress"}
LARGEST = 256 * 1024 * 1024
_SESSION = lazy_regex(
    r"^<!-- (.{1,60}?) Session ([0-9A-Za-z_-]{8,80})(?: \(([^)]*)\))? -->\s*$", re.MULTILINE
)
_HEADER = lazy_regex(r"_\*\*(User|Agent|Assistant)( - sidechain)?(?: \((.*)\))?\*\*_\s*")
_STAMP = lazy_regex(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)\Z")
_THOUGHT = lazy_regex(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = lazy_regex(r"(`{3,}|~{3,})")
_TOOL_START, _TOOL_END = "<tool-use data-tool-", "</tool-use>"
_CLIENT_BLOCK = lazy_regex(
    r"<(system-reminder|ide_\w+|local-command-caveat|task-notification)\b.*?(?:</\1>|\Z)", re.DOTALL
)
_NOT_HUMAN = (
    "<local-command-",
    "<bash-",
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
)
_AGENTS = {
    "claude code": "claude-code",
    "gemini cli": "gemini",
    "codex cli": "codex",
    "github copilot": "copilot",
}


def tool_events(block: str, call: str, at: float | None, agent: str) -> Iterator[ev.Event]:
    opening = _OPENING.match(block)
    kind, name = (opening[1] or "", opening[2] or "") if opening else ("", "")
    if not name and (bold := re.search(r"\*\*([^*]+)\*\*", block)):
        name = bold[1]
    action = ACTIONS.get(name) or _KINDS.get(kind) or _NAMES.get(name, "other")
    body = _SUMMARY.sub(lambda found: found[1], block.partition(">")[2], count=1)
    fences = [(found[2], found[3]) for found in _FENCED.finditer(body)]
    output = fences[-1][1] if fences and fences[-1][0] in ("", "text") else ""
    paths = _paths(action, body, output)
    yield ev.ToolCall(at, call, name, action, _target(action, body, fences, paths), paths)
    if action == "todo" and (items := _todos(body)):
        yield ev.TodoList(at, items)
    yield from _ended(output, "**Error:**" in body, call, at, says_so=agent == "claude-code")


def _ended(output: str, stated: bool, call: str, at: float | None, *, says_so: bool) -> Iterator[ev.Event]:
    """Claude prefixes what went wrong; of the others only a stated exit code or error is known."""
    match = _EXIT.match(output)
    code = int(match[1] or match[2]) if match else None
    rejected = output.startswith(_REJECTED)
    refused = output.startswith("<tool_use_error>")
    failed = rejected or refused or stated or bool(code)
    ok = False if failed else True if says_so or code == 0 else None
    yield ev.ToolResult(
        at, call, ok=ok, text=excerpt(output), exit_code=code, rejected=rejected, own_fault=refused
    )
    if rejected and _USER_SAID in output:
        yield ev.UserTurn(at, output.split(_USER_SAID, 1)[1].strip(), feedback=True)
    if output.startswith("[Request interrupted by user"):
        yield ev.Interruption(at)


def _before_output(body: str) -> str:
    return body[: fence.start()] if (fence := _FENCED.search(body)) else body


def _paths(action: ev.Action, body: str, output: str) -> tuple[str, ...]:
    if action not in ("edit", "read"):
        return ()
    if patched := patched_paths(body):
        return patched
    before = _before_output(body)
    if match := _TITLED.search(before) or _INLINE.search(before):
        return (match[1].strip().removeprefix("./"),)
    written = _WRITTEN.search(output[:500])
    return (written[1].rstrip(".,"),) if written else ()


def _target(action: ev.Action, body: str, fences: list[tuple[str, str]], paths: tuple[str, ...]) -> str:
    if action in ("edit", "read"):
        return paths[0] if paths else ""
    if action == "shell" and fences and fences[0][0] in ("bash", "sh", "shell", "powershell"):
        return fences[0][1]
    if action == "todo":
        return ""
    named = _INLINE.findall(_before_output(body))
    if action == "shell":
        return named[-1] if named else ""
    return " ".join(named)


def _todos(body: str) -> tuple[ev.Todo, ...]:
    return tuple(
        ev.Todo(words, _MARKS.get(mark.rstrip("\ufe0f"), "pending")) for mark, words in _TODO.findall(body)
    )


class Entry(Struct):
    """What one side said at one time: its text, and the tools it used."""

    number: int
    role: str
    aside: bool  # a subagent's, or what the client asked on its own
    at: float | None
    text: list[str]
    tools: list[str]

    @property
    def key(self) -> str:
        """The same in every version of the file: what was left out before it may differ."""
        digest = blake2b("\n".join(self.text + self.tools).encode("utf-8", "replace"), digest_size=8)
        return f"{self.at or self.number}:{self.role}:{digest.hexdigest()}"


class HistoryReading(ReadAnew):
    def __init__(self, path: Path, claims: Claims) -> None:
        super().__init__(claims)
        self._path = path

    def events(self) -> Iterator[ev.Event]:
        source = self._source()
        header = _SESSION.search(source)
        if header is None:
            self.warnings.append(Warned(str(self._path), 1, "no-session", "names no session, left out"))
            return
        agent, session = agent_id(header[1]), header[2]
        began = False
        command_at: float | None = None
        for entry in entries(source[header.end() :]):
            if self._claims.foreign(f"specstory:{session}:{entry.key}"):
                continue
            if not began:
                began = True
                at = entry.at or seconds(header[3] or "")
                yield ev.Began(at, session=session, agent=agent, cwd=project_of(self._path))
            yield from _events(
                entry, session, agent, expanded=entry.at is not None and entry.at == command_at
            )
            if entry.role == "User" and COMMAND_NAME.search("\n".join(entry.text)):
                command_at = entry.at

    def _source(self) -> str:
        try:
            self._size = self._path.stat().st_size
            if self._size > LARGEST:
                raise TranscriptError("too large for a written-down session", where=str(self._path))
            return self._path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
        except OSError as error:
            raise unreadable(self._path, error) from error


class SpecStory(OneSessionPerFile):
    agent = "specstory"
    title = "SpecStory"
    appends = False
    copies = True

    def roots(self, places: Places) -> Iterable[Path]:
        if places.project is not None:
            yield places.project / ".specstory" / "history"

    def candidates(self, root: Path) -> Iterable[Path]:
        return sorted(root.rglob("*.md"))

    def recognise(self, path: Path, head: bytes) -> bool:
        start = head[:4096].decode("utf-8-sig", "replace").replace("\r\n", "\n")
        return bool(_SESSION.search(start)) and ("SpecStory" in start or "_**" in start)

    def glance(self, path: Path, head: bytes) -> Glance:
        header = _SESSION.search(head[:4096].decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        return Glance(project_of(path), seconds(header[3] or "") if header else None)

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> HistoryReading:
        return HistoryReading(path, claims)


def agent_id(name: str) -> str:
    """Our name for the agent that SpecStory names."""
    plain = name.strip().lower()
    bare = re.sub(r"\s+(?:cli|ide|tui)$", "", plain)
    return _AGENTS.get(plain) or re.sub(r"[^a-z0-9]+", "-", bare).strip("-") or "specstory"


def project_of(path: Path) -> str:
    """The work tree in which the history lies; elsewhere the file does not say where the session ran."""
    folders = path.absolute().parents
    for folder in folders:
        if folder.name == ".specstory":
            return str(folder.parent)
    return ""


def entries(source: str) -> Iterator[Entry]:
    entry: Entry | None = None
    tool: list[str] = []
    fence = ""
    number = 0
    for line in source.split("\n"):
        if tool:
            tool.append(line)
            fence = _within(fence, line)
            if not fence and _TOOL_END in line:
                if entry is not None:
                    entry.tools.append("\n".join(tool))
                tool = []
        elif header := _HEADER.fullmatch(line):
            if entry is not None:
                yield entry
            number += 1
            stamp = _STAMP.search(header[3] or "")
            at = seconds(stamp[1]) if stamp else None
            entry = Entry(number, header[1], bool(header[2]), at, [], [])
        elif line.startswith(_TOOL_START):
            tool, fence = [line], ""
            if _TOOL_END in line:
                tool = []
        elif entry is not None:
            entry.text.append(line)
    if entry is not None:
        if tool:  # the file ends within it
            entry.tools.append("\n".join(tool))
        yield entry


def _within(fence: str, line: str) -> str:
    """The fence that is open after this line. A tool's output may hold anything, also the end of a tool."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    return "" if mark[1].startswith(fence) and not line[len(mark[1]) :].strip() else fence


def _events(entry: Entry, session: str, agent: str, *, expanded: bool) -> Iterator[ev.Event]:
    words = _THOUGHT.sub("", "\n".join(entry.text)).strip()
    words = re.sub(r"(?:\n|\A)---\s*\Z", "", words).strip()
    if entry.role == "User":
        if not entry.aside and words:
            yield from _person(words, entry.at, expanded=expanded)
    elif words and not entry.aside:
        yield ev.AgentTurn(entry.at, words)
    for number, block in enumerate(entry.tools):
        yield from tool_events(block, f"{session}:{entry.number}:{number}", entry.at, agent)
    yield from tick(entry.at)


def _person(words: str, at: float | None, *, expanded: bool) -> Iterator[ev.Event]:
    """A person's words; `expanded` text stands where a command was given, in the command's own words."""
    if words.startswith(INTERRUPTED):
        yield ev.Interruption(at)
    elif name := COMMAND_NAME.search(words):
        yield from commanded(name[1], words, at)
    elif not words.startswith(_NOT_HUMAN) and not expanded:
        plain = _CLIENT_BLOCK.sub("", words).strip()
        if plain:
            yield ev.UserTurn(at, plain)
