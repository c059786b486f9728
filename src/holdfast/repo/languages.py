"""Languages as a scan knows them: whose file this is, whether it is a test, what of the tree is not ours to read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from holdfast.repo.frameworks import LANGUAGE_OF_EXTENSION
from holdfast.repo.listing import LEFT_OUT

# Languages whose code is read; of the others only names are counted.
READ_LANGUAGES = frozenset(
    {
        "python",
        "javascript",
        "typescript",
        "go",
        "rust",
        "java",
        "ruby",
        "c",
        "cpp",
        "kotlin",
        "csharp",
        "php",
    }
    | {"swift", "scala", "dart", "elixir"}
)
# Where things lie that say little about how this program is written: near the top, or anywhere.
_ASIDE_ON_TOP = frozenset(
    {"docs", "doc", "website", "site", "www", "examples", "example", "samples", "sample", "demo", "demos"}
    | {
        "templates",
        "template",
        "playground",
        "playgrounds",
        "benchmarks",
        "benchmark",
        "bench",
        "cookbook",
        "documentation",
    }
)
_ASIDE = frozenset(
    {
        "fixtures",
        "fixture",
        "testdata",
        "test-data",
        "fixtures__",
        "snapshots__",
        "snapshots",
        "locales",
        "i18n",
    }
)
_TOP = 3  # deeper down `samples` is a name like any other
GENERATED = re.compile(
    r"\.min\.(?:js|css)$|\.d\.[cm]?ts$|\.pb\.\w+$|\.pb\.gw\.go$|_pb2(?:_grpc)?\.pyi?$|\.g\.dart$|\.freezed\.dart$"
    r"|\.generated\.\w+$|\.gen\.\w+$|[._-]bundle\.js$|\.designer\.cs$|_generated\.\w+$|_gen\.go$|zz_generated"
    r"|\.lock$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum)$|\.snap$|\.map$|_string\.go$",
    re.IGNORECASE,
)
MADE_BY_A_TOOL = re.compile(
    rb"(?i)code generated .{0,80}do not edit|@generated\b|auto-?generated (?:by|file|from)|DO NOT EDIT"
)
_LEFT_OUT = LEFT_OUT - {"bin", "env", "out", "gen"}

_TESTS = {
    "python": re.compile(
        r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|(?:^|/)tests?/(?:[^/]+/)*[^/]+\.py$"
    ),
    "javascript": re.compile(
        r"[.\-_](?:test|spec|e2e|cy)\.[cm]?[jt]sx?$|(?:^|/)(?:__tests__|tests?)/.*\.[cm]?[jt]sx?$"
    ),
    "go": re.compile(r"_test\.go$"),
    "rust": re.compile(r"(?:^|/)tests/.*\.rs$|(?:^|/)tests?\.rs$|_tests?\.rs$"),
    "java": re.compile(
        r"(?:^|/)src/(?:test|integrationTest|testFixtures|androidTest)/|(?:Tests?|IT|Spec)\.(?:java|kt|scala)$"
    ),
    "ruby": re.compile(r"_(?:spec|test)\.rb$|(?:^|/)(?:spec|test)/.*\.rb$"),
    "cpp": re.compile(
        r"(?:^|/)(?:unit)?tests?/.*\.\w+$|(?:^|/)test_[^/]+\.\w+$|[_\-](?:unit)?tests?\.(?:c|cc|cpp|cxx)$|Tests?\.(?:cc|cpp)$"
    ),
    "csharp": re.compile(r"(?:^|/)[^/]*Tests?/|Tests?\.cs$"),
    "php": re.compile(r"(?:^|/)tests?/.*\.php$|Test\.php$"),
    "swift": re.compile(r"(?:^|/)[^/]*Tests/|Tests?\.swift$"),
    "dart": re.compile(r"_test\.dart$"),
    "elixir": re.compile(r"_test\.exs$"),
}
_TESTS["typescript"] = _TESTS["javascript"]
_TESTS["kotlin"] = _TESTS["scala"] = _TESTS["java"]
_TESTS["c"] = _TESTS["cpp"]

_MIXED = frozenset(
    {"ipynb", "erb", "razor", "heex", "astro"}
)  # mostly not code of the language they count for
FAMILY = {"typescript": "javascript", "kotlin": "java", "scala": "java", "c": "cpp"}
SHOWN = {
    "python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "go": "Go", "rust": "Rust",
    "java": "Java", "ruby": "Ruby", "c": "C", "cpp": "C++", "kotlin": "Kotlin", "csharp": "C#", "php": "PHP",
    "swift": "Swift", "scala": "Scala", "dart": "Dart", "elixir": "Elixir", "shell": "shell",
}  # fmt: skip


def language_of(name: str) -> str:
    base = name.rpartition("/")[2]
    if "." not in base[1:]:
        return ""
    extension = base.rpartition(".")[2].lower()
    return "" if extension in _MIXED else LANGUAGE_OF_EXTENSION.get(extension, "")


def is_test(name: str, language: str) -> bool:
    pattern = _TESTS.get(language)
    return bool(pattern and pattern.search(name))


@lru_cache(maxsize=50_000)
def _folder_is_left_out(folder: str) -> bool:
    return bool(_LEFT_OUT.intersection(folder.lower().split("/")))


@lru_cache(maxsize=50_000)
def _folder_is_aside(folder: str) -> bool:
    parts = [part.lstrip("_.") for part in folder.lower().split("/")]
    return bool(_ASIDE.intersection(parts) or _ASIDE_ON_TOP.intersection(parts[:_TOP]))


def is_elsewhere(name: str) -> bool:
    """Whether a file lies where vendored or built things lie."""
    return _folder_is_left_out(name.rpartition("/")[0])


def is_generated(name: str) -> bool:
    return GENERATED.search(name) is not None


def is_left_out(name: str) -> bool:
    """Whether a file is vendored, built or generated: others wrote it, or a tool."""
    return is_elsewhere(name) or is_generated(name)


def is_aside(name: str) -> bool:
    return _folder_is_aside(name.rpartition("/")[0])


def shown(language: str) -> str:
    return SHOWN.get(language, language)


def main_languages(counts: dict[str, int], least_share: float = 0.08) -> list[str]:
    """The languages a program is written in, the strongest first; a few scripts beside it are none of them."""
    read = {language: count for language, count in counts.items() if language in READ_LANGUAGES}
    total = sum(read.values())
    ranked = sorted(read, key=lambda language: -read[language])
    return [language for language in ranked if read[language] >= max(1, least_share * total)]


def evenly(names: Iterable[str], most: int) -> list[str]:
    """At most so many, spread evenly over all: every part of a tree has its share."""
    some = list(names)
    if len(some) <= most:
        return some
    step = len(some) / most
    return [some[int(at * step)] for at in range(most)]
