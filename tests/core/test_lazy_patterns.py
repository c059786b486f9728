"""A pattern that is compiled on first use, or read from a file of programs, behaves like one that `re` compiled."""

from __future__ import annotations

import ast
import importlib
import marshal
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core import patterns
from holdfast.core.patterns import lazy_regex


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = lazy_regex("(")
    with pytest.raises(re.error):
        broken.search("anything")


def test_it_answers_as_the_compiled_pattern_does() -> None:
    source, flags, text = r"(?P<word>b+)(\d)?", re.IGNORECASE, "a bb1 BB c"
    ours, theirs = lazy_regex(source, flags), re.compile(source, flags)
    for _ in range(2):  # before it was compiled, and after
        assert [match.span() for match in ours.finditer(text)] == [m.span() for m in theirs.finditer(text)]
        assert ours.findall(text) == theirs.findall(text)
        assert ours.sub("x", text) == theirs.sub("x", text)
        assert ours.split(text) == theirs.split(text)
        assert ours.groupindex == theirs.groupindex
        assert ours.match(text) is None
        assert ours.fullmatch("bb") is not None
    assert ours.pattern == source


def test_what_no_pattern_has_it_has_not_either() -> None:
    assert not hasattr(lazy_regex("a"), "nothing_of_the_kind")


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Path]:
    """A file for compiled programs, in use by this process until the test ends."""
    path = tmp_path / "regex.cache"
    patterns.load_programs(str(path))
    yield path
    patterns.load_programs("")


def sources() -> list[tuple[str | bytes, int]]:
    """Every lazy pattern at the top of a module of ours."""
    found = {}
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if "minilm" not in module.name and "__main__" not in module.name and "entry" not in module.name:
            values = vars(importlib.import_module(module.name)).values()
            found |= {(value.pattern, int(value.flags)): None for value in values if type(value) is LAZY}
    return list(found)


LAZY = type(lazy_regex("a"))
EVERY = sources()


def test_a_program_from_the_file_is_the_one_that_re_compiles(programs: Path) -> None:
    """Equality of compiled patterns compares their code."""
    assert len(EVERY) > 200
    for source, flags in EVERY:
        patterns._programs.compile(source, flags)
    patterns.save_programs()
    patterns.load_programs(str(programs))
    assert len(patterns._programs._read()) >= len(EVERY)
    for source, flags in EVERY:
        assert patterns._programs.compile(source, flags) == re.compile(source, flags)


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", marshal.dumps(("another interpreter", {})), marshal.dumps(7)]
)
def test_a_file_that_cannot_be_used_only_costs_time(programs: Path, damage: bytes) -> None:
    programs.write_bytes(damage)
    patterns.load_programs(str(programs))
    assert lazy_regex("b+").search("abbc")


def test_the_file_holds_no_source(programs: Path) -> None:
    assert lazy_regex("a secret (?:handshake)").search("a secret handshake")
    patterns.save_programs()
    assert b"secret" not in programs.read_bytes()


def test_a_damaged_program_is_compiled_again(programs: Path) -> None:
    damaged, no_program = (32, b"\xff" * 40, 0, {}, (None,)), ("not", "a program")
    known = {patterns._key("b+", 0): damaged, patterns._key("c", 0): no_program}
    programs.write_bytes(marshal.dumps((patterns._stamp(), known)))
    patterns.load_programs(str(programs))
    assert lazy_regex("b+").findall("abbcb") == ["bb", "b"]
    assert lazy_regex("c").search("abc")


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "a_file").touch()
    patterns.load_programs(str(tmp_path / "a_file" / "regex"))
    try:
        assert lazy_regex("b+").search("abbc")
        patterns.save_programs()
    finally:
        patterns.load_programs("")


# They build tables of constants while their modules are imported.
TABLE_MAKERS = {"manifests.py:_quoted_after", "tools.py:_tool"}


def test_lazy_patterns_are_constants_so_no_text_of_a_user_is_written() -> None:
    """A call inside a function could be given anything."""
    inside = set()
    for path in Path(holdfast.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, (ast.FunctionDef, ast.Lambda)):
                calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
                if "lazy_regex" in calls:
                    inside.add(f"{path.name}:{getattr(function, 'name', 'lambda')}")
    assert inside == TABLE_MAKERS
