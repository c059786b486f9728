"""What a command verifies, what its output admits, why it failed and what it committed: real command lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.language import checks
from holdfast.language.checks import (
    answers_no,
    check_kind,
    commits_in,
    exit_code_counts,
    says_failed,
    says_passed,
    why_failed,
)
from holdfast.model.ledger import FailureReason

TESTS = [
    "pytest",
    "pytest -q tests/a.py",
    "python -m pytest",
    "python3 -m pytest -x",
    ".venv/bin/pytest -q",
    ".venv/bin/python -W error -m pytest tests",
    "uv run pytest -q",
    "uv run --extra dev pytest",
    "poetry run pytest",
    "cd api && pytest",
    "cd api; pytest -k 'a or b'",
    'FOO=1 BAR="x y" pytest',
    "timeout 60 pytest",
    "time pytest",
    "pytest 2>&1 | tail -20",
    "pytest -q | head",
    "(cd api && pytest)",
    "if pytest; then echo ok; fi",
    'bash -lc "pytest -q"',
    "sh -c 'cd a && npm test'",
    "docker compose exec web pytest",
    "docker compose run --rm web pytest -q",
    "go test ./...",
    "go test -race -count=1 ./pkg/...",
    "cd cli && go test ./... 2>&1 | tail -30",
    "go vet ./...",
    "cargo test",
    "cargo nextest run",
    "cargo +nightly test --all",
    "npm test",
    "npm run test",
    "npm run test:unit",
    "npm t",
    "yarn test",
    "pnpm test",
    "pnpm -r test",
    "pnpm --filter web test",
    "pnpm --filter @scope/web run test:e2e",
    "bun test",
    "bun run test",
    "npx jest",
    "npx vitest run",
    "pnpm vitest run",
    "yarn jest --ci",
    "npx playwright test",
    "deno test -A",
    "make test",
    "make -j4 check",
    "make -C api test",
    "just test",
    "mise run test",
    "mise run test:ci",
    "mise run lint && mise run test",
    "mise exec -- go test ./...",
    "task test",
    "nx test web",
    "nx affected -t test",
    "turbo run test --filter=web",
    "./gradlew test",
    "./gradlew :app:testDebugUnitTest",
    "./mvnw -q verify",
    "mvn test",
    "mvn -pl core -am test",
    "bundle exec rspec",
    "rspec spec/a_spec.rb",
    "bin/rails test",
    "rails test",
    "php artisan test",
    "vendor/bin/phpunit",
    "composer test",
    "mix test",
    "dotnet test",
    "swift test",
    "flutter test",
    "ctest --output-on-failure",
    "cmake --build build && ctest",
    "bats test/",
    "tox -e py311",
    "python manage.py test shop",
    "./manage.py test",
    "python -m unittest discover",
    "node --test",
    "node --import tsx --test test/*.ts",
    "./scripts/test.sh",
    "bash scripts/test.sh",
    "./test.sh",
    "cd x && ./run_tests.sh",
    "zig build test",
    "coverage run -m pytest",
    "set -o pipefail; pytest | tee log",
    "! pytest",
    "xvfb-run -a npm test",
    "git stash && pytest",
    "hk check",
    "bazel test //...",
    "hatch run test",
    "nox -s tests",
    "env CI=1 npm test",
    '"$VENV/bin/pytest" -q',
    "cat <<EOF > x && pytest\nhello\nEOF",
]
BUILDS = [
    "make",
    "make -j8",
    "go build ./...",
    "cargo build --release",
    "cargo check",
    "npm run build",
    "pnpm build",
    "pnpm -F web build",
    "vite build",
    "npx vite build",
    "tsup",
    "./gradlew assembleDebug",
    "mvn -q package",
    "docker build -t x .",
    "python -m build",
    "uv build",
    "gcc -o a a.c",
    "cmake --build build",
    "mise run build",
    "next build",
    "cd web && npm run build 2>&1 | tail -5",
    "just build",
    "zig build",
    "webpack --mode production",
]
TYPES = [
    "tsc",
    "npx tsc --noEmit",
    "pnpm tsc -p .",
    "mypy src",
    "python -m mypy .",
    "uv run mypy",
    "npm run typecheck",
    "npm run type-check",
    "yarn types:check",
    "pnpm -r typecheck",
    "pyright",
    "svelte-check",
    "mise run typecheck",
    "mix dialyzer",
]
LINTS = [
    "eslint .",
    "npx eslint src --fix",
    "ruff check .",
    "ruff check --fix",
    "uv run ruff check src",
    "ruff format --check .",
    "flake8",
    "golangci-lint run ./...",
    "cargo clippy -- -D warnings",
    "cargo fmt --all -- --check",
    "npm run lint",
    "npm run lint:fix",
    "npm run format:check",
    "prettier --check .",
    "black --check src",
    "pre-commit run --all-files",
    "shellcheck a.sh",
    "mise run lint",
    "gofmt -l .",
    "biome check .",
    "bundle exec rubocop",
    "just lint",
]
NOTHING = [
    "cat test.py",
    "cat tests/test_a.py | head",
    'git commit -m "run pytest"',
    "git commit -m 'fix: go test'",
    "git commit -m \"$(cat <<'EOF'\nrun pytest\nEOF\n)\"",
    "grep FAIL log",
    "grep -rn pytest .",
    'rg "npm test" README.md',
    "ls tests",
    'echo "pytest"',
    "echo pytest",
    "which pytest",
    "pip install pytest",
    "pip install -U pytest mypy ruff",
    "uv add --dev pytest",
    "uv pip install pytest",
    "npm install jest",
    "npm i -D vitest eslint",
    "npm ci",
    "yarn add -D jest",
    "brew install shellcheck",
    "pytest --version",
    "pytest --collect-only",
    "ruff --version",
    "go env",
    "go mod tidy",
    "go run ./cmd/test",
    "cargo fmt",
    "cargo run",
    "gofmt -w .",
    "vim jest.config.js",
    "rm -rf .pytest_cache",
    "git add tests/test_a.py jest.config.js",
    "git diff webpack.config.js && git status",
    "cp vitest.config.ts x.ts",
    "mkdir -p build",
    "cd build",
    "rm -rf build dist",
    "cat > test.sh <<'EOF'\npytest\nEOF",
    "python - <<'EOF'\nimport pytest\npytest.main()\nEOF",
    "tail -f test.log",
    "gh pr checks 12",
    "gh run view 12 --log-failed",
    "git log --oneline -- tests",
    "git checkout test",
    "git push origin test",
    "git branch -D build",
    "npm run dev",
    "npm start",
    "make clean",
    "make help",
    "just --list",
    "mise ls",
    "mise install",
    "sed -i 's/npm test/pnpm test/' package.json",
    "find . -name '*test*'",
    "kubectl get pods",
    "docker ps",
    "docker compose up -d",
    "curl -s localhost/test",
    "ssh build ls",
    "terraform plan",
    "ruff format .",
    "prettier --write .",
    "npm view jest version",
    "apt-get install -y gcc make",
    "gh workflow run test.yml",
    "code test",
    "open build/index.html",
    "git stash push tests",
    "git commit -m wip # then pytest",
    "python test_data.py",
    "node scripts/build-index.js",
    "jq .scripts.test package.json",
    "# pytest",
    "export TEST=1",
    "touch tests/__init__.py",
    "ls build && ls dist",
    "diff a.test b.test",
    "git worktree add ../x test",
    "npx create-next-app build",
    "mise use node@20",
    "mise tasks",
    "make -n test",
    "npm run",
    "true",
]


@pytest.mark.promise("C3")
@pytest.mark.parametrize("command", TESTS)
def test_a_command_that_runs_tests_is_a_test(command: str) -> None:
    assert check_kind(command) == "test"


@pytest.mark.promise("C3")
@pytest.mark.parametrize("command", BUILDS)
def test_a_command_that_builds_is_a_build(command: str) -> None:
    assert check_kind(command) == "build"


@pytest.mark.promise("C3")
@pytest.mark.parametrize("command", TYPES)
def test_a_command_that_checks_types_is_a_type_check(command: str) -> None:
    assert check_kind(command) == "types"


@pytest.mark.promise("C3")
@pytest.mark.parametrize("command", LINTS)
def test_a_command_that_lints_is_a_lint(command: str) -> None:
    assert check_kind(command) == "lint"


@pytest.mark.promise("C3")
@pytest.mark.parametrize("command", NOTHING)
def test_a_command_that_only_mentions_a_tool_verifies_nothing(command: str) -> None:
    assert check_kind(command) is None


@pytest.mark.promise("C3")
def test_of_several_verifications_in_one_line_the_strongest_names_it() -> None:
    assert check_kind("ruff check . && mypy src && pytest -q") == "test"
    assert check_kind("npm run lint; npm run build") == "build"


HOSTILE = [
    "env -a " * 500,
    "python -x " * 500,
    "uv run " + "--x y " * 500,
    "mise exec " + "a " * 1500,
    "npm run " + "a:" * 2000,
    "a/" * 2000,
    "(" * 4000,
    "'" * 3999,
    "x=1 " * 1000,
    "node " + "test " * 800,
    "make " + "a-b-c=d " * 500,
    "cat <<EOF\n" * 400,
    "bash -c " * 500,
]


@pytest.mark.promise("F4")
@pytest.mark.parametrize("command", HOSTILE, ids=lambda command: command[:12])
def test_a_hostile_command_costs_time_in_proportion_to_its_length(command: str) -> None:
    def seconds(text: str) -> float:
        best = float("inf")
        for _ in range(3):
            for remembered in (checks._parts, checks._kind_of, checks.check_kinds, checks.exit_code_counts):
                remembered.cache_clear()
            began = time.process_time()
            check_kind(text)
            exit_code_counts(text)
            commits_in(f"{text} commit", "", True)
            best = min(best, time.process_time() - began)
        return best

    # Were it quadratic, it would take 256 times as long; between the two lies what a busy machine adds.
    assert seconds(command * 16) < max(seconds(command), 0.003) * 70


@pytest.mark.promise("F4")
@given(st.text(max_size=300), st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_has_a_judgement(command: str, output: str) -> None:
    assert check_kind(command) in ("test", "build", "types", "lint", None)
    reason, evidence = why_failed(output, check_kind(command), 1)
    assert reason in set(FailureReason)
    assert "\n" not in evidence
    assert commits_in(command, output, True) >= 0
    assert isinstance(exit_code_counts(command), bool)


# --- whose exit code it is ------------------------------------------------------------------------------


@pytest.mark.promise("C3")
@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest 2>&1",
        "pytest > log 2>&1",
        "cd a && pytest && git commit -m x",
        "set -o pipefail; pytest | tail",
        "set -e\npytest\nls",
        "ls; pytest",
        "(cd a && pytest)",
        "pytest -k 'a|b'",
        "pytest;",
    ],
)
def test_an_exit_code_that_nothing_hides_is_the_verification_s(command: str) -> None:
    assert exit_code_counts(command)


@pytest.mark.promise("C3")
@pytest.mark.parametrize(
    "command",
    [
        "pytest | tail -3",
        "pytest 2>&1 | tee log",
        "pytest; echo $?",
        "pytest || true",
        "pytest && echo ok || echo no",
        "pytest\nls",
        "npm test; npm run lint | head",
    ],
)
def test_an_exit_code_behind_a_pipe_or_another_command_is_not_the_verification_s(command: str) -> None:
    assert not exit_code_counts(command)


@pytest.mark.promise("L7")
@pytest.mark.parametrize(
    ("command", "code", "output", "expected"),
    [
        ("grep -rn basket src", 1, "", True),
        ("cd src && rg basket", 1, "", True),
        ("diff a b", 1, "1c1\n< a\n> b", True),
        ("test -f x", 1, "", True),
        ("git diff --quiet", 1, "", True),
        ("grep basket missing.py", 2, "grep: missing.py: No such file or directory", False),
        ("make", 1, "", False),
        ("grep x y && make", 1, "make: *** Error", False),
    ],
)
def test_a_search_without_hits_is_an_answer_and_no_failure(
    command: str, code: int, output: str, expected: bool
) -> None:
    assert answers_no(command, code, output) is expected


# --- what runners print -----------------------------------------------------------------------------------

ADMITS = [
    "FAIL\tshop/cart 0.01s",
    "FAIL",
    "--- FAIL: TestX (0.00s)",
    "    --- FAIL: TestX/sub (0.00s)",
    "FAILED (failures=1)",
    "===== 1 failed, 2 passed in 0.1s =====",
    "1 failed, 2 passed in 0.12s",
    "=== 2 errors in 0.3s ===",
    "2 errors in 0.30s",
    "test result: FAILED. 1 passed; 1 failed;",
    "Tests:       1 failed, 2 passed, 3 total",
    "      Tests  1 failed | 3 passed (4)",
    " Test Files  1 failed | 2 passed (3)",
    "  2 failing",
    "3 examples, 1 failure",
    "3 examples, 0 failures, 1 error occurred outside of examples",
    "5 runs, 7 assertions, 1 failures, 0 errors, 0 skips",
    "# fail 2",
    "ℹ fail 1",
    "[INFO] BUILD FAILURE",
    "BUILD FAILED in 3s",
    "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0",
    "FAILURES!",
    "14 doctests, 297 tests, 11 failures",
    "Failed!  - Failed:     1, Passed:     2",
    "50% tests passed, 1 tests failed out of 2",
    "not ok 3 adds up",
    "Executed 3 tests, with 1 failure (0 unexpected)",
    "error: could not compile `shop` (lib)",
    "✖ 3 problems (1 error, 2 warnings)",
    "Found 3 errors in 1 file (checked 9 source files)",
    "Found 2 errors.",
    "src/a.ts(3,1): error TS2304: Cannot find name",
    "src/a.ts:3:1 - error TS2304: x",
    "make: *** [Makefile:3: test] Error 1",
    "make[1]: *** [all] Error 2",
    "error: Recipe `test` failed on line 3 with exit code 1",
    "npm ERR! Test failed.  See above",
    "npm error Lifecycle script `test` failed",
    " ELIFECYCLE  Command failed with exit code 1.",
    "[test] ERROR task failed",
    " 1 fail",
    "FAIL src/a.test.ts",
    "3 issues:",
]
CONTENT = [
    "ok  \tshop/cart\t0.01s",
    "PASS",
    "===== 3 passed in 0.1s =====",
    "3 passed, 1 xfailed in 0.1s",
    "3 passed, 1 warning in 0.1s",
    "test result: ok. 3 passed; 0 failed; 0 ignored",
    "Tests:       3 passed, 3 total",
    "3 examples, 0 failures",
    "14 doctests, 297 tests, 0 failures",
    "0 issues.",
    "Success: no issues found in 9 source files",
    "# fail 0",
    "100% tests passed, 0 tests failed out of 9",
    "BUILD SUCCESSFUL in 2s",
    "=== RUN   TestFailsWhenEmpty\n--- PASS: TestFailsWhenEmpty (0.00s)\nPASS",
    "  10 passing (3s)",
]
SILENT = [
    "✖ 2 problems (0 errors, 2 warnings)",
    "Found 3 errors (3 fixed, 0 remaining).",
    "5 runs, 7 assertions, 0 failures, 0 errors, 0 skips",
    "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0",
    "  ✓ says FAILED when it must",
    "Found 0 errors",
    "No errors found",
    "0 failing",
    "the build failed yesterday, not today",
    " 0 fail",
    "",
]


@pytest.mark.promise("C3")
@pytest.mark.parametrize("line", ADMITS)
def test_a_runner_s_own_word_of_failure_is_found(line: str) -> None:
    assert says_failed(f"collecting\n{line}\nbye") == line.strip()
    assert not says_passed(line)


@pytest.mark.promise("C3")
@pytest.mark.parametrize("line", CONTENT)
def test_a_runner_s_own_word_of_success_is_found(line: str) -> None:
    assert says_failed(f"collecting\n{line}\nbye") == ""
    assert says_passed(f"collecting\n{line}\nbye")


@pytest.mark.promise("C3")
@pytest.mark.parametrize("line", SILENT)
def test_a_word_that_sounds_like_failure_is_none(line: str) -> None:
    assert says_failed(f"collecting\n{line}\nbye") == ""


# --- why ------------------------------------------------------------------------------------------------

WHY: list[tuple[str, str, str | None, int]] = [
    ("timeout", "Command timed out after 2m 0.0s", None, 143),
    ("timeout", "panic: test timed out after 10m0s", "test", 2),
    ("timeout", 'thrown: "Exceeded timeout of 5000 ms for a test."', "test", 1),
    ("timeout", "Error: Timeout of 2000ms exceeded.", "test", 1),
    ("timeout", "E   Failed: Timeout >1.0s", "test", 1),
    ("timeout", "", "test", 124),
    ("timeout", "context deadline exceeded", "build", 1),
    (
        "test_failure",
        "plugins: timeout-2.3.1\nFAILED tests/a.py::test_x - assert 1 == 2\n1 failed in 0.1s",
        "test",
        1,
    ),
    (
        "test_failure",
        "--- FAIL: TestParse (0.00s)\n  a_test.go:3: expected syntax error; got nil\nFAIL",
        "test",
        1,
    ),
    ("test_failure", "AssertionError: expected 'foo: not found' to equal 'x'\n1 failing", "test", 1),
    ("test_failure", "FAILED tests/t.py::test_help - AssertionError: command not found in help", "test", 1),
    ("test_failure", "something odd", "test", 1),
    (
        "test_failure",
        "assertion `left == right` failed\ntest result: FAILED. 0 passed; 1 failed;",
        "test",
        101,
    ),
    ("test_failure", "FAIL src/a.test.ts\n  ● adds\nTests:       1 failed, 2 passed", "test", 1),
    (
        "dependency_error",
        "ERROR collecting tests/a.py\nModuleNotFoundError: No module named 'requests'",
        "test",
        2,
    ),
    ("dependency_error", "bash: line 1: pytest: command not found", "test", 127),
    ("dependency_error", "sh: 1: jest: not found", "test", 127),
    ("dependency_error", "Error: Cannot find module 'left-pad'", "build", 1),
    ("dependency_error", "npm ERR! code ERESOLVE", None, 1),
    ("dependency_error", "cmd/a.go:3:2: no required module provides package x", "build", 1),
    ("syntax_error", "# shop/cart\ncart.go:3:2: undefined: Foo\nFAIL shop/cart [build failed]", "test", 2),
    ("syntax_error", '  File "a.py", line 3\nSyntaxError: invalid syntax', "test", 1),
    ("syntax_error", "src/a.ts(1,2): error TS2304: x", "types", 2),
    ("syntax_error", "error[E0425]: cannot find value", "build", 101),
    ("syntax_error", "main.c:3:1: error: expected ';' before '}'", "build", 1),
    ("syntax_error", "a.py:3: error: Incompatible types in assignment", "types", 1),
    ("syntax_error", "something odd", "build", 1),
    (
        "syntax_error",
        "FAIL a.test.ts\n  ● Test suite failed to run\n    SyntaxError: Unexpected token",
        "test",
        1,
    ),
    ("tool_error", "fatal: not a git repository", None, 128),
    ("tool_error", "error: failed to push some refs", None, 1),
    ("tool_error", "", None, 1),
]


@pytest.mark.promise("L7")
@pytest.mark.parametrize(("reason", "output", "kind", "code"), WHY)
def test_a_failure_has_the_reason_that_its_output_shows(
    reason: str, output: str, kind: str | None, code: int
) -> None:
    found, evidence = why_failed(output, kind, code)
    assert found == reason
    assert evidence in ("exit code 124", "") or evidence in output


@pytest.mark.promise("L7")
def test_the_evidence_is_a_line_of_the_tool_and_not_the_echo_of_the_command() -> None:
    output = "Exit code 1\n[lint] $ golangci-lint run ./...\na.go:3:1: ineffectual assignment"
    assert why_failed(output, "lint", 1) == (FailureReason.TOOL_ERROR, "a.go:3:1: ineffectual assignment")
    told = 'level=info msg="linter has version 2"\n[INFO] scanning\na.go:3:1: ineffectual assignment'
    assert why_failed(told, "lint", 1) == (FailureReason.TOOL_ERROR, "a.go:3:1: ineffectual assignment")


# --- commits --------------------------------------------------------------------------------------------

COMMITS: list[tuple[str, str, bool | None, int]] = [
    ("git commit -m x", "[main 1a2b3c4] x\n 1 file changed", True, 1),
    ('git add . && git commit -m "a && b"', "[a/b-c 1a2b3c4d] a", True, 1),
    ("git commit -m x", "[main (root-commit) 1a2b3c4] x", True, 1),
    ("git commit -m x", "[detached HEAD 1a2b3c4] x", None, 1),
    ('git -C "/a b" commit -m x', "[main 1a2b3c4] x", True, 1),
    ("git -c user.name=a commit -m x", "[main 1a2b3c4] x", True, 1),
    ("git commit -m a && git commit -m b", "[m 1a2b3c4] a\n[m 1a2b3c5] b", None, 2),
    ("git commit -m \"$(cat <<'EOF'\nfeat: x (a; b)\nEOF\n)\"", "[main 1a2b3c4] feat", True, 1),
    ("git commit -qm x", "", True, 1),
    ("git commit --quiet -m a", "", None, 0),
    ("git commit -m 'quiet -q words'", "", True, 1),
    ("git -C ../shop commit -m x", "", True, 1),
    ("make commit", "", True, 1),
    ("npm run commit", "", True, 1),
    ("./scripts/commit.sh 'x'", "", True, 1),
    ("git ci -m x", "", True, 1),
    ("git commit -m x; echo done", "done", True, 0),
    ("git commit -m x && git push", "", True, 1),
    ("git commit -m x && git push", "[main 1a2b3c4] x\nfatal: no route to host", False, 1),
    ("make commit", "", False, 0),
    ("git commit --amend --no-edit", "[main 1a2b3c4] x", True, 0),
    ("git commit -m a && git commit --amend", "[m 1a2b3c4] a\n[m 1a2b3c5] b", None, 1),
    ("git commit -m x", "nothing to commit, working tree clean", True, 0),
    ("git commit -m x", "[main 1a2b3c4] x", False, 1),
    ("git commit -m a --dry-run -q", "", True, 0),
    ("git log --grep commit", "[main 1a2b3c4] x", True, 0),
    ("echo 'git commit -m x'", "[main 1a2b3c4] x", True, 0),
    ("git commit-tree abc", "[main 1a2b3c4] x", True, 0),
]


@pytest.mark.promise("C3")
@pytest.mark.parametrize(("command", "output", "ok", "expected"), COMMITS)
def test_commits_are_those_that_git_reports_or_that_exit_well(
    command: str, output: str, ok: bool | None, expected: int
) -> None:
    assert commits_in(command, output, ok) == expected
