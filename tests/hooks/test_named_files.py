"""A prompt that says only a file's name is told where that file is."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.briefing.file_pointers import write_postings
from holdfast.hooks.postings import Postings
from holdfast.hooks.ranking import rank
from holdfast.hooks.relevance import named_files, numbers_in, said_names
from holdfast.knowledge.co_change import CoChange
from holdfast.model.memory import PointerSession

FILES = (
    "cmd/shop/clean.go",
    "cmd/shop/cart/temporary.go",
    "cmd/mail/temporary.go",
    "web/index.ts",
    "a/index.ts",
    "b/index.ts",
    "docs/100%_done.md",
    "docs/1000_done.md",
    "package.json",
)


def postings(files: Sequence[str] = FILES) -> Postings:
    db = sqlite3.connect(":memory:")
    write_postings(
        db,
        [PointerSession(session="s1", at=1.0, prompts=("Sweep the cart",), edited=tuple(files))],
        CoChange(),
    )
    return Postings(db)


@pytest.mark.promise("R8")
@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("there is a typo in clean.go", ["cmd/shop/clean.go"]),
        ("why does `clean.go:37` panic?", ["cmd/shop/clean.go"]),
        ("(see cart/temporary.go), please", ["cmd/shop/cart/temporary.go"]),
        ("temporary.go leaks", ["cmd/mail/temporary.go", "cmd/shop/cart/temporary.go"]),
        ("./clean.go and mail/temporary.go.", ["cmd/shop/clean.go", "cmd/mail/temporary.go"]),
        ("index.ts is wrong", []),  # any of three
        ("look at cmd/shop/clean.go", []),  # all is said
        ("/home/ada/src/cmd/shop/clean.go:12 fails", []),
        ("unclean.go", []),
        ("an.go", []),
        ("docs: 100%_done.md", ["docs/100%_done.md"]),
        ("package.json", []),  # at the root: its name is its path
        ("version 1.2.3, e.g. this... and 3.go", []),
        ("nothing", []),
    ],
)
def test_a_name_stands_for_the_files_that_are_called_so(prompt: str, expected: list[str]) -> None:
    assert named_files(postings(), prompt, ()) == expected


def test_what_can_be_opened_as_it_is_said_needs_no_path(tmp_path: Path) -> None:
    assert named_files(postings(), "fix clean.go", [str(tmp_path)]) == ["cmd/shop/clean.go"]
    (tmp_path / "clean.go").write_text("package main\n", encoding="utf-8")
    assert named_files(postings(), "fix clean.go", [str(tmp_path)]) == []
    assert named_files(postings(), "fix clean.go", [str(tmp_path.parent), str(tmp_path)]) == []


def test_a_named_file_comes_first_whatever_else_is_known_of_the_prompt() -> None:
    for prompt in ("Sweep the cart in clean.go", "clean.go: blorp"):
        first = rank(postings(), prompt, named=["cmd/shop/clean.go"])[0]
        assert (first.path, first.why) == ("cmd/shop/clean.go", "the prompt names it")
    found = rank(postings(), "Sweep the cart in clean.go", named=["cmd/shop/clean.go"])
    assert [one.path for one in found].count("cmd/shop/clean.go") == 1
    again = rank(postings(), "clean.go", touched=["cmd/shop/clean.go"], named=["cmd/shop/clean.go"])
    assert "cmd/shop/clean.go" not in [one.path for one in again]


@given(st.text(st.characters(codec=None)))
@example("torn\ud800.go")
@example("nul\0.go")
def test_any_prompt_can_be_looked_at(prompt: str) -> None:
    assert all(name in prompt for name in said_names(prompt))
    named_files(postings(), prompt, ())


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("review #12", ["#12"]),
        ("review PR 12, then PR#13 and (#14).", ["#12", "#13", "#14"]),
        ("see https://git.example/me/shop/pull/15#note and /issues/16", ["#15"]),
        ("see https://git.example/me/other/pull/15", []),
        ("rename all 12 files, see commit #deadbee", []),
    ],
)
def test_numbers_of_changes_are_recognised_and_other_numbers_are_not(
    prompt: str, expected: list[str]
) -> None:
    assert numbers_in(prompt, "shop") == expected
