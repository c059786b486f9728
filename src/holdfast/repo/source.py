"""One source file to what it shows: names, indentation, quotes, line lengths, imports, branches, signs of idioms."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from msgspec import Struct

from holdfast.repo.languages import MADE_BY_A_TOOL, is_test
from holdfast.repo.source_signs import BRANCHES, CLASSES, FUNCTIONS, IMPORTS, SIGNS, TEXTS

LENGTHS = (72, 79, 80, 88, 90, 99, 100, 110, 119, 120, 132, 140, 160)
_MOST_NAMES = 60
_MOST_IMPORTS = 80
_QUOTED = frozenset({"python", "javascript", "typescript", "ruby", "php"})
_MINIFIED = 350  # characters in a line, on average


class Seen(Struct, frozen=True, array_like=True):
    """What one file shows. Small: thousands of these are kept until the file changes."""

    language: str = ""
    is_test: bool = False
    lines: int = 0
    complexity: int = 0
    indent: str = ""  # "tab", "2", "3", "4", "8"; '' when the file says nothing
    single: int = 0
    double: int = 0
    longer: tuple[int, ...] = ()  # lines longer than each of LENGTHS
    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    signs: dict[str, int] = {}
    crlf: bool = False


def look_at(name: str, language: str, data: bytes) -> Seen | None:
    """What the file shows; None when a tool made it. A file that does not parse still has lines and names."""
    if MADE_BY_A_TOOL.search(data[:1500]):
        return None
    text = data.decode("utf-8-sig", "replace")
    crlf = "\r\n" in text[:2000]
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if len(text) > _MINIFIED * len(lines):
        return None
    expressions = _compiled(language)
    quotes: Counter[str] = Counter()
    code = expressions.texts.sub(lambda found: _blank(found.group(), quotes), text)
    functions = _names(expressions.functions, code)
    branches = len(expressions.branches.findall(code))
    signs = {}
    for sign, expression, raw, needed in expressions.signs:
        there = text if raw else code
        # Most files show few signs: a search for a word is many times faster than one for an expression.
        if needed and not any(word in there for word in needed):
            continue
        if count := len(expression.findall(there)):
            signs[sign] = count
    return Seen(
        language=language,
        is_test=is_test(name, language),
        lines=len(lines),
        complexity=branches + len(functions),
        indent=_indent(code),
        single=quotes["'"] if language in _QUOTED else 0,
        double=quotes['"'] if language in _QUOTED else 0,
        longer=_longer(lines),
        functions=tuple(functions[:_MOST_NAMES]),
        classes=tuple(_names(expressions.classes, code)[:_MOST_NAMES]),
        imports=_imports(expressions.imports, text),
        signs=signs,
        crlf=crlf,
    )


class _Expressions(Struct, frozen=True):
    texts: re.Pattern[str]
    functions: re.Pattern[str] | None
    classes: re.Pattern[str] | None
    imports: re.Pattern[str] | None
    branches: re.Pattern[str]
    signs: tuple[tuple[str, re.Pattern[str], bool, tuple[str, ...]], ...]


@lru_cache(maxsize=64)
def _compiled(language: str) -> _Expressions:
    def one(table: dict[str, str]) -> re.Pattern[str] | None:
        return re.compile(table[language], re.MULTILINE) if language in table else None

    signs = tuple(
        (
            sign.removeprefix("raw:"),
            re.compile(expression, re.MULTILINE),
            sign.startswith("raw:"),
            needed_words(expression),
        )
        for sign, expression in SIGNS.get(language, {}).items()
    )
    return _Expressions(
        texts=TEXTS.get(language, TEXTS[""]),
        functions=one(FUNCTIONS),
        classes=one(CLASSES),
        imports=one(IMPORTS),
        branches=re.compile(BRANCHES.get(language, BRANCHES[""])),
        signs=signs,
    )


_CLASS_OR_ESCAPE = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.")
_GROUP = re.compile(r"\((\?(?:[:=!]|<[=!]))?([^()]*)\)([?*]|\{0)?")


def needed_words(expression: str) -> tuple[str, ...]:
    """Words of which one must be in a text that an expression finds anything in; none when that cannot be told."""
    plain = _CLASS_OR_ESCAPE.sub("\0", expression)
    while group := _GROUP.search(plain):
        kind, inside, optional = group.groups()
        certain = not optional and "|" not in inside and kind in (None, "?:")
        plain = f"{plain[: group.start()]}\0{inside if certain else ''}\0{plain[group.end() :]}"
    words = []
    for alternative in plain.split("|"):
        sure = re.sub(r".(?:[?*]|\{0)", "\0", alternative)
        longest = max(re.findall(r"[A-Za-z_ @#:<=-]{3,}", sure), key=len, default="")
        if not longest:
            return ()
        words.append(longest)
    return tuple(words)


def _blank(found: str, quotes: Counter[str]) -> str:
    """A comment or text taken out; its quotes are counted where the writer had a choice."""
    opened = found.lstrip("rbfuRBFU")[:1]
    if opened in "\"'" and not found.endswith(('"""', "'''")):
        other = "'" if opened == '"' else '"'
        if other not in found and "\\" not in found:
            quotes[opened] += 1
        return opened + opened  # signs that look for an empty text still see one
    return "\n" * found.count("\n") if "\n" in found else ""


def _names(expression: re.Pattern[str] | None, code: str) -> list[str]:
    if expression is None:
        return []
    found = (next((group for group in match.groups() if group), "") for match in expression.finditer(code))
    return [name for name in found if name]


def _imports(expression: re.Pattern[str] | None, text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_names(expression, text)))[:_MOST_IMPORTS]


def _indent(code: str) -> str:
    """By how much lines are moved in from the line before: the most frequent step."""
    steps: Counter[int] = Counter()
    tabs = spaces = before = 0
    for line in code.split("\n")[:3000]:
        body = line.lstrip(" \t")
        if not body or body[0] in "*/.":
            continue
        if line[0] == "\t":
            tabs += 1
            continue
        width = len(line) - len(body)
        spaces += width > 0
        if width > before and width - before in (2, 3, 4, 8):
            steps[width - before] += 1
        before = width
    if tabs > spaces:
        return "tab" if tabs >= 3 else ""
    if not steps or spaces < 3:
        return ""
    # Continued lines are moved in by twice the step; the smaller one is the step if it is not rare.
    total = sum(steps.values())
    return str(next(step for step in sorted(steps) if steps[step] >= 0.25 * total or step == max(steps)))


def _longer(lines: list[str]) -> tuple[int, ...]:
    lengths = [length for line in lines if (length := len(line.expandtabs(4))) > LENGTHS[0]]
    return tuple(sum(length > limit for length in lengths) for limit in LENGTHS)
