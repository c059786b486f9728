"""A repository of a few files of any sort is looked at without a fault: most begin that way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.command import Holdfast

from holdfast.flows.repo_scan import look
from holdfast.store.machine import Machine

FILES = {
    "package.json": '{"scripts": {"test": "vitest run", "lint": "eslint ."}, "devDependencies": {"vitest": "1"}}',
    "src/a.test.ts": 'import { it } from "vitest";\nit("works", () => {});\n',
    "src/index.ts": "export const answer = 42;\n",
    "lib/util.js": "module.exports = {};\n",
    "packages/a/index.js": "x\n",
    "go.mod": "module example.org/x\n\ngo 1.22\n",
    "cmd/x/main.go": "package main\n\nfunc main() {}\n",
    "internal/a_test.go": 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n',
    "pyproject.toml": '[project]\nname = "x"\n[tool.pytest.ini_options]\n[tool.ruff]\nline-length = 100\n',
    "src/x/__init__.py": "",
    "tests/test_x.py": "def test_x():\n    assert True\n",
    "Cargo.toml": '[package]\nname = "x"\n',
    "src/lib.rs": "#[test]\nfn works() {}\n",
    "pom.xml": "<project></project>",
    "src/main/java/A.java": "class A {}\n",
    "Gemfile": 'source "x"\ngem "rspec"\n',
    "app/models/a.rb": "class A\nend\n",
    "spec/a_spec.rb": "describe A do\nend\n",
    "CMakeLists.txt": "project(x)\n",
    "src/a.c": "int main(void) { return 0; }\n",
    "include/a.h": "#pragma once\n",
    "Makefile": "test:\n\techo hi\n",
    "mise.toml": '[tasks.test]\nrun = "go test ./..."\n',
    "tox.ini": "[testenv]\ncommands = pytest\n",
    ".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n      - run: npm test\n",
    "CONTRIBUTING.md": "# Contributing\n\nRun `make test`.\n",
    "empty.ts": "",
    "broken.py": "def (:\n",
    "package-lock.json": "{}",
    "x.json": "{",
}


@pytest.mark.promise("K2")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(sorted(FILES)), max_size=5, unique=True), st.booleans())
def test_a_few_files_of_any_sort_are_looked_at(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], empty: bool
) -> None:
    root = tmp_path_factory.mktemp("small")
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if empty else FILES[name], encoding="utf-8")
    machine = Machine({"HOME": str(root / "home"), "HOLDFAST_HOME": str(root / "home" / ".holdfast")}, root)
    look(machine, machine.project(), keep=False)


def test_a_repository_of_one_test_says_how_it_is_run(holdfast: Holdfast, repo: Path) -> None:
    for name in ("package.json", "src/a.test.ts"):
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name], encoding="utf-8")
    said = holdfast("know", check=0).stdout
    assert "vitest" in said
