"""The command that resumes a session: a person pastes it into a shell, so nothing of a transcript may run there."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.registry import IMPORTERS
from holdfast.agents.resume import resume_command


@pytest.mark.parametrize(
    ("agent", "command"),
    [
        ("claude-code", "cd '/home/dev/my repo' && claude --resume abc-1"),
        ("codex", "cd '/home/dev/my repo' && codex resume abc-1"),
        ("opencode", "cd '/home/dev/my repo' && opencode --session abc-1"),
        ("aider", ""),
        ("unheard-of", ""),
    ],
)
def test_each_agent_has_its_own_words_or_none(agent: str, command: str) -> None:
    assert resume_command(agent, "abc-1", "/home/dev/my repo") == command


def test_every_agent_with_a_command_is_one_that_is_read() -> None:
    known = {importer.agent for importer in IMPORTERS}
    commands = {agent for agent in known if resume_command(agent, "abc-1")}
    assert {"claude-code", "codex", "copilot", "gemini", "opencode", "qwen"} <= commands


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_session_and_a_folder_of_any_name_stay_single_words(session: str, folder: str) -> None:
    command = resume_command("claude-code", session, folder)
    if command:
        words = shlex.split(command)
        assert words[-3:] == ["claude", "--resume", session]
        assert words[:-3] in ([], ["cd", folder, "&&"])
        assert "\n" not in command


@pytest.mark.parametrize(
    "session", ["$(touch ran)", "`touch ran`", "x; touch ran", "x && touch ran", "'; touch ran; '"]
)
def test_a_shell_runs_nothing_of_a_session_id(session: str, tmp_path: object) -> None:
    command = resume_command("claude-code", session).replace("claude", "echo", 1)
    done = subprocess.run(
        ["sh", "-c", command], cwd=str(tmp_path), capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == f"--resume {session}"


@pytest.mark.parametrize("session", ["", "--dangerously-skip-permissions", "a\nb", "a\x1b[2Jb"])
def test_an_id_that_is_no_id_gives_no_command(session: str) -> None:
    assert resume_command("claude-code", session) == ""
