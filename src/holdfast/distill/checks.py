"""What a command's end proves: which commands verify work, and why a failing one failed."""

from __future__ import annotations

import re

from holdfast.model.ledger import FailureReason

_RUN = r"(?:npm|pnpm|yarn|bun|deno|mise|just|make|task|rake|turbo|nx|moon|hk|lefthook)(?:\s+(?:run|exec|task|-\S+))*\s+"
_TEST = re.compile(
    r"\b(?:pytest|py\.test|nosetests|tox|nox|jest|vitest|mocha|ava|playwright test|cypress run|rspec|minitest|phpunit"
    r"|pest|ctest|bats|gotestsum|cargo[- ]nextest|unittest|busted|mix test|sbt test|lein test|dart test|flutter test"
    r"|swift test|dotnet test|zig (?:build )?test|gradlew?\b[^|;&]*\btest|mvnw?\b[^|;&]*\b(?:test|verify)"
    r"|go test|go vet|cargo test|deno test|bun test|node --test|manage\.py test|artisan test|rails test)\b"
    rf"|\b{_RUN}[\w:.-]*\b(?:tests?|e2e|spec|check|ci|verify)\b"
)
_BUILD = re.compile(
    r"\b(?:go build|go install|cargo build|cargo check|swift build|dotnet build|zig build|gradlew?\b[^|;&]*\b(?:build|assemble)"
    r"|mvnw?\b[^|;&]*\b(?:compile|package|install)|cmake --build|ninja|bazel build|xcodebuild|webpack|vite build"
    r"|rollup|esbuild|next build|ng build|mix compile|sbt compile|python -m build|hatch build|javac|gcc|clang)\b"
    rf"|\b{_RUN}[\w:.-]*\b(?:build|compile|dist)\b|(?:^|[;&|]\s*)make\s*(?:-\S+\s*)*(?:$|[;&|])"
)
_LINT = re.compile(
    r"\b(?:eslint|ruff|flake8|pylint|golangci-lint|clippy|rubocop|shellcheck|stylelint|biome|prettier --check|black --check"
    r"|gofmt -l|cargo fmt[^|;&]*--check|ktlint|detekt|credo|hadolint|actionlint|pre-commit run)\b"
    rf"|\b{_RUN}[\w:.-]*\blint\b"
)
_TYPES = re.compile(
    r"\b(?:tsc|mypy|pyright|pyre|flow check|sorbet|dialyzer|vue-tsc|svelte-check)\b|\btype-?check\b"
)
_QUOTED = re.compile(
    r"<<-?\s*['\"]?(\w+)['\"]?.*?^\s*\1\b|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL | re.MULTILINE
)
_LOOKS_ONLY = re.compile(
    r"^\s*(?:cat|head|tail|less|ls|grep|rg|find|sed -n|wc|which|echo|git (?:log|show|diff|status))\b"
)

# Summary lines of test runners that say "failed" although a pipe swallowed the exit code.
_SAYS_FAILED = re.compile(
    r"^(?:FAIL(?:ED)?\b[\s:\t].*|--- FAIL: .*|=+ .*\b[1-9]\d* (?:failed|errors?)\b.*|test result: FAILED.*"
    r"|\s*Tests?:?\s+.*\b[1-9]\d* failed\b.*|\d+ examples?, [1-9]\d* failures?.*|\s*[1-9]\d* failing\b.*"
    r"|BUILD FAILED.*|FAILURES!.*|\s*Test Files\s+[1-9]\d* failed.*|error: could not compile .*"
    r"|\s*✖ [1-9]\d* problems?.*|Found [1-9]\d* errors?\b.*|.*error TS\d+:.*)$",
    re.MULTILINE,
)

# In order: the first rule that a line of the output satisfies decides.
_REASONS: tuple[tuple[FailureReason, re.Pattern[str]], ...] = (
    (
        FailureReason.TIMEOUT,
        re.compile(
            r"\btimed? ?out\b|\bdeadline exceeded\b|\bTimeoutError\b|exceeded timeout|test timed out", re.I
        ),
    ),
    (
        FailureReason.DEPENDENCY_ERROR,
        re.compile(
            r"ModuleNotFoundError|No module named|Cannot find (?:module|package)|cannot find package|ERESOLVE|npm ERR! 404"
            r"|unresolved import|no required module provides|could not (?:find|resolve) (?:crate|dependenc|package)"
            r"|No matching (?:version|distribution)|command not found|: not found$|is not recognized as an internal"
            r"|missing go\.sum entry|Could not find gem|Unable to locate package|No such file or directory: '[\w.-]+'$"
            r"|executable file not found|peer dep|ImportError",
            re.I | re.M,
        ),
    ),
    (
        FailureReason.SYNTAX_ERROR,
        re.compile(
            r"SyntaxError|IndentationError|parse error|syntax error|ParseError|unexpected token|unexpected EOF"
            r"|error TS\d+|error\[E\d+\]|: undefined: |undeclared name|cannot use .* as .* value|mismatched types"
            r"|expected .*;|could not compile|\[build failed\]|compilation (?:failed|error)|declared and not used"
            r"|imported and not used|cannot find symbol|has incompatible type|\[(?:arg-type|attr-defined|assignment)\]"
            r"|does not match declared|not enough arguments in call|too many arguments in call|typecheck",
            re.I,
        ),
    ),
    (
        FailureReason.TEST_FAILURE,
        re.compile(
            r"--- FAIL|^FAIL\b|\bFAILED\b|AssertionError|assertion failed|\b[1-9]\d* (?:failed|failures?|failing)\b"
            r"|test result: FAILED|Expected .* (?:to|but)|Error Trace:|panicked at|✕|✗ |not ok \d",
            re.I | re.M,
        ),
    ),
)

_COMMITTED = re.compile(r"^\[[^\]\n]+ (?:\(root-commit\) )?[0-9a-f]{7,40}\] ", re.MULTILINE)
_COMMITS = re.compile(r"\bgit\b(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*\s+commit\b(?!-)")
_QUIET_COMMIT = re.compile(r"\bcommit\b[^|;&]*(?:\s-q\b|\s--quiet\b)")


def check_kind(command: str) -> str | None:
    """Which verification a command is, or None. Words inside quotes are data, not commands."""
    bare = _QUOTED.sub(" ", command) if ('"' in command or "'" in command or "<<" in command) else command
    if _LOOKS_ONLY.match(bare) and not re.search(r"&&|;|\|\|", bare):
        return None
    for kind, pattern in (("test", _TEST), ("build", _BUILD), ("types", _TYPES), ("lint", _LINT)):
        if pattern.search(bare):
            return kind
    return None


def says_failed(text: str) -> str:
    """The line in which a tool says that it failed, whatever its exit code; '' when there is none."""
    match = _SAYS_FAILED.search(text)
    return match[0].strip() if match else ""


def why_failed(
    text: str, check: str | None = None, exit_code: int | None = None
) -> tuple[FailureReason, str]:
    """The category of a failure and the line that decided it."""
    if exit_code == 124:
        return FailureReason.TIMEOUT, "exit code 124"
    if exit_code == 127:
        return FailureReason.DEPENDENCY_ERROR, _line_of(text, 0) or "exit code 127"
    for reason, pattern in _REASONS:
        if match := pattern.search(text):
            return reason, _line_at(text, match.start())
    evidence = says_failed(text) or _line_of(text, 0)
    if check == "test":
        return FailureReason.TEST_FAILURE, evidence
    if check in ("build", "types"):
        return FailureReason.SYNTAX_ERROR, evidence
    return FailureReason.TOOL_ERROR, evidence


def commits_in(command: str, output: str, ok: bool | None) -> int:
    """How many commits a command made: git says so itself, line by line, unless it was told to be quiet."""
    if "commit" not in command or ok is False or not _COMMITS.search(command):
        return 0
    if said := len(_COMMITTED.findall(output)):
        return 0 if said == 1 and "--amend" in command else said
    return 1 if ok and _QUIET_COMMIT.search(command) and "--amend" not in command else 0


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : end if end >= 0 else len(text)].strip()


def _line_of(text: str, number: int) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Exit code ")]
    return lines[number].strip() if len(lines) > number else ""
