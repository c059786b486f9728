"""aider: `.aider.chat.history.md` in the work tree, one file for all chats, only ever appended to.

Each chat is a session. Only its start has a time; what happened is read from the lines that aider printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.agent_kit.contract import BaseReader, Claims, Glance, ReadAnew
from holdfast.agent_kit.jsonl import excerpt, unreadable
from holdfast.core.errors import TranscriptError
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

START = lazy_regex(rb"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[ \t]*\r?$", re.MULTILINE)
_FENCE = lazy_regex(r"(`{3,}|~{3,})")
# What aider itself sends back to the model, and the answer to its own question, look like a person's words.
_NOT_HUMAN = lazy_regex(
    r"# Fix (?:any|the) errors below|I ran (?:this command|and saw this output):|[^\n]*\(Y\)es/\(N\)o[^\n]*\]: *\w*\Z"
)
# Each line of a request ends with two spaces; a heading of the same level in an answer does not. Files whose trailing
# spaces were removed have no such line.
_SPACED = lazy_regex(rb"^####(?: [^\n]*)?  \r?$", re.MULTILINE)
# Commands that aider answers itself: they send nothing to the model.
LOCAL_COMMANDS = frozenset((
    "add", "chat-mode", "clear", "commit", "copy", "copy-context", "diff", "drop", "edit", "editor", "editor-model",
    "ex", "exit", "git", "lint", "load", "ls", "map", "map-refresh", "model", "models", "multiline-mode", "paste",
    "quit", "read-only", "reasoning-effort", "report", "reset", "save", "settings", "think-tokens",
    "thinking-tokens", "tokens", "undo", "voice", "weak-model", "web",
))  # fmt: skip
HISTORY = ".aider.chat.history.md"
LARGEST = 256 * 1024 * 1024
_AMOUNT = r"([\d.,]+)\s?([kM]?)"
_TOKENS = lazy_regex(
    rf"Tokens: {_AMOUNT} sent(?:, {_AMOUNT} cache write)?(?:, {_AMOUNT} cache hit)?, {_AMOUNT} received"
)
_COST = lazy_regex(r"Cost: \$([\d.,]+) (?:message|request|send)")
_MODEL = lazy_regex(r"(?:Models?|Main model): (\S+) with ")
_VERSION = lazy_regex(r"Aider v(\S+)")
_APPLIED = lazy_regex(r"Applied edit to (.+)")
_REFUSED = lazy_regex(r"## \w*NoExactMatch: .* match lines in (.+)")
_SKIPPED = lazy_regex(r"Skipping edits to (.+)")
_COMMIT = lazy_regex(r"Commit ([0-9a-f]{5,40}) (.*)")
_RUNNING = lazy_regex(r"(?:## )?Running:? (.+)")
_TEST_RUN = lazy_regex(r"^={3,} .+ ={3,}$", re.MULTILINE)
_FAULT = lazy_regex(
    r"(?:Unexpected error: |litellm\.(?:\w+\.)*\w*Error\b|Model \S+ has hit a token limit!)(.*)"
)
_UNDONE = "Removed: "  # a commit, by /undo


class Block(Struct, frozen=True):
    """Lines of one kind in a row. `line` is where they stand in the file."""

    kind: Literal["person", "aider", "answer"]
    lines: tuple[str, ...]
    line: int

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


class Chat(Struct, frozen=True):
    """One run of aider. `identity` stays the same when the chat grows and wherever the file is copied."""

    identity: str
    started: str
    body: bytes
    line: int

    @property
    def at(self) -> float | None:
        """Parse aider's local time, which has no zone: it most likely ran on this machine."""
        try:
            return datetime.fromisoformat(self.started).timestamp()
        except (ValueError, OverflowError, OSError):
            return None

    @property
    def fingerprint(self) -> int:
        return int.from_bytes(blake2b(self.body, digest_size=6).digest(), "big")


def chats(content: bytes) -> Iterator[Chat]:
    """Return the chats with a request or with token usage; a start without either has nothing to remember."""
    starts = list(START.finditer(content))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(content)
        body, line = content[start.end() : end], content.count(b"\n", 0, start.end()) + 1
        people = (block for block in blocks(body, line) if block.kind == "person")
        first_request = next((words for block in people if (words := request(block))), None)
        if first_request is not None or b"\n> Tokens: " in body:
            stamp = start[1].decode("ascii")
            seed = f"{stamp}\n{' '.join(first_request or ())}".encode("utf-8", "replace")
            yield Chat(f"aider-{blake2b(seed, digest_size=8).hexdigest()}", stamp, body, line)


def blocks(body: bytes, line: int) -> Iterator[Block]:
    kind: Literal["person", "aider", "answer"] = "answer"
    held: list[str] = []
    begun, fence = line, ""
    spaced = bool(_SPACED.search(body))
    for number, raw in enumerate(body.split(b"\n"), line):
        words = raw.decode("utf-8", "replace").removesuffix("\r")
        now, words = _kind_of(words, bool(fence), spaced)
        if now == "answer" and (mark := _FENCE.match(words)):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif now != "answer":
            fence = ""
        if now != kind:
            if any(part.strip() for part in held):
                yield Block(kind, tuple(held), begun)
            kind, held, begun = now, [], number
        held.append(words)
    if any(part.strip() for part in held):
        yield Block(kind, tuple(held), begun)


def _kind_of(words: str, fenced: bool, spaced: bool) -> tuple[Literal["person", "aider", "answer"], str]:
    ends_so = words.endswith("  ")
    own = ends_so or not fenced
    if (ends_so or not (fenced or spaced)) and (words.startswith("#### ") or words.rstrip() == "####"):
        return "person", words[5:].rstrip()
    if own and (words.startswith("> ") or words.rstrip() == ">"):
        return "aider", words[2:].rstrip()
    return "answer", words


def request(block: Block) -> tuple[str, str] | None:
    """Return a person's words and the command that carried them; None if they request no work."""
    words = block.text
    if not words or words == "<blank>" or _NOT_HUMAN.match(words):
        return None
    if not words.startswith("/"):
        return words, ""
    name, _, rest = words[1:].partition(" ")
    if name in LOCAL_COMMANDS or name in ("run", "test") or not rest.strip():
        return None
    return rest.strip(), f"/{name}"


def command_line(block: Block) -> str:
    """What a person let aider run: `/run …`, `/test …`, `!…`."""
    words = block.text
    if words.startswith("!"):
        return words[1:].strip()
    name, _, rest = words.partition(" ")
    return rest.strip() if name in ("/run", "/test") else ""


class ChatReading(ReadAnew):
    def __init__(self, path: Path, part: str, claims: Claims) -> None:
        super().__init__(claims)
        self._path = path
        self._part = part
        self._calls = 0
        self._model = ""
        self._asked = False  # something, before what may be undone
        self._pending = False  # a request whose answer is not complete
        self._stopped = False  # by the person, before it was

    def events(self) -> Iterator[ev.Event]:
        chat = next((chat for chat in _chats_of(self._path) if chat.identity == self._part), None)
        if chat is None:
            return
        self._size = len(chat.body)
        chat_blocks = list(blocks(chat.body, chat.line))
        version = next(
            (seen[1] for block in chat_blocks for line in block.lines if (seen := _VERSION.match(line))), ""
        )
        request, began = "", False
        for number, block in enumerate(chat_blocks):
            if block.kind == "aider":
                self._notice_model(block)
            if self._claims.repeated(f"{chat.identity}:{number}:{len(block.text)}"):
                continue
            if not began:
                began = True
                yield ev.Began(
                    chat.at, session=chat.identity, cwd=str(self._path.absolute().parent), version=version
                )
            yield from self._block(chat_blocks, number, chat, request)
            request = block.text if block.kind == "person" else request

    def _block(self, found: list[Block], number: int, chat: Chat, said: str) -> Iterator[ev.Event]:
        block = found[number]
        if block.kind == "answer":
            yield ev.AgentTurn(chat.at, _after_output(block.text))
            if self._stopped:  # what there was of the answer is written after the interruption
                yield ev.Interruption(chat.at)
        elif block.kind == "aider":
            yield from self._printed(block, chat, number)
        elif command := command_line(block):
            yield from self._commanded(
                command, list(takewhile(lambda later: later.kind != "person", found[number + 1 :])), chat
            )
        elif (requested := request(block)) is not None:
            words, name = requested
            self._asked = self._pending = True
            self._stopped = False
            if not (
                said.startswith("/") and said.partition(" ")[2].strip() == words
            ):  # written a second time
                yield ev.UserTurn(chat.at, words, command=name)

    def _commanded(self, command: str, later: list[Block], chat: Chat) -> Iterator[ev.Event]:
        """A command that a person gave; when it failed and the model was asked about it, it is a request too."""
        if any(line.startswith("Tokens: ") for block in later for line in block.lines):
            yield ev.UserTurn(chat.at, command, command="/test")
        yield self._call(chat, "run", "shell", command)
        output = "\n".join(block.text for block in later[:2])
        yield ev.ToolResult(chat.at, self._name(chat), ok=None, text=excerpt(output))

    def _printed(self, block: Block, chat: Chat, number: int) -> Iterator[ev.Event]:
        failing = False
        for index, line in enumerate(block.lines):
            if match := _TOKENS.match(line):
                self._pending = False
                following = block.lines[index + 1] if index + 1 < len(block.lines) else ""
                yield self._usage(match, f"{line} {following}", f"{chat.identity}:{number}:{index}", chat)
            elif match := _APPLIED.match(line):
                yield from self._edit(chat, match[1], ok=True)
            elif match := _REFUSED.match(line):
                yield from self._edit(chat, match[1], ok=False)
            elif match := _SKIPPED.match(line):
                yield self._call(chat, "edit", "edit", match[1])
                yield ev.ToolResult(chat.at, self._name(chat), ok=False, text=line, rejected=True)
            elif match := _COMMIT.match(line):
                yield self._call(chat, "commit", "shell", f"git commit -m {match[2]!r}")
                yield ev.ToolResult(
                    chat.at, self._name(chat), ok=True, text=f"[aider {match[1]}] {match[2]}", exit_code=0
                )
            elif match := _RUNNING.match(line):
                yield from self._ran(chat, match[1], line, block.lines[index + 1 :])
            elif line.startswith(_UNDONE) and self._asked:
                yield ev.UserTurn(chat.at, "undo", command="/undo")
            elif line.startswith("^C ") and self._pending:  # else it leaves the program
                self._stopped = True
                yield ev.Interruption(chat.at)
            elif match := _FAULT.match(line):
                if not failing:  # the same failure is printed with each attempt
                    yield ev.ApiFailure(chat.at, line)
                failing = True

    def _ran(self, chat: Chat, command: str, line: str, printed: tuple[str, ...]) -> Iterator[ev.Event]:
        """aider prints a linter only when it complains; how other commands ended is unknown."""
        yield self._call(chat, "lint" if line.startswith("##") else "shell", "shell", command)
        complained = line.startswith("##")
        output = "\n".join(printed) if complained else ""
        yield ev.ToolResult(chat.at, self._name(chat), ok=False if complained else None, text=excerpt(output))

    def _edit(self, chat: Chat, path: str, *, ok: bool) -> Iterator[ev.Event]:
        yield self._call(chat, "edit", "edit", path)
        yield ev.ToolResult(chat.at, self._name(chat), ok=ok, own_fault=not ok)

    def _name(self, chat: Chat) -> str:
        return f"{chat.identity}:{self._calls}"

    def _call(self, chat: Chat, tool: str, action: ev.Action, target: str) -> ev.ToolCall:
        self._calls += 1
        return ev.ToolCall(
            chat.at, self._name(chat), tool, action, target, (target,) if action == "edit" else ()
        )

    def _notice_model(self, block: Block) -> None:
        for line in block.lines:
            if match := _MODEL.match(line):
                self._model = match[1]

    def _usage(self, found: re.Match[str], line: str, key: str, chat: Chat) -> ev.UsageReport:
        sent, written, cached, received = (_amount(found[index], found[index + 1]) for index in (1, 3, 5, 7))
        fresh = sent - written - cached if sent >= written + cached else max(sent - written, 0)
        cost = _COST.search(line)
        stated = float(cost[1].replace(",", "").rstrip(".") or 0) if cost else 0.0
        return ev.UsageReport(
            chat.at, key, self._model, ev.Usage(fresh, received, cached, written), stated or None
        )


class Aider(BaseReader):
    agent = "aider"
    title = "aider"

    def roots(self, places: Places) -> Iterable[Path]:
        if places.project is not None:
            yield places.project
        if configured := places.env.get("AIDER_CHAT_HISTORY_FILE"):
            yield Path(configured).parent

    def candidates(self, root: Path) -> Iterable[Path]:
        path = root / HISTORY
        return (path,) if path.is_file() else ()

    def recognise(self, path: Path, head: bytes) -> bool:
        start = START.search(head)
        if start is None:
            return False
        rest = head[start.end() :].lstrip()
        return not rest or rest.startswith((b"> ", b"####", b"# aider chat"))

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        try:
            all_chats = list(_chats_of(path))
        except TranscriptError:
            return (Glance(size=0, changed=0),)
        cwd = str(path.absolute().parent)
        return [
            Glance(cwd, chat.at, part=chat.identity, size=len(chat.body), changed=chat.fingerprint)
            for chat in all_chats
        ]

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> ChatReading:
        return ChatReading(path, part, claims)


def _chats_of(path: Path) -> Iterator[Chat]:
    try:
        if path.stat().st_size > LARGEST:
            raise TranscriptError(
                "too large for a chat history", where=str(path), fix="Move old chats to another file"
            )
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    yield from chats(content)


def _amount(digits: str | None, suffix: str | None) -> int:
    try:
        value = float((digits or "0").replace(",", "").rstrip("."))
    except ValueError:
        return 0
    return int(value * {"k": 1000, "M": 1_000_000}.get(suffix or "", 1))


def _after_output(text: str) -> str:
    """The answer, where the output of a test run stands before it."""
    ends = [match.end() for match in _TEST_RUN.finditer(text)]
    return text[ends[-1] :].strip() or text if ends else text
