"""aider's chat history, taken apart: chats, and in each what was typed, what aider said, what was answered.

aider ends its own lines (`####` for a person's words, `>` for its messages) with two spaces; within a code
block of an answer only such lines count, because an answer may hold headings and quotations of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

START = re.compile(rb"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[ \t]*\r?$", re.MULTILINE)
_FENCE = re.compile(r"(`{3,}|~{3,})")
_NOT_HUMAN = (
    "# Fix any errors below",
    "# Fix the errors below",
    "I ran this command:",
    "I ran and saw this output:",
)
# Commands that aider answers itself: they ask the model for nothing.
LOCAL_COMMANDS = frozenset((
    "add", "chat-mode", "clear", "commit", "copy", "copy-context", "diff", "drop", "edit", "editor", "editor-model",
    "ex", "exit", "git", "lint", "load", "ls", "map", "map-refresh", "model", "models", "multiline-mode", "paste",
    "quit", "read-only", "reasoning-effort", "report", "reset", "save", "settings", "think-tokens",
    "thinking-tokens", "tokens", "undo", "voice", "weak-model", "web",
))  # fmt: skip


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
        """aider writes local time and no zone; here is where it is most likely to have run."""
        try:
            return datetime.fromisoformat(self.started).timestamp()
        except (ValueError, OverflowError, OSError):
            return None

    @property
    def fingerprint(self) -> int:
        return int.from_bytes(blake2b(self.body, digest_size=6).digest(), "big")


def chats(content: bytes) -> Iterator[Chat]:
    """The chats in which work was asked for or paid for; a start without either leaves nothing to remember."""
    starts = list(START.finditer(content))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(content)
        body, line = content[start.end() : end], content.count(b"\n", 0, start.end()) + 1
        people = (block for block in blocks(body, line) if block.kind == "person")
        asked = next((words for block in people if (words := request(block))), None)
        if asked is not None or b"\n> Tokens: " in body:
            stamp = start[1].decode("ascii")
            seed = f"{stamp}\n{' '.join(asked or ())}".encode("utf-8", "replace")
            yield Chat(f"aider-{blake2b(seed, digest_size=8).hexdigest()}", stamp, body, line)


def blocks(body: bytes, line: int) -> Iterator[Block]:
    kind: Literal["person", "aider", "answer"] = "answer"
    held: list[str] = []
    begun, fence = line, ""
    for number, raw in enumerate(body.split(b"\n"), line):
        words = raw.decode("utf-8", "replace").removesuffix("\r")
        now, words = _kind_of(words, bool(fence))
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


def _kind_of(words: str, fenced: bool) -> tuple[Literal["person", "aider", "answer"], str]:
    own = words.endswith("  ") or not fenced
    if own and (words.startswith("#### ") or words.rstrip() == "####"):
        return "person", words[5:].rstrip()
    if own and (words.startswith("> ") or words.rstrip() == ">"):
        return "aider", words[2:].rstrip()
    return "answer", words


def request(block: Block) -> tuple[str, str] | None:
    """A person's words and the command they were given through; None for what asks for no work.

    Errors that aider sends back to the model by itself are written like a person's words.
    """
    words = block.text
    if not words or words == "<blank>" or words.startswith(_NOT_HUMAN):
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
