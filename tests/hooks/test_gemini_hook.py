"""Gemini CLI's calls as it makes them: its own words in, what it takes out, and nothing that it would not read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import SESSION, Enabled, run_hook
from tests.hooks.test_lesson_hook import Taught
from tests.hooks.test_tool_call_hook import ANSWER, ASKED, OPTIONS, REMEDY, STAT, stumble

from holdfast.briefing.moments import answer
from holdfast.hooks import host_protocol
from holdfast.hooks.moment import NOTED
from holdfast.model.line import Line
from holdfast.model.statement import statement_of

COMMAND = "gh pr diff 104 --stat"
RULE = "refund amounts are whole cents"
CODE = "Implement rounding to whole cents"


def call(enabled: Enabled, event: str, **more: object) -> dict[str, Any]:
    """The whole answer of a hook, {} where it prints nothing."""
    payload = {
        "session_id": SESSION,
        "transcript_path": str(enabled.root / "none.jsonl"),
        "cwd": str(enabled.root),
        "hook_event_name": event,
        "timestamp": "2026-11-16T05:10:00.000Z",
        **more,
    }
    env = {"GEMINI_PROJECT_DIR": str(enabled.root), "CLAUDE_PROJECT_DIR": str(enabled.root)}
    raw = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
    printed = run_hook(event, raw, env, enabled.root, "gemini").printed
    value = json.loads(printed) if printed else {}
    assert isinstance(value, dict)
    if value:
        assert set(value) <= {"systemMessage", "hookSpecificOutput"}
        assert value["hookSpecificOutput"]["hookEventName"] == event
        assert set(value["hookSpecificOutput"]) <= {"hookEventName", "additionalContext", "tool_input"}
    return value


def lines(answer: dict[str, Any]) -> list[str]:
    """What the model is told, without the fence."""
    context = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
    return str(context).split("\n")[1:-1]


@pytest.fixture
def knowing(enabled: Enabled) -> Enabled:
    enabled.prepare(moments=(stumble(STAT), answer(statement_of(ASKED, "shop"))), projects={"": "shop"})
    return enabled


@pytest.fixture
def taught(repo: Path, tmp_path: Path) -> Taught:
    made = Taught(repo, tmp_path)
    made.keep("money", RULE)
    return made


@pytest.mark.promise("H2")
def test_a_start_is_told_and_the_person_sees_how_much(enabled: Enabled) -> None:
    told = call(enabled, "SessionStart", source="startup")
    assert lines(told) == ["Open: wire the refund endpoint", "tests: make test"]
    assert told["systemMessage"].startswith("holdfast: 2 lines, ")


def test_what_the_client_put_before_a_prompt_is_not_the_prompt(taught: Taught) -> None:
    block = "[holdfast abc123: notes]\nImplement the refund endpoint\n[/holdfast abc123]"
    question = f"<hook_context>{block}</hook_context>\n\nthanks"
    assert call(taught, "BeforeAgent", prompt=question) == {}
    (line,) = lines(call(taught, "BeforeAgent", prompt=f"<hook_context>{block}</hook_context>\n\n{CODE}"))
    assert line.startswith(RULE)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("<hook_context>a</hook_context>\n\nfix it", "fix it"),
        ("<hook_context>a</hook_context><hook_context>b</hook_context> fix it", "fix it"),
        ("<hook_context>&lt;/hook_context&gt; a\n</hook_context>\n\nfix it", "fix it"),
        ("<hook_context>never closed, fix it", "<hook_context>never closed, fix it"),
        (
            "why is there a <hook_context>a</hook_context> here",
            "why is there a <hook_context>a</hook_context> here",
        ),
        (
            "look at @a.py\n--- Content from referenced files ---\nContent from @a.py:\nfix it\n",
            "look at @a.py",
        ),
        ("", ""),
    ],
)
def test_a_persons_words_are_found_in_whatever_is_around_them(prompt: str, said: str) -> None:
    assert host_protocol.understood("gemini", {"prompt": prompt})["prompt"] == said


@pytest.mark.promise("S12")
def test_a_command_that_failed_gets_its_remedy_and_one_that_did_not_gets_none(knowing: Enabled) -> None:
    def after(said: object, **more: object) -> list[str]:
        given = {"command": COMMAND, "description": "what changed"}
        response = {"llmContent": said, "returnDisplay": "", **more}
        told = call(
            knowing, "AfterTool", tool_name="run_shell_command", tool_input=given, tool_response=response
        )
        return lines(told)

    fine = "<untrusted_context>\nOutput: a.py\nProcess Group PGID: 7\n</untrusted_context>"
    assert after(fine) == after([{"text": "x"}]) == after(None) == after(7) == []
    bad = (
        "<untrusted_context>\nOutput: unknown flag\nExit Code: 1\nProcess Group PGID: 7\n</untrusted_context>"
    )
    assert after(bad) == [REMEDY]
    assert after(bad) == [], "once in a session"


@pytest.mark.promise("M10")
def test_a_question_shows_its_old_answer_to_the_person_and_then_to_the_model(knowing: Enabled) -> None:
    asked = {"question": ASKED.text, "header": "DB", "type": "choice", "options": OPTIONS}
    given = {"questions": [asked], "other": 1}
    before = call(knowing, "BeforeTool", tool_name="ask_user", tool_input=given)
    assert set(before) == {"hookSpecificOutput"}, "what it says then would not reach the model"
    changed = before["hookSpecificOutput"]["tool_input"]
    assert "additionalContext" not in before["hookSpecificOutput"]
    assert changed["other"] == 1, "the client takes it in the place of what was asked"
    (question,) = changed["questions"]
    assert [NOTED in option["description"] for option in question["options"]] == [False, True]
    response = {"llmContent": '{"answers":{"0":"Postgres"}}', "returnDisplay": ""}
    after = call(knowing, "AfterTool", tool_name="ask_user", tool_input=given, tool_response=response)
    assert lines(after) == [ANSWER] and "tool_input" not in after["hookSpecificOutput"]


def test_other_tools_and_other_events_are_let_alone(knowing: Enabled) -> None:
    given = {"command": COMMAND}
    assert call(knowing, "BeforeTool", tool_name="run_shell_command", tool_input=given) == {}
    assert call(knowing, "AfterTool", tool_name="read_file", tool_input={"file_path": "gh"}) == {}
    assert call(knowing, "PreCompress", trigger="auto") == {}
    assert knowing.inbox() == [] and knowing.log() == ""


# --- compaction ----------------------------------------------------------------------------------------


def history(*texts: str) -> str:
    """The line with which the client puts other messages in the place of all before."""
    messages = [{"id": text[:4], "type": "user", "content": [{"text": text}]} for text in texts]
    return json.dumps({"$set": {"messages": messages}}, separators=(",", ":")) + "\n"


SUMMARY = (
    "<scratchpad>hm</scratchpad>\n<state_snapshot>\n<overall_goal>refunds</overall_goal>\n</state_snapshot>"
)


def test_after_a_compaction_that_nobody_told_of_what_was_said_is_said_again(taught: Taught) -> None:
    taught.prepare(
        stumbles=(Line("`make tests` fails here", "it failed in 3 sessions"),),
        own={SESSION: (Line("Open: the receipt", "this session left it open"),)},
    )
    path = taught.root / "session.jsonl"
    path.write_text(
        history("<session_context>x</session_context>", "an old <state_snapshot>"), encoding="utf-8"
    )

    def asked() -> list[str]:
        return lines(call(taught, "BeforeAgent", prompt=CODE, transcript_path=str(path)))

    def write(text: str) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)

    (rule,) = asked()
    assert rule.startswith(RULE)
    write('{"type":"user","content":"what is a <state_snapshot>?"}\n')
    write(history("no summary at all"))
    assert asked() == [], "heard already, or nothing to say"
    write(history("<session_context>x</session_context>", SUMMARY))
    write('{"type":"gemini","content":"Go on."}\n')
    assert asked() == ["Open: the receipt", "`make tests` fails here", rule]
    assert asked() == [], "once for each compaction"
    kept = [
        json.loads(line) for line in (taught.memory / "why.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [entry["source"] for entry in kept].count("compact") == 1
    path.unlink()
    assert asked() == []
