"""What the server asks of a protocol. Each module beside this one is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tests.e2e.wire.steps import Call, Tool

Body = dict[str, Any]


class Wire(Protocol):
    """How one protocol puts tools, results and texts into a request, and an answer into a response."""

    def tools(self, body: Body) -> list[Tool]: ...

    def messages(self, body: Body) -> list[Message]:
        """The conversation, in order, with what stands before it (system prompt, instructions)."""

    def whole(self, body: Body, answer: str | Call) -> Body:
        """The answer in one piece."""

    def streamed(self, body: Body, answer: str | Call) -> Iterator[tuple[str, Any]]:
        """The answer as events: a name ("" for none) and its data."""


class Message:
    """One turn of a conversation. `results` are the answers of tools that it carries."""

    def __init__(self, role: str, texts: Sequence[str], results: Sequence[str] = ()) -> None:
        self.role = role
        self.texts = list(texts)
        self.results = list(results)


def steps_done(messages: Sequence[Message]) -> int:
    """How many tools have answered since a person last spoke: the client's own errands cannot shift a script."""
    done = 0
    for message in messages:
        if message.results:
            done += len(message.results)
        elif message.role == "user":
            done = 0
    return done
