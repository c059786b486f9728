"""The score: a part that fails says why, what was not measured keeps its commit, and the page shows the change."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bench.score import agent, quality, record, size, verdicts
from bench.score.rows import HIGHER, LOWER, ROWS, TITLES, Measured, Spec
from tests.agents.builders import SESSION, ClaudeFile

ROOT = Path(__file__).parents[1]
SET = [json.loads(line) for line in (ROOT / "bench" / "data" / "told_small.jsonl").read_text().splitlines()]


@pytest.fixture
def score() -> ModuleType:
    """scripts/score.py, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("score_script", ROOT / "scripts" / "score.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def about(commit: str, label: str = "") -> dict[str, Any]:
    return {"commit": commit, "label": label, "date": "2026-11-18", "machine": "2 cores", "remark": ""}


def test_a_part_that_fails_says_why_in_each_of_its_rows(
    score: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> dict[str, Measured]:
        raise FileNotFoundError("no such provider")

    found = score.measured("hooks", broken)
    assert set(found) == {"hook_start", "hook_prompt", "hook_tool_silent", "hook_tool_told"}
    assert {row.note for row in found.values()} == {"failed: FileNotFoundError: no such provider"}
    assert "hooks" in capsys.readouterr().err


def test_a_part_alone_keeps_the_other_rows_with_their_commit(
    score: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for commit, seconds in (("aaaaaaa", "200"), ("bbbbbbb", "150")):
        given = ["--only", "suite", "--suite-cpu", seconds, "--folder", str(tmp_path), "--commit", commit]
        runs = record.added(
            record.read(tmp_path / "score.json"), about("aaaaaaa", "0.1.0"), {"lines": Measured(9, 1)}
        )
        if commit == "aaaaaaa":
            record.write(tmp_path / "score.json", runs)
        assert score.main([*given, "--json"]) == 0
    newest, base = record.read(tmp_path / "score.json")
    assert (newest["commit"], newest["label"], base["label"]) == ("bbbbbbb", "", "0.1.0")
    assert newest["rows"]["suite_cpu"]["commit"] == "bbbbbbb"
    assert (newest["rows"]["lines"]["value"], newest["rows"]["lines"]["commit"]) == (9, "aaaaaaa")
    page = (tmp_path / "score.md").read_text(encoding="utf-8")
    assert "| 150 | 200 | −50 better |" in page
    assert "| 9 (of aaaaaaa) | 9 | = |" in page
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["commit"] == "bbbbbbb"


def test_an_unknown_part_is_refused(score: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert score.main(["--only", "told,speed"]) == 2
    assert "no such part: speed; there are told" in capsys.readouterr().err


def test_a_commit_that_is_measured_again_is_replaced_and_keeps_its_label() -> None:
    runs = record.added([], about("aaaaaaa", "0.1.0"), {"lines": Measured(9, 1)})
    runs = record.added(runs, about("aaaaaaa"), {"lines": Measured(8, 1)})
    (run,) = runs
    assert (run["label"], run["rows"]["lines"]["value"]) == ("0.1.0", 8)


def test_a_bound_of_the_table_holds_for_earlier_figures_and_a_bound_of_the_run_stays() -> None:
    found = {"hook_start": Measured(1.7, 20), "replay_coverage": Measured(0.5, 87, "", bound=0.4)}
    runs = record.added([], about("aaaaaaa"), found)
    runs[0]["rows"]["hook_start"].update(bound=2.0, ok=True)
    rows = record.added(runs, about("bbbbbbb"), {})[0]["rows"]
    assert (rows["hook_start"]["bound"], rows["hook_start"]["ok"]) == (1.6, False)
    assert (rows["replay_coverage"]["bound"], rows["replay_coverage"]["ok"]) == (0.4, True)


@pytest.mark.parametrize(
    ("better", "now", "base", "words"),
    [
        (HIGHER, 0.9, 0.8, "+0.100 better"),
        (HIGHER, 0.7, 0.8, "−0.100 worse"),
        (LOWER, 0.75, 0.8, "−0.050 better"),
        ("", 0.75, 0.5, "+0.250"),
        (HIGHER, 0.5, 0.5, "="),
        (HIGHER, None, 0.5, ""),
    ],
)
def test_a_change_is_named_better_or_worse(better: str, now: float, base: float, words: str) -> None:
    spec = Spec("row", "part", "Row", "share", better)
    assert record.change(spec, {"value": now}, {"value": base}) == words


def test_shares_ratios_and_counts_are_written_as_such() -> None:
    assert record.figure(1, "share") == "1.000" and record.figure(18.456, "x python") == "18.46"
    assert record.figure(78826, "lines") == "78,826" and record.figure(131.04, "tokens") == "131.0"


def test_a_figure_that_misses_its_bound_stands_out() -> None:
    runs = record.added(
        [], about("aaaaaaa"), {"hook_start": Measured(1.7, 20), "told_stale": Measured(0.0, 3)}
    )
    page = record.page(runs)
    assert "| **1.70** |" in page and "| 0.000 |" in page
    assert record.kept(HIGHER, 0.9, 0.85) and not record.kept(LOWER, 2, 1)
    assert record.kept(LOWER, None, 1) is None


def test_a_row_has_one_id_a_part_that_exists_and_a_direction_that_is_known() -> None:
    assert len({spec.id for spec in ROWS}) == len(ROWS)
    assert {spec.part for spec in ROWS} == set(TITLES)
    assert {spec.better for spec in ROWS} <= {HIGHER, LOWER, ""}


def test_what_told_reports_becomes_rows() -> None:
    silent = {"n": 9, "words": 0.0, "tokens": 0.0, "right": None, "silent": 1.0, "stale": None}
    spoken = {"n": 3, "words": 0.5, "tokens": 80.0, "right": 0.25, "silent": 0.0, "stale": 0.333}
    found = agent.rows_of_told({"chat": silent, "amended": spoken, "unrelated": {"n": 100, "told": 0.07}})
    assert found["told_tokens"] == Measured(20.0, 12)
    assert found["told_right"] == Measured(0.25, 3)
    assert found["told_stale"].value == 0.333 and found["told_unrelated"] == Measured(0.07, 100)
    assert agent.rows_of_told({"chat": silent})["told_right"].note == "the hook was silent for every prompt"


def test_the_classifiers_figures_are_read_from_what_its_script_prints() -> None:
    printed = (
        "x.jsonl: 100 prompts, precision 0.96 (0.87 to 0.99 of 53), recall 0.89 (0.79 to 0.95 of 57)\n"
        "    11 exploration as other\n     6 code-gen as qa\n"
    )
    found = quality.classifier_rows(printed)
    assert found["classifier_accuracy"] == Measured(0.83, 100)
    assert found["classifier_recall"] == Measured(0.89, 57, "0.79 to 0.95")


LABEL = {
    "repo": "shared:claude-code/shop",
    "agent": "claude-code",
    "outcome": "abandoned",
    "outcome2": "unknown",
    "kind": "docs",
    "kind2": "feature",
}


def test_labels_name_a_transcript_or_its_hash_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "x", "label": "qa"}\n', encoding="utf-8")
    assert verdicts.labels_in(tmp_path) == []
    row = {**LABEL, "path": "a.jsonl", "session": "s", "tasks_min": 1, "tasks_max": 2}
    (tmp_path / "labels.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (label,) = verdicts.labels_in(tmp_path)
    assert (label["file"], label["session"], label["tasks"]) == ("a.jsonl", "s", (1, 2))

    transcripts = tmp_path / "transcripts" / "claude-code" / "shop"
    transcripts.mkdir(parents=True)
    (transcripts / "b.jsonl").touch()
    monkeypatch.setattr(verdicts, "TRANSCRIPTS", tmp_path / "transcripts")
    rows = [
        {**LABEL, "hash": verdicts.file_hash(LABEL["repo"], name), "place": 0, "tasks": [1, 2]}
        for name in ("b.jsonl", "elsewhere.jsonl")
    ]
    committed = tmp_path / "labels.jsonl.gz"
    committed.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    (label,) = verdicts.labels_in(committed)
    assert (label["file"], label["place"]) == (str(transcripts / "b.jsonl"), 0)


def test_verdicts_are_compared_with_the_label_of_their_session(tmp_path: Path) -> None:
    chat = ClaudeFile()
    chat.user(0, "add a basket")
    chat.save(tmp_path / "a.jsonl")
    row = {**LABEL, "file": "a.jsonl", "session": SESSION, "tasks": [1, 1]}
    (found, lost) = verdicts.judged([row, {**row, "file": "gone.jsonl"}], tmp_path)
    assert (found.outcome, found.outcome_right, found.outcome_credit) == ("unknown", False, 0.5)
    assert (found.kind_right, found.tasks_right) == (True, True)
    assert (lost.outcome_right, lost.kind_right, lost.tasks_right) == (False, False, False)
    figures = verdicts.figures_of([found, lost])
    assert (figures.outcome, figures.credit, figures.said, figures.precision) == (0.0, 0.25, 0, None)
    assert (figures.negative, figures.recall) == (2, 0.0)


@pytest.mark.parametrize(
    ("printed", "pairs"),
    [
        ("188 pairs of places (548 files read), each…\nD1 a ~ b\n", 188),
        ("no duplicates (3 files read)\n", 0),
        ("", None),
    ],
)
def test_pairs_of_duplicates_are_read_from_the_first_line(printed: str, pairs: int | None) -> None:
    assert size.duplicate_pairs(printed).value == pairs


def test_lines_statements_and_rooms_are_counted(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "a.py").write_text("def f():\n    return 1\n\n\nf()\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("x = 1\n", encoding="utf-8")
    found = size.size(tmp_path)
    assert (found["lines"].value, found["statements"].value, found["modules"].value) == (6, 4, 2)
    assert (found["largest_module"].note, found["largest_room"].note) == ("app/a.py", "app/")


def test_the_small_set_has_what_it_is_said_to_have() -> None:
    asked = [item for item in SET if not item.get("decoy")]
    chats = [item for item in asked if "chats" in item]
    decoys = [item for item in SET if item.get("decoy")]
    assert (len(chats), len(asked) - len(chats)) == (12, 4)
    assert sum(len(item["chats"]) > 1 for item in chats) == 3
    assert all(bool(item["superseded"]) == (len(item["chats"]) > 1) for item in chats)
    assert all(6 <= len(chat) <= 12 for item in chats for chat in item["chats"])
    assert (sum("chats" in item for item in decoys), sum("commit" in item for item in decoys)) == (20, 15)
    assert len({item["id"] for item in SET}) == len(SET)


def test_a_prompt_of_the_small_set_shares_few_words_with_its_decision() -> None:
    def words(text: str) -> set[str]:
        return {word.strip(".,;:?!").lower() for word in text.split() if len(word) > 4}

    for item in SET:
        if not item.get("decoy"):
            assert len(words(item["prompt"]) & words(item["decision"])) <= 3, item["id"]
