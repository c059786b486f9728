"""Questions with their answers, and plans with what became of them, as each agent writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.agents.builders import SESSION, ClaudeFile, CodexFile, Json, read
from tests.agents.samples_files import (
    gemini_call,
    gemini_folder,
    gemini_header,
    gemini_message,
    qwen_call,
    qwen_model,
    qwen_result,
    write_lines,
)

from holdfast.agents.claude_code.reader import ClaudeCode
from holdfast.agents.codex.reader import Codex
from holdfast.agents.gemini.reader import Gemini
from holdfast.agents.qwen.reader import Qwen
from holdfast.model.events import Asked, Event, Planned

pytestmark = pytest.mark.promise("C4")

STORE = {
    "question": "Where are sessions kept?",
    "header": "Store",
    "options": [
        {"label": "SQLite (Recommended)", "description": "One file, no server"},
        {"label": "Redis", "description": "Shared by all workers"},
    ],
}
LIMIT = {"question": 'Is "10" the limit, per user?', "options": []}
OPTIONS = (("SQLite (Recommended)", "One file, no server"), ("Redis", "Shared by all workers"))
PLAN = "# Plan: Keep sessions in SQLite\n\n## Context\nRedis is gone."


def settled(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, Asked | Planned)]


def claude(tmp_path: Path, tool: str, given: Json, answer: str, *, error: bool = False) -> list[Event]:
    file = ClaudeFile(SESSION)
    file.user(0, "go on")
    call = file.call(1, tool, given)
    file.result(2, call, answer, error=error)
    return settled(read(ClaudeCode(), file.save(tmp_path / f"{SESSION}.jsonl")).events)


def test_claude_s_questions_come_with_the_person_s_answers(tmp_path: Path) -> None:
    answer = (
        'User has answered your questions: "Where are sessions kept?"="SQLite (Recommended)", '
        '"Is "10" the limit, per user?"="no, 20". You can now continue with the user\'s answers in mind.'
    )
    first, second = claude(tmp_path, "AskUserQuestion", {"questions": [STORE, LIMIT]}, answer)
    assert isinstance(first, Asked) and isinstance(second, Asked)
    assert (first.question, first.answer, first.by) == (
        "Where are sessions kept?",
        "SQLite (Recommended)",
        "user",
    )
    assert first.options == OPTIONS
    assert second.answer == "no, 20"


def test_a_question_that_the_person_declined_has_no_answer(tmp_path: Path) -> None:
    said = "The user doesn't want to proceed with this tool use. STOP what you are doing."
    (asked,) = claude(tmp_path, "AskUserQuestion", {"questions": [STORE]}, said, error=True)
    assert isinstance(asked, Asked) and asked.answer == ""


@pytest.mark.parametrize("questions", [None, "x", [1, {"question": 2}], [{"header": "no question"}]])
def test_questions_of_another_shape_are_passed_over(tmp_path: Path, questions: object) -> None:
    assert claude(tmp_path, "AskUserQuestion", {"questions": questions}, "answered") == []


@pytest.mark.parametrize(
    ("answer", "error", "approved"),
    [
        ("User has approved your plan. You can now start coding.", False, True),
        ("The user doesn't want to proceed with this tool use. STOP.", True, False),
        ("Exit plan mode?", False, None),
    ],
)
def test_claude_s_plan_says_what_became_of_it(
    tmp_path: Path, answer: str, error: bool, approved: bool | None
) -> None:
    (plan,) = claude(tmp_path, "ExitPlanMode", {"plan": PLAN}, answer, error=error)
    assert isinstance(plan, Planned)
    assert (plan.text, plan.approved) == (PLAN, approved)


def test_a_plan_that_lies_in_a_file_is_taken_from_the_answer(tmp_path: Path) -> None:
    answer = f"User has approved your plan. Saved to: x.md\n\n## Approved Plan:\n{PLAN}"
    (plan,) = claude(tmp_path, "ExitPlanMode", {}, answer)
    assert isinstance(plan, Planned) and plan.text == PLAN and plan.approved


def test_codex_s_questions_come_with_the_person_s_answers(tmp_path: Path) -> None:
    file = CodexFile()
    file.ask(1, "go on")
    call = file.call(
        2, "request_user_input", {"questions": [{**STORE, "id": "store"}, {**LIMIT, "id": "limit"}]}
    )
    file.output(3, call, json.dumps({"answers": {"store": {"answers": ["SQLite (Recommended)"]}}}))
    first, second = settled(read(Codex(), file.save(tmp_path / "rollout-1.jsonl")).events)
    assert isinstance(first, Asked) and isinstance(second, Asked)
    assert (first.question, first.answer, first.options) == (
        "Where are sessions kept?",
        "SQLite (Recommended)",
        OPTIONS,
    )
    assert second.answer == ""


REMARK = "\n\n[System] Tool input parameters (questions) were modified by a hook before execution."


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        ('{"answers":{"0":"Redis"}}', ["Redis", ""]),
        ('{"answers":{"1":"yes","0":"Redis"}}' + REMARK, ["Redis", "yes"]),
        ('{"answers":["Redis"]}', ["", ""]),
        ("User dismissed ask_user dialog without answering.", ["", ""]),
    ],
)
def test_gemini_s_questions_come_with_the_person_s_answers(
    tmp_path: Path, answer: str, answers: list[str]
) -> None:
    call = gemini_call(2, "c", "ask_user", {"questions": [STORE, LIMIT]}, answer)
    message = gemini_message(1, "m", "gemini", "", toolCalls=[call])
    path = write_lines(gemini_folder(tmp_path) / "session-x.jsonl", [gemini_header(), message, message])
    first, second = settled(read(Gemini(), path).events)
    assert isinstance(first, Asked) and isinstance(second, Asked)
    assert (first.question, first.options) == ("Where are sessions kept?", OPTIONS)
    assert [first.answer, second.answer] == answers


@pytest.mark.parametrize(
    ("shown", "answers"),
    [
        ({"answers": [{"question": STORE["question"], "answer": "Redis"}]}, ["Redis", ""]),
        ({"answers": [{"question": LIMIT["question"], "answer": 10}, 7]}, ["", ""]),
        ({"answers": {}}, ["", ""]),
        ({}, ["", ""]),
    ],
)
def test_qwen_s_questions_come_with_the_person_s_answers(
    tmp_path: Path, shown: Json, answers: list[str]
) -> None:
    result = qwen_result(2, "a", "ask_user_question", "User has provided the following answers")
    result["toolCallResult"]["resultDisplay"] = {"type": "ask_user_question_answers", **shown}
    records = [qwen_model(1, qwen_call("a", "ask_user_question", questions=[STORE, LIMIT])), result]
    first, second = settled(read(Qwen(), write_lines(tmp_path / "chats" / "x.jsonl", records)).events)
    assert isinstance(first, Asked) and isinstance(second, Asked)
    assert (first.question, first.options) == ("Where are sessions kept?", OPTIONS)
    assert [first.answer, second.answer] == answers


@pytest.mark.parametrize(
    ("reply", "approved"), [("Implement the plan.", [None, True]), ("use Redis", [None])]
)
def test_codex_s_plan_is_decided_by_the_next_words(
    tmp_path: Path, reply: str, approved: list[bool | None]
) -> None:
    file = CodexFile()
    file.ask(1, "plan it")
    file.agent(2, f"Here it is.\n<proposed_plan>\n{PLAN}\n</proposed_plan>")
    file.ask(3, reply)
    plans = settled(read(Codex(), file.save(tmp_path / "rollout-1.jsonl")).events)
    assert [(plan.text, plan.approved) for plan in plans if isinstance(plan, Planned)] == [
        (PLAN, verdict) for verdict in approved
    ]
