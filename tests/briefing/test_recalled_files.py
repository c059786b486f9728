"""Recall names the files of like work, in this project and what another one has solved, and speaks as the hook would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.hooks.test_prompt_hook import VOUCHER, Prompted

from holdfast.briefing.recall import recall, recall_as_prompt
from holdfast.core.tokens import count_tokens


@pytest.fixture
def shop(repo: Path, tmp_path: Path) -> Prompted:
    return Prompted(repo, tmp_path)


@pytest.mark.promise("R7", "R8")
def test_a_task_on_code_is_told_files_with_their_reason_and_session(shop: Prompted) -> None:
    told = recall(shop.machine, shop.project, VOUCHER)
    files = [line for line in told.lines if line.kind == "file"]
    assert [line.text for line in files] == ["shop/refunds.py", "tests/test_refunds.py"]
    assert files[0].id == "file:shop/refunds.py" and files[0].source == "session s1"
    assert "edited in 1 of 3 sessions" in files[0].reason
    assert count_tokens(told.text) <= told.tokens <= told.budget


def test_a_small_budget_holds_for_files_too(shop: Prompted) -> None:
    told = recall(shop.machine, shop.project, VOUCHER, budget=15)
    assert told.tokens <= 15 and count_tokens(told.text) <= 15
    assert recall(shop.machine, shop.project, VOUCHER, budget=0).lines == ()


def test_a_task_that_is_no_work_on_code_is_told_no_files(shop: Prompted) -> None:
    told = recall(shop.machine, shop.project, "thanks for the refund voucher")
    assert [line for line in told.lines if line.kind == "file"] == []


@pytest.mark.promise("M6")
def test_as_a_prompt_it_says_what_the_hook_says_and_why_nothing(shop: Prompted) -> None:
    said = recall_as_prompt(shop.machine, shop.project, VOUCHER)
    assert said.text.split("\n") == shop.asked(VOUCHER, session_id="one")
    assert {line.kind for line in said.lines} == {"file"} and said.tokens <= said.budget
    silent = recall_as_prompt(shop.machine, shop.project, "thanks!")
    assert silent.lines == () and "shares a word" in silent.nothing
    heard = recall_as_prompt(shop.machine, shop.project, VOUCHER, session="one")
    assert heard.lines == () and recall_as_prompt(shop.machine, shop.project, VOUCHER).lines


@pytest.mark.promise("R8")
def test_as_a_prompt_each_line_of_a_file_is_its_whole_path(shop: Prompted, holdfast: object) -> None:
    deep = ["services/pay/src/voucher.py", "services/pay/tests/test_voucher.py"]
    shop.worked("s7", "The gift card of a partner is not accepted at the till", *deep)
    shop.made_ready()
    prompt = "fix the gift card of a partner at the till"
    said = recall_as_prompt(shop.machine, shop.project, prompt)
    assert "in services/pay/" in said.text.split("\n"), "the hook names the folder once"
    files = [line for line in said.lines if line.kind == "file"]
    assert {line.text for line in files} == set(deep)
    assert all(line.id == f"file:{line.text}" and "likely" in line.reason for line in files)
    told = json.loads(holdfast("recall", prompt, "--as-prompt", "--json", check=0).stdout)  # type: ignore[operator]
    assert [line["text"] for line in told["lines"]] == [line.text for line in files]
    assert sorted(told) == ["budget", "lines", "text", "tokens"] and told["text"] == said.text
    few = recall_as_prompt(shop.machine, shop.project, prompt, budget=12)
    assert few.tokens <= few.budget == 12
    assert recall_as_prompt(shop.machine, shop.project, prompt, budget=0).nothing


@pytest.mark.promise("R7", "M11")
def test_what_another_project_solved_is_told_even_where_much_is_known_here(
    holdfast: object, repo: Path, make_repo: object
) -> None:
    run, other = holdfast, make_repo("warehouse")  # type: ignore[operator]
    for number in range(12):
        text = f"The queue of shop {number} is drained by worker {number}"
        run("fact", "add", text, "--evidence", "seen", check=0)  # type: ignore[operator]
    text = "The pelican queue retries five times, then parks the message"
    run("fact", "add", text, "--evidence", "seen", cwd=other, check=0)  # type: ignore[operator]
    asked = ("recall", "let the pelican queue retry and park the message", "--json", "--budget", "400")
    told = json.loads(run(*asked, check=0).stdout)  # type: ignore[operator]
    assert any("in warehouse: " in line["text"] and "pelican" in line["text"] for line in told["lines"])
