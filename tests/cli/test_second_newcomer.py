"""What a newcomer met: answers that were there and not given, undo one step further, words of the code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.command import Holdfast
from tests.hooks.enabled import Enabled, run_hook

from holdfast.flows.remembered_prompts import keep_remembered
from holdfast.hooks.remember import asked


@pytest.mark.parametrize("question", ["why do we use bun?", "why bun?", "Why bun and not npm?"])
def test_a_why_question_is_answered_by_the_decision_with_its_reason(
    holdfast: Holdfast, question: str
) -> None:
    holdfast("note", "decision", "use bun, never npm", "--because", "the lock file is bun's", check=0)
    holdfast("note", "decision", "Charge cards through Stripe", "--because", "Adyen has no refunds", check=0)
    said = holdfast("ask", question, check=0)
    assert "the lock file is bun's" in said.stdout and "No answer" not in said.stdout + said.stderr
    assert said.stdout.count("use bun, never npm") == 1
    assert holdfast("ask", question, "--json", check=0).json()["status"] == "answered"


def test_a_why_question_that_no_reason_answers_stays_open(holdfast: Holdfast) -> None:
    holdfast("note", "decision", "use bun, never npm", check=0)
    assert holdfast("ask", "why do we use bun?", "--json", check=0).json()["status"] != "answered"


def test_a_handoff_to_an_agent_begins_with_what_was_noted_and_takes_the_newest_session(
    holdfast: Holdfast, repo: Path, home: Path
) -> None:
    folder = home / ".claude" / "projects" / "-shop"
    folder.mkdir(parents=True)
    for number, words in enumerate(("Draw the old chart", "Raise the limit of the export")):
        session = f"0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a1{number}"
        file = ClaudeFile(session=session, cwd=str(repo), prefix=f"u{number}")
        file.user(number * 100_000, words)
        file.run(number * 100_000 + 5, "ls", "client.py", exit_code=0)
        file.save(folder / f"{session}.jsonl")
    holdfast("note", "decision", "Use bun, never npm", "--because", "the lock file", check=0)
    holdfast("handoff", "Migrate the tests to bun, then drop npm", check=0)
    text = holdfast("handoff", "--to", "claude-code", "--print", check=0).stdout
    assert "Raise the limit of the export" in text and "Draw the old chart" not in text
    assert text.index("Migrate the tests to bun") < text.index("Raise the limit of the export")
    assert "Use bun, never npm (because the lock file)" in text


def test_undo_says_how_to_go_further_back_and_that_works(holdfast: Holdfast, repo: Path) -> None:
    for text in ("Use pnpm, not npm", "Deploy on Fridays only", "Log as JSON lines"):
        holdfast("note", "decision", text, check=0)
    said = holdfast("undo", "--yes", check=0).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("To go further back: ")]
    words = line.partition("holdfast ")[2].split()
    holdfast(*words, "--yes", check=0)
    left = [one["text"] for one in holdfast("note", "decision", "list", "--json", check=0).json()]
    assert left == ["Use pnpm, not npm"]


def test_history_names_commands_as_they_are_typed(holdfast: Holdfast) -> None:
    id = holdfast("note", "decision", "Use pnpm, not npm", "--json", check=0).json()["id"]
    holdfast("note", "decision", "change", id, "Use pnpm 9, not npm", check=0)
    said = holdfast("history", "reference.md", check=0).stdout
    assert "note decision change" in said and "decide" not in said


def test_a_branch_that_does_not_exist_is_named(holdfast: Holdfast, enabled: Enabled) -> None:
    assert "no branch 'nope'" in holdfast("resume", "--branch", "nope", check=0).stderr
    holdfast("handoff", "Finish it", "--branch", "gone", check=0)
    assert "Finish it" in holdfast("resume", "--branch", "gone", check=0).stdout


def test_the_last_session_is_shown_by_that_word(holdfast: Holdfast) -> None:
    for name in ("first", "second"):
        holdfast("ledger", "add", "--session", name, check=0)
    assert holdfast("ledger", "show", "last", "--json", check=0).json()["session"] == "second"


def test_two_exports_of_a_day_are_both_kept(holdfast: Holdfast, home: Path) -> None:
    holdfast("note", "decision", "Use pnpm, not npm", check=0)
    paths = [holdfast("export", "--json", check=0).json()["path"] for _ in range(3)]
    assert len(set(paths)) == 3 and all(os.path.isfile(path) for path in paths)


def test_restore_dry_run_says_what_the_archive_holds(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("note", "decision", "Use pnpm, not npm", check=0)
    file = tmp_path / "shop.tar.gz"
    holdfast("export", file, check=0)
    said = holdfast("restore", file, "--dry-run", check=0).stdout
    assert "The archive holds shop's memory" in said and "--merge" in said and "--replace" in said
    assert "already has a memory" in holdfast("restore", file, check=1).stderr


def test_remember_names_the_id_and_leaves_the_task_out(holdfast: Holdfast, enabled: Enabled) -> None:
    prompt = "remember: Deploys go through staging first. Also fix the typo in README"
    payload = {"session_id": "s-1", "cwd": str(enabled.root), "prompt": prompt}
    said = run_hook("UserPromptSubmit", json.dumps(payload).encode(), cwd=enabled.root)
    shown = json.loads(said.printed)["systemMessage"]
    keep_remembered(enabled.machine, enabled.project)
    (kept,) = [
        one for one in holdfast("note", "decision", "list", "--json").json() if "staging" in one["text"]
    ]
    assert kept["text"] == "Deploys go through staging first."
    assert f"retire {kept['id']}" in shown


@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        ("remember: we also ship on Fridays. Ask first", ["we also ship on Fridays. Ask first"]),
        ("remember: staging first; then deploy", ["staging first"]),
        ("remember: use v1.2 also here", ["use v1.2 also here"]),
    ],
)
def test_what_belongs_to_the_text_stays(prompt: str, texts: list[str]) -> None:
    assert asked("codex", prompt) == texts


def test_forget_shows_the_words_that_will_go_before_it_asks(holdfast: Holdfast) -> None:
    id = holdfast("note", "decision", "Use pnpm, not npm", "--json", check=0).json()["id"]
    said = holdfast("forget", "--fact", id, "--dry-run", check=0).stdout
    assert f"{id}  Use pnpm, not npm" in said


def test_a_mistyped_invitation_is_refused_before_anything_is_asked(holdfast: Holdfast) -> None:
    said = holdfast("team", "join", "abc").stderr
    assert "terminal" not in said and "invitation" in said


def test_off_says_what_it_does_in_words(holdfast: Holdfast, enabled: Enabled) -> None:
    assert "neither recorded nor shown anything" in holdfast("agents", "off", check=0).stdout
    assert "are recorded and see memory" in holdfast("agents", "on", check=0).stdout


def test_a_missing_folder_is_named_before_anything_is_asked(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("note", "decision", "Use pnpm, not npm", check=0)
    said = holdfast("sync", tmp_path / "drive", check=1).stderr
    assert "no such folder" in said and "mkdir -p" in said and "terminal" not in said
    assert not (tmp_path / "drive").exists()
