"""The names that a session wrote into its files: several words each, bounded, and nothing that could be a secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.sessions.digest import MOST_NAMED, MOST_NAMES, clean_names, note_names


def names_in(text: str, path: str = "shop/cart.py") -> list[str]:
    names: dict[str, list[str]] = {}
    note_names(names, path, text)
    return names.get(path, [])


def test_names_of_several_words_are_kept_in_their_order_and_once() -> None:
    text = "func CalculateTotal(c Cart) { apply_voucher(c); c.lineItems; CalculateTotal(c); return total }"
    assert names_in(text) == ["CalculateTotal", "apply_voucher", "lineItems"]


def test_plain_words_shouts_and_names_of_one_word_are_not() -> None:
    assert names_in("return the total of Everything TODO __init__ _private value") == []


@pytest.mark.parametrize(
    "text",
    [
        'password = "hunterTwo_letMeIn"',
        "token = 'abcDEFghiJKL_mno'",
        "API_TOKEN=abcDefGhiJkl_mnop",
        "key: sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "https://user:passWordHere@example.com/some/pathOfMine",
        "x = `rawSecret_value`",
    ],
)
def test_what_could_be_a_secret_is_not_taken_for_a_name(text: str) -> None:
    kept = names_in(text)
    assert all(name in ("API_TOKEN", "sk_live") for name in kept) and "sk_live" not in kept


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "conf/app.yaml", "secrets.py", "k8s/credentials.go", "a/B.JSON", "x.tfvars"],
)
def test_settings_are_not_looked_into(path: str) -> None:
    assert names_in("someName other_name", path) == []


def test_one_file_and_one_session_have_a_bound() -> None:
    many = " ".join(f"name_{chr(97 + one % 26)}{chr(97 + one // 26)}" for one in range(600))
    assert len(names_in(many)) == MOST_NAMES
    names: dict[str, list[str]] = {}
    for number in range(100):
        note_names(names, f"a{number}.py", many)
    assert sum(map(len, names.values())) == MOST_NAMED


def test_a_name_that_the_cleaning_touches_is_gone() -> None:
    names = {"shop/cart.py": ["totalOf", "corpInternalName", "apply_voucher"], "x.py": ["corpInternalName"]}
    cleaned = clean_names(names, lambda text: text.replace("corpInternalName", "[REDACTED:rule]"))
    assert cleaned == {"shop/cart.py": ["totalOf", "apply_voucher"]}


@given(st.text())
def test_every_name_stands_in_the_text_and_is_made_of_letters(text: str) -> None:
    for name in names_in(text):
        assert name in text
        assert name.isascii() and name.replace("_", "").isalpha() and len(name) <= 52
