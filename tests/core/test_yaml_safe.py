"""YAML from strangers: strings stay strings, bombs and depths are refused with a line number."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.yaml import DEEPEST, MOST_CHARACTERS, YamlError, load


@pytest.mark.parametrize(
    "written",
    [
        "no",
        "yes",
        "on",
        "1.10",
        "0x1f",
        "012",
        "1e3",
        "2026-05-05",
        "~",
        "null",
        "true",
        ".inf",
        "1_000",
        "12:30:45",
    ],
)
def test_scalars_stay_the_strings_they_are_written_as(written: str) -> None:
    assert load(f"key: {written}") == {"key": written}


def test_front_matter_as_a_person_writes_it() -> None:
    text = (
        "\ufeffname: testing\r\n"
        "description: 'Test runner: file convention'\r\n"
        "fingerprint:   # what it depends on\r\n"
        "  - package.json#scripts.test\r\n"
        "  - tests/\r\n"
        "captured-at: 2026-05-05\r\n"
        "empty:\r\n"
        "long: >-\r\n  one\r\n  two\r\n"
        "flow: [a, {b: c}]\r\n"
    )
    assert load(text) == {
        "name": "testing",
        "description": "Test runner: file convention",
        "fingerprint": ["package.json#scripts.test", "tests/"],
        "captured-at": "2026-05-05",
        "empty": "",
        "long": "one two",
        "flow": ["a", {"b": "c"}],
    }


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "\ufeff"])
def test_an_empty_document_is_an_empty_string(text: str) -> None:
    assert load(text) == ""


def test_nothing_is_ever_constructed_from_a_tag() -> None:
    text = "a: !!python/object/apply:os.system ['echo hacked']\nb: !Ref Name\nc: !!int 3\n"
    assert load(text) == {"a": ["echo hacked"], "b": "Name", "c": "3"}


def test_anchors_and_merge_keys_are_obeyed_and_what_stands_here_wins() -> None:
    text = (
        "base: &base {image: a, port: 1}\nweb:\n  <<: *base\n  port: 2\nboth:\n  <<: [{x: 1}, {x: 2, y: 3}]\n"
    )
    assert load(text) == {
        "base": {"image": "a", "port": "1"},
        "web": {"port": "2", "image": "a"},
        "both": {"x": "1", "y": "3"},
    }


def test_a_quoted_merge_key_with_a_string_is_a_key() -> None:
    assert load("'<<': text") == {"<<": "text"}


def test_a_billion_laughs_end_early() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(YamlError, match="values"):
        load("\n".join(lines))


def test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]
    with pytest.raises(YamlError, match="deeper"):
        load("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "given twice"),
        ("a: *nobody\n", 1, "stands for nothing"),
        ("a: &x [*x]\n", 1, "stands for nothing"),
        ("? [a, b]\n: c\n", 1, "key"),
        ("x: &k name\n*k : c\n", 2, "key"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: [1, 2\nb: 3\n", 2, "expected"),
        ("a:\n\t- b\n", 2, "cannot start"),
        ("x: 1\n<<: [text]\n", 3, "merges mappings"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(YamlError, match=problem) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    assert abs(caught.value.line - line) <= 1


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "a: " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)],
    ids=["lists", "mappings", "bullets", "just too deep"],
)
def test_depth_is_refused_not_crashed_on(text: str) -> None:
    with pytest.raises(YamlError):
        load(text)


def test_as_deep_as_is_allowed_is_read() -> None:
    assert load("[" * DEEPEST + "]" * DEEPEST)


@pytest.mark.parametrize(
    "text", ["a: \x00", "a: \x07", "a: \ud800", "x" * (MOST_CHARACTERS + 1), "%YAML 9.9\n--- a"]
)
def test_forbidden_characters_and_giants_are_refused(text: str) -> None:
    with pytest.raises(YamlError):
        load(text)


def all_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and all_plain(item) for key, item in value.items())
    return all(all_plain(item) for item in value) if isinstance(value, list) else type(value) is str


@settings(deadline=None)  # a busy machine is no error
@given(st.text(alphabet=st.sampled_from("ab:-?&*<>!|[]{}#'\",%@\\ \n\t~=0") | st.characters(), max_size=60))
def test_any_text_is_read_as_plain_values_or_refused_with_a_reason(text: str) -> None:
    try:
        value = load(text)
    except YamlError as error:
        assert error.problem
    else:
        assert all_plain(value)


@settings(deadline=None)  # a busy machine is no error
@given(
    st.dictionaries(
        st.text("abcz-", min_size=1),
        st.text(
            st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])
        ),  # JSON writes others as pairs
    )
)
def test_quoted_strings_come_back(values: dict[str, str]) -> None:
    assert load(json.dumps(values)) == values
