"""`export --agents-md`: one short marked section, after a diff and a yes; the rest of the file stays to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast

pytestmark = pytest.mark.promise("U13")

OWN = "# Shop\n\nUse `make test`.\n"
DECISION = "Retry the label export at most five times"


def export(holdfast: Holdfast, *words: str) -> dict[str, object]:
    value: dict[str, object] = holdfast("export", "--agents-md", "--json", *words, check=0).json()
    return value


def test_decisions_and_lessons_that_hold_stand_between_the_marks(holdfast: Holdfast, repo: Path) -> None:
    (repo / "AGENTS.md").write_text(OWN, encoding="utf-8")
    holdfast("note", "decision", DECISION, "--because", "their contract", check=0)
    holdfast("lessons", "add", "testing", "--rule", "never run pytest itself", check=0)
    done = holdfast("export", "--agents-md", "--yes", check=0)
    text = (repo / "AGENTS.md").read_text(encoding="utf-8")
    assert text.startswith(OWN) and text.count("holdfast:begin") == text.count("holdfast:end") == 1
    assert f"- {DECISION} (their contract)" in text and "- never run pytest itself" in text
    assert f"+- {DECISION}" in done.stdout and "2 lines" in done.stdout


def test_without_a_yes_nothing_is_written(holdfast: Holdfast, repo: Path) -> None:
    holdfast("note", "decision", DECISION, check=0)
    value = export(holdfast)
    assert value["done"] is False and DECISION in str(value["diff"]) and not (repo / "AGENTS.md").exists()
    assert holdfast("export", "--agents-md").returncode == 2, "no terminal: cannot ask"
    assert holdfast("export", "--agents-md", "--dry-run", check=0).stdout.endswith("Would write 1 line.\n")
    assert not (repo / "AGENTS.md").exists()


def test_written_again_it_is_the_same_and_what_no_longer_holds_goes(holdfast: Holdfast, repo: Path) -> None:
    (repo / "AGENTS.md").write_text(OWN, encoding="utf-8")
    holdfast("note", "decision", DECISION, check=0)
    holdfast("export", "--agents-md", "--yes", check=0)
    first = (repo / "AGENTS.md").read_bytes()
    assert export(holdfast, "--yes")["done"] is False and (repo / "AGENTS.md").read_bytes() == first
    (decision,) = holdfast("note", "decision", "--list", "--json", check=0).json()
    holdfast("note", "decision", "retire", decision["id"], check=0)
    assert export(holdfast, "--yes")["done"] is True
    assert (repo / "AGENTS.md").read_text(encoding="utf-8") == OWN


def test_what_the_file_says_already_is_not_said_twice(holdfast: Holdfast, repo: Path) -> None:
    (repo / "AGENTS.md").write_text(f"# Shop\n\n- {DECISION.lower()}.\n", encoding="utf-8")
    holdfast("note", "decision", DECISION, check=0)
    assert export(holdfast)["lines"] == 0


def test_what_came_from_this_file_is_not_written_into_it(holdfast: Holdfast, repo: Path) -> None:
    rule = "Always print the labels of the shop at night"
    (repo / "AGENTS.md").write_text(f"- {rule}\n", encoding="utf-8")
    holdfast("import", "--memories", "--yes", check=0)
    (repo / "AGENTS.md").write_text("# Shop\n", encoding="utf-8")
    assert export(holdfast)["lines"] == 0


def test_the_file_that_the_repository_has_is_taken(holdfast: Holdfast, repo: Path) -> None:
    (repo / "CLAUDE.md").write_text(OWN, encoding="utf-8")
    holdfast("note", "decision", DECISION, check=0)
    assert Path(str(export(holdfast)["path"])).name == "CLAUDE.md"
    assert Path(str(export(holdfast, "AGENTS.md")["path"])).name == "AGENTS.md"


def test_a_link_out_of_the_repository_is_refused(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("x\n", encoding="utf-8")
    (repo / "AGENTS.md").symlink_to(tmp_path / "elsewhere.md")
    done = holdfast("export", "--agents-md", "--yes")
    assert done.returncode != 0 and "leads out of the repository" in done.stderr
    assert (tmp_path / "elsewhere.md").read_text(encoding="utf-8") == "x\n"


def test_our_section_is_not_read_back_as_a_guide(holdfast: Holdfast, repo: Path) -> None:
    holdfast("note", "decision", DECISION, check=0)
    holdfast("export", "--agents-md", "--yes", check=0)
    assert holdfast("import", "--memories", "--json", check=0).json()["found"] == []
