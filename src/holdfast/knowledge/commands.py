"""The commands that a repository documents: in task files, scripts, CI, hooks and contributors' guides."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.checkout import text_of

_MOST = 3000
_LONGEST = 400
# The kind of file with the command: tasks and CI are reliable, a guide may be out of date.
TASK, CI, HOOK, GUIDE, README = "task", "ci", "hook", "guide", "readme"
_NOT_RUN = ("#", "//", "echo ", "if ", "fi", "then", "else", "done", "cd ", "export ", "set ", "mkdir ")
_PYPROJECT_TASKS = (
    ("poe", "poe", "tasks"),
    ("task", "taskipy", "tasks"),
    ("pdm run", "pdm", "scripts"),
    ("rye run", "rye", "scripts"),
    ("pixi run", "pixi", "tasks"),
)
_RAKE_CLASSES = (
    ("RSpec::Core::RakeTask", "rspec", "spec"),
    ("Rake::TestTask", "rake test", "test"),
    ("RuboCop::RakeTask", "rubocop", "rubocop"),
)
_SCRIPT_NAME = lazy_regex(r"^run[-_]?(?=test)|\.sh$")
_FOR_DEVELOPERS = lazy_regex(
    r"(?i)\b(?:develop\w*|contribut\w*|hacking|testing|tests?|build(?:ing)?|compil\w+|linting|local setup)\b"
)
_UNDERLINE = lazy_regex(r"([=\-~^\"'*+#])\1{2,}\s*$")
_LEVELS = "=-~^"
_FENCED = lazy_regex(
    r"^[ \t]*```[ \t]*(?:bash|sh|shell|shell-session|console|zsh|text)?[ \t]*\n([\s\S]*?)```", re.MULTILINE
)
_ASCIIDOC = lazy_regex(r"^-{4}\n([\s\S]*?)^-{4}$", re.MULTILINE)
# Indented text counts only after a prompt, or if it starts with the name of a tool.
_INDENTED = lazy_regex(
    r"^(?: {2,}|\t)(?:[$%>] +(?P<typed>\S.*)|(?P<told>(?:make|cargo|go|npm|npx|pnpm|yarn|bun|mvn|gradle|"
    r"bundle|rake|pytest|python3?|tox|nox|uv|poetry|hatch|pre-commit|cmake|ctest|meson|ninja|just|"
    r"\./\w[\w./-]*) ?\S.*|make))$",
    re.MULTILINE,
)
_INLINE = lazy_regex(r"[a-z.][\w./-]* \S.{0,80}|(?:scripts?|bin)/[\w./-]+")

_Lines = Iterator[tuple[str, str, str, str]]  # text, field, task, name


class RepositoryCommand(Struct, frozen=True):
    """One shell command, its place, and the task it belongs to (`make test`), if any."""

    text: str
    path: str
    field: str
    place: str
    task: str = ""  # how a person runs it
    name: str = ""  # the task's own name


def commands_of(root: Path, names: list[str], runner: str) -> list[RepositoryCommand]:
    """All commands of these files, in order. `runner` runs a script of package.json: `pnpm`, `npm run`."""
    commands: list[RepositoryCommand] = []
    for name in names:
        place, read = next((place, read) for pattern, place, read in _READERS if pattern.search(name))
        try:
            for line, field, task, own_name in read(text_of(root, name, 600_000), runner):
                if read is _script:
                    task, own_name = _task_of_script(name)
                elif "/" in name:
                    task = ""  # a task of a part does not run the whole project
                commands += [
                    RepositoryCommand(part, name, field, place, task, own_name) for part in _parts(line)
                ]
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            pass  # a broken file has no commands
        if len(commands) > _MOST:
            break
    return commands


def holds_commands(name: str) -> bool:
    return any(pattern.search(name) for pattern, _, _ in _READERS)


def _parts(line: str) -> Iterator[str]:
    """The single commands of a line, without prefixes such as `@`."""
    line = line.replace("\\\n", " ")
    for part in re.split(r"&&|\|\||;|\n", line):
        plain = " ".join(re.sub(r"^\$\{?[A-Z_]+\}?(?=[a-z])", "", part.strip().lstrip("@-+> ")).split())
        plain = re.sub(r"\s#\s.*$", "", plain.lstrip("$ "))
        if 1 < len(plain) <= _LONGEST and not plain.startswith(_NOT_RUN):
            yield plain


def readme_lines(text: str, runner: str) -> _Lines:
    """The commands in the sections of a README for developers; other sections are for users."""
    section_level = 0
    developer_lines: list[str] = []
    lines = text.split("\n")
    fenced = False
    for at, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        level = 0 if fenced else _level(line, lines[at + 1] if at + 1 < len(lines) else "")
        if level and (not section_level or level <= section_level):
            section_level = level if _FOR_DEVELOPERS.search(line) else 0
        if section_level:
            developer_lines.append(line)
    yield from guide_lines("\n".join(developer_lines), runner)


def _level(line: str, after: str) -> int:
    """The level of a heading in any of the common formats; 0 for other lines."""
    if match := re.match(r"(#{1,6}|={1,5}) \S", line):
        return len(match.group(1))
    line, under = line.strip(), after.strip()
    if (
        line
        and _UNDERLINE.match(under)
        and (len(under) >= len(line) - 2 or (len(line) < 60 and len(under) == 3))
    ):
        return 1 + _LEVELS.find(under[0]) if under[0] in _LEVELS else 5
    return 0


def guide_lines(text: str, _: str) -> _Lines:
    for block in (*_FENCED.findall(text), *_ASCIIDOC.findall(text)):
        for line in block.split("\n"):
            yield re.sub(r"^\s*[$>%]\s+", "", line).partition("  #")[0], "", "", ""
    for match in _INDENTED.finditer(_FENCED.sub("", text)):
        yield (match["typed"] or match["told"]).partition("  #")[0], "", "", ""
    for line in text.split("\n"):
        for inline in re.findall(r"``?([^`]+)``?", line):
            if _INLINE.fullmatch(inline):
                yield inline, "", "", ""


def _recipes(text: str, _: str, *, tool: str, heading: str, body: str) -> _Lines:
    """A file in which the lines below a task's name are its commands."""
    name = ""
    for line in text.split("\n"):
        if match := re.match(heading, line):
            name = match.group(1)
            yield f"{tool}:{name}", name, f"{tool} {name}", name
        elif name and (command := re.match(body, line)):
            yield _unquoted(command.group(1)), name, f"{tool} {name}", name


def _makefile(text: str, _: str) -> _Lines:
    variables = dict(re.findall(r"^([A-Z_]+)[ \t]*[:?]?=[ \t]*([^\n#]{1,120}?)[ \t]*$", text, re.MULTILINE))
    heading = r"([A-Za-z0-9][\w./-]*)[ \t]*:(?![=:])"
    text = text.replace("\\\n", " ")
    for line, *recipe in _recipes(text, "", tool="make", heading=heading, body=r"(\t.*)"):
        for _again in range(3):
            line = re.sub(r"\$[({](\w+)[)}]", lambda match: variables.get(match.group(1), ""), line)
        yield line, recipe[0], recipe[1], recipe[2]


def _matches(text: str, _: str, *, field: str, patterns: tuple[tuple[str, str], ...]) -> _Lines:
    """The matches of patterns, each formatted as given."""
    for pattern, form in patterns:
        for match in re.findall(pattern, text, re.MULTILINE):
            yield form.format(match), field, "", ""


def _package_json(text: str, runner: str) -> _Lines:
    document = json.loads(text)
    for name, script in document.get("scripts", {}).items():
        # npm's placeholder for a missing script ends in `exit 1`.
        if isinstance(script, str) and not re.search(r"\bexit 1\s*$", script):
            short = runner.split()[0]  # `bun test` is bun's own test runner, not the script
            plain = name in ("test", "start") and short in ("npm", "pnpm", "yarn")
            task = f"{short} {name}" if plain else f"{runner} {name}"
            yield script, f"scripts.{name}", task, name
    for staged in (document.get("lint-staged") or {}).values():
        for command in staged if isinstance(staged, list) else [staged]:
            if isinstance(command, str):
                yield command, "lint-staged", "", ""


def _pyproject(text: str, _: str) -> _Lines:
    tool = tomllib.loads(text).get("tool", {})
    for runner, name, tasks in _PYPROJECT_TASKS:
        yield from _tasks(tool.get(name, {}).get(tasks, {}), runner)
    for environment, table in tool.get("hatch", {}).get("envs", {}).items():
        runner = "hatch run" if environment == "default" else f"hatch run {environment}:"
        yield from _tasks(table.get("scripts", {}), runner)
    tox = tool.get("tox", {})
    yield from _tox(str(tox.get("legacy_tox_ini", "")), "")
    yield from _tox_tables(tox)


def _tox_tables(tox: dict[str, Any]) -> _Lines:
    for name, table in {"": tox.get("env_run_base", {}), **tox.get("env", {})}.items():
        task, task_name = (f"tox -e {name}", name) if name else ("tox", "test")
        for command in table.get("commands", []):
            yield (
                " ".join(filter(None, [word if isinstance(word, str) else "" for word in command])),
                f"env.{name}.commands" if name else "env_run_base.commands",
                task,
                task_name,
            )


def _tasks(table: dict[str, Any], runner: str) -> _Lines:
    for name, value in table.items():
        task = f"{runner}{name}" if runner.endswith(":") else f"{runner} {name}"
        for command in _strings(value):
            yield command, f"tasks.{name}", task, name


def _strings(value: Any) -> Iterator[str]:
    """Commands in the various notations of task files."""
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


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _yaml_runs(text: str, _: str) -> _Lines:
    """`run:` and `script:` of CI files: on the same line, as a block below it, or as a list."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        match = re.match(r"(\s*)(?:- )?(?:run|script|before_script|command): ?(.*)$", lines[at])
        at += 1
        if not match:
            continue
        value = match.group(2).strip()
        if value and value[0] not in "|>":
            yield _unquoted(value), "run", "", ""
            continue
        depth = len(match.group(1))
        block: list[str] = []
        while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > depth):
            block.append(lines[at].strip().removeprefix("- "))
            at += 1
        for line in "\n".join(block).replace("\\\n", " ").split("\n"):
            yield line, "run", "", ""


def _hk(text: str, _: str) -> _Lines:
    for name in re.findall(r"\bBuiltins\.(\w+)", text):
        yield f"hook:{name.replace('_', '-')}", "hooks", "", ""
        yield name.replace("_", " "), "hooks", "", ""
    for line in re.findall(r"^\s*(?:check|fix)\s*=\s*\"([^\"\n]+)\"", text, re.MULTILINE):
        yield line, "hooks", "", ""


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
            yield line, "commands", section, section.removeprefix("tox -e ") if section != "tox" else "test"


def _nox(text: str, _: str) -> _Lines:
    for body in re.split(r"^def (?=\w+\(\s*session)", text, flags=re.MULTILINE)[1:]:
        session = body.partition("(")[0]
        for inside in re.findall(r"session\.run(?:_always|_install)?\(([^)]*)\)", body):
            words = re.findall(r"[\"']([^\"']+)[\"']", inside)
            yield " ".join(words), session, f"nox -s {session}", session


def _task_of_script(name: str) -> tuple[str, str]:
    if "tasks/" in name:
        task_name = name.partition("tasks/")[2].replace("/", ":")
        return f"mise run {task_name}", task_name
    return name if "/" in name else f"./{name}", _SCRIPT_NAME.sub("", name.rpartition("/")[2])


def _script(text: str, _: str) -> _Lines:
    """A script with the name of a task, which is run by its path."""
    yield "script:", "", "", ""
    for line in text.replace("\\\n", " ").split("\n")[:200]:
        yield line, "", "", ""


def _rakefile(text: str, _: str) -> _Lines:
    for name in re.findall(r"^\s*task :?[\"']?(\w+)", text, re.MULTILINE):
        if name != "default":
            yield f"rake:{name}", name, f"rake {name}", name
    if default := re.search(r"^\s*task :?default(?::| =>)\s*(.+)$", text, re.MULTILINE):
        yield f"rake default runs {default.group(1)}", "default", "bundle exec rake", "rake-default"
    for class_name, command, name in _RAKE_CLASSES:
        if class_name in text:
            yield command, name, f"rake {name}", name


# Scripts that are named like tasks: `scripts/test`, `bin/lint`, `./runtests.sh`.
_SCRIPTS = (
    r"^(?:(?:scripts?|bin|dev|hack)/)?"
    r"(?:tests?|unit|lint|format|fmt|check|typecheck|build|setup|bootstrap|install|run[-_]?tests?)(?:\.sh)?"
)
_MISE_TASKS = r"^(?:\.?mise[-/]tasks|\.config/mise/tasks)/[\w/.-]+"

_READERS: tuple[tuple[re.Pattern[str], str, Callable[[str, str], _Lines]], ...] = tuple(
    (lazy_regex(("" if pattern.startswith("^") else r"(?:^|/)") + pattern + "$"), place, read)
    for pattern, place, read in (
        (r"(?:GNU)?[mM]akefile", TASK, _makefile),
        (
            r"\.?[jJ]ustfile",
            TASK,
            partial(
                _recipes, tool="just", heading=r"@?([a-zA-Z_][\w-]*)(?: [^:=]*)?:(?!=)", body=r"([ \t].*)"
            ),
        ),
        (r"package\.json", TASK, _package_json),
        (r"pyproject\.toml", TASK, _pyproject),
        (r"\.?mise\.toml", TASK, _toml_tasks("mise run")),
        (r"pixi\.toml", TASK, _toml_tasks("pixi run")),
        (r"\.cargo/config(?:\.toml)?", TASK, _toml_tasks("cargo")),
        (r"Makefile\.toml", TASK, _toml_tasks("cargo make")),
        (
            r"[tT]askfile\.ya?ml",
            TASK,
            partial(_recipes, tool="task", heading=r"  ([\w:-]+):\s*$", body=r"\s+- (?:cmd: )?(.+)$"),
        ),
        (r"tox\.ini", TASK, _tox),
        (r"tox\.toml", TASK, lambda text, _: _tox_tables(tomllib.loads(text))),
        (r"noxfile\.py", TASK, _nox),
        (r"Rakefile", TASK, _rakefile),
        (_SCRIPTS, TASK, _script),
        (r"composer\.json", TASK, _package_json),
        (r"\.github/workflows/[^/]+\.ya?ml", CI, _yaml_runs),
        (r"\.gitlab-ci\.yml", CI, _yaml_runs),
        (r"\.circleci/config\.yml", CI, _yaml_runs),
        (r"azure-pipelines\.yml", CI, _yaml_runs),
        (r"\.travis\.yml", CI, _yaml_runs),
        (
            r"\.pre-commit-config\.yaml",
            HOOK,
            partial(
                _matches,
                field="hooks",
                patterns=((r"^\s*-?\s*id:\s*['\"]?([\w.-]+)", "hook:{}"), (r"^\s*entry:\s*(.+)$", "{}")),
            ),
        ),
        (
            r"\.?lefthook\.ya?ml",
            HOOK,
            partial(_matches, field="run", patterns=((r"^\s*run:\s*(.+)$", "{}"),)),
        ),
        (r"^hk\.pkl", HOOK, _hk),
        (_MISE_TASKS, TASK, _script),
        (r"\.husky/[\w-]+", HOOK, partial(_matches, field="", patterns=((r".+", "{}"),))),
        (r"CONTRIBUTING(?:\.md|\.rst|\.adoc)?", GUIDE, guide_lines),
        (r"(?i:contributing|developing|development|hacking)\.(?:md|rst|adoc|txt)", GUIDE, guide_lines),
        (r"(?i:pull_request_template)\.md", GUIDE, guide_lines),
        (r"README(?:\.md|\.rst|\.adoc)?", README, readme_lines),
    )
)
