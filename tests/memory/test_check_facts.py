"""Of the checks that sessions ran, the whole is kept and its parts are not."""

from __future__ import annotations

import pytest

from holdfast.memory.state import of_a_part, useful_checks
from holdfast.model.memory import Fact


def built(command: str, does: str = "builds", at: float = 1.0, session: str = "s") -> Fact:
    return Fact(text=f"`{command}` {does} here", command=command, evidence="ok", at=at, session=session)


def commands(facts: list[Fact]) -> list[str]:
    return [fact.command for fact in facts]


@pytest.mark.parametrize(
    ("command", "is_part"),
    [
        ("go build ./...", False),
        ("go build ./cmd/x/", True),
        ("go test -count=1 ./...", False),
        ("cargo test", False),
        ("cargo build --release", False),
        ("/usr/local/go/bin/go build ./...", False),
        ("ruff check .", False),
        ("ruff check src/app.py", True),
        ("eslint app.ts", True),
        ("mise run test:ci", False),
        ("npm run test -- --coverage", False),
        ("cd src && go test ./...", False),
        ("cd /home/ada/shop && go test ./...", True),
        ("cd D:/shop/worktrees/x && go test ./...", True),
        ("GOOS=linux go build ./...", False),
        ("", False),
    ],
)
def test_a_part_is_told_from_the_whole(command: str, is_part: bool) -> None:
    assert of_a_part(command) is is_part


def test_parts_are_left_out_where_the_whole_is_known() -> None:
    parts = [built(f"go build ./cmd/{name}/") for name in "abc"]
    whole = built("go build ./...")
    assert commands(useful_checks([*parts, whole])) == ["go build ./..."]
    assert useful_checks(parts, [whole]) == []
    assert commands(useful_checks([built("/opt/go/bin/go build ./cmd/a/"), whole])) == ["go build ./..."]


def test_where_no_session_checked_the_whole_the_part_of_most_sessions_stands_for_it() -> None:
    often = [built("go build ./cmd/server/") for _ in range(3)]
    found = useful_checks([built("go build ./a/b/c/"), *often, built("go build ./tool/", at=9.0)])
    assert set(commands(found)) == {"go build ./cmd/server/"}
    assert useful_checks([built("go build ./tool/")], often[:1]) == [], "one of them is known already"


def test_one_form_of_a_check_is_kept_and_that_of_most_sessions() -> None:
    often = [built("go test ./...", "runs the tests") for _ in range(3)]
    forms = ["go test ./... -count=1", "mise exec -- go test ./...", "go test ./... -short -timeout 120s"]
    assert set(commands(useful_checks([*(built(form, "runs the tests") for form in forms), *often]))) == {
        "go test ./..."
    }
    assert useful_checks([built(forms[0], "runs the tests")], often[:1]) == []


def test_a_tool_that_was_called_once_is_left_out_beside_a_task_of_the_repository() -> None:
    task = built("mise run lint", "lints")
    once = [built("golangci-lint run", "lints"), built("shellcheck docs/demo.sh", "lints")]
    assert useful_checks([*once, task]) == [task]
    assert useful_checks([built("bunx tsc --noEmit scripts/release.ts", "checks types")]) == []


def test_what_is_known_is_seen_again_and_other_programs_and_kinds_stay() -> None:
    known = built("go build ./cmd/a/")
    assert useful_checks([known], [known, built("go build ./...")]) == [known]
    others = [
        built("go build ./..."),
        built("go test ./cmd/a/", "runs the tests"),
        built("gofmt -l cmd/", "lints"),
        built("cargo build"),
        Fact(text="staging listens on port 5433", command="psql -p 5433", evidence="ok"),
    ]
    assert useful_checks(others) == others
