"""Finds tokens of a known shape, without any context: at the beginning of a word, or glued to one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from holdfast.core.patterns import constant_regex, lazy_regex
from holdfast.guard.not_secret import SecretSpan, is_common_word, is_hash_or_uuid, is_placeholder, is_wordlike
from holdfast.guard.token_shapes import SHAPES

_SHORT = 4_000  # characters; up to here two hundred searches for a literal take less than compiling the sweep
_first_few = iter(range(24))  # short texts; with more of them compiling the sweep saves time

_LONGEST_BEFORE = 120


class _Matcher(NamedTuple):
    """Sources and not patterns: there are two hundred, and a text seldom needs one of them."""

    kind: str
    source: str
    before: str
    wordy: bool


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)


@cache
def _matchers() -> tuple[dict[str, list[_Matcher]], dict[str, list[_Matcher]]]:
    """Matchers by anchor: those that begin a word (found in one sweep), and those that do not."""
    leading: dict[str, list[_Matcher]] = {}
    inner: dict[str, list[_Matcher]] = {}
    for shape in SHAPES:
        # A `before` that names its own boundary may be glued to what comes ahead of it.
        boundary = "" if shape.before.startswith("(?<!") else "(?<![A-Za-z0-9+/_])"
        before = rf"{boundary}{shape.before}\Z" if shape.before else ""
        for anchor in shape.anchors.split():
            source = re.escape(anchor) + shape.body
            table = leading if anchor[0].isalnum() and not before else inner
            table.setdefault(anchor, []).append(_Matcher(shape.kind, source, before, shape.wordy))
    return _by_shortest_anchor(leading), inner


def _by_shortest_anchor(matchers: dict[str, list[_Matcher]]) -> dict[str, list[_Matcher]]:
    """The sweep reports the shortest anchor at a place; under it stand the longer ones too, longest first."""
    under: dict[str, list[str]] = {}
    root = ""
    for anchor in sorted(matchers):  # an anchor stands right before those that begin with it
        if not root or not anchor.startswith(root):
            root = anchor
        under.setdefault(root, []).append(anchor)
    return {
        root: [matcher for anchor in sorted(anchors, key=len, reverse=True) for matcher in matchers[anchor]]
        for root, anchors in under.items()
    }


@cache
def _sweep() -> re.Pattern[str]:
    """All word-leading anchors as one prefix tree: far cheaper than trying two hundred literals in turn."""
    tree: dict[str, Any] = {}
    for anchor in _matchers()[0]:
        node = tree
        for char in anchor:
            node = node.setdefault(char, {})
    # A token is not the middle of a longer word: base64 of a picture holds every short anchor somewhere.
    # Which letters begin one is asked first, which spares most places the way through the tree.
    first = "".join(sorted(tree))
    return constant_regex(rf"(?<![A-Za-z0-9])(?=[{first}]){_tree_pattern(tree)}")


def _tree_pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(char) + _tree_pattern(child) for char, child in sorted(node.items())]
    if not branches:
        return ""
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _anchors_in(text: str, leading: dict[str, list[_Matcher]]) -> Iterator[re.Match[str]]:
    """Where anchors begin a word. Of a few short texts that hold no anchor at all, none needs a pattern."""
    if len(text) > _SHORT or next(_first_few, None) is None:
        return _sweep().finditer(text)
    present = [anchor for anchor in leading if anchor in text]
    if not present:
        return iter(())
    # No anchor is the beginning of another, so their order says nothing.
    return _compiled(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, present))})").finditer(text)


def find_tokens(text: str) -> Iterator[SecretSpan]:
    """Every token of a known shape, placeholders left out."""
    leading, inner = _matchers()
    done = 0
    for hit in _anchors_in(text, leading):
        if hit.start() < done:
            continue
        for matcher in leading[hit[0]]:
            finding = _match_at(text, hit.start(), matcher)
            if finding:
                yield finding
                done = finding.end
                break
    for anchor, matchers in inner.items():
        if anchor not in text:
            continue
        for matcher in matchers:
            for match in _compiled(matcher.source).finditer(text):
                finding = _match_at(text, match.start(), matcher)
                if finding:
                    yield finding


# Glued to a word or letter, only an anchor of some length, before a body that no word or id has, is a token.
_LONG_RUN = lazy_regex(r"[A-Za-z0-9_-](?<![A-Za-z0-9_-].)[A-Za-z0-9_-]{19,}+")
# Alone these would be too short; what follows them is of one length, or of a great one.
_STRICT_ANCHORS = frozenset(
    {"AKIA", "ASIA", "AIza", "xox", "eyJ", "dapi", "EAAA", "ATATT3", "ATCTT3", "pat", "SK", "LTAI"}
)
_LONGEST_GLUED = 24
_LONGEST_ANCHOR = 16


@cache
def _glued_anchors() -> re.Pattern[str]:
    leading = _matchers()[0]
    glued = [root for root in leading if (len(root) > 2 and not root.isalnum()) or root in _STRICT_ANCHORS]
    tree: dict[str, Any] = {}
    for anchor in glued:
        node = tree
        for char in anchor:
            node = node.setdefault(char, {})
    return constant_regex(f"(?<=[A-Za-z0-9]){_tree_pattern(tree)}")


def find_glued_tokens(text: str) -> Iterator[SecretSpan]:
    """Every token right after a letter or digit: `tokenghp_…`. The sweep takes only those that begin a word."""
    leading = _matchers()[0]
    for run in _LONG_RUN.finditer(text):
        low = max(0, run.start() - _LONGEST_ANCHOR)
        for hit in _glued_anchors().finditer(
            text, low, min(run.end(), run.start() + _LONGEST_GLUED + _LONGEST_ANCHOR)
        ):
            ahead = _WORD_BEFORE.match(text[max(0, hit.start() - _LONGEST_GLUED - 1) : hit.start()][::-1])
            glue = ahead[0][::-1] if ahead else ""
            if len(glue) > _LONGEST_GLUED or (len(glue) > 3 and not is_wordlike(glue)):
                continue
            findings = (_match_at(text, hit.start(), matcher) for matcher in leading[hit[0]])
            if (found := next(filter(None, findings), None)) and _is_random(
                text[hit.end() : found.end], hit[0]
            ):
                yield found
                break


_WORD_BEFORE = lazy_regex(r"[A-Za-z0-9]{1,30}")


def _is_random(body: str, anchor: str) -> bool:
    if anchor in _STRICT_ANCHORS:
        return True
    if sum(map(str.isdigit, body)) < 2 or not any(map(str.isalpha, body)):
        return False
    # `task-` and a hash is an id.
    return (len(anchor) > 3 and not is_common_word(anchor.strip("-_"))) or not is_hash_or_uuid(body)


def _match_at(text: str, position: int, matcher: _Matcher) -> SecretSpan | None:
    match = _compiled(matcher.source).match(text, position)
    if not match:
        return None
    start = position
    if matcher.before:
        ahead = _compiled(matcher.before).search(text[max(0, position - _LONGEST_BEFORE) : position])
        if not ahead:
            return None
        start = position - len(ahead[0])
    body = text[start : match.end()]
    if is_placeholder(body) or (not matcher.wordy and is_wordlike(body)):
        return None
    return SecretSpan(matcher.kind, start, match.end())
