"""The title that an agent or a person gave a session reaches its record, whatever the agent's file calls it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import SESSION, ClaudeFile, CodexFile, Registry, digest_of, read_claude, read_codex
from tests.agents.samples_files import (
    copilot_line,
    copilot_records,
    cursor_database,
    gemini_document,
    pi_entry,
    pi_records,
    qwen_line,
    qwen_records,
    write_lines,
)
from tests.agents.samples_stores import opencode_database, opencode_story

from holdfast.agents.registry import BY_AGENT

pytestmark = pytest.mark.promise("V1")

NAMED = "Leap seconds in the tide table"


def talk() -> ClaudeFile:
    file = ClaudeFile()
    file.user(0, "count leap seconds")
    file.assistant(5, "They are counted.")
    return file


def claude_title(file: ClaudeFile, folder: Path) -> str:
    return digest_of(read_claude(file.save(folder / f"{SESSION}.jsonl")).events).title


def test_the_title_that_claude_code_gives_is_the_last_one(tmp_path: Path) -> None:
    file = talk()
    file.add({"type": "ai-title", "aiTitle": "Seconds", "sessionId": SESSION})
    file.add({"type": "ai-title", "aiTitle": NAMED, "sessionId": SESSION})
    assert claude_title(file, tmp_path) == NAMED


def test_the_name_that_a_person_gives_outranks_the_agents(tmp_path: Path) -> None:
    file = talk()
    file.add({"type": "custom-title", "customTitle": NAMED, "sessionId": SESSION})
    file.add({"type": "ai-title", "aiTitle": "Seconds", "sessionId": SESSION})
    assert claude_title(file, tmp_path) == NAMED


def test_a_title_of_another_session_in_the_same_file_does_not_count(tmp_path: Path) -> None:
    file = talk()
    file.add({"type": "ai-title", "aiTitle": NAMED, "sessionId": "another"})
    assert claude_title(file, tmp_path) == ""


@pytest.mark.parametrize("first", [True, False])
def test_a_summary_counts_for_the_session_that_it_sums_up(tmp_path: Path, first: bool) -> None:
    file = talk()
    leaf = "u-0f0e-0001"
    line = {"type": "summary", "summary": NAMED, "leafUuid": leaf}
    assert leaf.encode() in file.lines[-1], "the builder's last line"
    file.add(line)
    if first:
        file.lines.insert(0, file.lines.pop())
    assert claude_title(file, tmp_path) == NAMED


def test_a_summary_of_another_session_does_not_count(tmp_path: Path) -> None:
    file = talk()
    file.summary(NAMED)
    assert claude_title(file, tmp_path) == ""


def test_a_codex_thread_has_the_name_it_was_given(tmp_path: Path) -> None:
    file = CodexFile()
    file.ask(1, "count leap seconds")
    file.event(2, "thread_name_updated", thread_name=NAMED, thread_id=file.session)
    assert digest_of(read_codex(file.save(tmp_path / "rollout-a.jsonl")).events, "codex").title == NAMED


def title_read(agent: str, path: Path) -> str:
    """The title that the reader hands on, of the first session in a database."""
    importer = BY_AGENT[agent]
    head = path.read_bytes()[: 64 * 1024]
    glance = next(iter(importer.sessions(path, head)))
    reading = importer.open(path, 0, b"", Registry().source(str(path)), glance.part)
    return digest_of(reading.events(), agent).title


def titled_opencode(folder: Path, title: str) -> Path:
    story = opencode_story()
    story.info["title"] = title
    return opencode_database(folder, story)


WRITERS = {
    "copilot": lambda folder: write_lines(
        folder / SESSION / "events.jsonl",
        [*copilot_records(), copilot_line(90, "session.title_changed", {"title": NAMED})],
    ),
    "gemini": lambda folder: gemini_document(folder, summary=NAMED),
    "pi": lambda folder: write_lines(
        folder / "pi.jsonl", [*pi_records(), pi_entry(90, "session_info", name=NAMED)]
    ),
    "qwen": lambda folder: write_lines(
        folder / f"{SESSION}.jsonl",
        [
            *qwen_records(),
            qwen_line(90, "system", subtype="custom_title", systemPayload={"customTitle": NAMED}),
        ],
    ),
    "cursor": lambda folder: cursor_database(folder, name=NAMED),
    "opencode": lambda folder: titled_opencode(folder, NAMED),
}


@pytest.mark.parametrize("agent", WRITERS)
def test_every_agent_that_names_its_sessions_is_heard(agent: str, tmp_path: Path) -> None:
    assert title_read(agent, WRITERS[agent](tmp_path)) == NAMED


def test_opencodes_name_for_a_session_without_a_name_is_no_title(tmp_path: Path) -> None:
    assert title_read("opencode", titled_opencode(tmp_path, "New session - 2026-03-02T09:00:00.000Z")) == ""
