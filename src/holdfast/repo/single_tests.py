"""The command that runs one test, by the runner in use and the way the project's environment is entered."""

from __future__ import annotations

import re

from holdfast.model.knowledge import Convention, Evidence
from holdfast.repo.ground import Ground, convention
from holdfast.repo.languages import is_aside, shown
from holdfast.repo.package_managers import environment_prefix, run_prefix
from holdfast.repo.tools import Use


def single_tests(ground: Ground, uses: list[Use], managers: list[Convention]) -> list[Convention]:
    found: list[Convention] = []
    done: set[str] = set()
    for use in uses:
        if use.tool.category != "test_runner":
            continue
        language = next((one for one in ground.main if one in use.tool.languages), "")
        if not language or language in done:
            continue
        done.add(language)
        prefix = environment_prefix(ground) if language == "python" else ""
        prefix = prefix or run_prefix(managers, language)
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
            "borp": f"{prefix}borp <path>",
            "tap": f"{prefix}tap <path>",
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
            else f"{prefix}ruby -Ilib -I{test.partition('/')[0] or 'test'} {test or 'path/to/file_test.rb'}",
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
