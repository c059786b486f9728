"""YAML as we write it is read as every reader of YAML reads it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import yaml as yaml_as_written
from holdfast.core import yaml as yaml_safe
from holdfast.core.yaml import Value
from holdfast.lessons import front_matter

TEXTS = st.text(max_size=30) | st.sampled_from(
    ["no", "1.10", "2026-05-05", "2026-05-05 12:30", "a: b", "- a", "#"]
)
NAMES = st.sampled_from(["name", "kind", "captured-at", "a_1", "sources", "evidence"])
FLAT = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=3)
VALUES: st.SearchStrategy[Any] = TEXTS | st.lists(TEXTS | FLAT, min_size=1, max_size=4)
LINES = st.lists(
    st.sampled_from(
        [
            "name: a", "name:", "kind: 'b'", 'kind: "b\\"c"', 'kind: "b\\n"', "  - a", "  - name: a", "    kind: b",
            "    name: b", "  - kind: 2026-05-05 12:30", "other: a: b", "other: a # b", "# a", "", "x: [a]", "y: &a b",
            "z: *a", "<<: a", "n: a  b", "m: ~", "  -", "l: |", "  k: v", "- a", "---", "...", "j: 'a", "i: \t",
        ]
    ),
    max_size=7,
)  # fmt: skip


def read_slowly(text: str) -> Value:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml_safe._Building().document(yaml.parse(text, Loader=loader))


def in_order(value: Any) -> Any:
    """Mappings as lists of pairs, so that their order counts too."""
    if isinstance(value, dict):
        return [(key, in_order(inner)) for key, inner in value.items()]
    return [in_order(inner) for inner in value] if isinstance(value, list) else value


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
@settings(deadline=None)
def test_what_we_write_means_the_same_to_both_readers(values: dict[str, Value]) -> None:
    nothing = front_matter.parse("")
    block = front_matter.edit(nothing, values)
    assert in_order(read_slowly(block)) == in_order(values)
    quickly = yaml_as_written.read(block)
    assert quickly is None or in_order(quickly) == in_order(values)


@given(LINES)
@settings(max_examples=500, deadline=None)
def test_lines_of_any_kind_are_left_alone_or_read_as_yaml_has_them(lines: list[str]) -> None:
    text = "\n".join(lines)
    quickly = yaml_as_written.read(text)
    if quickly is not None:
        assert in_order(quickly) == in_order(read_slowly(text))


def test_a_lesson_as_we_write_it_needs_no_other_reader() -> None:
    block = (
        "name: run-one-test\n"
        'description: "one test: the command that works here"\n'
        "captured-at: 2026-02-02 06:36:23.428\n"
        "sources:\n  - 1c38adc0\n  - 0a93878f\n"
        'evidence:\n  - session: 1c38adc0\n    line: "say \\"hi\\" (3 ×)"\n'
    )
    assert yaml_as_written.read(block) == read_slowly(block)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "name:",
        "name: a\nname: b",
        "a: b\r\n",
        "a:\n\n  - b",
        "a: b\n  - c",
        "a: x" + "\ny: z" * 6000,
    ],
)
def test_anything_else_is_left_to_one(text: str) -> None:
    assert yaml_as_written.read(text) is None
