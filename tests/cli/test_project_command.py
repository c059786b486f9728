"""`holdfast project`: several projects in one repository, by branch and by path."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.cli.test_terminal import on_terminal
from tests.command import Holdfast
from tests.remembered import everything, project_at, remember

import holdfast as package
from holdfast.briefing.projects import memory_of, naming
from holdfast.model.events import DistilledSession, FileTouch
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

DEMO = Path(package.__file__).parent / "demo_sessions"


@pytest.fixture
def session(holdfast: Holdfast, repo: Path) -> Callable[..., DistilledSession]:
    """A session that changed one file on a branch; everything else of it is a real one's."""
    holdfast("import", DEMO, check=0)
    store = CaptureStore(project_at(repo).capture)
    record = store.records(1)[0]
    store.close()

    def touched(path: str, branch: str = "main") -> DistilledSession:
        return replace(record, branch=branch, files=(FileTouch(path, 0, 1),), cwd=str(repo))

    return touched


def by_name(shown: list[dict[str, object]]) -> dict[str, dict[str, object]]:
    return {str(entry["name"]): entry for entry in shown}


@pytest.mark.promise("M11")
def test_a_repository_without_memory_has_its_own_project_and_listing_writes_nothing(
    holdfast: Holdfast, repo: Path, home: Path
) -> None:
    shown = holdfast("project", "--json", check=0).json()
    assert shown == holdfast("project", "list", "--json", check=0).json()
    assert shown == [
        {"name": "shop", "default": True, "current": True, "sessions": 0, "last": None, "branches": [], "paths": []}
    ]  # fmt: skip
    assert everything(home) == {} and not (repo / ".holdfast").exists()


@pytest.mark.promise("M11", "M13")
def test_a_branch_works_on_the_project_it_was_given(holdfast: Holdfast, repo: Path) -> None:
    remember(repo, "alpha", sessions=2)
    assert "Sessions on main belong to payments" in holdfast("project", "use", "payments", check=0).stdout
    done = holdfast("project", "use", "search", "--branch", "find/2", "--json", check=0).json()
    assert done == {"branch": "find/2", "project": "search"}
    remember(repo, "beta", sessions=3)
    shown = by_name(holdfast("project", "--json", check=0).json())
    assert list(shown) == ["shop", "payments", "search"]
    assert (shown["shop"]["sessions"], shown["payments"]["sessions"], shown["search"]["sessions"]) == (
        2,
        3,
        0,
    )
    assert shown["payments"]["current"] and not shown["shop"]["current"]
    assert shown["payments"]["branches"] == ["main"] and shown["search"]["branches"] == ["find/2"]
    assert str(shown["payments"]["last"]).startswith("2026-01-0")
    subprocess.run(["git", "-C", repo, "checkout", "--quiet", "-b", "find/2"], check=True)
    assert by_name(holdfast("project", "--json").json())["search"]["current"]
    assert memory_of(Machine(cwd=repo), project_at(repo)).name == "search"
    assert holdfast("project", "use", "--default", "--json", check=0).json()["project"] == "shop"
    assert memory_of(Machine(cwd=repo), project_at(repo)).name == "shop"
    lines = holdfast("project", check=0).stdout.splitlines()
    assert lines[1].split() == ["*", "shop", "2", "2026-01-06", "all", "others", "-"]


@pytest.mark.promise("M11")
def test_a_monorepo_sorts_sessions_by_the_files_they_touched(
    holdfast: Holdfast, repo: Path, home: Path, session: Callable[..., DistilledSession]
) -> None:
    team = '[projects]\n"services/pay/**" = "payments"\n"docs" = "manual"\n'
    (repo / ".holdfast" / "config.toml").write_text(team, encoding="utf-8")
    shown = by_name(holdfast("project", "--json", check=0).json())
    assert shown["payments"]["paths"] == ["services/pay/**"] and shown["manual"]["paths"] == ["docs"]
    assert shown["shop"]["current"]
    rules = naming(Machine(cwd=repo), project_at(repo))
    assert rules.of_session(session("services/pay/api.py")) == "payments"
    assert rules.of_session(session("docs/index.md")) == "manual"
    assert rules.of_session(session("web/index.js")) == "shop"
    # What a person chose for a branch, and their own rules, come before the team's.
    holdfast("project", "use", "search", "--branch", "find", check=0)
    rules = naming(Machine(cwd=repo), project_at(repo))
    assert rules.of_session(session("services/pay/api.py", "find")) == "search"
    personal = '[projects]\n"services/**" = "backend"\n'
    (home / ".holdfast" / "config.toml").write_text(personal, encoding="utf-8")
    shown = by_name(holdfast("project", "--json", check=0).json())
    assert shown["backend"]["paths"] == ["services/**"] and "payments" not in shown
    rules = naming(Machine(cwd=repo), project_at(repo))
    assert rules.of_session(session("services/pay/api.py")) == "backend"


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", " ", "con", ".git", "-rf", "x\ny", "\x1b[31m", "n" * 300, "$(id)"]
)
def test_a_name_that_is_none_is_refused_in_one_line(
    holdfast: Holdfast, repo: Path, home: Path, name: str
) -> None:
    refused = holdfast("project", "use", "--", name)
    assert refused.returncode in (1, 2) and "\x1b" not in refused.stderr and "fault of" not in refused.stderr
    assert everything(home) == {} and not (repo / ".holdfast").exists()


def test_what_cannot_be_chosen_is_said(holdfast: Holdfast, repo: Path, tmp_path: Path, home: Path) -> None:
    assert holdfast("project", "use").returncode == 2
    assert holdfast("project", "use", "x", "--default").returncode == 2
    assert holdfast("project", "use", "x", "--branch", "a\x1bb").returncode == 2
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert "looks like a secret" in holdfast("project", "use", secret, check=1).stderr
    subprocess.run(["git", "-C", repo, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
    subprocess.run(["git", "-C", repo, "checkout", "--quiet", "--detach"], check=True)
    refused = holdfast("project", "use", "payments", check=2)
    assert "no branch is checked out here. Say which one: --branch NAME." in refused.stderr
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "--branch" in holdfast("project", "use", "payments", cwd=plain, check=2).stderr
    assert everything(home) == {}
    remember(repo, "alpha")
    (project_at(repo).memory / "projects.json").write_text("{", encoding="utf-8")
    broken = holdfast("project", check=1)
    assert "projects.json: cannot be read" in broken.stderr and "Correct it, or delete it" in broken.stderr


def test_the_table_fits_a_narrow_terminal(holdfast: Holdfast, repo: Path) -> None:
    for n in range(12):
        holdfast("project", "use", "payments", "--branch", f"feature/number-{n}", check=0)
    screen, _ = on_terminal(["project"], repo, 70)
    shown = [line for line in screen if line]
    assert len(shown) == 5 and any("payments" in line and "…" in line for line in shown)
