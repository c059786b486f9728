"""`holdfast ledger roi` over real files: made sessions that were imported, hooks that were run, a memory that was written."""

from __future__ import annotations

import json
import re
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.agents.builders import START, ClaudeFile, claude_usage
from tests.command import Holdfast
from tests.hooks.enabled import Enabled, everything_below

from holdfast.briefing.prepare import Line
from holdfast.briefing.projects import memory_of
from holdfast.flows.roi import folded, roi, to_go_on_with
from holdfast.model.memory import LogEntry
from holdfast.store.switches import switch

DAY = 86_400


def name(number: int) -> str:
    return str(UUID(int=number + 1))


def made(
    folder: Path, number: int, *, read: list[str], goal: str = "Wire the refund endpoint", cwd: str = ""
) -> Path:
    """A session of one day: reads some files, stumbles over the same command, edits one file."""
    at = number * DAY
    file = ClaudeFile(name(number), cwd or "/home/ada/shop", prefix=f"p{number}")
    file.user(at, goal)
    for step, path in enumerate(read):
        call = file.call(at + 10 + step, "Read", {"file_path": f"{file.common['cwd']}/{path}"})
        file.result(at + 11 + step, call, "text")
    file.run(at + 30, "gh pr diff 7 --stat", "unknown flag: --stat", exit_code=1)
    file.run(at + 40, "gh pr diff 7 --name-only", "api/refund.py")
    file.edit(at + 50, f"{file.common['cwd']}/api/refund.py")
    file.assistant(at + 60, "Done.", usage=claude_usage(1000 * (number + 1), 50, write=2000))
    return file.save(folder / f"{name(number)}.jsonl")


@pytest.fixture
def sessions(tmp_path: Path, holdfast: Holdfast) -> Path:
    folder = tmp_path / "sessions"
    for number in range(12):
        made(folder, number, read=["README.md", f"only/{number}.py"])
    holdfast("import", folder, check=0)
    return folder


@pytest.mark.promise("M12")
def test_a_project_without_sessions_says_so(holdfast: Holdfast, repo: Path) -> None:
    assert holdfast("roi", check=0).stdout.startswith("No sessions yet.")
    found = holdfast("roi", "--json", check=0).json()
    assert found["sessions"]["difference"] is None and found["sessions"]["with"]["sessions"]["value"] == 0
    assert not (repo / ".holdfast").exists(), "reading writes nothing"


def test_one_session_is_not_enough_for_any_comparison(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("import", made(tmp_path, 0, read=["README.md"]), check=0)
    text = holdfast("roi", check=0).stdout
    assert "not enough sessions yet: 5 of each are needed (0 with, 1 without)" in text
    assert "not enough sessions yet: 1 of 5" in text
    assert "nan" not in text.lower() and "None" not in text


@pytest.mark.promise("M12")
def test_every_figure_says_how_it_was_counted(holdfast: Holdfast, sessions: Path, repo: Path) -> None:
    found = holdfast("roi", "--json", check=0).json()
    assert set(found) == {
        "sessions", "injected", "lines", "compression", "questions", "re_explaining", "continued", "holdout",
        "notes",
    }  # fmt: skip
    without = found["sessions"]["without"]
    assert without["sessions"]["n"] == 12 and without["cost"]["n"] == 12
    assert without["opened"]["value"] == 2 and without["failures"]["n"] >= 12
    assert [stage["files"]["n"] for stage in found["re_explaining"]] == [8, 10, 4]
    assert [stage["files"]["value"] for stage in found["re_explaining"]] == [0.5, 0.5, 0.5]
    assert [stage["dead_ends"]["value"] for stage in found["re_explaining"]] == [1, 1, 1]
    size = sum(path.stat().st_size for path in sessions.iterdir())
    assert found["compression"]["transcripts"] | {"formula": ""} == {
        "value": size, "n": 12, "formula": "", "note": "",
    }  # fmt: skip
    text, short = holdfast("roi", "--how", check=0).stdout, holdfast("roi", check=0).stdout
    for figure in every_figure(found):
        assert {"value", "n", "formula"} <= set(figure)
        assert figure["formula"] in text, "the report says each formula"
        assert figure["formula"] not in short, "and only when it is asked"
    assert 2 * len(short.splitlines()) < 1.4 * len(text.splitlines())
    assert short.splitlines()[-1] == "holdfast ledger roi --how explains how each figure was counted."


def every_figure(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [figure for item in value for figure in every_figure(item)]
    if not isinstance(value, dict):
        return []
    own = [value] if "formula" in value else []
    # What a session is told cannot be printed before any was told something.
    return own + [f for key, item in value.items() if key != "injected" for f in every_figure(item)]


@pytest.mark.promise("M12")
def test_sessions_that_were_told_something_are_set_apart_from_the_others(
    holdfast: Holdfast, sessions: Path, repo: Path
) -> None:
    enabled = Enabled(repo)
    # No child shall prepare other lines meanwhile.
    switch(enabled.project, repo, capture=False, inject=None)
    enabled.prepare(
        [Line("Open: wire the refund endpoint in api/refund.py", "left open"), Line("tests: make test", "x")]
    )
    for number in range(6):
        enabled.hook("SessionStart", session_id=name(number))
    enabled.hook("SessionStart", session_id=name(7), source="resume")  # nothing is known for that
    enabled.prepare([Line("tests: make test", "it passed")])
    enabled.hook("SessionStart", session_id=name(40))  # told something, not captured yet
    found = holdfast("roi", "--json", check=0).json()
    assert found["sessions"]["with"]["sessions"]["n"] == 6
    assert found["sessions"]["without"]["sessions"]["n"] == 6
    tokens = found["sessions"]["difference"]["tokens"]
    assert (tokens["value"], tokens["n"]) == (-6000, 12) and tokens["low"] < -6000 < tokens["high"] < 0
    assert found["injected"]["tokens"]["n"] == 7
    assert 0 < found["injected"]["share"]["value"] < 0.1 and found["injected"]["share"]["n"] == 6
    assert (found["continued"]["value"], found["continued"]["n"]) == (6, 6)
    assert "This is an observation, not an experiment" in found["notes"][0]
    assert any("1 session saw memory and will be recorded later" in note for note in found["notes"])
    text = holdfast("roi", check=0).stdout
    assert "6 of 6" in text and "an observation, not an experiment" in text


def test_since_looks_at_later_sessions_only(holdfast: Holdfast, sessions: Path) -> None:
    day = datetime.fromtimestamp(START + 9 * DAY, UTC).date().isoformat()
    found = holdfast("roi", "--json", "--since", day, check=0).json()
    assert found["sessions"]["without"]["sessions"]["n"] == 3
    assert [stage["n"] for stage in found["re_explaining"]] == [0, 1, 2]
    assert holdfast("roi", "--since", "2999-01-01", check=0).returncode == 0
    refused = holdfast("roi", "--since", "soon", check=2)
    assert (
        refused.stderr
        == "holdfast: 'soon' is neither a date nor a span. Write 7d, 24h, 2w, today or YYYY-MM-DD.\n"
    )


def test_lines_are_counted_by_category_over_all_projects(
    holdfast: Holdfast, sessions: Path, repo: Path
) -> None:
    enabled = Enabled(repo)
    for project in ("shop", "billing"):
        memory = memory_of(enabled.machine, enabled.project, project)
        entries = [LogEntry(session=f"s{n}", agent="codex", at=START + n, context="x") for n in range(200)]
        memory.record(*entries)
        memory.change(memory.reference_file, lambda text: "# Facts\n\n- one\n")
    memory.change(memory.current_file, lambda text: "# Now\n\nmine")
    rows = {row["category"]: row for row in holdfast("roi", "--json", check=0).json()["lines"]}
    histories = [*memory.log_file.parent.parent.rglob("log.md"), *enabled.memory.rglob("archive/*.md")]
    assert len(histories) == 4, "the log was archived"
    assert rows["session histories"]["files"] == 4
    assert rows["session histories"]["value"] == sum(
        len(path.read_bytes().splitlines()) for path in histories
    )
    assert (rows["reference data"]["value"], rows["reference data"]["files"]) == (6, 2)
    manual = memory.style_file.read_bytes().splitlines()
    assert (rows["session state"]["value"], rows["operating manuals"]["value"]) == (3, len(manual))
    kept = holdfast("roi", "--json", check=0).json()["compression"]
    assert kept["ratio"]["value"] == kept["transcripts"]["value"] / kept["kept"]["value"]


def test_a_file_that_cannot_be_counted_is_named_and_the_rest_is_counted(
    holdfast: Holdfast, sessions: Path, repo: Path, tmp_path: Path
) -> None:
    memory = Enabled(repo).memory
    (memory / "current.md").rename(memory / "old.md")
    (memory / "style.md").unlink()
    (memory / "current.md").mkdir()
    (tmp_path / "elsewhere.md").write_text("secret\n", encoding="utf-8")
    (memory / "style.md").symlink_to(tmp_path / "elsewhere.md")
    found = holdfast("roi", "--json", check=0).json()
    rows = {row["category"]: row["value"] for row in found["lines"]}
    assert rows["session state"] == rows["operating manuals"] == 0 < rows["session histories"]
    problems = [note for note in found["notes"] if note.startswith("Not counted: ")]
    assert len(problems) == 2 and "current.md" in problems[0] and "it is a link" in problems[1]


def test_records_that_cannot_be_read_are_an_error_and_not_no_sessions(
    holdfast: Holdfast, sessions: Path, repo: Path
) -> None:
    memory = Enabled(repo).memory
    (memory / "capture.db").write_bytes(b"no database" * 1000)
    refused = holdfast("roi", check=1)
    assert "capture.db: cannot be read. Run holdfast doctor." in refused.stderr and not refused.stdout


def test_links_that_lead_elsewhere_are_not_counted(
    holdfast: Holdfast, sessions: Path, repo: Path, tmp_path: Path
) -> None:
    memory = Enabled(repo).memory
    (tmp_path / "elsewhere" / "shop").mkdir(parents=True)
    (tmp_path / "elsewhere" / "shop" / "log.md").write_text("not ours\n", encoding="utf-8")
    (memory / "projects").rename(memory / "old")
    (memory / "projects").symlink_to(tmp_path / "elsewhere")
    found = holdfast("roi", "--json", check=0).json()
    rows = {row["category"]: row["value"] for row in found["lines"]}
    assert rows["session histories"] == 0
    assert any("projects: it is a link" in note for note in found["notes"])


def test_answers_from_the_record_are_counted_and_torn_lines_are_not(
    holdfast: Holdfast, sessions: Path, repo: Path
) -> None:
    lines = [json.dumps({"at": START + n, "id": "Q-abc123"}) for n in range(3)]
    (Enabled(repo).memory / "answered.jsonl").write_text(
        "\n".join(['{"at": 17', '["x"]', *lines, '{"at": 1, "i']), encoding="utf-8"
    )
    found = holdfast("roi", "--json", check=0).json()["questions"]
    assert found["offered"]["value"] == 3
    later = datetime.fromtimestamp(START + DAY, UTC).date().isoformat()
    assert holdfast("roi", "--json", "--since", later, check=0).json()["questions"]["offered"]["value"] == 0


def test_a_question_asked_again_in_other_words_is_found(holdfast: Holdfast, tmp_path: Path) -> None:
    questions = [
        "Which database should the billing service use?",
        "What database should billing service be using?",
    ]
    for number, question in enumerate(questions):
        file = ClaudeFile(name(number), prefix=f"q{number}")
        file.user(number * DAY, "Add billing")
        asked = {"question": question, "header": "DB", "multiSelect": False,
                 "options": [{"label": "Postgres", "description": "known"}, {"label": "SQLite", "description": "small"}]}  # fmt: skip
        call = file.call(number * DAY + 1, "AskUserQuestion", {"questions": [asked]})
        file.result(
            number * DAY + 5, call, f'User has answered your questions: "{question}"="Postgres".',
            details={"questions": [asked], "answers": {question: "Postgres"}},
        )  # fmt: skip
        file.assistant(number * DAY + 9, "Done.")
        file.save(tmp_path / "asked" / f"{name(number)}.jsonl")
    holdfast("import", tmp_path / "asked", check=0)
    found = holdfast("roi", "--json", check=0).json()["questions"]["asked_again"]
    assert (found["value"], found["n"]) == (1, 2)


def test_sessions_older_than_a_trace_that_was_turned_over_are_in_neither_group(
    holdfast: Holdfast, sessions: Path, repo: Path
) -> None:
    enabled = Enabled(repo)
    at = datetime.fromtimestamp(START + 5 * DAY + 1, UTC).isoformat()
    told = {"time": at, "session": name(8), "event": "SessionStart", "source": "startup", "tokens": 3}
    line = json.dumps({**told, "lines": [{"text": "Next: x", "reason": "y"}]}) + "\n"
    (enabled.memory / "why.jsonl.1").write_text(line, encoding="utf-8")
    found = roi(enabled.project)
    assert (found.sessions.with_memory.sessions.n, found.sessions.without_memory.sessions.n) == (1, 5)
    assert any(note.startswith("In neither group: 6 sessions") for note in found.notes)


def test_reading_writes_nothing_even_where_nothing_may_be_written(
    holdfast: Holdfast, sessions: Path, repo: Path
) -> None:
    memory = Enabled(repo).memory
    before = everything_below(memory)
    memory.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert "without" in holdfast("roi", check=0).stdout
    finally:
        memory.chmod(stat.S_IRWXU)
    after = everything_below(memory)
    beside = ("-shm", "-wal")  # SQLite's own, while it reads
    assert {path: state for path, state in after.items() if not path.endswith(beside)} == {
        path: state for path, state in before.items() if not path.endswith(beside)
    }


@pytest.mark.parametrize(
    ("line", "words", "paths"),
    [
        ("Next (by the user): wire the refund endpoint", {"wire", "refund", "endpoint"}, set()),
        ("To do (high, for the agent): mend api/refund.py.", {"mend"}, {"api/refund.py"}),
        ("Open: `docs/a.md`, then b.toml", set(), {"docs/a.md", "b.toml"}),
    ],
)
def test_a_line_to_go_on_with_is_read_for_words_and_paths(
    line: str, words: set[str], paths: set[str]
) -> None:
    subject = to_go_on_with(line)
    assert subject is not None
    assert words <= subject.words and paths <= subject.paths
    assert not subject.words & {"next", "open", "user", "high", "agent"}


@pytest.mark.parametrize(
    "line", ["tests: make test", "Done last (x): y", "`a` fails here (b) → `c` worked", ""]
)
def test_a_line_that_only_informs_is_not_gone_on_with(line: str) -> None:
    assert to_go_on_with(line) is None


def test_commands_that_differ_in_numbers_and_spacing_only_are_the_same() -> None:
    assert folded("gh  pr diff 104 --stat") == folded("gh pr diff 88 --STAT")
    assert re.search("diff", folded("gh pr diff"))
