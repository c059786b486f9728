"""What is run where nothing written says so: as the tool in use, the language or the framework has it."""

from __future__ import annotations

import re

from holdfast.model.knowledge import Convention, Evidence
from holdfast.repo.commands import HOOK
from holdfast.repo.ground import Ground, convention
from holdfast.repo.package_managers import environment_prefix, run_prefix
from holdfast.repo.tools import Use

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
    table["kotlin", "test_command"] = table["java", "test_command"]
    table["kotlin", "build_command"] = table["java", "build_command"]
    text = table.get((language, category))
    if language in ("c", "cpp") and category == "build_command":
        for made_by, command in _C_BUILDS:
            if made_by in ground.everything:
                manifest, text = made_by, command
                break
    goal = (
        re.search(r"<defaultGoal>([^<]+)</defaultGoal>", ground.text("pom.xml"))
        if manifest == "pom.xml"
        else None
    )
    if goal and category == "build_command":
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
