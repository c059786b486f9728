"""What is asked first to save time loses nothing: the quick way finds what the slow way finds."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.guard import secret_samples as samples

from holdfast.core import fence
from holdfast.core.fence import strip_fences
from holdfast.guard import not_secret, token_search
from holdfast.guard.not_secret import SecretSpan, strip_private
from holdfast.guard.token_search import find_tokens
from holdfast.guard.token_shapes import SHAPES

pytestmark = pytest.mark.promise("G1")

ANCHORS = sorted({anchor for shape in SHAPES for anchor in shape.anchors.split()})
BODIES = st.text(alphabet=string.ascii_letters + string.digits + "_-./$+=~:", min_size=0, max_size=70)
JOINTS = st.sampled_from(["", " ", "\n", '"', "=", "/", "x", "0", "é", "_", "-", ": "])
PIECE = st.tuples(JOINTS, st.sampled_from(ANCHORS), BODIES).map("".join)
TOKENLIKE = st.lists(PIECE | st.text(max_size=20), max_size=6).map("".join)
SAMPLES = [one.text for one in (*samples.secrets(seed=40), *samples.look_alikes(seed=41))]


def tokens_one_place_after_another(text: str) -> list[SecretSpan]:
    """Every anchor is tried at every place."""
    leading, inner = token_search._matchers()
    found: list[SecretSpan] = []
    done = 0
    for place in range(len(text)):
        before = text[place - 1] if place else ""
        if place < done or (before.isascii() and before.isalnum()):
            continue
        root = next((anchor for anchor in leading if text.startswith(anchor, place)), None)
        for matcher in leading[root] if root else ():
            if finding := token_search._match_at(text, place, matcher):
                found.append(finding)
                done = finding.end
                break
    for anchor, matchers in inner.items():
        for place in range(len(text)):
            if text.startswith(anchor, place):
                found += [at for matcher in matchers if (at := token_search._match_at(text, place, matcher))]
    return sorted(set(found))


def tokens(text: str) -> list[SecretSpan]:
    return sorted(set(find_tokens(text)))


def tokens_without_the_sweep(text: str) -> list[SecretSpan]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_search, "_first_few", iter(range(1)))
        return tokens(text)


@given(TOKENLIKE)
@settings(max_examples=300, deadline=None)
@example("xghp_" + "a1B2" * 9 + " ghp_" + "a1B2" * 9)
def test_one_sweep_finds_the_tokens_that_every_anchor_finds_by_itself(text: str) -> None:
    slow = tokens_one_place_after_another(text)
    assert tokens(text) == slow
    assert tokens_without_the_sweep(text) == slow


def test_the_same_of_secrets_and_of_what_only_looks_like_one() -> None:
    for text in SAMPLES:
        slow = tokens_one_place_after_another(text)
        assert tokens(text) == slow, text
        assert tokens_without_the_sweep(text) == slow, text


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)


def test_the_same_of_what_real_sessions_say(shared: Path) -> None:
    files = sorted((shared / "data" / "transcripts").rglob("*.jsonl"))[::12]
    looked_at = 0
    for file in files:
        for line in file.read_bytes().split(b"\n")[:40:4]:
            for text in texts_in(json.loads(line) if line.startswith(b"{") and line.endswith(b"}") else ""):
                if 4 <= len(text) <= 2_000:
                    looked_at += 1
                    assert tokens(text) == tokens_one_place_after_another(text)
    assert looked_at > 100


@given(
    st.lists(
        st.sampled_from(
            ["[holdfast a1b2c3: notes]", "[/holdfast a1b2c3]", "[holdfast ", "\n", "x", "  ", "[HOLDFAST "]
        ),
        max_size=8,
    ).map("".join)
)
def test_a_text_without_the_word_for_our_blocks_has_none(text: str) -> None:
    slow = text
    for _ in range(20):
        slow = fence._without_fences(slow)
    assert strip_fences(text) == slow


@given(
    st.lists(
        st.sampled_from(
            [
                "<private>",
                "</private>",
                "<PRIVATE>",
                "<prıvate>",
                "</prİvate>",
                "&lt;private&gt;",
                "x",
                "\n",
                "é",
            ]
        ),
        max_size=8,
    ).map("".join)
)
def test_a_text_without_the_word_for_private_parts_has_none(text: str) -> None:
    slow = text
    for _ in range(20):
        slow = not_secret._without_blocks(slow)
    assert strip_private(text) == slow
