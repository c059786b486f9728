"""Which commands prompts may be offered: those that several sessions ran, and that an agent would not try anyway."""

from __future__ import annotations

from tests.lessons.test_commands_in_use import lived

from holdfast.lessons.commands import usual_commands
from holdfast.model.events import Lived


def told(*sessions: Lived) -> list[str]:
    return [usual.command for usual in usual_commands(sessions)]


def test_what_more_than_one_session_ran_is_named_the_likeliest_first_with_its_sessions() -> None:
    sessions = [
        lived(n, ("test", "make test"), *([("lint", "make lint")] if n > 1 else [])) for n in range(4)
    ]
    sessions.append(lived(4, ("generate", "make protobuf")))
    assert told(*sessions) == ["make test", "make lint"]
    first, second = usual_commands(sessions)
    assert first.sessions == ("s0", "s1", "s2", "s3") and second.sessions == ("s2", "s3")
    assert 1 > first.rate > second.rate > 0


def test_forms_that_differ_in_options_and_places_are_one_command() -> None:
    forms = ("mise test src/a.ts", "mise test <path>", "mise test <path> --watch", "mise test <path>")
    assert told(*(lived(n, ("test", form)) for n, form in enumerate(forms[1:]))) == ["mise test <path>"]


def test_a_bare_tool_is_left_out_where_a_task_does_its_job_and_what_every_agent_tries_always() -> None:
    both = (("build", "npm run build"), ("build", "npx vite build"))
    assert told(*(lived(n, *both) for n in range(3))) == ["npm run build"]
    tried = (("build", "go build ./..."), ("test", "go test ./..."), ("test", "go test -tags=live ./..."))
    assert told(*(lived(n, *tried) for n in range(3))) == ["go test -tags=live ./..."]


def test_a_command_that_a_later_session_did_not_find_is_left_out() -> None:
    sessions = [lived(n, ("test", "make check")) for n in range(3)]
    assert told(*sessions) == ["make check"]
    assert told(*sessions, lived(3, gone="make check")) == []
