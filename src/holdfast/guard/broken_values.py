"""Finds credentials that were broken into pieces, whatever stands between the pieces.

Two pieces that both look random and lie close to each other may be one value: they are put together without what lies
between them, and the model or a known token's shape judges the whole. Only the pieces are part of the finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from holdfast.core.patterns import lazy_regex
from holdfast.guard import not_secret
from holdfast.guard.credential_model import AFTER, BEFORE, BROKEN_BAR, score_broken, spots
from holdfast.guard.not_secret import SecretSpan

Span = tuple[int, int]

_RUN = lazy_regex(r"[A-Za-z0-9_+/.~-]{1,600}+={0,2}+")
# A run between two pieces that has no digit beside a letter, or the words that a token begins with.
_OTHER = lazy_regex(r"[A-Za-z0-9_+/.~-]{6,600}+={0,2}+|[A-Za-z]{2,12}[_-](?:[a-z]{2,6}[_-])?(?![A-Za-z0-9])")
_PREFIX = lazy_regex(r"[A-Za-z][A-Za-z0-9]{1,12}[_.-](?:[A-Za-z0-9]{2,8}[_.-]){0,2}(?![A-Za-z0-9_.-])")
_MIXED = lazy_regex(r"[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z].*[a-z][A-Z]|[A-Z]{2}[a-z].*[a-z][A-Z]")
_NAMED = lazy_regex(
    r"(?i:key|token|secret|pass(?!ed|ing|es\b)|pwd|auth(?!or)|access(?!ib)|private|login|cred|bearer|cookie|seed|licen[cs]e"
    r"|\bcode:|\bpin\b|\bpat\b|\bsas\b|\botp|mfa|webhook|signing)"
)
_HINT = lazy_regex(rf"{_NAMED.pattern}|[A-Za-z]{{2}}[_-](?![A-Za-z0-9])")
# What changes from line to line and is no part of a value: dates, times, sizes, uuids, whole digests.
_COUNTED = lazy_regex(
    r"[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}|\d{4}-\d\d-\d\d[\w.-]*|[\d.]+[A-Za-z]{1,3}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_LEAD = lazy_regex(r"[A-Za-z][A-Za-z0-9]{1,11}[_.-]")
_EDGES = "./~"
_WIDEST_GAP = 110
_REACH_OF_NAME = 64
_REACH_OF_HINT = 170
_SHORTEST = 5
_LEAST_WHOLE = 16
_LEAST_LONGEST = 8
_LEAST_LETTERS = 10
_MOST_PIECES = 8
_MOST_WORDS = 12


def find_broken(text: str) -> Iterator[SecretSpan]:
    """Yield the pieces of every broken credential."""
    for chain in chains(text):
        whole = _best(text, chain)
        yield from (SecretSpan("credential", *piece) for piece in whole)


def chains(text: str) -> Iterator[list[Span]]:
    """Yield runs of neighbouring pieces that may be one credential: under a name, or behind a prefix."""
    chain: list[Span] = []
    for start, end in spots(text):
        if chain and start - chain[-1][1] > _WIDEST_GAP:
            yield from _credible(text, chain)
            chain = []
        # What no name and no prefix stands before begins nothing.
        if end - start < _SHORTEST or not (
            chain or _LEAD.match(text, start) or _HINT.search(text, max(0, start - _REACH_OF_HINT), start)
        ):
            continue
        piece = _trimmed(text, start, end)
        if piece[1] - piece[0] < _SHORTEST or not _is_random(text[piece[0] : piece[1]]):
            continue
        chain += _between(text, chain[-1][1] if chain else max(0, piece[0] - _WIDEST_GAP), piece[0])
        chain.append(piece)
    yield from _credible(text, chain)


def _credible(text: str, chain: list[Span]) -> Iterator[list[Span]]:
    for at, (start, _) in enumerate(chain):
        before = text[max(0, start - _REACH_OF_NAME) : start]
        if _LEAD.match(text, start) or _NAMED.search(before):
            found = chain[at : at + _MOST_PIECES]
            if len(found) < _MOST_PIECES:
                found += _between(text, found[-1][1], found[-1][1] + _WIDEST_GAP)[:2]
            if len(found) > 1 and max(high - low for low, high in found) >= _LEAST_LONGEST:
                yield found
            return


def _trimmed(text: str, start: int, end: int) -> Span:
    """A sign before a piece may be the mark of a diff or a list, a stop behind it the end of a sentence."""
    while start < end and (
        text[start] in _EDGES or (text[start] in "+-" and text[start - 1 : start] in {"", "\n"})
    ):
        start += 1
    while end > start and text[end - 1] in ".~":
        end -= 1
    return start, end


def _between(text: str, low: int, high: int) -> list[Span]:
    """The pieces in a gap that show no digit beside a letter: random letters, and the beginning of a token."""
    found = []
    if low and (cut := _RUN.match(text, low - 1)):
        low = max(low, cut.end())  # not the end of a run that began before
    for match in _OTHER.finditer(text, low, high):
        piece = _trimmed(text, *match.span())
        value = text[piece[0] : piece[1]]
        if len(value) >= 4 and (_PREFIX.fullmatch(value) or (len(value) >= 6 and _is_odd(value))):
            found.append(piece)
    return found


@lru_cache(maxsize=8192)
def _is_random(value: str) -> bool:
    return (
        _MIXED.search(value) is not None
        and not not_secret.is_wordlike(value)
        and not not_secret.is_placeholder(value)
        and not not_secret.is_path(value)
        and not _COUNTED.fullmatch(value)
        and not not_secret.is_id(value)
    )


@lru_cache(maxsize=8192)
def _is_odd(value: str) -> bool:
    """Whether letters are no word: the end of a value may have no digit."""
    return (
        not not_secret.is_wordlike(value)
        and (_MIXED.search(value) is not None or (value.isalpha() and len(value) >= _LEAST_LETTERS))
        and not _COUNTED.fullmatch(value)
        and not not_secret.is_id(value)
    )


def _with_followers(text: str, part: list[Span]) -> list[Span]:
    """The pieces, and those that follow behind the same gap: a value breaks into lines of one form."""
    gap = _form(text[part[-2][1] : part[-1][0]])
    while len(part) < 4 * _MOST_PIECES:
        end = part[-1][1]
        reach = text[end : end + len(gap) + 4]
        size = next((size for size in range(len(gap) + 3) if _form(reach[:size]) == gap), 0)
        following = _RUN.match(text, end + size) if size else None
        if not following or not (piece := _trimmed(text, *following.span()))[1] - piece[0] >= 3:
            break
        if piece[1] - piece[0] > max(high - low for low, high in part) + 4 or _is_plain(text, piece):
            break
        part = [*part, piece]
    return part


def _is_plain(text: str, piece: Span) -> bool:
    value = text[piece[0] : piece[1]]
    return not_secret.is_wordlike(value)


def _form(gap: str) -> str:
    return "".join("0" if sign.isdigit() else sign for sign in gap).replace("00", "0")


def _best(text: str, chain: Sequence[Span]) -> Sequence[Span]:
    """The longest part of a chain, from its beginning, that is a credential when put together."""
    from holdfast.guard.token_search import find_glued_tokens, find_tokens

    start = chain[0][0]
    before = text[max(0, start - BEFORE) : start]
    for count in sorted({len(chain), min(3, len(chain)), 2}, reverse=True):
        part = chain[:count]
        values = [text[low:high] for low, high in part]
        whole = "".join(values)
        if len(whole) < _LEAST_WHOLE:
            break
        if len(set(values)) < count:
            continue  # an id that is repeated
        after = text[part[-1][1] : part[-1][1] + AFTER]
        gaps = tuple(text[one[1] : other[0]] for one, other in pairwise(part))
        if score_broken(whole, before, after, values, gaps) >= BROKEN_BAR:
            return _with_followers(text, list(part))
        if count == len(chain):
            # A known token ends where its shape says, so the pieces that it reaches into are its own.
            for found in (*find_tokens(whole), *find_glued_tokens(whole)):
                if found.start < len(values[0]) < found.end:
                    return _reached(part, found.end)
    return ()


def _reached(chain: Sequence[Span], end: int) -> Sequence[Span]:
    length, reached = 0, []
    for low, high in chain:
        if length < end:
            reached.append((low, high))
        length += high - low
    return reached
