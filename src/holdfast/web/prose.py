"""The markdown that agents write, as markup: headings, lists, code, emphasis. Nothing becomes a link or an image."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markupsafe import Markup, escape

_ITEM = re.compile(r"\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\Z")
_FENCE = re.compile(r"\s{0,6}(```+|~~~+)")
_RULE = re.compile(r":?-+:?")
_INLINE = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")


def prose(text: str) -> Markup:
    """A text of an agent or a person, escaped, with the marks of markdown that are common in chats."""
    return Markup("").join(_blocks(text.split("\n")))


def _blocks(lines: list[str]) -> Iterator[Markup]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if fence := _FENCE.match(line):
            end = next(
                (n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(fence[1])), len(lines)
            )
            code = "\n".join(lines[at + 1 : end])
            yield Markup('<pre class="code" tabindex="0" aria-label="Code"><code>{}</code></pre>').format(
                code
            )
            at = end + 1
        elif heading := _HEADING.match(line):
            yield Markup('<p class="prose-head">{}</p>').format(inline(heading[1]))
            at += 1
        elif line.lstrip().startswith("|"):
            end = _while(lines, at, lambda row: row.lstrip().startswith("|"))
            yield _table(lines[at:end])
            at = end
        elif _ITEM.match(line):
            end = _while(lines, at, lambda row: bool(_ITEM.match(row)))
            items = (inline(found[1]) for row in lines[at:end] if (found := _ITEM.match(row)))
            yield Markup("<ul>{}</ul>").format(
                Markup("").join(Markup("<li>{}</li>").format(item) for item in items)
            )
            at = end
        elif not line.strip():
            at += 1
        else:
            end = _while(lines, at, _is_plain)
            joined = Markup("<br>").join(inline(row) for row in lines[at:end])
            yield Markup("<p>{}</p>").format(joined)
            at = end


def _table(rows: list[str]) -> Markup:
    """A region that can be scrolled, because a cell may be long."""
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    cells = [row for row in cells if not all(_RULE.fullmatch(cell) for cell in row)]
    lines = []
    for number, row in enumerate(cells):
        tag = Markup("td" if number else "th")
        inner = Markup("").join(Markup("<{0}>{1}</{0}>").format(tag, inline(cell)) for cell in row)
        lines.append(Markup("<tr>{}</tr>").format(inner))
    return Markup(
        '<div class="table-box" tabindex="0" role="region" aria-label="Table"><table class="table">{}</table></div>'
    ).format(Markup("").join(lines))


def _while(lines: list[str], at: int, holds: Callable[[str], bool]) -> int:
    end = at + 1
    while end < len(lines) and holds(lines[end]):
        end += 1
    return end


def _is_plain(line: str) -> bool:
    starts = _FENCE.match(line) or _HEADING.match(line) or _ITEM.match(line) or line.lstrip().startswith("|")
    return bool(line.strip()) and not starts


def inline(text: str) -> Markup:
    """The marks within a line: code and emphasis."""
    parts: list[Markup] = []
    at = 0
    for found in _INLINE.finditer(text):
        parts.append(escape(text[at : found.start()]))
        tag = "code" if found[1] is not None else "strong"
        parts.append(
            Markup("<{0}>{1}</{0}>").format(Markup(tag), found[1] if found[1] is not None else found[2])
        )
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])
