"""Finds the day or period in a query: `2026-11-03`, `3 November`, `yesterday`, `last week`, `2 days ago`.

Dates are in the local calendar. A period is in the past: `3 November` without a year is the last one. Supports English
words and ISO 8601 dates; `03/11` is ambiguous and not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MONTHS = _words("january february march april may june july august september october november december")
_DAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
_COUNTS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "couple": 2,
    "three": 3,
    "few": 4,
    "four": 4,
    "five": 5,
    "six": 6,
}

_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)}|sept)\b\.?"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})(?: of)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_SIGNS = _words(
    "day night week month year morning noon evening jan feb mar apr may jun jul aug sep oct nov dec 19 20"
)
_SINCE = lazy_regex(r"\b(since|after|before|until|till|by)\s+(?:the )?$", re.I)
_WEEK_OF = lazy_regex(r"\bweek (?:of|from|starting|beginning)\s+(?:the )?$", re.I)
_LEADING = lazy_regex(r"(?:\b(?:on|in|from|of|for|during|since|after|at|the|around|over|within)\s+)+$", re.I)
_TO = lazy_regex(r"\s*(?:to|until|till|through|and|–|-|\.\.)\s*(?:the )?", re.I)
# Words of a query about a whole day: none of them is a subject.
_ASKING = frozenset(
    _words("""did do done work worked working works happen happened happening session sessions change changed changes
    changelog history log summary summarize summarise recap recall remember list show tell told activity progress
    everything anything something things finish finished achieve achieved accomplish accomplished commit commits
    committed day days date time today yesterday week month year project repo repository agent agents""")
)


class Period(Struct, frozen=True):
    """From `start` up to `stop`, in seconds since 1970; `rest` is the query without it."""

    start: float
    stop: float
    said: str
    first: date
    last: date
    rest: str

    @property
    def name(self) -> str:
        """For people: the words of the query, and the dates that they mean."""
        dates = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return dates if self.said == dates else f"{self.said} ({dates})"

    @property
    def is_all(self) -> bool:
        """Whether the query has no other words."""
        words = re.findall(r"[^\W_]+", self.rest.lower())
        return all(word in ENGLISH or word in _ASKING or len(word) < 2 for word in words)


class _Found(Struct, frozen=True):
    """The position of a period in a query, its first and its last day."""

    begin: int
    end: int
    first: date
    last: date


def period_in(question: str, now: datetime) -> Period | None:
    """The first period in a query, by the clock and the calendar of this machine."""
    text = question[:2000]
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return None  # nearly every query ends here, before a pattern is compiled
    today = now.astimezone().date()
    mention = _first(text, today)
    if mention is None:
        return None
    begin, end, first, last = mention.begin, mention.end, mention.first, mention.last
    if (
        (connector := _TO.match(text, end))
        and (second := _first(text[connector.end() :], today))
        and second.begin == 0
    ):
        first, last, end = min(first, second.first), max(last, second.last), connector.end() + second.end
    if first == last and _WEEK_OF.search(text[:begin]):
        last = min(first + timedelta(days=6), today)
    if preposition := _SINCE.search(text[:begin]):
        if preposition[1].lower() not in ("since", "after"):
            return None  # everything before a date is not a useful period
        first, last = (first if preposition[1].lower() == "since" else last + timedelta(days=1)), today
    if first > last:
        return None
    lead = _LEADING.search(text[:begin])
    rest = f"{text[: lead.start() if lead else begin]} {text[end:]}{question[2000:]}"
    try:
        start, stop = _midnight(first), _midnight(last + timedelta(days=1))
    except (OverflowError, OSError, ValueError):  # out of range for this machine's clock
        return None
    return Period(start, stop, text[begin:end], first, last, " ".join(rest.split()))


def _first(text: str, today: date) -> _Found | None:
    """The first period; of two that begin together the longer."""
    best: _Found | None = None
    for pattern, days in _FORMS:
        for match in pattern.finditer(text):
            try:
                first, last = days(match, today) or (None, None)
            except (ValueError, OverflowError):  # the 31st of June
                continue
            if first is None or last is None or first > today:
                continue
            candidate = _Found(match.start(), match.end(), first, last)
            if best is None or (candidate.begin, -candidate.end) < (best.begin, -best.end):
                best = candidate
            break
    return best


Days = tuple[date, date] | None
_Reader = Callable[["re.Match[str]", date], Days]


def _iso_day(match: re.Match[str], today: date) -> Days:
    day = date(int(match["year"]), int(match["number"]), int(match["day"]))
    return day, day


def _iso_month(match: re.Match[str], today: date) -> Days:
    return _month(int(match["year"]), int(match["number"]))


def _day_of_month(match: re.Match[str], today: date) -> Days:
    number = _number(match["month"])
    if match["year"]:
        day = date(int(match["year"]), number, int(match["day"]))
        return day, day
    for year in range(today.year, today.year - 9, -1):  # a leap day may be long ago
        try:
            day = date(year, number, int(match["day"]))
        except ValueError:
            continue
        if day <= today:
            return day, day
    return None


def _month_and_day(match: re.Match[str], today: date) -> Days:
    return None if match["month"] == "may" else _day_of_month(match, today)  # `may 2 sessions write at once`


def _whole_month(match: re.Match[str], today: date) -> Days:
    if match["month"] == "may" and not match["year"]:
        return None
    number = _number(match["month"])
    is_over = number < today.month or (number == today.month and not match[0].lower().startswith("last"))
    year = int(match["year"]) if match["year"] else today.year - (not is_over)
    return _month(year, number)


def _whole_year(match: re.Match[str], today: date) -> Days:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


def _word(match: re.Match[str], today: date) -> Days:
    back = {"today": 0, "this": 0, "tonight": 0, "yesterday": 1, "last": 1, "day": 2, "the": 2}
    day = today - timedelta(days=back[match[0].lower().split()[0]])
    return day, day


def _weekday(match: re.Match[str], today: date) -> Days:
    wanted = _DAYS.index(match["weekday"].lower())
    back = (today.weekday() - wanted) % 7
    if back == 0 and match["which"] and match["which"].lower() in ("last", "past", "previous"):
        back = 7
    day = today - timedelta(days=back)
    return day, day


def _ago(match: re.Match[str], today: date) -> Days:
    return _unit(match["unit"].lower(), _counted(match["count"]), today)


def _lately(match: re.Match[str], today: date) -> Days:
    """So many days, and today."""
    days = {"day": 1, "week": 7, "month": 30}[match["unit"].lower()]
    return today - timedelta(days=days * (_counted(match["count"]) if match["count"] else 1)), today


def _unit(unit: str, back: int, today: date) -> Days:
    if unit == "day":
        day = today - timedelta(days=back)
        return day, day
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=6)
    if unit == "month":
        months = today.year * 12 + today.month - 1 - back
        return _month(months // 12, months % 12 + 1)
    return date(today.year - back, 1, 1), date(today.year - back, 12, 31)


def _month(year: int, number: int) -> tuple[date, date]:
    following = date(year + number // 12, number % 12 + 1, 1)
    return date(year, number, 1), following - timedelta(days=1)


def _number(month: str) -> int:
    return next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()[:3]))


def _counted(text: str) -> int:
    return int(text) if text.isdigit() else {**_COUNTS, "this": 0, "last": 1, "previous": 1}[text.lower()]


def _midnight(day: date) -> float:
    return datetime(day.year, day.month, day.day).astimezone().timestamp()


_WHICH = "on|last|this|from|past|previous|between"
_OF_DAYS = "|".join(_DAYS)
_PART = "this (?:morning|afternoon|evening)|tonight"
_FORMS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (lazy_regex(pattern, re.I), days)
    for pattern, days in (
        (rf"(?<![\w./-]){_YEAR}[-/](?P<number>\d\d?)[-/](?P<day>\d\d?)(?![\w-]|[./]\d)", _iso_day),
        (rf"(?<![\w./-]){_YEAR}-(?P<number>\d\d)(?![\w-]|[./]\d)", _iso_month),
        (rf"(?<![\w.]){_NTH}(?: of)? {_MONTH}(?:,? {_YEAR})?", _day_of_month),
        (rf"\b{_MONTH} {_NTH}(?![:\w]|\.\d)(?:,? {_YEAR})?", _month_and_day),
        (rf"(?:\b(?:in|last|during|this) |(?<=since )){_MONTH}(?:,? {_YEAR})?", _whole_month),
        (rf"\b{_MONTH},? {_YEAR}", _whole_month),
        (rf"\b(?:in|during|of) (?:the year )?{_YEAR}(?![\w-]|[.:/,]\d)", _whole_year),
        (rf"\b(?:(?:the )?day before yesterday|yesterday|last night|today|{_PART})\b", _word),
        (rf"(?:\b(?P<which>{_WHICH}) |(?<=since )|(?<=after ))(?P<weekday>{_OF_DAYS})\b", _weekday),
        (rf"\b(?P<which>)(?P<weekday>{_OF_DAYS})(?=\W*$)", _weekday),
        (r"\b(?P<count>this|last|previous) (?P<unit>week|month|year)\b", _ago),
        (rf"\b{_COUNT} (?P<unit>day|week|month|year)s? ago\b", _ago),
        (rf"\b(?:last|past|previous) {_COUNT} (?P<unit>day|week|month)s?\b", _lately),
        (r"\bpast (?P<count>)(?P<unit>week|month)\b", _lately),
    )
)
