"""Beside a clear answer recall tells no siblings of it; search lists them; what replaces comes before what it replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.recall_siblings import told
from bench.retrieval_sets import precision_recall
from msgspec.structs import replace

from holdfast.briefing.recall import recall, without_siblings
from holdfast.briefing.search import search, superseding_first
from holdfast.flows.facts import add_fact
from holdfast.model.search import Grounds, Hit
from holdfast.model.statement import Statement, encoded
from holdfast.store.machine import Machine

RETRIES = {
    "mail": "The mail worker retries a failed message five times over two hours.",
    "report": "The report worker retries a failed job three times with a pause of one minute.",
    "payment": "The payment worker never retries; a person looks at failures.",
    "cache": "The cache cluster has three nodes in two zones.",
}


def hit(id: str, score: float, words: str = "", data: str = "", project: str = "shop") -> Hit:
    return Hit(
        id=id, kind="history", text=id, path="", line=0, session="", project=project, date="", score=score, why="",
        grounds=Grounds(words=tuple(words.split())), data=data,
    )  # fmt: skip


def test_recall_tells_the_one_that_is_asked_for_and_search_shows_its_siblings(home: Path, repo: Path) -> None:
    machine = Machine(cwd=repo)
    ids = {name: add_fact(machine, text, "stated").kept.fact.id for name, text in RETRIES.items()}
    question = "how often does the mail worker retry"
    lines = recall(machine, machine.project(), question).lines
    assert [line.id for line in lines] == [ids["mail"]]
    listed = [found.id for found in search(machine, machine.project(), question)]
    assert listed[0] == ids["mail"] and {ids["report"], ids["payment"]} <= set(listed)


def test_a_hit_with_some_of_the_best_ones_words_must_fit_nearly_as_well() -> None:
    best = hit("best", 0.5, "mail worker retry")
    sibling, complement = hit("sibling", 0.36, "worker retry"), hit("complement", 0.36, "worker timeout")
    far = hit("far", 0.3, "zone")
    assert without_siblings([best, sibling, complement, far]) == [best, complement]
    command = replace(sibling, kind="fact")
    assert without_siblings([best, command], needed={"sibling"}) == [best, command]
    assert without_siblings([]) == []


def test_hits_that_fit_as_well_all_stay() -> None:
    hits = [hit("one", 0.5, "redis"), hit("two", 0.49, "redis"), hit("three", 0.48, "redis")]
    assert without_siblings(hits) == hits


def test_what_replaces_a_statement_comes_right_before_it() -> None:
    replacing = Statement(id="D-new", kind="decision", text="NATS", supersedes=("D-old",))
    old, other = hit("D-old", 0.6), hit("D-other", 0.5)
    new = hit("D-new", 0.4, data=encoded(replacing))
    assert [one.id for one in superseding_first([old, other, new])] == ["D-new", "D-old", "D-other"]
    scores = [one.score for one in superseding_first([old, other, new])]
    assert scores == sorted(scores, reverse=True)
    elsewhere = hit("D-new", 0.4, data=encoded(replacing), project="site")
    assert superseding_first([old, other, elsewhere]) == [old, other, elsewhere]
    assert [one.id for one in superseding_first([new, old])] == ["D-new", "D-old"]


@pytest.mark.slow
def test_among_near_siblings_most_of_what_is_told_is_right_and_hardly_anything_is_missed(
    tmp_path: Path,
) -> None:
    rows = [(len(given & right), len(given), len(right)) for _, _, given, right in told(tmp_path, ("open",))]
    precision, recalled = precision_recall(rows)
    assert precision >= 0.6 and recalled >= 0.9
