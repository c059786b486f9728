"""Turns of a chat are found by what stands in the turns around them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from bench.retrieval_sets import mean, plain_fts5
from bench.search_turns import answers
from bench.turn_sets import chats, found_of_ten
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast.search
from holdfast.core.stopwords import ENGLISH
from holdfast.search import Chunk, Hit, Index
from holdfast.search.turns import Turn, turn_of

PIANO = [
    "Hey, long week. How are you holding up?",
    "Tired. The kids were at home.",
    "Which school did you pick, and who is going to teach Lena the piano?",
    "The one behind the post office. Mrs. Abramczyk, she let us skip the list.",
    "Lucky. Are you coming on Saturday?",
]
BOILER = [
    "The boiler clicks and there is no hot water.",
    "What did the man say?",
    "Lime in the exchanger, nobody ever flushed it.",
    "We had that in our old house, with the pressure.",
]
DAY = 86_400.0


def by_id(chat: str, said: Iterable[str], when: float = 1e9) -> list[Chunk]:
    return [Chunk(id=f"{chat}:{number}", text=text, when=when) for number, text in enumerate(said)]


def by_session(chat: str, said: Iterable[str], when: float = 1e9) -> list[Chunk]:
    """With ids that say nothing; the moments tell the order."""
    return [
        Chunk(id=f"{hash((chat, text)) % 1000:x}x", text=text, session=chat, when=when + number)
        for number, text in enumerate(said)
    ]


@pytest.fixture
def index(tmp_path: Path):  # type: ignore[no-untyped-def]
    with holdfast.search.open(tmp_path / "index.db") as opened:
        yield opened


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


@pytest.mark.parametrize("put", [by_id, by_session])
def test_a_reply_is_found_by_what_the_turn_before_asks(
    index: Index, put: Callable[[str, Iterable[str]], list[Chunk]]
) -> None:
    index.put_many([*put("chat7", PIANO), *put("chat8", BOILER)])
    hits = index.search("Who is Lena's piano teacher?", k=3)
    assert texts(hits)[:2] == [PIANO[2], PIANO[3]]
    assert "context: the turn before" in hits[1].why
    assert hits[0].score > hits[1].score > hits[2].score


def test_without_a_chat_the_same_texts_lend_each_other_nothing(index: Index) -> None:
    index.put_many([Chunk(id=f"{number:x}x", text=text) for number, text in enumerate([*PIANO, *BOILER])])
    (_, *others) = index.search("Who is Lena's piano teacher?", k=5)
    assert not [hit for hit in others if "context" in hit.why]


def test_of_two_like_turns_the_one_in_the_chat_about_it_comes_first(index: Index) -> None:
    index.put_many(
        [
            *by_id(
                "a1", ["The trip to Oslo is planned.", "Nice weather there.", "Which hotel did you take?"]
            ),
            *by_id("b1", ["Grandmother moves house.", "So much work.", "Which hotel did you take?"]),
        ]
    )
    hits = index.search("Which hotel in Oslo?", k=6)
    places = [hit.id for hit in hits]
    assert places.index("a1:2") < places.index("b1:2")


def test_the_turn_after_a_good_answer_does_not_rise_above_it(index: Index) -> None:
    said = ["I bought a smoker for ribs today.", "A smoker is great for ribs, with apple wood.", "Thanks."]
    index.put_many(by_id("c1", said))
    assert texts(index.search("When did I buy the smoker?"))[0] == said[0]


def test_what_was_said_another_day_is_another_conversation(index: Index) -> None:
    said = ["Who is going to teach Lena the piano?", "Mrs. Abramczyk from the post office."]
    index.put_many(
        [
            Chunk(id=f"log:{number}", text=text, when=1e9 + 30 * DAY * number)
            for number, text in enumerate(said)
        ]
    )
    hits = index.search("Who is Lena's piano teacher?")
    assert not any("context" in hit.why for hit in hits)


def test_facts_stand_alone_also_of_one_session(index: Index) -> None:
    for number, text in enumerate(PIANO):
        index.put(f"s1:{number}", text, "fact", session="s1", when=1e9 + number)
    assert not any("context" in hit.why for hit in index.search("Who is Lena's piano teacher?"))


def test_a_reply_passes_the_floor_that_the_turn_before_passes_clearly(index: Index) -> None:
    index.put_many([*by_id("chat7", PIANO), *by_id("chat8", BOILER)])
    found = texts(index.search("who is going to teach Lena the piano", floor=holdfast.search.FLOOR))
    assert found == [PIANO[2], PIANO[3]]
    assert index.search("grading a rare coin", floor=holdfast.search.FLOOR) == []


def test_a_turn_outside_the_scope_is_not_an_answer(index: Index) -> None:
    index.put("chat7:1", PIANO[2], "question")
    index.put("chat7:2", PIANO[3], "reply")
    assert [hit.id for hit in index.search("Lena's piano teacher", kinds=["question"])] == ["chat7:1"]


CHATS = [*by_id("chat7", PIANO), *by_id("chat8", BOILER), *by_session("other", reversed(PIANO))]
QUESTIONS = (
    "Who is Lena's piano teacher?",
    "what was wrong with the boiler",
    "hot water",
    "coming on Saturday",
)


def asked(index: Index) -> list[list[Hit]]:
    return [index.search(question, k=20) for question in QUESTIONS]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), gone=st.integers(0, 6))
def test_turns_put_one_by_one_in_any_order_and_deleted_get_the_answers_of_one_bulk(
    seed: int, gone: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chance = random.Random(seed)
    deleted = chance.sample(CHATS, gone)
    folder = tmp_path_factory.mktemp("turns")
    with holdfast.search.open(folder / "bulk.db") as index:
        index.put_many(chunk for chunk in CHATS if chunk not in deleted)
        expected = asked(index)
    with holdfast.search.open(folder / "single.db") as index:
        for chunk in chance.sample(CHATS, len(CHATS)):
            index.put_many([Chunk(id=chunk.id, text="another text", when=3e8), chunk])
        for chunk in deleted:
            index.delete(chunk.id)
        assert asked(index) == expected


def test_a_deleted_turn_lends_nothing_any_more(index: Index) -> None:
    index.put_many(by_id("chat7", PIANO))
    index.delete("chat7:2")
    assert not any(hit.id == "chat7:3" and "before" in hit.why for hit in index.search(QUESTIONS[0]))
    index.put("chat7:2", PIANO[2], when=1e9)
    assert texts(index.search(QUESTIONS[0]))[:2] == [PIANO[2], PIANO[3]]


@pytest.mark.parametrize(
    ("id", "chat"),
    [
        ("chat7:3", "chat7"),
        ("chat7#3", "chat7"),
        ("s1_turn_3", "s1"),
        ("c12-t3", "c12"),
        ("chat7:user:3", "chat7"),
        ("conv-26/D1:3", "conv-26/D1"),
        ("nora-piano:3", "nora-piano"),
        ("4be1b6b4_2_3", "4be1b6b4_2"),
        ("note-3", None),
        ("F-3", None),
        ("N-000003", None),
        ("twin3", None),
        ("3", None),
        ("session:48f428f9-72d8-40b2-9594-953019809473", None),
    ],
)
def test_an_id_says_of_which_chat_a_turn_is(id: str, chat: str | None) -> None:
    expected = None if chat is None else Turn(f"\n{chat}", 3e-06)
    assert turn_of(Chunk(id=id, text="")) == expected


def test_a_session_that_is_given_counts_and_the_order_is_by_time_then_by_number() -> None:
    def place(id: str, when: float | None = None, path: str = "") -> Turn | None:
        return turn_of(Chunk(id=id, text="", when=when, session="s", project="p", path=path))

    ordered = [place("D1:3", 10.0), place("D1:12", 10.0), place("D2:1", 20.0), place("D-k3f9", 30.5)]
    assert all(turn is not None and turn.series == "p\ns" for turn in ordered)
    assert [turn.place for turn in ordered if turn] == sorted(turn.place for turn in ordered if turn)
    assert place("D-k3f9", 30.5, "log.md") is None and place("log:4", 10.0, "chat.txt") == place("t4", 10.0)


@pytest.mark.promise("R1")
def test_on_chats_with_the_subject_in_the_turn_before_it_is_far_above_words_alone(tmp_path: Path) -> None:
    found = chats()
    ours = found_of_ten(answers(found, tmp_path / "ids.db"), found.questions)
    given = found_of_ten(answers(found, tmp_path / "given.db", sessions=True), found.questions)
    queries = [one.query for one in found.questions]
    plain = found_of_ten(plain_fts5(found.texts, queries, ENGLISH, 10), found.questions)
    assert mean(ours) >= mean(plain) + 0.1 and mean(given) >= mean(plain) + 0.1
