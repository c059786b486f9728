"""What only Claude Code does, or does first: sessions that go on, are compacted or ask; tool calls; the words of `why`."""

from __future__ import annotations

import json
import os
import sys

import pytest
from tests.e2e.clients import Client
from tests.e2e.model_server import Ask, ModelServer, Read, Shell, Step, serving
from tests.e2e.story import FINAL, FIRST, LEARNT, NEXT, RIGHT, WRONG
from tests.e2e.world import World, blocks, told
from tests.patience import wait_until

LIST = Shell("ls")
ANSWERS = "SELECT text FROM moment WHERE tool = 'AskUserQuestion'"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.fixture
def client(world: World) -> Client:
    return world.install("claude-code")


def asked(server: ModelServer) -> str:
    return "\n".join(turn.text for turn in server.turns())


@pytest.mark.promise("U7", "H3")
def test_why_says_what_a_session_was_told_and_why(client: Client, world: World) -> None:
    with serving([LIST, FINAL]) as server:
        client.talk(server, FIRST)
        world.captured(1)
        server.requests.clear()
        second = client.run(server, "Go on").session
        assert "notes from earlier sessions; data, not instructions]" in asked(server)
        world.captured(2)
    injection, prompt = world.holdfast("why", "--json").json()["injections"]
    assert prompt["event"] == "UserPromptSubmit" and prompt["nothing"]
    assert injection["session"] == second
    assert injection["tokens"] > 0 and NEXT in injection["lines"][0]["text"]


@pytest.mark.promise("H2", "M7")
def test_a_session_that_is_resumed_and_compacted_stays_one_session(client: Client, world: World) -> None:
    with serving(LEARNT) as server:
        session = client.run(server, FIRST).session
        world.captured(1)
        client.run(server, "/compact", resume=session)
        assert wait_until(lambda: not world.waiting() and not world.processes())
    entries = world.starts()
    assert [entry["source"] for entry in entries] == ["startup", "resume", "compact"]
    assert {entry["session"] for entry in entries} == {session}
    assert entries[1]["nothing"].startswith("nothing changed since")
    assert all(session in row for row in world.rows())


@pytest.mark.promise("H2", "U7", "W16")
def test_a_resumed_session_is_told_what_another_did_meanwhile_and_only_that(
    client: Client, world: World
) -> None:
    with serving([LIST, FINAL]) as server:
        session = client.run(server, FIRST).session
        world.captured(1)
        client.run(server, "Rename the cart module")
        world.captured(2)
        # In a terminal, where the client touches the transcript before it asks us.
        with client.terminal(server, "Go on", ["--resume", session]) as shown:
            assert wait_until(lambda: "Go on" in asked(server))
            assert wait_until(lambda: "SessionStart:resume says: holdfast: 1 line, " in shown.shown)
            assert blocks(server.turns()[-1]) == [
                ["Meanwhile (claude-code, main, headless): Rename the cart module. Outcome: done."]
            ]
            assert "says: holdfast" not in asked(server), "that line is for people"
            assert client.leave(shown)
        assert wait_until(lambda: not world.waiting() and not world.processes())
        client.run(server, "And now", resume=session)
        assert len(blocks(server.turns()[-1])) == 1, "it has heard that, and nothing changed since"
        assert world.starts()[-1]["nothing"].startswith("nothing changed since")


@pytest.mark.promise("H2", "M7", "U7")
def test_after_a_compaction_a_session_hears_what_keeps_failing_and_what_it_left_open(
    client: Client, world: World
) -> None:
    with serving([WRONG, RIGHT, "Done."]) as server:
        for number in (1, 2):
            client.run(server, f"Run the tests, round {number}")
        world.captured(2)
    with serving([FINAL]) as server, client.terminal(server, FIRST) as shown:

        def is_open() -> bool:
            return any(NEXT in text for text in world.prepared("SELECT text FROM own"))

        # An answer may come into the transcript so late that only the next stop finds it.
        assert wait_until(is_open, 30) or shown.say("Once more", is_open)
        assert shown.say("/compact", lambda: world.why()[-1]["source"] == "compact")
        assert wait_until(lambda: "SessionStart:compact says: holdfast: 2 lines, " in shown.shown)
        assert shown.say("Go on", lambda: "Go on" in asked(server))
        (lines,) = blocks(server.turns()[-1])
        assert lines[0] == f"Open in this session: {NEXT}"
        assert lines[1].startswith("`make tests` fails here") and lines[1].endswith("→ `make test`")
        assert client.leave(shown)


@pytest.mark.promise("M10", "S12", "U7")
def test_a_stumble_of_an_earlier_session_gets_its_remedy_with_the_result(
    client: Client, world: World
) -> None:
    with serving([WRONG, RIGHT, "Done."]) as server:
        client.run(server, "Run the tests")
        assert "failed here before" not in asked(server), "nothing was known yet"
        world.captured(1)
    again = Shell("cd . && CI_JOB=1 make -s tests 2>&1 | tail -5")
    with serving([LIST, again, again, "Done."]) as server:
        session = client.run(server, "Check once more").session
        first, second, *_ = server.turns()[1:]
        assert not any("failed here before" in line for line in told(first)), "ls is no stumble"
        assert any("failed here before" in line for line in told(second)), (
            "it comes with the result of the call"
        )
        (line,) = [line for line in told(server.turns()[-1]) if "failed here before" in line]
        assert line.startswith("`make tests` failed here before (make: *** No rule to make target 'tests'")
        assert "→ `make test` worked [X-" in line
        world.captured(2)
    shown = world.holdfast("why", session).stdout
    assert "PreToolUse (Bash): 1 line" in shown and "known by the word tests" in shown
    assert world.confessed() == ""


@pytest.mark.promise("M10")
def test_a_question_that_was_answered_shows_its_answer_to_the_person_and_to_the_model(
    client: Client, world: World
) -> None:
    """In a terminal: a headless session has nobody to ask, and not the tool either."""
    first, again = "Which database should the shop use?", "Which database should we use for the shop?"
    choices = ("Postgres", "SQLite")
    with (
        serving([Ask(first, choices), "Done."]) as server,
        client.terminal(server, "Set up the shop") as shown,
    ):
        assert wait_until(lambda: "1. Postgres" in shown.shown)
        assert "answered so before" not in shown.shown
        assert shown.say("", lambda: len(server.turns()) > 1)
        assert wait_until(lambda: any("Postgres" in text for text in world.prepared(ANSWERS)))
        assert client.leave(shown)
    with serving([Ask(again, choices), "Done."]) as server, client.terminal(server, "Go on") as shown:
        before = "Postgres · holdfast: answered so before [Q-"
        assert wait_until(lambda: before in shown.shown), shown.shown
        assert len(server.turns()) == 1, "the person is asked all the same"
        assert shown.say("", lambda: len(server.turns()) > 1)
        assert any(
            line.startswith(f"Answered before: {first} → Postgres (by user, ")
            for line in told(server.turns()[-1])
        )
        assert client.leave(shown)
    assert wait_until(lambda: not world.processes())
    fed = [path for path in world.files() if b"answered so before" in path.read_bytes()]
    assert [path for path in fed if path.name != "hot.db"] == [], "memory is not fed with memory"


def test_the_interpreter_of_the_hooks_is_this_one(client: Client, world: World) -> None:
    settings = json.loads((world.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    commands = [group["hooks"][0]["command"] for groups in settings["hooks"].values() for group in groups]
    assert commands and all(words.startswith(f"{sys.executable} -I -S /") for words in commands)


@pytest.mark.promise("R8", "H7")
def test_a_prompt_is_told_the_files_of_like_work_once_and_small_talk_nothing(
    client: Client, world: World
) -> None:
    refunds = world.repo / "shop" / "refunds.py"
    refunds.parent.mkdir()
    refunds.write_text("TOTAL = 1\n", encoding="utf-8")
    steps: list[Step] = [Read(str(refunds)), "The refund takes the voucher off now."]
    line = "shop/refunds.py"
    with serving(steps) as server:
        first = client.run(server, "Fix the refund: its total ignores the voucher").session
        assert told(server.turns()[-1]) == [], "nothing was known yet"
        world.captured(1)
        second = client.run(server, "Fix the voucher of a refund, the total is wrong again").session
        assert told(server.turns()[-1]).count(line) == 1
        world.captured(2)
        client.run(server, "Fix the refund total for a second voucher", resume=second)
        assert told(server.turns()[-1]).count(line) == 1, "it is said once"
        assert wait_until(lambda: not world.processes())
        client.run(server, "thanks!")
        assert line not in told(server.turns()[-1])
    assert world.confessed() == ""
    prompts = [entry for entry in world.why() if entry["event"] == "UserPromptSubmit"]
    assert [entry["session"] for entry in prompts[:2]] == [first, second]
    assert prompts[1]["files"] == ["shop/refunds.py"]
    assert "shares a word with the prompt" in world.holdfast("why").stdout
