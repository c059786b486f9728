"""How things are run here: the command that tests, builds, lints, formats, checks types, and runs a single test."""

from __future__ import annotations

import re
from collections import Counter

from holdfast.model.knowledge import Convention, Evidence
from holdfast.repo.commands import CI, GUIDE, Command
from holdfast.repo.ground import Ground, convention
from holdfast.repo.languages import is_aside, shown
from holdfast.repo.package_managers import run_prefix
from holdfast.repo.tools import Use

# What a task is called, the most usual first.
_NAMES = {
    "test_command": (
        "test",
        "tests",
        "test:unit",
        "unit",
        "unit-test",
        "test-unit",
        "unittest",
        "tests:unit",
        "test:all",
        "test:run",
        "test-all",
        "py-test",
        "spec",
        "check",
    ),
    "build_command": ("build", "compile", "build:all", "dist", "package", "build-all"),
    "lint_command": (
        "lint",
        "lint:check",
        "lint:all",
        "linter",
        "linters",
        "check:lint",
        "clippy",
        "ruff",
        "eslint",
        "lint:fix",
    ),
    "format_command": (
        "format",
        "fmt",
        "fix",
        "format:fix",
        "format:write",
        "prettier",
        "style",
        "format-fix",
    ),
    "typecheck_command": (
        "typecheck",
        "type-check",
        "types",
        "check-types",
        "check:types",
        "type:check",
        "mypy",
        "pyright",
        "tsc",
        "test:types",
        "ts:check",
        "types:check",
    ),
    "check_command": (
        "check",
        "ci",
        "verify",
        "validate",
        "preflight",
        "check:all",
        "pre-commit",
        "all-checks",
    ),
    "dev_command": ("dev", "serve", "start", "watch", "run"),
}
_CATEGORY_OF = {
    "test_command": "test_runner",
    "lint_command": "linter",
    "format_command": "formatter",
    "typecheck_command": "type_checker",
}
_NOT_A_COMMAND = re.compile(r"^(?:make|just|task|rake):")


def task_conventions(ground: Ground, uses: list[Use], managers: list[Convention]) -> list[Convention]:
    found: list[Convention] = []
    for category, names in _NAMES.items():
        task = _named_task(ground, names, category, uses)
        if task is None and category in _CATEGORY_OF:
            task = _from_ci(ground, uses, _CATEGORY_OF[category], category)
        if task is None:
            task = _default(ground, category, managers)
        if task is not None:
            found.append(task)
    installing = _install(ground, managers)
    return found + ([installing] if installing else []) + _single_tests(ground, uses, managers)


def _named_task(ground: Ground, names: tuple[str, ...], category: str, uses: list[Use]) -> Convention | None:
    tasks: dict[str, list[Command]] = {}
    for command in ground.commands:
        if command.task:
            tasks.setdefault(command.name, []).append(command)
    for name in names:
        recipe = tasks.get(name)
        if not recipe or (
            name == "check" and category == "test_command" and not _runs(recipe, uses, category)
        ):
            continue
        first = recipe[0]
        same = [command for command in recipe if command.task == first.task]
        real = [command.text for command in same if not _NOT_A_COMMAND.match(command.text)]
        meant = next(
            (text for text in real if _is_of(text, uses, category)), real[0] if len(real) == 1 else ""
        )
        pattern = (
            f"{first.task} ({meant})" if meant and len(meant) <= 90 and meant != first.task else first.task
        )
        field = first.field
        return convention(category, pattern, 0.95, Evidence(first.path, field), example=first.task)
    return None


def _runs(recipe: list[Command], uses: list[Use], category: str) -> bool:
    return any(_is_of(command.text, uses, category) for command in recipe)


def _is_of(text: str, uses: list[Use], category: str) -> bool:
    wanted = _CATEGORY_OF.get(category)
    return any(
        use.tool.category == wanted and use.tool.command and use.tool.command.search(text) for use in uses
    )


def _from_ci(ground: Ground, uses: list[Use], wanted: str, category: str) -> Convention | None:
    """The command that CI or the guide gives most often for the surest tool of a kind."""
    for use in uses:
        if use.tool.category != wanted or "any" in use.tool.languages:
            continue
        if not set(use.tool.languages).intersection(ground.main[:2]):
            continue
        every = [c for c in use.commands if _plain(c.text)]
        told = [c for c in every if c.place == CI] or [c for c in every if c.place == GUIDE]
        if told:
            texts = Counter(command.text for command in told)
            text = min(texts, key=lambda one: (-texts[one], len(one)))
            first = next(command for command in told if command.text == text)
            return convention(
                category, text, 0.8, Evidence(first.path, first.field), example=text, count=texts[text]
            )
    return None


def _plain(text: str) -> bool:
    if text.count('"') % 2 or text.count("'") % 2:
        return False
    return (
        not re.search(
            r"\$\{\{|\$[A-Z(]|[<>|]|^\w+:|--help|--version|^hook:|test_name|TestName|::|_test\.\w+|test_\w+\.py",
            text,
        )
        and len(text) <= 110
    )


def _default(ground: Ground, category: str, managers: list[Convention]) -> Convention | None:
    """What the tool chain of the main language runs when nobody has written it down."""
    language = ground.main[0] if ground.main else ""
    names = {found.pattern for found in managers}
    folder, manifest = _module_root(ground, language)
    inside = f" (in {folder}/)" if folder else ""
    gradle = "./gradlew" if "gradlew" in ground.everything else "gradle"
    maven = "./mvnw" if "mvnw" in ground.everything else "mvn"
    table: dict[tuple[str, str], str] = {
        ("go", "test_command"): "go test ./...",
        ("go", "build_command"): "go build ./...",
        ("rust", "test_command"): "cargo test",
        ("rust", "build_command"): "cargo build",
        ("java", "test_command"): f"{gradle} test" if "gradle" in names else f"{maven} test",
        ("java", "build_command"): f"{gradle} build" if "gradle" in names else f"{maven} package",
        ("elixir", "test_command"): "mix test",
        ("swift", "test_command"): "swift test",
        ("swift", "build_command"): "swift build",
        ("csharp", "test_command"): "dotnet test",
        ("csharp", "build_command"): "dotnet build",
        ("dart", "test_command"): "dart test",
        ("php", "test_command"): "vendor/bin/phpunit",
    }
    table["kotlin", "test_command"] = table["java", "test_command"]
    table["kotlin", "build_command"] = table["java", "build_command"]
    text = table.get((language, category))
    if language in ("c", "cpp") and category == "build_command":
        built_by_cmake = "CMakeLists.txt" in ground.everything
        text = "cmake -B build && cmake --build build" if built_by_cmake else "make"
        manifest = "CMakeLists.txt" if built_by_cmake else "Makefile"
        manifest = manifest if manifest in ground.everything else ""
    if language == "ruby" and category == "test_command":
        spec = any(name.endswith("_spec.rb") for name in ground.tests)
        rails = "bin/rails" in ground.names
        text = "bundle exec rspec" if spec else "bin/rails test" if rails else "bundle exec rake test"
    if language == "python" and category == "test_command" and ground.dependency("pytest"):
        text = run_prefix(managers, "python") + "pytest"
        manifest = (ground.dependency("pytest") or Evidence("")).path
    if not text or not manifest or (category == "test_command" and not ground.tests):
        return None
    return convention(category, text + inside, 0.75, Evidence(manifest), example=text)


def _module_root(ground: Ground, language: str) -> tuple[str, str]:
    """The folder of the main language's first manifest, and the manifest."""
    family = {"typescript": "javascript", "kotlin": "java", "c": "cpp"}.get(language, language)
    own = [manifest for manifest in ground.manifests if manifest.language == family]
    if not own:
        return "", ""
    at_root = [manifest for manifest in own if not manifest.folder]
    sources = [name for name, said in ground.languages.items() if said == language]
    best = max(
        at_root or own, key=lambda manifest: sum(name.startswith(f"{manifest.folder}/") for name in sources)
    )
    return best.folder, best.path


_INSTALL = re.compile(
    r"^(?:uv (?:sync|pip install)|poetry install|pdm (?:install|sync)|pipenv install|pixi install"
    r"|pip3? install (?:-e|-r|--editable|\.|\"\.)"
    r"|pnpm (?:install|i)\b|npm (?:ci|install)$|yarn(?: install)?(?: --\S+)*$|bun (?:install|i)\b"
    r"|bundle install|go mod download|composer install|mix deps\.get"
    r"|(?:conda|mamba) env create)"
)


def _install(ground: Ground, managers: list[Convention]) -> Convention | None:
    names = ("install", "setup", "bootstrap", "init", "sync")
    for command in ground.commands:
        if (
            command.name in names
            and command.task
            and not command.task.startswith(("npm", "pnpm", "yarn", "bun"))
        ):
            real = [c.text for c in ground.commands if c.task == command.task and _INSTALL.match(c.text)]
            pattern = f"{command.task} ({real[0]})" if real else command.task
            return convention(
                "install_command", pattern, 0.9, Evidence(command.path, command.field), example=command.task
            )
    known = {found.pattern for found in managers}
    told = [c for c in ground.commands if _INSTALL.match(c.text) and "$" not in c.text and _plain(c.text)]
    own = [c for c in told if any(c.text.startswith(name.replace("bundler", "bundle")) for name in known)]
    texts = Counter(command.text for command in own)
    if not texts:
        return None
    text = min(texts, key=lambda one: (len(one.split()) > 4, -texts[one], len(one)))
    first = next(command for command in own if command.text == text)
    return convention(
        "install_command", text, 0.8, Evidence(first.path, first.field), example=text, count=texts[text]
    )


def _single_tests(ground: Ground, uses: list[Use], managers: list[Convention]) -> list[Convention]:
    found: list[Convention] = []
    done: set[str] = set()
    for use in uses:
        if use.tool.category != "test_runner":
            continue
        language = next((one for one in ground.main if one in use.tool.languages), "")
        if not language or language in done:
            continue
        done.add(language)
        prefix = run_prefix(managers, language)
        gradle = "./gradlew" if "gradlew" in ground.everything else "gradle"
        maven = "./mvnw" if "mvnw" in ground.everything else "mvn"
        names = {one.pattern for one in managers}
        own = [name for name in ground.tests if ground.languages[name] == language]
        test = min(own, key=_clearness, default="")
        pattern = {
            "pytest": f"{prefix}pytest path/to/test_file.py::test_name",
            "unittest": f"{prefix}python -m unittest path.to.test_module.TestClass.test_name",
            "vitest": f"{prefix}vitest run <path> -t <name>",
            "jest": f"{prefix}jest <path> -t <name>",
            "mocha": f"{prefix}mocha <path> --grep <name>",
            "ava": f"{prefix}ava <path> --match <name>",
            "node --test": "node --test <path>",
            "bun test": "bun test <path> -t <name>",
            "deno test": "deno test <path> --filter <name>",
            "go test": "go test ./path/to/package -run TestName",
            "gotestsum": "go test ./path/to/package -run TestName",
            "ginkgo": "ginkgo --focus <name> ./path/to/package",
            "cargo test": "cargo test <name>",
            "cargo nextest": "cargo nextest run <name>",
            "RSpec": f"{prefix}rspec path/to/file_spec.rb:LINE",
            "minitest": "bin/rails test path/to/file_test.rb:LINE"
            if "bin/rails" in ground.names
            else f"{prefix}ruby -Itest path/to/file_test.rb",
            "JUnit": f"{gradle} test --tests ClassName.method"
            if "gradle" in names
            else f"{maven} test -Dtest=ClassName#method",
            "PHPUnit": "vendor/bin/phpunit --filter testName path/to/Test.php",
            "ExUnit": "mix test path/to/file_test.exs:LINE",
            "CTest": "ctest -R <name>",
            "dotnet test": "dotnet test --filter FullyQualifiedName~Name",
            "flutter test": "flutter test path/to/file_test.dart",
            "dart test": "dart test path/to/file_test.dart",
            "swift test": "swift test --filter Name",
        }.get(use.tool.name)
        if pattern:
            scope = shown(language) if len(ground.main) > 1 else ""
            evidence = [*use.evidence[:2], *([Evidence(test)] if test else [])]
            found.append(
                convention("run_single_test", pattern, use.score * 0.95, *evidence, example=test, scope=scope)
            )
    return found[:3]


def _clearness(test: str) -> tuple[bool, bool, int]:
    """Smaller for a test that shows at a glance where tests lie and what they are called."""
    named = re.search(r"(?i)test[_.]|[_.]test|tests?\.|spec", test.rpartition("/")[2])
    return is_aside(test), not named, test.count("/")
