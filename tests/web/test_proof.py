"""The screen Proof: the last backtest of the project, its holdout, and how to run an experiment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.web.conftest import QUIET, ROOT
from tests.web.served import Served

from holdfast.backtest.report import BacktestReport, Tally
from holdfast.web.proof import verdict

SESSIONS = ROOT / "src" / "holdfast" / "demo_sessions"


def backtest(server: Served, *words: str) -> str:
    env = {**os.environ, **server.env, **QUIET}
    command = [sys.executable, "-m", "holdfast", "backtest", *words]
    done = subprocess.run(
        command, cwd=server.project, env=env, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout


@pytest.mark.promise("P1")
def test_the_last_backtest_is_shown_with_its_sentence_its_rivals_and_each_session(
    server: Served, page: Any
) -> None:
    page.goto("/tidepool/proof")
    assert "Not measured yet." in page.content()
    report = json.loads(backtest(server, str(SESSIONS), "--json"))
    page.goto("/tidepool/proof")
    text = page.inner_text("main")
    assert report["sentence"] in " ".join(text.split())
    assert (
        "a list of the latest commands and files" in text
        and "the same lines, each given to another session" in text
    )
    folds = page.locator("#each details")
    assert folds.count() == report["sessions"]
    for place in range(folds.count()):
        folds.nth(place).locator("summary").click()
    told = sum(len(one["lines"]) for one in report["details"])
    assert page.locator("#each .row").count() == told
    assert page.locator("figure.chart").count() >= 1


def test_a_holdout_is_shown_with_what_it_still_needs(server: Served, page: Any) -> None:
    page.goto("/tidepool/proof")
    assert "No holdout here." in page.content()
    env = {**os.environ, **server.env, **QUIET}
    for words in (["init", "--yes"], ["holdout", "20%", "--yes"]):
        command = [sys.executable, "-m", "holdfast", *words]
        subprocess.run(command, cwd=server.project, env=env, check=True, stdout=subprocess.DEVNULL)
    page.goto("/tidepool/proof")
    text = page.inner_text("#holdout")
    assert "20%" in text and "0 held out" in text


@pytest.mark.parametrize(
    ("used", "chance", "lines", "begins"),
    [
        (60, 20, 300, "It helps somewhat: 20%"),
        (9, 4, 55, "It may help: 16%"),  # the two intervals of the shares lie apart by too little
        (20, 60, 300, "No clear benefit: 7%"),
        (30, 30, 300, "No clear benefit: 10%"),
        (0, 0, 0, "Memory would have shown nothing here"),
    ],
)
def test_the_verdict_claims_no_more_than_the_lines_show(
    used: int, chance: int, lines: int, begins: str
) -> None:
    memory, other = Tally(lines=lines, used=used), Tally(lines=lines, used=chance)
    report = cast(BacktestReport, SimpleNamespace(memory=memory, shuffled=other, rival=Tally()))
    assert verdict(report).startswith(begins)
