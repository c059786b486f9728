"""SpecStory: other agents' sessions as markdown, counted where the original is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import SESSION, START, Read, Registry, digest_of
from tests.agents.samples_stores import (
    ANSWER,
    COMMAND,
    EDITED,
    PROMPT,
    read_only,
    specstory,
    specstory_bash,
    specstory_entry,
    specstory_text,
    specstory_tool,
)

from holdfast.agents.specstory.reader import SpecStory, agent_id
from holdfast.model.events import (
    AgentTurn,
    Began,
    Interruption,
    Todo,
    TodoList,
    ToolCall,
    ToolResult,
    UsageReport,
    UserTurn,
)
from holdfast.store.machine import Places


def read_text(folder: Path, *entries: str, agent: str = "Claude Code") -> Read:
    path = folder / "session.md"
    path.write_text(specstory_text(*entries, agent=agent), encoding="utf-8")
    return read_only(SpecStory(), path)


@pytest.mark.promise("C1")
def test_a_file_is_a_session_of_the_agent_it_names(tmp_path: Path) -> None:
    done = read_only(SpecStory(), specstory(tmp_path))
    assert done.warnings == []
    began = done.of(Began)[0]
    assert (began.session, began.agent, began.cwd, began.at) == (SESSION, "claude-code", str(tmp_path), START)
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    calls = [(call.action, call.target) for call in done.of(ToolCall)]
    assert calls == [("shell", COMMAND), ("edit", EDITED), ("shell", COMMAND)]
    assert [(result.ok, result.exit_code) for result in done.of(ToolResult)] == [
        (False, 1),
        (True, None),
        (True, None),
    ]
    assert done.of(AgentTurn)[-1].text == ANSWER
    assert done.of(UsageReport) == []
    assert SpecStory.copies


@pytest.mark.promise("C1")
@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("Claude Code", "claude-code"),
        ("Codex CLI", "codex"),
        ("Cursor CLI", "cursor"),
        ("Cursor IDE", "cursor"),
        ("cursor", "cursor"),
        ("Gemini CLI", "gemini"),
        ("Factory Droid CLI", "factory-droid"),
        ("Antigravity", "antigravity"),
    ],
)
def test_the_agents_have_our_names(name: str, agent: str, tmp_path: Path) -> None:
    assert agent_id(name) == agent
    done = read_text(tmp_path, specstory_entry(0, "User", PROMPT), agent=name)
    assert done.of(Began)[0].agent == agent


@pytest.mark.promise("C1")
def test_who_is_not_a_person(tmp_path: Path) -> None:
    command = "<command-name>/pr-review</command-name>\n<command-args>151</command-args>"
    done = read_text(
        tmp_path,
        specstory_entry(0, "User", "<local-command-caveat>Caveat: …</local-command-caveat>"),
        specstory_entry(1, "User", "<command-name>/model</command-name>\n<command-args></command-args>"),
        specstory_entry(1, "User", "<local-command-stdout>Set model</local-command-stdout>"),
        specstory_entry(2, "User", command),
        specstory_entry(2, "User", "## Context\n\nWhat the command says"),
        specstory_entry(3, "User - sidechain", "[SUGGESTION MODE: …]"),
        specstory_entry(4, "Agent - sidechain", "fix it", specstory_bash("ls", "a.py")),
        specstory_entry(5, "User", "<system-reminder>Remember</system-reminder>\n\nplease go"),
        specstory_entry(6, "User", "[Request interrupted by user]"),
    )
    assert [(turn.text, turn.command) for turn in done.of(UserTurn)] == [
        ("151", "/pr-review"),
        ("please go", ""),
    ]
    assert done.of(AgentTurn) == []
    assert [call.target for call in done.of(ToolCall)] == ["ls"]
    assert len(done.of(Interruption)) == 1


@pytest.mark.promise("C1")
def test_tools_of_every_kind(tmp_path: Path) -> None:
    todos = "**Agent task list:**\n- [X] 🌡️ write it\n- [⚡] 🌡️ test it\n- [ ] 🌡️ ship it"
    rejected = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected."
        " To tell you how to proceed, the user said:\nuse make"
    )
    done = read_text(
        tmp_path,
        specstory_entry(0, "User", PROMPT),
        specstory_entry(
            1,
            "Agent",
            specstory_tool(
                "read", "Read", " `./src/cart.py`", "     1→import os\n```\n_**User**_\n</tool-use>"
            ),
            specstory_tool(
                "search", "Grep", " path `./` pattern `def test`", "<tool_use_error>Sibling</tool_use_error>"
            ),
            specstory_tool("task", "TodoWrite", todos),
            specstory_tool("shell", "Bash", "Two lines\n\n```bash\nmake\nmake test\n```", rejected),
            specstory_tool(
                "write", "Write", "\n```python\nimport os\n```", "File created successfully at: /a/b.py"
            ),
        ),
    )
    assert [(call.action, call.target) for call in done.of(ToolCall)] == [
        ("read", "src/cart.py"),
        ("search", "./ def test"),
        ("todo", ""),
        ("shell", "make\nmake test"),
        ("edit", "/a/b.py"),
    ]
    verdicts = [(result.ok, result.rejected, result.own_fault) for result in done.of(ToolResult)]
    assert verdicts == [
        (True, False, False),
        (False, False, True),
        (True, False, False),
        (False, True, False),
        (True, False, False),
    ]
    assert done.of(TodoList)[0].items == (
        Todo("write it", "completed"),
        Todo("test it", "in_progress"),
        Todo("ship it", "pending"),
    )
    assert [(turn.text, turn.feedback) for turn in done.of(UserTurn)] == [(PROMPT, False), ("use make", True)]


@pytest.mark.promise("C1")
def test_other_agents_do_not_say_how_a_command_ended(tmp_path: Path) -> None:
    tools = [
        specstory_tool("shell", "shell", "`make`", output) for output in ("built", "Exit code: 2\nno rule")
    ]
    done = read_text(
        tmp_path, specstory_entry(0, "User", PROMPT), specstory_entry(1, "Agent", *tools), agent="Codex CLI"
    )
    assert [result.ok for result in done.of(ToolResult)] == [None, False]


@pytest.mark.promise("C2")
def test_a_session_written_down_twice_counts_once(tmp_path: Path) -> None:
    registry, importer = Registry(), SpecStory()
    first = specstory(tmp_path)
    second = first.with_name("2026-03-02_09-00-00Z.md")
    second.write_bytes(first.read_bytes())
    assert read_only(importer, first, registry).events
    assert read_only(importer, second, registry).events == []


@pytest.mark.promise("F4")
def test_a_file_that_ends_in_the_middle_of_a_tool_is_read(tmp_path: Path) -> None:
    path = specstory(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"1 failed")] + b"\xff\xfe")
    done = read_only(SpecStory(), path)
    assert done.warnings == []
    assert [call.target for call in done.of(ToolCall)] == [COMMAND]


@pytest.mark.promise("C1")
def test_histories_are_found_in_the_work_tree(tmp_path: Path) -> None:
    path, importer = specstory(tmp_path), SpecStory()
    (root,) = importer.roots(Places(Path("/nowhere"), {}, tmp_path))
    assert list(importer.candidates(root)) == [path]
    (glance,) = importer.sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (str(tmp_path), START)


@pytest.mark.parametrize(
    "content", [b"", b"# A readme\n", b"_**User**_\n", b"<!-- a comment -->", b"\xff\xfe"]
)
def test_others_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    assert not SpecStory().recognise(tmp_path / "a.md", content)


@pytest.mark.promise("C1")
def test_the_real_histories_are_read_without_a_warning(shared: Path) -> None:
    files = sorted((shared / "data" / "transcripts" / "specstory").rglob("*.md"))
    reads = [read_only(SpecStory(), file) for file in files]
    assert [warning for done in reads for warning in done.warnings] == []
    assert all(done.of(Began)[0].agent == "claude-code" for done in reads)
    written = sum(
        line.startswith("<tool-use ") for file in files for line in file.read_text("utf-8").splitlines()
    )
    assert sum(len(done.of(ToolCall)) for done in reads) == written
    assert sum(digest_of(done.events).failed_calls for done in reads) > 0


OLDER = """<!-- Generated by SpecStory -->

# Add a basket (2026-03-02 09:00Z)

_**User**_

add a basket

---

_**Assistant**_

There it is.

---
"""


@pytest.mark.promise("C1")
def test_a_history_that_names_no_session_is_known_by_its_file(tmp_path: Path) -> None:
    one, other = tmp_path / "2026-03-02_09-00Z-add-a-basket.md", tmp_path / "2026-03-03_09-00Z-add-a-till.md"
    for path in (one, other):
        path.write_text(OLDER, encoding="utf-8")
        assert SpecStory().recognise(path, path.read_bytes())
    done = read_only(SpecStory(), one)
    began = done.of(Began)[0]
    assert (began.agent, began.at) == ("specstory", START)
    assert began.session != read_only(SpecStory(), other).of(Began)[0].session
    assert [turn.text for turn in done.of(UserTurn)] == ["add a basket"]
    assert [turn.text for turn in done.of(AgentTurn)] == ["There it is."]


def test_what_was_said_after_the_last_tool_comes_last(tmp_path: Path) -> None:
    done = read_text(
        tmp_path,
        specstory_entry(0, "User", "go"),
        specstory_entry(1, "Agent", f"I look.\n\n{specstory_bash('ls', 'a.py')}\n\nThere is one file."),
    )
    kinds = [type(event) for event in done.events if isinstance(event, AgentTurn | ToolCall)]
    assert kinds == [AgentTurn, ToolCall, AgentTurn]
    assert done.of(AgentTurn)[-1].text == "There is one file."
