"""The commands a repository says it is worked with: from task files, scripts, CI, hooks and contributors' guides."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.checkout import text_of

# Commands that guides for contributors give: in blocks of code, and as short code in their sentences.

Lines = Iterator[tuple[str, str, str, str]]  # text, field, task, name

_FOR_DEVELOPERS = lazy_regex(
    r"(?i)\b(?:develop\w*|contribut\w*|hacking|testing|tests?|build(?:ing)?|compil\w+|linting|local setup)\b"
)
_UNDERLINE = lazy_regex(r"([=\-~^\"'*+#])\1{2,}\s*$")
_LEVELS = "=-~^"
_FENCED = lazy_regex(
    r"^[ \t]*```[ \t]*(?:bash|sh|shell|shell-session|console|zsh|text)?[ \t]*\n([\s\S]*?)```", re.MULTILINE
)
_ASCIIDOC = lazy_regex(r"^-{4}\n([\s\S]*?)^-{4}$", re.MULTILINE)
# Of text that is indented only what is plainly typed: after a prompt, or beginning with a tool's name.
_INDENTED = lazy_regex(
    r"^(?: {2,}|\t)(?:[$%>] +(?P<typed>\S.*)|(?P<told>(?:make|cargo|go|npm|npx|pnpm|yarn|bun|mvn|gradle|"
    r"bundle|rake|pytest|python3?|tox|nox|uv|poetry|hatch|pre-commit|cmake|ctest|meson|ninja|just|"
    r"\./\w[\w./-]*) ?\S.*|make))$",
    re.MULTILINE,
)
_INLINE = lazy_regex(r"[a-z.][\w./-]* \S.{0,80}|(?:scripts?|bin)/[\w./-]+")


def readme_lines(text: str, runner: str) -> Lines:
    """What a README says to those who work on the thing: the rest is for those who use it."""
    own = 0
    kept: list[str] = []
    lines = text.split("\n")
    fenced = False
    for at, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        level = 0 if fenced else _level(line, lines[at + 1] if at + 1 < len(lines) else "")
        if level and (not own or level <= own):
            own = level if _FOR_DEVELOPERS.search(line) else 0
        if own:
            kept.append(line)
    yield from guide_lines("\n".join(kept), runner)


def _level(line: str, after: str) -> int:
    """How deep a heading is, of any of the usual forms; 0 for what is none."""
    if found := re.match(r"(#{1,6}|={1,5}) \S", line):
        return len(found.group(1))
    line, under = line.strip(), after.strip()
    if (
        line
        and _UNDERLINE.match(under)
        and (len(under) >= len(line) - 2 or (len(line) < 60 and len(under) == 3))
    ):
        return 1 + _LEVELS.find(under[0]) if under[0] in _LEVELS else 5
    return 0


def guide_lines(text: str, _: str) -> Lines:
    for block in (*_FENCED.findall(text), *_ASCIIDOC.findall(text)):
        for line in block.split("\n"):
            yield re.sub(r"^\s*[$>%]\s+", "", line).partition("  #")[0], "", "", ""
    for found in _INDENTED.finditer(_FENCED.sub("", text)):
        yield (found["typed"] or found["told"]).partition("  #")[0], "", "", ""
    for line in text.split("\n"):
        for inline in re.findall(r"``?([^`]+)``?", line):
            if _INLINE.fullmatch(inline):
                yield inline, "", "", ""


_MOST = 3000
_LONGEST = 400
# How much a place counts: what is run by machines and task names is meant; a guide may be out of date.
TASK, CI, HOOK, GUIDE, README = "task", "ci", "hook", "guide", "readme"


class Command(Struct, frozen=True):
    """One shell command, where it stands, and the task it belongs to (`make test`), if any."""

    text: str
    path: str
    field: str
    place: str
    task: str = ""  # how a person runs it
    name: str = ""  # the task's own name


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
                    if read is _script:
                        task, own = _task_of_script(name)
                    elif "/" in name:
                        task = ""  # a task of a part is not what is run for the whole
                    for part in _parts(line):
                        found.append(Command(part, name, field, place, task, own))
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
                pass  # a broken file says nothing
            break
        if len(found) > _MOST:
            break
    return found


_NOT_RUN = ("#", "//", "echo ", "if ", "fi", "then", "else", "done", "cd ", "export ", "set ", "mkdir ")


def _parts(line: str) -> Iterator[str]:
    """The single commands of a line; `$(UV) run x` and `@x` as they would be run."""
    line = line.replace("\\\n", " ")
    for part in re.split(r"&&|\|\||;|\n", line):
        plain = " ".join(re.sub(r"^\$\{?[A-Z_]+\}?(?=[a-z])", "", part.strip().lstrip("@-+> ")).split())
        plain = re.sub(r"\s#\s.*$", "", plain.lstrip("$ "))
        if 1 < len(plain) <= _LONGEST and not plain.startswith(_NOT_RUN):
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
        if isinstance(script, str) and not re.search(
            r"\bexit 1\s*$", script
        ):  # what stands there until one is written
            short = runner.split()[0]  # `bun test` is bun's own runner, and not the script
            plain = name in ("test", "start") and short in ("npm", "pnpm", "yarn")
            task = f"{short} {name}" if plain else f"{runner} {name}"
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
    tox = tool.get("tox", {})
    if isinstance(legacy := tox.get("legacy_tox_ini", ""), str):
        yield from _tox(legacy, "")
    yield from _tox_tables(tox)


def _tox_toml(text: str, _: str) -> _Lines:
    yield from _tox_tables(tomllib.loads(text))


def _tox_tables(tox: dict[str, Any]) -> _Lines:
    for name, table in {"": tox.get("env_run_base", {}), **tox.get("env", {})}.items():
        task, own = (f"tox -e {name}", name) if name else ("tox", "test")
        for command in table.get("commands", []):
            yield (
                " ".join(filter(None, [word if isinstance(word, str) else "" for word in command])),
                f"env.{name}.commands" if name else "env_run_base.commands",
                task,
                own,
            )


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


def _hk(text: str, _: str) -> _Lines:
    for name in re.findall(r"\bBuiltins\.(\w+)", text):
        yield f"hook:{name.replace('_', '-')}", "hooks", "", ""
        yield name.replace("_", " "), "hooks", "", ""
    for line in re.findall(r"^\s*(?:check|fix)\s*=\s*\"([^\"\n]+)\"", text, re.MULTILINE):
        yield line, "hooks", "", ""


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
            yield line, "commands", section, section.removeprefix("tox -e ") if section != "tox" else "test"


def _nox(text: str, _: str) -> _Lines:
    for body in re.split(r"^def (?=\w+\(\s*session)", text, flags=re.MULTILINE)[1:]:
        session = body.partition("(")[0]
        for inside in re.findall(r"session\.run(?:_always|_install)?\(([^)]*)\)", body):
            words = re.findall(r"[\"']([^\"']+)[\"']", inside)
            yield " ".join(words), session, f"nox -s {session}", session


def _task_of_script(name: str) -> tuple[str, str]:
    if "tasks/" in name:
        own = name.partition("tasks/")[2].replace("/", ":")
        return f"mise run {own}", own
    return name if "/" in name else f"./{name}", _SCRIPT_NAME.sub("", name.rpartition("/")[2])


def _script(text: str, _: str) -> _Lines:
    """A script that is called what a task is called: it is run by its path."""
    yield "script:", "", "", ""
    for line in text.replace("\\\n", " ").split("\n")[:200]:
        yield line, "", "", ""


def _rakefile(text: str, _: str) -> _Lines:
    for name in re.findall(r"^\s*task :?[\"']?(\w+)", text, re.MULTILINE):
        if name != "default":
            yield f"rake:{name}", name, f"rake {name}", name
    if default := re.search(r"^\s*task :?default(?::| =>)\s*(.+)$", text, re.MULTILINE):
        yield f"rake default runs {default.group(1)}", "default", "bundle exec rake", "rake-default"
    if "RSpec::Core::RakeTask" in text:
        yield "rspec", "spec", "rake spec", "spec"
    if "Rake::TestTask" in text:
        yield "rake test", "test", "rake test", "test"
    if "RuboCop::RakeTask" in text:
        yield "rubocop", "rubocop", "rake rubocop", "rubocop"


# Scripts that stand for tasks, where projects keep such: `scripts/test`, `bin/lint`, `./runtests.sh`.
_SCRIPTS = (
    r"^(?:(?:scripts?|bin|dev|hack)/)?"
    r"(?:tests?|unit|lint|format|fmt|check|typecheck|build|setup|bootstrap|install|run[-_]?tests?)(?:\.sh)?"
)
_MISE_TASKS = r"^(?:\.?mise[-/]tasks|\.config/mise/tasks)/[\w/.-]+"
_SCRIPT_NAME = lazy_regex(r"^run[-_]?(?=test)|\.sh$")

_READERS: tuple[tuple[re.Pattern[str], str, Callable[[str, str], _Lines]], ...] = tuple(
    (lazy_regex(("" if pattern.startswith("^") else r"(?:^|/)") + pattern + "$"), place, read)
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
        (r"tox\.toml", TASK, _tox_toml),
        (r"noxfile\.py", TASK, _nox),
        (r"Rakefile", TASK, _rakefile),
        (_SCRIPTS, TASK, _script),
        (r"composer\.json", TASK, _package_json),
        (r"\.github/workflows/[^/]+\.ya?ml", CI, _yaml_runs),
        (r"\.gitlab-ci\.yml", CI, _yaml_runs),
        (r"\.circleci/config\.yml", CI, _yaml_runs),
        (r"azure-pipelines\.yml", CI, _yaml_runs),
        (r"\.travis\.yml", CI, _yaml_runs),
        (r"\.pre-commit-config\.yaml", HOOK, _pre_commit),
        (r"\.?lefthook\.ya?ml", HOOK, _lefthook),
        (r"^hk\.pkl", HOOK, _hk),
        (_MISE_TASKS, TASK, _script),
        (r"\.husky/[\w-]+", HOOK, _plain_lines),
        (r"CONTRIBUTING(?:\.md|\.rst|\.adoc)?", GUIDE, guide_lines),
        (r"(?i:contributing|developing|development|hacking)\.(?:md|rst|adoc|txt)", GUIDE, guide_lines),
        (r"(?i:pull_request_template)\.md", GUIDE, guide_lines),
        (r"README(?:\.md|\.rst|\.adoc)?", README, readme_lines),
    )
)


def holds_commands(name: str) -> bool:
    return any(pattern.search(name) for pattern, _, _ in _READERS)
