"""Decision records: which Markdown files are one, whether it still holds, and what it decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.guard.quoted_text import is_hostile
from holdfast.knowledge.quotations import (
    MOST_QUOTATIONS,
    Quotation,
    content_words,
    paragraphs,
    plain,
    quotations,
)
from holdfast.model.statement import Status

_HEADING = lazy_regex(r"(#{1,6})\s+(.*?)\s*#*\s*")
_FENCE = lazy_regex(r"\s{0,3}(```|~~~)")
_FOLDER = lazy_regex(
    r"(?i)(?:^|/)(?:adrs?|decisions?|decision[-_]?(?:records?|log)|architecture[-_]decisions?)/[^/]+$"
)
_IS_TEMPLATE = lazy_regex(r"(?i)(?:^|[/_. -])(?:templates?|examples?|samples?|readme|index)(?:[/_. -]|$)")
_KEY = lazy_regex(
    r"(?i)\s*(?:[-*|]\s*)?(?:\*\*|__)?(status|date|decided|title)(?:\*\*|__)?\s*[:|]\s*(?:\*\*"
    r"|__)?\s*(.+?)\s*\|?\s*"
)
_OVER = PrefilteredRegex(
    r"\b(?:superseded|superceded|replaced by|deprecated|rejected|withdrawn|obsolete|abandoned|declined|retired)\b",
    re.IGNORECASE,
)
_NOT_YET = PrefilteredRegex(
    r"\b(?:proposed|proposal|draft|pending|rfc|in discussion|under review)\b", re.IGNORECASE
)
_STATUS = PrefilteredRegex(
    r"\b(?:accepted|approved|adopted|agreed|decided|implemented|active|final|proposed|draft|rejected"
    r"|deprecated|superseded)\b",
    re.IGNORECASE,
)
_CHOICE = lazy_regex(r"(?i)proposed\b.{0,30}\baccepted|\{|\[proposed|accepted ?[|/] ?\w+")
_DAY = lazy_regex(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
# Sections by what they hold, the most telling first.
_DECIDES = PrefilteredRegex(
    r"(?:\d+\.?\s+)?(?:decisions?\b|decision outcome|outcome|resolution|we (?:will|decided))", re.IGNORECASE
)
_REASONS = PrefilteredRegex(
    r"(?:\d+\.?\s+)?(?:rationale|reason|why|justification|consequences?|trade-?offs?|implications?)",
    re.IGNORECASE,
)
_BACKGROUND = PrefilteredRegex(
    r"(?:\d+\.?\s+)?(?:context|problem|background|motivation|issue)", re.IGNORECASE
)
_REFUSED = PrefilteredRegex(
    r"(?:\d+\.?\s+)?(?:rejected|alternatives?|(?:options?|approaches) (?:rejected|not chosen|discarded)"
    r"|non-?goals?|out of scope|discarded)",
    re.IGNORECASE,
)
_FRAME = PrefilteredRegex(
    r"(?:\d+\.?\s+)?(?:status|date|deciders|considered options|decision drivers|pros and cons|links?"
    r"|references?|related|more information|metadata"
    r"|authors?|participants|history|changelog|implementation|tests?|validation)",
    re.IGNORECASE,
)
_MOST_REFUSED = 4
_DECIDED = 0.8  # the worth of a record's title, and the least of what it decides


class Section(Struct, frozen=True):
    title: str
    line: int
    text: str
    level: int


class DecisionRecord(Struct, frozen=True):
    """What a record says: passages that hold, and passages about what was refused."""

    title: str
    status: Status
    at: float | None
    holds: tuple[Quotation, ...]
    refused: tuple[Quotation, ...]
    texts: tuple[str, ...]


def may_be_record(path: str) -> bool:
    return path.lower().endswith((".md", ".markdown")) and not _IS_TEMPLATE.search(path)


def record_in(path: str, text: str) -> DecisionRecord | None:
    """The decision record in a file; None if it is something else, or an empty template."""
    keys, sections = _keys(text), list(sections_of(text))
    status_text = keys.get("status") or _first_line(sections, "status")
    decides = any(_DECIDES.match(section.title) for section in sections)
    is_record = decides and _STATUS.search(status_text) is not None
    if not is_record and not (_FOLDER.search(path) and (decides or status_text)):
        return None
    if _CHOICE.search(status_text):
        return None
    title = plain(keys.get("title", "") or next((s.title for s in sections if s.level == 1), "")).strip(
        "\"' "
    )
    if not title or is_hostile(title):
        return None
    date_text = keys.get("date") or keys.get("decided") or _first_line(sections, "date")
    return DecisionRecord(
        title=title,
        status=_status(status_text),
        at=day_in(date_text),
        holds=_holding(title, sections),
        refused=_refused(title, sections),
        texts=tuple(
            paragraph.text
            for section in sections
            if not _FRAME.match(section.title)
            for paragraph in paragraphs(section.text)
            if not is_hostile(paragraph.text)
        ),
    )


def _status(text: str) -> Status:
    if _OVER.search(text):
        return "superseded"
    return "proposed" if _NOT_YET.search(text) else "agreed"


def day_in(text: str) -> float | None:
    """The first day that a text names, at midnight UTC."""
    for match in _DAY.finditer(text):
        try:
            return datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC).timestamp()
        except (ValueError, OverflowError):
            continue
    return None


def _keys(text: str) -> dict[str, str]:
    """Status, date and title as the first lines or the front matter say them."""
    keys: dict[str, str] = {}
    for line in text.split("\n")[:40]:
        if match := _KEY.fullmatch(line[:300]):
            keys.setdefault(match[1].lower(), match[2])
    return keys


def sections_of(text: str) -> Iterator[Section]:
    """The parts of a Markdown text below its headings, with the line where each begins."""
    title, line, level, fence = "", 0, 0, ""
    lines: list[str] = []
    for number, content in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        mark = _FENCE.match(content)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        heading = None if fence or content[:1] != "#" else _HEADING.fullmatch(content)
        if heading is None:
            lines.append(content)
            continue
        yield Section(title, line, "\n".join(lines), level)
        title, line, level, lines = plain(heading[2]), number, len(heading[1]), []
    yield Section(title, line, "\n".join(lines), level)


def _first_line(sections: list[Section], name: str) -> str:
    for section in sections:
        if section.title.lower() == name:
            return next((line.strip() for line in section.text.split("\n") if line.strip()), "")
    return ""


def _holding(title: str, sections: list[Section]) -> tuple[Quotation, ...]:
    """What was decided first, then why, then what led to it."""
    ranked: list[tuple[int, Quotation]] = []
    if content_words(title) >= 3:
        ranked.append((0, Quotation(title, 1, worth=_DECIDED)))
    part = 9
    for section in sections:
        if section.level <= 2 or _refuses(section) or _DECIDES.match(section.title):
            part = _part(section)
        if part < 9:
            least = _DECIDED if part == 0 else 0.0
            ranked += [
                (part, msgspec.structs.replace(quotation, worth=max(quotation.worth, least)))
                for quotation in _quotations(section, title)
            ]
    best = sorted(ranked, key=lambda item: item[0])[:MOST_QUOTATIONS]
    return tuple(quotation for _, quotation in best)


def _part(section: Section) -> int:
    if _refuses(section) or _FRAME.match(section.title):
        return 9
    for number, pattern in enumerate((_DECIDES, _REASONS, _BACKGROUND)):
        if pattern.match(section.title):
            return number
    return 3 if section.level > 1 else 9


def _refuses(section: Section) -> bool:
    return _REFUSED.match(section.title) is not None


def _refused(title: str, sections: list[Section]) -> tuple[Quotation, ...]:
    found: list[Quotation] = []
    level = 0
    for section in sections:
        if _refuses(section):
            level = section.level
        elif section.level <= level:
            level = 0
        if level:
            lead = "" if section.level == level else f"{section.title}: "
            found += [
                msgspec.structs.replace(quotation, text=f"{lead}{quotation.text}")
                for quotation in _quotations(section, title)
            ]
    return tuple(found[:_MOST_REFUSED])


def _quotations(section: Section, title: str) -> list[Quotation]:
    prose = [paragraph for paragraph in paragraphs(section.text) if not is_hostile(paragraph.text)]
    return [
        msgspec.structs.replace(quotation, line=section.line + quotation.line)
        for quotation in quotations(prose, title, 0.0)
        if not is_hostile(quotation.text)
    ]
