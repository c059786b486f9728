"""Indentation, quotes, line length and semicolons: what a formatter is told comes first, then what the code shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from holdfast.knowledge.ground import Ground, convention, of_counts
from holdfast.knowledge.manifests import FAMILY, shown
from holdfast.knowledge.source import LENGTHS, Seen
from holdfast.model.knowledge import Convention, Evidence

_JS = ("javascript", "typescript")
_GLOBS = {
    "python": ("py",), "javascript": ("js", "jsx", "ts", "tsx"), "typescript": ("ts", "tsx", "js"), "go": ("go",),
    "rust": ("rs",), "java": ("java",), "ruby": ("rb",), "c": ("c", "h"), "cpp": ("cpp", "cc", "h", "hpp"),
    "kotlin": ("kt", "kts"), "csharp": ("cs",), "php": ("php",), "swift": ("swift",), "dart": ("dart",),
    "elixir": ("ex", "exs"), "scala": ("scala",),
}  # fmt: skip
_DEFAULTS = {  # what a formatter does when its configuration does not say
    "black": {"line_length": "88", "quote_style": "double quotes", "indent": "4 spaces"},
    "prettier": {"line_length": "80", "quote_style": "double quotes", "indent": "2 spaces"},
    "rust": {"line_length": "100", "indent": "4 spaces"},
    "go": {"indent": "tabs"},
    "dart": {"line_length": "80", "indent": "2 spaces"},
    "elixir": {"line_length": "98", "indent": "2 spaces"},
}
_Setting = tuple[str, str, Evidence]  # category, value, where


def style_conventions(
    ground: Ground, seen: Mapping[str, Seen], tools: Mapping[str, set[str]]
) -> list[Convention]:
    """`tools` names the formatters and linters in use, which decide whose defaults hold."""
    found: list[Convention] = []
    told_scopes: dict[tuple[str, str], list[str]] = {}
    best: dict[tuple[str, str, str], Convention] = {}
    for language in ground.main:
        paths = [path for path, one in seen.items() if one.language == language and not one.is_test]
        own = [one for one in seen.values() if one.language == language]
        settings: dict[str, tuple[str, Evidence, float]] = {}
        for category, value, where in _configured(ground, language, tools):
            settings.setdefault(category, (value, where, 0.97))
        for category, value, where in _by_default(ground, language, tools):
            settings.setdefault(category, (value, where, 0.7))
        every = [
            _made(category, settings.get(category), shown_by(own), next(iter(paths), ""))
            for category, shown_by in (
                ("indent", _indent),
                ("quote_style", _quotes),
                ("line_length", _length),
            )
        ]
        for made in filter(None, [*every, _semicolons(own, paths) if language in _JS else None]):
            best[made.category, language, made.pattern] = made
            told_scopes.setdefault((made.category, made.pattern), []).append(shown(language))
    for (category, language, pattern), made in best.items():
        scopes = told_scopes[category, pattern]
        if shown(language) == scopes[0]:  # one line for all languages that share it
            scope = ", ".join(scopes) if len(ground.main) > 1 else ""
            found.append(replace(made, scope=scope))
    return found


def _made(
    category: str,
    told: tuple[str, Evidence, float] | None,
    observed: tuple[str, int, int, str] | None,
    place: str,
) -> Convention | None:
    if told is not None:
        value, where, confidence = told
        _, count, counter, _ = observed if observed and observed[0] == value else ("", 0, 0, "")
        agrees = observed is not None and observed[0] == value
        # A default that nobody wrote down counts only where the code keeps to it.
        if confidence >= 0.9 or agrees or category == "line_length":
            sure = confidence + 0.02 * agrees
            return convention(category, value, sure, where, example=where.field, count=count, counter=counter)
    if observed is None:
        return None
    value, count, counter, example = observed
    share = (count + 1) / (count + counter + 2)
    return convention(
        category, value, share * 0.95, Evidence(place), example=example, count=count, counter=counter
    )


def _configured(ground: Ground, language: str, tools: Mapping[str, set[str]]) -> Iterator[_Setting]:
    if language == "python":
        yield from _python(ground, tools.get("formatter", set()))
    if language in _JS:
        yield from _javascript(ground)
    if language == "rust":
        for name in ("rustfmt.toml", ".rustfmt.toml"):
            if name in ground.everything:
                table = ground.table(name)
                if isinstance(width := table.get("max_width"), int):
                    yield "line_length", str(width), Evidence(name, "max_width")
                if table.get("hard_tabs") is True:
                    yield "indent", "tabs", Evidence(name, "hard_tabs")
                elif isinstance(spaces := table.get("tab_spaces"), int):
                    yield "indent", f"{spaces} spaces", Evidence(name, "tab_spaces")
    if language == "ruby" and ".rubocop.yml" in ground.everything:
        text = ground.text(".rubocop.yml")
        if found := re.search(r"^Layout/LineLength:\n(?:\s+.*\n)*?\s+Max:\s*(\d+)", text, re.MULTILINE):
            yield "line_length", found.group(1), Evidence(".rubocop.yml", "Layout/LineLength.Max")
        if found := re.search(
            r"^Style/StringLiterals:\n(?:\s+.*\n)*?\s+EnforcedStyle:\s*(\w+)", text, re.MULTILINE
        ):
            kind = found.group(1).partition("_")[0]
            yield (
                "quote_style",
                f"{kind} quotes",
                Evidence(".rubocop.yml", "Style/StringLiterals.EnforcedStyle"),
            )
    if language in ("c", "cpp", "java") and ".clang-format" in ground.everything:
        text = ground.text(".clang-format")
        if (found := re.search(r"^ColumnLimit:\s*(\d+)", text, re.MULTILINE)) and found.group(1) != "0":
            yield "line_length", found.group(1), Evidence(".clang-format", "ColumnLimit")
        if found := re.search(r"^IndentWidth:\s*(\d+)", text, re.MULTILINE):
            yield "indent", f"{found.group(1)} spaces", Evidence(".clang-format", "IndentWidth")
    if language == "go":
        name = next((name for name in ground.everything if name.startswith(".golangci.")), "")
        if name and (
            found := re.search(r"\blll:\s*\n(?:\s+.*\n)*?\s*line-length:\s*(\d+)", ground.text(name))
        ):
            yield "line_length", found.group(1), Evidence(name, "lll.line-length")
    yield from _editorconfig(ground, language)


def _python(ground: Ground, formatters: set[str]) -> Iterator[_Setting]:
    # A linter's bound is not what lines are wrapped at.
    deciding = ("black",) if "black" in formatters and "ruff" not in formatters else ("ruff", "black")
    tables: list[tuple[str, str, dict[str, Any]]] = []
    for path, table in ground.tables("pyproject.toml"):
        tool = table.get("tool", {})
        tables += [
            (path, f"tool.{name}", tool[name]) for name in deciding if isinstance(tool.get(name), dict)
        ]
    for base in ("ruff.toml", ".ruff.toml") if "ruff" in deciding else ():
        tables = [(path, "", table) for path, table in ground.tables(base)] + tables
    tables.sort(key=lambda one: one[0].count("/"))
    for path, name, table in tables:
        dot = f"{name}." if name else ""
        if isinstance(width := table.get("line-length"), int):
            yield "line_length", str(width), Evidence(path, f"{dot}line-length")
        form = table.get("format", {})
        if isinstance(form, dict):
            if form.get("quote-style") in ("single", "double"):
                yield (
                    "quote_style",
                    f"{form['quote-style']} quotes",
                    Evidence(path, f"{dot}format.quote-style"),
                )
            if form.get("indent-style") == "tab":
                yield "indent", "tabs", Evidence(path, f"{dot}format.indent-style")
        if isinstance(width := table.get("indent-width"), int):
            yield "indent", f"{width} spaces", Evidence(path, f"{dot}indent-width")
    for path in ("setup.cfg", ".flake8", "tox.ini") if not formatters & {"black", "ruff"} else ():
        if path in ground.everything and (
            found := re.search(r"^max[-_]line[-_]length\s*=\s*(\d+)", ground.text(path), re.MULTILINE)
        ):
            yield "line_length", found.group(1), Evidence(path, "max-line-length")


def _javascript(ground: Ground) -> Iterator[_Setting]:
    for name in ("biome.json", "biome.jsonc"):
        if name in ground.everything:
            table = ground.table(name)
            form, script = table.get("formatter", {}), table.get("javascript", {}).get("formatter", {})
            if width := form.get("lineWidth"):
                yield "line_length", str(width), Evidence(name, "formatter.lineWidth")
            style = form.get("indentStyle", "tab")
            size = form.get("indentWidth", 2)
            if form.get("enabled") is not False and not form.get("useEditorconfig"):
                yield (
                    "indent",
                    "tabs" if style == "tab" else f"{size} spaces",
                    Evidence(name, "formatter.indentStyle"),
                )
                quote = script.get("quoteStyle", "double")
                yield "quote_style", f"{quote} quotes", Evidence(name, "javascript.formatter.quoteStyle")
    for path, table in _prettier(ground):
        if isinstance(width := table.get("printWidth"), int):
            yield "line_length", str(width), Evidence(path, "printWidth")
        if "singleQuote" in table:
            yield (
                "quote_style",
                "single quotes" if table["singleQuote"] else "double quotes",
                Evidence(path, "singleQuote"),
            )
        if table.get("useTabs") is True:
            yield "indent", "tabs", Evidence(path, "useTabs")
        elif isinstance(width := table.get("tabWidth"), int):
            yield "indent", f"{width} spaces", Evidence(path, "tabWidth")


def _prettier(ground: Ground) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ground.markers:
        if not re.search(r"(?:^|/)(?:\.prettierrc[\w.]*|prettier\.config\.\w+)$", name):
            continue
        table = ground.table(name) if name.endswith((".prettierrc", ".json")) else {}
        if not table:
            pairs = re.findall(
                r"^\s*['\"]?(printWidth|singleQuote|useTabs|tabWidth|semi)['\"]?\s*:\s*(\w+)",
                ground.text(name),
                re.MULTILINE,
            )
            table = {
                key: {"true": True, "false": False}.get(value, int(value) if value.isdigit() else value)
                for key, value in pairs
            }
        yield name, table
    for path, table in ground.tables("package.json")[:1]:
        if isinstance(table.get("prettier"), dict):
            yield path, table["prettier"]


def _editorconfig(ground: Ground, language: str) -> Iterator[_Setting]:
    if ".editorconfig" not in ground.everything:
        return
    values: dict[str, str] = {}
    applies = False
    for line in ground.text(".editorconfig").splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            inside = line[1:-1]
            words = re.findall(r"[\w]+", inside.rpartition(".")[2] if "." in inside else "")
            applies = inside == "*" or bool(set(words).intersection(_GLOBS.get(language, ())))
        elif applies and "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            values[key.strip().lower()] = value.strip().lower()
    where = ".editorconfig"
    if values.get("indent_style") == "tab":
        yield "indent", "tabs", Evidence(where, "indent_style")
    elif values.get("indent_size", "").isdigit() and values.get("indent_style", "space") == "space":
        yield "indent", f"{values['indent_size']} spaces", Evidence(where, "indent_size")
    if values.get("max_line_length", "").isdigit():
        yield "line_length", values["max_line_length"], Evidence(where, "max_line_length")


def _by_default(ground: Ground, language: str, tools: Mapping[str, set[str]]) -> Iterator[_Setting]:
    formatters = tools.get("formatter", set())
    family = FAMILY.get(language, language)
    own = [found.path for found in ground.manifests if FAMILY.get(found.language, found.language) == family]
    manifest = next(iter([*own, *(found.path for found in ground.manifests)]), "")
    name, said = "", ""
    if language == "python" and formatters & {"black", "ruff"}:
        name, said = "black", f"default of {'black' if 'black' in formatters else 'ruff'}"
    if language in _JS and "prettier" in formatters and "biome" not in formatters:
        name, said = "prettier", "default of prettier"
    if language == "go" or formatters & {"rustfmt", "dart format", "mix format"}:
        name, said = name or language, said or "default of the formatter"
    for category, value in _DEFAULTS.get(name, {}).items():
        yield category, value, Evidence(manifest, said)


def _indent(own: list[Seen]) -> tuple[str, int, int, str] | None:
    votes = Counter(one.indent for one in own if one.indent)
    if sum(votes.values()) < 3:
        return None
    winner, count = votes.most_common(1)[0]
    others = sum(votes.values()) - count
    if count < 0.75 * (count + others):
        return None
    return ("tabs" if winner == "tab" else f"{winner} spaces"), count, others, ""


def _quotes(own: list[Seen]) -> tuple[str, int, int, str] | None:
    single, double = sum(one.single for one in own), sum(one.double for one in own)
    if single + double < 30 or max(single, double) < 0.8 * (single + double):
        return None
    winner, example = ("single quotes", "'…'") if single > double else ("double quotes", '"…"')
    return winner, max(single, double), min(single, double), example


def _length(own: list[Seen]) -> tuple[str, int, int, str] | None:
    """A limit shows as a cliff: many lines come close to it, hardly any goes over."""
    lines = sum(one.lines for one in own)
    if lines < 2000:
        return None
    over = [sum(one.longer[at] for one in own if one.longer) for at in range(len(LENGTHS))]
    for at, limit in enumerate(LENGTHS[1:], start=1):
        close = over[at - 1] - over[at] if limit - LENGTHS[at - 1] >= 5 else over[max(at - 2, 0)] - over[at]
        if over[at] <= 0.002 * lines and close >= 4 * max(over[at], 1) and close >= 0.004 * lines:
            return str(limit), lines - over[at], over[at], ""
    return None


def _semicolons(own: list[Seen], paths: list[str]) -> Convention | None:
    with_one = sum(one.signs.get("semicolon", 0) > one.lines * 0.1 for one in own)
    without = sum(one.signs.get("semicolon", 0) <= one.lines * 0.02 and one.lines > 15 for one in own)
    if with_one + without < 5 or max(with_one, without) < 0.8 * (with_one + without):
        return None
    pattern = "semicolons" if with_one > without else "no semicolons"
    counts = max(with_one, without), min(with_one, without)
    return of_counts("semicolons", pattern, *counts, *map(Evidence, paths[:1]))
