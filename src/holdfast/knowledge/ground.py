"""The input of a scan: names, manifests, configuration and commands of a checkout, read once for all detectors."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.checkout import printable, stamp_of, text_of
from holdfast.knowledge.commands import RepositoryCommand, commands_of, holds_commands
from holdfast.knowledge.languages import (
    FAMILY,
    READ_LANGUAGES,
    evenly,
    is_aside,
    is_elsewhere,
    is_generated,
    is_test,
    language_of,
    shown,
)
from holdfast.knowledge.manifests import PackageManifest, manifest_language, read_manifest
from holdfast.knowledge.package_managers import LOCKS, script_runner
from holdfast.model.knowledge import Evidence

MOST_GROUND_NAMES = 10_000
_DEEPEST = 3
_MOST_MARKERS = 4_000
_MOST_CONFIGS = 250
_CONFIG = lazy_regex(
    r"(?:^|/)(?:\.editorconfig|\.prettierrc(?:\.\w+)?|biome\.jsonc?|\.?rustfmt\.toml|\.?ruff\.toml|\.rubocop\.yml|"
    r"\.clang-format|setup\.cfg|\.flake8|tox\.ini|\.golangci\.(?:ya?ml|toml)|tsconfig(?:\.base)?\.json|"
    r"\.?clippy\.toml|deno\.jsonc?|pnpm-workspace\.yaml|go\.work|Cargo\.toml|pyproject\.toml|package\.json|"
    r"\.?mise\.toml|rust-toolchain\.toml|\.nvmrc|\.python-version|\.tool-versions|eslint\.config\.\w+|"
    r"\.eslintrc(?:\.\w+)?|\.?commitlint(?:rc)?[\w.]*|\.isort\.cfg|composer\.json|pom\.xml|\.oxlintrc\.json)$"
)
_GUIDE = lazy_regex(r"(?i)^docs?/(?:[\w-]+/)?(?:contributing|developing|development|hacking)\.\w+$")
_CODE_THAT_CONFIGURES = lazy_regex(
    r"(?:^|/)(?:setup|noxfile|tasks|conf)\.py$|config[\w.]*\.\w+$|file\.(?:js|ts|go)$|\.conf\.\w+$|\.kts$"
)
_OWN_NAME = (
    ("go.mod", r"^module (\S+)"),
    ("pom.xml", r"<artifactId>([\w.-]+)</artifactId>"),
    (".gemspec", r"\.name\s*=\s*['\"]([\w-]+)"),
    ("CMakeLists.txt", r"^\s*project\s*\(\s*(\w+)"),
)
_NAMES_OTHERS = r"<(parent|dependenc\w+|build|plugins?)>[\s\S]*?</\1>"  # parts of a pom.xml


class Ground:
    """One checkout. `names` are its own files: nothing vendored, built or generated."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.root = root
        self.everything = frozenset(name for name in names if "/" not in name or name.startswith("."))
        own_files = [name for name in names if not is_elsewhere(name)]
        self.total = len(own_files)
        # An even sample shows naming and layout; near the top, where the configuration is, every file counts.
        sample = own_files
        if self.total > MOST_GROUND_NAMES:
            sample = [name for name in own_files if name.count("/") <= 1]
            sample += evenly([name for name in own_files if name.count("/") > 1], MOST_GROUND_NAMES)
        self.names = [name for name in sample if not is_generated(name)]
        self.sampled = len(sample) < len(own_files)
        # A lock file is generated, but its name shows the package manager.
        self.locks = [name for name in names if name.count("/") <= 2 and name.rpartition("/")[2] in LOCKS]
        self._texts: dict[str, str] = {}

    @cached_property
    def languages(self) -> dict[str, str]:
        """The language of every source file in a supported language."""
        pairs = ((name, language_of(name)) for name in self.names)
        languages = {name: language for name, language in pairs if language in READ_LANGUAGES}
        plain = sum(name.endswith(".c") for name in languages)
        if sum(language == "cpp" for language in languages.values()) > plain:
            languages.update(
                {name: "cpp" for name in languages if name.endswith(".h")}
            )  # headers of C++ under C's name
        return languages

    @cached_property
    def counts(self) -> Counter[str]:
        """Source files per language, without examples and documentation."""
        counts = Counter(language for name, language in self.languages.items() if not is_aside(name))
        counts = counts or Counter(self.languages.values())
        if counts["cpp"] and counts["c"] and counts["cpp"] < counts["c"] * 0.1:
            counts["c"] += counts.pop("cpp")
        return counts

    @cached_property
    def main(self) -> list[str]:
        """The languages the program is written in, the strongest first."""
        total = sum(self.counts.values())
        manifests = {manifest.language for manifest in self.manifests if not manifest.folder}
        main = [
            language
            for language, count in self.counts.most_common()
            if count >= 0.08 * total or count >= 60 or (language in manifests and count >= 3)
        ]
        if self.counts["typescript"] >= 3 * self.counts["javascript"] and "typescript" in main:
            main = [language for language in main if language != "javascript"]  # scripts beside the program
        return main

    @cached_property
    def leading(self) -> str:
        """The language of commands at the top: the strongest one with a manifest there."""
        at_top = {manifest.language for manifest in self.manifests if not manifest.folder}
        candidates = (language for language in self.main if FAMILY.get(language, language) in at_top)
        return next(candidates, self.main[0] if self.main else "")

    @cached_property
    def configs(self) -> list[str]:
        """Configuration files, the root's first."""
        chosen = [
            name
            for name in self.names
            if name.count("/") <= _DEEPEST
            and (name not in self.languages or _CODE_THAT_CONFIGURES.search(name))
            and (not is_aside(name) or "/" not in name or _GUIDE.search(name))
            and (manifest_language(name) or holds_commands(name) or _CONFIG.search(name))
            and not is_test(name, language_of(name))
            and not re.search(r"(?:^|/)tests?/", name)
            and printable(name)
        ]
        chosen.sort(key=lambda name: (name.count("/") if not name.startswith(".github/") else 0, name))
        return chosen[:_MOST_CONFIGS]

    @cached_property
    def markers(self) -> list[str]:
        """Names that may show a tool: all at the top, files below that are not code, and some tests."""
        below = [
            name
            for name in self.names
            if "/" in name
            and name.count("/") <= _DEEPEST
            and (name not in self.languages or _CODE_THAT_CONFIGURES.search(name))
        ]
        below.sort(key=lambda name: name.count("/"))
        return [*sorted(self.everything), *below[:_MOST_MARKERS], *evenly(self.tests, 50)]

    @cached_property
    def manifests(self) -> list[PackageManifest]:
        manifests = [read_manifest(self.root, name) for name in self.configs if manifest_language(name)]
        return [manifest for manifest in manifests if manifest][:120]

    @cached_property
    def runner(self) -> str:
        """How a script of package.json is run here."""
        return script_runner(self)

    @cached_property
    def commands(self) -> list[RepositoryCommand]:
        return commands_of(self.root, [name for name in self.configs if holds_commands(name)], self.runner)

    @cached_property
    def tests(self) -> list[str]:
        return [name for name, language in self.languages.items() if is_test(name, language)]

    def text(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = text_of(self.root, name, 1_000_000)
        return self._texts[name]

    def table(self, name: str) -> dict[str, Any]:
        """A TOML or JSON file as a table; empty if it is broken or not a table."""
        text = self.text(name)
        try:
            if name.endswith(".toml"):
                document = tomllib.loads(text)
            else:
                document = json.loads(_without_comments(text)) if text else {}
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    def tables(self, base: str) -> list[tuple[str, dict[str, Any]]]:
        """Every file of this name as a table, the root's first."""
        return [(name, self.table(name)) for name in self.configs if name.rpartition("/")[2] == base]

    @cached_property
    def own_names(self) -> set[str]:
        """Names of this repository's own packages: a dependency on one of them is not the choice of a library."""
        names: list[Any] = []
        for base in ("package.json", "pyproject.toml", "Cargo.toml"):
            for _, table in self.tables(base):
                parts = (table.get("project"), table.get("package"), table.get("tool", {}).get("poetry"))
                names += [part.get("name") for part in (table, *parts) if isinstance(part, dict)]
        for name in self.configs:
            for ending, expression in _OWN_NAME:
                if name.endswith(ending):
                    text = (
                        re.sub(_NAMES_OTHERS, "", self.text(name)) if ending == "pom.xml" else self.text(name)
                    )
                    names += re.findall(expression, text, re.MULTILINE)
        return {name.lower() for name in names if isinstance(name, str)}

    def dependency(self, *names: str, languages: tuple[str, ...] = ("any",)) -> Evidence | None:
        """The first manifest for these languages with one of these dependencies; the root's come first."""
        foreign = [name for name in names if name not in self.own_names]
        families = {FAMILY.get(language, language) for language in languages}
        for manifest in self.manifests:
            if "any" not in families and FAMILY.get(manifest.language, manifest.language) not in families:
                continue
            for name in foreign:
                if name in manifest.names or name in manifest.dev_names:
                    return Evidence(manifest.path, name)
        return None

    def scope(self, language: str) -> str:
        """The language's name if the program has several languages, else ''."""
        return shown(language) if len(self.main) > 1 else ""

    def java_tool(self, name: str) -> str:
        """`gradle` or `mvn`, or the repository's wrapper for it."""
        wrapper = {"gradle": "gradlew", "mvn": "mvnw"}[name]
        return f"./{wrapper}" if wrapper in self.everything else name

    def runs_with(self, name: str) -> bool:
        """Whether the program itself needs this package, not only its developers."""
        with_pyproject = any(manifest.path == "pyproject.toml" for manifest in self.manifests)
        return any(
            name in manifest.names and not (with_pyproject and manifest.path.startswith("requirements"))
            for manifest in self.manifests
        )

    def present(self) -> dict[str, tuple[int, int] | None]:
        """Stamps of the files that were read: if these are unchanged, so is the result of a scan."""
        stamps = ((name, stamp_of(str(self.root), name)) for name in self.configs)
        return {name: (stamp.mtime, stamp.size) if stamp else None for name, stamp in stamps}


def field_of(table: Any, dotted: str) -> Any:
    """The value at `a.b.c` of nested tables; None if there is none."""
    for part in dotted.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table


def _without_comments(text: str) -> str:
    """JSON without the comments and trailing commas that configuration files may have."""
    if "//" in text or "/*" in text:
        text = re.sub(
            r"(\"(?:\\.|[^\"\\])*\")|//[^\n]*|/\*[\s\S]*?\*/", lambda found: found.group(1) or "", text
        )
    return re.sub(r",(\s*[}\]])", r"\1", text)
