"""`holdfast handoff --to`: another agent gets what it needs of a session that is not finished, and is started with it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.command import Holdfast

from holdfast.core.tokens import count_tokens

ASKED = "Give the export client a limit of five attempts and make its tests pass"
SESSION = "0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a11"


@pytest.fixture
def begun(repo: Path, home: Path) -> Path:
    """A session of Claude Code that stopped in the middle: one of two to-dos done, a test red, a file changed."""
    (repo / "client.py").write_text("LIMIT = 3\n", encoding="utf-8")
    subprocess.run(["git", "add", "."], cwd=repo, check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", "begin"], cwd=repo, check=True)
    file = ClaudeFile(session=SESSION, cwd=str(repo))
    file.user(0, ASKED)
    todos = [
        {"content": "Raise the limit", "status": "completed", "activeForm": "Raising"},
        {"content": "Make the tests pass", "status": "pending", "activeForm": "Testing"},
    ]
    file.call(1, "TodoWrite", {"todos": todos})
    file.edit(3, str(repo / "client.py"))
    file.run(6, "pytest -q", "FAILED test_client.py::test_limit - assert 3 == 5", exit_code=1)
    file.user(20, "Keep the back-off as it is, only the number of attempts changes")
    file.assistant(30, "The limit is raised; the test still fails.")
    folder = home / ".claude" / "projects" / "-shop"
    folder.mkdir(parents=True)
    file.save(folder / f"{SESSION}.jsonl")
    (repo / "client.py").write_text("LIMIT = 5\n", encoding="utf-8")
    return repo


def test_the_text_has_the_request_the_corrections_what_is_left_and_the_diff(
    begun: Path, holdfast: Holdfast
) -> None:
    text = holdfast("handoff", "--to", "codex", "--print", check=0).stdout
    assert ASKED in text and "Keep the back-off as it is" in text
    assert "- Make the tests pass" in text and "Raise the limit" not in text
    assert "-LIMIT = 3" in text and "+LIMIT = 5" in text
    assert "It is not finished" in text and "started in Claude Code" in text
    assert count_tokens(text) <= 1_500


def test_it_stays_small_whatever_was_asked_and_changed(begun: Path, holdfast: Holdfast) -> None:
    (begun / "client.py").write_text("".join(f"line{n} = {n}\n" for n in range(9_000)), encoding="utf-8")
    text = holdfast("handoff", "--to", "codex", "--print", check=0).stdout
    assert count_tokens(text) <= 1_500
    assert "git diff HEAD shows the rest" in text and ASKED in text


def test_a_secret_in_the_diff_does_not_go_along(begun: Path, holdfast: Holdfast) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (begun / "client.py").write_text(f'TOKEN = "{secret}"\n', encoding="utf-8")
    text = holdfast("handoff", "--to", "codex", "--print", check=0).stdout
    assert "TOKEN" in text and secret not in text


def test_a_running_session_gets_no_row(begun: Path, holdfast: Holdfast) -> None:
    before = holdfast("ledger", "list", "--json", check=0).json()
    holdfast("handoff", "--to", "codex", "--print", check=0)
    assert holdfast("ledger", "list", "--json", check=0).json() == before == []


def test_the_client_is_started_with_the_text_in_this_terminal(
    begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    got = tmp_path / "got"
    (programs / "codex").write_text(
        f'#!/bin/sh\nprintf "%s" "$1" > {got}\npwd > {got}.cwd\n', encoding="utf-8"
    )
    (programs / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(begun)
        os.execv(sys.executable, [sys.executable, "-m", "holdfast", "handoff", "--to", "codex", "--yes"])
    while True:
        try:
            if not os.read(terminal, 4096):
                break
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ASKED in got.read_text(encoding="utf-8")
    assert Path(Path(f"{got}.cwd").read_text(encoding="utf-8").strip()).samefile(begun)


def test_without_a_terminal_it_prints_the_text_and_starts_nothing(
    begun: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "codex").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    (tmp_path / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    done = holdfast("handoff", "--to", "codex", check=0)
    assert ASKED in done.stdout and "Paste the text there" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "emacs"], "cannot be started with a prompt"),
        (["--to", "codex", "--session", "nope"], "no session 'nope' was read here"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    begun: Path, holdfast: Holdfast, words: list[str], said: str
) -> None:
    refused = holdfast("handoff", *words)
    assert refused.returncode and said in refused.stderr and refused.stderr.count("\n") == 1


def test_a_client_that_is_not_installed_is_named(
    begun: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git = Path(subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip())
    (tmp_path / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = holdfast("handoff", "--to", "codex")
    assert refused.returncode == 1 and "Codex is not installed" in refused.stderr
