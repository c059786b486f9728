"""What is told when little speaks for it: nothing, however many texts there are and whatever word they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast.search
from holdfast.model.search import WEAK
from holdfast.search import FLOOR, Chunk, Index
from holdfast.search.embed.static import StaticTable
from holdfast.search.terms import MANY, evidence

KNOWN = {
    "F-build": (
        "fact",
        "`make image` builds the shop's container (make image → Successfully tagged shop:dev)",
    ),
    "F-test": ("fact", "`pytest -q tests/orders` runs the tests of orders (pytest → ok, 41 passed)"),
    "F-port": ("fact", "The staging database listens on port 5433"),
    "F-key": ("fact", "The signing key of invoices lies in the vault under billing/invoice-key"),
    "D-round": ("history", "Round prices after tax, because the tax office adds up the lines"),
    "D-table": ("history", "Keep one table for orders and one for their lines; no JSON column"),
    "D-queue": ("history", "Send mails through a queue, because the provider throttles bursts"),
    "N-lock": ("history", "The nightly export takes a lock and blocks the checkout for minutes"),
    "N-list": ("history", "The list of vouchers is cached for an hour, so a new one shows late"),
    "N-search": ("history", "Search over products ignores accents since the collation was changed"),
    "X-node": ("history", "`npm ci` fails here (unsupported engine) → `nvm use 20` first"),
    "session:1": (
        "history",
        "Customers were charged twice when they pressed pay again\nOutcome: done (1 commit)\n"
        "The pay button is disabled until the provider has answered\nFiles: web/pay.ts api/charges.py",
    ),
    "session:2": (
        "history",
        "Move the reports to the replica so that they do not slow the shop down\nOutcome: done\n"
        "Reports read from the replica; it lags two seconds at most\nFiles: api/reports.py",
    ),
    "Q-region": ("question", "Which region hosts the backups? → Frankfurt"),
}
TOLD = [
    ("which port has the staging database", "F-port"),
    ("build the container image", "F-build"),
    ("prices are off by a cent after tax", "D-round"),
    ("a customer was charged twice", "session:1"),
    ("new vouchers do not show up in the list", "N-list"),
    ("where do backups lie", "Q-region"),
    ("npm ci fails", "X-node"),
    ("checkout hangs at night", "N-lock"),
    ("vault", "F-key"),
]
NOT_TOLD = [
    "how do I build a wooden shelf for the kitchen",
    "which table suits a small balcony",
    "list the moons of Jupiter by their size",
    "learn to read music at night",
    "the queue at the passport office was long",
    "my neighbour's dog barks after dark",
    "explain how a binary search tree is balanced",
    "write a poem about the sea port of Genoa",
    "ok",
    "thanks, that looks great",
    "what do you think?",
]


@pytest.fixture(params=["static", None], ids=["with meaning", "words alone"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    with holdfast.search.open(tmp_path / "index.db", embedder=request.param) as made:
        made.put_many(Chunk(id=id, kind=kind, text=text) for id, (kind, text) in KNOWN.items())
        yield made


@pytest.mark.promise("R7")
@pytest.mark.parametrize(("task", "answer"), TOLD)
def test_what_is_known_is_told(index: Index, task: str, answer: str) -> None:
    assert answer in [hit.id for hit in index.search(task, 3, floor=FLOOR)]


@pytest.mark.promise("R7")
def test_a_word_in_common_is_seldom_an_answer(index: Index) -> None:
    told = {task: [hit.text for hit in index.search(task, floor=FLOOR)] for task in NOT_TOLD}
    assert len([task for task in told if told[task]]) <= 2, (
        "among fourteen texts a word still counts for much"
    )
    before = [task for task in NOT_TOLD if index.search(task)]
    assert len(before) >= 9, "all that have a word are near to something"


@pytest.mark.parametrize("small_talk", ["ok", "thanks, that looks great", "what do you think?"])
def test_small_talk_is_told_nothing(index: Index, small_talk: str) -> None:
    index.put("F-more", "ok, great: what looks like that", "history")
    assert index.search(small_talk, floor=FLOOR) == []


def test_who_searches_for_a_small_word_gets_it(index: Index) -> None:
    assert index.search("ok", fitting=True)[0].id == "F-test"


def test_what_is_named_or_said_word_for_word_is_beyond_doubt(index: Index) -> None:
    assert [hit.id for hit in index.search("N-lock", floor=5)] == ["N-lock"]
    assert [hit.id for hit in index.search("listens on port 5433", floor=5)] == ["F-port"]


def test_where_one_hit_fits_the_others_are_shown_with_what_speaks_against_them(index: Index) -> None:
    first, *others = index.search("npm ci fails", 5, fitting=True)
    assert first.id == "X-node" and WEAK not in first.why
    assert [hit.id for hit in index.search("npm ci fails", 5)] == [first.id, *(hit.id for hit in others)]
    told = {hit.id for hit in index.search("npm ci fails", 5, floor=FLOOR)}
    assert {hit.id for hit in (first, *others) if WEAK not in hit.why} == told


def test_among_many_texts_more_must_speak_for_one(tmp_path: Path) -> None:
    """The best of a thousand that have nothing to do with a question is nearer than the best of ten."""
    words = Path(holdfast.search.__file__).parent.joinpath("embed", "vocab.txt").read_text().split("\n")
    other = [word for word in words[3000:20_000] if word.isalpha() and len(word) > 4]
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put("N-1", "Retries of the importer are logged with the name of the file")
        asked = "the importer is so slow today"
        assert index.search(asked, floor=FLOOR)
        index.put_many(
            Chunk(id=f"H-{n}", text=" ".join(other[n * 12 : n * 12 + 12])) for n in range(len(other) // 12)
        )
        assert index.search(asked, floor=FLOOR) == []
        assert index.search("does the importer log retries", 1, floor=FLOOR)[0].id == "N-1"


@given(
    passage=st.floats(0, 3),
    rarest=st.floats(0, 1),
    cosine=st.none() | st.floats(-1, 1),
    texts=st.integers(0, 10**7),
)
def test_evidence_falls_with_the_number_of_texts_and_with_a_lone_words_part(
    passage: float, rarest: float, cosine: float | None, texts: int
) -> None:
    found = evidence(passage, rarest, cosine, texts)
    assert found <= evidence(passage, rarest, cosine, texts // 2)
    assert found <= evidence(passage, rarest / 2, cosine, texts)
    assert evidence(passage, rarest, cosine, max(texts, MANY)) == evidence(passage, rarest, cosine, MANY)
    assert found <= evidence(passage, rarest, 1.0, texts)


def test_an_embedder_on_another_scale_is_measured_from_where_unrelated_texts_lie_by_it(
    tmp_path: Path,
) -> None:
    class Lower(StaticTable):
        name, unrelated = "lower", 0.0

    class Higher(StaticTable):
        name, unrelated = "higher", 0.9

    told, ranked = [], []
    for embedder in (Higher(), "static", Lower()):
        with holdfast.search.open(tmp_path / "index.db", embedder=embedder) as index:
            index.put("a", "The ferry to the island leaves at noon.")
            index.put("b", "Compiler warnings are errors here.")
            told.append(len(index.search("boats and islands", floor=holdfast.search.FLOOR)))
            ranked.append([(hit.id, hit.score) for hit in index.search("boats and islands")])
    assert told[0] == 0 and told == sorted(told) and told[-1] == 2
    assert ranked[0] == ranked[1] == ranked[2]
