"""`holdfast cost`: sums over all agents and projects, each response once, on the user's own day."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ClaudeFile, CodexFile, claude_usage, codex_usage
from tests.agents.samples_stores import entire_checkpoint
from tests.command import Holdfast

from holdfast.ledger.usage_cache import USAGE_FORMAT

HOUR, DAY = 3600.0, 86_400.0
OTHER = "7a1b2c3d-58a4-4c4e-9b53-0d9f6b7e2a99"
MODEL = "claude-opus-4-5-20251101"


def claude(home: Path, name: str, file: ClaudeFile) -> Path:
    return file.save(home / ".claude" / "projects" / "-home-ada-shop" / f"{name}.jsonl")


def session(text: str = "Make the kettle whistle", **options: Any) -> ClaudeFile:
    """A prompt at START (2026-03-02 09:00 UTC) and a response of 1,000 tokens in and 100 out."""
    file = ClaudeFile(**options)
    file.user(0, text)
    file.assistant(60, "Done.", usage=claude_usage(1000, 100, read=9000))
    return file


def rows(run: Holdfast, *words: str, **options: Any) -> list[dict[str, Any]]:
    value: list[dict[str, Any]] = run("cost", "--json", *words, check=0, **options).json()
    return value


def test_a_first_run_counts_all_agents_and_projects_and_is_headed_as_no_bill(
    home: Path, holdfast: Holdfast
) -> None:
    claude(home, "a", session())
    codex = CodexFile(cwd="/home/ada/kiosk")
    codex.line(1, "turn_context", {"model": "gpt-5.5", "cwd": "/home/ada/kiosk"})
    codex.user(2, "Sell newspapers")
    codex.event(5, "token_count", info={"total_token_usage": codex_usage(500, 200, 50)})
    codex.save(home / ".codex" / "sessions" / "2026" / "03" / "02" / "rollout-x.jsonl")
    answer = holdfast("cost", check=0).stdout
    assert answer.startswith("API-equivalent, not your bill\n")
    by_agent = {row["agent"]: row for row in rows(holdfast)}
    assert by_agent["claude-code"]["project"] == "shop"
    assert by_agent["claude-code"]["model"] == "claude-opus-4-5"
    assert by_agent["claude-code"]["period"] == "2026-03-02"
    assert by_agent["claude-code"]["cost_usd"] == pytest.approx(1000 * 5e-6 + 100 * 25e-6 + 9000 * 0.5e-6)
    assert by_agent["codex"]["project"] == "kiosk"
    assert by_agent["codex"]["tokens"] == {"input": 300, "output": 50, "cache_read": 200, "cache_write": 0}
    assert [row["sessions"] for row in by_agent.values()] == [1, 1]


@pytest.mark.promise("V6")
@pytest.mark.parametrize(
    ("by", "key", "expected"),
    [
        ("day", "period", {"2026-03-02", "2026-03-09"}),
        ("week", "period", {"2026-03-02", "2026-03-09"}),
        ("month", "period", {"2026-03"}),
        ("block", "period", {"2026-03-02 09:00", "2026-03-09 09:00"}),
        ("project", "project", {"shop"}),
        ("model", "model", {"claude-opus-4-5"}),
        ("agent", "agent", {"claude-code"}),
    ],
)
def test_usage_adds_up_the_same_by_whatever_it_is_shown(
    home: Path, holdfast: Holdfast, by: str, key: str, expected: set[str]
) -> None:
    file = session()
    file.user(7 * DAY, "And now the toaster")
    file.assistant(7 * DAY + 60, "Done.", usage=claude_usage(1000, 100, read=9000))
    claude(home, "a", file)
    answer = rows(holdfast, "--by", by)
    assert {row[key] for row in answer} == expected
    assert sum(row["tokens"]["cache_read"] for row in answer) == 18_000
    text = holdfast("cost", "--by", by, check=0).stdout
    assert "Total" in text and "$0.02" in text and "90%" in text


def test_a_day_is_the_users_own_and_a_session_is_split_by_the_time_of_each_response(
    home: Path, holdfast_process: Holdfast
) -> None:
    file = session()
    file.assistant(14.5 * HOUR, "Later.", usage=claude_usage(7, 5))  # 23:30 UTC
    file.assistant(15.5 * HOUR, "Past midnight.", usage=claude_usage(3, 2))
    claude(home, "a", file)
    inputs = {row["period"]: row["tokens"]["input"] for row in rows(holdfast_process)}
    assert inputs == {"2026-03-02": 1007, "2026-03-03": 3}
    in_kolkata = rows(holdfast_process, env={"TZ": "Asia/Kolkata"})  # 5½ hours ahead
    assert {row["period"]: row["tokens"]["input"] for row in in_kolkata} == {
        "2026-03-02": 1000,
        "2026-03-03": 10,
    }


@pytest.mark.promise("L17")
def test_forks_subagents_and_repeated_lines_count_once(home: Path, holdfast: Holdfast) -> None:
    first = session()
    claude(home, "a", first)
    fork = ClaudeFile(session=OTHER)
    fork.copied_from(first)
    fork.assistant(120, "More.", usage=claude_usage(11, 5))
    claude(home, "b", fork)
    subagent = ClaudeFile(agent="abc1")
    subagent.assistant(70, "Looked.", usage=claude_usage(13, 5))
    claude(home, "a/subagents/agent-abc1", subagent)
    (row,) = rows(holdfast, "--by", "agent")
    assert row["tokens"]["input"] == 1000 + 11 + 13
    assert row["sessions"] == 2, "a subagent belongs to its session"


def test_a_subagent_that_only_progress_lines_record_is_counted(home: Path, holdfast: Holdfast) -> None:
    file = session()
    inner = {"id": "msg_sub", "model": MODEL, "usage": claude_usage(17, 4)}
    for at in (70, 71):
        data = {
            "type": "agent_progress",
            "message": {"type": "assistant", "requestId": "r", "message": inner},
        }
        file.line(at, "progress", data=data, toolUseID="x")
    claude(home, "a", file)
    (row,) = rows(holdfast, "--by", "agent")
    assert row["tokens"]["input"] == 1017


RECORDED = "1b1e7c1a-58a4-4c4e-9b53-0d9f6b7e2a22"


def recorded_twice(home: Path, repo: Path, holdfast: Holdfast) -> None:
    """Three sessions: one only the agent kept, one only a recorder, one both. The recorder keeps other agents' too."""
    holdfast("init", "--yes", "--no-wire", "--no-import", check=0)
    own, both, kept = session(cwd=str(repo)), session(session=OTHER), session(session=RECORDED)
    claude(home, "a", own)
    claude(home, "b", both)
    codex = CodexFile(cwd=str(repo))
    codex.line(1, "turn_context", {"model": "gpt-5.5", "cwd": str(repo)})
    codex.user(2, "Sell newspapers")
    codex.event(5, "token_count", info={"total_token_usage": codex_usage(500, 200, 50)})
    entire_checkpoint(repo, both.data(), 1, session=OTHER)
    entire_checkpoint(repo, kept.data(), 2, session=RECORDED)
    entire_checkpoint(repo, codex.data(), 3, session="codex-session")


def test_a_recorder_is_no_agent_and_a_session_it_kept_too_counts_once(
    home: Path, repo: Path, holdfast: Holdfast
) -> None:
    recorded_twice(home, repo, holdfast)
    sessions = {row["agent"]: row["sessions"] for row in rows(holdfast, "--by", "agent")}
    assert sessions == {"claude-code": 3, "codex": 1}
    table = holdfast("cost", "--by", "agent", check=0).stdout.splitlines()
    (total,) = (line.split()[1] for line in table if line.startswith("Total"))
    assert int(total) == sum(sessions.values())
    for by in ("project", "model"):
        assert "entire" not in holdfast("cost", "--by", by, check=0, env={"COLUMNS": "200"}).stdout
    assert holdfast("cost", "--agent", "codex", "--json", check=0).json()[0]["sessions"] == 1


def test_a_cache_that_counted_for_the_recorder_is_put_right_and_keeps_what_is_gone(
    home: Path, repo: Path, holdfast: Holdfast
) -> None:
    recorded_twice(home, repo, holdfast)
    before = rows(holdfast, "--by", "agent")
    path = home / ".holdfast" / "cache" / "usage.db"
    with sqlite3.connect(path) as db:  # as 1.0.0 wrote it
        wrong = "UPDATE source SET agent = 'entire' WHERE key IN (SELECT key FROM source ORDER BY id DESC LIMIT 3)"
        db.execute(wrong)
        db.execute("PRAGMA user_version=1")
    db.close()
    (home / ".claude" / "projects" / "-home-ada-shop" / "a.jsonl").unlink()
    assert rows(holdfast, "--by", "agent") == before


def test_what_is_counted_again_is_only_what_is_new(home: Path, holdfast: Holdfast) -> None:
    """The last response of a growing file is stated again with more output: the larger figure replaces the smaller."""
    file = session()
    path = claude(home, "a", file)
    assert rows(holdfast, "--by", "agent")[0]["tokens"]["output"] == 100
    file.assistant(90, "Half", id="msg_1", request="req_1", usage=claude_usage(50, 1))
    path.write_bytes(file.data())
    assert rows(holdfast, "--by", "agent")[0]["tokens"]["output"] == 101
    file.assistant(91, "Whole", id="msg_1", request="req_1", usage=claude_usage(50, 30))
    path.write_bytes(file.data())
    (row,) = rows(holdfast, "--by", "agent")
    assert (row["tokens"]["output"], row["tokens"]["input"]) == (130, 1050)


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_counting_a_growing_file_in_steps_gives_what_counting_it_at_once_gives(
    home: Path, holdfast: Holdfast, shared: Path, agent: str
) -> None:
    folders = {
        "claude-code": home / ".claude" / "projects" / "-x",
        "codex": home / ".codex" / "sessions" / "2026" / "01" / "01",
    }
    files = sorted(
        (shared / "data" / "transcripts" / agent).glob("*/*.jsonl"), key=lambda f: f.stat().st_size
    )
    chosen = files[len(files) // 3 :: max(len(files) // 6, 1)][:6]
    assert chosen
    for number, original in enumerate(chosen):
        data, path = original.read_bytes(), folders[agent] / f"rollout-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        for part in (3, 5, 7, 8):
            path.write_bytes(data[: len(data) * part // 8])
            rows(holdfast)
    in_steps = holdfast("cost", "--json", check=0).json()
    for left in (home / ".holdfast" / "cache").glob("usage.db*"):
        left.unlink()
    assert in_steps == holdfast("cost", "--json", check=0).json()


def test_nothing_that_was_said_and_no_path_is_stored(home: Path, holdfast: Holdfast) -> None:
    file = ClaudeFile(cwd="/home/ada/topsecretproject", branch="feature/quietly")
    file.user(0, "Rewrite the marmalade importer")
    file.call(5, "TaskCreate", {"subject": "marmalade plan", "description": "x"})
    file.edit(9, "/home/ada/topsecretproject/jam.py")
    claude(home, "a", file)
    codex = CodexFile(cwd="/home/ada/topsecretproject")
    codex.line(1, "turn_context", {"model": "gpt-5.5", "cwd": "/home/ada/topsecretproject"})
    codex.user(2, "Rewrite the marmalade importer")
    codex.event(5, "token_count", info={"total_token_usage": codex_usage(500, 200, 50)})
    codex.save(home / ".codex" / "sessions" / "2026" / "03" / "02" / "rollout-x.jsonl")
    assert {row["project"] for row in rows(holdfast)} == {"topsecretproject"}
    stored = b"".join(path.read_bytes() for path in (home / ".holdfast").rglob("*") if path.is_file())
    assert b"claude-opus-4-5" in stored
    for word in (b"topsecret", b"marmalade", b"jam.py", b"quietly", b"/home", b".jsonl", b"-home-ada"):
        assert word not in stored, word


def test_a_model_name_that_is_a_key_or_a_sentence_is_not_stored(home: Path, holdfast: Holdfast) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    file = session()
    file.assistant(70, "x", model=key)
    file.assistant(80, "x", model="the customer is called Marmalade")
    claude(home, "a", file)
    holdfast("cost", check=0)
    stored = b"".join(path.read_bytes() for path in (home / ".holdfast").rglob("*") if path.is_file())
    assert key.encode() not in stored and b"Marmalade" not in stored


def test_excluded_folders_are_not_counted_also_when_they_are_excluded_later(
    home: Path, holdfast: Holdfast
) -> None:
    claude(home, "a", session())
    claude(home, "b", session(session=OTHER, cwd=str(home / "clients" / "acme"), prefix="v"))
    assert {row["project"] for row in rows(holdfast)} == {"shop", "acme"}
    (home / ".holdfast" / "config.toml").write_text('exclude = ["~/clients/**"]\n', encoding="utf-8")
    assert {row["project"] for row in rows(holdfast)} == {"shop"}


@pytest.mark.parametrize("off", [{"HOLDFAST": "off"}, {"CI": "true"}])
def test_switched_off_nothing_is_counted(home: Path, holdfast: Holdfast, off: dict[str, str]) -> None:
    claude(home, "a", session())
    assert rows(holdfast, env=off) == []
    assert len(rows(holdfast)) == 1


def test_what_an_agent_deletes_stays_counted_until_the_cache_is_deleted(
    home: Path, holdfast: Holdfast
) -> None:
    path = claude(home, "a", session())
    before = rows(holdfast, "--by", "model")
    path.unlink()
    assert rows(holdfast, "--by", "model") == before
    assert [row["project"] for row in rows(holdfast)] == ["(deleted transcripts)"]
    (home / ".holdfast" / "cache" / "usage.db").unlink()
    assert rows(holdfast) == []


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100])
def test_a_broken_cache_is_made_again(home: Path, holdfast: Holdfast, content: bytes) -> None:
    claude(home, "a", session())
    before = rows(holdfast)
    for left in (home / ".holdfast" / "cache").glob("usage.db*"):
        left.unlink()
    (home / ".holdfast" / "cache" / "usage.db").write_bytes(content)
    assert rows(holdfast) == before


def test_a_cache_of_another_format_is_made_again_and_a_newer_one_is_left_alone(
    home: Path, holdfast: Holdfast
) -> None:
    claude(home, "a", session())
    before = rows(holdfast)
    path = home / ".holdfast" / "cache" / "usage.db"
    for number, left in ((0, USAGE_FORMAT), (99, 99)):
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA user_version={number}")
        db.close()
        assert rows(holdfast) == before
        with sqlite3.connect(path) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (left,)
        db.close()


def test_a_missing_price_is_unknown_and_named(home: Path, holdfast: Holdfast) -> None:
    file = session()
    file.assistant(70, "x", model="nobodys-model-9", usage=claude_usage(10, 20))
    claude(home, "a", file)
    costs = {row["model"]: row["cost_usd"] for row in rows(holdfast, "--by", "model")}
    assert costs["nobodys-model-9"] is None and costs["claude-opus-4-5"]
    answer = holdfast("cost", check=0).stdout
    assert "≥ $0.01" in answer and "Price unknown, not included: nobodys-model-9." in answer


def test_dated_and_undated_ids_are_one_model(home: Path, holdfast: Holdfast) -> None:
    file = session()
    file.assistant(70, "x", model="claude-opus-4-5", usage=claude_usage(10, 20))
    claude(home, "a", file)
    assert [row["model"] for row in rows(holdfast)] == ["claude-opus-4-5"]


@pytest.mark.promise("V7")
def test_usage_that_is_visibly_incomplete_is_a_lower_bound(home: Path, holdfast: Holdfast) -> None:
    file = session()
    file.assistant(70, "A long explanation. " * 40, usage=claude_usage(10, 2))
    claude(home, "a", file)
    (row,) = rows(holdfast)
    assert row["incomplete"] == ["low_output"]
    answer = holdfast("cost", check=0).stdout
    assert "≥ $0.01" in answer
    assert "1 responses with too few output tokens" not in answer
    assert "1 response with too few output tokens for its text" in answer


def test_a_reply_without_usage_is_said_and_one_that_is_reported_later_is_not(
    home: Path, holdfast: Holdfast
) -> None:
    codex = CodexFile()
    codex.line(1, "turn_context", {"model": "gpt-5.5", "cwd": "/home/ada/shop"})
    codex.user(2, "Sell newspapers")
    codex.agent(3, "Sold.")
    path = home / ".codex" / "sessions" / "2026" / "03" / "02" / "rollout-x.jsonl"
    codex.save(path)
    (row,) = rows(holdfast)
    assert (row["incomplete"], row["cost_usd"], row["model"]) == (["no_usage"], None, None)
    codex.event(5, "token_count", info={"total_token_usage": codex_usage(500, 200, 50)})
    codex.save(path)
    (row,) = rows(holdfast)
    assert row["incomplete"] == [] and row["cost_usd"]


def test_the_running_block_has_a_rate_and_a_projection(
    home: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.store.machine import Machine

    file = session()
    file.assistant(60 + HOUR, "More.", usage=claude_usage(1000, 100, read=9000))
    claude(home, "a", file)
    moment = datetime(2026, 3, 2, 11, 0, tzinfo=UTC)
    monkeypatch.setattr(Machine, "now", staticmethod(lambda: moment))
    for row in rows(holdfast, "--by", "block"):
        assert row["period"] == "2026-03-02 09:00"
        assert row["running"]["minutes_left"] == 180
        assert row["running"]["usd_per_hour"] == pytest.approx(0.024)
        assert row["running"]["projected_usd"] == pytest.approx(0.024 + 3 * 0.024)
    answer = holdfast("cost", "--by", "block", check=0).stdout
    assert (
        "Running block of claude-code: since 09:00, 3h 0min left until 14:00. $0.02 so far, $0.02 an hour; "
        "$0.10 by its end at this rate." in answer
    )


def test_a_block_ends_after_five_hours_or_five_idle_ones(home: Path, holdfast: Holdfast) -> None:
    file = ClaudeFile()
    for hours in (0.5, 4.9, 5.1, 11.5):
        file.assistant(hours * HOUR, "x", usage=claude_usage(1, 1))
    claude(home, "a", file)
    blocks = Counter(row["period"] for row in rows(holdfast, "--by", "block"))
    assert list(blocks) == ["2026-03-02 09:00", "2026-03-02 14:00", "2026-03-02 20:00"]


def test_budgets_say_what_is_used(home: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.store.machine import Machine

    claude(home, "a", session())
    (home / ".holdfast").mkdir(exist_ok=True)
    (home / ".holdfast" / "config.toml").write_text(
        "budget_day = 0.01\nbudget_month = 1.0\n", encoding="utf-8"
    )
    monkeypatch.setattr(Machine, "now", staticmethod(lambda: datetime(2026, 3, 2, 23, tzinfo=UTC)))
    answer = holdfast("cost", check=0).stdout
    assert "Budget today: $0.01 of $0.01 used (120.0%). Over budget." in answer
    assert "Budget this month: $0.01 of $1.00 used (1.2%)." in answer


def test_since_and_limit_choose_the_lines_and_the_total_is_of_all_chosen(
    home: Path, holdfast: Holdfast
) -> None:
    file = session()
    for days in (1, 2, 3):
        file.assistant(days * DAY, "x", usage=claude_usage(100, 1))
    claude(home, "a", file)
    answer = holdfast("cost", "--since", "2026-03-03", "--limit", "2", check=0)
    days = [line.split()[0] for line in answer.stdout.splitlines()[2:5]]
    assert days == ["2026-03-05", "2026-03-04", "Total"]
    assert "2 of 3 days" in answer.stderr
    assert " 300 " in next(line for line in answer.stdout.splitlines() if line.startswith("Total"))


@pytest.mark.parametrize("by", ["project", "model", "agent"])
def test_since_leaves_out_what_was_used_before_also_without_periods(
    home: Path, holdfast: Holdfast, by: str
) -> None:
    file = session()
    file.assistant(3 * DAY, "x", usage=claude_usage(100, 1))
    claude(home, "a", file)
    (row,) = rows(holdfast, "--by", by, "--since", "2026-03-04")
    assert row["tokens"]["input"] == 100


def test_where_nothing_changed_a_second_call_loads_neither_readers_nor_the_price_package(
    home: Path, holdfast_process: Holdfast
) -> None:
    """A model that nobody lists is asked of the package once: loading it takes longer than all else."""
    file = session()
    file.assistant(70, "x", model="nobodys-model-9", usage=claude_usage(10, 20))
    claude(home, "a", file)
    first = holdfast_process("cost", check=0)
    again = holdfast_process("cost", check=0, env={"PYTHONVERBOSE": "1"})
    assert "nobodys-model-9" in again.stdout and again.stdout == first.stdout
    loaded = {line.split()[1].strip("'") for line in again.stderr.splitlines() if line.startswith("import ")}
    assert "holdfast.ledger.usage_periods" in loaded
    assert not loaded & {"genai_prices", "pydantic", "holdfast.flows.import_sessions"}
    kept = home / ".holdfast" / "cache" / "prices.json"
    kept.write_bytes(b"{broken")
    assert holdfast_process("cost", check=0).stdout == first.stdout


def test_one_model_can_be_asked_for_by_any_period(home: Path, holdfast: Holdfast) -> None:
    file = session()
    file.assistant(70, "x", model="claude-sonnet-4-5", usage=claude_usage(10, 20))
    claude(home, "a", file)
    (row,) = rows(holdfast, "--by", "day", "--model", "sonnet")
    assert (row["model"], row["tokens"]["input"]) == ("claude-sonnet-4-5", 10)
    assert "No usage matches" in holdfast("cost", "--model", "nothing", check=0).stdout
