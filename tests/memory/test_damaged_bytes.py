"""A byte that is no UTF-8 in a memory file: the line is named, the rest is read, and the byte stays where it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.remembered import remember

from holdfast.memory.decisions import parse_decisions
from holdfast.memory.log import parse_log, render_entry
from holdfast.model.memory import LogEntry
from holdfast.store import line_grammar, sections
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("F4")
BAD = b"caf\xe9"  # as an editor writes it that takes the file for Latin-1


@pytest.fixture
def damaged(repo: Path) -> Path:
    """A memory with such a byte in a line of ours and in a person's own line, in every file."""
    remember(repo, "refund")
    memory = Machine(cwd=repo).project().memory
    marks = {
        "current.md": b"go on with",
        "log.md": b"work of",
        "reference.md": b"keep",
        "open-questions.md": b"Who owns",
    }
    for path in memory.rglob("*.md"):
        if path.name in marks:
            data = path.read_bytes()
            assert marks[path.name] in data
            path.write_bytes(
                data.replace(marks[path.name], marks[path.name] + b" " + BAD, 1) + b"\nMy " + BAD + b"\n"
            )
    return memory


@pytest.mark.parametrize(
    "words",
    [
        ["resume"],
        ["search", "refund"],
        ["recall", "keep refund small"],
        ["log"],
        ["index"],
        ["handoff", "wire the endpoint"],
        ["decide", "Round in cents", "--because", "floats drift"],
        ["forget", "--text", "listens on", "--yes"],
        ["export"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_goes_on(holdfast: Holdfast, damaged: Path, words: list[str]) -> None:
    holdfast(*words, check=0)


def test_what_is_written_later_leaves_the_byte_where_it_is(holdfast: Holdfast, damaged: Path) -> None:
    before = {
        path: path.read_bytes().count(BAD) for path in damaged.rglob("*.md") if BAD in path.read_bytes()
    }
    assert len(before) == 4
    holdfast("handoff", "wire the endpoint", check=0)
    holdfast("decide", "Round in cents", check=0)
    holdfast("ask", "Who signs off?", "--keep", check=None)
    assert {path: path.read_bytes().count(BAD) for path in before} == before


def test_an_archive_with_such_a_byte_is_restored(
    holdfast: Holdfast, damaged: Path, make_repo: Callable[[str], Path], tmp_path: Path
) -> None:
    holdfast("export", str(tmp_path / "a.tar.gz"), check=0)
    clone = make_repo("clone")
    holdfast("restore", str(tmp_path / "a.tar.gz"), cwd=clone, check=0)
    holdfast("search", "refund", cwd=clone, check=0)


def test_a_line_with_such_a_byte_is_no_value() -> None:
    with pytest.raises(ValueError, match="not UTF-8"):
        line_grammar.DECISION.parse(sections.decode_text(b"Round in " + BAD))


def test_a_session_id_with_such_a_byte_can_be_stored() -> None:
    text = render_entry(LogEntry(session="s-one", agent="codex", at=0.0))
    (entry,) = parse_log(
        sections.decode_text(text.encode().replace(b"s-one -->", b"x").replace(b"s-one", BAD))
    ).entries
    assert entry.session.encode() == "caf\ufffd".encode()


@pytest.mark.parametrize("half", ["\ud800", "x\udfffy"])
def test_half_a_character_is_read_as_the_sign_for_it(half: str) -> None:
    read = line_grammar.decode(line_grammar.encode(half))
    assert "\ufffd" in read and read.encode().decode() == read
    assert line_grammar.decode(r"\ud800").encode()


@pytest.mark.parametrize("day", ["2026-03-00", "2026-13-01", "0000-01-01"])
def test_a_day_that_the_calendar_does_not_have_leaves_a_section_without_a_date(day: str) -> None:
    file = parse_decisions(f"## {day} 09:00 · Round refunds <!-- session s1 -->\n\n- Round in cents\n")
    (section,) = file.sections
    assert (section.at, section.title, section.session) == (None, "Round refunds", "s1")
    assert [passage.text for passage in section.passages] == ["Round in cents"]
