"""Which tools a repository is built, tested, checked and documented with, each with the files that show it."""

from __future__ import annotations

import re

from msgspec import Struct

from holdfast.model.knowledge import Convention, Evidence
from holdfast.repo.commands import CI, GUIDE, HOOK, README, TASK, Command
from holdfast.repo.ground import Ground, convention
from holdfast.repo.languages import is_aside, is_test, language_of
from holdfast.repo.tool_table import TOOLS, Tool

_LEAST = 0.55
_PLACES = {TASK: 0.85, CI: 0.75, HOOK: 0.7, GUIDE: 0.6, README: 0.45}
# Where one tool is chosen, a mere dependency beside one that is plainly in use says nothing.
_ONE = frozenset(
    {
        "test_runner",
        "formatter",
        "linter",
        "type_checker",
        "docs_tool",
        "build_tool",
        "task_runner",
        "e2e_tool",
    }
)
_INSTALLING = re.compile(
    r"\b(?:pip3?|pipx|uv tool|uv pip|npm|brew|apt(?:-get)?|cargo|go|gem|mise|asdf|conda|mamba|choco|scoop|rustup"
    r"|pnpm|yarn|bun)\b.{0,40}\b(?:install|add|use)\b|\bgo get\b|\b(?:curl|wget|which|command -v|rm|cp|mv|cat|ls|git) "
)


class Use(Struct, frozen=True):
    """How sure it is that a tool is in use, and what shows it."""

    tool: Tool
    score: float
    evidence: tuple[Evidence, ...]
    commands: tuple[Command, ...]


def tools_in_use(ground: Ground) -> list[Use]:
    """Every tool that enough speaks for, the surest first."""
    commands = [command for command in ground.commands if not _INSTALLING.search(command.text)]
    languages = _languages(ground)
    uses = [_use(ground, tool, commands) for tool in TOOLS if _speaks(tool, languages)]
    uses += _defaults(ground, uses)
    kept = [use for use in uses if use.score >= _LEAST and not _told_otherwise(ground, use.tool)]
    best: dict[tuple[str, str], float] = {}
    for use in kept:
        for language in use.tool.languages:
            key = (use.tool.category, language)
            best[key] = max(best.get(key, 0.0), use.score)
    kept = [
        use
        for use in kept
        if use.tool.category not in _ONE
        or use.score >= 0.8
        or not any(best[use.tool.category, language] - use.score >= 0.12 for language in use.tool.languages)
    ]
    return sorted(kept, key=lambda use: -use.score)


def tool_conventions(uses: list[Use]) -> list[Convention]:
    found = []
    for use in uses:
        example = min((command.task for command in use.commands if command.task), key=len, default="")
        example = example or next(
            (command.text for command in use.commands if ":" not in command.text[:6]), ""
        )
        found.append(
            convention(use.tool.category, use.tool.name, use.score, *use.evidence, example=example[:120])
        )
    return found


def _languages(ground: Ground) -> set[str]:
    total = sum(ground.counts.values())
    enough = {language for language, count in ground.counts.items() if count >= max(2, 0.02 * total)}
    if "typescript" in enough:
        enough.add("javascript")
    shell = sum(language_of(name) == "shell" for name in ground.names)
    docs = sum(language_of(name) == "docs" for name in ground.names)
    return enough | ({"shell"} if shell >= 3 else set()) | ({"docs"} if docs >= 3 else set()) | {"any"}


def _speaks(tool: Tool, languages: set[str]) -> bool:
    return bool(languages.intersection(tool.languages))


def _use(ground: Ground, tool: Tool, commands: list[Command]) -> Use:
    doubt = 1.0
    evidence: list[Evidence] = []
    run: list[Command] = []
    if tool.files is not None:
        found = [name for name in ground.markers if tool.files.search(name)]
        own = [name for name in found if not is_aside(name) or tool.category == "docs_tool"]
        own = [name for name in own if not is_test(name, language_of(name)) or tool.category == "test_runner"]
        if own:
            nearest = min(own, key=lambda name: (name.count("/"), name))
            doubt *= 0.2 if nearest.count("/") <= 1 else 0.4
            evidence.append(Evidence(nearest))
    if tool.tables:
        for path, table in ground.tables("pyproject.toml"):
            name = next((name for name in tool.tables if _inside(table.get("tool", {}), name)), None)
            if name:
                doubt *= 0.3 if "/" not in path else 0.5
                evidence.append(Evidence(path, f"tool.{name}"))
                break
    if tool.dependencies and (named := ground.dependency(*tool.dependencies, languages=tool.languages)):
        doubt *= 0.4 if "/" not in named.path else 0.6
        evidence.append(named)
    if tool.command is not None:
        for place, weight in _PLACES.items():
            here = [c for c in commands if c.place == place and tool.command.search(c.text)]
            if here:
                # A single mention deep in a guide or in one script of a part is little.
                doubt *= 1 - weight * (
                    1.0
                    if len(here) > 1
                    or here[0].path.count("/") < 1
                    or here[0].path.startswith(("doc", ".github/"))
                    else 0.7
                )
                evidence.extend(Evidence(c.path, c.field) for c in here[:1])
                run.extend(here)
    return Use(tool, round(1 - doubt, 3), tuple(dict.fromkeys(evidence)), tuple(run))


def _inside(table: object, dotted: str) -> bool:
    for part in dotted.split("."):
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True


def _told_otherwise(ground: Ground, tool: Tool) -> bool:
    """A configuration that switches a part off, or a name that means another thing here."""
    if tool.name == "biome" and tool.category in ("linter", "formatter"):
        for name in ("biome.json", "biome.jsonc"):
            if name in ground.everything:
                part = ground.table(name).get(tool.category, {})
                return isinstance(part, dict) and part.get("enabled") is False
    if tool.name == "invoke":
        return "tasks.py" in ground.everything and "invoke" not in ground.text("tasks.py")
    if tool.name == "make":
        text = ground.text(
            next((n for n in ("Makefile", "makefile", "GNUmakefile") if n in ground.everything), "")
        )
        return len(re.findall(r"^[a-zA-Z][\w-]*\s*:(?!=)", text, re.MULTILINE)) < 2 and "include" not in text
    return False


def _named(category: str, name: str) -> Tool:
    return next(tool for tool in TOOLS if (tool.category, tool.name) == (category, name))


def _defaults(ground: Ground, uses: list[Use]) -> list[Use]:
    """What a language's own tool chain does when nothing else is said."""
    sure = {
        (use.tool.category, language)
        for use in uses
        if use.score >= _LEAST
        for language in use.tool.languages
    }
    found: list[Use] = []

    def add(category: str, name: str, score: float, *evidence: Evidence) -> None:
        tool = _named(category, name)
        run = next((use.commands for use in uses if use.tool is tool), ())
        found.append(Use(tool, score, evidence, run))

    main = ground.main
    golangci = next((name for name in ground.everything if name.startswith(".golangci.")), "")
    text = ground.text(golangci) if golangci else ""
    for name in ("gofumpt", "goimports", "gci", "gofmt"):
        if re.search(rf"^\s*-\s*{name}\s*$", text, re.MULTILINE):
            add("formatter", name, 0.9, Evidence(golangci, "formatters"))
            sure.add(("formatter", "go"))
    go_mod = next((name for name in ground.configs if name.endswith("go.mod")), "")
    if "go" in main and ("formatter", "go") not in sure and go_mod:
        add("formatter", "gofmt", 0.75, Evidence(go_mod))
    cargo = next((name for name in ground.configs if name.endswith("Cargo.toml")), "")
    if "rust" in main and cargo:
        if ("test_runner", "rust") not in sure:
            add("test_runner", "cargo test", 0.8, Evidence(cargo))
        lints = next((p for p, t in ground.tables("Cargo.toml") if _clippy_lints(t)), "")
        if lints and ("linter", "rust") not in sure:
            add("linter", "clippy", 0.9, Evidence(lints, "lints.clippy"))
    if "ruby" in main and ("test_runner", "ruby") not in sure:
        spec = next((name for name in ground.tests if name.endswith("_spec.rb")), "")
        plain = next((name for name in ground.tests if name.endswith("_test.rb")), "")
        if spec or plain:
            add("test_runner", "RSpec" if spec else "minitest", 0.8, Evidence(spec or plain))
    if "typescript" in main and ("type_checker", "typescript") not in sure:
        named = ground.dependency("typescript")
        config = next((name for name in ground.configs if name.endswith("tsconfig.json")), "")
        if named and config:
            add("type_checker", "tsc", 0.7, Evidence(config), named)
    return found


def _clippy_lints(table: dict[str, object]) -> bool:
    workspace = table.get("workspace")
    for holder in (table, workspace if isinstance(workspace, dict) else {}):
        lints = holder.get("lints")
        if isinstance(lints, dict) and "clippy" in lints:
            return True
    return False
