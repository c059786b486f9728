"""The server as a process: quick to answer, gone with its client, many at once, and not to be upset."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.mcp.client import SERVER, Raw, Said, Talk, call, connected, talk
from tests.patience import PATIENCE_S

from holdfast.mcp.server import MOST_LINE


def log_of(shop: Path) -> str:
    return (shop / ".holdfast" / "local" / "projects" / "shop" / "log.md").read_text(encoding="utf-8")


def gone(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_until_gone(process: int) -> bool:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not gone(process):
        time.sleep(0.1)
    return gone(process)


def test_a_client_that_leaves_takes_the_server_with_it(shop: Path) -> None:
    with Raw(shop) as server:
        server.shake_hands()
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(PATIENCE_S) == 0
        assert server.process.stderr is not None and server.process.stderr.read() == b""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_the_server_ends_when_its_parent_was_killed_though_somebody_holds_the_pipe(shop: Path) -> None:
    """The parent starts the server on a pipe whose other end this test holds, and is killed."""
    reader, writer = os.pipe()
    program = (
        "import subprocess, sys, time; server = subprocess.Popen([sys.executable, *sys.argv[1:]]); "
        "print(server.pid, flush=True, file=sys.stderr); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, *SERVER],
        cwd=shop,
        stdin=reader,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        try:
            assert parent.stderr is not None and parent.stdout is not None
            number = int(parent.stderr.readline())
            hello = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "x", "version": "1"},
                },
            }
            os.write(writer, json.dumps(hello).encode() + b"\n")
            assert b"serverInfo" in parent.stdout.readline()
            parent.send_signal(signal.SIGKILL)
            assert wait_until_gone(number)
        finally:
            os.close(reader)
            os.close(writer)


def test_what_is_no_message_is_passed_over_and_what_is_too_long_is_refused(shop: Path) -> None:
    with Raw(shop) as server:
        server.send(b"")
        server.send(b"not json")
        server.send(b"\xff\xfe{}")
        server.send(b"[" * 50_000)
        assert "result" in server.shake_hands()
        server.send(b'{"jsonrpc":"2.0","id":7}')
        server.send(b'{"jsonrpc":"2.0","id":8,"method":"no/such"}')
        server.send(b"[]")
        answers = [server.ask(9, "tools/list")]
        while answers[-1].get("id") != 9:
            answers.append(server.read())
        assert len(answers[-1]["result"]["tools"]) <= 8
        arguments = {"name": "remember", "arguments": {"kind": "finding", "text": "x" * (MOST_LINE + 1000)}}
        refused = server.ask(10, "tools/call", **arguments)
        assert refused["id"] == 10 and refused["result"]["isError"]
        assert "at most" in refused["result"]["content"][0]["text"]
        assert "error" in server.ask(11, "tools/call", name=["a"], arguments=3)
        fine = server.ask(12, "tools/call", name="recall", arguments={"task": "x"})
        assert fine["id"] == 12 and not fine["result"].get("isError")


def test_a_call_with_half_a_character_is_answered(shop: Path) -> None:
    with Raw(shop) as server:
        server.shake_hands()
        for number, text in enumerate(
            (r"\ud83d refund", r"\udc00", r"\ud83d\ude00 refund", r"\\ud83d refund"), 2
        ):
            call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":"%s"}}}'
            server.send((call % (number, text)).encode())
            answer = server.read()
            assert answer["id"] == number and not answer["result"].get("isError")


def test_nothing_but_the_protocol_is_printed(shop: Path) -> None:
    with Raw(shop) as server:
        server.shake_hands()
        for number, arguments in enumerate([{"task": "a"}, {"tusk": "a"}], 2):
            answer = server.ask(number, "tools/call", name="recall", arguments=arguments)
            assert answer["id"] == number
        server.process.kill()
        rest, errors = server.process.communicate()
        assert rest == b"" and errors == b""


def test_calls_at_the_same_time_are_all_answered(shop: Path, holdfast: Holdfast) -> None:
    async def scene(said: Talk) -> list[Said]:
        kept = [said("remember", kind="todo", text=f"paint the shed number {n}") for n in range(12)]
        return list(await asyncio.gather(*kept, *(said("search", query="shed") for _ in range(4))))

    assert [answer.failed for answer in talk(shop, scene)] == [False] * 16
    assert len(holdfast("todo", "list", "--json", check=0).json()) == 12


@pytest.mark.slow
def test_sixteen_servers_on_one_memory_lose_nothing(shop: Path, holdfast: Holdfast) -> None:
    async def one(number: int) -> list[Said]:
        async with connected(shop) as said:
            return [
                await said(
                    "remember", kind="finding", text=f"Shelf {number} holds invoices of year {1900 + number}"
                ),
                await said("remember", kind="todo", text=f"move shelf {number} to cellar {number * 3}"),
                await said("search", query=f"shelf {number}"),
            ]

    async def all_at_once() -> list[list[Said]]:
        return await asyncio.gather(*(one(number) for number in range(16)))

    answers = asyncio.run(all_at_once())
    assert [answer for group in answers for answer in group if answer.failed] == []
    assert log_of(shop).count("<!-- session note-N-") == 16
    assert len(holdfast("todo", "list", "--json", check=0).json()) == 16


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(shop: Path, holdfast: Holdfast) -> None:
    acknowledged = []
    for round_ in range(3):
        with Raw(shop) as server:
            server.shake_hands()
            for number in range(4):
                text = f"Cellar {round_} has a door with number {number}"
                server.post(
                    10 + number, "tools/call", name="remember", arguments={"kind": "finding", "text": text}
                )
            for _ in range(1 + round_):
                answer = server.read()
                assert not answer["result"].get("isError")
                acknowledged.append(f"Cellar {round_} has a door with number {answer['id'] - 10}")
            server.process.kill()
    logged = log_of(shop)
    assert [text for text in acknowledged if text not in logged] == []
    assert not call(shop, "remember", kind="finding", text="The cellar is dry").failed
    assert holdfast("doctor", check=0).returncode == 0


def test_the_handshake_does_not_wait_for_the_application() -> None:
    program = (
        "import sys, holdfast.mcp.server; "
        "print(*(name for name in sys.modules if name.startswith(('holdfast.flows.', 'holdfast.briefing.', 'holdfast.store', 'numpy'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == []


def test_without_the_sdk_the_command_says_in_one_line_what_to_install(repo: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; from holdfast.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repo, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "-m pip install mcp" in done.stderr


def test_another_directory_can_be_named(shop: Path, tmp_path: Path, holdfast: Holdfast) -> None:
    refused = holdfast("mcp", "--project", tmp_path / "nowhere", cwd=tmp_path, check=1)
    assert "no such directory" in refused.stderr
    with Raw(shop / ".git") as server:  # a directory inside the project
        server.shake_hands()
        answer = server.ask(2, "tools/call", name="recall", arguments={"task": "x"})
        assert "result" in answer


@pytest.mark.promise("G9")
def test_an_agent_that_claude_code_started_elsewhere_gets_nothing_of_its_project(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    holdfast("decide", "Deploy to the region eu-west-1", check=0)
    inner, other = shop / "inner", tmp_path / "other"
    inner.mkdir()
    other.mkdir()
    env = {"CLAUDE_PROJECT_DIR": str(shop)}
    assert "eu-west-1" in call(inner, "search", env, query="deploy region")
    refused = call(other, "search", env, query="deploy region")
    assert refused.failed and "eu-west-1" not in refused
