"""SpecStory: `.specstory/history/*.md`, other agents' sessions written down as markdown.

Who spoke when, which tools ran and what they answered is there; tokens are not, so nothing is said of cost.
These are copies: where the agent's own transcript is known, that one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from holdfast.errors import TranscriptError
from holdfast.model.session import AgentTurn, Began, Event, Interruption, Tick, UserTurn
from holdfast.transcripts.claude_code import COMMAND_NAME, INTERRUPTED, commanded
from holdfast.transcripts.contract import Claims, Glance, OneSessionPerFile, Places, ReadAnew, Warned
from holdfast.transcripts.jsonl import seconds, unreadable
from holdfast.transcripts.specstory_tools import tool_events

LARGEST = 256 * 1024 * 1024
_SESSION = re.compile(
    r"^<!-- (.{1,60}?) Session ([0-9A-Za-z_-]{8,80})(?: \(([^)]*)\))? -->\s*$", re.MULTILINE
)
_HEADER = re.compile(r"_\*\*(User|Agent|Assistant)( - sidechain)?(?: \((.*)\))?\*\*_\s*")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)\Z")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"(`{3,}|~{3,})")
_TOOL_START, _TOOL_END = "<tool-use data-tool-", "</tool-use>"
_CLIENT_BLOCK = re.compile(
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
        said = blake2b("\n".join(self.text + self.tools).encode("utf-8", "replace"), digest_size=8)
        return f"{self.at or self.number}:{self.role}:{said.hexdigest()}"


class HistoryReading(ReadAnew):
    def __init__(self, path: Path, claims: Claims) -> None:
        super().__init__(claims)
        self._path = path

    def events(self) -> Iterator[Event]:
        source = self._source()
        named = _SESSION.search(source)
        if named is None:
            self.warnings.append(Warned(str(self._path), 1, "no-session", "names no session, left out"))
            return
        agent, session = agent_id(named[1]), named[2]
        began = False
        command_at: float | None = None
        for entry in entries(source[named.end() :]):
            if self._claims.foreign(f"specstory:{session}:{entry.key}"):
                continue
            if not began:
                began = True
                at = entry.at or seconds(named[3] or "")
                yield Began(at, session=session, agent=agent, cwd=project_of(self._path))
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
        named = _SESSION.search(head[:4096].decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        return Glance(project_of(path), seconds(named[3] or "") if named else None)

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


def _events(entry: Entry, session: str, agent: str, *, expanded: bool) -> Iterator[Event]:
    words = _THOUGHT.sub("", "\n".join(entry.text)).strip()
    words = re.sub(r"(?:\n|\A)---\s*\Z", "", words).strip()
    if entry.role == "User":
        if not entry.aside and words:
            yield from _person(words, entry.at, expanded=expanded)
    elif words and not entry.aside:
        yield AgentTurn(entry.at, words)
    for number, block in enumerate(entry.tools):
        yield from tool_events(block, f"{session}:{entry.number}:{number}", entry.at, agent)
    if entry.at is not None:
        yield Tick(entry.at)


def _person(words: str, at: float | None, *, expanded: bool) -> Iterator[Event]:
    """A person's words; `expanded` text stands where a command was given, in the command's own words."""
    if words.startswith(INTERRUPTED):
        yield Interruption(at)
    elif name := COMMAND_NAME.search(words):
        yield from commanded(name[1], words, at)
    elif not words.startswith(_NOT_HUMAN) and not expanded:
        plain = _CLIENT_BLOCK.sub("", words).strip()
        if plain:
            yield UserTurn(at, plain)
