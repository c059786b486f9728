"""Names that must not become a path are refused, with a reason a person understands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import NameRefused
from holdfast.core.names import inside, safe_name

pytestmark = pytest.mark.promise("G4")

BAD_NAMES = {
    "climbing up": "../../.bashrc",
    "climbing up with backslashes": "..\\..\\x",
    "an absolute path": "/etc/passwd",
    "a path": "a/b",
    "git's folder": ".git",
    "an option": "-rf",
    "a device": "con",
    "a device in capitals with an ending": "NUL.txt",
    "a numbered device": "com1",
    "another numbered device": "LPT9.log",
    "three hundred characters": "a" * 300,
    "one character too many": "a" * 101,
    "a NUL": "a\x00b",
    "a line break": "a\nb",
    "a tab": "a\tb",
    "an escape": "a\x1b[31mb",
    "a C1 control": "a\x9bb",
    "two dots": "..",
    "one dot": ".",
    "three dots": "...",
    "nothing": "",
    "a blank": " ",
    "a stream": "a:stream",
    "a drive": "C:x",
    "a home": "~root",
    "a command": "$(id)",
    "a variable": "$HOME",
    "encoded dots": "%2e%2e",
    "an encoded slash": "a%2fb",
    "holdfast's own folder": "_candidates",
    "a trailing dot": "name.",
    "a trailing blank": "name ",
    "a leading blank": " name",
    "an inner blank": "two words",
    "two dots inside": "a..b",
    "a semicolon": "a;b",
    "a wildcard": "a*",
    "a question mark": "a?",
    "a quote": "a'b",
    "a back quote": "a`id`",
    "a pipe": "a|b",
    "a fullwidth dot": "\uff0e\uff0e",
    "a fullwidth letter": "\uff41bc",
    "a ligature": "\ufb01le",
    "a one-dot leader": "a\u2024b",
    "a fraction slash": "a\u2044b",
    "a division slash": "a\u2215b",
    "a Cyrillic a among Latin letters": "p\u0430ypal",
    "a Greek o among Latin letters": "passw\u03bfrd",
    "Cyrillic letters that pass for Latin ones": "\u0441\u043e\u0440\u0443",
    "a letter and its accent apart": "e\u0301t\u00e9",
    "a zero-width space": "a\u200bb",
    "a right-to-left override": "a\u202etxt",
    "a soft hyphen": "a\u00adb",
    "a tag character": "a\U000e0041",
    "an invisible Hangul letter": "a\u115f",
    "a lone surrogate": "a\ud800",
    "an emoji": "note-\U0001f600",
    "only dashes inside": "a--\x7f",
    "no letter at all": "..-",
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_a_bad_name_is_refused_with_one_line_that_shows_nothing_hidden(name: str) -> None:
    with pytest.raises(NameRefused) as refused:
        safe_name(name)
    line = refused.value.line()
    assert "refused: " in line
    assert "\n" not in line and all(char.isprintable() for char in line)


@pytest.mark.parametrize(
    "name",
    [
        "lesson-one",
        "v1.10",
        "snake_case_name",
        "a",
        "2024-plan",
        "a" * 100,
        "übung-größe",
        "café",
        "заметка",
        "σημειώσεις",
        "メモ帳-ひらがな",
        "笔记",
        "메모",
        "हिन्दी",
        "دليل",
        "console",
        "common.md",
        "a-b_c.d",
    ],
)
def test_an_honest_name_of_any_script_comes_back_unchanged(name: str) -> None:
    assert safe_name(name) == name


@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=120))
def test_any_text_is_either_returned_or_refused_and_what_is_returned_is_one_plain_file_name(
    text: str,
) -> None:
    try:
        name = safe_name(text)
    except NameRefused:
        return
    assert name == text
    assert Path(name).name == name and len(Path(name).parts) == 1
    assert not name.startswith((".", "-", "_", "~")) and not name.endswith((".", " "))


def test_a_path_inside_the_root_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert inside(tmp_path, Path("a/new.md")) == tmp_path.resolve() / "a" / "new.md"
    assert inside(tmp_path, tmp_path / "a") == tmp_path.resolve() / "a"


@pytest.mark.parametrize("candidate", ["../x", "a/../../x", "/etc/passwd"])
def test_a_path_that_climbs_out_is_refused(tmp_path: Path, candidate: str) -> None:
    with pytest.raises(NameRefused):
        inside(tmp_path, Path(candidate))


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = tmp_path / "ssh"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    with pytest.raises(NameRefused):
        inside(root, Path("link/id_rsa"))


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert inside(tmp_path, Path("link/x")) == tmp_path.resolve() / "real" / "x"


def test_a_neighbour_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with pytest.raises(NameRefused):
        inside(tmp_path / "root", tmp_path / "root-two" / "x")


def test_links_in_a_circle_and_a_nul_are_refused_not_raised_through(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for candidate in (Path("a/x"), Path("nul\x00")):
        try:
            assert inside(tmp_path, candidate).is_relative_to(tmp_path.resolve())
        except NameRefused:
            pass
