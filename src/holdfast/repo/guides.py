"""Commands that guides for contributors give: in blocks of code, and as short code in their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

Lines = Iterator[tuple[str, str, str, str]]  # text, field, task, name

_FOR_DEVELOPERS = re.compile(
    r"(?i)\b(?:develop\w*|contribut\w*|hacking|testing|tests?|build(?:ing)?|compil\w+|linting|local setup)\b"
)
_UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*$")
_LEVELS = "=-~^"
_FENCED = re.compile(
    r"^[ \t]*```[ \t]*(?:bash|sh|shell|shell-session|console|zsh|text)?[ \t]*\n([\s\S]*?)```", re.MULTILINE
)
_ASCIIDOC = re.compile(r"^-{4}\n([\s\S]*?)^-{4}$", re.MULTILINE)
# Of text that is indented only what is plainly typed: after a prompt, or beginning with a tool's name.
_INDENTED = re.compile(
    r"^(?: {2,}|\t)(?:[$%>] +(?P<typed>\S.*)|(?P<told>(?:make|cargo|go|npm|npx|pnpm|yarn|bun|mvn|gradle|"
    r"bundle|rake|pytest|python3?|tox|nox|uv|poetry|hatch|pre-commit|cmake|ctest|meson|ninja|just|"
    r"\./\w[\w./-]*) ?\S.*|make))$",
    re.MULTILINE,
)
_INLINE = re.compile(r"[a-z.][\w./-]* \S.{0,80}|(?:scripts?|bin)/[\w./-]+")


def readme_lines(text: str, runner: str) -> Lines:
    """What a README says to those who work on the thing: the rest is for those who use it."""
    own = 0
    kept: list[str] = []
    lines = text.split("\n")
    fenced = False
    for at, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        level = 0 if fenced else _level(line, lines[at + 1] if at + 1 < len(lines) else "")
        if level and (not own or level <= own):
            own = level if _FOR_DEVELOPERS.search(line) else 0
        if own:
            kept.append(line)
    yield from guide_lines("\n".join(kept), runner)


def _level(line: str, after: str) -> int:
    """How deep a heading is, of any of the usual forms; 0 for what is none."""
    if found := re.match(r"(#{1,6}|={1,5}) \S", line):
        return len(found.group(1))
    line, under = line.strip(), after.strip()
    if (
        line
        and _UNDERLINE.match(under)
        and (len(under) >= len(line) - 2 or (len(line) < 60 and len(under) == 3))
    ):
        return 1 + _LEVELS.find(under[0]) if under[0] in _LEVELS else 5
    return 0


def guide_lines(text: str, _: str) -> Lines:
    for block in (*_FENCED.findall(text), *_ASCIIDOC.findall(text)):
        for line in block.split("\n"):
            yield re.sub(r"^\s*[$>%]\s+", "", line).partition("  #")[0], "", "", ""
    for found in _INDENTED.finditer(_FENCED.sub("", text)):
        yield (found["typed"] or found["told"]).partition("  #")[0], "", "", ""
    for line in text.split("\n"):
        for inline in re.findall(r"``?([^`]+)``?", line):
            if _INLINE.fullmatch(inline):
                yield inline, "", "", ""
