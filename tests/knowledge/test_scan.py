"""A checkout is looked at: what it shows of itself is found, with what shows it; bad input is survived."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from holdfast.core.errors import UsageError
from holdfast.knowledge import scan as scanning
from holdfast.knowledge.checkout import listed
from holdfast.knowledge.languages import is_elsewhere, is_generated, is_test
from holdfast.knowledge.naming import style_of
from holdfast.knowledge.scan import Scanned, ScanState, scan
from holdfast.knowledge.source import SIGNS, look_at, needed_words
from holdfast.knowledge.syntax_trees import tree_reader
from holdfast.model.knowledge import Convention, Items

Write = Callable[[Mapping[str, str]], None]


def put(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)


def look(root: Path) -> Scanned:
    return scan(root, listed(root), ScanState())


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", message)


def said(items: Items, category: str, scope: str = "") -> list[str]:
    return [one.pattern for one in items.conventions if one.category == category and scope in one.scope]


def one(items: Items, category: str, pattern: str) -> Convention:
    return next(c for c in items.conventions if c.category == category and pattern in c.pattern)


PYTHON = {
    "pyproject.toml": """[project]
name = "shop"
requires-python = ">=3.12"
dependencies = ["httpx", "typer", "pydantic"]

[dependency-groups]
dev = ["pytest", "ruff", "mypy"]

[tool.ruff]
line-length = 96

[tool.ruff.format]
quote-style = "single"

[tool.mypy]
strict = true
""",
    "uv.lock": "version = 1\n",
    "Makefile": "UV = uv\n\ntest:\n\t$(UV) run pytest -q\n\nlint:\n\t$(UV) run ruff check .\n\nformat:\n\t$(UV) run ruff format .\n",
    **{
        f"src/shop/order_{word}.py": f"""import httpx

from shop.core_errors import NotThere


class {word.title()}Order:
    def load_{word}(self, path: str) -> str | None:
        if not path and self:
            raise NotThere('no path')
        return httpx.get(path).text
"""
        for word in ("book", "desk", "lamp", "chair", "shelf")
    },
    "src/shop/core_errors.py": "class NotThere(Exception):\n    pass\n",
    "src/shop/__init__.py": "",
    **{
        f"tests/test_order_{word}.py": f"""import pytest


@pytest.mark.parametrize('name', ['a'])
def test_{word}_is_loaded(name: str) -> None:
    assert name == 'a'
"""
        for word in ("book", "desk", "lamp")
    },
}


@pytest.mark.promise("K1", "K2")
def test_a_python_project_says_how_it_is_worked_on(repo: Path) -> None:
    put(repo, PYTHON)
    commit(repo, "Add the shop")
    found = look(repo).items
    assert said(found, "package_manager") == ["uv"]
    assert said(found, "test_runner") == ["pytest"]
    assert said(found, "linter") == ["ruff"]
    assert said(found, "formatter") == ["ruff"]
    assert said(found, "type_checker") == ["mypy"]
    assert said(found, "test_command") == ["make test (uv run pytest -q)"]
    assert said(found, "run_single_test") == ["uv run pytest path/to/test_file.py::test_name"]
    assert said(found, "quote_style") == ["single quotes"]
    assert said(found, "line_length") == ["96"]
    assert said(found, "indent") == ["4 spaces"]
    assert said(found, "naming", "Python files") == ["snake_case"]
    assert said(found, "naming", "Python types") == ["PascalCase"]
    assert said(found, "test_layout") == ["test_*.py in tests/"]
    assert said(found, "structure") == ["src layout (src/<package>)"]
    assert said(found, "http_client") == ["httpx"]
    assert said(found, "language_version") == ["Python >=3.12"]
    assert "typer" not in said(found, "cli"), "named and never imported is no choice"


@pytest.mark.promise("K2")
def test_every_convention_names_a_file_that_is_there_and_the_field(repo: Path) -> None:
    put(repo, PYTHON)
    commit(repo, "Add the shop")
    found = look(repo).items
    assert all(c.evidence for c in found.conventions)
    for evidence in (e for c in found.conventions for e in c.evidence):
        assert (repo / evidence.path).exists(), evidence
    assert one(found, "line_length", "96").evidence[0].field == "tool.ruff.line-length"
    assert all(0 < c.confidence < 1 for c in found.conventions)


@pytest.mark.promise("K1")
def test_names_that_break_a_convention_are_counted_against_it(repo: Path) -> None:
    put(repo, {f"src/some_module_{n}.py": "x = 1\n" for n in range(9)} | {"src/otherModule.py": "x = 1\n"})
    commit(repo, "Add modules")
    naming = one(look(repo).items, "naming", "snake_case")
    assert (naming.count, naming.counter) == (9, 1)
    assert 0.7 < naming.confidence < 0.95
    assert any(e.path == "src/otherModule.py" and e.field == "counter" for e in naming.evidence)


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("my_file", "snake_case"),
        ("my-file", "kebab-case"),
        ("myFile", "camelCase"),
        ("MyFile", "PascalCase"),
        ("HTTPClient", "PascalCase"),
        ("MAX_SIZE", "SCREAMING_SNAKE_CASE"),
        ("file", "lowercase"),
        ("_private_name", "snake_case"),
        ("", ""),
    ],
)
def test_a_name_has_a_style(name: str, style: str) -> None:
    assert style_of(name) == style


@pytest.mark.promise("K2")
def test_a_typescript_workspace(repo: Path) -> None:
    code = "import {{ z }} from 'zod';\nimport {{ x }} from './other.js';\n\nexport function loadOrder{n}(name: string) {{\n  if (name) {{\n    return z;\n  }}\n  return x;\n}}\n"
    put(
        repo,
        {
            "package.json": '{"name": "shop", "type": "module", "packageManager": "pnpm@9.1.0", "scripts": {"test": "vitest run",'
            ' "build": "tsup", "lint": "eslint ."}, "devDependencies": {"vitest": "1", "eslint": "9", "typescript": "5", "tsup": "8"},'
            ' "dependencies": {"zod": "3"}}',
            "pnpm-lock.yaml": "lockfileVersion: 9\n",
            "pnpm-workspace.yaml": "packages:\n  - 'packages/*'\n",
            "eslint.config.js": "export default [];\n",
            "tsconfig.json": '{\n  // strict\n  "compilerOptions": {"strict": true,},\n}\n',
            ".prettierrc": '{"singleQuote": true, "printWidth": 90}',
            **{f"packages/core/src/order-list-{n}.ts": code.format(n=n) for n in range(6)},
            **{
                f"packages/core/src/order-list-{n}.test.ts": "import { test } from 'vitest';\ntest('a', () => {});\n"
                for n in range(3)
            },
        },
    )
    commit(repo, "feat: start")
    found = look(repo).items
    assert said(found, "package_manager") == ["pnpm"]
    assert said(found, "test_command") == ["pnpm test (vitest run)"]
    assert said(found, "build_command") == ["pnpm build (tsup)"]
    assert said(found, "run_single_test") == ["pnpm vitest run <path> -t <name>"]
    assert said(found, "linter") == ["eslint"]
    assert said(found, "quote_style") == ["single quotes"]
    assert said(found, "line_length") == ["90"]
    assert said(found, "naming", "TypeScript files") == ["kebab-case"]
    assert said(found, "test_layout") == ["co-located *.test.ts beside the source"]
    assert said(found, "validation") == ["zod"]
    assert said(found, "type_checking") == ["TypeScript strict mode"]
    assert "pnpm workspace (packages/*)" in said(found, "workspace")


@pytest.mark.promise("K2", "K3")
def test_a_go_service_with_its_router_and_middleware(repo: Path) -> None:
    handler = """package web

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
)

func Logged%d(next http.Handler) http.Handler {
	return next
}

func showOrder%d(w http.ResponseWriter, r *http.Request) {
	if err := chi.NewRouter(); err != nil {
		fmt.Errorf("show: %%w", err)
	}
}
"""
    test = """package web

import "testing"

func TestShow(t *testing.T) {
	tests := []struct{ name string }{{"a"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {})
	}
}
"""
    put(
        repo,
        {
            "src/go.mod": "module example.org/shop\n\ngo 1.22\n\nrequire (\n\tgithub.com/go-chi/chi/v5 v5.0.1\n)\n",
            **{f"src/internal/web/show_order_{n}.go": handler % (n, n) for n in range(4)},
            **{f"src/internal/web/show_order_{n}_test.go": test for n in range(4)},
            "src/cmd/shop/main.go": "package main\n\nfunc main() {}\n",
        },
    )
    commit(repo, "web: show orders")
    found = look(repo).items
    assert said(found, "router") == ["chi"]
    assert said(found, "language_root") == ["Go module root src/"]
    assert said(found, "test_layout") == ["co-located: one *_test.go beside its .go file"]
    assert said(found, "indent") == ["tabs"]
    assert "src/cmd/internal layout" in said(found, "structure")
    patterns = {pattern.name: pattern for pattern in found.patterns}
    assert patterns["handler-middleware"].count == 4
    assert patterns["handler-middleware"].files[0].endswith(".go")
    assert 0.5 < patterns["handler-middleware"].confidence <= 1
    assert "table-driven-tests" in patterns


@pytest.mark.promise("K3")
def test_a_structure_that_only_comments_and_texts_speak_of_is_none(repo: Path) -> None:
    wrapped = "func Logged%d(next http.Handler) http.Handler {\n\treturn next\n}\n\nfunc show%d(w http.ResponseWriter, r *http.Request) {}\n"
    spoken = "package web\n\n/*\n{0}*/\n\nvar old{1} = `\n{0}`\n"
    put(repo, {"go.mod": "module example.org/shop\n\ngo 1.22\n"})
    put(repo, {f"web/a{n}.go": spoken.format(wrapped % (n, n), n) for n in range(4)})
    commit(repo, "web: speak of handlers")
    assert "handler-middleware" not in {pattern.name for pattern in look(repo).items.patterns}
    put(repo, {f"web/a{n}.go": 'package web\n\nimport "net/http"\n\n' + wrapped % (n, n) for n in range(4)})
    commit(repo, "web: have handlers")
    assert "handler-middleware" in {pattern.name for pattern in look(repo).items.patterns}


@pytest.mark.promise("K2")
@pytest.mark.parametrize(
    ("files", "category", "pattern"),
    [
        ({"Cargo.toml": '[package]\nname="x"\nedition="2021"\n', **{f"src/a_b{n}.rs": "fn a_b() {}\n" for n in range(4)}}, "package_manager", "cargo"),
        ({"pom.xml": "<project><artifactId>junit-jupiter</artifactId></project>", "mvnw": "", **{f"src/main/java/a/Shop{n}.java": "class Shop {}\n" for n in range(5)}, "src/test/java/a/ShopTest.java": "class ShopTest {}\n"}, "test_command", "./mvnw test"),
        ({"Gemfile": "gem 'rspec'\n", "Gemfile.lock": "", **{f"lib/a_b{n}.rb": "def a_b\nend\n" for n in range(4)}, "spec/a_spec.rb": "describe 1\n"}, "test_runner", "RSpec"),
        ({"CMakeLists.txt": "project(x)\n", ".clang-format": "ColumnLimit: 77\nIndentWidth: 3\n", **{f"src/a_b{n}.c": "int a_b(void) {\n   return 1;\n}\n" for n in range(4)}}, "line_length", "77"),
        ({"justfile": "test:\n    cargo nextest run\n", "Cargo.toml": '[package]\nname="x"\n', "src/lib.rs": "", "src/a.rs": "", "src/b.rs": ""}, "test_runner", "cargo nextest"),
        ({".golangci.yml": "formatters:\n  enable:\n    - gofumpt\n", "go.mod": "module x\n\ngo 1.22\n", "a.go": "package a\n", "b.go": "package a\n"}, "formatter", "gofumpt"),
    ],
)  # fmt: skip
def test_other_languages_have_their_tools(
    repo: Path, files: dict[str, str], category: str, pattern: str
) -> None:
    put(repo, files)
    commit(repo, "Start")
    assert pattern in said(look(repo).items, category)


@pytest.mark.promise("K2")
def test_commit_style_comes_from_the_log(repo: Path) -> None:
    for number in range(8):
        put(repo, {"a.py": f"x = {number}\n"})
        commit(repo, f"feat(core): add number {number}")
    style = one(look(repo).items, "commit_style", "Conventional Commits")
    assert style.count == 8
    assert style.example.startswith("feat(core): ")


@pytest.mark.promise("K5")
def test_hot_files_are_those_that_change_often_and_files_that_change_together_are_neighbours(
    repo: Path,
) -> None:
    put(repo, {f"src/part_{n}.py": "def run(a):\n    if a and a:\n        return 1\n" for n in range(40)})
    commit(repo, "Start")
    for number in range(6):
        put(
            repo,
            {
                "src/part_1.py": f"def run(a):\n    if a:\n        return {number}\n",
                "src/part_2.py": f"x = {number}\n",
            },
        )
        commit(repo, f"Change {number}")
    notes = {note.path: note for note in look(repo).items.files}
    assert notes["src/part_1.py"].is_hot and notes["src/part_1.py"].neighbours == ("src/part_2.py",)
    assert not notes["src/part_9.py"].is_hot
    assert notes["src/part_1.py"].language == "python"
    assert notes["src/part_9.py"].complexity == 3, "a function, a condition and a conjunction"


@pytest.mark.parametrize(
    ("name", "language", "expected"),
    [
        ("tests/test_a.py", "python", True),
        ("src/testing.py", "python", False),
        ("a/b.test.ts", "typescript", True),
        ("latest.ts", "typescript", False),
        ("a_test.go", "go", True),
        ("src/test/java/A.java", "java", True),
        ("spec/a_spec.rb", "ruby", True),
    ],
)
def test_a_test_is_told_from_the_program(name: str, language: str, expected: bool) -> None:
    assert is_test(name, language) is expected


@pytest.mark.promise("K9")
def test_vendored_built_generated_and_binary_files_are_not_read(repo: Path) -> None:
    for name in (
        "node_modules/a/b.js",
        "vendor/x/y.go",
        "dist/app.js",
        "a/b_pb2.py",
        "web/app.min.js",
        "api/x.pb.go",
    ):
        assert is_elsewhere(name) or is_generated(name), name
    assert not is_elsewhere("src/a.py") and not is_generated("src/a.py")
    put(repo, {"src/a_b.py": "x = 1\n", "src/made_up.py": "# Code generated by x. DO NOT EDIT.\ny = 2\n"})
    (repo / "src" / "bin_ary.py").write_bytes(b"\0\1\2" * 100)
    commit(repo, "Start")
    assert [note.path for note in look(repo).items.files] == ["src/a_b.py"]


@pytest.mark.promise("K9")
def test_of_very_many_sources_an_even_sample_is_read_and_said(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(
        repo,
        {f"src/part_{n % 10}/some_file_{n}.py": f"def load_it_{n}():\n    return {n}\n" for n in range(300)},
    )
    commit(repo, "Start")
    monkeypatch.setattr(scanning, "MOST_READ", 50)
    found = look(repo)
    assert found.looked.read <= 70
    assert any("sample" in note for note in found.looked.notes)
    assert said(found.items, "naming", "Python functions") == ["snake_case"]
    parts = {name.split("/")[1] for name in found.remembered.files}
    assert len(parts) == 10, "every part of the tree has its share"
    assert look(repo).remembered.files.keys() == found.remembered.files.keys(), (
        "the same tree, the same sample"
    )


def test_only_changed_files_are_read_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repo, {f"src/a_{n}.py": "x = 1\n" for n in range(5)})
    commit(repo, "Start")
    first = look(repo)
    read: list[str] = []
    monkeypatch.setattr(scanning, "look_at", lambda name, *rest: read.append(name) or look_at(name, *rest))
    put(repo, {"src/a_3.py": "x = 1234\n"})
    scan(repo, listed(repo), first.remembered)
    assert read == ["src/a_3.py"]


def test_a_repository_without_commits_is_looked_at(repo: Path) -> None:
    put(repo, PYTHON | {".gitignore": "ignored_one.py\n", "ignored_one.py": "x = 1\n"})
    found = look(repo)
    assert said(found.items, "package_manager") == ["uv"]
    assert "ignored_one.py" not in {note.path for note in found.items.files}


def test_a_folder_without_git_is_walked(tmp_path: Path, home: Path) -> None:
    put(tmp_path / "plain", PYTHON)
    found = look(tmp_path / "plain")
    assert found.looked.listed_by == "walk"
    assert said(found.items, "test_runner") == ["pytest"]


def test_a_bare_repository_says_why_there_is_nothing_to_see(tmp_path: Path, home: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    with pytest.raises(UsageError, match="bare repository"):
        listed(tmp_path / "bare.git")


def test_links_pipes_loops_and_submodules_are_passed_over(
    repo: Path, tmp_path: Path, make_repo: Callable[[str], Path]
) -> None:
    other = make_repo("other")
    put(other, {"inner_file.py": "x = 1\n"})
    commit(other, "Start")
    secret = tmp_path / "secret_file.py"
    secret.write_text("password_here = 1\n", encoding="utf-8")
    put(repo, {"src/a_b.py": "x = 1\n"})
    (repo / "src" / "link_out.py").symlink_to(secret)
    (repo / "src" / "loop").symlink_to(repo / "src")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    commit(repo, "Start")
    os.unlink(repo / "src" / "a_b.py")
    os.mkfifo(repo / "src" / "a_b.py")
    assert look(repo).items.files == ()


def test_names_that_are_not_text_and_code_that_does_not_parse(repo: Path) -> None:
    put(
        repo,
        {
            "src/broken_one.py": "def (:\n  if\n\x1b[31m",
            "pyproject.toml": "[project\nname=",
            "package.json": "{",
            "src/ok_one.py": "x = 1\n",
        },
    )
    (repo / os.fsdecode(b"src/caf\xe9_name.py")).write_bytes(b"y = '\xff\xfe'\n")
    commit(repo, "Start")
    found = look(repo).items
    assert {"src/broken_one.py", "src/ok_one.py"} <= {note.path for note in found.files}
    for note in found.files:
        note.path.encode("utf-8")


def test_nothing_that_the_repository_configures_is_run(repo: Path, tmp_path: Path) -> None:
    put(repo, {"src/a_b.py": "x = 1\n"})
    commit(repo, "Start")
    trace = tmp_path / "ran"
    git(repo, "config", "core.fsmonitor", f"touch {trace}")
    git(repo, "config", "diff.external", f"touch {trace}")
    git(repo, "config", "core.pager", f"touch {trace}")
    look(repo)
    assert not trace.exists()


def test_agents_own_files_are_not_what_knowledge_rests_on(repo: Path) -> None:
    put(
        repo,
        PYTHON
        | {"AGENTS.md": "Run `poetry run nosetests`. Lint with `pylint src`.\n```bash\npylint src\n```\n"},
    )
    commit(repo, "Start")
    found = look(repo).items
    assert "pylint" not in said(found, "linter")
    assert said(found, "package_manager") == ["uv"]


@cache
def corpus() -> str:
    files = [*Path(__file__).parents[2].rglob("src/**/*.py"), Path(__file__)]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize(
    "language", sorted(set(SIGNS) - {"typescript", "kotlin", "c"})
)  # these share a table
def test_the_words_a_sign_needs_are_in_all_that_it_finds(language: str) -> None:
    """A search for the words is a short cut only if it never hides a sign: tried on code that shows many of them."""
    for sign, expression in SIGNS[language].items():
        words = needed_words(expression)
        for match in islice(re.finditer(expression, corpus(), re.MULTILINE), 50) if words else ():
            assert any(word in match.group() for word in words), sign


@pytest.mark.parametrize(
    ("name", "language", "code", "functions", "complexity"),
    [
        ("a.py", "python", "def load_it(a):\n    return 1 if a else 2\n", ("load_it",), 2),
        ("a.go", "go", "package a\n\nfunc LoadIt(a bool) {\n\tif a {\n\t}\n}\n", ("LoadIt",), 2),
        ("a.rs", "rust", "fn load_it(a: bool) {\n    if a {}\n}\n", ("load_it",), 2),
        ("a.ts", "typescript", "function loadIt(a: boolean) {\n  if (a) { }\n}\n", ("loadIt",), 2),
        ("a.rb", "ruby", "def load_it(a)\n  if a\n  end\nend\n", ("load_it",), 2),
        (
            "A.java",
            "java",
            "class A {\n  public void loadIt(boolean a) {\n    if (a) {}\n  }\n}\n",
            ("loadIt",),
            2,
        ),
        ("a.c", "c", "int load_it(int a) {\n  if (a) { return 1; }\n  return 0;\n}\n", ("load_it",), 2),
        (
            "a.cpp",
            "cpp",
            "int Shop::loadIt(int a) {\n  if (a) { return 1; }\n  return 0;\n}\n",
            ("loadIt",),
            2,
        ),
    ],
)
def test_words_and_trees_agree_on_names_and_branches(
    name: str, language: str, code: str, functions: tuple[str, ...], complexity: int
) -> None:
    seen = look_at(name, language, code.encode())
    assert seen is not None and (seen.functions, seen.complexity) == (functions, complexity)
    reader = tree_reader()
    if reader is None:
        pytest.skip("needs holdfast[trees]")
    parsed = reader(name, language, code)
    assert parsed is not None and (parsed.functions, parsed.complexity) == (functions, complexity)
