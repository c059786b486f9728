"""Which package manager a repository uses for each language, and how a tool is run through it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from holdfast.knowledge.findings import convention
from holdfast.knowledge.languages import KIN, shown
from holdfast.model.knowledge import Convention, Evidence

if TYPE_CHECKING:
    from holdfast.knowledge.ground import Ground

# Lock file, with the language and the package manager that it belongs to.
LOCKS = {
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
# Pattern of a file name, language, package manager, and how much the file alone says.
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
# Pattern of a command, language, package manager.
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
_PYPROJECT_TABLES = (("uv", 0.6), ("poetry", 0.6), ("pdm", 0.6), ("pixi", 0.3), ("hatch", 0.3))
_WEIGHT = {"task": 3, "ci": 2, "hook": 2, "guide": 2, "readme": 2}
# What stands before a tool's name to run it in the project's environment.
_PREFIXES = {
    "python": {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pipenv": "pipenv run ",
               "pixi": "pixi run ", "hatch": "hatch run "},
    "javascript": {"pnpm": "pnpm ", "yarn": "yarn ", "npm": "npx ", "bun": "bunx "},
    "ruby": {"bundler": "bundle exec "},
}  # fmt: skip

_Vote = tuple[str, float, list[Evidence]]  # package manager, weight from 0 to 1, what shows it


def package_managers(ground: Ground) -> list[Convention]:
    used = _used_in_commands(ground)
    at_top = {LOCKS[name][0] for name in ground.locks if "/" not in name}
    present = {KIN.get(language, language) for language in ground.languages.values()}
    main = [KIN.get(language, language) for language in ground.main]
    languages = list(dict.fromkeys([*main, *sorted(at_top & present)]))
    conventions: list[Convention] = []
    for language in languages:
        scores, evidence = _tally([*_declared(ground, language), *_run(ground, language, used)])
        best = sorted(scores, key=lambda name: -scores[name])
        for name in best[:2]:
            if scores[name] < 0.5 or (name != best[0] and (scores[name] < 0.75 or scores[best[0]] > 0.95)):
                continue
            example = next((place.path for place in evidence[name]), "")
            scope = shown(language) if len(languages) > 1 else ""
            conventions.append(
                convention(
                    "package_manager", name, scores[name], *evidence[name], example=example, scope=scope
                )
            )
    return conventions


def script_runner(ground: Ground) -> str:
    """`pnpm`, `yarn`, `bun run` or `npm run`: how a script of package.json is run here."""
    scores, _ = _tally(_declared(ground, "javascript"))
    best = max(scores, key=lambda name: scores[name], default="npm")
    return {"pnpm": "pnpm", "yarn": "yarn", "bun": "bun run", "deno": "deno task"}.get(best, "npm run")


def run_prefix(ground: Ground, managers: list[Convention], language: str) -> str:
    """The prefix of a tool's command; `.venv/bin/` if the tasks of a Python project call tools there."""
    if language == ground.leading == "python":
        called = (re.match(r"(?:\./)?(\.?venv/bin/)\w", item.text) for item in ground.commands if item.task)
        if match := next(filter(None, called), None):
            return match.group(1)
    family = KIN.get(language, language)
    table = _PREFIXES.get(family, {})
    names = [item.pattern for item in managers if not item.scope or item.scope == shown(family)]
    return next((table[name] for name in names if name in table), "npx " if family == "javascript" else "")


def _tally(votes: Iterable[_Vote]) -> tuple[dict[str, float], dict[str, list[Evidence]]]:
    scores: dict[str, float] = {}
    evidence: dict[str, list[Evidence]] = {}
    for name, weight, places in votes:
        scores[name] = 1 - (1 - scores.get(name, 0.0)) * (1 - weight)
        evidence.setdefault(name, []).extend(places)
    return scores, evidence


def _declared(ground: Ground, language: str) -> Iterator[_Vote]:
    """Votes from manifests, lock files and configuration files."""
    for path, table in ground.tables("package.json")[:1] if language == "javascript" else ():
        if manager := str(table.get("packageManager") or "").partition("@")[0]:
            yield manager, 0.97, [Evidence(path, "packageManager")]
    locks = [(path, *LOCKS[path.rpartition("/")[2]]) for path in ground.locks]
    own_locks = [(path, name) for path, lock_language, name in locks if lock_language == language]
    at_root = [(path, name) for path, name in own_locks if "/" not in path]
    for path, name in at_root or own_locks[:3]:
        yield name, 0.95 if at_root else 0.6, [Evidence(path)]
    for pattern, lock_language, name, weight in _FILES:
        places = [*ground.configs, *ground.everything] if lock_language == language else ()
        if path := next((place for place in places if re.search(pattern, place)), ""):
            yield name, weight, [Evidence(path)]
    for path, table in ground.tables("pyproject.toml")[:1] if language == "python" else ():
        for name, weight in _PYPROJECT_TABLES:
            if name in table.get("tool", {}):
                yield name, weight, [Evidence(path, f"tool.{name}")]
        if str(table.get("build-system", {}).get("build-backend", "")).startswith("poetry"):
            yield "poetry", 0.4, [Evidence(path, "build-system.build-backend")]


def _used_in_commands(ground: Ground) -> Counter[tuple[str, str]]:
    """How often each package manager is called, by language and name; a task counts more than a guide."""
    used: Counter[tuple[str, str]] = Counter()
    for command in ground.commands:
        for pattern, language, name in _COMMANDS:
            if re.search(pattern, command.text):
                used[language, name] += _WEIGHT[command.place]
                break
    return used


def _run(ground: Ground, language: str, used: Counter[tuple[str, str]]) -> Iterator[_Vote]:
    counts = {name: times for (of, name), times in used.items() if of == language}
    total = sum(counts.values())
    for name, times in counts.items():
        if times >= 4 and times >= 0.3 * total:
            pattern = next(pattern for pattern, of, known in _COMMANDS if (of, known) == (language, name))
            places = [
                Evidence(command.path, command.field)
                for command in ground.commands
                if re.search(pattern, command.text)
            ]
            yield name, min(0.9, 0.5 + 0.4 * times / total), list(dict.fromkeys(places))[:2]
