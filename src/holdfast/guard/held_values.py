"""Finds credentials that stand encoded and alone: `echo NDQ0M… | base64 -d  # auth token`.

What a run holds is then one word without its name, which stands beside the run: before it, or behind it in a comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.patterns import lazy_regex
from holdfast.guard import credential_model as model
from holdfast.guard import not_secret
from holdfast.guard.not_secret import SecretSpan
from holdfast.guard.secret_values import is_secret

_REACH = 90
_ALONE = lazy_regex(r"[!-~]{8,300}")
_NAMED = lazy_regex(
    r"(?i:key|token|secret|passw|passphrase|pwd|auth(?!or)|credential|login|bearer|private|seed|licen[cs]e|\bpin\b|otp)"
)
_CODE = lazy_regex(
    r"[A-Za-z_]*\.?[A-Za-z_]+\(|[<>{};]|\b(?:echo|base64|hex|xxd|printf|buffer|from|atob|decode|encode)\b"
)
_CLOSING = lazy_regex(r"[\s)'\"`.,*/>-]+\Z")


def is_held(held: str, before: str, after: str) -> bool:
    """Whether what a run holds is a credential by what stands beside the run."""
    value = held.strip()
    if not _ALONE.fullmatch(value) or not_secret.stands_for_nothing(value) or not_secret.is_wordlike(value):
        return False
    before = before[-_REACH:]
    after = after[:_REACH].partition("\n")[0]
    names = (before, _CLOSING.sub("", _CODE.sub(" ", after)) + ": ")
    if any(model.score(value, name, "") >= model.BAR for name in names):
        return True
    return any(_NAMED.search(name) for name in names) and is_secret(value, "secret", "quoted")


def find_held(pieces: Iterator[tuple[str, str, int, int]]) -> Iterator[SecretSpan]:
    """Yield the runs, of (what it holds, the text, start, end), that hold a credential and nothing else."""
    for held, text, start, end in pieces:
        if is_held(held, text[max(0, start - _REACH) : start], text[end : end + _REACH]):
            yield SecretSpan("credential", start, end)
