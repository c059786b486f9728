"""Two people with one repository: lessons reach the other through git alone, and only when they agree to them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.briefing.prompt import as_prompt
from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lessons as app
from holdfast.flows.hosts import Plan, install
from holdfast.flows.refresh import refresh
from holdfast.lessons.states import active_lessons
from holdfast.store.machine import Machine
from holdfast.store.project import Project

RULE = "coupon fields live in shop/fields.py"
CODE = "Add a coupon field to the checkout page"


class Person:
    """Somebody with a home of their own and a clone of the repository."""

    def __init__(self, name: str, folder: Path, origin: Path) -> None:
        self.home, self.clone = folder / name / "home", folder / name / "shop"
        self.home.mkdir(parents=True)
        subprocess.run(
            ["git", "clone", "--quiet", str(origin), str(self.clone)], check=True, capture_output=True
        )
        env = {**os.environ, "HOME": str(self.home), "HOLDFAST_HOME": str(self.home / ".holdfast")}
        self.machine = Machine(env=env, cwd=self.clone)
        install(self.machine, self.project, Plan(agent="claude-code", changes=()))

    @property
    def project(self) -> Project:
        return self.machine.project()

    def git(self, *words: str) -> None:
        named = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run([*named, *words], cwd=self.clone, check=True, capture_output=True)

    def told(self, prompt: str) -> str:
        refresh(self.machine, self.project)
        answer = as_prompt(self.machine, self.project, prompt)
        return "\n".join(line for line, _ in answer.lines if "[L-" in line)

    def names(self) -> list[str]:
        return [one.lesson.name for one in active_lessons(self.machine, self.project)]


@pytest.fixture
def people(tmp_path: Path) -> tuple[Person, Person]:
    origin = tmp_path / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(origin)], check=True)
    ada = Person("ada", tmp_path, origin)
    (ada.clone / "README.md").write_text("# Shop\n", encoding="utf-8")
    ada.git("add", "README.md")
    ada.git("commit", "-qm", "begin")
    ada.git("push", "--quiet", "origin", "HEAD:main")
    return ada, Person("bob", tmp_path, origin)


@pytest.mark.promise("S9")
def test_a_lesson_reaches_somebody_else_through_git_alone_and_by_their_consent(
    people: tuple[Person, Person],
) -> None:
    ada, bob = people
    app.add(ada.machine, ada.project, "coupons", [RULE])
    assert RULE in ada.told(CODE)
    ada.git("add", "--all")
    ada.git("commit", "--quiet", "--allow-empty", "-m", "work")
    ada.git("push", "--quiet", "origin", "HEAD:main")
    bob.git("pull", "--quiet", "origin", "main")
    assert not (
        bob.clone / ".holdfast" / "lessons"
    ).exists()  # what is not shared stays at home, whatever is committed
    assert bob.names() == [] and bob.told(CODE) == ""
    sharing.share(ada.machine, ada.project, ["coupons"])
    ada.git("commit", "-qm", "share")
    ada.git("push", "--quiet", "origin", "HEAD:main")
    bob.git("pull", "--quiet", "origin", "main")
    assert (bob.clone / ".holdfast" / "lessons" / "coupons.md").exists()
    assert bob.names() == [] and bob.told(CODE) == ""  # it came, and nobody agreed to it
    sharing.agree(bob.machine, bob.project, sharing.to_trust(bob.machine, bob.project))
    assert bob.names() == ["coupons"] and RULE in bob.told(CODE)


@pytest.mark.promise("S9")
def test_a_lesson_is_not_always_on(people: tuple[Person, Person]) -> None:
    ada, _ = people
    app.add(ada.machine, ada.project, "coupons", [RULE])
    assert RULE in ada.told(CODE)
    for prompt in (
        "What is a coupon?",
        "Where are coupons handled in this codebase?",
        "thanks",
        "Rename the footer",
    ):
        assert ada.told(prompt) == "", prompt


@pytest.mark.promise("S9")
def test_a_lesson_is_no_skill(people: tuple[Person, Person]) -> None:
    """Nothing that a host would offer as a skill, a command or an instruction comes of it."""
    ada, _ = people
    before = {path for path in ada.home.rglob("*") if ".holdfast" not in path.parts}
    app.add(ada.machine, ada.project, "coupons", [RULE])
    app.add(ada.machine, ada.project, "mine", ["I like short names"], personal=True)
    sharing.share(ada.machine, ada.project, ["coupons"])
    refresh(ada.machine, ada.project)
    assert {path for path in ada.home.rglob("*") if ".holdfast" not in path.parts} == before
    made = [path.relative_to(ada.clone).as_posix() for path in ada.clone.rglob("*") if path.is_file()]
    outside = [path for path in made if not path.startswith((".git/", ".holdfast/")) and path != "README.md"]
    assert outside == []
