"""A session is told by how it starts: resumed, what changed since; compacted, what keeps failing and what it left open."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import Holdfast
from tests.hooks.enabled import LINES, SESSION, Answer, Enabled
from tests.hooks.host_call import asked
from tests.patience import PATIENCE_S

from holdfast.briefing.changes_since import RecentChange
from holdfast.briefing.explain import Injection, injections
from holdfast.briefing.prepare import prepare
from holdfast.briefing.start import Briefings
from holdfast.core.tokens import count_tokens
from holdfast.hooks import start_lines, trace
from holdfast.model.line import Line
from holdfast.store.machine import Machine

HOUR = 3600.0


def meanwhile(text: str, ago: float, **more: object) -> RecentChange:
    line = Line(f"Meanwhile: {text}", f"because of {text}")
    return RecentChange(at=time.time() - ago, line=line, **{"session": "other", **more})  # type: ignore[arg-type]


def resumed(enabled: Enabled, ago: float | None = HOUR, **more: object) -> list[str]:
    """The lines that the session is told when it is taken up `ago` seconds after its last answer."""
    since = {} if ago is None else {"seconds_since_last_response": ago}
    return inner(start(enabled, **{"source": "resume", **since, **more}))


def start(enabled: Enabled, **more: object) -> Answer:
    """An envelope of another session would start a capture, which prepares anew: they are worked off before."""
    for path in (enabled.memory / "inbox").glob("*.json"):
        path.unlink()
    return enabled.hook("SessionStart", **more)  # type: ignore[arg-type]


def inner(answer: Answer) -> list[str]:
    return answer.context.split("\n")[1:-1]


def last(enabled: Enabled) -> Injection:
    return injections(enabled.project)[-1]


@pytest.mark.promise("H2", "U7", "W16")
def test_a_resumed_session_is_told_what_others_did_since_its_last_answer(enabled: Enabled) -> None:
    since = (
        meanwhile("after", 60),
        meanwhile("before", 2 * HOUR),
        meanwhile("its own", 60, session=SESSION),
        meanwhile("by hand", 90, session=""),
    )
    enabled.prepare(since=since)
    assert resumed(enabled) == ["Meanwhile: after", "Meanwhile: by hand"]
    told = last(enabled)
    assert (told.source, told.session, told.nothing) == ("resume", SESSION, "")
    assert [line.reason for line in told.lines] == ["because of after", "because of by hand"]


def test_this_branch_comes_first_then_the_newest(enabled: Enabled) -> None:
    since = (
        meanwhile("other new", 1, branch="b"),
        meanwhile("here old", 30, branch="main"),
        meanwhile("here new", 20, branch="main"),
        meanwhile("nowhere", 10),
    )
    enabled.prepare(since=since)
    assert [line[11:] for line in resumed(enabled)] == ["nowhere", "here new", "here old", "other new"]


def test_what_changed_fits_its_budget_and_the_rest_is_counted(enabled: Enabled) -> None:
    enabled.prepare(since=tuple(meanwhile(f"{n} " + "word " * 20, 60 + n) for n in range(20)))
    told = resumed(enabled)
    assert 0 < sum(map(count_tokens, told)) <= start_lines.SINCE_TOKENS
    assert last(enabled).left_out == 20 - len(told)


def test_a_line_that_fits_nowhere_does_not_stand_in_the_way(enabled: Enabled) -> None:
    sizes = {"huge": start_lines.SINCE_TOKENS, "first": 40, "second": 60, "short": 1}
    since = [meanwhile(f"{name} " + "? " * size, number) for number, (name, size) in enumerate(sizes.items())]
    enabled.prepare(since=tuple(since))
    assert [line.split()[1] for line in resumed(enabled)] == ["first"], "and nothing only fills it up"
    assert last(enabled).left_out == 3


@pytest.mark.promise("U7", "W16")
def test_nothing_changed_nothing_said(enabled: Enabled) -> None:
    enabled.prepare(since=(meanwhile("before", 2 * HOUR),))
    answer = start(enabled, source="resume", seconds_since_last_response=HOUR)
    assert answer.printed == b"", "no line of the host either"
    assert last(enabled).nothing.startswith("nothing changed since 20")


def test_another_project_of_the_repository_is_not_told_of(enabled: Enabled) -> None:
    since = (
        meanwhile("shop", 60, project="shop"),
        meanwhile("api", 50, project="api"),
        meanwhile("both", 40),
        meanwhile("mine, earlier", 2 * HOUR, project="api", session="mine"),
    )
    enabled.prepare(since=since, projects={"": "shop", "feature/api": "api"})
    assert resumed(enabled) == ["Meanwhile: both", "Meanwhile: shop"]
    assert resumed(enabled, session_id="mine") == ["Meanwhile: both", "Meanwhile: api"]
    subprocess.run(["git", "checkout", "-q", "-b", "feature/api"], cwd=enabled.root, check=True)
    assert resumed(enabled, session_id="new") == ["Meanwhile: both", "Meanwhile: api"]


def test_a_fork_is_not_told_of_the_session_it_comes_from(enabled: Enabled) -> None:
    """It has an id of its own, and what it came from was written to a moment after its last answer."""
    now = time.time()
    since = (meanwhile("parent", HOUR - 5, began=now - 3 * HOUR), meanwhile("later", 60, began=now - 120))
    enabled.prepare(since=since)
    assert resumed(enabled, source="fork", session_id="fork") == ["Meanwhile: later"]


def test_without_the_clients_word_the_last_capture_says_when_it_worked(enabled: Enabled) -> None:
    since = (
        meanwhile("after", 60),
        meanwhile("mine", HOUR, session=SESSION),
        meanwhile("before", 2 * HOUR),
    )
    enabled.prepare(since=since)
    assert resumed(enabled, None) == ["Meanwhile: after"]


def test_else_the_transcript_does_unless_the_client_has_just_touched_it(
    enabled: Enabled, tmp_path: Path
) -> None:
    enabled.prepare(since=(meanwhile("after", 60), meanwhile("before", 2 * HOUR)))
    transcript = tmp_path / "t.jsonl"
    assert resumed(enabled, None, transcript_path=str(transcript)) == []
    assert "not known" in last(enabled).nothing
    transcript.write_bytes(b"")
    touched = time.time() + PATIENCE_S  # however late this machine starts the hook
    os.utime(transcript, (touched, touched))
    assert resumed(enabled, None, transcript_path=str(transcript)) == []
    assert "not known" in last(enabled).nothing
    then = time.time() - HOUR
    os.utime(transcript, (then, then))
    assert resumed(enabled, None, transcript_path=str(transcript)) == ["Meanwhile: after"]


@pytest.mark.promise("H2")
def test_a_compacted_session_hears_what_keeps_failing_and_what_it_left_open(enabled: Enabled) -> None:
    own = {SESSION: (Line("Open: mine", "on the list"),), "other": (Line("Open: of another", "x"),)}
    enabled.prepare(stumbles=(Line("`make` fails here", "often"),), own=own, since=(meanwhile("x", 60),))
    answer = start(enabled, source="compact")
    assert inner(answer) == ["Open: mine", "`make` fails here"]
    assert [line.reason for line in last(enabled).lines] == ["on the list", "often"]
    assert inner(start(enabled, source="compact", session_id="new")) == ["`make` fails here"]


@pytest.mark.parametrize("items", [2, 20])
def test_after_a_compaction_all_lines_together_have_a_budget_and_its_own_come_first(
    enabled: Enabled, items: int
) -> None:
    long = "word " * 19
    stumbles = tuple(Line(f"s{n} {long}", "x") for n in range(20))
    enabled.prepare(stumbles=stumbles, own={SESSION: tuple(Line(f"o{n} {long}", "x") for n in range(items))})
    told = inner(start(enabled, source="compact"))
    spent = {sign: sum(count_tokens(line) for line in told if line[0] == sign) for sign in "so"}
    assert spent["o"] + spent["s"] <= start_lines.OWN_TOKENS
    assert spent["s"] <= start_lines.STUMBLE_TOKENS
    assert (spent["s"] > 0) == (items == 2)


@pytest.mark.promise("U7")
def test_nothing_to_say_after_a_compaction_has_its_reason(enabled: Enabled) -> None:
    assert start(enabled, source="compact").printed == b""
    assert (
        last(enabled).nothing
        == "nothing keeps failing here, and this session settled nothing and left nothing open"
    )


@pytest.mark.promise("H7")
def test_a_line_is_told_once_until_compaction(enabled: Enabled) -> None:
    first, second = LINES
    enabled.prepare([first])
    assert inner(start(enabled)) == [first.text]
    enabled.prepare([first, second])
    assert inner(start(enabled)) == [second.text]
    assert inner(start(enabled)) == []
    assert last(enabled).nothing == "this session was told all of it already"
    assert inner(start(enabled, session_id="other")) == [first.text, second.text]
    start(enabled, source="compact")
    assert inner(start(enabled)) == [first.text, second.text]


@pytest.mark.promise("H7")
def test_what_a_session_was_told_and_went_on_from_is_not_told_again(enabled: Enabled) -> None:
    since = (meanwhile("something", 0),)
    an_hour = {"seconds_since_last_response": HOUR}
    enabled.prepare(since=since)
    assert resumed(enabled, HOUR) == ["Meanwhile: something"]
    again = inner(enabled.hook("SessionStart", {"HOLDFAST_HOST_PID": "42"}, source="resume", **an_hour))
    assert again == ["Meanwhile: something"], "it was closed unused, and nothing was kept of it"
    more = (meanwhile("something", -HOUR), meanwhile("more", -HOUR))
    enabled.prepare(since=more)
    assert resumed(enabled, 0) == ["Meanwhile: more"]
    enabled.prepare(since=more[:1])
    assert resumed(enabled, 0) == []
    assert last(enabled).nothing == "this session was told already what changed since"


def test_what_was_told_is_found_behind_other_sessions_and_in_the_file_moved_aside(enabled: Enabled) -> None:
    start(enabled)
    path = enabled.memory / "why.jsonl"
    path.rename(path.with_name("why.jsonl.1"))
    for number in range(20):
        trace.explain(str(enabled.memory), {"session": f"s{number}", "lines": [], "source": "compact"})
    assert inner(start(enabled)) == []


@pytest.mark.promise("U7")
def test_the_host_shows_one_line_when_something_was_told(enabled: Enabled) -> None:
    tokens = sum(count_tokens(line.text) for line in LINES)
    assert start(enabled).shown == f"holdfast: 2 lines, {tokens} tokens"
    enabled.prepare([Line("tests", "x")])
    assert start(enabled).shown == "holdfast: 1 line, 1 token"
    assert start(enabled).printed == b"", "nothing told, nothing shown"
    assert start(enabled, agent_id="a1", session_id="new").printed == b""


def commit(root: Path, text: str) -> str:
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", text], cwd=root, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout[:8]


@pytest.mark.promise("W16")
def test_a_resumed_session_hears_of_the_branch_the_commit_and_the_guides_that_changed(
    enabled: Enabled,
) -> None:
    (enabled.root / "CLAUDE.md").write_text("one\n", encoding="utf-8")
    enabled.prepare()
    start(enabled)
    own = commit(enabled.root, "by the session itself")
    enabled.hook("Stop")
    assert resumed(enabled) == [], "its own commit is no news"
    later = commit(enabled.root, "by a person")
    subprocess.run(["git", "checkout", "-q", "-b", "feature"], cwd=enabled.root, check=True)
    (enabled.root / "CLAUDE.md").write_text("another\n", encoding="utf-8")
    assert resumed(enabled) == [
        f"Since this session last worked: branch main → feature, HEAD {own} → {later}, CLAUDE.md"
    ]


def test_a_commit_is_known_where_git_packed_its_branches(enabled: Enabled) -> None:
    commit(enabled.root, "first")
    enabled.hook("Stop")
    commit(enabled.root, "second")
    subprocess.run(["git", "pack-refs", "--all"], cwd=enabled.root, check=True)
    (line,) = resumed(enabled)
    assert line.startswith("Since this session last worked: HEAD ")


def test_a_new_session_hears_of_guides_that_changed_since_the_last_one_if_there_is_room(
    enabled: Enabled,
) -> None:
    (enabled.root / "CLAUDE.md").write_text("one\n", encoding="utf-8")
    enabled.prepare([Line("Next: the cart", "x")])
    assert inner(start(enabled, session_id="first")) == ["Next: the cart"]
    (enabled.root / "CLAUDE.md").write_text("another\n", encoding="utf-8")
    changed = "Changed since the last session: CLAUDE.md"
    assert inner(start(enabled, session_id="second")) == ["Next: the cart", changed]
    assert inner(start(enabled, session_id="third")) == ["Next: the cart"], "the second one saw it"
    (enabled.root / "CLAUDE.md").write_text("a third one\n", encoding="utf-8")
    enabled.prepare([Line("word " * (start_lines.START_TOKENS - 2), "x")])
    assert len(inner(start(enabled, session_id="fourth"))) == 1


def test_a_host_without_a_hook_for_prompts_hears_more_at_its_start(enabled: Enabled) -> None:
    digests = {
        ("startup", ""): [Line("Next: the cart", "x")],
        ("alone", ""): [Line("Next: the whole cart", "x")],
    }
    prepare(Machine(cwd=enabled.root), enabled.project, Briefings(digests=digests))
    event = {
        "conversation_id": "c",
        "hook_event_name": "sessionStart",
        "workspace_roots": [str(enabled.root)],
    }
    told = asked("cursor", "sessionStart", event, enabled.root)["additional_context"]
    assert "Next: the whole cart" in told
    assert inner(start(enabled)) == ["Next: the cart"]


@pytest.mark.promise("U7")
def test_why_shows_each_start_with_its_reasons(enabled: Enabled, holdfast: Holdfast) -> None:
    enabled.prepare(since=tuple(meanwhile(f"{n} " + "word " * 35, 60 + n) for n in range(5)))
    resumed(enabled)
    resumed(enabled, 1)
    first, *shown = holdfast("why", check=0).stdout.splitlines()
    assert first.endswith(f"{SESSION}  claude-code SessionStart (resume): 2 lines, 78 tokens")
    assert shown[0].startswith("  Meanwhile: 0 word") and shown[1].startswith("      because: because of 0")
    assert shown[4] == "  3 more did not fit"
    assert shown[5].endswith("claude-code SessionStart (resume): nothing")
    assert shown[6].startswith("      because: nothing changed since 20")


@given(st.text() | st.text(alphabet="aB z09é٣_-\u2028"))
def test_both_sides_count_the_same_tokens(text: str) -> None:
    assert start_lines.count_tokens(text) == count_tokens(text)
