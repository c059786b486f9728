"""What every test may use: a home of its own, a repository, the command line, and the shared data."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from tests.command import Holdfast, OwnProcess, ThisProcess
from tests.hooks.enabled import Enabled
from tests.promise_report import PromiseReport, done_in

from holdfast.store.machine import AGENT_SIGNS
from holdfast.terminal import progress

ROOT = Path(__file__).parents[1]

# How long an example takes says how busy the machine is, and nothing of what is tested.
settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")

# Days begin at the same moment for a test and for the processes it starts, wherever it runs.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# What would lead a test to the developer's own agents, repositories or switches.
_PERSONAL = (
    "HOLDFAST",
    "HOLDFAST_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "GOOSE_PATH_ROOT",
    "CLINE_DIR",
    "CLINE_DATA_DIR",
    "AIDER_CHAT_HISTORY_FILE",
    "APPDATA",
    "COPILOT_HOME",
    "HOLDFAST_EVENTS",
    "KIMI_CODE_HOME",
    "GROK_HOME",
    "CONTINUE_GLOBAL_DIR",
    "CI",
    *AGENT_SIGNS,
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(PromiseReport(done_in(ROOT / "docs" / "promises.toml")), "promise-report")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory that this test, and every process it starts, takes for its own."""
    path = tmp_path / "home"
    path.mkdir()
    for name in [*_PERSONAL, *(name for name in os.environ if name.startswith("GIT_"))]:
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(path))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada Example")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("TZ", "UTC")
    return path


@pytest.fixture
def make_repo(home: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Makes an empty git repository of the given name."""

    def make(name: str) -> Path:
        path = tmp_path / name
        path.mkdir()
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(path)], check=True)
        return path

    return make


@pytest.fixture
def repo(make_repo: Callable[[str], Path]) -> Path:
    """An empty git repository, called `shop`."""
    return make_repo("shop")


@pytest.fixture
def scanner_off(home: Path) -> None:
    """For tests that repair something else: compiling the scanner's rules takes seconds."""
    (home / ".holdfast").mkdir(mode=0o700, exist_ok=True)
    (home / ".holdfast" / "config.toml").write_text('scanner = "off"\n', encoding="utf-8")


@pytest.fixture(autouse=True)
def says_nothing_for_being_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes commands slow enough to say how far they are; no other test is about that."""
    monkeypatch.setattr(progress, "FIRST_S", 1e9)


@pytest.fixture
def holdfast(repo: Path) -> Holdfast:
    """The command line, in this process."""
    return ThisProcess(repo)


@pytest.fixture
def holdfast_process(repo: Path) -> Holdfast:
    """The command line as a process of its own, where that is what is tested: signals, streams, start-up, a crash."""
    return OwnProcess(repo)


@pytest.fixture
def enabled(repo: Path) -> Enabled:
    """The repository `shop`, enabled, with two lines to tell."""
    return Enabled(repo)


@pytest.fixture
def shared() -> Path:
    """The folder beside the checkout that holds real transcripts; tests pass without it."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("needs ../shared, which is not part of the project")
    return path
