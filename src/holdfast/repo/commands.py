"""The commands a repository says it is worked with: from task files, scripts, CI, hooks and contributors' guides."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.repo.checkout import text_of

_MOST = 3000
_LONGEST = 400
# How much a place counts: what is run by machines and task names is meant; a guide may be out of date.
TASK, CI, HOOK, GUIDE = "task", "ci", "hook", "guide"


class Command(Struct, frozen=True):
    """One shell command, where it stands, and the task it belongs to (`make test`), if any."""

    text: str
    path: str
    field: str
    place: str
    task: str = ""  # how a person runs it
    name: str = ""  # the task's own name


_FOR_DEVELOPERS = re.compile(
    r"(?i)\b(?:develop\w*|contribut\w*|hacking|testing|tests?|building|build from|linting|local setup)\b"
)
_Lines = Iterator[tuple[str, str, str, str]]  # text, field, task, name


def commands_of(root: Path, names: list[str], runner: str) -> list[Command]:
    """All commands of the given files, in order. `runner` is how a script of package.json is run: `pnpm`, `npm run`."""
    found: list[Command] = []
    for name in names:
        for pattern, place, read in _READERS:
            if not pattern.search(name):
                continue
            text = text_of(root, name, 600_000)
            try:
                for line, field, task, own in read(text, runner):
                    for part in _parts(line):
                        found.append(Command(part, name, field, place, task if "/" not in name else "", own))
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
                pass  # a broken file says nothing
            break
        if len(found) > _MOST:
            break
    return found


def _parts(line: str) -> Iterator[str]:
    """The single commands of a line; `$(UV) run x` and `@x` as they would be run."""
    line = line.replace("\\\n", " ")
    for part in re.split(r"&&|\|\||;|\n", line):
        plain = " ".join(part.strip().lstrip("@-+$> ").split())
        if 1 < len(plain) <= _LONGEST and not plain.startswith(
            ("#", "//", "echo ", "if ", "fi", "then", "else", "done")
        ):
            yield plain


def _makefile(text: str, _runner: str) -> _Lines:
    variables = dict(re.findall(r"^([A-Z_]+)[ \t]*[:?]?=[ \t]*([^\n#]{1,120}?)[ \t]*$", text, re.MULTILINE))
    target = ""
    for line in text.replace("\\\n", " ").split("\n"):
        heading = re.match(r"([A-Za-z0-9][\w./-]*)[ \t]*:(?![=:])(.*)$", line)
        if heading:
            target = heading.group(1)
            yield f"make:{target}", target, f"make {target}", target
        elif line.startswith("\t") and target:
            for _again in range(3):
                line = re.sub(r"\$[({](\w+)[)}]", lambda found: variables.get(found.group(1), ""), line)
            yield line, target, f"make {target}", target


def _justfile(text: str, _: str) -> _Lines:
    recipe = ""
    for line in text.split("\n"):
        heading = re.match(r"@?([a-zA-Z_][\w-]*)(?: [^:=]*)?:(?!=)", line)
        if heading:
            recipe = heading.group(1)
            yield f"just:{recipe}", recipe, f"just {recipe}", recipe
        elif line[:1] in " \t" and recipe:
            yield line, recipe, f"just {recipe}", recipe


def _package_json(text: str, runner: str) -> _Lines:
    document = json.loads(text)
    for name, script in document.get("scripts", {}).items():
        if isinstance(script, str):
            short = runner.split()[0]
            task = f"{short} {name}" if name in ("test", "start") else f"{runner} {name}"
            yield script, f"scripts.{name}", task, name
    for _, staged in (document.get("lint-staged") or {}).items():
        for command in staged if isinstance(staged, list) else [staged]:
            if isinstance(command, str):
                yield command, "lint-staged", "", ""


def _pyproject(text: str, _: str) -> _Lines:
    tool = tomllib.loads(text).get("tool", {})
    for runner, table in (
        ("poe", tool.get("poe", {}).get("tasks", {})),
        ("task", tool.get("taskipy", {}).get("tasks", {})),
        ("pdm run", tool.get("pdm", {}).get("scripts", {})),
        ("rye run", tool.get("rye", {}).get("scripts", {})),
        ("pixi run", tool.get("pixi", {}).get("tasks", {})),
    ):
        yield from _tasks(table, runner)
    for environment, table in tool.get("hatch", {}).get("envs", {}).items():
        prefix = "hatch run " if environment == "default" else f"hatch run {environment}:"
        yield from _tasks(table.get("scripts", {}), prefix.rstrip(" "))
    legacy = tool.get("tox", {}).get("legacy_tox_ini", "")
    if isinstance(legacy, str):
        yield from _tox(legacy, "")


def _tasks(table: dict[str, Any], runner: str) -> _Lines:
    for name, value in table.items():
        task = f"{runner}{name}" if runner.endswith(":") else f"{runner} {name}"
        for command in _strings(value):
            yield command, f"tasks.{name}", task, name


def _strings(value: Any) -> Iterator[str]:
    """Commands in the many ways that task files write them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key in ("cmd", "run", "shell", "command", "sequence", "script"):
            yield from _strings(value.get(key, ""))


def _toml_tasks(runner: str) -> Callable[[str, str], _Lines]:
    def read(text: str, _: str) -> _Lines:
        document = tomllib.loads(text)
        yield from _tasks(document.get("tasks", {}), runner)
        for feature in document.get("feature", {}).values():
            yield from _tasks(feature.get("tasks", {}), runner)
        for alias, value in document.get("alias", {}).items():
            words = value if isinstance(value, str) else " ".join(value)
            yield f"cargo {words}", f"alias.{alias}", f"cargo {alias}", alias

    return read


def _taskfile(text: str, _: str) -> _Lines:
    name = ""
    for line in text.split("\n"):
        if heading := re.match(r"  ([\w:-]+):\s*$", line):
            name = heading.group(1)
            yield f"task:{name}", name, f"task {name}", name
        elif (command := re.match(r"\s+- (?:cmd: )?(.+)$", line)) and name:
            yield _unquoted(command.group(1)), name, f"task {name}", name


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _yaml_runs(text: str, _: str) -> _Lines:
    """`run:` and `script:` of CI files: on their line, as a block below it, or as a list."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = re.match(r"(\s*)(?:- )?(?:run|script|before_script|command): ?(.*)$", lines[at])
        at += 1
        if not found:
            continue
        rest = found.group(2).strip()
        if rest and rest[0] not in "|>":
            yield _unquoted(rest), "run", "", ""
            continue
        depth = len(found.group(1))
        block: list[str] = []
        while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > depth):
            block.append(lines[at].strip().removeprefix("- "))
            at += 1
        for line in "\n".join(block).replace("\\\n", " ").split("\n"):
            yield line, "run", "", ""


def _pre_commit(text: str, _: str) -> _Lines:
    for hook in re.findall(r"^\s*-?\s*id:\s*['\"]?([\w.-]+)", text, re.MULTILINE):
        yield f"hook:{hook}", "hooks", "", ""
    for entry in re.findall(r"^\s*entry:\s*(.+)$", text, re.MULTILINE):
        yield entry, "hooks", "", ""


def _plain_lines(text: str, _: str) -> _Lines:
    for line in text.split("\n"):
        yield line, "", "", ""


def _lefthook(text: str, _: str) -> _Lines:
    for line in re.findall(r"^\s*run:\s*(.+)$", text, re.MULTILINE):
        yield line, "run", "", ""


def _tox(text: str, _: str) -> _Lines:
    section = ""
    listing = False
    for line in text.split("\n"):
        if heading := re.match(r"\[testenv(?::([\w-]+))?", line):
            section = f"tox -e {heading.group(1)}" if heading.group(1) else "tox"
        elif re.match(r"commands(?:_pre|_post)?\s*=", line):
            listing = True
            line = line.partition("=")[2]
        elif line[:1] not in (" ", "\t", ""):
            listing = False
        if listing and line.strip():
            yield line, "commands", section, section.removeprefix("tox -e ")


def _nox(text: str, _: str) -> _Lines:
    session = ""
    for line in text.split("\n"):
        if heading := re.match(r"def (\w+)\(session", line):
            session = heading.group(1)
        elif "session.run" in line:
            words = re.findall(r"[\"']([^\"']+)[\"']", line)
            yield " ".join(words), session, f"nox -s {session}", session


def _rakefile(text: str, _: str) -> _Lines:
    for name in re.findall(r"^\s*task :?[\"']?(\w+)", text, re.MULTILINE):
        yield f"rake:{name}", name, f"rake {name}", name
    if "RSpec::Core::RakeTask" in text:
        yield "rspec", "spec", "rake spec", "spec"
    if "Rake::TestTask" in text:
        yield "rake test", "test", "rake test", "test"
    if "RuboCop::RakeTask" in text:
        yield "rubocop", "rubocop", "rake rubocop", "rubocop"


def _readme(text: str, runner: str) -> _Lines:
    """What a README says to those who work on the thing: the rest is for those who use it."""
    own = False
    kept: list[str] = []
    for line in text.split("\n"):
        if line.startswith("#"):
            own = bool(_FOR_DEVELOPERS.search(line))
        if own:
            kept.append(line)
    yield from _guide("\n".join(kept), runner)


def _guide(text: str, _: str) -> _Lines:
    """Code blocks of a guide, and short code in its sentences that reads like a command."""
    for block in re.findall(
        r"^[ \t]*```[ \t]*(?:bash|sh|shell|console|zsh|text)?[ \t]*\n([\s\S]*?)```", text, re.MULTILINE
    ):
        for line in block.split("\n"):
            yield re.sub(r"^\s*[$>%]\s+", "", line).partition("  #")[0], "", "", ""
    for inline in re.findall(r"`([a-z][\w./-]* [^`\n]{2,80})`", text):
        yield inline, "", "", ""


_READERS: tuple[tuple[re.Pattern[str], str, Callable[[str, str], _Lines]], ...] = tuple(
    (re.compile(r"(?:^|/)" + pattern + "$"), place, read)
    for pattern, place, read in (
        (r"(?:GNU)?[mM]akefile", TASK, _makefile),
        (r"\.?[jJ]ustfile", TASK, _justfile),
        (r"package\.json", TASK, _package_json),
        (r"pyproject\.toml", TASK, _pyproject),
        (r"\.?mise\.toml", TASK, _toml_tasks("mise run")),
        (r"pixi\.toml", TASK, _toml_tasks("pixi run")),
        (r"\.cargo/config(?:\.toml)?", TASK, _toml_tasks("cargo")),
        (r"Makefile\.toml", TASK, _toml_tasks("cargo make")),
        (r"[tT]askfile\.ya?ml", TASK, _taskfile),
        (r"tox\.ini", TASK, _tox),
        (r"noxfile\.py", TASK, _nox),
        (r"Rakefile", TASK, _rakefile),
        (r"composer\.json", TASK, _package_json),
        (r"\.github/workflows/[^/]+\.ya?ml", CI, _yaml_runs),
        (r"\.gitlab-ci\.yml", CI, _yaml_runs),
        (r"\.circleci/config\.yml", CI, _yaml_runs),
        (r"azure-pipelines\.yml", CI, _yaml_runs),
        (r"\.travis\.yml", CI, _yaml_runs),
        (r"\.pre-commit-config\.yaml", HOOK, _pre_commit),
        (r"\.?lefthook\.ya?ml", HOOK, _lefthook),
        (r"\.husky/[\w-]+", HOOK, _plain_lines),
        (r"CONTRIBUTING(?:\.md|\.rst|\.adoc)?", GUIDE, _guide),
        (r"(?i:contributing|developing|development|hacking)\.(?:md|rst)", GUIDE, _guide),
        (r"README(?:\.md)?", GUIDE, _readme),
    )
)


def holds_commands(name: str) -> bool:
    return any(pattern.search(name) for pattern, _, _ in _READERS)
