"""Indentation, quotes, line length and semicolons: from the formatter's configuration, else from the code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from holdfast.knowledge.findings import convention, of_counts
from holdfast.knowledge.ground import Ground, field_of
from holdfast.knowledge.languages import FAMILY, shown
from holdfast.knowledge.source import LENGTHS, SourceSigns
from holdfast.model.knowledge import Convention, Evidence

_Setting = tuple[str, str, Evidence]  # category, value, where
_Observed = tuple[str, int, int, str]  # value, files or lines that keep it, those that do not, example


def _number(value: Any) -> str | None:
    return str(value) if isinstance(value, int) else None


def _text(value: Any) -> str | None:
    return str(value) if value else None


def _spaces(value: Any) -> str | None:
    return f"{value} spaces" if isinstance(value, int) else None


def _tabs(value: Any) -> str | None:
    return "tabs" if value is True or value == "tab" else None


def _quote_name(value: Any) -> str | None:
    return f"{value} quotes" if value in ("single", "double") else None


def _single_quote(value: Any) -> str | None:
    return None if value is None else "single quotes" if value else "double quotes"


# Category, field, and how to display its value; the first field of a category that has a value counts.
_Fields = tuple[tuple[str, str, Callable[[Any], str | None]], ...]
_RUSTFMT: _Fields = (
    ("line_length", "max_width", _number),
    ("indent", "hard_tabs", _tabs),
    ("indent", "tab_spaces", _spaces),
)
_RUFF: _Fields = (
    ("line_length", "line-length", _number),
    ("quote_style", "format.quote-style", _quote_name),
    ("indent", "format.indent-style", _tabs),
    ("indent", "indent-width", _spaces),
)
_PRETTIER: _Fields = (
    ("line_length", "printWidth", _number),
    ("quote_style", "singleQuote", _single_quote),
    ("indent", "useTabs", _tabs),
    ("indent", "tabWidth", _spaces),
)
_FLAKE8 = ("line_length", "{}", r"^max[-_]line[-_]length\s*=\s*(\d+)", "max-line-length")
# Languages, file name, category, value, pattern to search for, field.
_TEXTS = (
    ("python", r"setup\.cfg", *_FLAKE8),
    ("python", r"\.flake8", *_FLAKE8),
    ("python", r"tox\.ini", *_FLAKE8),
    (
        "ruby",
        r"\.rubocop\.yml",
        "line_length",
        "{}",
        r"^Layout/LineLength:\n(?:\s+.*\n)*?\s+Max:\s*(\d+)",
        "Layout/LineLength.Max",
    ),
    (
        "ruby",
        r"\.rubocop\.yml",
        "quote_style",
        "{} quotes",
        r"^Style/StringLiterals:\n(?:\s+.*\n)*?\s+EnforcedStyle:\s*(?=\w)([^\W_]*)",
        "Style/StringLiterals.EnforcedStyle",
    ),
    ("c cpp java", r"\.clang-format", "line_length", "{}", r"^ColumnLimit:\s*(?!0\b)(\d+)", "ColumnLimit"),
    ("c cpp java", r"\.clang-format", "indent", "{} spaces", r"^IndentWidth:\s*(\d+)", "IndentWidth"),
    (
        "go",
        r"\.golangci\..*",
        "line_length",
        "{}",
        r"\blll:\s*\n(?:\s+.*\n)*?\s*line-length:\s*(\d+)",
        "lll.line-length",
    ),
)
_BIOME: _Fields = (
    ("line_length", "formatter.lineWidth", _text),
    ("indent", "formatter.indentStyle", _text),
    ("quote_style", "javascript.formatter.quoteStyle", _text),
)
_JS = ("javascript", "typescript")
# File extensions of a language in the sections of .editorconfig.
_GLOBS = {
    "python": ("py",), "javascript": ("js", "jsx", "ts", "tsx"), "typescript": ("ts", "tsx", "js"), "go": ("go",),
    "rust": ("rs",), "java": ("java",), "ruby": ("rb",), "c": ("c", "h"), "cpp": ("cpp", "cc", "h", "hpp"),
    "kotlin": ("kt", "kts"), "csharp": ("cs",), "php": ("php",), "swift": ("swift",), "dart": ("dart",),
    "elixir": ("ex", "exs"), "scala": ("scala",),
}  # fmt: skip
# The defaults of formatters.
_DEFAULTS = {
    "black": {"line_length": "88", "quote_style": "double quotes", "indent": "4 spaces"},
    "prettier": {"line_length": "80", "quote_style": "double quotes", "indent": "2 spaces"},
    "rust": {"line_length": "100", "indent": "4 spaces"},
    "go": {"indent": "tabs"},
    "dart": {"line_length": "80", "indent": "2 spaces"},
    "elixir": {"line_length": "98", "indent": "2 spaces"},
}


def style_conventions(
    ground: Ground, seen: Mapping[str, SourceSigns], tools: Mapping[str, set[str]]
) -> list[Convention]:
    """`tools` are the formatters and linters in use; they decide which defaults apply."""
    formatters = tools.get("formatter", set())
    shared: dict[
        tuple[str, str], tuple[Convention, list[str]]
    ] = {}  # by category and pattern, with the languages
    for language in ground.main:
        paths = [path for path, file in seen.items() if file.language == language and not file.is_test]
        files_of_language = [file for file in seen.values() if file.language == language]
        settings: dict[str, tuple[str, Evidence, float]] = {}
        for category, value, where in _configured(ground, language, formatters):
            settings.setdefault(category, (value, where, 0.97))
        for category, value, where in _by_default(ground, language, formatters):
            settings.setdefault(category, (value, where, 0.7))
        observed = {
            "indent": _indent(files_of_language),
            "quote_style": _quotes(files_of_language),
            "line_length": _length(files_of_language),
        }
        conventions = [
            _made(category, settings.get(category), value, next(iter(paths), ""))
            for category, value in observed.items()
        ]
        for item in filter(
            None, [*conventions, _semicolons(files_of_language, paths) if language in _JS else None]
        ):
            shared.setdefault((item.category, item.pattern), (item, []))[1].append(shown(language))
    several = len(ground.main) > 1
    return [
        replace(item, scope=", ".join(languages) if several else "") for item, languages in shared.values()
    ]


def _made(
    category: str,
    setting: tuple[str, Evidence, float] | None,
    observed: _Observed | None,
    place: str,
) -> Convention | None:
    if setting is not None:
        value, where, confidence = setting
        agrees = observed is not None and observed[0] == value
        _, count, counter, _ = observed if observed and agrees else ("", 0, 0, "")
        # A formatter's default counts only if the code follows it.
        if confidence >= 0.9 or agrees or category == "line_length":
            total_confidence = confidence + 0.02 * agrees
            return convention(
                category, value, total_confidence, where, example=where.field, count=count, counter=counter
            )
    if observed is None:
        return None
    value, count, counter, example = observed
    share = (count + 1) / (count + counter + 2)
    return convention(
        category, value, share * 0.95, Evidence(place), example=example, count=count, counter=counter
    )


def _configured(ground: Ground, language: str, formatters: set[str]) -> Iterator[_Setting]:
    for path, prefix, table, fields in _tables(ground, language, formatters):
        for category, field, value_of in fields:
            if value := value_of(field_of(table, field)):
                yield category, value, Evidence(path, prefix + field)
    # If a formatter wraps lines, a linter's limit does not tell the line length.
    if language != "python" or not formatters & {"black", "ruff"}:
        for languages, file, category, form, pattern, field in _TEXTS:
            name = next((name for name in ground.everything if re.fullmatch(file, name)), "")
            text = ground.text(name) if name and language in languages.split() else ""
            if match := re.search(pattern, text, re.MULTILINE):
                yield category, form.format(match.group(1)), Evidence(name, field)
    yield from _editorconfig(ground, language)


def _tables(
    ground: Ground, language: str, formatters: set[str]
) -> Iterator[tuple[str, str, dict[str, Any], _Fields]]:
    """Tables that configure a formatter: path, prefix of the table in that file, table, its fields."""
    if language == "python":
        formatter_names = (
            ("black",) if "black" in formatters and "ruff" not in formatters else ("ruff", "black")
        )
        names = (".ruff.toml", "ruff.toml") if "ruff" in formatter_names else ()
        tables = [(path, "", table) for base in names for path, table in ground.tables(base)]
        for path, table in ground.tables("pyproject.toml"):
            tables += [(path, f"tool.{name}.", field_of(table, f"tool.{name}")) for name in formatter_names]
        for path, prefix, table in sorted(tables, key=lambda one: one[0].count("/")):
            yield path, prefix, table, _RUFF
    elif language in _JS:
        for name in ("biome.json", "biome.jsonc"):
            if name in ground.everything:
                yield name, "", _with_biome_defaults(ground.table(name)), _BIOME
        for path, table in _prettier(ground):
            yield path, "", table, _PRETTIER
    elif language == "rust":
        for name in ("rustfmt.toml", ".rustfmt.toml"):
            if name in ground.everything:
                yield name, "", ground.table(name), _RUSTFMT


def _with_biome_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """Biome's settings, with its own defaults for missing values."""
    formatter = field_of(table, "formatter") or {}
    width, style = formatter.get("lineWidth"), formatter.get("indentStyle", "tab")
    if formatter.get("enabled") is False or formatter.get("useEditorconfig"):
        return {"formatter": {"lineWidth": width}}
    quote = field_of(table, "javascript.formatter.quoteStyle") or "double"
    indent = "tabs" if style == "tab" else f"{formatter.get('indentWidth', 2)} spaces"
    return {
        "formatter": {"lineWidth": width, "indentStyle": indent},
        "javascript": {"formatter": {"quoteStyle": f"{quote} quotes"}},
    }


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


def _by_default(ground: Ground, language: str, formatters: set[str]) -> Iterator[_Setting]:
    family = FAMILY.get(language, language)
    paths = [file.path for file in ground.manifests if FAMILY.get(file.language, file.language) == family]
    manifest = next(iter([*paths, *(file.path for file in ground.manifests)]), "")
    name, note = "", ""
    if language == "python" and formatters & {"black", "ruff"}:
        name, note = "black", f"default of {'black' if 'black' in formatters else 'ruff'}"
    if language in _JS and "prettier" in formatters and "biome" not in formatters:
        name, note = "prettier", "default of prettier"
    if language == "go" or formatters & {"rustfmt", "dart format", "mix format"}:
        name, note = name or language, note or "default of the formatter"
    for category, value in _DEFAULTS.get(name, {}).items():
        yield category, value, Evidence(manifest, note)


def _indent(own: list[SourceSigns]) -> _Observed | None:
    votes = Counter(file.indent for file in own if file.indent)
    if sum(votes.values()) < 3:
        return None
    winner, count = votes.most_common(1)[0]
    against = sum(votes.values()) - count
    if count < 0.75 * (count + against):
        return None
    return ("tabs" if winner == "tab" else f"{winner} spaces"), count, against, ""


def _quotes(own: list[SourceSigns]) -> _Observed | None:
    single, double = sum(file.single for file in own), sum(file.double for file in own)
    if single + double < 30 or max(single, double) < 0.8 * (single + double):
        return None
    winner, example = ("single quotes", "'…'") if single > double else ("double quotes", '"…"')
    return winner, max(single, double), min(single, double), example


def _length(own: list[SourceSigns]) -> _Observed | None:
    """A limit shows as a cliff: many lines come close to it, hardly any exceed it."""
    lines = sum(file.lines for file in own)
    if lines < 2000:
        return None
    over = [sum(file.longer[at] for file in own if file.longer) for at in range(len(LENGTHS))]
    for at, limit in enumerate(LENGTHS[1:], start=1):
        close = over[at - 1] - over[at] if limit - LENGTHS[at - 1] >= 5 else over[max(at - 2, 0)] - over[at]
        if over[at] <= 0.002 * lines and close >= 4 * max(over[at], 1) and close >= 0.004 * lines:
            return str(limit), lines - over[at], over[at], ""
    return None


def _semicolons(own: list[SourceSigns], paths: list[str]) -> Convention | None:
    with_one = sum(file.signs.get("semicolon", 0) > file.lines * 0.1 for file in own)
    without = sum(file.signs.get("semicolon", 0) <= file.lines * 0.02 and file.lines > 15 for file in own)
    if with_one + without < 5 or max(with_one, without) < 0.8 * (with_one + without):
        return None
    pattern = "semicolons" if with_one > without else "no semicolons"
    counts = max(with_one, without), min(with_one, without)
    return of_counts("semicolons", pattern, *counts, *map(Evidence, paths[:1]))
