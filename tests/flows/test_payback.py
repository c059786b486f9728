"""What lessons cost and bring: counted when a session ends, from what it was told and what its calls show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.flows.test_capture import leave
from tests.hooks.enabled import SESSION
from tests.hooks.test_lesson_hook import Taught

from holdfast.cli.main import main
from holdfast.flows.capture import capture
from holdfast.flows.lessons import read_lessons
from holdfast.flows.payback import Call, came_of
from holdfast.lessons.choices import Payback, Record
from holdfast.lessons.states import pays

CODE = "Add a coupon field to the checkout page"
FAILS = "`gh pr diff --stat` fails here (unknown flag: --stat) → `gh pr diff --name-only`"


@pytest.fixture
def taught(repo: Path, tmp_path: Path) -> Taught:
    return Taught(repo, tmp_path)


def ended(taught: Taught, home: Path, *calls: tuple[str, bool, str]) -> None:
    """The session ran these commands (each with whether it worked and what it printed) and is over."""
    now = datetime.now(UTC).isoformat()
    base = {"sessionId": SESSION, "cwd": str(taught.root), "version": "2.1.325", "timestamp": now}
    lines: list[dict[str, Any]] = [
        {**base, "type": "user", "uuid": "u", "message": {"role": "user", "content": CODE}}
    ]
    for number, (command, ok, output) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        answer = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": output,
            "is_error": not ok,
        }
        message = {"id": f"m{number}", "role": "assistant", "model": "x", "content": [use]}
        lines.append({**base, "type": "assistant", "uuid": f"a{number}", "message": message})
        lines.append(
            {**base, "type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [answer]}}
        )
    path = home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    leave(taught, "SessionEnd", path)
    assert capture(taught.machine, taught.project).problems == []


def payback(taught: Taught, name: str) -> Payback:
    listed = read_lessons(taught.machine, taught.project).lessons
    return next(one.payback for one in listed if one.lesson.name == name)


@pytest.mark.promise("S11")
def test_a_lesson_is_paid_back_when_what_it_says_is_used(
    taught: Taught, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(taught.root)
    taught.keep("testing", "tests: `make check`", kind="command")
    taught.keep("building", "build: `make dist`", kind="command")
    assert len(taught.lessons_in(CODE)) == 2
    ended(taught, home, ("make check 2>&1 | tail -3", True, "3 passed"))
    used, unused = payback(taught, "testing"), payback(taught, "building")
    assert (used.injected, used.used, used.contradicted) == (1, 1, 0) and used.tokens > 5
    assert (unused.injected, unused.used, unused.contradicted) == (1, 0, 0)
    main(["lessons", "list", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["testing"]["injected"], rows["testing"]["used"]) == (1, 1)


@pytest.mark.promise("S11")
def test_what_was_told_is_counted_once_though_the_session_ends_twice(taught: Taught, home: Path) -> None:
    taught.keep("testing", "tests: `make check`", kind="command")
    assert taught.lessons_in(CODE)
    ended(taught, home, ("make check", True, "ok"))
    ended(taught, home, ("make check", True, "ok"), ("make check", True, "ok"))
    assert payback(taught, "testing").injected == 1


@pytest.mark.promise("S11")
def test_a_lesson_that_a_start_told_is_counted_and_what_speaks_against_it_too(
    taught: Taught, home: Path
) -> None:
    taught.learn("gh-pr-diff-stat", FAILS)
    assert FAILS in taught.told(session_id=SESSION)
    ended(taught, home, ("gh pr diff --stat", True, " 1 file changed"))
    found = payback(taught, "gh-pr-diff-stat")
    assert (found.injected, found.used, found.contradicted) == (1, 0, 1)
    assert pays(found) is False


def test_a_lesson_that_was_told_often_and_never_used_is_proposed_for_removal(
    taught: Taught, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(taught.root)
    from holdfast.lessons.states import lesson_store

    taught.keep("testing", "tests: `make check`", kind="command")
    lesson_store(taught.machine, taught.project).note(
        lambda record: record.count({"testing": Payback(injected=10, tokens=90)})
    )
    main(["lessons", "list"])
    assert "is rarely followed" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("rule", "kind", "calls", "came"),
    [
        ("tests: `make check`", "command", [("cd web && make check", False, "1 failed")], "used"),
        (
            "tests: `make check`",
            "command",
            [("make check", False, "make: *** No rule to make target 'check'.")],
            "contradicted",
        ),
        ("tests: `make check`", "command", [("make lint", True, "")], ""),
        ("tests: `go test <path>`", "command", [("go test ./cmd/...", True, "ok")], "used"),
        (FAILS, "stumble", [("gh pr diff 7 --name-only", True, "a.py")], "used"),
        (FAILS, "stumble", [("gh pr diff 7 --stat", False, "unknown flag: --stat")], ""),
        (FAILS, "stumble", [("gh pr diff --stat", True, "1 file")], "contradicted"),
        ("there is no `src/x.py` in this repository", "stumble", [("cat src/x.py", True, "")], ""),
        ("say it politely", "correction", [("make check", True, "")], ""),
    ],
)
def test_only_what_calls_show_is_counted(
    rule: str, kind: Any, calls: list[tuple[str, bool, str]], came: str
) -> None:
    made = [Call(None, command, ok, output) for command, ok, output in calls]
    assert came_of(rule, kind, made) == came


def test_a_file_that_a_rule_points_to_is_followed_by_reading_it() -> None:
    rule = "`a/config.yml` does not exist here → `a/config.yaml`"
    assert came_of(rule, "stumble", [Call(None, "", True, "", ("/home/x/shop/a/config.yaml",))]) == "used"


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_rule_and_no_command_is_too_odd_to_be_judged(rule: str, command: str) -> None:
    assert came_of(f"{rule} → `{command}`", "stumble", [Call(None, command, True)]) in (
        "used",
        "contradicted",
        "",
    )


def test_a_record_forgets_old_sessions_and_keeps_their_counts() -> None:
    record = Record()
    for number in range(300):
        record = record.count({"x": Payback(injected=1)}, f"s{number}", "2026-01-01T00:00:00Z")
    assert record.payback["x"].injected == 300 and len(record.paid) == 200
    assert record.count({"x": Payback(injected=1)}, "s299", "2026-01-01T00:00:00Z") is record
