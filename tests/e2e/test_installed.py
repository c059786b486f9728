"""Installed as a person does it, in an empty home: set up, one session of a real client, and gone again without a trace."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import Finished
from tests.e2e.clients import CLIENTS
from tests.e2e.model_server import serving
from tests.e2e.story import FIRST, LEARNT
from tests.e2e.world import processes_of, program_of
from tests.patience import wait_until
from tests.wheels import WAYS, bare_env, built, made_tools

AGENT = "claude-code"
# A client's record of its sessions says what it was told, and installers keep logs and locks.
CLIENTS_OWN = (".claude/backups", ".claude/projects", ".cache/claude-cli-nodejs")
THEIRS = (*CLIENTS_OWN, ".local/state/pipx", ".local/share/pipx", ".local/share/uv")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_tools(tmp_path_factory.mktemp("tools"))


@pytest.fixture(scope="module")
def wheel(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tools, tmp_path_factory.mktemp("dist"))[1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.promise("H1", "U6", "U14")
def test_one_install_sets_up_captures_a_session_and_leaves_nothing(
    way: str, tools: Path, wheel: Path, home: Path, repo: Path
) -> None:
    program = program_of(AGENT)
    (repo / "Makefile").write_text("test:\n\t@echo 3 passed\n", encoding="utf-8")
    at_first = set(tree(home, repo))
    installed = WAYS[way](tools, wheel, home)
    client = CLIENTS[AGENT](program, home, repo)

    def holdfast(*words: str) -> Finished:
        command = [str(installed.program), *words]
        done = subprocess.run(
            command,
            cwd=repo,
            env=bare_env(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return Finished(done.args, done.returncode, done.stdout, done.stderr)

    def captured() -> bool:
        return len(holdfast("ledger", "--json").json()) == 1 and not of_ours(home)

    before = {path: path.read_bytes() for path in (home / name for name in client.settings)}
    set_up = holdfast("init", "--yes")
    assert "connected Claude Code" in set_up.stdout and "tools for" not in set_up.stderr
    with serving(LEARNT) as server:
        client.run(server, FIRST)
        assert any("recall" in name for name in server.turns()[-1].offered), "the tools come with the install"
        assert wait_until(captured), holdfast("doctor").stdout
    holdfast("agents", "uninstall", "--all", "--purge", "--no-backup", "--yes")
    assert of_ours(home) == []
    installed.remove()
    assert not installed.program.exists()
    settings = home / ".claude" / "settings.json"
    assert settings.read_bytes() == before[settings]
    left = set(tree(home, repo)) - at_first
    assert [path for path in left if "holdfast" in path.relative_to(home.parent).as_posix().lower()] == []
    assert [path for path in left if path.is_file() and b"holdfast" in path.read_bytes()] == []


def tree(*roots: Path) -> Iterator[Path]:
    """Everything below, but what clients keep of their own sessions."""
    for root in roots:
        theirs = [root / name for name in THEIRS]
        yield from (path for path in root.rglob("*") if not any(path.is_relative_to(one) for one in theirs))


def of_ours(home: Path) -> list[str]:
    return [words for words in processes_of(home) if "holdfast" in words]
