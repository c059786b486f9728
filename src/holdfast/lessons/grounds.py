"""Names and evidence of lessons, and the files a rule depends on, such as the manifest that defines a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple, simple_commands, unquoted
from holdfast.model.lesson import LessonEvidence

LONGEST_NAME = 48
IN_FOLDER = lazy_regex(r"cd (\S+) && ")  # prefix of a command that runs in a folder
_SLUG = lazy_regex(r"[a-z0-9]+")
Exists = Callable[[str], bool]
MOST = 3

_TASK = "{task}"
# For each program: the words before a task's name, and the files that may define the task; the first that exists.
_PLACES: dict[str, tuple[str, ...]] = {
    "mise": (
        f"mise.toml#tasks.{_TASK}",
        f".mise.toml#tasks.{_TASK}",
        f"mise-tasks/{_TASK}",
        f".mise/tasks/{_TASK}",
        f".config/mise/tasks/{_TASK}",
    ),
    "npm": (f"package.json#scripts.{_TASK}",),
    "pnpm": (f"package.json#scripts.{_TASK}",),
    "yarn": (f"package.json#scripts.{_TASK}",),
    "bun": (f"package.json#scripts.{_TASK}",),
    "composer": (f"composer.json#scripts.{_TASK}",),
    "deno": (f"deno.json#tasks.{_TASK}", f"deno.jsonc#tasks.{_TASK}"),
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "turbo": ("turbo.json",),
    "nx": ("nx.json",),
    "hk": ("hk.pkl",),
    "lefthook": ("lefthook.yml",),
    "pre-commit": (".pre-commit-config.yaml",),
    "go": ("go.mod",),
    "cargo": ("Cargo.toml",),
    "uv": ("pyproject.toml",),
    "poetry": ("pyproject.toml",),
    "pytest": ("pyproject.toml", "pytest.ini", "setup.cfg"),
    "ruff": ("ruff.toml", "pyproject.toml"),
    "mypy": ("mypy.ini", "pyproject.toml"),
    "golangci-lint": (".golangci.yaml", ".golangci.yml", ".golangci.toml"),
    "biome": ("biome.json", "biome.jsonc"),
    "vitest": ("vitest.config.ts", "package.json"),
    "jest": ("jest.config.js", "jest.config.ts", "package.json"),
    "tsc": ("tsconfig.json",),
    "gradlew": ("build.gradle", "build.gradle.kts"),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "mvn": ("pom.xml",),
    "flutter": ("pubspec.yaml",),
    "dart": ("pubspec.yaml",),
    "dotnet": ("global.json",),
    "mix": ("mix.exs",),
}
_RUN = frozenset(["run", "r", "run-script", "task"])
_BUILT_IN = frozenset(
    ["install", "ci", "i", "add", "test", "start", "exec", "x", "dlx", "tasks", "trust", "use"]
)
_THROUGH = frozenset(["npx", "bunx", "pnpx", "uvx"])
_OWN_TESTS = frozenset(["bun", "deno"])  # their `test` is built in, whatever the manifest says
_MANAGERS = frozenset(["npm", "pnpm", "yarn", "bun"])
_ONE_OF_MANY = frozenset(["--filter", "-F", "--workspace", "-w", "workspace", "-r", "--recursive"])
_PLACE_FLAGS = frozenset(["--prefix", "-C", "--cwd", "--dir"])
_NAME = lazy_regex(r"[\w:.@/-]+")
# The configuration file of a linter, by the form of its rule names.
_CHOSEN_IN: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (lazy_regex(r"clippy::"), ("clippy.toml", ".clippy.toml", "Cargo.toml")),
    (lazy_regex(r"\w+/\w+[A-Z]"), ("biome.json", "biome.jsonc")),
    (lazy_regex(r"SC\d+"), (".shellcheckrc",)),
    (lazy_regex(r"[A-Z]{1,4}\d{3,4}"), ("ruff.toml", ".ruff.toml", "pyproject.toml")),
    (
        lazy_regex(r"(?=.*[-/])[@\w/-]+"),
        (
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.ts",
            ".eslintrc.json",
            ".eslintrc.js",
            ".eslintrc",
        ),
    ),
    (lazy_regex(r"[a-z]\w*"), (".golangci.yaml", ".golangci.yml", ".golangci.toml")),
)


def evidence_of(items: Iterable[tuple[str, float | None, str]]) -> tuple[LessonEvidence, ...]:
    """Return one line for each session, its newest."""
    lines = {session: LessonEvidence(session=session, at=at, line=line) for session, at, line in items}
    return tuple(lines.values())


def slug(*texts: str) -> str:
    """Make a file name: lower case, words joined by hyphens."""
    name = ""
    for word in _SLUG.findall(" ".join(texts).casefold()):
        if len(name) + len(word) + 1 > LONGEST_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or "lesson"


def depends_on(command: str, exists: Exists) -> tuple[str, ...]:
    """Return the existing manifests, fields and directories that a command depends on."""
    targets: list[str] = []
    for part in simple_commands(command.replace("…", "").replace("<", "").replace(">", "")):
        if part.directory and exists(f"{part.directory}/"):
            targets.append(f"{part.directory}/")
        targets += _of_part(part, exists)
    return tuple(dict.fromkeys(targets))[:MOST]


def enforced_by(rule: str, exists: Exists) -> tuple[str, ...]:
    """Return the existing configuration file that enables a linter's rule."""
    for name, places in _CHOSEN_IN:
        if name.match(rule):
            return tuple(path for path in places if exists(path))[:1]
    return ()


def _of_part(part: Simple, exists: Exists) -> list[str]:
    words = [unquoted(word) for word in part.words]
    if words[0] in _THROUGH:
        words = words[1:]
    if words[:1] and words[0].startswith(("./", "scripts/", "bin/")):
        path = words[0].removeprefix("./")
        return [path] if exists(path) else []
    program = words[0].rpartition("/")[2] if words else ""
    if program in _MANAGERS and _ONE_OF_MANY & set(words):
        return []  # defined by a package whose folder the command does not name
    words, subfolder = _without_place(words)
    folder = "/".join(filter(None, (part.directory, subfolder)))
    task = _task(words)
    for manifest in _PLACES.get(program, ()):
        file, mark, field = manifest.partition("#")
        if _TASK in file and not task:
            continue
        file = file.replace(_TASK, task.replace(":", "/"))
        path = f"{folder}/{file}" if folder else file
        if exists(path):
            return [f"{path}#{field.replace(_TASK, task)}" if mark and task else path]
    return []


def _without_place(words: list[str]) -> tuple[list[str], str]:
    """Split the flag that names the working directory from a command; return the rest and the directory."""
    for index, word in enumerate(words[:-1]):
        if word in _PLACE_FLAGS and not words[index + 1].startswith(("-", "/", "~")):
            return [*words[:index], *words[index + 2 :]], words[index + 1].strip("/").removeprefix("./")
    return words, ""


def _task(words: list[str]) -> str:
    plain = [word for word in words[1:] if not word.startswith("-")]
    if plain and plain[0] in _RUN:
        plain = plain[1:]
    elif plain and plain[0] in _BUILT_IN and (plain[0] not in ("test", "start") or words[0] in _OWN_TESTS):
        return ""
    return plain[0] if plain and _NAME.fullmatch(plain[0]) else ""
