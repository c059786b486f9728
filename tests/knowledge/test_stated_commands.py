"""How a repository is worked with, from where projects say so: scripts, guides, tox tables, default tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.knowledge.test_scan import commit, look, put, said

from holdfast.model.knowledge import Items

MODULE = "import os\n\n\ndef load_order(path: str) -> str:\n    return os.path.join(path, 'x')\n"
TEST = "def test_an_order() -> None:\n    assert 1 + 1 == 2\n"


def python(**more: str) -> dict[str, str]:
    files = {f"shop/order_{word}.py": MODULE for word in ("book", "line", "page")}
    files |= {f"tests/test_order_{word}.py": TEST for word in ("book", "line", "page")}
    return files | {"shop/__init__.py": "", "pyproject.toml": '[project]\nname = "shop"\n'} | more


def seen(repo: Path, files: dict[str, str]) -> Items:
    put(repo, files)
    commit(repo, "Add the shop")
    return look(repo).items


@pytest.mark.promise("K2")
def test_scripts_that_are_called_like_tasks_are_tasks(repo: Path) -> None:
    told = seen(repo, python(**{
        "scripts/test": "#!/bin/sh -e\n\nset -x\n\n${PREFIX}coverage run -m pytest \"$@\"\n",
        "scripts/lint": "#!/bin/sh -e\n${PREFIX}ruff check --fix shop\n${PREFIX}ruff format shop\n",
        "scripts/install.sh": "#!/bin/sh\ncurl https://example.org/shop | tar x\n",
    }))  # fmt: skip
    assert said(told, "test_command") == ['scripts/test (coverage run -m pytest "$@")']
    assert said(told, "lint_command") == ["scripts/lint (ruff check --fix shop)"]
    assert said(told, "formatter") == ["ruff"]
    assert said(told, "install_command") == []  # that installs the program, not what is needed to work on it


@pytest.mark.promise("K2")
def test_tox_tables_are_tasks(repo: Path) -> None:
    told = seen(repo, python(**{
        "pyproject.toml": '[project]\nname = "shop"\n[dependency-groups]\ndev = ["pytest"]\n'
        '[tool.tox.env_run_base]\ncommands = [["pytest", "-v", {replace = "posargs"}]]\n'
        '[tool.tox.env.typing]\ncommands = [["mypy"]]\n',
    }))  # fmt: skip
    assert said(told, "test_command") == ["tox (pytest -v)"]
    assert said(told, "typecheck_command") == ["tox -e typing (mypy)"]


@pytest.mark.promise("K2")
@pytest.mark.parametrize("guide", ["docs/contributing.rst", "CONTRIBUTING.md", "HACKING.md"])
def test_guides_in_any_of_the_usual_forms_are_read(repo: Path, guide: str) -> None:
    text = "Testing\n-------\n\nRun this first::\n\n    $ make check\n\nand `black .` before a commit, its own `x` and so on.\n"
    told = seen(repo, python(**{guide: text}))
    assert said(told, "test_command") == ["make check"]
    assert said(told, "format_command") == ["black ."]


def test_a_readme_is_read_where_it_speaks_to_developers(repo: Path) -> None:
    text = "# Shop\n\n## Usage\n\n```\nnpm test\n```\n\n## Development\n\n### Tests\n\n```\n$ pytest -n auto  # all\n```\n"
    told = seen(repo, python(**{"README.md": text, "requirements.txt": "pytest\n"}))
    assert said(told, "test_command") == ["pytest -n auto"]


def test_what_a_part_is_worked_with_is_not_said_of_the_whole(repo: Path) -> None:
    told = seen(repo, {
        "Cargo.toml": '[package]\nname = "shop"\nedition = "2024"\n',
        **{f"src/order_{word}.rs": "pub fn load_order() {}\n" for word in ("a", "b", "c")},
        "ui/package.json": '{"name": "ui", "scripts": {"test": "vitest"}, "devDependencies": {"vitest": "1"}}',
        "ui/README.md": "# Development\n\n```\nnpm run build\n```\n",
        ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: pnpm run test\n",
        **{f"ui/src/page{n}.ts": "export const page = 1;\n" for n in range(5)},
    })  # fmt: skip
    assert said(told, "build_command") == ["cargo build"]
    assert not any("pnpm" in text for text in said(told, "test_command"))


@pytest.mark.promise("K2")
def test_buns_own_runner_is_not_the_script_called_test(repo: Path) -> None:
    told = seen(repo, {
        "package.json": '{"name": "shop", "packageManager": "bun@1", "scripts": {"test": "vitest --run"}}',
        **{f"src/page{n}.ts": "export const page = 1;\n" for n in range(5)},
    })  # fmt: skip
    assert said(told, "test_command") == ["bun run test (vitest --run)"]


@pytest.mark.promise("K2")
def test_a_c_program_with_its_scripts_headers_and_autotools(repo: Path) -> None:
    told = seen(repo, {
        "configure.ac": "AC_INIT\n",
        "README": "Shop\n====\n\nBuilding\n--------\n\n    % make check\n",
        **{f"src/order_{n}.c": "/* Copyright Ada */\nint load_order(void) {\n    return -1;\n}\n" for n in range(6)},
        **{f"tests/unit/order_{n}.tcl": "test {an order} {}\n" for n in range(6)},
        "tests/helper.c": "int main(void) { TEST(a, b); return 0; }\n",
        "tests/other.c": "int main(void) { TEST(a, b); return 0; }\n",
    })  # fmt: skip
    assert said(told, "build_command") == ["autoreconf -i && ./configure && make"]
    assert said(told, "test_command") == ["make check"]
    assert said(told, "test_layout") == ["*.tcl scripts in tests/"]
    assert said(told, "test_runner") == []  # TEST( is a word like any other where nothing includes gtest
    assert said(told, "structure") == ["sources in src/"]


def test_headers_of_a_cpp_program_are_cpp(repo: Path) -> None:
    told = seen(repo, {
        "CMakeLists.txt": "project(shop)\n",
        **{f"include/shop/order_{n}.h": "#pragma once\nclass OrderBook {\n  int total_;\n};\n" for n in range(4)},
        **{f"src/order_{n}.cc": '#include "shop.h"\nint load_order() { return 1; }\n' for n in range(5)},
    })  # fmt: skip
    assert {one.scope for one in told.conventions if one.category == "naming"} <= {
        "C++ files",
        "C++ functions",
        "C++ types",
    }
    assert "public headers in include/" in said(told, "structure")


@pytest.mark.promise("K2")
def test_a_library_that_only_tests_import_is_no_choice_of_the_program(repo: Path) -> None:
    manifest = '[project]\nname = "shop"\ndependencies = ["httpx"]\n[dependency-groups]\ndev = ["requests", "pytest"]\n'
    told = seen(repo, python(**{
        "pyproject.toml": manifest,
        "shop/fetch.py": "import httpx\n",
        **{f"tests/test_fetch_{n}.py": f"import requests\n{TEST}" for n in range(5)},
    }))  # fmt: skip
    assert said(told, "http_client") == ["httpx"]


def test_the_default_tasks_of_rake_and_maven(repo: Path) -> None:
    put(repo, {
        "Gemfile": "gem 'rspec'\n",
        "Rakefile": "task default: %i[spec rubocop]\n",
        **{f"lib/order_{n}.rb": "def load_order\nend\n" for n in range(3)},
        **{f"spec/order_{n}_spec.rb": "RSpec.describe('x') { }\n" for n in range(3)},
    })  # fmt: skip
    commit(repo, "Add")
    assert said(look(repo).items, "check_command")[0].startswith("bundle exec rake")
