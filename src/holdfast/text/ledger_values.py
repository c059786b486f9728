"""Money, durations and times as a person writes them in a ledger cell, exact in both directions."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from holdfast.text.late import late

MOST_DIGITS = 24  # no count has so many; arithmetic on a longer one would have no end
_UNKNOWN = frozenset({"", "?", "-", "unknown"})
_COST = late(r"(?a)(-?)\$? ?(\d+(?:,\d{3})*(?:\.\d*)?|\.\d+)")
_AMOUNT = r"(?:(\d+(?:\.\d+)?) ?{unit} ?)?"
_DURATION = late(
    "(?a)(-?)"
    + _AMOUNT.format(unit="d(?:ays?)?")
    + _AMOUNT.format(unit="h(?:rs?|ours?)?")
    + _AMOUNT.format(unit="m(?:ins?|inutes?)?")
    + _AMOUNT.format(unit="s(?:ecs?|econds?)?")
)
_SECONDS = (86_400, 3_600, 60, 1)


def is_unknown(cell: str) -> bool:
    """Whether a number's cell says that nobody knows."""
    return cell in _UNKNOWN or cell.lower() in _UNKNOWN


def render_cost(cost: Decimal | None) -> str:
    """`$0.12`, `$0.004`: every digit there is, two decimals at least, never an exponent."""
    if cost is None or not cost.is_finite():
        return "?"
    whole, _, fraction = format(cost.copy_abs(), "f").partition(".")
    sign = "-" if cost < 0 else ""
    return f"{sign}${whole}.{fraction.rstrip('0'):0<2}"


def parse_cost(cell: str) -> Decimal | None:
    if len(cell) > 60:
        raise ValueError(cell[:24])
    match = _COST.fullmatch(cell)
    if match is None:
        if is_unknown(cell):
            return None
        raise ValueError(cell)
    return Decimal(match[1] + match[2].replace(",", ""))


def render_duration(seconds: int | None) -> str:
    """`45s`, `8min`, `8min 12s`, `1h 5min`."""
    if seconds is None:
        return ""
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if n]
    return ("-" if seconds < 0 else "") + (" ".join(parts) or "0s")


def parse_duration(cell: str) -> int | None:
    """Seconds, from our form or Go's (`8m12s`); a fraction of a second is rounded away."""
    if is_unknown(cell):
        return None
    match = _DURATION.fullmatch(cell.lower())
    amounts = match.groups()[1:] if match else ()
    if match is None or not any(amounts):
        raise ValueError(cell)
    seconds = 0
    for amount, unit in zip(amounts, _SECONDS, strict=True):
        if amount:
            seconds += int(amount) * unit if "." not in amount else round(Decimal(amount) * unit)
    return -seconds if match[1] else seconds


def render_time(time: datetime | None) -> str:
    """ISO-8601 in UTC with `Z`, as fine as the time is. A time without a zone is taken as UTC."""
    if time is None:
        return ""
    time = _in_utc(time)
    if not time.microsecond:
        text = time.isoformat(timespec="seconds")
    elif time.microsecond % 1000:
        text = time.isoformat(timespec="microseconds")
    else:
        text = time.isoformat(timespec="milliseconds")
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def parse_time(cell: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(cell)
    except ValueError:
        if is_unknown(cell):
            return None
        raise
    return time if time.tzinfo is UTC else _in_utc(time)


def _in_utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:
        # Within hours of year 1 or 9999 the offset cannot be undone; the instant is the same.
        return time


def render_number(number: int | None) -> str:
    return "" if number is None else str(number)


def parse_number(cell: str) -> int | None:
    if is_unknown(cell):
        return None
    if len(cell) > MOST_DIGITS:
        raise ValueError(cell[:MOST_DIGITS])
    return int(cell.replace(",", ""))
