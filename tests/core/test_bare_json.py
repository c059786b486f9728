"""The hooks' own way to the standard library's JSON reads and writes what `json` does, and says the same of faults."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import bare_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)


def outcome(function: Callable[..., object], *given: object, **options: object) -> str:
    """What comes of it, faults included: `repr`, for not-a-number is not itself."""
    try:
        return repr(function(*given, **options))
    except (ValueError, TypeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@given(VALUES, st.booleans())
def test_any_value_is_written_and_read_as_json_does(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert bare_json.dumps(value, ensure_ascii=ascii_only) == text
    assert repr(bare_json.loads(text)) == repr(json.loads(text))
    data = text.encode("utf-8", "surrogatepass")
    assert repr(bare_json.loads(data)) == repr(json.loads(data))


@given(st.text(alphabet='{}[]",:1.e-x \\u00é\n\x00', max_size=12) | st.text(max_size=12))
def test_any_text_is_read_or_refused_as_json_does(text: str) -> None:
    assert outcome(bare_json.loads, text) == outcome(json.loads, text)
    data = text.encode("utf-8", "surrogatepass")
    assert outcome(bare_json.loads, data) == outcome(json.loads, data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a": 1} and more',
        b' {"a": 1}',
        b'{"a": "\xff"}',
        b'\xef\xbb\xbf{"a": 1}',
        '{"a": 1}'.encode("utf-16"),
        '{"a": 1}'.encode("utf-16-le"),
        '{"a": 1}'.encode("utf-32-be"),
        b'{"a": NaN, "b": -Infinity}',
        b'{"a": 1, "a": 2}',
        b'{"a": "\n"}',
        b"[" * 200_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_whatever_a_payload_is_encoded_in_or_lacks_is_taken_as_json_takes_it(data: bytes) -> None:
    assert outcome(bare_json.loads, data) == outcome(json.loads, data)


def test_what_cannot_be_written_is_refused_in_the_words_of_json() -> None:
    circle: list[object] = []
    circle.append(circle)
    for value in (circle, object(), {b"a": 1}, {"a": {1, 2}}):
        assert outcome(bare_json.dumps, value) == outcome(json.dumps, value)


@pytest.mark.parametrize("module", ["None", "type(sys)('_json')"], ids=["absent", "without its functions"])
def test_an_interpreter_without_the_c_functions_takes_the_package(module: str) -> None:
    script = (
        f"import sys; sys.path.append(sys.argv[1]); sys.modules['_json'] = {module}\n"
        "from holdfast.core.bare_json import dumps, loads\n"
        "print(dumps(loads(b'{\"a\": [1.5, null]}')), 'json' in sys.modules)"
    )
    source = str(Path(__file__).parents[2] / "src")
    command = [sys.executable, "-I", "-S", "-c", script, source]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == '{"a": [1.5, null]} True\n'
