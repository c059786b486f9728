"""A locked or broken search index, and files that may not be read, harm no hook of any host."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.flows.test_capture import leave, rows_of, transcript
from tests.hooks.enabled import SESSION, Enabled, hook_command, run_hook
from tests.hooks.test_all_hosts import context, payload
from tests.hooks.test_prompt_hook import VOUCHER, Prompted
from tests.hooks.test_tool_call_hook import STAT, stumble

from holdfast.briefing.index import update_index
from holdfast.briefing.recovery import hand_over
from holdfast.flows.capture import capture
from holdfast.hooks import host_protocol
from holdfast.hooks.host_protocol import CAPTURED, PROMPT, START
from holdfast.hot import hook_entry
from holdfast.search import database

__all__ = ["transcript"]
pytestmark = pytest.mark.promise("H3")
HOSTS = sorted(host_protocol.EVENTS)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody writes, and does not come to an end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def torn(path: Path) -> Iterator[None]:
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    yield


@contextmanager
def a_folder(path: Path) -> Iterator[None]:
    path.unlink(missing_ok=True)
    path.mkdir()
    yield


HARMS = {"locked": locked, "torn": torn, "a folder": a_folder}


@pytest.fixture
def indexed(repo: Path, tmp_path: Path) -> Prompted:
    shop = Prompted(repo, tmp_path)
    hand_over(shop.machine, shop.project, "wire the refund endpoint", "main", "user", add=False)
    update_index(shop.machine, shop.project)
    assert (shop.memory / "index.db").exists()
    return shop


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("host", HOSTS)
def test_no_host_notices_that_the_index_cannot_be_used(indexed: Prompted, host: str, harm: str) -> None:
    indexed.prepare(moments=(stumble(STAT),))
    call = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}}
    with HARMS[harm](indexed.memory / "index.db"):
        for theirs, event in host_protocol.EVENTS[host].items():
            shutil.rmtree(indexed.memory / "claims", ignore_errors=True)
            said = payload(indexed, host, prompt="ok", **call)
            printed = run_hook(theirs, said, cwd=indexed.root, host=host, child=False).printed
            context(host, printed)
            if event == START and theirs not in host_protocol.EVENTS["claude-code"]:
                assert b"refund" in printed
        for path in (indexed.memory / "inbox").glob("*.json"):
            assert json.loads(path.read_bytes())["session"] == SESSION
    assert [line for line in indexed.log().splitlines() if " capture: " not in line] == []


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("host", [host for host in HOSTS if not host_protocol.is_alone(host)])
def test_a_prompt_is_told_while_the_index_cannot_be_used(indexed: Prompted, host: str, harm: str) -> None:
    (theirs,) = [name for name, event in host_protocol.EVENTS[host].items() if event == PROMPT][:1]
    with HARMS[harm](indexed.memory / "index.db"):
        said = payload(indexed, host, prompt=VOUCHER)
        assert "shop/refunds.py" in context(host, run_hook(theirs, said, cwd=indexed.root, host=host).printed)


@pytest.mark.promise("M7")
@pytest.mark.parametrize("harm", HARMS)
def test_a_session_is_captured_while_the_index_cannot_be_used(
    enabled: Enabled, transcript: Path, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 1.0)
    hand_over(enabled.machine, enabled.project, "wire the refund endpoint", "main", "user", add=False)
    update_index(enabled.machine, enabled.project)
    leave(enabled, "SessionEnd", transcript)
    with HARMS[harm](enabled.memory / "index.db"):
        done = capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [SESSION] and done.ended == [SESSION]
    assert "rounding" in enabled.told(session_id="the next one")


# --- files that may not be read -------------------------------------------------------------------------------------

NOBODY = 65534


def as_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@cache
def python_of_all() -> str:
    """A Python that another user of this machine may run: hooks need no more than that; '' where there is none."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return ""
    asks = f"import sys, sqlite3; open({hook_entry.__file__!r}).read(); sys.exit(sys.version_info < (3, 11))"
    for program in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            command = [program, "-I", "-S", "-c", asks]
            done = subprocess.run(command, preexec_fn=as_nobody, cwd="/", capture_output=True, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return program
    return ""


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Enabled]:
    """A project of a user who is not root, with hooks."""
    if not python_of_all():
        pytest.skip("needs root, and a user nobody who can run this Python")
    folder = Path(tempfile.mkdtemp(prefix="holdfast-nobody-"))
    folder.chmod(0o755)
    home, repo = folder / "home", folder / "shop"
    for path in (home, repo / ".git"):
        path.mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.delenv("HOLDFAST_HOME", raising=False)
    made = Enabled(repo)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    yield made
    shutil.rmtree(folder)


def run_theirs(enabled: Enabled, host: str, event: str) -> bytes:
    done = subprocess.run(
        hook_command(host, event, python=python_of_all()),
        input=payload(enabled, host, prompt="ok"),
        cwd="/",
        env={name: value for name, value in os.environ.items() if name not in ("CI", "HOLDFAST")},
        capture_output=True,
        check=False,
        preexec_fn=as_nobody,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.mark.parametrize("host", HOSTS)
def test_what_may_not_be_read_harms_no_hook(theirs: Enabled, host: str) -> None:
    start = next(name for name, event in host_protocol.EVENTS[host].items() if event == START)
    assert "refund" in context(host, run_theirs(theirs, host, start)), "else nothing is shown by the rest"
    unreadable = (theirs.memory / "hot.db", theirs.memory, theirs.root / ".git" / "holdfast-id", theirs.root)
    for path in unreadable:
        mode = path.stat().st_mode
        os.chown(path, 0, 0)
        path.chmod(0)
        for event, ours in host_protocol.EVENTS[host].items():
            printed = run_theirs(theirs, host, event)
            assert printed == b"", (path, event)
            if ours in CAPTURED and path != theirs.memory / "hot.db":
                assert not list((theirs.memory / "inbox").glob("*.tmp"))
        os.chown(path, NOBODY, NOBODY)
        path.chmod(mode)


def test_a_memory_that_may_only_be_read_tells_nothing_that_could_not_be_explained(theirs: Enabled) -> None:
    paths = [theirs.memory, *(path for path in theirs.memory.rglob("*") if path.is_dir())]
    for path in paths:
        os.chown(path, 0, 0)
        path.chmod(0o755)
    for host in HOSTS:
        for event in host_protocol.EVENTS[host]:
            assert run_theirs(theirs, host, event) == b""
