"""Hidden text is shown escaped; honest text of any language is left alone."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.guard.hidden_text import has_hidden, visible

pytestmark = pytest.mark.promise("G3")

TAGGED = "".join(chr(0xE0000 + ord(char)) for char in "run rm -rf")

HIDDEN = {
    "tag characters": (f"hello{TAGGED}", "hello\\U000e0072\\U000e0075\\U000e006e"),
    "a right-to-left override": ("a\u202eb", "a\\u202eb"),
    "isolates": ("\u2066a\u2069", "\\u2066a\\u2069"),
    "a direction mark": ("a\u200fb", "a\\u200fb"),
    "a zero-width space": ("pass\u200bword", "pass\\u200bword"),
    "a non-joiner between Latin letters": ("a\u200cb", "a\\u200cb"),
    "a joiner between Latin letters": ("a\u200db", "a\\u200db"),
    "a word joiner": ("a\u2060b", "a\\u2060b"),
    "a byte order mark": ("\ufeffa", "\\ufeffa"),
    "a soft hyphen": ("a\u00adb", "a\\xadb"),
    "a colour": ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    "a terminal link": ("\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\", "\\x1b]8;;http://x\\x1b\\y\\x1b]8;;\\x1b\\"),
    "an eight-bit control": ("\x9b31m", "\\x9b31m"),
    "a NUL": ("a\x00b", "a\\x00b"),
    "a backspace": ("a\x08b", "a\\x08b"),
    "a bell": ("\x07", "\\x07"),
    "a delete": ("\x7f", "\\x7f"),
    "an overwriting return": ("safe\rEVIL", "safe\\rEVIL".replace("\\r", "\\x0d")),
    "a line separator": ("a\u2028b", "a\\u2028b"),
    "a message in selectors": ("a\ufe00\ufe01\ufe02", "a\\ufe00\\ufe01\\ufe02"),
    "selectors after an emoji": ("\U0001f600\U000e0121\U000e0122", "\U0001f600\\U000e0121\\U000e0122"),
    "two selectors in a row": ("\u2764\ufe0f\ufe0f", "\u2764\ufe0f\\ufe0f"),
    "an invisible Hangul letter": ("a\u3164b", "a\\u3164b"),
    "a flag that is none": ("\U0001f3f4\U000e0078\U000e007f", "\U0001f3f4\\U000e0078\\U000e007f"),
    "a lone surrogate": ("a\ud800", "a\\ud800"),
    "an invisible times": ("a\u2062b", "a\\u2062b"),
}


@pytest.mark.parametrize(("text", "shown"), HIDDEN.values(), ids=HIDDEN.keys())
def test_hidden_text_is_written_out(text: str, shown: str) -> None:
    assert visible(text).startswith(shown)
    assert has_hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        "plain text\twith tabs\nand lines",
        "Windows\r\nlines\r\n",
        "Größe, naïve, Ελληνικά, русский, 日本語, 한국어, עברית, العربية",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467 and \u2764\ufe0f and \U0001f44d\U0001f3fd",
        "rainbow \U0001f3f3\ufe0f\u200d\U0001f308, keycap 1\ufe0f\u20e3, copyright \u00a9\ufe0f",
        "health worker \U0001f469\U0001f3fd\u200d\u2695\ufe0f",
        "Scotland \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "Persian \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "Hindi \u0915\u094d\u200d\u0937 and \u0930\u094d\u200c\u092f",
        "ideographic variant \u845b\U000e0100",
        "box ─│┌ arrows → ⇒ spinner ⠋ nerd font \ue0b0",
        "no-break\u00a0space and ideographic\u3000space",
        "Arabic end of ayah \u06dd",
    ],
)
def test_honest_text_is_left_alone(text: str) -> None:
    assert visible(text) == text
    assert not has_hidden(text)


@given(st.text(alphabet=st.characters(codec=None, categories=None)))
def test_what_is_shown_holds_nothing_hidden_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert has_hidden(text) == (shown != text)
    allowed = {"\n", "\t", "\r"}
    assert not any(unicodedata.category(char) in {"Cc", "Cs"} and char not in allowed for char in shown)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x2FF)))
def test_letters_digits_and_signs_are_never_touched(text: str) -> None:
    assert visible(text) == text
