"""Languages as a scan sees them: the language of a file, whether it is a test, and what is not the program's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from holdfast.core.file_names import LEFT_OUT
from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.frameworks import LANGUAGE_OF_EXTENSION

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
# Folders that say little about how the program is written: near the top, or anywhere.
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
_GENERATED = lazy_regex(
    r"\.min\.(?:js|css)$|\.d\.[cm]?ts$|\.pb\.\w+$|\.pb\.gw\.go$|_pb2(?:_grpc)?\.pyi?$|\.g\.dart$|\.freezed\.dart$"
    r"|\.generated\.\w+$|\.gen\.\w+$|[._-]bundle\.js$|\.designer\.cs$|_generated\.\w+$|_gen\.go$|zz_generated"
    r"|\.lock$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum)$|\.snap$|\.map$|_string\.go$",
    re.IGNORECASE,
)
MADE_BY_A_TOOL = lazy_regex(
    rb"(?i)code generated .{0,80}do not edit|@generated\b|auto-?generated (?:by|file|from)|DO NOT EDIT"
)
_LEFT_OUT = LEFT_OUT - {"bin", "env", "out", "gen"}

_TESTS = {
    "python": lazy_regex(
        r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|(?:^|/)tests?/(?:[^/]+/)*[^/]+\.py$"
    ),
    "javascript": lazy_regex(
        r"[.\-_](?:test|spec|e2e|cy)\.[cm]?[jt]sx?$|(?:^|/)(?:__tests__|tests?)/.*\.[cm]?[jt]sx?$"
    ),
    "go": lazy_regex(r"_test\.go$"),
    "rust": lazy_regex(r"(?:^|/)tests/.*\.rs$|(?:^|/)tests?\.rs$|_tests?\.rs$"),
    "java": lazy_regex(
        r"(?:^|/)src/(?:test|integrationTest|testFixtures|androidTest)/|(?:Tests?|IT|Spec)\.(?:java|kt|scala)$"
    ),
    "ruby": lazy_regex(r"_(?:spec|test)\.rb$|(?:^|/)(?:spec|test)/.*\.rb$"),
    "cpp": lazy_regex(
        r"(?:^|/)(?:unit)?tests?/.*\.\w+$|(?:^|/)test_[^/]+\.\w+$|[_\-](?:unit)?tests?\.(?:c|cc|cpp|cxx)$|Tests?\.(?:cc|cpp)$"
    ),
    "csharp": lazy_regex(r"(?:^|/)[^/]*Tests?/|Tests?\.cs$"),
    "php": lazy_regex(r"(?:^|/)tests?/.*\.php$|Test\.php$"),
    "swift": lazy_regex(r"(?:^|/)[^/]*Tests/|Tests?\.swift$"),
    "dart": lazy_regex(r"_test\.dart$"),
    "elixir": lazy_regex(r"_test\.exs$"),
}
_TESTS["typescript"] = _TESTS["javascript"]
_TESTS["kotlin"] = _TESTS["scala"] = _TESTS["java"]
_TESTS["c"] = _TESTS["cpp"]

_MIXED = frozenset(
    {"ipynb", "erb", "razor", "heex", "astro"}
)  # mostly not code of the language they count for
# The language whose tools and idioms another shares. Scala builds as Java does, but is written differently.
KIN = {"typescript": "javascript", "kotlin": "java", "c": "cpp"}
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
    """Whether a file is in a folder for vendored or built files."""
    return _folder_is_left_out(name.rpartition("/")[0])


def is_generated(name: str) -> bool:
    return _GENERATED.search(name) is not None


def is_aside(name: str) -> bool:
    return _folder_is_aside(name.rpartition("/")[0])


def shown(language: str) -> str:
    return SHOWN.get(language, language)


def evenly(names: Iterable[str], most: int) -> list[str]:
    """At most `most` of the names, spread evenly: every part of a tree has its share."""
    some = list(names)
    if len(some) <= most:
        return some
    step = len(some) / most
    return [some[int(at * step)] for at in range(most)]
