"""Which commands sessions here use: one for each job, by how many of the latest ones ran it; none that is gone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lessons.commands import FEWEST, JOBS, LEAST, MOST, in_use
from holdfast.model.events import Lived
from holdfast.model.lesson import Experience, Ran, Stumble


def lived(number: int, *ran: tuple[str, str], gone: str = "") -> Lived:
    commands = tuple(Ran(command=command, purpose=job, worked=1) for job, command in ran)
    failed = Stumble(cause="task", subject="make", token=gone, tried=gone, failed="No rule to make target")
    return Lived(
        session=f"s{number}",
        started=float(number),
        experience=Experience(commands=commands, stumbles=(failed,) if gone else ()),
    )


def told(*sessions: Lived) -> list[str]:
    return [f"{one.job} {one.command}" for one in in_use(sessions)]


def test_of_each_job_the_command_of_most_sessions_is_named_the_likeliest_first() -> None:
    sessions = [
        lived(n, ("test", "make test"), ("lint", "ruff check src" if n % 2 else "ruff check"))
        for n in range(5)
    ]
    assert told(*sessions) == ["test make test", "lint ruff check"]


def test_a_task_that_the_repository_defines_stands_for_the_tool_that_most_sessions_called() -> None:
    sessions = [
        lived(n, ("types", "bun run typecheck" if n % 3 == 0 else "bunx tsc --noEmit -p web"))
        for n in range(9)
    ]
    assert told(*sessions) == ["types bun run typecheck"]
    sessions = [
        lived(n, ("types", "cd web && npm run types" if n % 3 == 0 else "npx tsc -p api")) for n in range(9)
    ]
    assert told(*sessions) == ["types npx tsc -p api"], "a task of another folder checks something else"
    sessions = [lived(n, ("test", "make test" if n % 3 == 0 else "bun test <path>")) for n in range(9)]
    assert told(*sessions) == ["test bun test <path>"], "one file's test is another job"


def test_what_checks_all_is_named_before_what_checks_a_file_where_sessions_use_both() -> None:
    sessions = [lived(n, ("test", "mise test <path>"), ("test", "mise test")) for n in range(4)]
    assert told(*sessions, lived(4, ("test", "mise test <path>"))) == ["test mise test"]


def test_a_program_that_fails_outside_its_folder_is_named_with_the_folder() -> None:
    sessions = [
        lived(n, ("test", "go test <path>"), *([("test", "cd src && go test <path>")] if n % 2 else []))
        for n in range(6)
    ]
    assert told(*sessions) == ["test go test <path>"]
    failed = Stumble(
        cause="place", subject="go build", token="", tried="go build ./...", failed="no main module"
    )
    outside = Lived(session="x", experience=Experience(stumbles=(failed,)))
    assert told(*sessions, outside) == ["test cd src && go test <path>"]


def test_what_everybody_does_with_one_test_or_one_file_is_not_named() -> None:
    sessions = [
        lived(n, ("one test", "go test <path> -run <name>"), ("format", "gofmt -w <path>")) for n in range(5)
    ]
    assert told(*sessions) == []
    own = [lived(n, ("one test", "pnpm test -- --grep <name>")) for n in range(5)]
    assert told(*own) == ["one test pnpm test -- --grep <name>"]


@pytest.mark.parametrize(
    "command",
    [
        "/Users/ada/.bun/bin/bun test",
        "cd ~/work/shop && make test",
        "pytest --rootdir=/tmp/shop-4",
        'cd "/home/ada/shop" && make test',
        "C:\\tools\\make.exe test",
        "npx markdownlint .REDACTED.md",
    ],
)
def test_a_command_of_one_machine_or_with_a_part_taken_out_is_not_named(command: str) -> None:
    assert told(*(lived(n, ("test", command), ("lint", "make lint")) for n in range(5))) == ["lint make lint"]


def test_what_sessions_use_of_late_takes_the_place_of_what_they_used_once() -> None:
    old = [lived(n, ("test", "npm test")) for n in range(60)]
    new = [lived(100 + n, ("test", "bun run test")) for n in range(45)]
    assert told(*old, *new) == ["test bun run test"]


def test_before_three_sessions_ran_something_nothing_is_usual() -> None:
    sessions = [lived(n, ("test", "make test")) for n in range(FEWEST - 1)]
    assert told(*sessions, lived(9)) == []


def test_what_one_of_many_sessions_ran_is_not_usual() -> None:
    sessions = [lived(n, ("test", "make test")) for n in range(20)]
    assert told(*sessions, lived(20, ("build", "make all"))) == ["test make test"]


@pytest.mark.promise("S9")
def test_a_command_that_is_no_longer_defined_is_not_named_until_it_works_again() -> None:
    sessions = [lived(n, ("test", "make test")) for n in range(4)]
    assert told(*sessions, lived(4, gone="make test")) == []
    assert told(*sessions, lived(4, gone="make test"), lived(5, ("test", "make test"))) == ["test make test"]


def test_what_only_failed_is_not_named() -> None:
    failing = Experience(commands=(Ran(command="make test", purpose="test", failed=2),))
    assert told(*(Lived(session=str(n), experience=failing) for n in range(5))) == []


runs = st.lists(
    st.lists(st.tuples(st.sampled_from([*JOBS, "odd"]), st.sampled_from(["a", "b x", "c"])), max_size=4),
    max_size=12,
)


@given(runs)
def test_there_are_few_of_them_each_job_once_and_in_order(history: list[list[tuple[str, str]]]) -> None:
    found = in_use([lived(n, *ran) for n, ran in enumerate(history)])
    jobs = [one.job for one in found]
    assert len(jobs) == len(set(jobs)) <= MOST and set(jobs) <= set(JOBS)
    chances = [one.chance for one in found]
    assert chances == sorted(chances, reverse=True) and all(LEAST <= chance < 1 for chance in chances)
