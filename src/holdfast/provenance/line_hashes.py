"""Lines as numbers: what an edit wrote is stored as hashes, never as text.

White space does not count, so that another indentation or a formatter leaves a line the same. A fragment, which an edit
put into the middle of a line, is found again by its tokens.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence

from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex

SHORTEST_FRAGMENT = 12  # characters without white space; a shorter one stands in too many lines
FEWEST_TOKENS = 3
MOST_TOKENS = 120
SHORTEST_TELLING = 10  # characters without white space; a shorter line says nothing by itself
_TOKEN = lazy_regex(r"\w+|[^\w\s]")
_TELLING = lazy_regex(r"\w{3}")
# Lines that stand in every file of their language.
_COMMON = frozenset(
    "".join(line.split())
    for line in """
    } else {
    return nil
    return nil, err
    return err
    return err == nil
    if err != nil {
    return false
    return true
    return None
    return null;
    return result
    return result;
    break;
    continue;
    import React from 'react';
    from __future__ import annotations
    t.Parallel()
    t.Helper()
    'use client';
    'use strict';
    'use client'
    set -euo pipefail
    #!/usr/bin/env bash
    #!/bin/bash
    #!/usr/bin/env python3
    defer cancel()
    ctx := context.Background()
    <!DOCTYPE html>
    </div>
    </span>
    </button>
    useEffect(() => {
    try {
    finally {
    } catch (error) {
    } catch (e) {
    } catch (err) {
    } finally {
    beforeEach(() => {
    afterEach(() => {
    package main
    package cli
    """.splitlines()
)


def squeezed(line: str) -> str:
    """A line without its white space."""
    return "".join(line.split())


def hash_of(text: str) -> int:
    """The hash of a squeezed line, for SQLite and `array` alike: 64 bits with a sign."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def is_telling(squeezed_line: str) -> bool:
    """Whether a line is evidence by itself. Braces, blank lines and idioms of a language are not."""
    return (
        len(squeezed_line) >= SHORTEST_TELLING
        and squeezed_line not in _COMMON
        and _TELLING.search(squeezed_line) is not None
    )


def packed(numbers: Iterable[int]) -> bytes:
    return array("q", numbers).tobytes()


def unpacked(data: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(data[: len(data) // 8 * 8])
    return numbers


def fragment_hash(text: str) -> tuple[int, int] | None:
    """The number of tokens of a fragment, and their hash; None for one that says too little."""
    tokens = _TOKEN.findall(text)
    joined = "".join(tokens)
    if not FEWEST_TOKENS <= len(tokens) <= MOST_TOKENS or len(joined) < SHORTEST_FRAGMENT:
        return None
    return (len(tokens), hash_of(joined)) if _TELLING.search(joined) else None


def fragments_in(line: str, lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The number of tokens and the hash of each part of a line that is as long as one of these."""
    tokens: list[str] = re.findall(r"\w+|[^\w\s]", line)
    for length in lengths:
        for start in range(len(tokens) - length + 1):
            yield length, hash_of("".join(tokens[start : start + length]))
