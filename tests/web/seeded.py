"""A demonstration with everything that the screens of memory show: statements of every kind, a repository, a rule."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.agents.builders import ClaudeFile

from holdfast.demo.run import SESSIONS
from holdfast.flows import facts, lessons, questions, todos
from holdfast.flows.import_sessions import import_into
from holdfast.flows.notes import memory_to_change
from holdfast.flows.repo_scan import look
from holdfast.memory.decisions import SessionPassages
from holdfast.model.memory import Passage
from holdfast.store.machine import Machine

SESSION = "5f2c8a1e-77aa-4d7e-9c11-0b6f2a1d9e44"
COMMITTED = "2026-03-02T09:05:00+00:00"  # after the session of the builders
CLIENT = '''"""The client of the tide service."""

import time

ATTEMPTS = 5


def fetch(get, url):
    """Asks at most five times, and waits longer each time."""
    for attempt in range(ATTEMPTS):
        answer = get(url)
        if answer.status < 500:
            return answer
        time.sleep(2**attempt)
    raise RuntimeError(f"{url} does not answer")
'''


def machine_at(folder: Path, project: str = "tidepool") -> Machine:
    """This user, as `served` in conftest starts the page of this folder."""
    env: Mapping[str, str] = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}
    return Machine(env={**env, "PATH": "/usr/local/bin:/usr/bin:/bin"}, cwd=folder / project)


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Mara", "-c", "user.email=mara@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "-C", str(root), *arguments], check=True, capture_output=True)


def seed(folder: Path, hostile: str = "") -> Machine:
    """The demonstration's sessions in a repository, and more. `hostile` goes into every field that an agent or a repository writes."""
    machine = machine_at(folder)
    _repository(machine.cwd, hostile)
    import_into(machine, machine.project(), [SESSIONS, folder / ".claude" / "projects"])
    _passages(machine, hostile)
    _by_hand(machine, hostile)
    look(machine, machine.project(), keep=True)
    return machine


def _repository(root: Path, hostile: str) -> None:
    source = root / "src" / "tidepool"
    source.mkdir(parents=True)
    (source / "client.py").write_text(CLIENT, encoding="utf-8")
    (source / "__init__.py").write_text("", encoding="utf-8")
    tests = root / "tests"
    tests.mkdir()
    (tests / "test_client.py").write_text("def test_fetch():\n    assert True\n", encoding="utf-8")
    (root / "pyproject.toml").write_text(
        '[project]\nname = "tidepool"\n[tool.ruff]\nline-length = 100\n[tool.pytest.ini_options]\n',
        encoding="utf-8",
    )
    if hostile:
        (source / f"{hostile.replace('/', '_')}.py").write_text(f"# {hostile}\n", encoding="utf-8")
    git(root, "init", "-q", "-b", "main")
    _transcript(root, hostile)
    git(root, "add", "--all", "--", "src", "tests", "pyproject.toml")
    git(
        root, "commit", "-q", "--date", COMMITTED, "-m", f"Retry the tide client five times {hostile}".strip()
    )


def _transcript(root: Path, hostile: str) -> None:
    """A session of Claude Code that wrote the client, where the agent keeps it."""
    name = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    folder = root.parent / ".claude" / "projects" / name
    folder.mkdir(parents=True)
    session = ClaudeFile(SESSION, str(root))
    session.user(0, f"Retry the tide client, but not for ever {hostile}".strip())
    path = str(root / "src" / "tidepool" / "client.py")
    call = session.call(60, "Write", {"file_path": path, "content": CLIENT})
    details = {"type": "create", "filePath": path, "content": CLIENT, "structuredPatch": []}
    session.result(61, call, f"File created successfully at: {path}", details=details)
    session.run(70, "uv run pytest -q", "1 passed in 0.1s")
    session.assistant(80, f"The client asks at most five times now. {hostile}")
    (folder / f"{SESSION}.jsonl").write_bytes(session.data())


def _passages(machine: Machine, hostile: str) -> None:
    passages = (
        Passage(
            text=f"The tide client makes at most five attempts with 2, 4, 8 and 16 s between them. {hostile}".strip(),
            question="How often does the client retry?",
            by="user",
            session=SESSION,
        ),
        Passage(
            text=f"Retry the tide client without end, because the service is usually back in a minute. {hostile}".strip(),
            status="rejected",
            by="agent",
            session=SESSION,
        ),
        Passage(
            text=f"Store tokens in the keyring rather than in a file. {hostile}".strip(),
            status="proposed",
            by="agent",
            session=SESSION,
        ),
        Passage(
            text=f"The hang came from a session that was never closed. {hostile}".strip(),
            kind="cause",
            by="agent",
            session=SESSION,
        ),
        Passage(
            text=f"A cold start takes 340 ms, a warm one 90 ms. {hostile}".strip(),
            kind="measurement",
            session=SESSION,
        ),
    )
    section = SessionPassages(
        session=SESSION,
        title=f"Retry the tide client {hostile}".strip(),
        at=1_762_500_000.0,
        branch="main",
        passages=passages,
    )
    with memory_to_change(machine) as store:
        store.record_passages([section], "capture")


def _by_hand(machine: Machine, hostile: str) -> None:
    questions.decide(
        machine,
        f"Use uv, not pip, for every environment {hostile}".strip(),
        f"one lock file {hostile}".strip(),
        "user",
    )
    questions.decide(
        machine,
        f"Log as JSON lines {hostile}".strip(),
        f"the collector reads nothing else {hostile}".strip(),
        "agent",
    )
    facts.add_fact(
        machine,
        f"The service listens on port 8085 {hostile}".strip(),
        f"listening on :8085 {hostile}".strip(),
        "echo listening on :8085",
    )
    facts.add_fact(
        machine, f"Python 3.12 runs the tests {hostile}".strip(), f"Python 3.12.4 {hostile}".strip()
    )
    questions.ask(machine, f"Which region do we deploy to? {hostile}".strip())
    questions.answer(
        machine, f"Who owns the tide data? {hostile}".strip(), f"The harbour office {hostile}".strip(), "user"
    )
    todos.add_todo(
        machine, f"Rotate the webhook key {hostile}".strip(), "high", "user", f"it leaked {hostile}".strip()
    )
    lessons.add(
        machine,
        machine.project(),
        "testing",
        [f"run `uv run pytest -q`, never pytest itself {hostile}".strip()],
    )
