"""What a session settled counts on every branch that reaches its commits, until they are reverted."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.decided import Decided

import holdfast as package
from holdfast.briefing.prompt import as_prompt
from holdfast.flows.import_sessions import import_into
from holdfast.memory.decisions import SessionPassages
from holdfast.model.memory import Harvest, Passage
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("W6")

DEMO = Path(package.__file__).parent / "demo_sessions"
SESSION = "aaaa0001-0000-4000-8000-000000000001"
RULE = "The samovar keeps three litres of water in reserve, because a dry samovar melts."
PROMPT = "The samovar has no litres of water left in reserve, repair the samovar"


class Samovar:
    """A repository in which a session settled a rule on the branch `reserve`, and committed it there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("commit", "-q", "--allow-empty", "-m", "begin")
        self.git("branch", "other")
        self.git("checkout", "-q", "-b", "reserve")
        self.change("samovar.py", "Add the tank")
        self.sha = self.git("rev-parse", "HEAD")
        section = SessionPassages(
            session=SESSION,
            title="the samovar's reserve",
            at=time.time() - 60,
            branch="reserve",
            passages=(Passage(text=RULE, by="user", worth=90),),
        )
        self.project = Decided(root, (section,)).project
        self.remember(f"{self.sha[:8]} Add the tank")
        self.git("checkout", "-q", "main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        done = subprocess.run(
            ["git", "-C", str(self.root), *who, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def change(self, name: str, message: str) -> None:
        with (self.root / name).open("a", encoding="utf-8") as file:
            file.write(f"{message}\n")
        self.git("add", name)
        self.git("commit", "-q", "-m", message)

    def remember(self, *commits: str) -> None:
        elsewhere = Machine(env={"HOME": str(self.root.parent / "elsewhere")}, cwd=self.root)
        import_into(elsewhere, elsewhere.project(), [DEMO])
        sample = CaptureStore.glimpse(elsewhere.project().capture, lambda store: store.records(1), [])[0]
        store = CaptureStore(self.project.capture)
        store.put_record(replace(sample, session=SESSION, harvest=Harvest(commits=commits)))
        store.close()

    def tells(self, branch: str) -> bool:
        self.git("checkout", "-q", branch)
        told = as_prompt(Machine(cwd=self.root), self.project, PROMPT)
        return any("three litres" in text for text, _ in told.lines)


@pytest.fixture
def samovar(repo: Path) -> Samovar:
    return Samovar(repo)


def test_it_counts_where_it_was_settled_and_not_where_nothing_reaches_its_commit(samovar: Samovar) -> None:
    assert samovar.tells("reserve")
    assert not samovar.tells("main") and not samovar.tells("other")


def test_once_it_is_merged_it_counts_everywhere(samovar: Samovar) -> None:
    assert not samovar.tells("main")
    samovar.git("merge", "-q", "--no-ff", "-m", "Merge the tank", "reserve")
    assert samovar.tells("main") and samovar.tells("other")


def test_a_branch_that_took_it_in_has_it_and_the_default_branch_has_not(samovar: Samovar) -> None:
    samovar.git("checkout", "-q", "other")
    samovar.git("merge", "-q", "--no-ff", "-m", "Merge the tank", "reserve")
    assert samovar.tells("other") and not samovar.tells("main")


def test_a_revert_takes_it_back_and_taking_that_back_brings_it_again(samovar: Samovar) -> None:
    samovar.git("merge", "-q", "--no-ff", "-m", "Merge the tank", "reserve")
    assert samovar.tells("main")
    samovar.git("revert", "--no-edit", samovar.sha)
    assert not samovar.tells("main")
    samovar.git("revert", "--no-edit", "HEAD")
    assert samovar.tells("main")


def test_a_session_of_which_one_commit_stands_still_counts(samovar: Samovar) -> None:
    samovar.git("merge", "-q", "--no-ff", "-m", "Merge the tank", "reserve")
    samovar.change("lid.py", "Add the lid")
    lid = samovar.git("rev-parse", "HEAD")
    samovar.remember(f"{samovar.sha[:8]} Add the tank", f"{lid[:8]} Add the lid")
    samovar.git("revert", "--no-edit", samovar.sha)
    assert samovar.tells("main")


def test_a_session_without_commits_counts_on_its_branch(samovar: Samovar) -> None:
    samovar.remember()
    samovar.git("merge", "-q", "--no-ff", "-m", "Merge the tank", "reserve")
    assert samovar.tells("reserve") and not samovar.tells("main")
