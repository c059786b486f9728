"""A maintained scanner as second pass where it is installed; its hits pass our own filter first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from holdfast.core.patterns import lazy_regex
from holdfast.guard import not_secret
from holdfast.guard.not_secret import Finding, is_wordlike
from holdfast.guard.redact import Scanner

_SHORTEST = 12


def load_scanner(cache_dir: str | None = None) -> Scanner | None:
    """Kingfisher in process, or None where it is missing or broken.

    Its rules take seconds to compile; `cache_dir` keeps them between runs. Without one nothing is written.
    """
    try:
        from kingfisher_sdk import Rules
        from kingfisher_sdk import Scanner as Kingfisher

        rules = Rules(cache_dir=cache_dir) if cache_dir else Rules(cache=False)
        return _Filtered(Kingfisher(rules, base64=False))
    # Native code of others: whatever it raises, redaction goes on with our own rules.
    except Exception:
        return None


class OnDemand:
    """A scanner that is loaded when the first text gives reason to: most texts hold nothing it could object to."""

    def __init__(self, load: Callable[[], Scanner | None]) -> None:
        self._loaded = cache(load)

    def scan(self, text: str) -> Iterable[Finding]:
        scanner = self._loaded() if _UNEXPLAINED.search(text) else None
        return scanner.scan(text) if scanner else ()


# A run that no word, number, hash or path makes: letters of both cases and digits, or the like, close together.
_UNEXPLAINED = lazy_regex(
    r"(?<![\w/.+-])(?=[\w+/=.~-]{0,80}\d)(?=[\w+/=.~-]{0,80}[A-Z])(?=[\w+/=.~-]{0,80}[a-z])[\w+/=~-]{16,}(?![\w/])"
    r"|(?i:secret|token|passw|api.?key|credential)[\w\"'\])]*\s*[:=]"
)


class _Filtered:
    """The scanner's hits as places in our text, without those that are known to be no secrets."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def scan(self, text: str) -> Iterable[Finding]:
        data = text.encode("utf-8", "replace")
        try:
            hits = self._native.scan(data)
            spans = sorted(
                {(h.location["start_offset"], h.location["end_offset"]) for h in hits if h.visible}
            )
        except Exception:
            return []
        return [
            Finding("scanner", start, end)
            for start, end in _in_characters(data, spans)
            if _is_credible(text, start, end)
        ]


def _in_characters(data: bytes, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Byte offsets of UTF-8 as positions in the text, counted on from one span to the next."""
    at_byte = at_char = 0
    for first, last in spans:
        at_char += len(data[at_byte:first].decode("utf-8", "ignore"))
        at_byte = first
        yield at_char, at_char + len(data[first:last].decode("utf-8", "ignore"))


def _is_credible(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    core = value.strip("\"'` ")
    if len(core) < _SHORTEST or any(char.isspace() for char in core):
        return False
    if not_secret.stands_for_nothing(core) or not_secret.is_hash_or_uuid(core) or not_secret.is_code(core):
        return False
    if is_wordlike(core) or not any(char.isdigit() for char in core):
        return False
    return not _is_part_of_data(text, start, end)


def _is_part_of_data(text: str, start: int, end: int) -> bool:
    """A hit in the middle of a longer run of base64 is chance; so is one in a labelled digest."""
    ahead = text[max(0, start - 80) : start]
    glued = re.search(r"[A-Za-z0-9+/]\Z", ahead) or re.match(r"[A-Za-z0-9+/]", text[end : end + 1])
    labelled = re.search(
        r"(?:sha\d{1,3}|md5|h1|integrity|checksum|digest|commit|base64)[\"']?[-:=,/ @]{1,3}[\"']?\Z", ahead
    )
    return bool(glued or labelled)
