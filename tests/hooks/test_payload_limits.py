"""A hook reads a bounded number of bytes and takes a bounded amount of memory, whatever it is fed.

Seconds depend on the machine; bytes and memory do not.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hooks.enabled import SESSION, Enabled, hook_command, run_hook
from tests.patience import PATIENCE_S

from holdfast.hooks import payload
from holdfast.hot import hook_entry

pytestmark = pytest.mark.promise("H3")

MEGABYTE = 1 << 20
MOST_MEMORY = 100 * MEGABYTE
EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"]
# Runs a hook as its only child, and prints the most memory that it used.
_MEASURED = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=False)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def words(count: int) -> str:
    source = random.Random(7)
    return " ".join("".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=4)) for _ in range(count))


def hostile(cwd: Path) -> dict[str, bytes]:
    def fields(**more: object) -> bytes:
        known = {"session_id": SESSION, "cwd": str(cwd), "transcript_path": "/nowhere", "tool_name": "Bash"}
        return json.dumps({**known, **more}).encode()

    return {
        "60 MB of text": fields(prompt="x" * (60 * MEGABYTE)),
        "60 MB of objects": b'{"prompt": [' + b'{"":1},' * (60 * MEGABYTE // 7) + b"1]}",
        "as many objects as are parsed": b'{"a": [' + b'{"":1},' * (payload.MOST // 7 - 3) + b"1]}",
        "as many lists as are parsed": b'{"a": [' + b"[]," * (payload.MOST // 3 - 5) + b"1]}",
        "wide characters": fields(prompt="\U0001f9ea" * 80_000).decode().encode(),
        "a megabyte of words": fields(prompt="fix " + words(200_000)),
        "a megabyte of commands": fields(tool_input={"command": "cat a.py;" * 110_000}),
        "a path of a million folders": fields(cwd="/a" * 500_000, tool_input={"file_path": "/a" * 20_000}),
        "a session of a megabyte": fields(session_id="s" * 1_000_000),
        "100,000 deep": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "objects 100,000 deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "a huge number": b'{"a": ' + b"9" * 900_000 + b"}",
        "a long fraction": b'{"a": 1.' + b"9" * 900_000 + b"e-5}",
        "a huge exponent": b'{"a": 1e' + b"9" * 900_000 + b"}",
        "not UTF-8": b'{"prompt": "' + b"\xff\xfe\xc3(" * 250_000 + b'"}',
        "surrogates": b'{"prompt": "' + b"\\ud83d" * 150_000 + b'"}',
        "UTF-16": fields(prompt="x" * 400_000).decode().encode("utf-16"),
        "NULs": b"\0" * MEGABYTE,
    }


def measured(enabled: Enabled, event: str, data: bytes | int) -> tuple[int, int, bytes]:
    """The exit code, the most memory in bytes, and what was printed."""
    command = [sys.executable, "-c", _MEASURED, *hook_command("claude-code", event)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    given_input = {"input": data} if isinstance(data, bytes) else {"stdin": data}
    done = subprocess.run(
        command,
        cwd=enabled.root,
        env=env,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        **given_input,
    )
    code, kilobytes = done.stderr.split()
    return int(code), int(kilobytes) * (1 if sys.platform == "darwin" else 1024), done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a child is measured by getrusage")
@pytest.mark.parametrize("name", hostile(Path("/")))
def test_whatever_the_payload_is_a_hook_stays_small(enabled: Enabled, name: str) -> None:
    data = hostile(enabled.root)[name]
    for event in EVENTS:
        code, memory, _ = measured(enabled, event, data)
        assert code == 0
        assert memory < MOST_MEMORY, f"{event}: {memory / MEGABYTE:.0f} MB"


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a child is measured by getrusage")
def test_sixteen_at_once_stay_small_each(enabled: Enabled) -> None:
    data = hostile(enabled.root)["60 MB of objects"]
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: measured(enabled, "UserPromptSubmit", data), range(16)))
    assert {code for code, _, _ in results} == {0}
    assert max(memory for _, memory, _ in results) < MOST_MEMORY


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was read of it."""

    def __init__(self, beginning: bytes = b"") -> None:
        self.beginning = beginning
        self.read_bytes = 0
        self.largest = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "a read without a limit"
        self.largest = max(self.largest, size)
        piece = (self.beginning[self.read_bytes : self.read_bytes + size] + b" " * size)[:size]
        self.read_bytes += size
        return piece


def test_of_a_payload_without_an_end_a_bounded_number_of_bytes_is_read() -> None:
    stream = Endless()
    raw = payload.read(stream)
    assert stream.read_bytes == payload.MOST + 1
    payload.drain(stream, raw)
    assert stream.read_bytes <= payload.MOST + 1 + payload.MOST_DRAINED + MEGABYTE
    assert stream.largest == payload.MOST + 1


def test_a_host_may_write_a_long_payload_to_its_end(enabled: Enabled) -> None:
    """A pipe that is closed too early ends some hosts."""
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "UserPromptSubmit"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=enabled.root)
    assert process.stdin is not None
    with process:
        for _ in range(20):
            process.stdin.write(b"x" * MEGABYTE)
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


def test_a_session_whose_payload_is_too_long_is_still_captured(enabled: Enabled) -> None:
    enabled.hook("Stop", last_assistant_message="x" * (2 * MEGABYTE))
    (letter,) = enabled.inbox()
    assert (letter["session"], letter["event"]) == (SESSION, "Stop")


def test_a_payload_without_one_whole_field_is_named_in_the_log(enabled: Enabled) -> None:
    run_hook("Stop", b'{"a": "' + b"x" * 2 * MEGABYTE + b'"}', cwd=enabled.root)
    assert "longer than" in enabled.log() and enabled.inbox() == []


@given(
    st.dictionaries(
        st.text(max_size=3), st.none() | st.text(max_size=20) | st.lists(st.integers()), max_size=5
    ),
    st.integers(0, 400),
)
def test_the_fields_of_a_text_that_is_cut_off_are_those_of_the_whole(
    fields: dict[str, object], cut: int
) -> None:
    text = json.dumps(fields)
    leading = payload.leading_fields(text[:cut])
    assert list(leading.items()) == list(fields.items())[: len(leading)]


@pytest.mark.parametrize(
    "text", ["", "[1, 2", "{", '{"a"', '{"a":', '{"a": 12', "{1: 2, ", '{"a": 1 "b": 2,', "{,"]
)
def test_a_text_without_a_whole_field_has_none(text: str) -> None:
    assert payload.leading_fields(text) == {}
