"""Stale lessons are skipped, listed with what changed, and mended from the repository or left to a person."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.flows.test_lessons import Bench, lesson

from holdfast.flows import lesson_sharing as sharing
from holdfast.flows import lesson_upkeep as app
from holdfast.flows import lessons
from holdfast.model.lesson import PRESENT, Fingerprint


@pytest.fixture
def bench(repo: Path) -> Bench:
    write_script(repo, "vitest run")
    (repo / "tests").mkdir()
    (repo / "tests" / "a.test.ts").write_text("", encoding="utf-8")
    (repo / "docs.md").write_text("the docs\n", encoding="utf-8")
    bench = Bench(repo)
    for name, rule, target in (
        ("script", "tests run with `vitest run`", "package.json#scripts.test"),
        ("layout", "tests live in tests/", "tests/"),
        ("docs", "read docs.md first", "docs.md"),
    ):
        lessons.add(bench.machine, bench.project, name, [rule], fingerprint=[target])
    return bench


def write_script(repo: Path, command: str, version: str = "1") -> None:
    text = json.dumps({"version": version, "scripts": {"test": command}})
    (repo / "package.json").write_text(text, encoding="utf-8")


def drift(bench: Bench) -> dict[str, tuple[str, ...]]:
    return {one.lesson.name: one.drift for one in app.stale(bench.machine, bench.project)}


@pytest.mark.promise("S7")
def test_exactly_the_right_lesson_turns_stale(bench: Bench, repo: Path) -> None:
    assert sorted(bench.active()) == ["docs", "layout", "script"]
    write_script(repo, "vitest run", version="2")  # another field
    (repo / "docs.md").touch()
    (repo / "tests" / "b.test.ts").write_text("", encoding="utf-8")  # one test more is the same layout
    assert drift(bench) == {}
    write_script(repo, "jest")
    assert drift(bench) == {"script": ("package.json#scripts.test changed: vitest run → jest",)}
    assert sorted(bench.active()) == ["docs", "layout"]
    for path in (repo / "tests").iterdir():
        path.unlink()
    (repo / "tests").rmdir()
    assert drift(bench)["layout"] == ("tests/ is not there",)


@pytest.mark.promise("S7")
def test_refreshing_rewrites_what_the_repository_tells_and_retires_what_is_gone(
    bench: Bench, repo: Path
) -> None:
    assert drift(bench) == {}
    write_script(repo, "jest --ci")
    (repo / "docs.md").write_text("other docs\n", encoding="utf-8")
    (repo / "tests" / "a.test.ts").unlink()
    (repo / "tests").rmdir()
    done = {one.lesson.name: one.done for one in app.refresh(bench.machine, bench.project)}
    assert done == {"script": "rewritten", "docs": "left", "layout": "retired"}
    assert bench.active()["script"].rules == ("tests run with `jest --ci`",)
    (kept,) = app.refresh(bench.machine, bench.project, ["docs"], keep=True)
    assert kept.done == "kept" and drift(bench) == {} and sorted(bench.active()) == ["docs", "script"]


@pytest.mark.promise("S7")
def test_a_renamed_file_is_followed(bench: Bench, repo: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)

    git("add", "docs.md"), git("commit", "-m", "docs"), git("mv", "docs.md", "guide.md")
    assert drift(bench) == {} and "docs" in bench.active()
    (repo / "guide.md").write_text("the docs\nand more\n", encoding="utf-8")
    assert drift(bench) == {"docs": ("docs.md is now guide.md and changed",)}
    app.refresh(bench.machine, bench.project, ["docs"], keep=True)
    assert [item.target for item in bench.active()["docs"].fingerprint] == ["guide.md"]


def test_a_lesson_that_is_seen_again_depends_on_what_is_there_then(bench: Bench, repo: Path) -> None:
    learned = replace(
        lesson("use `vitest --run` in hooks", name="hooks"), fingerprint=(Fingerprint(target="docs.md"),)
    )
    bench.propose(learned)
    (repo / "docs.md").write_text("other docs\n", encoding="utf-8")
    bench.propose(learned)  # the same session again tells nothing new
    assert "hooks" in drift(bench)
    bench.propose(
        replace(lesson(*learned.rules, name="hooks", session="s2"), fingerprint=learned.fingerprint)
    )
    assert "hooks" not in drift(bench) and "hooks" in bench.active()


def test_what_is_not_there_is_not_depended_on(bench: Bench) -> None:
    learned = replace(lesson("x needs y", name="hooks"), fingerprint=(Fingerprint(target="nosuch.toml"),))
    bench.propose(learned)
    assert "hooks" not in drift(bench)
    before = bench.snapshot()
    bench.propose(learned)
    assert bench.snapshot() == before


@pytest.mark.promise("S7")
@pytest.mark.parametrize("shared", [True, False])
def test_a_file_without_digests_is_held_against_what_was_there_first(
    bench: Bench, repo: Path, shared: bool
) -> None:
    folder = repo / ".holdfast" / "lessons" if shared else bench.project.memory / "lessons"
    folder.mkdir(exist_ok=True)
    text = "---\nfingerprint: [package.json#scripts.test]\n---\n- vitest it is\n"
    (folder / "runner.md").write_text(text, encoding="utf-8")
    sharing.agree(bench.machine, bench.project, sharing.to_trust(bench.machine, bench.project))
    assert "runner" in bench.active()
    write_script(repo, "vitest run", version="3")
    assert "runner" in bench.active()
    write_script(repo, "jest")
    assert "runner" in drift(bench) and "runner" not in bench.active()
    assert (folder / "runner.md").read_text(encoding="utf-8") == text
    write_script(repo, "vitest run")
    assert "runner" in bench.active()


@pytest.mark.promise("S7")
def test_where_a_file_is_holds_whatever_is_in_it_until_it_is_gone(bench: Bench, repo: Path) -> None:
    learned = replace(
        lesson("`guide.md` does not exist here → `docs.md`", name="path-guide"),
        fingerprint=(Fingerprint(target="docs.md", digest=PRESENT),),
    )
    bench.propose(learned)
    lessons.promote(bench.machine, bench.project, ["path-guide"])
    (repo / "docs.md").write_text("other docs\n", encoding="utf-8")
    assert "path-guide" in bench.active() and "docs" in drift(bench)
    (repo / "docs.md").unlink()
    assert drift(bench)["path-guide"] == ("docs.md is not there",)
    done = {one.lesson.name: one.done for one in app.refresh(bench.machine, bench.project)}
    assert done["path-guide"] == "retired"


@pytest.mark.promise("S7")
def test_a_path_that_is_told_follows_the_file(bench: Bench, repo: Path) -> None:
    target = Fingerprint(target="docs.md", digest=PRESENT)
    learned = replace(
        lesson("`guide.md` does not exist here → `docs.md`", name="path-guide"), fingerprint=(target,)
    )
    bench.propose(learned)
    for words in (["add", "docs.md"], ["commit", "-m", "docs"], ["mv", "docs.md", "manual.md"]):
        subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)
    assert "path-guide" in drift(bench)  # it would lead to where nothing is
    app.refresh(bench.machine, bench.project, ["path-guide"])
    (found,) = [
        one.lesson for one in lessons.read_lessons(bench.machine, bench.project).lessons
        if one.lesson.name == "path-guide"
    ]  # fmt: skip
    assert found.rules == ("`guide.md` does not exist here → `manual.md`",)
    assert found.fingerprint == (Fingerprint(target="manual.md", digest=PRESENT),)
