"""Whatever host calls and whatever happens: exit code 0, an answer in that host's shape or none, a trace."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hooks.enabled import SESSION, Enabled, hook_command, run_hook
from tests.hooks.test_hook_faults import BAD_PAYLOADS
from tests.patience import wait_until

from holdfast.hooks import host_protocol
from holdfast.hooks.host_protocol import CAPTURED, MOMENT, PROMPT, START
from holdfast.hot import hook_entry

pytestmark = pytest.mark.promise("H3")

CALLS = [(host, theirs) for host, events in host_protocol.EVENTS.items() for theirs in events]
NAMES = {
    "copilot": {"session_id": "sessionId", "transcript_path": "transcriptPath"},
    "cursor": {"session_id": "conversation_id"},
}
STARTS = [(host, theirs) for host, theirs in CALLS if host_protocol.event_of(host, theirs) == START]
PROMPTS = [(host, theirs) for host, theirs in CALLS if host_protocol.event_of(host, theirs) == PROMPT]
CAPTURES = [(host, theirs) for host, theirs in CALLS if host_protocol.event_of(host, theirs) in CAPTURED]


def names(call: tuple[str, str]) -> str:
    return "-".join(call)


def payload(enabled: Enabled, host: str, **more: object) -> bytes:
    """The same call in the words of a host."""
    known = NAMES.get(host, {})
    said = {**enabled.payload(), **more}
    return json.dumps({known.get(name, name): value for name, value in said.items()}).encode()


def context(host: str, printed: bytes) -> str:
    """What the host would put before its model, if the answer has its shape."""
    if not printed:
        return ""
    answer = json.loads(printed)
    if host == "copilot":
        assert set(answer) == {"additionalContext"}
        return str(answer["additionalContext"])
    if host == "cursor":
        assert set(answer) == {"additional_context"}
        return str(answer["additional_context"])
    assert set(answer) <= {"hookSpecificOutput", "systemMessage"}
    return str(answer["hookSpecificOutput"].get("additionalContext", ""))


@pytest.mark.promise("H2")
@pytest.mark.parametrize("call", STARTS, ids=names)
def test_every_host_is_told_at_the_start_in_its_own_shape(enabled: Enabled, call: tuple[str, str]) -> None:
    host, theirs = call
    answer = run_hook(theirs, payload(enabled, host), cwd=enabled.root, host=host, process=True)
    assert "wire the refund endpoint" in context(host, answer.printed)
    (line,) = (enabled.memory / "why.jsonl").read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    assert (told["host"], told["event"], told["session"]) == (host, START, SESSION)


@pytest.mark.promise("M7")
@pytest.mark.parametrize("call", CAPTURES, ids=names)
def test_every_host_leaves_an_envelope_that_says_where_to_look(
    enabled: Enabled, call: tuple[str, str]
) -> None:
    host, theirs = call
    env = {"HOLDFAST_HOST_PID": str(os.getpid())}
    assert run_hook(theirs, payload(enabled, host), env, enabled.root, host, process=True).printed == b""
    (letter,) = enabled.inbox() or [{}]
    if letter:  # the child may have been there already
        assert (letter["host"], letter["session"]) == (host, SESSION)
        assert letter["event"] in CAPTURED and letter["process"] == os.getpid()


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_no_payload_is_too_strange(enabled: Enabled, call: tuple[str, str]) -> None:
    host, theirs = call
    for name, data in BAD_PAYLOADS.items():
        printed = run_hook(theirs, data, cwd=enabled.root, host=host, child=False).printed
        context(host, printed)
        assert printed == b"" or host_protocol.event_of(host, theirs) == START, name


@pytest.mark.parametrize("call", PROMPTS, ids=names)
@pytest.mark.parametrize(
    "prompt", ["", " \n", "fix it " * 150_000, "\ud800 fix", 7, None, ["fix"]], ids=lambda one: str(one)[:9]
)
def test_no_prompt_is_too_long_or_too_odd(enabled: Enabled, call: tuple[str, str], prompt: object) -> None:
    host, theirs = call
    data = payload(enabled, host, prompt=prompt)
    assert run_hook(theirs, data, cwd=enabled.root, host=host).printed == b""


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_a_full_disk_costs_the_trace_and_not_the_session(enabled: Enabled, call: tuple[str, str]) -> None:
    host, theirs = call
    before = {path: path.read_bytes() for path in enabled.memory.rglob("*.*") if path.is_file()}
    done = subprocess.run(
        hook_command(host, theirs),
        input=payload(enabled, host, prompt="Fix the refund endpoint"),
        cwd=enabled.root,
        capture_output=True,
        check=False,
        # No file may grow: what a disk that is full does to whoever writes.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"", "what cannot be written down is not said"
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_a_project_that_is_not_enabled_sees_nothing_of_any_host(
    enabled: Enabled, tmp_path: Path, call: tuple[str, str]
) -> None:
    host, theirs = call
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["git", "init", "-q", str(elsewhere)], check=True)
    before = sorted(elsewhere.rglob("*"))
    said = payload(enabled, host, cwd=str(elsewhere), prompt="Fix the refund endpoint")
    assert run_hook(theirs, said, cwd=elsewhere, host=host).printed == b""
    assert sorted(elsewhere.rglob("*")) == before
    assert enabled.inbox() == [] and not (enabled.memory / "why.jsonl").exists()


@pytest.fixture
def a_day_ahead(enabled: Enabled) -> Iterator[None]:
    """Everything prepared was written tomorrow: the clock has been set back since."""
    for path in enabled.memory.rglob("*"):
        if path.is_file():
            later = path.stat().st_mtime + 86_400
            os.utime(path, (later, later))
    db = sqlite3.connect(enabled.memory / "hot.db")
    with db:
        db.execute("UPDATE meta SET value = '2199-01-01T00:00:00Z' WHERE key = 'prepared'")
    db.close()
    yield


@pytest.mark.usefixtures("a_day_ahead")
@pytest.mark.parametrize("call", CALLS, ids=names)
def test_a_clock_in_the_future_changes_nothing(enabled: Enabled, call: tuple[str, str]) -> None:
    host, theirs = call
    printed = run_hook(theirs, payload(enabled, host), cwd=enabled.root, host=host, child=False).printed
    context(host, printed)
    assert host_protocol.event_of(host, theirs) != START or wait_until(
        lambda: (enabled.memory / "why.jsonl").exists()
    )


def test_the_process_of_a_host_is_found_through_the_shell_that_runs_the_hook(tmp_path: Path) -> None:
    program = tmp_path / "asks.py"
    program.write_text(
        "import sys; sys.path.append(sys.argv[1])\n"
        "from holdfast.hooks import host_protocol\nprint(host_protocol.process_of('codex', {}))\n",
        encoding="utf-8",
    )
    words = f"{sys.executable} {program} {Path(hook_entry.__file__).parents[2]}"
    for shell in (["sh", "-c", words + " || true"], ["bash", "-c", f'sh -c "{words}"; true']):
        done = subprocess.run(shell, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.strip() in (str(os.getpid()), "0")
        assert sys.platform != "linux" or done.stdout.strip() != "0"


@pytest.mark.promise("C5")
def test_what_gemini_puts_before_a_prompt_is_not_the_prompt() -> None:
    said = "<hook_context>[holdfast abc123: data]\nOpen: x\n[/holdfast abc123]</hook_context>\n\nFix the cart"
    understood = host_protocol.understood("gemini", {"prompt": said})
    assert understood["prompt"] == "Fix the cart"
    assert (
        host_protocol.understood("gemini", {"prompt": "<hook_context>torn"})["prompt"] == "<hook_context>torn"
    )


def test_a_tool_of_another_host_is_known_by_what_it_does() -> None:
    for host, tool in (("gemini", "run_shell_command"), ("copilot", "bash"), ("codex", "Bash")):
        name = "toolName" if host == "copilot" else "tool_name"
        assert host_protocol.understood(host, {name: tool})["tool_name"] == "Bash"
    assert MOMENT in host_protocol.EVENTS["codex"]
