"""TOML edited as text: what a person wrote stays as they wrote it."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent_kit.toml_config import sections, with_table, without_table

PATH = ("mcp_servers", "holdfast")
VALUES = {"command": "/usr/bin/python3", "args": ["-m", "holdfast", "mcp"], "required": True}
TEXTS = {
    "empty": "",
    "settings": '# mine\nmodel = "gpt"  # the new one\n\n[tui]\ntheme = "dark"\n',
    "no line break at the end": '[tui]\ntheme = "dark"',
    "CRLF": 'model = "gpt"\r\n\r\n[tui]\r\ntheme = "dark"\r\n',
    "other servers": '[mcp_servers.github]\ncommand = "gh"\nargs = [\n  "a", # ]\n  [\n  ],\n]\n# the end\n',
    "a header in a string": "note = \"\"\"\n[mcp_servers.holdfast]\ncommand = 1\n\"\"\"\nb = '''\n[x]'''\n",
    "a string that ends in quotes": 'note = """say "hi"""""\n[a]\n',
    "lists of tables": "[[profiles]]\nname = 1\n[[profiles]]\nname = 2\n",
    "odd names": '[projects."/home/me/a.b [c]"]\ntrust_level = "trusted"\n["mcp_servers".other]\ncommand = "x"\n',
    "dotted": 'mcp_servers.github.command = "gh"\n',
    "only remarks": "# nothing yet\n",
}


@pytest.mark.promise("H1")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_table_comes_at_the_end_and_goes_without_a_trace(text: str) -> None:
    added = with_table(text, PATH, VALUES)
    before = tomllib.loads(text)
    assert added.startswith(text)
    servers = before.get("mcp_servers", {})
    assert tomllib.loads(added) == {**before, "mcp_servers": {**servers, "holdfast": VALUES}}
    assert added.count("\r\n") == (added.count("\n") if "\r\n" in text else 0)
    gone = without_table(added, PATH)
    assert gone == text or gone.rstrip("\r\n") == text, "a line break at the end may stay"
    assert without_table(gone, PATH) == gone


def test_what_was_written_around_it_meanwhile_stays() -> None:
    text = with_table('model = "gpt"\n', PATH, VALUES)
    text = text.replace("required = true\n", 'required = true\nenv = {\n  A = "1" }\n')
    text += '\n[mcp_servers.holdfast.tools.recall]\nok = 1\n\n# trusted\n[hooks.state."a:b"]\ntrusted_hash = "x"\n'
    gone = without_table(text, PATH)
    assert gone == 'model = "gpt"\n\n# trusted\n[hooks.state."a:b"]\ntrusted_hash = "x"\n'


def test_a_table_at_the_beginning_takes_its_blank_lines_along() -> None:
    assert without_table('[mcp_servers.holdfast]\ncommand = "x"\n\n[a]\n', PATH) == "[a]\n"


def test_others_of_a_like_name_are_others() -> None:
    text = '[mcp_servers.holdfast2]\ncommand = "x"\n\n[holdfast.mcp_servers]\n'
    assert without_table(text, PATH) == text
    assert [section.path for section in sections(text)] == [
        ("mcp_servers", "holdfast2"),
        ("holdfast", "mcp_servers"),
    ]


_WORDS = st.text("abc\"'\\#[]{}=.\n\r\t é\x7f", max_size=12)
_VALUES = st.recursive(
    st.integers(0, 9) | st.booleans() | _WORDS, lambda inner: st.lists(inner, max_size=3), max_leaves=5
)


def _written(value: Any, draw: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        apart = draw(st.sampled_from([", ", ",\n  ", ", # [x]\n"]))
        return "[" + "".join(_written(item, draw) + apart for item in value) + "]"
    if "'" not in value and not set("\n\r\x7f") & set(value) and draw(st.booleans()):
        return f"'{value}'"
    if "'" not in value and not set("\r\x7f") & set(value) and draw(st.booleans()):
        return f"'''\n{value}'''"
    escaped = "".join(f"\\u{ord(sign):04x}" if sign in '"\\\r\x7f' else sign for sign in value)
    if draw(st.booleans()):
        return f'"""\n{escaped}"""'
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


@pytest.mark.promise("H1")
@given(
    st.data(), st.lists(st.tuples(st.sampled_from(["", "t", "mcp_servers.x", '"a]b"']), _VALUES), max_size=5)
)
def test_whatever_a_file_holds_a_table_comes_and_goes(
    data: st.DataObject, parts: list[tuple[str, Any]]
) -> None:
    remark = st.sampled_from(["", "\n", "# [mcp_servers.holdfast]\n", "  \t\n"])
    text = "".join(
        f"k{number} = {_written(one, data.draw)}\n" for number, (head, one) in enumerate(parts) if not head
    )
    for number, (head, one) in enumerate(parts):
        if head:
            header = f"[{head}{number}]" if head[-1] != '"' else f"[{head}.t{number}]"
            text += f"{data.draw(remark)}{header}\n{data.draw(remark)}v = {_written(one, data.draw)}\n"
    before = tomllib.loads(text)
    added = with_table(text, PATH, VALUES)
    after = tomllib.loads(added)
    assert after["mcp_servers"].pop("holdfast") == VALUES
    assert after == {**before, "mcp_servers": before.get("mcp_servers", {})}
    more = data.draw(st.sampled_from(["", "# after\n", "\n[later]\nx = 1\n"]))
    gone = without_table(added + more, PATH)
    # At the beginning of a file the blank lines that follow go as well.
    assert gone == text + more or (not text.strip() and gone.strip() == more.strip())


@given(_WORDS.filter(bool), _WORDS)
def test_any_name_and_any_value_can_be_written(name: str, value: str) -> None:
    text = with_table("", (name, "b"), {name: value, "list": [value], "yes": False})
    assert tomllib.loads(text) == {name: {"b": {name: value, "list": [value], "yes": False}}}
