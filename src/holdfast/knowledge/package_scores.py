"""Which package manager the files and commands of a repository speak for, by language."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.model.knowledge import Evidence

if TYPE_CHECKING:
    from holdfast.knowledge.ground import Ground

_LOCKS = {
    "uv.lock": ("python", "uv"),
    "poetry.lock": ("python", "poetry"),
    "pdm.lock": ("python", "pdm"),
    "Pipfile.lock": ("python", "pipenv"),
    "pixi.lock": ("python", "pixi"),
    "package-lock.json": ("javascript", "npm"),
    "npm-shrinkwrap.json": ("javascript", "npm"),
    "yarn.lock": ("javascript", "yarn"),
    "pnpm-lock.yaml": ("javascript", "pnpm"),
    "bun.lock": ("javascript", "bun"),
    "bun.lockb": ("javascript", "bun"),
    "deno.lock": ("javascript", "deno"),
    "Cargo.lock": ("rust", "cargo"),
    "Gemfile.lock": ("ruby", "bundler"),
    "composer.lock": ("php", "composer"),
    "mix.lock": ("elixir", "mix"),
    "go.sum": ("go", "go modules"),
}


_FILES = (
    (r"(?:^|/)pixi\.toml$", "python", "pixi", 0.55),
    (r"(?:^|/)environment\.ya?ml$", "python", "conda", 0.4),
    (r"(?:^|/)Pipfile$", "python", "pipenv", 0.8),
    (r"^requirements[\w.-]*\.txt$|^requirements/", "python", "pip", 0.6),
    (r"^setup\.py$", "python", "pip", 0.3),
    (r"(?:^|/)pnpm-workspace\.yaml$", "javascript", "pnpm", 0.9),
    (r"(?:^|/)\.yarnrc\.yml$", "javascript", "yarn", 0.9),
    (r"(?:^|/)bunfig\.toml$", "javascript", "bun", 0.6),
    (r"(?:^|/)deno\.jsonc?$", "javascript", "deno", 0.6),
    (r"(?:^|/)go\.mod$", "go", "go modules", 0.97),
    (r"(?:^|/)Cargo\.toml$", "rust", "cargo", 0.97),
    (r"^Gemfile$|^[\w.-]+\.gemspec$", "ruby", "bundler", 0.9),
    (r"(?:^|/)pom\.xml$", "java", "maven", 0.9),
    (r"(?:^|/)(?:build|settings)\.gradle(?:\.kts)?$", "java", "gradle", 0.9),
    (r"^composer\.json$", "php", "composer", 0.9),
    (r"^mix\.exs$", "elixir", "mix", 0.95),
    (r"^conanfile\.txt$", "cpp", "conan", 0.9),
    (r"^vcpkg\.json$", "cpp", "vcpkg", 0.9),
    (r"(?:^|/)pubspec\.yaml$", "dart", "pub", 0.95),
    (r"^Package\.swift$", "swift", "swift package manager", 0.95),
    (r"\.csproj$", "csharp", "nuget", 0.9),
    (r"^build\.sbt$", "scala", "sbt", 0.9),
)


_COMMANDS = (
    (r"\buv (?:run|sync|add|pip|lock|venv|build|tool run)\b|\buvx ", "python", "uv"),
    (r"\bpoetry (?:install|run|add|build)\b", "python", "poetry"),
    (r"\bpdm (?:install|run|add|sync)\b", "python", "pdm"),
    (r"\bpipenv (?:install|run)\b", "python", "pipenv"),
    (r"\bhatch (?:run|env|test|build)\b", "python", "hatch"),
    (r"\bpixi (?:run|install|add)\b", "python", "pixi"),
    (r"\b(?:conda|mamba) (?:env )?(?:create|install|activate)\b", "python", "conda"),
    (r"(?<!uv )\bpip3? install (?!-g)(?:.* )?(?:-e|-r|--editable|\.|\"\.|'\.)", "python", "pip"),
    (r"\bpnpm (?:install|i\b|add|run|-r|test|build|--filter|exec)", "javascript", "pnpm"),
    (r"\byarn(?: install| add| run| test| build| workspace|$)", "javascript", "yarn"),
    (r"\bnpm (?:ci|install|i\b|run|test)(?! -g| --global)", "javascript", "npm"),
    (r"\bbun (?:install|add|run)\b", "javascript", "bun"),
)


_WEIGHT = {"task": 3, "ci": 2, "hook": 2, "guide": 2, "readme": 2}


_JS = ("javascript", "typescript")


def _of(language: str) -> str:
    return {"typescript": "javascript", "kotlin": "java", "c": "cpp"}.get(language, language)


def _scores(ground: Ground, language: str) -> tuple[dict[str, float], dict[str, list[Evidence]]]:
    scores: dict[str, float] = {}
    evidence: dict[str, list[Evidence]] = {}

    def add(name: str, weight: float, path: str, field: str = "") -> None:
        scores[name] = 1 - (1 - scores.get(name, 0.0)) * (1 - weight)
        evidence.setdefault(name, []).append(Evidence(path, field))

    if language == "javascript":
        for path, table in ground.tables("package.json")[:1]:
            manager = str(table.get("packageManager") or "").partition("@")[0]
            if manager:
                add(manager, 0.97, path, "packageManager")
    at_root = [
        name for name in ground.locks if "/" not in name and _LOCKS[name.rpartition("/")[2]][0] == language
    ]
    nested = [name for name in ground.locks if _LOCKS[name.rpartition("/")[2]][0] == language]
    for path in at_root or nested[:3]:
        add(_LOCKS[path.rpartition("/")[2]][1], 0.95 if path in at_root else 0.6, path)
    for pattern, said, name, weight in _FILES:
        if said == language:
            shown_by = next(
                (one for one in [*ground.configs, *ground.everything] if re.search(pattern, one)), ""
            )
            if shown_by:
                add(name, weight, shown_by)
    for path, table in ground.tables("pyproject.toml")[:1] if language == "python" else ():
        tool = table.get("tool", {})
        backend = str(table.get("build-system", {}).get("build-backend", ""))
        for name in ("uv", "poetry", "pdm", "pixi", "hatch"):
            if name in tool:
                add(name, 0.6 if name in ("poetry", "uv", "pdm") else 0.3, path, f"tool.{name}")
        if backend.startswith("poetry"):
            add("poetry", 0.4, path, "build-system.build-backend")
    return scores, evidence


def _said_in_commands(ground: Ground) -> dict[str, Counter[str]]:
    said: dict[str, Counter[str]] = {}
    for command in ground.commands:
        for pattern, language, name in _COMMANDS:
            if re.search(pattern, command.text):
                said.setdefault(language, Counter())[name] += _WEIGHT[command.place]
                break
    return said


def script_runner(ground: Ground) -> str:
    """`pnpm`, `yarn`, `bun run` or `npm run`, by what the scripts of package.json are run with."""
    scores, _ = _scores(ground, "javascript")
    best = max(scores, key=lambda name: scores[name], default="npm")
    return {"pnpm": "pnpm", "yarn": "yarn", "bun": "bun run", "deno": "deno task"}.get(best, "npm run")
