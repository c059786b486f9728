"""aider: one markdown file for all chats, told apart by how aider ends its own lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import START, Registry, digest_of
from tests.agents.samples_stores import ANSWER, COMMAND, PROMPT, aider, aider_chat, read_only, read_parts

from holdfast.agents.aider.reader import Aider
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Began,
    Interruption,
    ToolCall,
    ToolResult,
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.store.machine import Places


def history(folder: Path, *chats: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".aider.chat.history.md"
    path.write_text("".join(chats), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def in_utc(home: Path) -> None:
    """aider writes local time."""


@pytest.mark.promise("C1")
def test_a_chat_is_a_session(tmp_path: Path) -> None:
    done = read_only(Aider(), aider(tmp_path))
    assert done.warnings == []
    began = done.of(Began)[0]
    assert (began.cwd, began.version, began.at) == (str(tmp_path), "0.86.1", START)
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT, "thanks"]
    assert [(call.action, call.target) for call in done.of(ToolCall)] == [
        ("shell", COMMAND),
        ("edit", "src/cart.py"),
        ("shell", "git commit -m 'fix: the total'"),
        ("shell", COMMAND),
    ]
    assert done.of(AgentTurn)[-1].text == ANSWER
    digest = digest_of(done.events)
    assert (digest.commits, digest.files) == (1, {"src/cart.py": (0, 1)})


@pytest.mark.promise("C1")
def test_tokens_and_costs_in_every_spelling(tmp_path: Path) -> None:
    done = read_only(Aider(), aider(tmp_path))
    assert [(report.usage, report.cost_usd) for report in done.of(UsageReport)] == [
        (Usage(12_000, 1_200), 0.05),
        (Usage(0, 34, 1_500, 4_000), 0.01),
    ]
    assert {report.model for report in done.of(UsageReport)} == {"claude-sonnet-4-5"}
    older = aider_chat(
        "2024-08-05 19:33:32",
        "> Models: gpt-4o with diff edit format, weak model gpt-4o-mini",
        "#### hello",
        "> Tokens: 17,121 sent, 188 received. Cost: $0.05 request, $0.17 session.",
        "> Tokens: 1.2M sent, 12k cache hit, 3 received.",
    )
    done = read_only(Aider(), history(tmp_path / "b", older))
    assert [(report.usage, report.cost_usd, report.model) for report in done.of(UsageReport)] == [
        (Usage(17_121, 188), 0.05, "gpt-4o"),
        (Usage(1_188_000, 3, 12_000), None, "gpt-4o"),
    ]


@pytest.mark.promise("C1")
def test_what_aider_writes_as_a_person_is_not_a_person(tmp_path: Path) -> None:
    chat = aider_chat(
        "2026-03-02 09:00:00",
        "#### # Fix any errors below, if possible.",
        "#### ",
        "#### a.py:1:1: E402",
        "",
        "#### /add a.py",
        "> Added a.py to the chat.",
        "#### /undo",
        "> Removed: 1a2b3c4 fix",
        "#### /ask how is it done?",
        "",
        "####  how is it done?",
        "",
        "Like this.",
        "",
        "#### do it",
        "#### in two lines",
        "> ^C KeyboardInterrupt",
    )
    done = read_only(Aider(), history(tmp_path, chat))
    assert [(turn.text, turn.command) for turn in done.of(UserTurn)] == [
        ("how is it done?", "/ask"),
        ("do it\nin two lines", ""),
    ]
    assert len(done.of(Interruption)) == 1


@pytest.mark.promise("C1")
def test_a_heading_in_an_answer_and_the_answer_to_aiders_own_question_are_no_requests(tmp_path: Path) -> None:
    chat = aider_chat(
        "2026-03-02 09:00:00",
        "#### add a basket",
        "",
        "#### Step 1: `basket.py`",
        "#### Step 2: `till.py`",
        "",
        "#### Run shell commands? (Y)es/(N)o/(S)kip all [Yes]: skip",
        "",
        "#### and a till",
    ).replace(".py`  ", ".py`")
    done = read_only(Aider(), history(tmp_path, chat))
    assert [turn.text for turn in done.of(UserTurn)] == ["add a basket", "and a till"]


@pytest.mark.promise("C1")
def test_leaving_aider_interrupts_nothing_but_an_answer_that_is_being_written(tmp_path: Path) -> None:
    leaves = ["> ^C again to exit", "> ", "> ^C KeyboardInterrupt"]
    answered = ["#### add a basket", "", "Like this.", "", "> Tokens: 900 sent, 34 received."]
    chat = aider_chat("2026-03-02 09:00:00", *answered, *leaves)
    assert not digest_of(read_only(Aider(), history(tmp_path, chat)).events).turns[-1].interrupted
    chat = aider_chat("2026-03-02 09:00:00", *answered, "#### and a till", leaves[0], "", "First we")
    assert digest_of(read_only(Aider(), history(tmp_path, chat)).events).turns[-1].interrupted


@pytest.mark.promise("C1")
def test_a_test_run_that_the_model_is_asked_about_is_a_request(tmp_path: Path) -> None:
    chat = aider_chat(
        "2026-03-02 09:00:00",
        "#### /test pytest",
        "> ===== test session starts =====",
        "E   assert 1 == 2",
        "===== 1 failed in 0.1s =====",
        "",
        "The total was wrong.",
        "```",
        "=======",
        "```",
        "",
        "> Tokens: 900 sent, 34 received.",
        "#### /run ls",
        "> a.py",
    )
    done = read_only(Aider(), history(tmp_path, chat))
    assert [(turn.text, turn.command) for turn in done.of(UserTurn)] == [("pytest", "/test")]
    assert [call.target for call in done.of(ToolCall)] == ["pytest", "ls"]
    assert "1 failed" in done.of(ToolResult)[0].text
    assert done.of(AgentTurn)[-1].text.startswith("The total was wrong.")


@pytest.mark.promise("C1")
def test_how_things_go_wrong(tmp_path: Path) -> None:
    chat = aider_chat(
        "2026-03-02 09:00:00",
        f"#### {PROMPT}",
        "> litellm.APIConnectionError: overloaded",
        "> Retrying in 0.2 seconds...",
        "> litellm.APIConnectionError: overloaded",
        "",
        "Here you are.",
        "",
        "> # 1 SEARCH/REPLACE block failed to match!",
        "> ## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in a.py",
        "> Skipping edits to b.py",
        "> Applied edit to c.py",
        "> # Fix any errors below, if possible.",
        "> ## Running: flake8 c.py",
        "> c.py:1:1: F401 unused",
        "",
        "> Running pip list",
    )
    done = read_only(Aider(), history(tmp_path, chat))
    assert [failure.text for failure in done.of(ApiFailure)] == ["litellm.APIConnectionError: overloaded"]
    assert [(call.tool, call.target) for call in done.of(ToolCall)] == [
        ("edit", "a.py"),
        ("edit", "b.py"),
        ("edit", "c.py"),
        ("lint", "flake8 c.py"),
        ("shell", "pip list"),
    ]
    verdicts = [(result.ok, result.rejected, result.own_fault) for result in done.of(ToolResult)]
    assert verdicts == [
        (False, False, True),
        (False, True, False),
        (True, False, False),
        (False, False, False),
        (None, False, False),
    ]
    assert digest_of(done.events).failed_calls == 1


@pytest.mark.promise("C2")
def test_a_chat_keeps_its_name_while_it_grows_and_wherever_it_lies(tmp_path: Path) -> None:
    first = aider_chat("2026-03-01 10:00:00", "#### first", "", "One.")
    second = aider_chat("2026-03-02 09:00:00", "#### second", "", "Two.")
    importer = Aider()

    def stamps(path: Path) -> dict[str, tuple[int | None, int | None]]:
        return {
            glance.part: (glance.size, glance.changed)
            for glance in importer.sessions(path, path.read_bytes())
        }

    before = stamps(history(tmp_path, first, second))
    after = stamps(history(tmp_path, first, second, "\n#### and more  \n"))
    assert list(before) == list(after)
    assert [before[name] == after[name] for name in before] == [True, False]
    assert list(stamps(history(tmp_path / "copy", "older words\n", second))) == [list(before)[1]]


@pytest.mark.promise("C2")
def test_a_copied_history_counts_once_and_what_it_has_more_counts_too(tmp_path: Path) -> None:
    chat = aider_chat("2026-03-02 09:00:00", "#### first", "", "One.", "")
    registry, importer = Registry(), Aider()
    assert [
        turn.text for turn in read_only(importer, history(tmp_path / "a", chat), registry).of(UserTurn)
    ] == ["first"]
    assert read_only(importer, history(tmp_path / "b", chat), registry).events == []
    longer = read_only(importer, history(tmp_path / "c", chat, "\n#### second  \n"), registry)
    assert [turn.text for turn in longer.of(UserTurn)] == ["second"]
    assert longer.of(Began)


@pytest.mark.promise("F4")
def test_starts_without_a_word_and_words_before_any_start_leave_nothing(tmp_path: Path) -> None:
    idle = aider_chat("2026-03-01 10:00:00", "> Aider v0.86.1", "#### /exit")
    path = history(
        tmp_path, "#### torn off its start  \n", idle, aider_chat("2026-03-02 10:00:00", "#### hello")
    )
    assert len(read_parts(Aider(), path)) == 1


@pytest.mark.promise("F4")
def test_an_answer_that_broke_off_within_a_code_block_does_not_swallow_the_rest(tmp_path: Path) -> None:
    chat = aider_chat("2026-03-02 09:00:00", "#### first", "", "```python", "#### not a person")
    done = read_only(Aider(), history(tmp_path, chat, "> ^C KeyboardInterrupt  \n\n#### second  \n"))
    assert [turn.text for turn in done.of(UserTurn)] == ["first", "second"]
    assert len(done.of(Interruption)) == 1


@pytest.mark.promise("F4")
def test_bad_bytes_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    text = aider_chat("2026-03-02 09:00:00", "#### caf\u00e9", "", "One.")
    path.write_bytes(text.encode("latin-1").replace(b"\n", b"\r\n"))
    done = read_only(Aider(), path)
    assert [turn.text for turn in done.of(UserTurn)] == ["caf\ufffd"]


@pytest.mark.promise("C1")
def test_the_history_is_found_in_the_work_tree(tmp_path: Path) -> None:
    path, importer = aider(tmp_path), Aider()
    (root,) = importer.roots(Places(Path("/nowhere"), {}, tmp_path))
    assert list(importer.candidates(root)) == [path]
    assert list(importer.roots(Places(Path("/nowhere"), {}))) == []


@pytest.mark.parametrize("content", [b"", b"# A readme\n", b"# aider chat started at noon\n", b"\xff\xfe"])
def test_others_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    assert not Aider().recognise(tmp_path / ".aider.chat.history.md", content)


@pytest.mark.promise("C1")
def test_the_real_history_is_read_without_a_warning(shared: Path) -> None:
    (path,) = (shared / "data" / "transcripts" / "aider").rglob(".aider.chat.history.md")
    reads = read_parts(Aider(), path)
    assert [warning for done in reads.values() for warning in done.warnings] == []
    lines = path.read_text(encoding="utf-8").splitlines()
    events = [event for done in reads.values() for event in done.events]
    printed = [line for line in lines if line.startswith("> ") and line.endswith("  ")]
    assert sum(isinstance(event, UsageReport) for event in events) == sum(
        "> Tokens: " in line for line in printed
    )
    edits = [event for event in events if isinstance(event, ToolCall) and event.action == "edit"]
    marks = ("> Applied edit to ", "> ## SearchReplaceNoExactMatch")
    assert len(edits) == sum(line.startswith(marks) for line in printed)
    commits = [event for event in events if isinstance(event, ToolCall) and event.tool == "commit"]
    assert len(commits) == sum(line.startswith("> Commit ") for line in lines)
