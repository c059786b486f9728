"""Bad files: torn, glued, badly encoded, too deep, too long. One bad line is one warning, and the rest is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from tests.agents.builders import (
    CWD,
    START,
    ClaudeFile,
    CodexFile,
    Lines,
    Registry,
    digest_of,
    grown,
    plain,
    read,
    read_claude,
    read_codex,
    stamp,
)

from holdfast.agent_kit import jsonl
from holdfast.agent_kit.contract import Importer
from holdfast.agent_kit.jsonl import (
    ANYTHING,
    clean_strings,
    decoded,
    excerpt,
    seconds,
)
from holdfast.agents.claude_code.reader import ClaudeCode
from holdfast.agents.codex.reader import Codex
from holdfast.core.errors import TranscriptError
from holdfast.core.json_depth import DEEPEST, nested_too_deeply, too_deep
from holdfast.model.events import AgentTurn, Tick, ToolCall, ToolResult, UserTurn

pytestmark = pytest.mark.promise("F4")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


def said(path: Path) -> list[str]:
    return [turn.text for turn in read_claude(path).of(UserTurn)]


def three_prompts() -> ClaudeFile:
    file = ClaudeFile()
    for number in range(3):
        file.user(number, f"prompt {number}")
    return file


# --- the end of a file that is being written -----------------------------------------------------------


@pytest.mark.promise("C2")
def test_a_torn_last_line_waits_and_is_then_read_once(path: Path) -> None:
    data = three_prompts().data()
    path.write_bytes(data[:-40])
    claims = Registry().source("a")
    first = read_claude(path, claims=claims)
    assert [turn.text for turn in first.of(UserTurn)] == ["prompt 0", "prompt 1"]
    assert first.warnings == []
    assert first.position == data.rindex(b"\n", 0, -1) + 1
    path.write_bytes(data)
    second = read_claude(path, offset=first.position, state=first.state, claims=claims)
    assert [turn.text for turn in second.of(UserTurn)] == ["prompt 2"]
    assert second.position == len(data)


@pytest.mark.promise("C2")
def test_a_whole_last_line_without_a_newline_is_read_once(path: Path) -> None:
    data = three_prompts().data()
    path.write_bytes(data[:-1])
    claims = Registry().source("a")
    first = read_claude(path, claims=claims)
    assert len(first.of(UserTurn)) == 3
    assert first.position == len(data) - 1
    path.write_bytes(data)
    second = read_claude(path, offset=first.position, state=first.state, claims=claims)
    assert second.events == []
    assert second.position == len(data)


@pytest.mark.promise("C2")
def test_reading_again_from_the_end_reads_nothing(path: Path) -> None:
    file = three_prompts()
    claims = Registry().source("a")
    first = read_claude(file.save(path), claims=claims)
    again = read_claude(path, offset=first.position, state=first.state, claims=claims)
    assert (again.events, again.warnings) == ([], [])
    assert again.position == first.position
    assert again.state == first.state


@pytest.mark.promise("C2")
def test_line_numbers_go_on_where_the_last_pass_stopped(path: Path) -> None:
    data = three_prompts().data()
    bad = data + b"not json\n"
    whole = data.rstrip(b"\n")
    for cut in (len(data), len(whole), len(data) - 20):
        _, warnings, _ = grown(ClaudeCode(), path, bad, [cut])
        assert [warning.line for warning in warnings] == [4]


# --- lines that are not one object ----------------------------------------------------------------------


def test_objects_glued_on_one_line_are_all_read(path: Path) -> None:
    file = three_prompts()
    path.write_bytes(b"".join(file.lines) + b"\n")
    assert said(path) == ["prompt 0", "prompt 1", "prompt 2"]
    assert read_claude(path).warnings == []


def test_an_object_glued_to_a_torn_one_is_read_and_the_torn_one_is_a_warning(path: Path) -> None:
    file = three_prompts()
    path.write_bytes(file.lines[0] + file.lines[1][:50] + b"\n" + file.lines[2] + b"\n")
    reading = read_claude(path)
    assert [turn.text for turn in reading.of(UserTurn)] == ["prompt 0", "prompt 2"]
    assert [(warning.line, warning.code) for warning in reading.warnings] == [(1, "bad-line")]


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n \r\n\t\n", b"\x00\x00\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("importer", [ClaudeCode(), Codex()], ids=lambda importer: importer.agent)
def test_a_file_of_nothing_gives_nothing(path: Path, data: bytes, importer: Importer) -> None:
    path.write_bytes(data)
    done = read(importer, path)
    assert (done.events, done.warnings) == ([], [])


@pytest.mark.parametrize("line", [b"[1,2]", b'"text"', b"5", b"null", b"true"])
def test_a_value_that_is_no_object_is_one_warning(path: Path, line: bytes) -> None:
    lines = three_prompts().lines
    path.write_bytes(b"\n".join([lines[0], line, lines[1]]) + b"\n")
    reading = read_claude(path)
    assert [turn.text for turn in reading.of(UserTurn)] == ["prompt 0", "prompt 1"]
    assert [(warning.line, warning.path) for warning in reading.warnings] == [(2, str(path))]


# --- encodings ------------------------------------------------------------------------------------------


def test_a_byte_order_mark_is_no_part_of_the_first_line(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + three_prompts().data())
    assert len(said(path)) == 3
    assert read_claude(path).warnings == []


def test_lines_that_end_as_on_windows_are_read(path: Path) -> None:
    path.write_bytes(three_prompts().data().replace(b"\n", b"\r\n"))
    assert len(said(path)) == 3
    assert read_claude(path).warnings == []


def test_a_bad_byte_in_a_prompt_costs_that_character_only(path: Path) -> None:
    path.write_bytes(three_prompts().data().replace(b"prompt 1", b"prompt \xff1"))
    assert said(path) == ["prompt 0", "prompt \ufffd1", "prompt 2"]


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\ud83d", b"\x00", b"\\u0000"])
def test_bad_characters_in_what_a_tool_takes_and_gives_cost_no_more_than_themselves(
    path: Path, bad: bytes
) -> None:
    file = ClaudeFile()
    file.user(0, "go")
    file.run(1, "echo HERE", "HERE is it", exit_code=3)
    file.assistant(5, "Done.")
    path.write_bytes(file.data().replace(b"HERE", b"HE" + bad + b"RE"))
    reading = read_claude(path)
    (call,) = reading.of(ToolCall)
    (result,) = reading.of(ToolResult)
    assert call.target.startswith("echo HE") or reading.warnings
    assert result.exit_code == 3 or reading.warnings
    assert len(reading.of(AgentTurn)) == 1


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\ud83d"])
def test_bad_characters_anywhere_in_a_rollout_stop_nothing(path: Path, bad: bytes) -> None:
    file = CodexFile()
    file.ask(0, "say HERE")
    file.run(1, "echo HERE", "HERE it is", exit_code=3)
    call = file.custom(3, "apply_patch", "*** Begin Patch\n*** Add File: HERE.py\n+a\n*** End Patch")
    file.output(4, call, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nHERE", custom=True)
    file.agent(5, "HERE you are.")
    path.write_bytes(file.data().replace(b"HERE", b"HE" + bad + b"RE"))
    reading = read_codex(path)
    assert reading.warnings == []
    assert len(reading.of(UserTurn)) == 1
    assert [call.target.startswith(("echo HE", "HE")) for call in reading.of(ToolCall)] == [True, True]
    assert [result.exit_code for result in reading.of(ToolResult)] == [3, 0]


def test_half_a_surrogate_pair_becomes_a_mark(path: Path) -> None:
    path.write_bytes(three_prompts().data().replace(b"prompt 1", b"prompt \\ud83d"))
    texts = said(path)
    assert len(texts) == 3
    assert "".join(texts).encode("utf-8")


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_only_newlines_end_lines(path: Path, mark: str) -> None:
    file = ClaudeFile()
    file.add(
        json.dumps(
            {
                "type": "user",
                "uuid": "u",
                "sessionId": "s",
                "timestamp": stamp(0),
                "message": {"role": "user", "content": f"one{mark}two"},
            },
            ensure_ascii=False,
        ).encode()
    )
    file.save(path)
    assert said(path) == [f"one{mark}two"]


# --- too much -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"type":"user","message":{"content":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}}",
        b"[" * 100_000,
    ],
    ids=["array", "within a message", "never closed"],
)
def test_json_nested_without_end_is_one_warning(path: Path, line: bytes) -> None:
    lines = three_prompts().lines
    path.write_bytes(b"\n".join([lines[0], line, lines[1]]) + b"\n")
    reading = read_claude(path)
    assert [turn.text for turn in reading.of(UserTurn)] == ["prompt 0", "prompt 1"]
    assert [(warning.line, warning.code) for warning in reading.warnings] == [(2, "bad-line")]


@pytest.mark.parametrize("name", ["input_tokens", "output_tokens"])
def test_a_number_of_five_thousand_digits_is_one_warning(path: Path, name: str) -> None:
    file = three_prompts()
    file.assistant(5, "Done.")
    file.user(6, "last")
    data = file.data().replace(f'"{name}":'.encode(), f'"{name}":{"1" * 5000}'.encode())
    path.write_bytes(data)
    reading = read_claude(path)
    assert len(reading.of(UserTurn)) == 4
    assert [warning.line for warning in reading.warnings] == [4]


def test_a_giant_number_in_what_a_tool_takes_stops_nothing(path: Path) -> None:
    file = ClaudeFile()
    file.call(0, "Bash", {"command": "ls", "timeout": 987654321})
    path.write_bytes(file.data().replace(b"987654321", b"9" * 5000))
    assert len(read_claude(path).of(ToolCall)) == 1


@pytest.mark.promise("C2")
def test_a_line_longer_than_the_limit_is_one_warning_and_the_rest_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 2_000)
    file = ClaudeFile()
    file.user(0, "first")
    file.user(1, "x" * 50_000)
    file.user(2, "last")
    reading = read_claude(file.save(path))
    assert [turn.text for turn in reading.of(UserTurn)] == ["first", "last"]
    assert [(warning.line, warning.code) for warning in reading.warnings] == [(2, "line-too-long")]
    digest, warnings, position = grown(ClaudeCode(), path, file.data(), range(1_000, len(file.data()), 9_000))
    assert [(warning.line, warning.code) for warning in warnings] == [(2, "line-too-long")]
    assert position == len(file.data())
    assert len(digest.turns) == 2


def test_a_line_of_exactly_the_limit_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = three_prompts()
    monkeypatch.setattr(jsonl, "LONGEST_LINE", max(map(len, file.lines)) + 1)
    file.save(path)
    assert len(said(path)) == 3


# --- wrong types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"message": "x"},
        {"timestamp": 5},
        {"message": {"role": "assistant", "content": [], "usage": []}},
        {"message": {"role": "assistant", "content": 7}},
        {"sessionId": ["s"]},
        {"isMeta": "yes"},
        {"cwd": {"path": "/x"}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_known_field_of_a_wrong_type_is_one_warning(path: Path, wrong: dict[str, object]) -> None:
    file = ClaudeFile()
    file.user(0, "first")
    file.line(1, "assistant", message={"role": "assistant", "content": []})
    file.lines[-1] = json.dumps({**json.loads(file.lines[-1]), **wrong}).encode()
    file.user(2, "last")
    reading = read_claude(file.save(path))
    assert [turn.text for turn in reading.of(UserTurn)] == ["first", "last"]
    assert [(warning.line, warning.code) for warning in reading.warnings] == [(2, "bad-line")]
    assert "unexpected shape" in reading.warnings[0].message


@pytest.mark.parametrize(
    "wrong",
    [{"payload": "x"}, {"timestamp": 5}, {"payload": {"type": "token_count", "info": []}}, {"type": 3}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_wrong_type_in_a_rollout_is_one_warning(path: Path, wrong: dict[str, object]) -> None:
    file = CodexFile()
    file.ask(0, "first")
    file.event(1, "token_count", info=None)
    file.lines[-1] = json.dumps({**json.loads(file.lines[-1]), **wrong}).encode()
    file.ask(2, "last")
    reading = read_codex(file.save(path))
    assert [turn.text for turn in reading.of(UserTurn)] == ["first", "last"]
    assert [warning.line for warning in reading.warnings] == [6]


@pytest.mark.parametrize(
    "input",
    [None, 7, "text", [], {"command": 7}, {"command": None}, {"file_path": ["a"]}, {"todos": {"a": 1}}],
)
@pytest.mark.parametrize("tool", ["Bash", "Edit", "TodoWrite", "TaskUpdate", "TaskCreate"])
def test_a_tool_that_was_given_nonsense_is_still_a_call(path: Path, tool: str, input: object) -> None:
    file = ClaudeFile()
    call = file.call(0, tool, input)  # type: ignore[arg-type]
    file.result(1, call, {"odd": True})
    reading = read_claude(file.save(path))
    assert [call.tool for call in reading.of(ToolCall)] == [tool]
    assert reading.warnings == []


def test_nulls_in_every_known_field_are_nothing_said(path: Path) -> None:
    names = ["uuid", "sessionId", "timestamp", "cwd", "message", "isMeta", "origin", "attachment", "version"]
    lines = Lines()
    for kind in ("user", "assistant", "system", "attachment", "progress", None):
        lines.add({"type": kind, **dict.fromkeys(names)})
    reading = read_claude(lines.save(path))
    assert (reading.events, reading.warnings) == ([], [])


def test_a_file_that_is_gone_says_what_to_do(path: Path) -> None:
    with pytest.raises(TranscriptError, match="cannot be read"):
        read_claude(path)


# --- growing files --------------------------------------------------------------------------------------


def a_busy_claude_file() -> ClaudeFile:
    file = ClaudeFile()
    file.summary("An older session")
    file.user(0, "fix the bäsket ✓")
    file.progress(3)
    file.call(5, "TaskCreate", {"subject": "Write it", "description": "…"})
    file.edit(10, f"{CWD}/src/a.py")
    file.run(20, "pytest -q 2>&1 | tail -3", "1 failed, 2 passed in 0.1s")
    file.reject(400, file.call(30, "Edit", {"file_path": f"{CWD}/b.py"}), said="use decimals")
    file.run(410, "pytest -q", "3 passed in 0.1s")
    todos = [{"content": "Write it", "status": "completed"}, {"content": "Ship it", "status": "pending"}]
    file.call(415, "TodoWrite", {"todos": todos})
    file.compact(420, "So far, so good.")
    file.attachment(430, {"type": "queued_command", "prompt": "and a till"})
    file.run(440, "git commit -m 'add a till'", "[main 1a2b3c4] add a till")
    file.api_error(450, "API Error: 500")
    file.interrupt(460)
    return file


def a_busy_codex_file() -> CodexFile:
    parent = CodexFile()
    parent.ask(1, "add a basket")
    parent.tokens(2, 1000, 400, 50)
    file = CodexFile(at=1000, forked_from_id=parent.session)
    file.replay(1000.001, parent)
    file.ask(1001, "now a tïll ✓")
    file.call(1002, "update_plan", {"plan": [{"step": "Write it", "status": "in_progress"}]})
    file.patch(1003, "src/a.py", "src/b.py")
    call = file.call(1005, "exec_command", {"cmd": "pytest -q"})
    file.output(1015, call, still_running_once())
    poll = file.call(1016, "write_stdin", {"session_id": 4711, "chars": ""})
    file.output(1020, poll, "Chunk ID: 1\nProcess exited with code 0\nOutput:\n3 passed in 9s")
    file.tokens(1021, 2000, 900, 80)
    file.again()
    file.no_tokens(1022)
    file.agent(1023, "Done.")
    file.ask(2000, "push")
    file.run(2001, "git push", "rejected", exit_code=1)
    file.tokens(2002, 2500, 1200, 90)
    file.abort(2003)
    return file


def still_running_once() -> str:
    return "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 4711\nOutput:\ncollecting"


MAKERS: list[tuple[Importer, Callable[[], Lines]]] = [
    (ClaudeCode(), a_busy_claude_file),
    (Codex(), a_busy_codex_file),
]


@pytest.mark.promise("C2")
@pytest.mark.parametrize(("importer", "make"), MAKERS, ids=["claude-code", "codex"])
def test_a_file_read_while_it_grows_gives_what_it_gives_at_once(
    importer: Importer, make: Callable[[], Lines], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = make().data()
    path = tmp_path_factory.mktemp("growing") / "transcript.jsonl"
    path.write_bytes(data)
    whole = plain(digest_of(read(importer, path).events, importer.agent))

    @given(st.lists(st.integers(0, len(data)), min_size=1, max_size=6))
    @settings(max_examples=120, deadline=None)
    def grows(cuts: list[int]) -> None:
        digest, warnings, position = grown(importer, path, data, cuts)
        assert plain(digest) == whole
        assert warnings == []
        assert position == len(data)

    grows()


@pytest.mark.promise("C2")
@pytest.mark.parametrize(("importer", "make"), MAKERS, ids=["claude-code", "codex"])
def test_cleaning_between_the_passes_changes_no_figure(
    importer: Importer, make: Callable[[], Lines], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = make().data()
    path = tmp_path_factory.mktemp("growing") / "transcript.jsonl"
    whole, _, _ = grown(importer, path, data, [], seal=str)

    @given(st.lists(st.integers(0, len(data)), min_size=1, max_size=4))
    @settings(max_examples=60, deadline=None)
    def grows(cuts: list[int]) -> None:
        digest, _, _ = grown(importer, path, data, cuts, seal=str)
        assert plain(digest) == plain(whole)

    grows()


@pytest.mark.promise("C2")
@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=3))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_without_an_error_however_they_arrive(data: bytes, cuts: list[int]) -> None:
    with TemporaryDirectory() as folder:
        for importer in (ClaudeCode(), Codex()):
            grown(importer, Path(folder) / "x", data, [min(cut, len(data)) for cut in cuts])


# --- small parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-02T09:00:00Z", START),
        ("2026-03-02T10:00:00+01:00", START),
        ("2026-03-02T09:00:00", START),
        (START, START),
        (START * 1000, START),
        (int(START), START),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("", None),
        (True, None),
        (-5, None),
        (0, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (None, None),
        ([], None),
    ],
    ids=lambda value: str(value)[:25],
)
def test_a_time_is_read_in_every_spelling_that_agents_use(value: object, expected: float | None) -> None:
    assert seconds(value) == expected


def test_a_part_that_is_nested_too_deeply_has_no_value() -> None:
    for deep in (b"[" * 700 + b"]" * 700, b'{"a":' * 700 + b"1" + b"}" * 700):
        assert decoded(ANYTHING, Raw(deep), "nothing") == "nothing"
    assert decoded(ANYTHING, Raw(b"[[1]]"), "nothing") == [[1]]


def test_depth_is_measured_outside_of_strings() -> None:
    assert too_deep(b"[" * 500)
    assert not too_deep(json.dumps("[" * 500).encode())
    assert not too_deep(json.dumps("\\" + '"[{' * 500).encode())
    assert not too_deep(b"[]" * 500)


def deep_byte_by_byte(raw: bytes) -> bool:
    depth = deepest = 0
    in_string = escaped = False
    for byte in raw:
        if in_string:
            if escaped or byte == 0x5C:
                escaped = not escaped
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest > DEEPEST


PIECES = [b"[", b"{", b"]", b"}", b'"', b"\\", b"a", b"[" * 390, b"{" * 420, b"]" * 30, b'"\\"', b"[]" * 200]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_depth_is_what_one_counts_byte_by_byte(raw: bytes) -> None:
    assert too_deep(raw) == deep_byte_by_byte(raw)


@pytest.mark.parametrize("depth", [1, 399, 400, 401, 402, 600])
def test_what_was_parsed_is_as_deep_as_its_bytes(depth: int) -> None:
    for raw in (b"[" * depth + b"]" * depth, b'{"a":[1,' * (depth // 2) + b"[]" + b"]}" * (depth // 2)):
        assert nested_too_deeply(json.loads(raw)) == too_deep(raw)
    assert not nested_too_deeply("text")


def test_a_short_text_is_left_whole() -> None:
    assert excerpt("abc", 10) == "abc"
    assert excerpt("a" * 10 + "b" * 10, 10) == "aaaaa\n[…]\nbbbbb"


@given(st.text(st.characters(exclude_categories=[]), max_size=50))
def test_every_cleaned_string_can_be_written(text: str) -> None:
    cleaned = clean_strings({text: [text]})
    json.dumps(cleaned, ensure_ascii=False).encode("utf-8")


def test_progress_alone_is_time(path: Path) -> None:
    file = ClaudeFile()
    file.progress(9)
    assert read_claude(file.save(path)).events == [Tick(START + 9)]
