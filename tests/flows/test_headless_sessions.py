"""A run that nobody sits before leaves nothing as next, also where its transcript does not say that it was one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.hooks.enabled import Enabled, run_hook
from tests.patience import wait_until

from holdfast.core.processes import is_headless
from holdfast.flows.capture import capture
from holdfast.flows.status import latest_record
from holdfast.store.inbox import envelopes

pytestmark = [
    pytest.mark.promise("M7"),
    pytest.mark.skipif(
        not os.path.isdir("/proc/self"), reason="where a process does not show how it was called"
    ),
]
NEXT = "wire the refund endpoint"
SESSION = "0dd89f7c-4b6d-4da4-93fc-bb732d2260fd"


@contextmanager
def client(*words: str, terminal: bool = False) -> Iterator[int]:
    """A process that was called as a client is, and what it reads from."""
    master, slave = pty.openpty() if terminal else (-1, subprocess.DEVNULL)
    command = [sys.executable, "-c", "import time; time.sleep(120)", *words]
    process = subprocess.Popen(command, stdin=slave, stdout=subprocess.DEVNULL)
    try:
        while b"sleep" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        yield process.pid
    finally:
        process.kill()
        process.wait()
        for end in (master, slave) if terminal else ():
            os.close(end)


@pytest.mark.parametrize(
    ("words", "terminal", "headless"),
    [
        (("-p", "do it"), True, True),
        (("--prompt=do it", "--yolo"), True, True),
        (("--yolo", "--prompt", "do it"), False, True),
        (("do it",), False, True),
        (("-i", "do it"), True, False),
        (("--prompt-interactive", "do it"), True, False),
        ((), True, False),
        (("--experimental-acp",), False, False),
    ],
)
def test_a_client_tells_by_how_it_was_called(words: tuple[str, ...], terminal: bool, headless: bool) -> None:
    with client(*words, terminal=terminal) as process:
        assert is_headless(process) is headless


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert is_headless(2**22 + 5) is None


def write_transcript(host: str, home: Path, cwd: Path) -> Path:
    """A session that ends with something to do, as each of the two writes it."""
    said = f"The refund tests pass now.\n\nNext steps:\n- {NEXT}\n"
    at = "2026-11-10T10:00:00.000Z"
    if host == "gemini":
        path = home / ".gemini" / "tmp" / "shop" / "chats" / f"session-2026-11-10T10-00-{SESSION[:8]}.jsonl"
        lines: list[object] = [
            {"sessionId": SESSION, "projectHash": "x", "startTime": at, "lastUpdated": at, "kind": "main"},
            {"id": "m1", "timestamp": at, "type": "user", "content": [{"text": "Make the tests pass"}]},
            {"id": "m2", "timestamp": at, "type": "gemini", "content": said, "model": "gemini-2.5-flash"},
        ]
    else:
        path = home / ".qwen" / "projects" / "-shop" / "chats" / f"{SESSION}.jsonl"
        base = {"sessionId": SESSION, "timestamp": at, "cwd": str(cwd), "version": "0.24.4"}
        parts = ("user", "real_user", "Make the tests pass"), ("assistant", "assistant_output", said)
        lines = [
            {
                **base,
                "uuid": kind,
                "parentUuid": None,
                "type": kind,
                "provenance": who,
                "message": {"role": "user" if kind == "user" else "model", "parts": [{"text": text}]},
            }
            for kind, who, text in parts
        ]
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


STOPS = {"gemini": "AfterAgent", "qwen": "Stop"}


def stop(enabled: Enabled, host: str, path: Path, process: int) -> None:
    """As the client calls at a stop; the child that it starts is waited for."""
    said = {"session_id": SESSION, "transcript_path": str(path), "cwd": str(enabled.root)}
    run_hook(STOPS[host], json.dumps(said).encode(), {"HOLDFAST_HOST_PID": str(process)}, enabled.root, host)
    capture(enabled.machine, enabled.project)


@pytest.mark.parametrize("host", STOPS)
@pytest.mark.parametrize("headless", [True, False], ids=["headless", "attended"])
def test_only_what_a_person_left_is_next(enabled: Enabled, home: Path, host: str, headless: bool) -> None:
    path = write_transcript(host, home, enabled.root)
    with client(*(["-p", "x"] if headless else []), terminal=not headless) as process:
        stop(enabled, host, path, process)
        record = latest_record(enabled.project)
        assert record is not None and record.headless is headless
        (letter,) = envelopes(enabled.memory / "inbox")[0]
        assert letter.headless is headless
    current = (enabled.memory / "current.md").read_text(encoding="utf-8")
    assert (NEXT in current) is not headless


def go_on(host: str, path: Path) -> None:
    """What a client writes when the session is asked something more."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    person, answer = lines[-2:]
    for number, line in enumerate((person, answer)):
        line |= {"id": f"n{number}"} if host == "gemini" else {"uuid": f"n{number}"}
    if host == "gemini":
        person["content"] = [{"text": "And the docs"}]
    else:
        person["message"]["parts"] = [{"text": "And the docs"}]
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in (person, answer))


def is_theirs(enabled: Enabled) -> bool:
    """Whether it counts as a person's."""
    record = latest_record(enabled.project)
    if record is None or record.headless or len(record.prompts) < 2:
        return False
    return NEXT in (enabled.memory / "current.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("host", STOPS)
def test_a_run_that_a_person_takes_up_is_theirs(enabled: Enabled, home: Path, host: str) -> None:
    path = write_transcript(host, home, enabled.root)
    with client("-p", "x") as process:
        stop(enabled, host, path, process)
    go_on(host, path)
    with client(terminal=True) as process:
        stop(enabled, host, path, process)
        assert wait_until(lambda: is_theirs(enabled)), "the hook's child may be the one that reads it"


@pytest.mark.parametrize("host", STOPS)
def test_it_is_theirs_also_where_it_was_read_before_they_were_seen(
    enabled: Enabled, home: Path, host: str
) -> None:
    path = write_transcript(host, home, enabled.root)
    with client("-p", "x") as process:
        stop(enabled, host, path, process)
    go_on(host, path)
    capture(enabled.machine, enabled.project)  # as the child that watched the run's end may come late
    with client(terminal=True) as process:
        stop(enabled, host, path, process)
        assert wait_until(lambda: is_theirs(enabled)), "the hook's child may be the one that reads it"


def test_other_hosts_are_not_asked(enabled: Enabled) -> None:
    with client("-p", "x") as process:
        said = json.dumps(enabled.payload()).encode()
        run_hook("SessionStart", said, {"HOLDFAST_HOST_PID": str(process)}, enabled.root)
        assert "headless" not in enabled.inbox()[0], "its transcript says it"
