"""What is worth a lesson: a call that will be saved, a remedy that held, one rule for one thing, nothing that is over."""

from __future__ import annotations

import pytest
from tests.lessons.test_lessons_learned import HOME, Call, rules, session, tool, twice

from holdfast.lessons.rules import learned
from holdfast.model.events import Event, Lived, ToolCall, ToolResult
from holdfast.sessions.corrections import corrections_in

MISSING = ("{0} build ./shop", False, "bash: line 1: {0}: command not found")
OLD_NODE = (
    'ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment\n\nYour Node version is incompatible with "/shop".'
)


def stumbles(*sessions: Lived) -> list[str]:
    return [rule for kind in ("stumble", "pitfall") for rule in rules(*sessions, kind=kind)]


def missing(program: str) -> Call:
    command, ok, output = MISSING
    return command.format(program), ok, output.format(program)


# --- commands ---


def test_what_sessions_type_unaided_is_no_lesson_once_there_are_a_few() -> None:
    """Would it have saved a call? Two sessions that ran a command at once show that it would not."""
    typed = [session(number, ("npm run build:all", True, "built")) for number in (1, 2)]
    assert rules(*typed, kind="command") == ["build: `npm run build:all`"]  # too few to tell
    more = [session(number, "git status") for number in (3, 4)]
    known = learned([*typed, *more], lambda path: True)
    assert not known.lessons
    assert [lesson.rules[0] for lesson in known.usual] == ["build: `npm run build:all`"]


def test_a_task_is_one_command_whichever_package_manager_called_it() -> None:
    called = ["npm run typecheck", "pnpm typecheck", "pnpm run typecheck", "pnpm typecheck"]
    found = [session(n, "cat package.json", (command, True, "ok")) for n, command in enumerate(called, 1)]
    assert rules(*found, kind="command") == ["type check: `pnpm typecheck`"]


def test_a_bare_tool_is_not_told_where_the_repository_has_a_task() -> None:
    tool_itself = ("bunx tsc --noEmit -p tsconfig.web.json", True, "")
    found = [session(n, "cat package.json", tool_itself) for n in range(1, 5)]
    task = [session(n, "cat package.json", ("bun run typecheck", True, "")) for n in (5, 6)]
    assert rules(*found, *task, kind="command") == ["type check: `bun run typecheck`"]


@pytest.mark.parametrize(
    ("here", "said"),
    [
        ("cd tests/e2e && pnpm --filter @shop/api test:unit", "pnpm --filter @shop/api test:unit"),
        ("cd src/cart && mise run test:unit", "mise run test:unit"),
        ("cd src/cart && npm run test:unit", "cd src/cart && npm run test:unit"),
    ],
)
def test_a_folder_is_said_where_it_matters(here: str, said: str) -> None:
    assert rules(*twice((here, True, "Tests: 3 passed")), kind="command") == [f"tests: `{said}`"]


def test_a_command_whose_program_later_sessions_did_not_find_is_over() -> None:
    built = ("cd app && go build ./cmd/...", True, "ok")
    before = [session(number, "cat Makefile", built) for number in (1, 2, 3)]
    gone = session(4, missing("go"), "/usr/local/go/bin/go build ./shop")
    assert rules(*before, kind="command") == ["build: `cd app && go build <path>`"]
    assert rules(*before, gone, kind="command") == []


def test_a_command_is_not_told_beside_the_stumble_that_it_remedies() -> None:
    failed = ("npm run unit", False, 'npm error Missing script: "unit"')
    found = [
        session(number, failed, ("npm run test:unit", True, "Tests: 3 passed")) for number in range(1, 6)
    ]
    assert rules(*found) == ['`npm run unit` fails here (Missing script: "unit") → `npm run test:unit`']


# --- remedies ---


def test_a_remedy_that_failed_in_another_session_is_not_told() -> None:
    failed = ("python -c 'import cart'", False, "zsh: command not found: python")
    bare = "python3 -c 'import cart'"
    broken = (bare, False, "ModuleNotFoundError: No module named 'httpx'")
    venv = "cd app && .venv/bin/python -c 'import cart'"
    assert stumbles(session(1, failed, bare)) == ["`python` is not found here → `python3`"]
    assert stumbles(session(1, failed, bare), session(2, failed, broken)) == ["`python` is not found here"]
    assert stumbles(session(1, failed, bare), session(2, failed, broken, venv)) == [
        "`python` is not found here → `cd app && .venv/bin/python`"
    ]


def test_what_no_edit_mends_waits_for_its_remedy_across_one() -> None:
    edit = tool(1, "edit", f"{HOME}/cart.go", "done")
    found = stumbles(session(1, missing("go"), *edit, "/usr/local/go/bin/go build ./shop"))
    assert found == ["`go` is not found here → `/usr/local/go/bin/go`"]
    other = ("npm run build", True, "built")  # does the same job, and is something else
    assert stumbles(session(1, missing("go"), *edit, other)) == []


def test_what_nobody_found_a_remedy_for_is_kept_though_work_went_on() -> None:
    unknown = ("shopctl info cart", False, "│ No such command 'info'.     │")
    edit = tool(1, "edit", f"{HOME}/cart.go", "done")
    assert stumbles(*twice(unknown, *edit)) == ["`shopctl info cart` fails here (No such command 'info')"]


def test_another_version_of_what_runs_a_tool_is_chosen_first() -> None:
    failed = ("pnpm --filter web test", False, OLD_NODE)
    switch = '. "$NVM_DIR/nvm.sh" && nvm use >/dev/null && pnpm --filter web test'
    edit = tool(1, "edit", f"{HOME}/cart.ts", "done")
    rule = "`pnpm …` fails here (Your Node version is incompatible) → `. ~/.nvm/nvm.sh && nvm use && pnpm …`"
    assert stumbles(session(1, failed, *edit, (switch, True, "Tests: 3 passed"))) == [rule]
    path = 'PATH="/opt/node22/bin:$PATH" pnpm --filter web test'
    assert stumbles(session(1, failed, (path, True, "ok")))[0].endswith(
        "→ `PATH=/opt/node22/bin:$PATH pnpm …`"
    )
    met = [session(1, failed, (switch, True, "Tests: 3 passed"))]
    upgraded = session(2, ("pnpm --filter web test", True, "Tests: 3 passed"))
    assert stumbles(*met, upgraded) == []


def test_where_no_exit_code_is_known_the_tool_says_that_it_failed() -> None:
    """Some clients record what a call printed, and not how it ended."""

    def unknown(command: str, output: str) -> list[Event]:
        call = f"u{command}"
        return [ToolCall(None, call, "shell", "shell", command), ToolResult(None, call, None, output)]

    missed = unknown("hk install --all", "zsh:1: command not found: hk")
    found = unknown("mise x hk -- hk install --all", "installed")
    assert stumbles(session(1, *missed, *found)) == ["`hk` is not found here → `mise x hk -- hk`"]
    listed = unknown("cat notes.md", "zsh:1: command not found: hk")  # what a file says
    assert stumbles(*twice(*listed)) == []


def test_the_same_files_in_another_command_are_no_remedy() -> None:
    failed = ("markdownlint docs/a.md docs/b.md", False, "zsh: command not found: markdownlint")
    assert stumbles(session(1, failed, "git add docs/a.md docs/b.md")) == []


def test_a_wrapper_that_is_missing_is_left_out_where_the_rest_ends_by_itself() -> None:
    missed = "zsh: command not found: timeout"
    tests = ("timeout 60 npm test", False, missed)
    assert stumbles(session(1, tests, ("npm test", True, "3 passed"))) == [
        "`timeout` is not found here → run the command without it"
    ]
    server = ("timeout 60 npm run dev", False, missed)
    assert stumbles(*twice(server, "npm run dev -- --host")) == ["`timeout` is not found here"]


def test_what_was_installed_for_good_was_missing_once() -> None:
    assert stumbles(session(1, missing("sqlc"), "brew install sqlc")) == []
    assert stumbles(*twice(missing("sqlc"), "brew install sqlc")) == [
        "`sqlc` is not found here → `brew install sqlc`"
    ]
    assert stumbles(session(1, missing("mysql"), "brew services start mysql")) == []


def test_a_list_without_the_field_is_asked_of_the_same_subcommand() -> None:
    failed = ("gh pr view 7 --json state,merged", False, 'Unknown JSON field: "merged"')
    assert stumbles(session(1, failed, "gh pr view 7 --json state,mergedAt"))[0].endswith(
        "→ `gh pr view --json state,mergedAt`"
    )
    assert stumbles(session(1, failed, "gh pr list --json state")) == []


def test_a_package_that_was_chosen_is_not_remedied_in_another() -> None:
    failed = ("pnpm --filter @shop/api tsc --noEmit", False, 'None of the selected packages has a "tsc"')
    assert stumbles(session(1, failed, "cd apps/web && npx tsc --noEmit")) == []
    (rule,) = stumbles(session(1, failed, "cd apps/api && npx tsc --noEmit"))
    assert rule.startswith("`pnpm --filter @shop/api tsc --noEmit`") and "cd apps/api" in rule


# --- one rule for one thing ---


def test_a_target_is_missing_whatever_test_was_named() -> None:
    says = "error: no library targets found in package `shop`"
    sessions = [
        session(1, ("cargo test cart::sums --lib", False, says), "cargo test cart::sums"),
        session(2, ("cargo test total --lib", False, says), "cargo test total"),
        session(3, ("mise x -- cargo test tax --lib", False, says), "mise x -- cargo test tax"),
    ]
    assert stumbles(*sessions) == [
        "`cargo test --lib` fails here (no library targets found) → `cargo test` without it"
    ]


def test_a_tool_that_runs_in_several_folders_is_one_rule() -> None:
    failed = ("go vet ./...", False, "pattern ./...: directory prefix . does not contain main module")
    (rule,) = stumbles(
        *twice(failed, "cd e2e && go vet ./..."),
        *(session(number, failed, "cd agents && go vet ./...") for number in (3, 4)),
    )
    assert "`cd e2e && go vet ./...`" in rule and "`cd agents && go vet ./...`" in rule


def test_a_check_that_fails_on_formatting_is_one_rule_and_the_task_is_its_remedy() -> None:
    said = "web/cart.ts format\n  × Formatter would have printed the following content"
    sessions = [
        session(1, ("bun run lint", False, said), "bunx biome check --write web/cart.ts"),
        session(2, ("bunx biome check web/cart.ts", False, said), "bun run format"),
        session(3, ("bun run lint", False, said), "bun run format"),
    ]
    assert stumbles(*sessions) == ["`bun run lint` fails on formatting → `bun run format` first"]


# --- what is none ---


NOTHING = [
    ("an option of what is being built", "go run ./cmd/shop --bogus", "unknown flag: --bogus", "go run ./cmd/shop"),
    ("an option of a script", "python3 tools/sum.py --fast", "error: unrecognized arguments: --fast", "python3 tools/sum.py"),
    ("a name of the moment", "cargo test cart total", "error: unexpected argument 'total' found", "cargo test cart"),
    ("what an API refused", "gh api repos/x/y/pulls -f a=b", "gh: Not Found (HTTP 404)", "gh pr comment 7 --body x"),
    ("a job that nobody asked for", "pnpm exec tsx seed.ts", 'Command "tsx" not found', "pnpm test"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "failed", "output", "worked"), NOTHING, ids=[case[0] for case in NOTHING])
def test_it_is_no_lesson(why: str, failed: str, output: str, worked: str) -> None:
    found = stumbles(*twice((failed, False, output), (worked, True, "ok")))
    assert not [rule for rule in found if "→" in rule], why


def test_a_path_that_a_folder_doubled_and_what_a_build_leaves_are_no_lessons() -> None:
    for path in ("api/src/api/src/cart.ts", "target/debug/shop", "dist/index.js"):
        missed = tool(1, "read", f"{HOME}/{path}", "File does not exist.", ok=False)
        assert stumbles(*(session(number, *missed) for number in range(1, 5))) == []


def test_a_linters_cross_is_no_flaky_test() -> None:
    check = ("npm run check", False, "web/cart.ts\n  × Some errors were emitted while running checks.")
    assert stumbles(*twice(check, ("npm run check", True, "ok"))) == []


@pytest.mark.parametrize(
    "said",
    [
        "don't ever update the component file",
        "do not add audience as an option since it can only have one valid value",
        "just run dashboard directly going forward",
        "always make sure whatever is loaded has the same session id",
    ],
)
def test_an_order_about_the_work_at_hand_is_no_standing_rule(said: str) -> None:
    assert not [one for one in corrections_in(said, None, replied=True) if one.lasting]


@pytest.mark.parametrize(
    "said",
    [
        "do not wrap long lines in the markdown as that ruins the rendering",
        "from now on run the linter before you commit",
        "always make sure to run `make check` before a commit",
        "never commit generated files under `dist/`",
    ],
)
def test_a_standing_rule_is_heard(said: str) -> None:
    assert [one.lasting for one in corrections_in(said, None, replied=True)] == [True]


def test_a_linters_family_of_rules_is_no_rule() -> None:
    """Five sessions that met five of its findings met nothing in common."""
    found = "cart.go:3:1: {}: rewrite it (gocritic)\n1 issues:"
    names = ("ifElseChain", "elseif", "appendAssign", "singleCaseSwitch")
    fixed = ("mise run lint", True, "0 issues.")
    met = [session(n, ("mise run lint", False, found.format(name)), fixed) for n, name in enumerate(names, 1)]
    assert rules(*met, kind="convention") == []
    same = [session(n, ("mise run lint", False, found.format("elseif")), fixed) for n in range(1, 4)]
    assert rules(*same, kind="convention") == ["`mise run lint` fails on `gocritic` (elseif: rewrite it)"]


def test_another_tool_is_no_remedy_of_an_option() -> None:
    failed = ("golangci-lint run --disable-all ./cart", False, "Error: unknown flag: --disable-all")
    assert stumbles(session(1, failed, "staticcheck ./cart/...")) == []
    assert stumbles(session(1, failed, "mise x -- golangci-lint run ./cart")) != []


def test_what_nobody_calls_any_more_is_not_told() -> None:
    found = [session(n, "cat Makefile", ("make unit-tests", True, "3 passed")) for n in range(1, 5)]
    assert rules(*found, kind="command") == ["tests: `make unit-tests`"]
    other = [session(n, "git status") for n in range(5, 40)]
    assert not learned([*found, *other], lambda path: True).usual
    assert rules(*found, *other, kind="command") == []


def test_another_subcommand_is_no_remedy_of_an_option() -> None:
    failed = ("npx shop@latest project --format json", False, "Error: unexpected option: --format")
    assert stumbles(session(1, failed, "npx shop@latest ls --format json")) == []
    assert stumbles(session(1, failed, "npx shop@latest project ls"))[0].endswith(
        "→ `npx shop@latest project` without it"
    )


def test_what_is_sought_for_in_quotes_is_no_option() -> None:
    failed = ('grep -n "--commit" .githooks/check.sh', False, "grep: unrecognized option '--commit'")
    assert stumbles(*twice(failed, 'grep -n -e "--commit" .githooks/check.sh')) == []


def test_a_single_test_that_ran_out_of_time_is_no_slow_suite() -> None:
    output = "(fail) talks to the live server\n  ^ this test timed out after 15000ms.\n 8 pass\n 1 fail\n"
    assert rules(*twice(("mise test:live", False, output)), kind="pitfall") == []


def test_a_star_that_a_name_begins_with_is_part_of_it() -> None:
    (said,) = corrections_in("I have concerns:\n*.token files should never be committed", None, replied=True)
    assert said.text == "*.token files should never be committed"
    (said,) = corrections_in("* never commit generated files under `dist/`", None, replied=True)
    assert said.text == "Never commit generated files under `dist/`"


# --- of promotion quality ---


def seldom(*sessions: Lived) -> dict[str, bool]:
    return {lesson.rules[0]: lesson.seldom for lesson in learned(sessions, lambda path: True).lessons}


def test_an_option_that_one_session_guessed_is_left_to_a_person() -> None:
    """Of such guesses a fifth is ever made by another session."""
    steps = ("gh pr diff 7 --stat", False, "unknown flag: --stat"), ("gh pr diff 7 --name-only", True, "a")
    once = seldom(session(1, *steps))
    assert list(once.values()) == [True]
    assert seldom(session(1, *steps), session(2, *steps)) == dict.fromkeys(once, False)


def test_a_program_that_is_missing_is_met_again_until_many_sessions_did_not() -> None:
    first = session(1, missing("go"), "mise x -- go build ./shop")
    rule = "`go` is not found here → `mise x -- go`"
    assert seldom(first)[rule] is False
    assert seldom(first, *(session(number, "git status") for number in range(2, 4)))[rule] is False
    assert seldom(first, *(session(number, "git status") for number in range(2, 5)))[rule] is True


def test_a_command_that_one_session_ran_is_left_to_a_person() -> None:
    built = ("npm run build:all", True, "built")
    assert seldom(session(1, built)) == {"build: `npm run build:all`": True}
    assert seldom(session(1, built), session(2, built)) == {
        "build: `npm run build:all`": True
    }  # too few to tell
