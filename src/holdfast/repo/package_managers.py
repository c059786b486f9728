"""Which package manager a repository is worked with, per language: by lock file, manifest and commands."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.model.knowledge import Convention, Evidence
from holdfast.repo.languages import shown

if TYPE_CHECKING:
    from holdfast.repo.ground import Ground

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


def package_managers(ground: Ground) -> list[Convention]:
    from holdfast.repo.ground import convention

    said = _said_in_commands(ground)
    found: list[Convention] = []
    at_top = {_LOCKS[name][0] for name in ground.locks if "/" not in name}
    beside = [language for language in sorted(at_top) if language in map(_of, ground.languages.values())]
    languages = list(dict.fromkeys([*map(_of, ground.main), *beside]))
    for language in languages:
        scores, evidence = _scores(ground, language)
        counted = said.get(language, Counter())
        total = sum(counted.values())
        for name, times in counted.items():
            if times >= 4 and times >= 0.3 * total:
                places = _places(ground, language, name)
                scores[name] = 1 - (1 - scores.get(name, 0.0)) * (1 - min(0.9, 0.5 + 0.4 * times / total))
                evidence.setdefault(name, []).extend(places)
        best = sorted(scores, key=lambda name: -scores[name])
        for name in best[:2]:
            second = name != best[0]
            if scores[name] < 0.5 or (second and (scores[name] < 0.75 or scores[best[0]] > 0.95)):
                continue
            example = next((e.path for e in evidence[name]), "")
            scope = shown(language) if len(languages) > 1 else ""
            found.append(
                convention(
                    "package_manager", name, scores[name], *evidence[name], example=example, scope=scope
                )
            )
    return found


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


def _places(ground: Ground, language: str, name: str) -> list[Evidence]:
    pattern = next(p for p, said, own in _COMMANDS if (said, own) == (language, name))
    found = [Evidence(c.path, c.field) for c in ground.commands if re.search(pattern, c.text)]
    return list(dict.fromkeys(found))[:2]


def script_runner(ground: Ground) -> str:
    """`pnpm`, `yarn`, `bun run` or `npm run`, by what the scripts of package.json are run with."""
    scores, _ = _scores(ground, "javascript")
    best = max(scores, key=lambda name: scores[name], default="npm")
    return {"pnpm": "pnpm", "yarn": "yarn", "bun": "bun run", "deno": "deno task"}.get(best, "npm run")


def run_prefix(managers: list[Convention], language: str) -> str:
    """What stands before a tool's name to run it in the project's environment."""
    names = [found.pattern for found in managers if not found.scope or found.scope == shown(_of(language))]
    if language == "python":
        table = {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pipenv": "pipenv run ",
                 "pixi": "pixi run ", "hatch": "hatch run "}  # fmt: skip
    elif language in _JS:
        table = {"pnpm": "pnpm ", "yarn": "yarn ", "npm": "npx ", "bun": "bunx "}
    elif language == "ruby":
        table = {"bundler": "bundle exec "}
    else:
        return ""
    return next((table[name] for name in names if name in table), "npx " if language in _JS else "")


def environment_prefix(ground: Ground) -> str:
    """`.venv/bin/` where the project's own tasks call what lies there; '' elsewhere."""
    if ground.leading != "python":
        return ""
    called = (
        re.match(r"(?:\./)?(\.?venv/bin/)\w", command.text) for command in ground.commands if command.task
    )
    return next((found.group(1) for found in called if found), "")
