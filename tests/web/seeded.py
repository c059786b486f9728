"""A demonstration with everything that the screens of memory show: statements of every kind, a repository, a rule."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.flows import facts, lessons, questions, todos
from holdfast.flows.demo import SESSIONS
from holdfast.flows.import_sessions import import_into
from holdfast.flows.notes import memory_to_change
from holdfast.flows.repo_scan import look
from holdfast.memory.decisions import SessionPassages
from holdfast.model.memory import Passage
from holdfast.store.machine import Machine

SESSION = "5f2c8a1e-77aa-4d7e-9c11-0b6f2a1d9e44"
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
    import_into(machine, machine.project(), [SESSIONS])
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
    git(root, "add", "--all", "--", "src", "tests", "pyproject.toml")
    git(root, "commit", "-q", "-m", f"Retry the tide client five times {hostile}".strip())


def _passages(machine: Machine, hostile: str) -> None:
    passages = (
        Passage(
            text=f"The tide client makes at most five attempts with 2, 4, 8 and 16 s between them. {hostile}",
            question="How often does the client retry?",
            by="user",
            session=SESSION,
        ),
        Passage(
            text=f"Retry the tide client without end, because the service is usually back in a minute. {hostile}",
            status="rejected",
            by="agent",
            session=SESSION,
        ),
        Passage(
            text=f"Store tokens in the keyring rather than in a file. {hostile}",
            status="proposed",
            by="agent",
            session=SESSION,
        ),
        Passage(
            text=f"The hang came from a session that was never closed. {hostile}",
            kind="cause",
            by="agent",
            session=SESSION,
        ),
        Passage(
            text=f"A cold start takes 340 ms, a warm one 90 ms. {hostile}",
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
        machine, f"Use uv, not pip, for every environment {hostile}", f"one lock file {hostile}", "user"
    )
    questions.decide(
        machine, f"Log as JSON lines {hostile}", f"the collector reads nothing else {hostile}", "agent"
    )
    facts.add_fact(
        machine,
        f"The service listens on port 8085 {hostile}",
        f"listening on :8085 {hostile}",
        "echo listening on :8085",
    )
    facts.add_fact(machine, f"Python 3.12 runs the tests {hostile}", f"Python 3.12.4 {hostile}")
    questions.ask(machine, f"Which region do we deploy to? {hostile}")
    questions.answer(machine, f"Who owns the tide data? {hostile}", f"The harbour office {hostile}", "user")
    todos.add_todo(machine, f"Rotate the webhook key {hostile}", "high", "user", f"it leaked {hostile}")
    lessons.add(
        machine, machine.project(), "testing", [f"run `uv run pytest -q`, never pytest itself {hostile}"]
    )
