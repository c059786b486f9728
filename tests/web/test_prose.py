"""Markdown of agents as markup: the common marks work, and no text becomes anything but text."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.web.prose import prose

TAGS = {"p", "ul", "li", "strong", "code", "pre", "br", "div", "table", "tr", "th", "td"}
_TAG = re.compile(r"<(/?)([a-z]+)((?: [a-z-]+=\"[^\"<>]*\")*)>")


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("One\ntwo", "<p>One<br>two</p>"),
        ("One\n\ntwo", "<p>One</p><p>two</p>"),
        ("## Title ##", '<p class="prose-head">Title</p>'),
        ("- a\n- **b**", "<ul><li>a</li><li><strong>b</strong></li></ul>"),
        ("run `a < b`", "<p>run <code>a &lt; b</code></p>"),
        ("[x](https://example.com)", "<p>[x](https://example.com)</p>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
    ],
)
def test_the_marks_that_agents_use(text: str, markup: str) -> None:
    assert prose(text) == markup


def test_a_fence_that_is_never_closed_ends_with_the_text() -> None:
    assert "<code>a\nb</code>" in prose("```py\na\nb")


def test_a_table_has_a_head_and_rows() -> None:
    shown = prose("| a | b |\n|---|:-:|\n| 1 | 2 |")
    assert "<tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>" in shown


_MARKS = st.sampled_from(
    ["`", "**", "```\n", "# ", "- ", "| ", "|", "\n", "<", ">", '"', "&", "'", "{{", "<script>", "a"]
)


@given(st.one_of(st.text(), st.lists(_MARKS, max_size=40).map("".join)))
def test_only_our_own_tags_come_out_closed_and_with_all_words(text: str) -> None:
    shown = str(prose(text))
    left = _TAG.sub("", shown)
    assert "<" not in left
    assert ">" not in left
    opened: list[str] = []
    for close, name, _ in _TAG.findall(shown):
        assert name in TAGS
        if name == "br":
            continue
        if close:
            assert opened.pop() == name
        else:
            opened.append(name)
    assert opened == []
    words = re.findall(r"[a-z]+", text)
    assert [word for word in words if word not in html.unescape(left)] == [] or "```" in text or "~~~" in text
