"""Decisions reach the prompt that is about them, whoever's session they were made in; other prompts stay silent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.hooks.enabled import Answer, Enabled
from tests.language.test_passages import script

from holdfast.briefing.explain import injections
from holdfast.briefing.prepare import prepare
from holdfast.briefing.prompt import as_prompt
from holdfast.briefing.told_index import open_told
from holdfast.briefing.told_sources import update_told
from holdfast.core.tokens import count_tokens
from holdfast.flows.import_sessions import import_into
from holdfast.hooks import telling
from holdfast.model.source import Source
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine

KETTLE = "The kettle keeps boiling dry and the controller restarts it. Fix the kettle controller."
UNRELATED = "Please bump the eslint config to version 9 and remove the old ignore file"


def statement(text: str, status: str = "agreed", worth: float = 0.8) -> Statement:
    from holdfast.model.memory import content_id

    return Statement(
        id=content_id("D", text), kind="decision", text=text, status=status, worth=worth, who="user"
    )  # type: ignore[arg-type]


def session(name: str, at: float, *texts: str, turns: tuple[str, ...] = (), **more: object) -> Source:
    told = tuple(statement(text) for text in texts)
    return Source(
        id=name, kind="session", at=at, title=texts[0], turns=turns or texts, statements=told, **more
    )  # type: ignore[arg-type]


class Told(Enabled):
    """An enabled project with sources of our own making."""

    def know(self, *sources: Source) -> None:
        prepare(Machine(cwd=self.root), self.project)
        with open_told(self.project.memory) as index:
            last = index.last()
            index.put(sources)
            index.link_sessions(last)

    def ask(self, prompt: str, **more: object) -> Answer:
        return self.hook("UserPromptSubmit", prompt=prompt, hook_event_name="UserPromptSubmit", **more)

    def lines(self, prompt: str, **more: object) -> list[str]:
        return self.ask(prompt, **more).context.split("\n")[1:-1]


@pytest.fixture
def kettles(repo: Path) -> Told:
    told = Told(repo)
    told.know(
        session(
            "s1",
            1_790_000_000.0,
            "The kettle is off after 8 minutes at most",
            "No restart of a dry kettle, it burns the house down",
            turns=(
                "The kettle boils dry, look at the controller",
                "It restarts. Shall it?",
                "No restart, 8 minutes.",
            ),
        ),
        session(
            "s2",
            1_790_100_000.0,
            "Newsletters go out in the reader's language",
            turns=("newsletter language",),
        ),
    )
    return told


@pytest.mark.promise("W1")
def test_a_prompt_is_told_what_was_decided_about_its_subject(kettles: Told) -> None:
    (line,) = kettles.lines(KETTLE)
    assert "8 minutes at most" in line and "No restart" in line
    assert "(you, " in line and "D-" in line
    assert "ewsletter" not in line


@pytest.mark.promise("W8")
def test_a_prompt_about_something_else_is_told_nothing(kettles: Told) -> None:
    assert kettles.lines(UNRELATED) == []
    assert "shares a word" in injections(kettles.project)[-1].nothing


@pytest.mark.promise("W2")
def test_a_line_is_told_once_in_a_session(kettles: Told) -> None:
    assert kettles.lines(KETTLE)
    assert kettles.lines(KETTLE) == []
    assert "told already" in injections(kettles.project)[-1].nothing


@pytest.mark.promise("S5")
def test_told_already_is_the_reason_only_where_the_session_was_told(kettles: Told) -> None:
    kettles.know(
        Source(
            id="doc:NOTES.md#kettle",
            kind="document",
            at=1_790_000_000.0,
            title="Notes",
            turns=(KETTLE,),
            statements=(statement("Everybody was happy with the tea"),),
        )
    )
    with open_told(kettles.project.memory) as index:
        index.remove(["s1"])
    assert kettles.lines(KETTLE) == []  # the document is about it, and none of its lines is
    assert injections(kettles.project)[-1].nothing.startswith("nothing that was decided says enough")
    assert kettles.lines(UNRELATED) == []
    assert "told already" not in injections(kettles.project)[-1].nothing


def test_why_shows_each_line_with_its_reason(kettles: Told) -> None:
    kettles.lines(KETTLE)
    (line,) = injections(kettles.project)[-1].lines
    assert "kettle" in line.reason and "likely" in line.reason


def test_recall_as_prompt_is_what_the_hook_says(kettles: Told) -> None:
    said = as_prompt(Machine(cwd=kettles.root), kettles.project, KETTLE)
    assert [text for text, _ in said.lines] == kettles.lines(KETTLE)


@pytest.mark.promise("W5")
def test_rejected_and_superseded_statements_are_not_told(kettles: Told) -> None:
    kettles.know(
        Source(
            id="s3",
            kind="session",
            at=1_790_200_000.0,
            title="kettle",
            turns=("The kettle boils dry and the controller restarts",),
            statements=(
                statement("The kettle controller restarts after a boil", "rejected"),
                statement("The kettle is off after 30 minutes", "superseded"),
                statement("The kettle lid must be closed", "agreed"),
            ),
        )
    )
    text = "\n".join(kettles.lines(KETTLE))
    assert "lid must be closed" in text
    assert "30 minutes" not in text and "restarts after a boil" not in text


@pytest.mark.promise("M6")
def test_of_two_sessions_on_one_subject_the_later_one_is_told(kettles: Told) -> None:
    words = "kettle controller boiling dry limit minutes restart thermostat heater lid safety cutoff"
    kettles.know(
        session(
            "old", 1_780_000_000.0, "The kettle thermostat cutoff is 20 minutes", turns=(words, "20 minutes")
        ),
        session(
            "new",
            1_790_300_000.0,
            "The kettle thermostat cutoff is 6 minutes",
            turns=(words, "6 minutes now"),
        ),
    )
    text = "\n".join(kettles.lines(f"{KETTLE} The thermostat cutoff and the heater are involved."))
    assert "6 minutes" in text and "20 minutes" not in text


@pytest.mark.promise("W6")
def test_what_was_settled_on_a_branch_counts_there_until_it_is_old(kettles: Told) -> None:
    import time

    now = time.time()
    kettles.know(
        session(
            "b1",
            now,
            "Samovars keep 3 litres in reserve",
            turns=("samovar reserve litres",),
            branches=("samovar",),
            everywhere_from=now + 1e6,
        )
    )
    prompt = "The samovar has no reserve litres left, repair the samovar reserve"
    assert kettles.lines(prompt) == []
    with open_told(kettles.project.memory) as index:
        index._db.execute("UPDATE source SET everywhere = ? WHERE id = 'b1'", (now - 10,))
    assert kettles.lines(prompt, session_id="another")


@pytest.mark.promise("W2")
def test_the_first_prompt_has_its_bounds(kettles: Told) -> None:
    many = [f"The kettle rule number {n} says wait {n} seconds before boiling again" for n in range(40)]
    kettles.know(session("s9", 1_790_400_000.0, *many, turns=(KETTLE, *many)))
    lines = kettles.lines(KETTLE)
    assert 0 < len(lines) <= 8
    assert sum(map(count_tokens, lines)) <= 225


def test_a_damaged_file_is_made_anew(kettles: Told) -> None:
    place = kettles.project.memory / telling.NAME
    place.write_bytes(b"not a database" * 1000)
    kettles.ask(KETTLE)  # silent, and the session goes on
    update_told(Machine(cwd=kettles.root), kettles.project)
    with open_told(kettles.project.memory) as index:
        assert index.stamps() == {}


@pytest.mark.promise("R7", "W7")
def test_a_decision_in_a_commit_body_is_told_with_author_and_sha(kettles: Told) -> None:
    for subject, body in (
        (
            "feed: order by seq",
            "created_at comes from the device and is off by minutes, which put replies above posts."
            " Order by the server's sequence number. Do not go back to created_at for display order.",
        ),
        ("docs: fix a link", ""),
    ):
        subprocess.run(
            ["git", "-C", kettles.root, "commit", "-q", "--allow-empty", "-m", subject, "-m", body],
            check=True,
        )
    prepare(Machine(cwd=kettles.root), kettles.project)
    text = "\n".join(
        kettles.lines("The feed shows replies above the posts they answer, sort the feed by created_at")
    )
    assert "sequence number" in text and "Ada Example" in text and "git " in text


@pytest.mark.promise("M2")
def test_a_session_is_told_from_its_file_and_a_hand_edit_counts(repo: Path, home: Path) -> None:
    told = Told(repo)
    folder = home / "sessions"
    folder.mkdir()
    import json

    turns = [
        ("user", "Kettles boil dry twice a week, look at kettle/controller.py"),
        ("assistant", "It heats until somebody stops it. How long may it heat?"),
        ("user", "8 minutes at most, and never restart a dry kettle: it burns the house down."),
        ("assistant", "Done: off after 8 minutes at most, and a dry kettle is never restarted."),
        ("user", "perfect"),
    ]
    lines = []
    for number, (role, text) in enumerate(turns):
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        lines.append(
            {
                "type": role,
                "uuid": f"u{number}",
                "sessionId": "11111111-1111-4111-8111-111111111111",
                "cwd": str(repo),
                "timestamp": f"2026-10-0{number + 1}T10:00:00Z",
                "message": {"role": role, "content": content, "id": f"m{number}", "model": "claude-opus-4-5"},
            }
        )
    (folder / "s.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    machine = Machine(cwd=repo)
    import_into(machine, told.project, [folder])
    assert "8 minutes" in "\n".join(told.lines(KETTLE))
    (month,) = told.project.memory.glob("projects/*/decisions/*.md")
    text = month.read_text(encoding="utf-8")
    month.write_text(text.replace("8 minutes", "5 minutes"), encoding="utf-8")
    prepare(machine, told.project)
    again = "\n".join(told.lines(KETTLE, session_id="another"))
    assert "5 minutes" in again and "8 minutes" not in again


def test_the_weights_are_those_that_the_script_fits() -> None:
    weights, none = script("train_telling").shipped()
    assert none == pytest.approx(telling.NONE, abs=0.05)
    assert weights == pytest.approx(telling.WEIGHTS, abs=0.05)


@pytest.mark.promise("W8")
def test_of_prompts_that_a_memory_is_not_about_at_most_one_in_ten_gets_a_line() -> None:
    """3,700 real prompts, asked of memories of 2 to 1,333 sources; those that are about them still get theirs."""
    training = script("train_telling")
    prompts = training.read_sizes()
    fit = training.Fit(training.taught(prompts), training.SIZE_NAMES)
    spoke: dict[bool, list[bool]] = {True: [], False: []}
    for prompt in prompts:
        spoke[prompt["wanted"]].append(1 - fit.chances(prompt)[-1] >= telling.FLOOR)
    assert len(spoke[False]) >= 3_000 and sum(spoke[False]) <= 0.1 * len(spoke[False])
    assert sum(spoke[True]) >= 0.6 * len(spoke[True])


@pytest.mark.promise("W2")
def test_the_floor_rises_with_the_size_of_the_memory_and_of_its_sources(kettles: Told) -> None:
    """What a prompt shares with a short source of a small memory, it shares by chance with a long one or in a large one."""

    def chance(**more: int) -> float:
        sources, spoken = more.get("sources", 2), more.get("words", 8)
        kettles.know(
            session(
                "s1",
                1_790_000_000.0,
                "The kettle is off after 8 minutes at most",
                turns=(
                    "The kettle boils dry, look at the controller "
                    + " ".join(f"w{n}x" for n in range(spoken)),
                ),
            )
        )
        with open_told(kettles.project.memory) as index:
            index._db.execute("DELETE FROM source WHERE id GLOB 'git:*'")
            db = index._db
            db.execute("UPDATE meta SET value = ? WHERE key = 'sources'", (str(sources),))
            found = telling.Telling(db, KETTLE, None, "", 1.79e9).found()
        return sum(one.chance for one in found)

    assert chance() > chance(words=4_000)
    assert chance() > chance(sources=39)  # fewer than those that say what is common


@pytest.mark.promise("W3")
def test_an_order_of_two_words_is_about_nothing_and_a_question_of_two_may_be(kettles: Told) -> None:
    assert kettles.lines("commit kettle") == []
    assert kettles.lines("kettle controller?", session_id="another") != []


@pytest.mark.promise("F5")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
@pytest.mark.parametrize("name", ["hot.db", "told.db"])
def test_a_pipe_in_place_of_a_prepared_file_is_replaced(kettles: Told, name: str) -> None:
    path = kettles.project.memory / name
    path.unlink()
    os.mkfifo(path)
    prepare(Machine(cwd=kettles.root), kettles.project)
    assert path.is_file()


@pytest.mark.promise("W2", "M3")
def test_what_a_person_decided_by_hand_reaches_the_next_prompt_until_it_is_retired(
    holdfast: Holdfast,
) -> None:
    text = "Rate limits count per client id, not per address: 60 a minute, 429 with Retry-After"
    id = holdfast("decide", text, "--because", "offices share one address", "--json", check=0).json()["id"]
    holdfast("decide", "Tokens are checked against the clock that the caller gives", check=0)
    prompt = "The gateway answers 429 to a whole office; look at the rate limit per client"
    told = holdfast("recall", "--as-prompt", prompt, check=0).stdout
    assert f"{text} (because offices share one address) (you, " in told and id in told
    assert "Tokens" not in told
    unrelated = "rename the badge in the readme to shields"
    assert id not in holdfast("recall", "--as-prompt", unrelated, check=0).stdout
    holdfast("decide", "retire", id, check=0)
    assert id not in holdfast("recall", "--as-prompt", prompt, check=0).stdout
