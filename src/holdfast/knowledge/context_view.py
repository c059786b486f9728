"""Output of live context: one line per source and each change, or all of it as JSON."""

from __future__ import annotations

import time

from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import visible
from holdfast.knowledge.context import one_line

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.knowledge.context import ContextChange, ContextEntry, Loaded, Registry


_COLOUR = lazy_regex(r"\x1b\[[0-9;:?]*[A-Za-z]")


def shown_by(clean: Callable[[str], str]) -> Callable[[str], str]:
    """A colour code ends in a letter, and would hide where a token begins."""
    return lambda text: visible(clean(_COLOUR.sub(r"\g<0> ", text)))


SIGNS = {"added": "+", "updated": "~", "removed": "-"}


def rows(
    registry: Registry, entries: Mapping[str, ContextEntry], errors: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Key and one line for each source that has something to say or has failed."""
    lines = []
    for key in registry.keys:
        entry = entries.get(key)
        text = _summary(registry, key, entry) if entry and entry.value else ""
        if key in errors:
            text = f"error: {errors[key]}" + (f" (before: {text})" if text else "")
        lines.append((key, text))
    return [(key, text) for key, text in lines if text]


def _summary(registry: Registry, key: str, entry: ContextEntry) -> str:
    try:
        return one_line(registry.source(key).summary(entry.value), 1000)
    except Exception as error:
        return f"error: it cannot be shown: {type(error).__name__}"


def full_text(registry: Registry, key: str, entry: ContextEntry | None) -> str:
    """All that one source has to say; '' when that is nothing."""
    if entry is None or not entry.value:
        return ""
    try:
        return str(registry.source(key).render(entry.value))
    except Exception as error:
        return f"It cannot be shown: {type(error).__name__}"


def as_json(
    registry: Registry,
    place: str,
    entries: Mapping[str, ContextEntry],
    errors: Mapping[str, str],
    changes: Sequence[ContextChange],
    since: float | None,
    only: str = "",
) -> dict[str, object]:
    summaries = dict(rows(registry, entries, {}))
    sources = [
        {
            "key": key,
            "summary": summaries.get(key, ""),
            "value": entries[key].value if key in entries else {},
            "loaded": moment(entries[key].at) if key in entries else None,
            "error": errors.get(key),
        }
        for key in registry.keys
        if only in ("", key)
    ]
    return {
        "directory": place,
        "since": None if since is None else moment(since),
        "sources": sources,
        "changes": [change_as_json(change) for change in changes if only in ("", change.key)],
    }


def change_as_json(change: ContextChange) -> dict[str, object]:
    return {"kind": change.kind, "key": change.key, "text": change.text, "value": change.value}


def dumped(value: object, indent: int | None = None) -> str:
    """As JSON; with escapes where a terminal might obey or hide something."""
    import json

    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text if text.replace("\n", "").isprintable() else json.dumps(value, indent=indent)


def moment(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return ""


def report(
    registry: Registry,
    loaded: Loaded,
    changes: Sequence[ContextChange],
    since: float | None,
    only: str = "",
    width: int | None = None,
) -> str:
    """What a person is shown: all of one source; or a line of each, and what has changed if it was known before."""
    if only:
        text = full_text(registry, only, loaded.entries.get(only))
        return f"{text}\n" if text else ""
    text = table(rows(registry, loaded.entries, loaded.errors), width)
    if since is None or not changes:
        return text
    lines = "".join(f"{change_line(change)}\n" for change in changes)
    return f"{text}\nChanged since {clock(since, '%Y-%m-%d %H:%M')}\n{lines}"


def change_line(change: ContextChange) -> str:
    return f"{SIGNS[change.kind]} {change.key}  {change.text}"


def clock(seconds: float, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "an unknown time"


def table(lines: Sequence[tuple[str, str]], width: int | None = None) -> str:
    """Aligned plain text; cut to a terminal's width where there is one."""
    first = max((len(key) for key, _ in lines), default=0)
    room = max((width or 0) - first - 2, 20)
    cut_lines = [(key, text if width is None else one_line(text, room)) for key, text in lines]
    return "".join(f"{key:<{first}}  {text}\n" for key, text in cut_lines)
