"""`import --memories`: other memories come in with their source, after a yes, and no host hears what it reads itself."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.hooks.enabled import SESSION, Enabled, run_hook

from holdfast.flows.refresh import refresh
from holdfast.hooks.own_reading import read_by, unread
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("U13")

RULE = "Always retry the label export at most five times against the gateway"
PROMPT = "How many times may the label export retry against the gateway?"


@pytest.fixture
def guided(repo: Path) -> Path:
    (repo / "CLAUDE.md").write_text(
        f"# Shop\n\nA shop for labels.\n\n## Rules\n\n- {RULE}\n- Short\n\n1. Run the first step\n",
        encoding="utf-8",
    )
    return repo


def found(holdfast: Holdfast) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = holdfast("import", "--memories", "--json", check=0).json()["found"]
    return lines


def decisions(holdfast: Holdfast) -> dict[str, str]:
    listed = holdfast("note", "decision", "--list", "--json", check=0).json()
    return {one["text"]: one["because"] if "because" in one else one.get("rationale", "") for one in listed}


def test_rules_of_a_guide_are_shown_with_who_reads_them_and_nothing_is_kept(
    holdfast: Holdfast, guided: Path
) -> None:
    (line,) = found(holdfast)
    assert (line["text"], line["source"]) == (RULE, "CLAUDE.md")
    assert "claude-code" in line["readers"] and "codex" not in line["readers"]  # type: ignore[operator]
    assert decisions(holdfast) == {}


def test_what_a_person_agrees_to_is_kept_with_its_source_and_not_shown_again(
    holdfast: Holdfast, guided: Path
) -> None:
    done = holdfast("import", "--memories", "--yes", check=0)
    assert f"- {RULE}" in done.stdout or RULE in done.stdout
    assert "1 line imported" in done.stdout
    (text,) = decisions(holdfast)
    assert text == RULE and found(holdfast) == []
    statement = holdfast("note", "decision", "--list", "--json", check=0).stdout
    assert "from CLAUDE.md" in statement


def test_without_a_terminal_nobody_can_be_asked_and_nothing_is_kept(holdfast: Holdfast, guided: Path) -> None:
    done = holdfast("import", "--memories")
    assert done.returncode == 2 and "Add --yes to import all" in done.stderr and decisions(holdfast) == {}


def test_an_agent_may_not_agree(holdfast: Holdfast, guided: Path) -> None:
    done = holdfast("import", "--memories", "--yes", env={"CLAUDECODE": "1"})
    assert done.returncode == 2 and decisions(holdfast) == {}


def test_a_host_that_reads_the_file_is_not_told_its_lines_and_another_is(
    holdfast: Holdfast, guided: Path
) -> None:
    enabled = Enabled(guided)
    holdfast("import", "--memories", "--yes", check=0)
    refresh(Machine(cwd=guided), enabled.project)
    own = read_by(str(enabled.memory), "claude-code")
    assert len(own) == 1 and read_by(str(enabled.memory), "codex") == set()
    said = {**enabled.payload(), "prompt": PROMPT}
    told = {
        host: run_hook("UserPromptSubmit", json.dumps(said | {"session_id": f"{SESSION[:-1]}{number}"}).encode(),
                       None, guided, host).printed.decode()
        for number, host in enumerate(("claude-code", "codex"))
    }  # fmt: skip
    assert "five times" not in told["claude-code"] and "five times" in told["codex"]


def test_an_import_of_another_guide_makes_its_host_a_reader(holdfast: Holdfast, repo: Path) -> None:
    (repo / "AGENTS.md").write_text(f"- {RULE}\n", encoding="utf-8")
    (repo / "CLAUDE.md").write_text("@AGENTS.md\n", encoding="utf-8")
    (line,) = found(holdfast)
    assert {"claude-code", "codex"} <= set(line["readers"])  # type: ignore[call-overload]


def test_the_readers_of_two_files_that_say_the_same_have_it_both(holdfast: Holdfast, repo: Path) -> None:
    for name in ("AGENTS.md", "CLAUDE.md"):
        (repo / name).write_text(f"- {RULE}\n", encoding="utf-8")
    (line,) = found(holdfast)
    assert {"claude-code", "codex"} <= set(line["readers"])  # type: ignore[call-overload]


def test_a_line_below_a_heading_that_turns_it_around_is_left_out(holdfast: Holdfast, repo: Path) -> None:
    (repo / "AGENTS.md").write_text(
        f"## What to avoid\n\n- Always use a global for the gateway\n\n## Rules\n\n- {RULE}\n",
        encoding="utf-8",
    )
    assert [line["text"] for line in found(holdfast)] == [RULE]


def test_notes_that_claude_code_keeps_by_itself_come_in(holdfast: Holdfast, repo: Path, home: Path) -> None:
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(repo))
    notes = home / ".claude" / "projects" / slug / "memory"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text(
        "# Notes\n\n- The gateway answers 429 in the evening\n", encoding="utf-8"
    )
    (line,) = found(holdfast)
    assert line["text"] == "The gateway answers 429 in the evening" and line["readers"] == ["claude-code"]


def test_of_a_personal_file_only_what_gemini_added_comes_in(
    holdfast: Holdfast, repo: Path, home: Path
) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "GEMINI.md").write_text(
        "- Always answer in French, please\n\n## Gemini Added Memories\n- The shop's labels are printed in Lyon\n",
        encoding="utf-8",
    )
    (line,) = found(holdfast)
    assert line["text"] == "The shop's labels are printed in Lyon" and line["readers"] == ["gemini"]


def test_observations_of_the_basic_memory_project_of_this_name_come_in(
    holdfast: Holdfast, repo: Path, home: Path
) -> None:
    notes = home / "notes"
    notes.mkdir()
    (home / ".basic-memory").mkdir()
    projects = {repo.name: {"path": str(notes)}, "other": str(home / "elsewhere")}
    (home / ".basic-memory" / "config.json").write_text(json.dumps({"projects": projects}), encoding="utf-8")
    (notes / "labels.md").write_text(
        "# Labels\n\n## Observations\n- [decision] Labels are printed at night #print (cheaper)\n- [x] a done box, no more\n"
        "- relates_to [[Gateway]]\n",
        encoding="utf-8",
    )
    (line,) = found(holdfast)
    assert line["text"] == "Labels are printed at night (cheaper)" and line["readers"] == []
    assert line["source"] == "basic-memory labels.md"


def test_decisions_and_discoveries_of_claude_mem_come_in_for_this_project_alone(
    holdfast: Holdfast, repo: Path, home: Path
) -> None:
    path = home / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, project TEXT, type TEXT, title TEXT, facts TEXT, "
            "created_at_epoch INTEGER)"
        )
        rows = [
            (repo.name, "decision", "Labels are queued in Redis, not in files", None, 2),
            (repo.name, "discovery", "How the gateway answers", '["The gateway answers 429 at night"]', 1),
            (repo.name, "change", "Renamed a file somewhere", None, 3),
            ("other", "decision", "A decision of another project", None, 4),
        ]
        database.executemany(
            "INSERT INTO observations (project, type, title, facts, created_at_epoch) VALUES (?, ?, ?, ?, ?)",
            rows,
        )
        database.commit()
    texts = [line["text"] for line in found(holdfast)]
    assert texts == ["Labels are queued in Redis, not in files", "The gateway answers 429 at night"]


def test_a_secret_in_a_note_is_redacted_before_it_is_kept(holdfast: Holdfast, repo: Path) -> None:
    secret = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vW7" * 4
    (repo / "AGENTS.md").write_text(f"- Always use the staging key {secret}\n", encoding="utf-8")
    holdfast("import", "--memories", "--yes", check=0)
    (text,) = decisions(holdfast)
    assert secret not in text


def test_lines_that_the_host_has_are_taken_out_by_their_id(tmp_path: Path) -> None:
    (tmp_path / "imported.json").write_text('{"lines": {"D-abc": {"readers": ["codex"]}}}', encoding="utf-8")
    lines = [("five attempts (you, 06-24, D-abc)", ""), ("no npm (you, 06-24, D-xyz)", "")]
    assert (
        unread(lines, str(tmp_path), "codex") == lines[1:] and unread(lines, str(tmp_path), "gemini") == lines
    )
    (tmp_path / "imported.json").write_text("[torn", encoding="utf-8")
    assert unread(lines, str(tmp_path), "codex") == lines
