"""A change of settings by name: what a person has to read before they agree to it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.text_diff import outline

HOOK = {"hooks": [{"type": "command", "command": "x", "timeout": 5}]}


def told(before: Any, after: Any) -> list[str]:
    def written(value: Any) -> bytes | None:
        return None if value is None else json.dumps(value, indent=2).encode()

    return outline(written(before), written(after))


def test_what_comes_is_named_once_under_what_it_is_in() -> None:
    before = {"model": "opus", "hooks": {"Stop": [HOOK]}, "zeta": 1}
    after = {**before, "hooks": {"Stop": [HOOK, HOOK], "SessionStart": [HOOK]}, "mcp": {"holdfast": {"a": 1}}}
    assert told(before, after) == ["+ hooks: Stop, SessionStart", "+ mcp: holdfast"]
    assert told(after, before) == ["- hooks: Stop, SessionStart", "- mcp: holdfast"]


def test_a_file_that_comes_and_what_a_list_holds() -> None:
    assert told(None, {"version": 1, "plugin": [["file:///x.js", {"command": ["a"]}]]}) == [
        "+ version",
        "+ plugin",
    ]
    assert told({"version": 1}, None) == ["- version"]


def test_what_was_there_and_is_another_is_neither_new_nor_gone() -> None:
    before = b'{\n  "hooks": {\n    "Stop": [{"mine": 1}]\n  },\n  "plugin": ["a"]\n}\n'
    after = (
        b'{\n  "hooks": {\n    "Stop": [{"mine": 1}, {}],\n    "Start": []\n  },\n  "plugin": ["a", "b"]\n}\n'
    )
    assert outline(before, after) == ["~ hooks: Stop", "~ plugin", "+ hooks: Start"]
    assert outline(after, before) == ["- hooks: Start", "~ hooks: Stop", "~ plugin"]


def test_the_comma_after_what_was_last_is_no_change() -> None:
    assert told({"provider": {"a": {"b": 1}}}, {"provider": {"a": {"b": 1}}, "mcp": {"x": {}}}) == [
        "+ mcp: x"
    ]


def test_tables_of_toml() -> None:
    before = b'model = "x"\n\n[mcp_servers.other]\ncommand = "y"\n'
    after = (
        before
        + b'\n[mcp_servers.holdfast]\ncommand = "/bin/python"\nargs = ["-m", "holdfast"]\nrequired = true\n'
    )
    assert outline(before, after) == ["+ mcp_servers: holdfast"]
    assert outline(None, b"a = 1\n") == ["+ a"]


def test_what_has_no_names_is_counted() -> None:
    assert outline(b"one\n", b"one\ntwo\nthree\n") == ["+ 2 lines"]
    assert outline(b'{"a": 1}', b'{"a": 1, "hooks": {}}') == ["- 1 line", "+ 1 line"]
    assert outline(b"", b"") == [] and outline(None, None) == []


@given(st.binary(max_size=200) | st.none(), st.binary(max_size=200) | st.none())
def test_any_two_files_have_an_outline(before: bytes | None, after: bytes | None) -> None:
    assert all(line[:2] in ("+ ", "- ", "~ ") for line in outline(before, after))
    assert outline(before, before) == []
