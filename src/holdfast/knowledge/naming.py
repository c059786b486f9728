"""Naming styles of files and declared names per language, with the number of names that follow or break them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.findings import of_counts
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.languages import is_aside, shown
from holdfast.knowledge.source import SourceSigns
from holdfast.model.knowledge import Convention, Evidence

_LEAST = 4
_SHARE = 0.7
_STYLES = (
    ("snake_case", lazy_regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+$")),
    ("kebab-case", lazy_regex(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+$")),
    ("SCREAMING_SNAKE_CASE", lazy_regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")),
    ("camelCase", lazy_regex(r"[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+$")),
    ("PascalCase", lazy_regex(r"(?:[A-Z]+[a-z0-9]+)+[A-Z]*$|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)*$")),
    ("lowercase", lazy_regex(r"[a-z][a-z0-9]*$")),
)
_FIXED = frozenset(
    {
        "__init__",
        "__main__",
        "index",
        "main",
        "mod",
        "lib",
        "conftest",
        "setup",
        "README",
        "Makefile",
        "doc",
        "App",
    }
)


def style_of(name: str) -> str:
    bare = name.strip("_$")
    return next((style for style, pattern in _STYLES if pattern.match(bare)), "")


def naming_conventions(ground: Ground, seen: Mapping[str, SourceSigns]) -> list[Convention]:
    conventions = [_file_names(ground, language) for language in ground.main]
    for language in ground.main:
        files = {path: file for path, file in seen.items() if file.language == language}
        for kind, label in (("functions", "functions"), ("classes", "types")):
            names = _distinct((path, name) for path, file in files.items() for name in getattr(file, kind))
            conventions.append(
                (_mixed_caps if language == "go" else _declared)(names, f"{shown(language)} {label}")
            )
    return [*filter(None, conventions)]


def _winner(styles: Counter[str]) -> tuple[str, int, int]:
    """The style of most names, how many follow it and how many do not; '' if none is clearly preferred."""
    winner, count = styles.most_common(1)[0] if styles else ("", 0)
    total = styles.total()
    return ("", 0, 0) if count < _LEAST or count < _SHARE * total else (winner, count, total - count)


def _file_names(ground: Ground, language: str) -> Convention | None:
    """Names of one word fit several styles, so they decide only if there are no others."""
    stems = {
        name: stem
        for name, file_language in ground.languages.items()
        if file_language == language
        and not is_aside(name)
        and "/migrations/" not in name
        and "/migrate/" not in name
        and (stem := _stem(name)) not in _FIXED
    }
    styles: Counter[str] = Counter(style for name in stems.values() if (style := style_of(name)))
    decisive = Counter({style: count for style, count in styles.items() if style != "lowercase"})
    if not decisive or decisive.total() < min(_LEAST, styles.total()):
        if styles["lowercase"] < 2 * _LEAST:
            return None
        decisive = styles
    winner, count, counter = _winner(decisive)
    if not winner:
        return None
    examples = [path for path, name in stems.items() if style_of(name) == winner]
    sample = examples[len(examples) // 2]
    breaking = [path for path, name in stems.items() if style_of(name) not in (winner, "lowercase", "")][:1]
    evidence = [Evidence(path) for path in (sample, *examples[:1])] + [
        Evidence(path, "counter") for path in breaking
    ]
    example = sample.rpartition("/")[2] if "." in sample else stems[sample]
    scope = f"{shown(language)} files"
    return of_counts("naming", winner, count, counter, *evidence, example=example, scope=scope)


def _stem(path: str) -> str:
    stem = path.rpartition("/")[2].removeprefix(".").partition(".")[0]
    return re.sub(r"(?:_test|_spec|Test|Tests|IT)$", "", stem) or stem


def _distinct(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each name once, with the first file that declares it, without names that the language fixes (`__init__`)."""
    names: dict[str, str] = {}
    for path, name in pairs:
        bare = name.rpartition("::")[2]
        if not (bare.startswith("__") and bare.endswith("__")) and not bare.startswith("~"):
            names.setdefault(bare, path)
    return names


def _declared(names: Mapping[str, str], scope: str) -> Convention | None:
    styles: Counter[str] = Counter(style for name in names if (style := style_of(name)))
    if scope.endswith("types"):  # Url and HTTPClient are both written so; one word is no other style here
        styles["PascalCase"] += styles.pop("SCREAMING_SNAKE_CASE", 0) if styles["PascalCase"] > 20 else 0
    decisive = Counter({style: count for style, count in styles.items() if style != "lowercase"})
    if scope == "TypeScript functions":
        decisive.pop("PascalCase", None)  # components are functions too
    winner, count, counter = _winner(decisive)
    if not winner:
        return None
    example = next(name for name in names if style_of(name) == winner)
    evidence = [Evidence(names[example], example)]
    breaking = next(
        (name for name in names if style_of(name) not in (winner, "lowercase", "", "PascalCase")), None
    )
    if breaking:
        evidence.append(Evidence(names[breaking], f"counter: {breaking}"))
    return of_counts("naming", winner, count, counter, *evidence, example=example, scope=scope)


def _mixed_caps(names: Mapping[str, str], scope: str) -> Convention | None:
    """Go uses PascalCase for exported names and camelCase for others: only underscores break the convention."""
    candidates = {
        name: path for name, path in names.items() if not re.match(r"(?:Test|Benchmark|Example|Fuzz)", name)
    }
    broken = [name for name in candidates if "_" in name.strip("_")]
    count = len(candidates) - len(broken)
    if count < _LEAST or count < _SHARE * len(candidates):
        return None
    example = next(iter(candidates))
    pattern = "MixedCaps (PascalCase exported, camelCase unexported)"
    where = Evidence(candidates[example], example)
    return of_counts("naming", pattern, count, len(broken), where, example=example, scope=scope)
