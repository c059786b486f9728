"""The commands of a repository: how to test, build, lint, format, check types, and run a single test."""

from __future__ import annotations

import re
from collections import Counter

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.commands import CI, GUIDE, HOOK, README, TASK, RepositoryCommand
from holdfast.knowledge.findings import convention
from holdfast.knowledge.ground import Ground
from holdfast.knowledge.languages import KIN, is_aside
from holdfast.knowledge.package_managers import run_prefix
from holdfast.knowledge.tools import Use
from holdfast.model.knowledge import Convention, Evidence

# Names of tasks by category, the most common first.
_NAMES = {
    "test_command": "test tests test:unit unit unit-test test-unit unittest tests:unit test:all test:run test-all "
    "py-test spec check",
    "build_command": "build compile build:all dist package build-all",
    "lint_command": "lint lint:check lint:all linter linters check:lint clippy ruff eslint lint:fix style",
    "format_command": "format fmt fix format:fix format:write prettier format-fix",
    "typecheck_command": "typecheck type-check types typing check-types "
    "check:types type:check mypy pyright tsc test:types ts:check types:check",
    "check_command": "check ci verify validate preflight check:all rake-default pre-commit all-checks",
    "docs_command": "docs doc docs:build build-docs build:docs",
    "benchmark_command": "bench benchmark benchmarks",
    "dev_command": "dev serve start watch run",
}
_TOOL_OF = {
    "test_command": "test_runner",
    "lint_command": "linter",
    "format_command": "formatter",
    "typecheck_command": "type_checker",
}
_NOT_FROM_GUIDES = ("dev_command", "docs_command", "benchmark_command")
_NOT_A_COMMAND = lazy_regex(r"^(?:make|just|task|rake|script):")
_BUILDS = lazy_regex(
    r"^(?:\./)?(?:mvnw?|gradlew?) (?:[\w:-]+ )*(?:verify|package|install|build|assemble)(?: (?!-P)[\w:-]+)*$"
)
_THROUGH = (
    r"(?:make|just|task|rake|bundle exec rake|npm run|pnpm(?: run)?|yarn(?: run)?|bun run|poe|nox -s|"
    r"tox -e|mise run|mise r)"
)
_INSTALL = lazy_regex(
    r"^(?!.*==)(?:uv (?:sync|pip install)|poetry install|pdm (?:install|sync)|pipenv install|pixi install"
    r"|pip3? install (?:-e|-r|--editable|\.|\"\.)"
    r"|pnpm (?:install|i)\b|npm (?:ci|install)$|yarn(?: install)?(?: --\S+)*$|bun (?:install|i)\b"
    r"|bundle install|go mod download|composer install|mix deps\.get"
    r"|(?:conda|mamba) env create)"
)
_USUAL_INSTALL = {
    "uv": "uv sync", "poetry": "poetry install", "pdm": "pdm install", "pnpm": "pnpm install", "yarn": "yarn install",
    "npm": "npm install", "bun": "bun install", "bundler": "bundle install", "composer": "composer install",
}  # fmt: skip
# How a tool is run if no file of the repository says so.
_USUAL = {
    ("Spotless", "format_command"): "{spotless}",
    ("rustfmt", "format_command"): "cargo fmt",
    ("gofmt", "format_command"): "gofmt -w .",
    ("goimports", "format_command"): "goimports -w .",
    ("ruff", "format_command"): "{prefix}ruff format",
    ("black", "format_command"): "{prefix}black .",
    ("prettier", "format_command"): "{prefix}prettier --write .",
    ("ruff", "lint_command"): "{prefix}ruff check",
    ("clippy", "lint_command"): "cargo clippy",
    ("golangci-lint", "lint_command"): "golangci-lint run",
    ("RuboCop", "lint_command"): "{prefix}rubocop",
    ("eslint", "lint_command"): "{prefix}eslint .",
    ("tsc", "typecheck_command"): "{prefix}tsc --noEmit",
    ("pyright", "typecheck_command"): "{prefix}pyright",
}
# What the tool chain of a language runs.
_DEFAULTS = {
    ("go", "test_command"): "go test ./...",
    ("go", "build_command"): "go build ./...",
    ("rust", "test_command"): "cargo test",
    ("rust", "build_command"): "cargo build",
    ("java", "test_command"): "{java} test",
    ("java", "build_command"): "{java} {package}",
    ("elixir", "test_command"): "mix test",
    ("swift", "test_command"): "swift test",
    ("swift", "build_command"): "swift build",
    ("csharp", "test_command"): "dotnet test",
    ("csharp", "build_command"): "dotnet build",
    ("dart", "test_command"): "dart test",
    ("php", "test_command"): "vendor/bin/phpunit",
}
_C_BUILDS = {
    "CMakeLists.txt": "cmake -B build && cmake --build build",
    "meson.build": "meson setup build && ninja -C build",
    "configure.ac": "autoreconf -i && ./configure && make",
    "Makefile": "make",
}
_SINGLE_TESTS = {
    "pytest": "{prefix}pytest path/to/test_file.py::test_name",
    "unittest": "{prefix}python -m unittest path.to.test_module.TestClass.test_name",
    "vitest": "{prefix}vitest run <path> -t <name>",
    "jest": "{prefix}jest <path> -t <name>",
    "mocha": "{prefix}mocha <path> --grep <name>",
    "ava": "{prefix}ava <path> --match <name>",
    "node --test": "node --test <path>",
    "borp": "{prefix}borp <path>",
    "tap": "{prefix}tap <path>",
    "bun test": "bun test <path> -t <name>",
    "deno test": "deno test <path> --filter <name>",
    "go test": "go test ./path/to/package -run TestName",
    "gotestsum": "go test ./path/to/package -run TestName",
    "ginkgo": "ginkgo --focus <name> ./path/to/package",
    "cargo test": "cargo test <name>",
    "cargo nextest": "cargo nextest run <name>",
    "RSpec": "{prefix}rspec path/to/file_spec.rb:LINE",
    "minitest": "{prefix}ruby -Ilib -I{folder} {test}",
    "minitest with Rails": "bin/rails test path/to/file_test.rb:LINE",
    "JUnit": "{maven} test -Dtest=ClassName#method",
    "JUnit with Gradle": "{gradle} test --tests ClassName.method",
    "PHPUnit": "vendor/bin/phpunit --filter testName path/to/Test.php",
    "ExUnit": "mix test path/to/file_test.exs:LINE",
    "CTest": "ctest -R <name>",
    "dotnet test": "dotnet test --filter FullyQualifiedName~Name",
    "flutter test": "flutter test path/to/file_test.dart",
    "dart test": "dart test path/to/file_test.dart",
    "swift test": "swift test --filter Name",
}


def task_conventions(ground: Ground, uses: list[Use], managers: list[Convention]) -> list[Convention]:
    conventions: list[Convention | None] = []
    for category, names in _NAMES.items():
        conventions.append(
            _named_task(ground, names.split(), category, uses)
            or _in_guides(ground, category, names.split())
            or _of_tool(ground, uses, category)
            or _usual_command(ground, uses, managers, category)
            or _language_default(ground, category, managers)
        )
    conventions.append(_install(ground, managers))
    return [*filter(None, conventions), *_single_tests(ground, uses, managers)]


def _named_task(ground: Ground, names: list[str], category: str, uses: list[Use]) -> Convention | None:
    """A task with one of these names."""
    tasks: dict[str, list[RepositoryCommand]] = {}
    for command in ground.commands:
        if command.task:
            tasks.setdefault(command.name, []).append(command)
    for name in names:
        recipe = tasks.get(name)
        if not recipe or (
            name == "check"
            and category == "test_command"
            and not any(_is_of(command.text, uses, category) for command in recipe)
        ):
            continue
        first = recipe[0]
        same = [command for command in recipe if command.task == first.task]
        real = [command.text for command in same if not _NOT_A_COMMAND.match(command.text)]
        meant = next(
            (text for text in real if _is_of(text, uses, category)), real[0] if len(real) == 1 else ""
        )
        return _of_task(category, first, 0.95, meant if len(meant) <= 90 and meant != first.task else "")
    return None


def _in_guides(ground: Ground, category: str, names: list[str]) -> Convention | None:
    """A task that a guide or CI runs by name, although no task file at the top declares it."""
    for place in (GUIDE, README, CI) if category not in _NOT_FROM_GUIDES else ():
        commands = [
            command for command in ground.commands if command.place == place and _is_for_all(ground, command)
        ]
        for name in names:
            exact = re.compile(
                rf"^{_THROUGH} {re.escape(name)}$|^(?:\./)?(?:scripts?|bin)/{re.escape(name)}$"
            )
            if category == "check_command" and name == "check":
                continue  # a guide does not say what it checks
            if command := next((candidate for candidate in commands if exact.match(candidate.text)), None):
                return _of_command(category, command, 0.85)
        if category == "build_command" and (
            builds := [candidate for candidate in commands if _BUILDS.match(candidate.text)]
        ):
            first = min(builds, key=lambda command: (" -" in command.text, len(command.text)))
            return _of_command(category, first, 0.85)
    return None


def _of_tool(ground: Ground, uses: list[Use], category: str) -> Convention | None:
    """The most frequent command in CI or the guide for the most certain tool of a category."""
    tool_uses = [
        use for use in uses if use.tool.category == _TOOL_OF.get(category) and "any" not in use.tool.languages
    ]
    for use in sorted(tool_uses, key=lambda use: ground.leading not in use.tool.languages):
        if not set(use.tool.languages).intersection(ground.main[:2]):
            continue
        plain = [
            command
            for command in use.commands
            if _is_plain(command.text) and not _is_partial(command.text, category)
        ]
        by_place = (
            [command for command in plain if command.place == place] for place in (GUIDE, CI, README, TASK)
        )
        commands = next(filter(None, by_place), [])
        if commands and commands[0].place != TASK:
            return _most_frequent(category, commands)
        if commands and (from_task := _inside_a_task(ground, commands, category)):
            return from_task
    return None


def _inside_a_task(ground: Ground, commands: list[RepositoryCommand], category: str) -> Convention | None:
    """A task that runs only this command, under any name; or the command itself if it can be typed as it is."""
    for first in commands:
        recipe = [
            other_command
            for other_command in ground.commands
            if other_command.task == first.task and not _NOT_A_COMMAND.match(other_command.text)
        ]
        if first.task and len(recipe) == 1:
            return _of_task(category, first, 0.85, first.text)
    typeable = [
        other_command
        for other_command in commands
        if other_command.task and not other_command.path.endswith(".json")
    ]
    shortest = min(typeable, key=lambda command: len(command.text), default=None)
    return _of_command(category, shortest, 0.8) if shortest else None


def _usual_command(
    ground: Ground, uses: list[Use], managers: list[Convention], category: str
) -> Convention | None:
    """The usual command of the most certain tool of a category, from the tool's own documentation."""
    hooks = next((use for use in uses if use.tool.name == "pre-commit" and use.score >= 0.75), None)
    gradle = any(manager.pattern == "gradle" for manager in managers)
    for use in uses:
        if (
            use.tool.category != _TOOL_OF.get(category)
            or use.score < 0.75
            or ground.leading not in use.tool.languages
        ):
            continue
        if category == "lint_command" and hooks and any(command.place == HOOK for command in use.commands):
            command = "pre-commit run --all-files"
            return convention(category, command, 0.8, *hooks.evidence, example="pre-commit")
        if usual := _USUAL.get((use.tool.name, category)):
            command = usual.format(
                prefix=run_prefix(ground, managers, ground.leading),
                spotless="./gradlew spotlessApply" if gradle else "mvn spotless:apply",
            )
            return convention(category, command, 0.7, *use.evidence[:2], example=command)
    return None


def _language_default(ground: Ground, category: str, managers: list[Convention]) -> Convention | None:
    """The default command of the main language's tool chain, if no file gives one."""
    language = ground.leading
    folder, manifest = _module_root(ground, language)
    builder = next((manager.pattern for manager in managers if manager.pattern in ("gradle", "maven")), "")
    java, package = ("gradle", "build") if builder == "gradle" else ("mvn", "package")
    text = _DEFAULTS.get((KIN.get(language, language), category), "")
    text = text.format(java=ground.java_tool(java), package=package)
    if category == "dev_command":
        text, manifest = _server(ground, ground.java_tool("mvn" if builder == "maven" else "gradle"))
    elif category == "build_command" and language in ("c", "cpp"):
        build_file = next((name for name in _C_BUILDS if name in ground.everything), "")
        manifest, text = build_file or manifest, _C_BUILDS.get(build_file, "")
    elif category == "build_command" and manifest == "pom.xml":
        if goal := re.search(r"<defaultGoal>([^<]+)</defaultGoal>", ground.text(manifest)):
            text = f"{ground.java_tool('mvn')} (default goal: {goal.group(1).strip()})"
    elif category == "test_command" and language == "ruby":
        spec = any(name.endswith("_spec.rb") for name in ground.tests)
        rails = "bin/rails" in ground.names
        text = "bundle exec rspec" if spec else "bin/rails test" if rails else "bundle exec rake test"
    elif category == "test_command" and language == "python" and (pytest := ground.dependency("pytest")):
        text, manifest = run_prefix(ground, managers, language) + "pytest", pytest.path
    if not text or not manifest or (category == "test_command" and not ground.tests):
        return None
    inside = f" (in {folder}/)" if folder else ""
    return convention(category, text + inside, 0.75, Evidence(manifest), example=text)


def _server(ground: Ground, java: str) -> tuple[str, str]:
    """The command that starts a framework's own development server, and the file that shows it."""
    spring = ("org.springframework.boot", "spring-boot-maven-plugin", "spring-boot-starter-parent")
    if where := ground.dependency(*spring):
        return f"{java} {'bootRun' if 'gradle' in java else 'spring-boot:run'}", where.path
    if "bin/rails" in ground.names:
        return "bin/rails server", "bin/rails"
    if "manage.py" in ground.names and ground.dependency("django"):
        return "python manage.py runserver", "manage.py"
    return "", ""


def _module_root(ground: Ground, language: str) -> tuple[str, str]:
    """The folder of the main language's first manifest, and the manifest."""
    manifests = [
        manifest for manifest in ground.manifests if manifest.language == KIN.get(language, language)
    ]
    at_root = [manifest for manifest in manifests if not manifest.folder]
    sources = [name for name, of in ground.languages.items() if of == language]
    best = max(
        at_root or manifests,
        key=lambda manifest: sum(name.startswith(f"{manifest.folder}/") for name in sources),
        default=None,
    )
    return (best.folder, best.path) if best else ("", "")


def _install(ground: Ground, managers: list[Convention]) -> Convention | None:
    for command in ground.commands:
        if (
            command.name in ("install", "setup", "bootstrap", "init", "sync")
            and command.task
            and not command.task.startswith(("npm", "pnpm", "yarn", "bun"))
        ):
            real = [
                candidate.text
                for candidate in ground.commands
                if candidate.task == command.task and _INSTALL.match(candidate.text)
            ]
            if real or command.name in ("setup", "bootstrap"):  # `install` may put the program on the machine
                return _of_task("install_command", command, 0.9, real[0] if real else "")
    manager_names = tuple(candidate.pattern.replace("bundler", "bundle") for candidate in managers)
    installs = [
        candidate
        for candidate in ground.commands
        if _INSTALL.match(candidate.text)
        and "$" not in candidate.text
        and _is_plain(candidate.text)
        and candidate.text.startswith(manager_names)
    ]
    if installs:
        return _most_frequent("install_command", installs, longest=4)
    for manager in managers:
        if usual := _USUAL_INSTALL.get(manager.pattern):
            return convention("install_command", usual, 0.7, *manager.evidence[:1], example=usual)
    return None


def _single_tests(ground: Ground, uses: list[Use], managers: list[Convention]) -> list[Convention]:
    """The command that runs one test, for the most certain test runner of each language."""
    tests_by_language: dict[str, Convention | None] = {}
    gradle = any(manager.pattern == "gradle" for manager in managers)
    variants = {
        "minitest": "minitest with Rails" if "bin/rails" in ground.names else "minitest",
        "JUnit": "JUnit with Gradle" if gradle else "JUnit",
    }
    for use in uses:
        language = next((name for name in ground.main if name in use.tool.languages), "")
        if use.tool.category != "test_runner" or not language or language in tests_by_language:
            continue
        tests = [name for name in ground.tests if ground.languages[name] == language]
        test = min(tests, key=_clearness, default="")
        pattern = _SINGLE_TESTS.get(variants.get(use.tool.name, use.tool.name), "").format(
            prefix=run_prefix(ground, managers, language),
            gradle=ground.java_tool("gradle"),
            maven=ground.java_tool("mvn"),
            folder=test.partition("/")[0] or "test",
            test=test or "path/to/file_test.rb",
        )
        evidence = [*use.evidence[:2], *([Evidence(test)] if test else [])]
        sure, scope = use.score * 0.95, ground.scope(language)
        tests_by_language[language] = (
            convention("run_single_test", pattern, sure, *evidence, example=test, scope=scope)
            if pattern
            else None
        )
    return [*filter(None, tests_by_language.values())][:3]


def _clearness(test: str) -> tuple[bool, bool, int]:
    """A sort key: smaller for a test whose path shows where tests are and how they are named."""
    named = re.search(r"(?i)test[_.]|[_.]test|tests?\.|spec", test.rpartition("/")[2])
    return is_aside(test), not named, test.count("/")


def _most_frequent(
    category: str, commands: list[RepositoryCommand], longest: int | None = None
) -> Convention:
    """The most frequent command, the shorter one among equals; one with more than `longest` words comes last."""
    texts = Counter(command.text for command in commands)
    text = min(texts, key=lambda text: (longest and len(text.split()) > longest, -texts[text], len(text)))
    first = next(command for command in commands if command.text == text)
    return _of_command(category, first, 0.8, count=texts[text])


def _of_command(category: str, command: RepositoryCommand, sure: float, count: int = 0) -> Convention:
    where = Evidence(command.path, command.field)
    return convention(category, command.text, sure, where, example=command.text, count=count)


def _of_task(category: str, command: RepositoryCommand, sure: float, meant: str) -> Convention:
    """A task by the name that people run it by, and what it runs."""
    pattern = f"{command.task} ({meant})" if meant else command.task
    return convention(category, pattern, sure, Evidence(command.path, command.field), example=command.task)


def _is_of(text: str, uses: list[Use], category: str) -> bool:
    wanted = _TOOL_OF.get(category)
    return any(
        use.tool.category == wanted and use.tool.command and use.tool.command.search(text) for use in uses
    )


def _is_for_all(ground: Ground, command: RepositoryCommand) -> bool:
    """Whether a command is for the whole repository: not from a part's guide, nor a script of a part's package.json."""
    if command.path.count("/") and not command.path.startswith((".github/", ".circleci/", "doc")):
        return False
    by_script = re.match(r"(?:npm|pnpm|yarn|bun)\b", command.text)
    return _is_plain(command.text) and (not by_script or "package.json" in ground.everything)


def _is_partial(text: str, category: str) -> bool:
    """Whether a command does less than its category says: some of the tests, or a check where a change is wanted."""
    if category == "format_command":
        return bool(re.search(r"--?(?:check|diff|verify|dry-run)\b|[: ]check\b|gofmt -[ld]\b", text))
    return category == "test_command" and bool(
        re.search(r" (?:--doc|--lib|-p|--package|--test|-k|--filter)(?: |=|$)", text)
    )


def _is_plain(text: str) -> bool:
    return (
        not (text.count('"') % 2 or text.count("'") % 2)
        and not re.search(
            r"\$\{|\$[A-Z(]|--with\b|git\+|[<>|]|^\w+:|--help|--version| -[vV]$|^hook:|test_name|TestName|::|_test\.\w+"
            r"|test_\w+\.py",
            text,
        )
        and len(text) <= 110
    )
