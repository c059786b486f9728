"""Calls that the client takes back write nothing, and no client can start more of them than the server bears."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from tests.mcp.client import Talk, in_this_process

from holdfast.flows.agent_access import AgentMachine, CallCancelled
from holdfast.mcp import server
from holdfast.mcp.server import Session

pytestmark = [pytest.mark.promise("H4"), pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """The server's side of each client, to hold its lock."""
    made: list[Session] = []
    begin = Session.__init__

    def noted(self: Session, directory: Path) -> None:
        begin(self, directory)
        made.append(self)

    monkeypatch.setattr(Session, "__init__", noted)
    return made


def written(home: Path, words: str) -> list[Path]:
    found = [path for path in (home / ".holdfast").rglob("*.md") if path.is_file()]
    return [path for path in found if words in path.read_text(encoding="utf-8", errors="replace")]


async def remember(talk: Talk, text: str, **more: Any) -> object:
    return await talk("remember", kind="finding", text=text, **more)


async def until(condition: Any) -> None:
    with anyio.fail_after(60):
        while not condition():
            await anyio.sleep(0.01)


async def test_a_call_that_is_cancelled_while_it_waits_writes_nothing(
    shop: Path, home: Path, sessions: list[Session]
) -> None:
    async with in_this_process(shop) as talk:
        await talk("recall", task="x")
        (session,) = sessions
        session.busy.acquire()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(remember, talk, "the walrus worker retries five times")
                await until(lambda: session._calls)
                for number in range(
                    20
                ):  # one of them is the call's; the others are answered or were never sent
                    await talk.session.send_notification(cancelled(number))
                await until(lambda: all(call.cancelled for call in session._calls))
                tasks.cancel_scope.cancel()
        finally:
            session.busy.release()
        await until(lambda: not session._calls)
        assert written(home, "walrus") == []
        assert not (await talk("recall", task="x")).failed, "and the next call is answered"


def cancelled(number: int) -> types.CancelledNotification:
    reason = "the person pressed Esc"
    return types.CancelledNotification(
        params=types.CancelledNotificationParams(request_id=number, reason=reason)
    )


async def test_a_call_that_is_cancelled_while_it_runs_stores_no_text(shop: Path) -> None:
    machine = AgentMachine(cwd=shop)
    assert machine.clean("a") == "a"
    machine.is_cancelled = lambda: True
    with pytest.raises(CallCancelled):
        machine.clean("a")


async def test_more_calls_than_the_server_bears_are_refused_with_a_reason(
    shop: Path, sessions: list[Session]
) -> None:
    answers: list[Any] = []

    async def ask(talk: Talk) -> None:
        answers.append(await talk("recall", task="x"))

    async with in_this_process(shop) as talk:
        await talk("recall", task="x")
        (session,) = sessions
        session.busy.acquire()
        before = threading.active_count()
        async with anyio.create_task_group() as tasks:
            for _ in range(server.MOST_CALLS + 10):
                tasks.start_soon(ask, talk)
            await until(lambda: len(answers) == 10)
            assert all(answer.failed and "calls are running already" in answer for answer in answers)
            assert threading.active_count() - before <= server.MOST_CALLS
            session.busy.release()
        assert len(answers) == server.MOST_CALLS + 10
        assert sum(answer.failed for answer in answers) == 10
