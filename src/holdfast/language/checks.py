"""Recognises commands that verify work, and classifies why one failed.

The command line is split first: a verification counts where a program is called, not where its name is
mentioned. The exit code counts if it is the verification's own; otherwise its output does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.prose import contains_any, line_around
from holdfast.model.ledger import FailureReason

# --- the command line as a shell sees it ---

_HERE_DOCUMENT = lazy_regex(
    r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^[ \t]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_SHELL_IN_SHELL = lazy_regex(
    r"\b(?:ba|z|da|k)?sh(?:\s+-\w+)*?\s+-\w*c\s+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", re.DOTALL
)
_QUOTED = lazy_regex(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'", re.DOTALL)
_ONE_WORD = lazy_regex(r"[\w./@:+$-]+")
_REDIRECTION = lazy_regex(r"\d*(?:>>?|<)&\d|&>>?\s*\S+|\d*>>?\s*[^\s&|;]+|(?<!<)<\s*[^\s<(]\S*")
_COMMENT = lazy_regex(r"(?:^|(?<=\s))#[^\n]*")
_SEPARATOR = lazy_regex(r"(&&|\|\||[;\n|&()`{}])")
_OPTIONS = r"(?:--?[\w@][^\s]*\s+(?:[^-\s]\S*\s+)?|--\s+){0,5}"
_BEFORE = (
    r"\s*(?:(?:\w+=\S*|!|then|do|else|elif|if|while|until|time|sudo|command|exec|nohup|rtk|\$)\s+"
    rf"|(?:env|nice|xargs|xvfb-run|npx|bunx|pnpx|uvx|nyc|c8|dotenv|doppler run|bun x)\s+{_OPTIONS}"
    rf"|timeout\s+{_OPTIONS}[\d.]+[smh]?\s+"
    rf"|(?:uv|poetry|pipenv|pdm|hatch|rye|pixi|pipx|conda|coverage|rustup)\s+run\s+{_OPTIONS}"
    rf"|bundle\s+exec\s+|(?:pnpm|yarn|npm|mise|rbenv|asdf|direnv)\s+(?:exec|dlx|x)\s+(?:[^-\s]\S*\s+){{0,4}}?{_OPTIONS}"
    rf"|(?:pnpm|yarn)\s+(?={_OPTIONS}(?:jest|vitest|mocha|tsc|eslint|playwright|webpack|vite|next)\b){_OPTIONS}"
    rf"|docker(?:\s+compose|-compose)?\s+(?:exec|run)\s+{_OPTIONS}(?:[^-\s]\S*\s+)?"
    r"|(?:\S*/)?python[\d.]*\s+(?:-[^m\s]\S*\s+(?:[^-\s]\S*\s+)?){0,4}(?:-m\s+)?|php\s+|(?:ba"
    r"|z)?sh\s+(?=\S)){0,4}(?:\S*/)?"
)

LONGEST_PART = 300  # the deciding words come first, and hostile input must not cost time

# --- programs that verify ---

_RUNS = (
    r"(?:npm|pnpm|yarn|bun|deno|mise|just|make|gmake|task|rake|turbo|nx|moon|hk|lefthook|gulp|grunt|inv(?:oke)?|poe"
    r"|composer|cargo\s+make|cargo\s+xtask|hatch\s+run|pdm\s+run)\s+"
    r"(?!(?:install|i|add|remove|rm|uninstall|ci|publish|init|create|update|upgrade|outdated|audit|link|why|ls|list"
    r"|info|view|config|cache|use|trust|settings|set|which|where|pack|login|version|require|--version|-v|--list|-l"
    r"|--summary|-n|--dry-run)\b)"
)
_TASK = lazy_regex(rf"{_BEFORE}(?:{_RUNS}(?!(?:exec|x|dlx)\b)|npm\s+t(?:est)?\b)")
_ALONE = r"(?<!type-)(?<!types-)(?<!type:)(?<!types:)(?<!format:)(?<!fmt:)(?<!lint:)(?<!format-)(?<!fmt-)(?<!lint-)"
_TARGET = r"(?:[\w:./@=,+-]+\s+)*?(?:--?[\w-]+=)?(?:[\w./@-]+[:#])*[\w.-]*"
_TEST = PrefilteredRegex(
    rf"{_BEFORE}(?:(?:pytest|py\.test|nosetests|tox|nox|jest|vitest|mocha|ava|karma\s+start|wtr|playwright\s+test"
    r"|cypress\s+run|rspec|minitest|phpunit|pest|ctest|bats|gotestsum|unittest|busted|crystal\s+spec|newman\s+run"
    r"|cargo(?:\s+\+\S+)?[-\s]+(?:test|nextest|t)|npm\s+t|xcodebuild\b.*\btest|zig\s+(?:build\s+)?test"
    r"|node\b.*\s--test"
    r"|(?:mix|sbt|lein|dart|flutter|swift|dotnet|deno|bun|rails|stack|cabal|bazel|gleam|forge|hardhat|anchor|elm-test"
    r"|artisan|manage\.py|devtools|terraform|melos|tap)\s+(?:[^\s|]+\s+)*?test|go\s+(?:-C\s+\S+\s+)?(?:test|vet)"
    r"|gradlew?\b.*\b(?:\w*[tT]est|check)|mvnw?\b.*\b(?:test|verify|integration-test))\b(?![-./])"
    r"|(?:run[-_]?)?tests?(?:\.(?:sh|py|js|ts))(?=\s|$)|(?<=/)(?:run[-_]?)?tests?(?=\s|$)"
    rf"|{_RUNS}{_TARGET}\b(?:tests?|e2e|specs?|{_ALONE}check|ci|verify)\b(?![./]))",
    words="test|Test|tox|nox|jest|mocha|ava|karma|wtr|cypress|spec|phpunit|pest|bats|busted|newman|cargo|npm|vet|check"
    "|verify|e2e|ci",
)
_BUILD = PrefilteredRegex(
    rf"{_BEFORE}(?:(?:go\s+(?:-C\s+\S+\s+)?(?:build|install(?!\s+\S+@))|cargo(?:\s+\+\S+)?\s+(?:build|check|b)"
    r"|(?:swift|dotnet|zig|bazel|vite|next|nuxt|astro|ng|hatch|poetry|uv|stack|cabal|docker|docker\s+compose|forge"
    r"|docker\s+buildx|mkdocs|jekyll|nix|flutter|parcel|gatsby)\s+build|gradlew?\b.*\b(?:build|assemble\w*"
    r"|compile\w*)"
    r"|mvnw?\b.*\b(?:compile|package|install|deploy)|cmake\s+--build|meson\s+compile|ninja|xcodebuild|webpack|rollup"
    r"|esbuild|tsup|(?:mix|sbt)\s+compile|build|sphinx-build|latexmk|javac|kotlinc|rustc|gcc|g\+\+|clang(?:\+\+)?|cc"
    r"|elm\s+make)(?=\s|$)"
    rf"|{_RUNS}{_TARGET}\b(?:build|compile|dist)\b(?![./])|g?make(?:\s+-\S+)*\s*$)",
    words="build|install|cargo|assemble|compile|package|deploy|ninja|webpack|rollup|tsup|latexmk|javac|kotlinc|rustc|gcc"
    "|g++|clang|cc|make|dist",
)
_TYPES = PrefilteredRegex(
    rf"{_BEFORE}(?:(?:tsc|d?mypy|(?:based)?pyright|pyre|ty\s+check|flow\s+check|srb\s+tc|(?:mix\s+)?dialyzer|vue-tsc"
    r"|svelte-check|astro\s+check|deno\s+check)(?=\s|$)"
    rf"|{_RUNS}{_TARGET}\b(?:type-?check(?:ing)?|types?[:-]check|types|tsc|mypy|pyright)\b(?![./]))",
    words="tsc|mypy|pyright|pyre|check|srb|dialyzer|type",
)
_LINT = PrefilteredRegex(
    rf"{_BEFORE}(?:(?:eslint|ruff(?!\s+(?:format(?!\s.*--check)|clean|rule|server))|flake8|pylint"
    rf"|golangci-lint(?:\s+run)?"
    r"|cargo(?:\s+\+\S+)?\s+clippy|cargo\s+fmt\b.*--check|rustfmt\b.*--check|rubocop|standardrb|shellcheck|stylelint"
    r"|biome\s+(?:check|lint|ci)|(?:prettier|black|isort|dprint|taplo\s+fmt)\b.*\s(?:--check|-c|-l|check)"
    r"|(?:gofmt|gofumpt|goimports)\s+-l|ktlint|detekt|mix\s+credo|mix\s+format\b.*--check\S*|hadolint|actionlint"
    r"|pre-commit\s+run|prek\s+run|yamllint|markdownlint\S*|swiftlint|(?:dart|flutter)\s+analyze|tflint|helm\s+lint"
    r"|terraform\s+(?:validate|fmt\b.*-check)|staticcheck|buf\s+lint|deno\s+lint|vale|codespell|typos)(?=\s|$)"
    rf"|{_RUNS}{_TARGET}\b(?:lint|(?:format|fmt|prettier|style)[:-]check)\b(?![./]))",
    words="lint|ruff|flake8|clippy|fmt|rubocop|standardrb|check|biome|prettier|black|isort|dprint|gofumpt|goimports"
    "|detekt|credo|format|pre-commit|prek|analyze|validate|vale|codespell|typos",
)
_KINDS = (("test", _TEST), ("build", _BUILD), ("types", _TYPES), ("lint", _LINT))
_CHECKING = tuple(dict.fromkeys(word for _, pattern in _KINDS for word in pattern.words))
_ONLY_ASKS = lazy_regex(
    r"\s(?:--version|--help|-h|--collect-only|--co|--listTests|--list-tests|--list|--init|--print-config"
    r"|--showConfig)"
    r"(?=\s|$)"
)
# Programs whose exit code 1 is an answer, not an error.
_ANSWERS = lazy_regex(
    r"\s*(?:grep|egrep|fgrep|rg|ag|ack|git\s+grep|diff|cmp|test|\[|\[\[|which|type|command\s+-v|pgrep|git\s+diff\b"
    r"|git\s+merge-base\b|git\s+check-ignore\b|git\s+show-ref\b|git\s+rev-parse\s+--verify|fgrep)(?=\s|$)"
)

# --- what they print ---

# Summary lines of test runners that report a failure even where a pipe swallowed the exit code.
_SAYS_FAILED = PrefilteredRegex(
    r"^(?:FAIL(?:ED)?(?:$|[\s:(]).*|\s*--- FAIL: .*|=+ .*\b[1-9]\d* (?:failed|errors?)\b.*|test result: FAILED.*"
    r"|[1-9]\d* failed\b.* in [\d.]+ ?s.*|[1-9]\d* errors? in [\d.]+s.*"
    r"|\s*Tests?:?\s+(?:.*[\s|])?[1-9]\d* failed\b.*|\s*Test Files\s+[1-9]\d* failed.*|\s*[1-9]\d* fail(?:ing|ed)?$"
    r"|\s*[1-9]\d* failing\b.*|\d+ examples?, (?:\d+ failures?, )?[1-9]\d* (?:failures?|errors?).*"
    r"|(?:\d+ \w+, )?\d+ tests?, [1-9]\d* failures?\b.*|\d+ (?:runs"
    r"|tests), \d+ assertions, (?:[1-9]\d* failures.*|\d+ failures, [1-9]\d* errors.*)|[#ℹ] fail [1-9]\d*"
    r"|(?:\[\w+\] +)?BUILD FAIL(?:ED|URE)\b.*|(?:\[\w+\] +)?Tests run:.*(?:Failures|Errors): [1-9].*|FAILURES!.*"
    r"|\s*Failed!\s+- Failed: .*|\d+% tests passed, [1-9]\d* tests? failed.*|not ok \d+.*"
    r"|Executed \d+ tests?, with [1-9]\d* failures?.*|error: could not compile .*"
    r"|\s*✖ \d+ problems? \([1-9]\d* errors?.*"
    r"|Found [1-9]\d* errors?\b(?!.*\b0 remaining).*|.*\berror TS\d+:.*|g?make(?:\[\d+\])?: \*\*\* .*"
    r"|error: Recipe `.*` failed.*|npm (?:ERR!|error) (?:Test failed|Lifecycle script|code ELIFECYCLE).*"
    r"|\s*ELIFECYCLE\s.*|(?:\[[\w:.-]+\] )?ERROR task failed.*|[1-9]\d* issues:$)$",
    re.MULTILINE,
    words="fail|Fail|FAIL|rror|ERR|***|not ok|problem|issues|ELIFECYCLE",
)
_SAYS_PASSED = PrefilteredRegex(
    r"^(?:ok(?:\s+\t?|\t)\S+\s+.*|PASS(?:ED)?$|=+ .*\b\d+ passed\b.*|\d+ passed\b.*|test result: ok\..*"
    r"|OK(?: \(.*\))?$"
    r"|\s*Tests?:?\s+\d+ passed.*|\s*Test Files\s+\d+ passed.*|\s*\d+ passing\b.*|.*\d+ (?:examples?"
    r"|tests?), 0 failures.*"
    r"|(?:\[\w+\] +)?BUILD SUCCESS(?:FUL)?\b.*|Success: no issues.*|All checks passed!?|0 issues\.?|[#ℹ] fail 0"
    r"|\s*Passed!\s+- .*|100% tests passed.*|\s*Finished (?:`?\w+`? )?.*profile.*|.*\b0 failed\b.*|no offenses.*)$",
    re.MULTILINE,
    words="ok|OK|pass|PASS|Passed|0 fail|fail 0|BUILD SUCC|0 issues|no issues|profile|no offen",
)
_TESTS_FAILED = PrefilteredRegex(
    r"^\s*--- FAIL: |^FAILED \S+::|\bAssertionError\b|^test result: FAILED|^\s*Tests?:?\s+(?:.*[\s|])?[1-9]\d* failed"
    r"|^\s*[1-9]\d* failing\b|examples?, [1-9]\d* failures?|^[=\s]*[1-9]\d* failed\b|Failures: [1-9]|Error Trace:"
    r"|assertion .*failed",
    re.MULTILINE,
    words="fail|FAIL|AssertionError|Failures: |Error Trace:",
)
_NOT_BUILT = PrefilteredRegex(
    r"\[(?:build|setup) failed\]|error\[E\d|could not compile|ERROR collecting|errors? during collection|error TS\d+"
    r"|compilation (?:failure|error)|Test suite failed to run|SyntaxError:|ModuleNotFoundError:",
    re.IGNORECASE,
    words=(
        "failed]|error[e|not compile|error collecting| during collection|error ts|compilation "
        "|failed to run|syntaxerror:|modulenotfounderror:"
    ),
)

# In order: the first rule that matches the output decides.
_REASONS: tuple[tuple[FailureReason, PrefilteredRegex], ...] = (
    (
        FailureReason.DEPENDENCY_ERROR,
        PrefilteredRegex(
            r"ModuleNotFoundError|No module named|Cannot find (?:module|package)|cannot find package|ERESOLVE"
            r"|npm (?:ERR!|error) (?:code E|404)|unresolved import|no required module provides|command not found"
            r"|could not (?:find|resolve) (?:crate|dependenc|package)|No matching (?:version|distribution)"
            r"|^(?:\S*/)?(?:ba|da|z|k)?sh: .*: not found$|is not recognized as an internal|missing go\.sum entry"
            r"|Could not find gem|Unable to locate package|No such file or directory: '[\w-]+'$"
            r"|executable file not found|ImportError\b",
            re.IGNORECASE | re.MULTILINE,
            words=(
                "not found|modulenotfound|no module|cannot find |eresolve|npm err|unresolved import"
                "|no required module|could not find |could not resolve |no matching |not recognized"
                "|missing go.sum|unable to locate|file or directory: '|importerror"
            ),
        ),
    ),
    (
        FailureReason.SYNTAX_ERROR,
        PrefilteredRegex(
            r"SyntaxError|IndentationError|parse error|syntax error|ParseError|unexpected token"
            r"|unexpected end of file"
            r"|error TS\d+|error\[E\d+\]|: undefined: |undeclared name|cannot use .* as .* value|mismatched types"
            r"|error: expected\b|could not compile|\[build failed\]|compilation (?:failed|failure|error)"
            r"|\(typecheck\)"
            r"|declared and not used|imported and not used|cannot find symbol|has incompatible type"
            r"|\[(?:arg-type|attr-defined|assignment|return-value|call-arg|name-defined|union-attr)\]"
            r"|does not match declared|not enough arguments in call|too many arguments in call",
            re.IGNORECASE,
            words=(
                "syntax|indentationerror|parse error|parseerror|unexpected |error ts|error[e"
                "|: undefined: |undeclared name|cannot use |mismatched types|error: expected|not compile"
                "|[build failed]|compilation |(typecheck)| and not used|cannot find symbol"
                "|incompatible type|[arg-type]|[attr-defined]|[assignment]|[return-value]|[call-arg]"
                "|[name-defined]|[union-attr]|match declared|arguments in call"
            ),
        ),
    ),
    (
        FailureReason.TEST_FAILURE,
        PrefilteredRegex(
            r"--- FAIL: |^FAIL(?:ED)?\b|AssertionError|assertion .*failed|\b[1-9]\d* (?:failed|failures?|failing)\b"
            r"|test result: FAILED|Error Trace:|^\s*✕ |^not ok \d",
            re.MULTILINE,
            words="FAIL|AssertionError|fail|Error Trace:|✕ |not ok ",
        ),
    ),
)
_TIMED_OUT = PrefilteredRegex(
    r"\btimed out\b|\bdeadline exceeded\b|\bTimeoutError\b|\bETIMEDOUT\b|\bexceeded (?:the )?timeout\b"
    r"|\btimeout (?:of \S+ )?(?:exceeded|expired|reached)\b|\bTimeout >\s?[\d.]+ ?s",
    re.IGNORECASE,
    words="timed out|deadline exceeded|timeout|etimedout",
)
_WARNS = lazy_regex(
    r"\W*(?:(?:npm|pnpm|yarn)\s+)?warn(?:ing)?\b|(?:time=\S+ )?level=(?:info|debug|warn)|\W*(?:info|debug)[\]:]",
    re.IGNORECASE,
)
_ECHO = lazy_regex(r"Exit code \d|(?:\[[\w:.-]+\] )?[$>+] |> \S+@\S+ ")

_COMMITTED = lazy_regex(r"^\[[^\]\n]+ (?:\(root-commit\) )?[0-9a-f]{7,40}\] ", re.MULTILINE)
_PUBLISHES = lazy_regex(
    r"\s*(?:(?:sudo|rtk)\s+)?(?:git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*\s+push\b|jj\s+git\s+push\b"
    r"|gh\s+pr\s+(?:create|merge)\b|glab\s+mr\s+(?:create|merge)\b)"
)
_COMMITS = lazy_regex(
    rf"{_BEFORE}(?:git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*\s+(?:commit|ci|cz)(?=\s|$)|(?:jj|hg|sl|yadm"
    rf"|chezmoi\s+git)"
    r"\s+(?:commit|ci)(?=\s|$)|gt\s+(?:create|modify)(?=\s|$)|gcmsg\s|gcam?\s|(?:cz|czg|git-cz|oco|aicommits)(?=\s|$)"
    rf"|{_RUNS}(?:run\s+)?[\w:-]*commit(?=\s|$)|(?:[\w-]*[-_])?commit[\w-]*\.(?:sh|py|js|ts|rb)(?=\s|$))"
)
_NO_COMMIT = lazy_regex(
    r"nothing (?:added )?to commit|no changes added to commit|Aborting commit|hook declined"
    r"|^On branch .*\n.*(?:up to date|"
    r"up-to-date)",
    re.MULTILINE,
)
_COMMITTING = ("commit", " ci", " cz", "cz", "gt ", "gca", "gcmsg", "oco")
_NOT_MADE = lazy_regex(r"\s(?:--amend|--dry-run|--help|-h)(?=\s|$)")
_NO_NETWORK = PrefilteredRegex(
    r"could not resolve host|getaddrinfo|network is unreachable|no route to host|connection (?:refused|reset|timed out)"
    r"|connect to host \S+ port \d+|operation timed out|temporary failure in name resolution|timed? ?out"
    r"|unable to access 'https?:|could not read from remote|enotfound|econnrefused|failed to connect|ssl_error",
    re.IGNORECASE,
)
_GOES_TO = lazy_regex(r"\s*(?:cd|pushd)\s+(\S+)\s*$")
_RUNS_IN = lazy_regex(
    r"\s(?:-C|--directory|--cwd|--prefix|--manifest-path|--project-directory|--rootdir|--root-dir)[ =](\S+)"
)
_TEMPORARY = ("/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/", "/var/tmp/")
_SOMEWHERE = ("$TMP", "${TMP", "$(mktemp", "`mktemp", "$tmp", "${tmp", "%TEMP%", "$env:TEMP")


@lru_cache(maxsize=4096)
def check_kinds(command: str) -> tuple[str, ...]:
    """Return the kinds of verification a command runs, the strongest first. Quoted words are data, not commands."""
    # A shell joins quoted text to the text around it.
    bare = command.replace('"', "").replace("'", "")
    if not contains_any(bare, _CHECKING):
        return ()
    parts = [part for part in _parts(command)[::2] if not _ONLY_ASKS.search(part)]
    kinds = {kind for kind in (_kind_of(part) for part in parts) if kind}
    return tuple(kind for kind, _ in _KINDS if kind in kinds)


def check_kind(command: str) -> str | None:
    """The strongest verification of a command, or None."""
    return next(iter(check_kinds(command)), None)


@lru_cache(maxsize=4096)
def exit_code_counts(command: str) -> bool:
    """Whether the exit code is the verification's own: nothing that follows it can hide it."""
    parts = _parts(command)
    last = max((n for n in range(0, len(parts), 2) if _kind_of(parts[n])), default=0)
    followers = [(parts[n], parts[n + 1].strip()) for n in range(last + 1, len(parts) - 1, 2)]
    if followers and followers[0][0] == "|" and "pipefail" not in command:
        return False
    strict = re.search(r"\bset -\w*e", command)
    return not any(
        following and mark in (("||",) if strict else ("||", ";", "\n", "&")) for mark, following in followers
    )


def failed_in_check(command: str, output: str) -> bool:
    """Whether a failed command line failed in its verification: it came last, or the output says so."""
    last = _last_part(command)
    return bool(_kind_of(last) or says_failed(output) or any(rule.search(output) for _, rule in _REASONS))


def answers_no(command: str, exit_code: int | None, output: str) -> bool:
    """Whether exit code 1 only means that nothing was found or that files differ."""
    if exit_code != 1 or "rror" in output or "not found" in output:
        return False
    return bool(_ANSWERS.match(_last_part(command)))


def _last_part(command: str) -> str:
    return next((part for part in reversed(_parts(command)[::2]) if part.strip()), "")


@lru_cache(maxsize=16)  # called several times in a row with the same output
def says_failed(text: str) -> str:
    """Return the line in which a tool reports failure, whatever its exit code; '' if there is none."""
    match = _SAYS_FAILED.search(text)
    return match[0].strip() if match else ""


def says_passed(text: str) -> bool:
    """Whether a tool explicitly reports success."""
    return bool(_SAYS_PASSED.search(text)) and not says_failed(text)


def why_failed(
    text: str, check: str | None = None, exit_code: int | None = None
) -> tuple[FailureReason, str]:
    """The category of a failure and the line that decided it."""
    if exit_code == 124:
        return FailureReason.TIMEOUT, "exit code 124"
    if match := _TIMED_OUT.search(text):
        return FailureReason.TIMEOUT, _line_at(text, match.start())
    if exit_code == 127:
        return FailureReason.DEPENDENCY_ERROR, _first_line(text) or "exit code 127"
    if check == "test" and not _NOT_BUILT.search(text) and (match := _TESTS_FAILED.search(text)):
        return FailureReason.TEST_FAILURE, _line_at(text, match.start())
    for reason, pattern in _REASONS:
        if match := pattern.search(text):
            return reason, _line_at(text, match.start())
    evidence = says_failed(text) or _first_line(text)
    if check == "test":
        return FailureReason.TEST_FAILURE, evidence
    if check in ("build", "types"):
        return FailureReason.SYNTAX_ERROR, evidence
    return FailureReason.TOOL_ERROR, evidence


@lru_cache(maxsize=2048)
def is_task(command: str) -> bool:
    """Whether a command runs a task that the repository defines (`make test`), and not a tool itself."""
    return _TASK.match(command) is not None


def commits_in(command: str, output: str, ok: bool | None) -> int:
    """Count the commits a command made. git prints a line for each, also where a later part of the command failed;
    quiet commits and those of wrappers (`make commit`, aliases, scripts) count by their exit code."""
    if not contains_any(command, _COMMITTING):
        return 0
    parts = _parts(command)
    commits = [number for number in range(0, len(parts), 2) if _COMMITS.match(parts[number])]
    if not commits:
        return 0
    if reported := len(_COMMITTED.findall(output)):
        return max(reported - sum("--amend" in parts[number] for number in commits), 0)
    if not ok or _NO_COMMIT.search(output):
        return 0
    # The exit code speaks for a commit only if nothing after it can hide that it failed.
    hidden = {"||", ";", "\n", "&", "|"}
    return sum(
        1
        for number in commits
        if not _NOT_MADE.search(f"{parts[number]} ")
        and not any(
            parts[after] in hidden and parts[after + 1].strip()
            for after in range(number + 1, len(parts) - 1, 2)
        )
    )


def lacks_network(command: str, output: str) -> bool:
    """Whether a command only failed to publish, because the network or the remote was out of reach."""
    return publishes(command) and bool(_NO_NETWORK.search(output))


@lru_cache(maxsize=4096)
def runs_elsewhere(command: str, cwd: str) -> bool:
    """Whether a command runs in a temporary folder or in another repository than the session's."""
    if "/" not in command and "$" not in command:
        return False
    folder = ""
    for part in _parts(command)[::2]:
        if moved := _GOES_TO.match(part):
            folder = moved[1].strip("\"'")
        elif _kind_of(part):
            named = _RUNS_IN.search(part)
            return _is_elsewhere(named[1].strip("\"'") if named else folder, cwd)
    return False


def _is_elsewhere(folder: str, cwd: str) -> bool:
    if folder.startswith(_SOMEWHERE):
        return True
    if not folder.startswith(("/", "~")) or not cwd:
        return False
    below, above = f"{folder.rstrip('/')}/", f"{cwd.rstrip('/')}/"
    if below.startswith(above) or above.startswith(below):
        return False
    if below.startswith(_TEMPORARY):
        return True
    # A work tree of the same repository often lies beside it and carries its name.
    return above.rstrip("/").rpartition("/")[2] not in below


def publishes(command: str) -> bool:
    """Whether a command publishes work: it pushes, or opens or merges a pull request."""
    if "push" not in command and " pr " not in command and " mr " not in command:
        return False
    return any(_PUBLISHES.match(part) and "--dry-run" not in part for part in _parts(command)[::2])


@lru_cache(maxsize=4096)
def _kind_of(part: str) -> str | None:
    return next((kind for kind, pattern in _KINDS if pattern.match(part)), None)


@lru_cache(maxsize=4096)  # called several times for each command, and commands repeat
def _parts(command: str) -> tuple[str, ...]:
    """Split a command line into simple commands and the operators between them. Quoted text becomes a placeholder,
    unless it is a single word."""
    line = command.replace("\\\n", " ")
    if "<<" in line:
        line = _HERE_DOCUMENT.sub(r" \3", line)
    if "sh " in line:
        line = _SHELL_IN_SHELL.sub(lambda match: f" ; {match[1] or match[2] or ''} ; ", line)
    if '"' in line or "'" in line:
        line = _QUOTED.sub(_unquoted, line)
    if "#" in line:
        line = _COMMENT.sub("", line)
    if ">" in line or "<" in line:
        line = _REDIRECTION.sub(" ", line)
    return tuple(part[:LONGEST_PART] for part in _SEPARATOR.split(line))


def _unquoted(match: re.Match[str]) -> str:
    text = match[1] if match[1] is not None else match[2]
    return text if _ONE_WORD.fullmatch(text) else "_"


def _line_at(text: str, position: int) -> str:
    while position < len(text) and text[position] == "\n":
        position += 1
    return line_around(text, position).strip()


def _first_line(text: str) -> str:
    """Return the first meaningful line; a warning only if there is nothing else."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _ECHO.match(line)]
    return next((line for line in lines if not only_warns(line)), lines[0] if lines else "")


def only_warns(line: str) -> bool:
    return bool(_WARNS.match(line))
