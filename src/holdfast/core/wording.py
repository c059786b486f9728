"""How figures, spans of time and names are written for people, on a screen as on a page."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from unicodedata import combining, east_asian_width

from holdfast.core.model_names import undated

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from datetime import datetime


def text_width(text: str) -> int:
    """Columns on a screen: letters of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def cut(text: str, limit: int) -> str:
    """The text, or as much of it as fits with a sign that there is more."""
    if text_width(text) <= limit:
        return text
    while text and text_width(text) > limit - 1:
        text = text[:-1] if len(text) < 2 * limit else text[: 2 * limit - 1]
    return text + "…"


def cut_around(text: str, words: Iterable[str], limit: int, before: int = 40) -> str:
    """The text, cut; a long one around the first of these words, if that comes late."""
    places = [text.casefold().find(word.casefold()) for word in words]
    places = [place for place in places if place >= 0]
    if len(text) <= limit or not places or min(places) < limit - before:
        return cut(text, limit)
    start = text.rfind(" ", 0, max(min(places) - before, 0)) + 1
    return cut(f"… {text[start:]}", limit)


def short_model(model: str | None) -> str:
    """A model without the date of its release, which tells a reader nothing."""
    return cut(undated(model) if model else "?", 28)


def counted(count: int, word: str) -> str:
    """`1 session`, `2,000 sessions`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def plural(count: int, word: str) -> str:
    """`1 session`, `2000 sessions`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def decimal(value: float | None, places: int = 1) -> str:
    return "?" if value is None else f"{value:.{places}f}"


def minutes(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}min"


def percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"


def about_dollars(value: float | None) -> str:
    """An estimate: no cents from ten dollars on."""
    return f"${value:,.0f}" if value is not None and value >= 10 else dollars(value)


def about_minutes(value: float | None) -> str:
    """An estimate: no parts of a minute from ten on."""
    return f"{value:,.0f}min" if value is not None and value >= 10 else minutes(value)


def dollars(value: Decimal | float | None) -> str:
    """Dollars and cents for people (JSON has every digit); a small amount is never shown as zero."""
    if value is None:
        return "?"
    if 0 < value < Decimal("0.0001"):
        return "<$0.0001"
    return f"${value:.4f}" if 0 < value < Decimal("0.01") else f"${value:,.2f}"


def short_duration(seconds: int | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds}s"
    minutes = round(seconds / 60)
    return f"{minutes}min" if minutes < 60 else f"{minutes // 60}h {minutes % 60}min"


def day(moment: datetime | None) -> str:
    """A local time to the minute."""
    if moment is None:
        return "?"
    try:
        moment = moment.astimezone()
    except (OverflowError, ValueError, OSError):  # the first and the last year have no other zone
        pass
    return f"{moment.year:04d}{moment:-%m-%d %H:%M}"


def amount(count: int) -> str:
    """Tokens for people: 812, 14.2k, 3.1M, 2.40G."""
    for size, unit, places in ((10**9, "G", 2), (10**6, "M", 1), (10**3, "k", 1)):
        if count >= size - size // 2000:
            return f"{count / size:.{places}f}{unit}"
    return f"{count}"
