"""The screen Proof: the last backtest of the project, its holdout, and how to run an experiment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from tests.web.conftest import QUIET, ROOT
from tests.web.served import Served

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
