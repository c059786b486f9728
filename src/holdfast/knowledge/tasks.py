"""How things are run here: the command that tests, builds, lints, formats, checks types, and runs a single test."""

from __future__ import annotations

import re
from collections import Counter

from holdfast.core.patterns import lazy_regex
from holdfast.knowledge.commands import CI, GUIDE, HOOK, README, TASK, Command
from holdfast.knowledge.ground import Ground, convention
from holdfast.knowledge.libraries import environment_prefix, run_prefix, single_tests
from holdfast.knowledge.manifests import KIN
from holdfast.knowledge.tools import Use
from holdfast.model.knowledge import Convention, Evidence

# What is run where nothing written says so: as the tool in use, the language or the framework has it.

CATEGORY_OF = {
    "test_command": "test_runner",
    "lint_command": "linter",
    "format_command": "formatter",
    "typecheck_command": "type_checker",
}


def usual_command(
    ground: Ground, uses: list[Use], managers: list[Convention], category: str
) -> Convention | None:
    """How the surest linter or formatter is run where nothing says so: as its own documentation has it."""
    wanted = CATEGORY_OF.get(category)
    hooks = next((use for use in uses if use.tool.name == "pre-commit" and use.score >= 0.75), None)
    for use in uses:
        if use.tool.category != wanted or use.score < 0.75 or ground.leading not in use.tool.languages:
            continue
        if category == "lint_command" and hooks and any(command.place == HOOK for command in use.commands):
            return convention(
                category, "pre-commit run --all-files", 0.8, *hooks.evidence, example="pre-commit"
            )
        prefix = environment_prefix(ground) or run_prefix(managers, ground.leading)
        gradle = "gradle" in {one.pattern for one in managers}
        command = {
            ("Spotless", "format_command"): "./gradlew spotlessApply" if gradle else "mvn spotless:apply",
            ("rustfmt", "format_command"): "cargo fmt",
            ("gofmt", "format_command"): "gofmt -w .",
            ("goimports", "format_command"): "goimports -w .",
            ("ruff", "format_command"): f"{prefix}ruff format",
            ("black", "format_command"): f"{prefix}black .",
            ("prettier", "format_command"): f"{prefix}prettier --write .",
            ("ruff", "lint_command"): f"{prefix}ruff check",
            ("clippy", "lint_command"): "cargo clippy",
            ("golangci-lint", "lint_command"): "golangci-lint run",
            ("RuboCop", "lint_command"): f"{prefix}rubocop",
            ("eslint", "lint_command"): f"{prefix}eslint .",
            ("tsc", "typecheck_command"): f"{prefix}tsc --noEmit",
            ("pyright", "typecheck_command"): f"{prefix}pyright",
        }.get((use.tool.name, category))
        if command:
            return convention(category, command, 0.7, *use.evidence[:2], example=command)
    return None


def _server(ground: Ground, java: str) -> tuple[str, str]:
    """How the frameworks that bring their own server run a program while it is worked on, and what shows them."""
    if spring := ground.dependency(
        "org.springframework.boot", "spring-boot-maven-plugin", "spring-boot-starter-parent"
    ):
        return f"{java} {'bootRun' if 'gradle' in java else 'spring-boot:run'}", spring.path
    if "bin/rails" in ground.names:
        return "bin/rails server", "bin/rails"
    if "manage.py" in ground.names and ground.dependency("django"):
        return "python manage.py runserver", "manage.py"
    return "", ""


_C_BUILDS = (
    ("CMakeLists.txt", "cmake -B build && cmake --build build"),
    ("meson.build", "meson setup build && ninja -C build"),
    ("configure.ac", "autoreconf -i && ./configure && make"),
    ("Makefile", "make"),
)


def language_default(ground: Ground, category: str, managers: list[Convention]) -> Convention | None:
    """What the tool chain of the main language runs when nobody has written it down."""
    language = ground.leading
    names = {next((found.pattern for found in managers if found.pattern in ("gradle", "maven")), "")}
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
    text = table.get(("java" if language == "kotlin" else language, category))
    if language in ("c", "cpp") and category == "build_command":
        for made_by, command in _C_BUILDS:
            if made_by in ground.everything:
                manifest, text = made_by, command
                break
    declared = ground.text("pom.xml") if manifest == "pom.xml" and category == "build_command" else ""
    if goal := re.search(r"<defaultGoal>([^<]+)</defaultGoal>", declared):
        text = f"{maven} (default goal: {goal.group(1).strip()})"
    if category == "dev_command":
        text, manifest = _server(ground, maven if "maven" in names else gradle)
    if language == "ruby" and category == "test_command":
        spec = any(name.endswith("_spec.rb") for name in ground.tests)
        rails = "bin/rails" in ground.names
        text = "bundle exec rspec" if spec else "bin/rails test" if rails else "bundle exec rake test"
    if language == "python" and category == "test_command" and ground.dependency("pytest"):
        text = (environment_prefix(ground) or run_prefix(managers, "python")) + "pytest"
        manifest = (ground.dependency("pytest") or Evidence("")).path
    if not text or not manifest or (category == "test_command" and not ground.tests):
        return None
    return convention(category, text + inside, 0.75, Evidence(manifest), example=text)


def _module_root(ground: Ground, language: str) -> tuple[str, str]:
    """The folder of the main language's first manifest, and the manifest."""
    own = [manifest for manifest in ground.manifests if manifest.language == KIN.get(language, language)]
    if not own:
        return "", ""
    at_root = [manifest for manifest in own if not manifest.folder]
    sources = [name for name, said in ground.languages.items() if said == language]
    best = max(
        at_root or own, key=lambda manifest: sum(name.startswith(f"{manifest.folder}/") for name in sources)
    )
    return best.folder, best.path


# What a task is called, the most usual first.
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
_NOT_A_COMMAND = lazy_regex(r"^(?:make|just|task|rake|script):")


def task_conventions(ground: Ground, uses: list[Use], managers: list[Convention]) -> list[Convention]:
    found: list[Convention | None] = []
    for category, names in ((category, tuple(names.split())) for category, names in _NAMES.items()):
        found.append(
            _named_task(ground, names, category, uses)
            or _told(ground, category, names)
            or _from_ci(ground, uses, category)
            or usual_command(ground, uses, managers, category)
            or language_default(ground, category, managers)
        )
    found.append(_install(ground, managers))
    return [*filter(None, found), *single_tests(ground, uses, managers)]


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
        return _of_task(category, first, 0.95, meant if len(meant) <= 90 and meant != first.task else "")
    return None


def _of_command(category: str, told: Command, sure: float, count: int = 0) -> Convention:
    where = Evidence(told.path, told.field)
    return convention(category, told.text, sure, where, example=told.text, count=count)


def _of_task(category: str, told: Command, sure: float, meant: str) -> Convention:
    """A task by the name that people run it by, and what it runs."""
    pattern = f"{told.task} ({meant})" if meant else told.task
    return convention(category, pattern, sure, Evidence(told.path, told.field), example=told.task)


def _runs(recipe: list[Command], uses: list[Use], category: str) -> bool:
    return any(_is_of(command.text, uses, category) for command in recipe)


def _is_of(text: str, uses: list[Use], category: str) -> bool:
    wanted = CATEGORY_OF.get(category)
    return any(
        use.tool.category == wanted and use.tool.command and use.tool.command.search(text) for use in uses
    )


def _from_ci(ground: Ground, uses: list[Use], category: str) -> Convention | None:
    """The command that CI or the guide gives most often for the surest tool of a kind."""
    wanted = CATEGORY_OF.get(category)
    own = [use for use in uses if use.tool.category == wanted and "any" not in use.tool.languages]
    for use in sorted(own, key=lambda use: ground.leading not in use.tool.languages):
        if not set(use.tool.languages).intersection(ground.main[:2]):
            continue
        every = [c for c in use.commands if _plain(c.text) and not _of_a_part(c.text, category)]
        told = next(
            (here for place in (GUIDE, CI, README, TASK) if (here := [c for c in every if c.place == place])),
            [],
        )
        if told and told[0].place == TASK:
            if made := _inside_a_task(ground, told, category):
                return made
            continue
        if told:
            texts = Counter(command.text for command in told)
            text = min(texts, key=lambda one: (-texts[one], len(one)))
            first = next(command for command in told if command.text == text)
            return _of_command(category, first, 0.8, count=texts[text])
    return None


def _inside_a_task(ground: Ground, told: list[Command], category: str) -> Convention | None:
    """A task that does this alone, under whatever name; or the command itself where it can be typed as it stands."""
    for first in told:
        whole = [c for c in ground.commands if c.task == first.task and not _NOT_A_COMMAND.match(c.text)]
        if first.task and len(whole) == 1:
            return _of_task(category, first, 0.85, first.text)
    typed = [c for c in told if c.task and not c.path.endswith(".json")]
    if not typed:
        return None
    first = min(typed, key=lambda command: len(command.text))
    return _of_command(category, first, 0.8)


_BUILDS = lazy_regex(
    r"^(?:\./)?(?:mvnw?|gradlew?) (?:[\w:-]+ )*(?:verify|package|install|build|assemble)(?: (?!-P)[\w:-]+)*$"
)
_THROUGH = (
    r"(?:make|just|task|rake|bundle exec rake|npm run|pnpm(?: run)?|yarn(?: run)?|bun run|poe|nox -s|"
    r"tox -e|mise run|mise r)"
)


_NOT_TOLD = ("dev_command", "docs_command", "benchmark_command")


def _told(ground: Ground, category: str, names: tuple[str, ...]) -> Convention | None:
    """A task that a guide or CI runs by its name, though no task file at the top declares it."""
    for place in (GUIDE, README, CI) if category not in _NOT_TOLD else ():
        told = [
            command for command in ground.commands if command.place == place and _is_for_all(ground, command)
        ]
        for name in names:
            exact = re.compile(
                rf"^{_THROUGH} {re.escape(name)}$|^(?:\./)?(?:scripts?|bin)/{re.escape(name)}$"
            )
            if category == "check_command" and name == "check":
                continue  # of a guide nobody knows what it checks
            if found := next((command for command in told if exact.match(command.text)), None):
                return _of_command(category, found, 0.85)
        if category == "build_command" and (builds := [c for c in told if _BUILDS.match(c.text)]):
            first = min(builds, key=lambda command: (" -" in command.text, len(command.text)))
            return _of_command(category, first, 0.85)
    return None


def _is_for_all(ground: Ground, command: Command) -> bool:
    """Whether a command is for the whole: not from the guide of a part, nor by a script of a part's package.json."""
    if command.path.count("/") and not command.path.startswith((".github/", ".circleci/", "doc")):
        return False
    by_script = re.match(r"(?:npm|pnpm|yarn|bun)\b", command.text)
    return _plain(command.text) and (not by_script or "package.json" in ground.everything)


def _of_a_part(text: str, category: str) -> bool:
    """Whether a command does less than its kind says: a part of the tests, or a look where a change is asked for."""
    if category == "format_command":
        return bool(re.search(r"--?(?:check|diff|verify|dry-run)\b|[: ]check\b|gofmt -[ld]\b", text))
    return category == "test_command" and bool(
        re.search(r" (?:--doc|--lib|-p|--package|--test|-k|--filter)(?: |=|$)", text)
    )


def _plain(text: str) -> bool:
    return (
        not (text.count('"') % 2 or text.count("'") % 2)
        and not re.search(
            r"\$\{|\$[A-Z(]|--with\b|git\+|[<>|]|^\w+:|--help|--version| -[vV]$|^hook:|test_name|TestName|::|_test\.\w+"
            r"|test_\w+\.py",
            text,
        )
        and len(text) <= 110
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


def _install(ground: Ground, managers: list[Convention]) -> Convention | None:
    names = ("install", "setup", "bootstrap", "init", "sync")
    for command in ground.commands:
        if (
            command.name in names
            and command.task
            and not command.task.startswith(("npm", "pnpm", "yarn", "bun"))
        ):
            real = [c.text for c in ground.commands if c.task == command.task and _INSTALL.match(c.text)]
            if not real and command.name not in ("setup", "bootstrap"):
                continue  # `install` may as well put the program on the machine
            return _of_task("install_command", command, 0.9, real[0] if real else "")
    known = {found.pattern for found in managers}
    told = [c for c in ground.commands if _INSTALL.match(c.text) and "$" not in c.text and _plain(c.text)]
    own = [c for c in told if any(c.text.startswith(name.replace("bundler", "bundle")) for name in known)]
    texts = Counter(command.text for command in own)
    if not texts:
        for usual in managers:
            if by_hand := _USUAL_INSTALL.get(usual.pattern):
                return convention("install_command", by_hand, 0.7, *usual.evidence[:1], example=by_hand)
        return None
    text = min(texts, key=lambda one: (len(one.split()) > 4, -texts[one], len(one)))
    first = next(command for command in own if command.text == text)
    return _of_command("install_command", first, 0.8, count=texts[text])
