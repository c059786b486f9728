"""Which files a prompt is pointed at: those of sessions that were asked alike, in order, within a budget, or none."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.briefing.file_pointers import prompt_words, write_postings
from holdfast.core.tokens import count_tokens
from holdfast.hooks.postings import Postings
from holdfast.hooks.ranking import Pointed, fitting, path_lines, rank
from holdfast.knowledge.co_change import CoChange
from holdfast.model.memory import PointerSession

DAY = 86_400.0


def session(number: int, prompt: str, edited: tuple[str, ...], read: tuple[str, ...] = ()) -> PointerSession:
    return PointerSession(session=f"s{number}", at=number * DAY, prompts=(prompt,), edited=edited, read=read)


SHOP = [
    session(1, "The refund total ignores the voucher", ("shop/refunds.py", "tests/test_refunds.py")),
    session(2, "Send the newsletter in the reader's language", ("mail/newsletter.py",), ("mail/locale.py",)),
    session(3, "Invoices show the wrong currency sign", ("shop/invoices.py",), ("shop/money.py",)),
    session(4, "Log in with a passkey", ("web/login.py", "web/passkey.py")),
    session(5, "The search box loses its focus", ("web/search_box.ts",)),
]


def ranked(
    prompt: str,
    history: Sequence[PointerSession] = SHOP,
    together: Mapping[str, Mapping[str, float]] | None = None,
    earlier: Sequence[str] = (),
    touched: Sequence[str] = (),
    **more: Any,
) -> list[Pointed]:
    db = sqlite3.connect(":memory:")
    write_postings(
        db, history, CoChange(together={name: dict(near) for name, near in (together or {}).items()})
    )
    return rank(Postings(db), prompt, [prompt_words(one) for one in earlier], touched, **more)


def paths(prompt: str, history: Sequence[PointerSession] = SHOP, **more: Any) -> list[str]:
    return [pointer.path for pointer in ranked(prompt, history, **more)]


@pytest.mark.promise("R8")
def test_the_branch_says_what_the_work_is_about_and_sessions_on_it_did_the_same_work() -> None:
    history = [
        *SHOP,
        replace(SHOP[3], session="s6", at=6 * DAY, prompts=("Start with the form",), branch="feat/sign-in"),
        session(7, "Print the list", ("web/list.py",)),
    ]
    assert paths("Print the list", history) == ["web/list.py"]
    assert "web/login.py" in paths("Print the list", history, branch="feat/sign-in"), "the same branch"
    assert "shop/refunds.py" in paths("Print the list", history, branch="fix/refund-voucher"), "by its words"


@pytest.mark.promise("R8")
def test_a_file_gains_by_the_names_that_sessions_wrote_into_it() -> None:
    both = ("web/login.py", "web/passkey.py")
    wrote = (("web/passkey.py", "verify_challenge challengeTimeout"), ("web/other.py", "challengeTimeout"))
    history = [*SHOP, replace(session(6, "Sign in with a device", both), named=wrote)]
    prompt = "Sign in with a device: the timeout of the challenge is too short"
    plain = [replace(one, named=()) for one in history]
    gained = {one.path: one.chance for one in ranked(prompt, history)}
    before = {one.path: one.chance for one in ranked(prompt, plain)}
    assert gained["web/passkey.py"] > before["web/passkey.py"]
    assert gained["web/login.py"] == before["web/login.py"]
    assert "web/other.py" not in gained, "no session touched it"


def test_a_branch_that_all_sessions_are_on_changes_no_order_and_opens_no_door() -> None:
    history = [replace(one, branch="main") for one in SHOP]
    prompt = "Refunds: a voucher is not taken off the total"
    assert paths(prompt, history, branch="main")[:2] == paths(prompt, history)[:2]
    assert paths("Add a coupon field to the checkout form", history, branch="main") == []


def test_why_says_that_a_session_was_on_the_same_branch() -> None:
    history = [replace(one, branch=f"feat/{one.session}") for one in SHOP]
    found = ranked("Invoices", history, branch="feat/s3")
    assert found[0].path == "shop/invoices.py" and "on feat/s3" in found[0].why


@pytest.mark.promise("R8")
def test_a_like_prompt_finds_the_files_of_the_session_that_was_asked_alike() -> None:
    assert paths("Refunds: a voucher is not taken off the total")[:2] == [
        "shop/refunds.py",
        "tests/test_refunds.py",
    ]


def test_an_edited_file_comes_before_one_that_was_only_read() -> None:
    assert paths("the currency sign on invoices is wrong again")[:2] == ["shop/invoices.py", "shop/money.py"]


@pytest.mark.parametrize(
    "prompt", ["", "ok", "write a haiku about autumn rain", "\x00\x1b[31m", "👍🏽", "¿qué?"]
)
def test_an_unrelated_prompt_is_pointed_at_nothing(prompt: str) -> None:
    assert paths(prompt) == []


def test_no_history_points_at_nothing() -> None:
    assert paths("the refund total", []) == []


def test_what_the_prompt_names_itself_is_not_repeated() -> None:
    assert "web/login.py" not in paths("passkey log in fails, see web/login.py")


def test_a_later_prompt_that_says_little_goes_by_the_ones_before_it() -> None:
    assert paths("now add a regression case")[:1] != ["shop/refunds.py"]
    assert paths("now add a regression case", earlier=["the voucher is missing in a refund"])[0] in (
        "shop/refunds.py",
        "tests/test_refunds.py",
    )


def test_of_two_sessions_that_were_asked_the_same_the_later_one_counts_more() -> None:
    old = session(0, "Rotate the signing keys", ("old/keys.py",))
    new = session(9, "Rotate the signing keys", ("new/keys.py",))
    assert paths("rotate signing keys", [new, *SHOP, old])[:2] == ["new/keys.py", "old/keys.py"]


def test_a_path_that_says_the_prompts_words_comes_first() -> None:
    broad = session(6, "Tidy up the export", ("app/export_csv.py", "app/format.py"))
    assert paths("the export writes csv with semicolons", [*SHOP, broad])[0] == "app/export_csv.py"


def test_what_changes_together_in_git_is_pointed_at_too() -> None:
    together = {"shop/refunds.py": {"shop/ledger_rows.py": 0.9}}
    found = ranked("voucher missing in a refund total", SHOP, together)
    assert "shop/ledger_rows.py" in [pointer.path for pointer in found]


def test_files_that_went_with_what_the_session_already_touched_gain_by_it() -> None:
    found = paths("the page is slow", [*SHOP, session(7, "slow page", ("a/x.py",))], touched=["web/login.py"])
    assert "web/passkey.py" in found
    assert "web/login.py" not in found


def test_like_sessions_that_touched_no_file_point_at_nothing() -> None:
    talk = session(1, "What does the voucher code mean", ())
    assert paths("what does a voucher code mean", [talk], touched=["shop/refunds.py"]) == []


def test_each_pointer_says_why() -> None:
    first = ranked("voucher missing in a refund total")[0]
    assert first.why == "edited in 1 of 5 sessions; refund, total, voucher"
    assert first.session == "s1"
    assert 0 < first.chance < 1


def test_the_order_of_the_sessions_given_changes_nothing() -> None:
    shuffled = SHOP[:]
    random.Random(3).shuffle(shuffled)
    asked = "the total of a refund in the search box"
    assert [(one.path, one.chance, one.why) for one in ranked(asked, shuffled)] == [
        (one.path, one.chance, one.why) for one in ranked(asked)
    ]


PART = st.text("abcdeXY_-.9ü", min_size=1, max_size=12)
PATH = st.lists(PART, min_size=1, max_size=6).map("/".join)


@given(st.lists(PATH, max_size=40, unique=True), st.integers(0, 300))
def test_the_budget_is_kept_and_every_path_can_be_read_back(given_paths: list[str], budget: int) -> None:
    taken = fitting(given_paths, budget)
    text = "\n".join(line for line, _ in path_lines(taken))
    assert count_tokens(text) <= budget
    folder, read = "", set()
    for line in text.splitlines():
        if line.startswith("in "):
            folder = line[3:]
        else:
            read.add(folder + line[2:] if line.startswith("  ") else line)
    assert read == set(taken)


def test_files_of_one_folder_are_listed_under_its_name() -> None:
    deep = [f"services/billing/internal/{name}/main.go" for name in ("a", "b", "c")]
    assert "\n".join(line for line, _ in path_lines(["README.md", *deep])) == (
        "README.md\nin services/billing/internal/\n  a/main.go\n  b/main.go\n  c/main.go"
    )


def test_several_folders_are_said_once_each_and_a_bare_name_never_stands_for_a_file() -> None:
    deep = [f"services/billing/internal/{name}/main.go" for name in ("a", "b", "c")]
    flat = [f"services/billing/{name}.go" for name in ("one", "two", "three")]
    assert "\n".join(line for line, _ in path_lines([flat[0], *deep, *flat[1:], "web/app/x.ts"])) == (
        "web/app/x.ts\nin services/\n  billing/one.go\n  billing/two.go\n  billing/three.go\n"
        "in services/billing/internal/\n  a/main.go\n  b/main.go\n  c/main.go"
    )


def test_a_chance_too_small_is_not_worth_a_line() -> None:
    prompt = "the total of a refund in the search box on invoices"
    chances = [one.chance for one in ranked(prompt)]
    every, sure = paths(prompt), paths(prompt, least=sum(chances) / len(chances))
    assert 0 < len(sure) < len(every) and sure == every[: len(sure)]


def test_a_session_says_nothing_about_itself() -> None:
    assert "shop/refunds.py" not in paths("The refund total ignores the voucher", own=0)


def test_a_path_or_word_that_no_database_takes_does_no_harm() -> None:
    odd = [session(1, "refund \ud800 voucher \x00 total", ("shop/refunds.py",))]
    assert paths("voucher refund total \udfff", odd) == ["shop/refunds.py"]
