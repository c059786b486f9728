"""Changelogs: the newest entries, by version."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.guard.quoted_text import is_hostile
from holdfast.knowledge.commit_authors import is_generated
from holdfast.knowledge.decision_records import day_in
from holdfast.knowledge.quotations import (
    Paragraph,
    Quotation,
    content_words,
    paragraphs,
    quotations,
    says_something,
)

MOST_ENTRIES = 60
_NAME = lazy_regex(
    r"(?i)(?:^|/)(?:change[-_ ]?logs?|changes|history|news|release[-_ ]?notes|releases)(?:\.(?:md|markdown"
    r"|rst|txt))?$"
)
_VERSION = r"(?:\[?(?:[\w@/.-]+[ @])?v?(\d+\.\d+[\w.+-]*)\]?|\[?(unreleased|upcoming|next|dev\w*|main)\]?)"
_HEADING = lazy_regex(rf"(?i)#{{1,3}}\s+(?:(?:version|release)\s+)?{_VERSION}\b(.*)")
_PLAIN_HEADING = lazy_regex(rf"(?i)(?:(?:version|release)\s+)?{_VERSION}(?:\s*[-–—:(,].*|\s+\(?\d{{4}}.*)?")
_UNDERLINE = lazy_regex(r"([-=~^#*+])\1{2,}\s*")
_NUMBERS = lazy_regex(r"\d+")
_CREDIT = lazy_regex(
    r"(?i)[ ]?(?:[—–-][ ]?)?(?:(?:contributed|reported|added|fixed|implemented|suggested|made"
    r"|sponsored)?[ ]?by @[\w-]+.*|thanks?(?: to)? @?[\w-]+.*|"
    r"\(thanks.*\)|in #\d+\.?|\(?@[\w-]+\)?)[ ]?$"
)
_REFERENCES = lazy_regex(
    r"(?i)\s*[(\[](?:(?:see|closes|fixes|refs?|pr|issue|gh)?[\s:]*(?>[\w./-]*[#!]\d++|[0-9a-f]{7,40}\b|GH-\d++"
    r"|bpo-\d++)[\s,;/&]*+)+(?:(?:thanks|by|via|@)[^()\[\]]*)?[)\]]\s*"
)
_EMPTY = lazy_regex(r"\s*[(\[][\s,]*[)\]]|(?<!\w)\*(?=\()|(?<=\))\*")
_LEADING_REFERENCE = lazy_regex(r"^(?:\[?[\w./-]*[#!]\d+\]?|\[?[0-9a-f]{7,40}\]?)[:\s-]+(?=\S)")


class Release(Struct, frozen=True):
    """One version of a changelog, with its entries as passages."""

    version: str
    line: int
    at: float | None
    entries: tuple[Quotation, ...]
    texts: tuple[str, ...]


def is_changelog(path: str) -> bool:
    return _NAME.search(path) is not None and path.count("/") <= 3


def releases_in(text: str) -> list[Release]:
    """The newest versions, as many as it takes for `MOST_ENTRIES` entries."""
    parts = list(_parts(text))
    if len(parts) > 1 and _number(parts[0][0]) < _number(parts[-1][0]):
        parts.reverse()
    found: list[Release] = []
    left = MOST_ENTRIES
    names: set[str] = set()
    for version, rest, line, body in parts:
        if left <= 0:
            break
        if version in names:
            continue
        names.add(version)
        prose = [_tidied(paragraph) for paragraph in paragraphs(body)]
        prose = [paragraph for paragraph in prose if not is_hostile(paragraph.text)]
        entries = tuple(_entries(prose, version, line))[:left]
        left -= len(entries)
        if entries:
            texts = tuple(paragraph.text for paragraph in prose)
            found.append(Release(version, line, day_in(rest), entries, texts))
    return found


def _parts(text: str) -> Iterator[tuple[str, str, int, str]]:
    """Version, the rest of its heading, its line and the text below."""
    lines = text.replace("\r\n", "\n").split("\n")
    heads: list[tuple[int, str, str]] = []
    for number, line in enumerate(lines):
        if len(line) > 200 or not line.strip():
            continue
        match = _HEADING.fullmatch(line.rstrip())
        if match is None and number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1]):
            match = _PLAIN_HEADING.fullmatch(line.strip())
        if match:
            heads.append((number, match[1] or match[2].lower(), line))
    for (start, version, heading), end in zip(
        heads, [*(head[0] for head in heads[1:]), len(lines)], strict=True
    ):
        yield version, heading, start + 1, "\n".join(lines[start + 1 : end])


def _number(version: str) -> tuple[int, ...]:
    numbers = tuple(int(number[:9]) for number in _NUMBERS.findall(version)[:4])
    return numbers or (10**9,)  # what is not released yet is the newest


def _tidied(paragraph: Paragraph) -> Paragraph:
    """An entry without the numbers and thanks around it."""
    text = _LEADING_REFERENCE.sub("", paragraph.text)
    text = _EMPTY.sub("", _CREDIT.sub("", _REFERENCES.sub(" ", text))).strip()
    heading = paragraph.heading.strip("* ")
    is_named = paragraph.is_item and 0 < len(heading) <= 30
    lead = f"{heading}:" if is_named else paragraph.lead
    return Paragraph(text, paragraph.line, heading, paragraph.is_item, lead)


def _entries(prose: list[Paragraph], version: str, line: int) -> Iterator[Quotation]:
    """Each entry by itself: they have nothing to do with each other."""
    for paragraph in prose:
        text = paragraph.text
        if not says_something(text) or is_generated(text) or content_words(text) < 3:
            continue
        for quotation in quotations([paragraph], version, 0.0, 2):
            if not is_hostile(quotation.text):
                yield msgspec.structs.replace(quotation, line=line + quotation.line)
