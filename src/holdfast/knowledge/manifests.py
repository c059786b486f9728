"""Manifests (package.json, pyproject.toml, go.mod …) to names of dependencies. A broken one says nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.file_names import LEFT_OUT
from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.frameworks import LANGUAGE_OF_EXTENSION

# Languages as a scan knows them: whose file this is, whether it is a test, what of the tree is not ours to
# read.

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
GENERATED = lazy_regex(
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
# Whose tools and idioms a language shares; Scala builds as Java does, and is written otherwise.
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


def evenly(names: Iterable[str], most: int) -> list[str]:
    """At most so many, spread evenly over all: every part of a tree has its share."""
    some = list(names)
    if len(some) <= most:
        return some
    step = len(some) / most
    return [some[int(at * step)] for at in range(most)]


LARGEST = 1_000_000


class Manifest(Struct, frozen=True):
    """What one manifest names: itself and what it runs with, and what only its developers need."""

    path: str
    language: str
    names: frozenset[str] = frozenset()
    dev_names: frozenset[str] = frozenset()

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


_Names = tuple[Iterable[str], Iterable[str]]


@lru_cache(maxsize=4096)
def manifest_language(path: str) -> str | None:
    """The language that a file of this name announces, if it is a manifest."""
    if not path.endswith(_ENDINGS) and "\n" not in path:
        return None
    for pattern, language, _ in _READERS:
        if pattern.search(path):
            return language
    return None


def read_manifest(root: Path, path: str) -> Manifest | None:
    """The manifest at `path`, or None when this is none. One that cannot be read still names its language."""
    for pattern, language, reader in _READERS:
        if pattern.search(path):
            text = _text_inside(root, path)
            try:
                names, dev_names = reader(text) if text else ((), ())
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
                names, dev_names = (), ()
            return Manifest(path, language, frozenset(_lowered(names)), frozenset(_lowered(dev_names)))
    return None


def _lowered(names: Iterable[str]) -> Iterable[str]:
    return (name.lower() for name in names if isinstance(name, str))


def _text_inside(root: Path, path: str) -> str | None:
    """The text of a file that lies inside `root` and is not too large. A link that leads out is not read."""
    try:
        real = (root / path).resolve(strict=True)
        if not real.is_relative_to(root.resolve()) or not real.is_file():
            return None
        with open(real, "rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, RuntimeError, ValueError):
        return None
    return raw.decode("utf-8-sig", "replace") if len(raw) <= LARGEST else None


def _package_json(text: str) -> _Names:
    package = _table(json.loads(text))
    names = {*_table(package.get("dependencies")), *_table(package.get("peerDependencies"))}
    if isinstance(package.get("name"), str):
        names.add(package["name"])
    if "vscode" in _table(package.get("engines")):
        names.add("vscode")
    return names, set(_table(package.get("devDependencies")))


def _pyproject(text: str) -> _Names:
    document = _toml(text)
    project = _table(document.get("project"))
    poetry = _table(_table(document.get("tool")).get("poetry"))
    needed = [*_strings(project.get("dependencies")), *_table(poetry.get("dependencies"))]
    needed += [str(part["name"]) for part in (project, poetry) if isinstance(part.get("name"), str)]
    tool = _table(document.get("tool"))
    groups = [
        *_table(project.get("optional-dependencies")).values(),
        *_table(document.get("dependency-groups")).values(),
        *(_table(group).get("dependencies") for group in _table(poetry.get("group")).values()),
        *(_table(environment).get("dependencies") for environment in _hatch_environments(tool)),
        _table(tool.get("uv")).get("dev-dependencies"),
        poetry.get("dev-dependencies"),
        *_table(_table(tool.get("pdm")).get("dev-dependencies")).values(),
    ]
    extras = [name for group in groups for name in (group if isinstance(group, dict) else _strings(group))]
    return map(_python_name, needed), map(_python_name, extras)


def _hatch_environments(tool: dict[str, Any]) -> Iterable[Any]:
    return _table(_table(tool.get("hatch")).get("envs")).values()


def _requirements(text: str) -> _Names:
    lines = (line.strip() for line in text.splitlines())
    return [_python_name(line) for line in lines if line and line[0].isalnum()], ()


def _setup_cfg(text: str) -> _Names:
    _, found, rest = text.partition("\ninstall_requires")
    block = re.split(r"\n(?=\S)", rest.lstrip(" \t="), maxsplit=1)[0] if found else ""
    return _requirements(block)


def _setup_py(text: str) -> _Names:
    block = text.partition("install_requires")[2][:20_000].partition("]")[0]
    return [_python_name(name) for name in re.findall(r"['\"]([^'\"\n]+)['\"]", block)], ()


def _pipfile(text: str) -> _Names:
    document = _toml(text)
    return _table(document.get("packages")), _table(document.get("dev-packages"))


def _go_mod(text: str) -> _Names:
    module = re.findall(r"^module\s+(\S+)", text, re.MULTILINE)
    lines = [
        line.removeprefix("require").strip()
        for line in text.splitlines()
        if "// indirect" not in line and len(line) < 300
    ]
    return [*module, *(line.split()[0] for line in lines if re.match(r"\S+\.\S+/?\S* v\d", line))], ()


def _cargo(text: str) -> _Names:
    document = _toml(text)
    tables = [
        document,
        _table(document.get("workspace")),
        *map(_table, _table(document.get("target")).values()),
    ]
    package = _table(document.get("package")).get("name")
    names = {name for table in tables for name in _table(table.get("dependencies"))}
    return names | ({package} if isinstance(package, str) else set()), set(
        _table(document.get("dev-dependencies"))
    )


def _composer(text: str) -> _Names:
    document = _table(json.loads(text))
    own = document.get("name")
    names = {*_table(document.get("require"))} | ({own} if isinstance(own, str) else set())
    return names, set(_table(document.get("require-dev")))


def _quoted_after(*words: str) -> Callable[[str], _Names]:
    pattern = re.compile(r"^[^#\n]*?\b(?:" + "|".join(words) + r")[\s(]+[\"']([^\"'\n]+)", re.MULTILINE)
    return lambda text: (pattern.findall(text), ())


def _tokens(text: str) -> _Names:
    """For build files that are programs or XML: the dotted names in them, comments aside."""
    plain = _without(_without(text, "<!--", "-->"), "/*", "*/")
    lines = (line for line in plain.splitlines() if not line.lstrip().startswith(("//", "#")))
    return {name for line in lines for name in re.findall(r"[A-Za-z][\w.-]{1,80}", line)}, ()


def _without(text: str, opening: str, closing: str) -> str:
    """`text` without its comments, in one pass however many are left open."""
    first, *rest = text.split(opening)
    return first + " ".join(part.partition(closing)[2] for part in rest)


def _pubspec(text: str) -> _Names:
    names = re.findall(r"^  ([a-z_]\w*):", text, re.MULTILINE)
    return names + (["flutter"] if re.search(r"sdk:\s*flutter", text) else []), ()


def _mix(text: str) -> _Names:
    return re.findall(r"\{\s*:(\w+)\s*,", text), ()


def _csproj(text: str) -> _Names:
    plain = _without(text, "<!--", "-->")
    named = re.findall(r"(?:Sdk|Include|Name)=\"([^\"\n]+)\"", plain)
    return [
        *(name.split("/")[0] for name in named),
        *re.findall(r"<(Use\w+)>\s*true", plain, re.IGNORECASE),
    ], ()


def _cabal(text: str) -> _Names:
    return re.findall(r"(?:^|[,:])\s*([a-z][a-z0-9-]+)", text), ()


def _nothing(_: str) -> _Names:
    return (), ()


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # most sessions bring no such file along

    return tomllib.loads(text)


def _python_name(requirement: str) -> str:
    return (
        re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0].replace("_", "-").replace(".", "-")
    )


_READERS: tuple[tuple[re.Pattern[str], str, Callable[[str], _Names]], ...] = tuple(
    (lazy_regex(r"(?:^|/)" + pattern + "$"), language, reader)
    for pattern, language, reader in (
        (r"package\.json", "javascript", _package_json),
        (r"pyproject\.toml", "python", _pyproject),
        (r"requirements[\w.-]*\.txt", "python", _requirements),
        (r"requirements/[\w.-]+\.txt", "python", _requirements),
        (r"setup\.cfg", "python", _setup_cfg),
        (r"setup\.py", "python", _setup_py),
        (r"Pipfile", "python", _pipfile),
        (r"go\.mod", "go", _go_mod),
        (r"Cargo\.toml", "rust", _cargo),
        (r"Gemfile", "ruby", _quoted_after("gem")),
        (
            r"[\w.-]+\.gemspec",
            "ruby",
            _quoted_after("add_dependency", "add_runtime_dependency", "add_development_dependency"),
        ),
        (r"composer\.json", "php", _composer),
        (r"pom\.xml", "java", _tokens),
        (r"build\.gradle(?:\.kts)?", "java", _tokens),
        (r"libs\.versions\.toml", "java", _tokens),
        (r"build\.sbt", "scala", _tokens),
        (r"pubspec\.yaml", "dart", _pubspec),
        (r"mix\.exs", "elixir", _mix),
        (r"[^/]+\.(?:csproj|fsproj|vbproj)", "csharp", _csproj),
        (r"Package\.swift", "swift", _tokens),
        (r"CMakeLists\.txt", "cpp", _tokens),
        (r"package\.xml", "cpp", _tokens),
        (r"idf_component\.yml", "cpp", lambda _: (["idf"], ())),
        (r"[^/]+\.cabal", "haskell", _cabal),
        (r"DESCRIPTION", "r", _tokens),
        (r"Project\.toml", "julia", _nothing),
        (r"build\.zig", "zig", _nothing),
        (r"dune-project", "ocaml", _nothing),
        (r"(?:deps\.edn|project\.clj)", "clojure", _nothing),
        (r"rebar\.config", "erlang", _nothing),
        (r"deno\.jsonc?", "typescript", _nothing),
    )
)

# What manifests' names end with; all that most paths are asked.
_ENDINGS = (
    ".json",
    ".jsonc",
    ".toml",
    ".txt",
    ".cfg",
    "setup.py",
    "Pipfile",
    "go.mod",
    "Gemfile",
    ".gemspec",
    ".xml",
    ".gradle",
    ".gradle.kts",
    ".sbt",
    ".yaml",
    ".yml",
    "mix.exs",
    "proj",
    ".swift",
    ".cabal",
    "DESCRIPTION",
    "build.zig",
    "dune-project",
    "deps.edn",
    "project.clj",
    "rebar.config",
)
