"""Splits a guide into the rules that it states: bullets and paragraphs with their lines, without code and tables."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from holdfast.core.patterns import lazy_regex

_BULLET = lazy_regex(r"([ \t]*)([-*+]|\d{1,3}[.)])[ \t]+(?=\S)")
_HEADING = lazy_regex(r"(#{1,6})[ \t]+(.*)")
_FENCE = lazy_regex(r"[ \t]*(?:[-*+][ \t]+)?(```+|~~~+)")
_FORM = lazy_regex(r"\{\{|\}\}|\{[\w .-]+\}|\[[A-Z][^\]]*\](?!\()|</?[a-z_ -]+>")
_PRESCRIBES = lazy_regex(
    r"(?i)\b(?:always|never|must|should|shall|do not|don['’]t|avoid|only|prefer|use|run|keep|write|put|require[sd]?)\b"
)
_PERMITS = lazy_regex(r"(?i)\b(?:can|may|might|could)(?: now| also| still)? \w+")
_OWN_BEGIN, _OWN_END = "<!-- holdfast:begin", "<!-- holdfast:end"


class StatedRule(Struct, frozen=True, kw_only=True):
    """One rule. `line` is its first line, counted from 1, `end` the line after its last.

    `under` are the headings, the paragraph and the bullets above it: elsewhere the same words are another rule.
    """

    text: str
    line: int
    end: int
    under: tuple[str, ...] = ()
    bullet: bool = False
    numbered: bool = False
    leads: bool = False  # something belongs to it: bullets or code below it

    @property
    def key(self) -> str:
        """The same for two rules with the same words, whatever their emphasis and case."""
        return " ".join(self.text.casefold().replace("*", "").replace("`", "").split()).rstrip(".:; ")

    @property
    def is_rule(self) -> bool:
        """Whether it says something by itself: not a label of what follows, a box to tick, or a form to fill in."""
        text = self.text.strip("*_ ")
        return not text.endswith(":") and not text.startswith(("[", "{")) and not _FORM.search(text)

    @property
    def prescribes(self) -> bool:
        """Whether it says what to do, rather than what there is."""
        return _PRESCRIBES.search(_PERMITS.sub(" ", self.text)) is not None


def rules_in(text: str) -> list[StatedRule]:
    lines = text.split("\n")
    return list(_rules(lines, _start(lines)))


def _start(lines: list[str]) -> int:
    """Behind the front matter, if there is one."""
    if lines[0].strip().removeprefix("\ufeff") == "---":
        for number, line in enumerate(lines[1:60], 1):
            if line.strip() == "---":
                return number + 1
    return 0


def _rules(lines: list[str], start: int) -> Iterator[StatedRule]:
    headings: list[tuple[int, str]] = []
    bullets: list[tuple[int, str]] = []  # the bullets above, with their indents
    paragraph = ""
    fence = ""
    number = start
    while number < len(lines):
        line = lines[number]
        number += 1
        opened = _FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1].startswith(fence) and not line.strip(" \t`~") else fence
            continue
        if opened:
            fence = opened[1]
        elif line.lstrip().startswith("<!--"):
            end = _OWN_END if line.lstrip().startswith(_OWN_BEGIN) else "-->"
            while end not in line and number < len(lines):
                line = lines[number]
                number += 1
        elif heading := _HEADING.match(line):
            level = len(heading[1])
            headings = [*((depth, name) for depth, name in headings if depth < level), (level, heading[2])]
            bullets = []
            paragraph = ""
        elif not line.strip() or line.lstrip().startswith(("|", "<", "---", "===", "@")):
            continue
        else:
            bullet = _BULLET.match(line)
            end_of_rule = _end(lines, number)
            body = line[bullet.end() :] if bullet else line
            text = " ".join(piece.strip() for piece in (body, *lines[number:end_of_rule]))
            if bullet:
                indent = len(bullet[1].expandtabs(4))
                bullets = [(depth, name) for depth, name in bullets if depth < indent]
            above = (*(name for _, name in headings), paragraph, *(name for _, name in bullets if bullet))
            yield StatedRule(
                text=text,
                line=number,
                end=end_of_rule + 1,
                under=above,
                bullet=bullet is not None,
                numbered=bullet is not None and bullet[2][0].isdigit(),
                leads=_leads(line, lines[end_of_rule:]),
            )
            if bullet:
                bullets = [*bullets, (indent, text)]
            else:
                bullets, paragraph = [], text
            number = end_of_rule


def _leads(line: str, below: list[str]) -> bool:
    following = next((later for later in below if later.strip()), "")
    return _indent(following) > _indent(line)


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def _end(lines: list[str], number: int) -> int:
    """The first line that no longer belongs to the rule which begins on the line before."""
    while number < len(lines):
        line = lines[number]
        is_new = _BULLET.match(line) or _HEADING.match(line) or _FENCE.match(line)
        if not line.strip() or is_new or line.lstrip().startswith(("|", "<!--")):
            break
        number += 1
    return number
