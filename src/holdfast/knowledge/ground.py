"""What a scan stands on: names, manifests, configuration and commands of a checkout, read once and asked by all."""

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
    """One checkout. Names are those of its own files: nothing vendored, built or generated."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.root = root
        self.everything = frozenset(name for name in names if "/" not in name or name.startswith("."))
        own = [name for name in names if not is_elsewhere(name)]
        self.total = len(own)
        # An even sample shows how files are named and laid out; at the top, where things are set up, every file counts.
        some = own
        if self.total > MOST_GROUND_NAMES:
            some = [name for name in own if name.count("/") <= 1]
            some += evenly([name for name in own if name.count("/") > 1], MOST_GROUND_NAMES)
        self.names = [name for name in some if not is_generated(name)]
        self.sampled = len(some) < len(own)
        # A lock file is generated, but its name tells the package manager.
        self.locks = [name for name in names if name.count("/") <= 2 and name.rpartition("/")[2] in LOCKS]
        self._texts: dict[str, str] = {}

    @cached_property
    def languages(self) -> dict[str, str]:
        """Language of every source file that is read or could be."""
        found = ((name, language_of(name)) for name in self.names)
        own = {name: language for name, language in found if language in READ_LANGUAGES}
        plain = sum(name.endswith(".c") for name in own)
        if sum(language == "cpp" for language in own.values()) > plain:
            own.update({name: "cpp" for name in own if name.endswith(".h")})  # headers of C++ under C's name
        return own

    @cached_property
    def counts(self) -> Counter[str]:
        """Source files per language; examples and documentation are none of the program."""
        own = Counter(language for name, language in self.languages.items() if not is_aside(name))
        own = own or Counter(self.languages.values())
        if own["cpp"] and own["c"] and own["cpp"] < own["c"] * 0.1:
            own["c"] += own.pop("cpp")
        return own

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
        """The language that commands at the top are for: the strongest of those that have their manifest there."""
        at_top = {manifest.language for manifest in self.manifests if not manifest.folder}
        own = (language for language in self.main if FAMILY.get(language, language) in at_top)
        return next(own, self.main[0] if self.main else "")

    @cached_property
    def configs(self) -> list[str]:
        """Files that set something up, the root's first."""
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
        """Names that may show a tool: all at the top, what is no bulk of code or data below, and some tests."""
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
        found = [read_manifest(self.root, name) for name in self.configs if manifest_language(name)]
        return [manifest for manifest in found if manifest][:120]

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
        """A TOML or JSON file as a table; empty when it is none, or broken."""
        text = self.text(name)
        try:
            if name.endswith(".toml"):
                found = tomllib.loads(text)
            else:
                found = json.loads(_without_comments(text)) if text else {}
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def tables(self, base: str) -> list[tuple[str, dict[str, Any]]]:
        """Every file of this name as a table, the root's first."""
        return [(name, self.table(name)) for name in self.configs if name.rpartition("/")[2] == base]

    @cached_property
    def own_names(self) -> set[str]:
        """Names of this repository's own packages: that they depend on each other is no choice of a library."""
        own: list[Any] = []
        for base in ("package.json", "pyproject.toml", "Cargo.toml"):
            for _, table in self.tables(base):
                parts = (table.get("project"), table.get("package"), table.get("tool", {}).get("poetry"))
                own += [part.get("name") for part in (table, *parts) if isinstance(part, dict)]
        for name in self.configs:
            for ending, expression in _OWN_NAME:
                if name.endswith(ending):
                    text = (
                        re.sub(_NAMES_OTHERS, "", self.text(name)) if ending == "pom.xml" else self.text(name)
                    )
                    own += re.findall(expression, text, re.MULTILINE)
        return {name.lower() for name in own if isinstance(name, str)}

    def dependency(self, *names: str, languages: tuple[str, ...] = ("any",)) -> Evidence | None:
        """The manifest of one of these languages that names one of these, the root's before those of its parts."""
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
        """The language's name where the program is written in several."""
        return shown(language) if len(self.main) > 1 else ""

    def java_tool(self, name: str) -> str:
        """`gradle` or `mvn`, or the wrapper that the repository brings for it."""
        wrapper = {"gradle": "gradlew", "mvn": "mvnw"}[name]
        return f"./{wrapper}" if wrapper in self.everything else name

    def runs_with(self, name: str) -> bool:
        """Whether the program itself needs this package, and not only its developers."""
        others = any(manifest.path == "pyproject.toml" for manifest in self.manifests)
        return any(
            name in manifest.names and not (others and manifest.path.startswith("requirements"))
            for manifest in self.manifests
        )

    def present(self) -> dict[str, tuple[int, int] | None]:
        """Stamps of the files that were read: while these are the same, a scan finds the same."""
        stamps = ((name, stamp_of(str(self.root), name)) for name in self.configs)
        return {name: (stamp.mtime, stamp.size) if stamp else None for name, stamp in stamps}


def field_of(table: Any, dotted: str) -> Any:
    """The value at `a.b.c` of nested tables; None where there is none."""
    for part in dotted.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table


def _without_comments(text: str) -> str:
    """JSON as configuration files have it: with comments and a last comma."""
    if "//" in text or "/*" in text:
        text = re.sub(
            r"(\"(?:\\.|[^\"\\])*\")|//[^\n]*|/\*[\s\S]*?\*/", lambda found: found.group(1) or "", text
        )
    return re.sub(r",(\s*[}\]])", r"\1", text)
