"""Usage that a transcript shows to be incomplete is said to be, from the digest to the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile, CodexFile, claude_usage, codex_usage, session_of
from tests.command import Holdfast

from holdfast.agents.claude_code.reader import ClaudeCode
from holdfast.agents.codex.reader import Codex
from holdfast.sessions.session import ledger_entry

LONG = "A long explanation of what was done. " * 40


def claude(*outputs: int) -> ClaudeFile:
    file = ClaudeFile()
    for number, output in enumerate(outputs):
        file.user(100 * number, f"Explain part {number} of the kettle")
        file.assistant(100 * number + 5, LONG, usage=claude_usage(10, output))
    return file


@pytest.mark.promise("V7")
def test_output_that_is_too_low_for_its_text_makes_the_row_incomplete(tmp_path: Path) -> None:
    session = session_of(ClaudeCode(), claude(400, 2, 3).save(tmp_path / "a.jsonl"))
    assert session.usage_gaps == {"low_output": 2}
    assert ledger_entry(session).usage == "incomplete"
    whole = session_of(ClaudeCode(), claude(400, 300).save(tmp_path / "b.jsonl"))
    assert whole.usage_gaps == {} and ledger_entry(whole).usage is None


@pytest.mark.promise("V7")
def test_a_reply_without_usage_makes_the_row_incomplete_and_none_at_all_missing(tmp_path: Path) -> None:
    file = CodexFile()
    file.ask(1, "Sell newspapers")
    file.agent(2, "Sold.")
    missing = session_of(Codex(), file.save(tmp_path / "a.jsonl"))
    assert missing.usage_gaps == {"no_usage": 1} and ledger_entry(missing).usage == "missing"
    file.ask(60, "And magazines")
    file.agent(61, "Sold.")
    file.event(62, "token_count", info={"total_token_usage": codex_usage(500, 200, 50)})
    partial = session_of(Codex(), file.save(tmp_path / "b.jsonl"))
    assert partial.usage_gaps == {"no_usage": 1} and ledger_entry(partial).usage == "incomplete"


@pytest.mark.promise("V7")
def test_list_show_and_stats_say_it(tmp_path: Path, holdfast: Holdfast) -> None:
    path = claude(2, 3).save(tmp_path / "a.jsonl")
    holdfast("import", path, check=0)
    assert "≥ $0.0" in holdfast("ledger", check=0).stdout
    (row,) = holdfast("ledger", "list", "--json", check=0).json()
    assert row["usage"] == "incomplete"
    shown = holdfast("ledger", "show", row["session"], check=0).stdout
    assert "incomplete: 2 responses with too few output tokens for their text" in shown
    assert "Usage is incomplete in 1 of 1 session" in holdfast("ledger", "stats", check=0).stdout
    assert holdfast("ledger", "stats", "--json", check=0).json()["incomplete_usage"] == 1


def test_dated_and_undated_ids_are_one_model_in_stats(holdfast: Holdfast) -> None:
    for number, model in enumerate(("claude-haiku-4-5", "claude-haiku-4-5-20251001")):
        words = (
            "--goal",
            f"part {number}",
            "--model",
            model,
            "--tasks",
            "1",
            "--failed",
            "0",
            "--cost",
            "0.1",
        )
        holdfast("ledger", "add", *words, check=0)
    stats = holdfast("ledger", "stats", "--json", check=0).json()
    sessions = {name: group["sessions"] for name, group in stats["model_performance"].items()}
    assert sessions == {"claude-haiku-4-5": 2}
    by_model = holdfast("ledger", "stats", "--by", "model", "--json", check=0).json()
    assert list(by_model["groups"]) == ["claude-haiku-4-5"]
