"""Whether an injected line was used: decided by what the session did afterwards, and unknown where nothing shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.backtest.injected import judged, walk_of, without_steps
from holdfast.briefing.explain import Injection
from holdfast.model import events as ev
from holdfast.model.line import Line

T = 1_762_000_000.0
ROOT = Path("/home/dev/tidepool")


def session(*after: ev.Event) -> list[ev.Event]:
    return [
        ev.Began(T, "s1", "claude-code", cwd=str(ROOT)),
        ev.UserTurn(T + 1, "Why does the export time out?"),
        *after,
    ]


def call(at: float, action: ev.Action, target: str, ok: bool = True, text: str = "") -> list[ev.Event]:
    name = f"call-{at}"
    paths = (target,) if action in ("read", "edit") else ()
    return [
        ev.ToolCall(T + at, name, action, action, target, paths),
        ev.ToolResult(T + at + 1, name, ok, text),
    ]


def use_of(
    text: str, events: list[ev.Event], event: str = "UserPromptSubmit", tool: str = "", at: float = 1
) -> str:
    time = f"{datetime.fromtimestamp(T + at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    entry = Injection(time=time, session="s1", event=event, tool=tool, lines=(Line(text, "because"),))
    ((line,),) = [moment.lines for moment in judged(walk_of(events), ROOT, "s1", [entry])]
    return line.use


READ = call(10, "read", f"{ROOT}/tidepool/export.py")
RAN = call(10, "shell", "uv run pytest tests/test_export.py")
FAILED = call(10, "shell", "python export.py", ok=False, text="bash: python: command not found")


@pytest.mark.parametrize(
    ("line", "after", "use"),
    [
        ("tidepool/export.py", READ, "used"),
        ("tidepool/other.py", READ, "not used"),
        ("Commands here: `uv run pytest tests/test_export.py` · `make lint`", RAN, "used"),
        ("Commands here: `make lint`", RAN, "not used"),
        ("`python` is not found here → `uv run pytest` worked", RAN, "used"),
        ("`python` is not found here → `python3` worked", FAILED, "not used"),
        ("`python` is not found here → `python3` worked", READ, "unknown"),
        (
            "exports: at most five attempts, two seconds apart; not: retry on 429 (you, 06-24, D-k3f9ab)",
            READ,
            "unknown",
        ),
    ],
)
def test_what_the_session_did_afterwards_decides(line: str, after: list[ev.Event], use: str) -> None:
    assert use_of(line, session(*after)) == use


def test_a_decision_was_used_when_the_agent_names_its_id_or_says_what_is_new_in_it() -> None:
    line = "exports: five attempts with exponential backoff and jitter (you, 06-24, D-k3f9ab)"
    named = session(ev.AgentTurn(T + 20, "As D-k3f9ab says, I keep it."))
    said = session(ev.AgentTurn(T + 20, "I use exponential backoff with jitter and five attempts."))
    assert use_of(line, named) == "used"
    assert use_of(line, said) == "used"


def test_what_a_person_said_is_no_use_of_a_line() -> None:
    line = "exports: five attempts with exponential backoff and jitter (you, 06-24, D-k3f9ab)"
    asked = session(
        ev.UserTurn(T + 20, "Use exponential backoff with jitter and five attempts, as D-k3f9ab says")
    )
    assert use_of(line, asked) == "unknown"


def test_what_was_done_before_a_line_is_no_use_of_it() -> None:
    assert use_of("tidepool/export.py", session(*READ), at=60) == "not used"


def test_a_warning_at_the_call_counts_when_the_call_is_not_made_again() -> None:
    line = "`python` is not found here → `python3` worked"
    again = session(*FAILED, *call(30, "shell", "python export.py", ok=False, text="command not found"))
    assert use_of(line, session(*FAILED, *READ), "PreToolUse", "Bash", at=10) == "used"
    assert use_of(line, again, "PreToolUse", "Bash", at=10) == "not used"


def test_a_heading_is_not_judged_and_without_a_transcript_nothing_is_known() -> None:
    lines = (Line("Likely files:", ""), Line("in tidepool/", ""), Line("  export.py", "touched often"))
    entry = Injection(time="2026-11-02T09:00:00Z", session="s1", event="UserPromptSubmit", lines=lines)
    (gone,) = without_steps([entry])
    assert [line.use for line in gone.lines] == ["", "", "unknown"]
    early = Injection(time="2025-11-01T00:00:00Z", session="s1", event="UserPromptSubmit", lines=lines)
    (moment,) = judged(walk_of(session(*READ)), ROOT, "s1", [early])
    assert [line.use for line in moment.lines] == ["", "", "used"]  # a folder's files are named below it
