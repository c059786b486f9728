"""Manifests (package.json, pyproject.toml, go.mod …) to names of dependencies. A broken one names none."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.core.reading import beginning_of, is_inside

LARGEST = 1_000_000
_PYTHON_DEV = (
    "project.optional-dependencies.*",
    "dependency-groups.*",
    "tool.poetry.group.*.dependencies",
    "tool.hatch.envs.*.dependencies",
    "tool.uv.dev-dependencies",
    "tool.poetry.dev-dependencies",
    "tool.pdm.dev-dependencies.*",
)


class PackageManifest(Struct, frozen=True):
    """The names in one manifest: its own and those of its dependencies, and what only developers need."""

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
    """The language of the manifest that has this name; None for other files."""
    if not path.endswith(_ENDINGS) and "\n" not in path:
        return None
    for pattern, language, _ in _READERS:
        if pattern.search(path):
            return language
    return None


def read_manifest(root: Path, path: str) -> PackageManifest | None:
    """The manifest at `path`; None for other files. A broken manifest still tells its language."""
    for pattern, language, reader in _READERS:
        if pattern.search(path):
            text = _text_inside(root, path)
            try:
                names, dev_names = map(_lowered, reader(text) if text and reader else ((), ()))
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
                return PackageManifest(path, language)
            return PackageManifest(path, language, names, dev_names)
    return None


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names if isinstance(name, str))


def _text_inside(root: Path, path: str) -> str | None:
    """The text of a file inside `root` that is not too large. A link that leads out is not read."""
    full = os.path.join(root, path)
    read = beginning_of(full, LARGEST + 1) if is_inside(full, str(root)) else None
    return read[0].decode("utf-8-sig", "replace") if read and len(read[0]) <= LARGEST else None


def _fields(document: Any, *fields: str) -> Iterator[str]:
    """The names at these dotted fields: keys of a table, texts of a list, or a text; `*` stands for any key."""
    for field in fields:
        values = [document]
        for part in field.split("."):
            tables = [value for value in values if isinstance(value, dict)]
            values = [value for table in tables for key, value in table.items() if part in ("*", key)]
        for value in values:
            yield from [value] if isinstance(value, str) else value if isinstance(value, dict | list) else ()


def _package_json(text: str) -> _Names:
    document = json.loads(text)
    names = {*_fields(document, "dependencies", "peerDependencies", "name")}
    return names | ({"vscode"} & {*_fields(document, "engines")}), _fields(document, "devDependencies")


def _pyproject(text: str) -> _Names:
    document = _toml(text)
    names = ("project.dependencies", "tool.poetry.dependencies", "project.name", "tool.poetry.name")
    return map(_python_name, _fields(document, *names)), map(_python_name, _fields(document, *_PYTHON_DEV))


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
    return _fields(document, "packages"), _fields(document, "dev-packages")


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
    names = ("dependencies", "workspace.dependencies", "target.*.dependencies", "package.name")
    return _fields(document, *names), _fields(document, "dev-dependencies")


def _composer(text: str) -> _Names:
    document = json.loads(text)
    return _fields(document, "require", "name"), _fields(document, "require-dev")


def _quoted_after(*words: str) -> Callable[[str], _Names]:
    pattern = lazy_regex(r"^[^#\n]*?\b(?:" + "|".join(words) + r")[\s(]+[\"']([^\"'\n]+)", re.MULTILINE)
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


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # most sessions bring no such file along

    return tomllib.loads(text)


def _python_name(requirement: str) -> str:
    return (
        re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0].replace("_", "-").replace(".", "-")
    )


_READERS: tuple[tuple[re.Pattern[str], str, Callable[[str], _Names] | None], ...] = tuple(
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
        (r"Project\.toml", "julia", None),
        (r"build\.zig", "zig", None),
        (r"dune-project", "ocaml", None),
        (r"(?:deps\.edn|project\.clj)", "clojure", None),
        (r"rebar\.config", "erlang", None),
        (r"deno\.jsonc?", "typescript", None),
    )
)

# Endings of manifests' names: a quick test that most paths fail.
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
