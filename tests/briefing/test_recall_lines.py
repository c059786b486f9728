"""The lines of recall and search: each is understood alone, says something new, and the one that is asked for comes first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import Holdfast
from tests.flows.test_remember import put, working_session

from holdfast.briefing.meaning import Meanings
from holdfast.briefing.recall_lines import LONGEST, LineChooser, shortened, without_folders
from holdfast.core.tokens import count_tokens
from holdfast.memory.log import render_beginning, render_entry
from holdfast.model.lesson import failing_command
from holdfast.model.memory import DeadEnd, Decision, Finding, LogEntry
from holdfast.model.search import Hit
from holdfast.model.statement import Evidence, SessionText, Statement, encoded
from holdfast.store.machine import Machine

NEARNESS = Meanings().nearness
_KINDS = {"F": "fact", "Q": "question", "l": "lesson"}


def hit(id: str, text: str, session: str = "s1") -> Hit:
    said = _said(id, text)
    return Hit(
        id=id, kind=_KINDS.get(id[0], "history"), text=text, path="log.md", line=1, session=session,
        project="shop", date="2026-03-06", score=0.5, why="", data=encoded(said) if said else "",
    )  # fmt: skip


def _said(id: str, text: str) -> Statement | SessionText | None:
    """The values that go with such a text in the index."""
    text = " ".join(text.split(" "))
    if id.startswith("session:"):
        return _session(text)
    if id.startswith("lesson:"):
        return Statement(id=id, kind="rule", text=text, not_=failing_command(text))
    if id.startswith("F-"):
        said, _, shown = text.removesuffix(")").partition(" (")
        command, _, line = shown.rpartition(" → ")
        return Statement(id=id, kind="fact", text=said, evidence=(Evidence(command, line),))
    if id.startswith("D-"):
        said, _, reason = text.removesuffix(")").partition(" (because ")
        return Statement(id=id, kind="decision", text=said, reason=reason)
    if id.startswith("X-") and (fails := _FAILS.fullmatch(text)):
        return Statement(id=id, kind="dead_end", not_=fails[1], reason=fails[2], text=fails[3] or "")
    return None


_FAILS = re.compile(r"`(.*?)` fails here \((.*)\)(?: → `(.*)` worked)?", re.DOTALL)


def _session(text: str) -> SessionText:
    named = {"Outcome: ": "", "Files: ": "", "Commits: ": ""}
    rest = []
    for line in text.split("\n"):
        name = next((name for name in named if line.startswith(name)), "")
        if name:
            named[name] = line.removeprefix(name)
        else:
            rest.append(line)
    return SessionText(
        goal=rest[0] if rest else "",
        outcome=named["Outcome: "],
        summary=" ".join(rest[1:]),
        files=tuple(named["Files: "].split()),
        commits=tuple(filter(None, named["Commits: "].split("; "))),
    )


def session(goal: str, *, outcome: str = "done (1 commit)", summary: str = "", **more: str) -> str:
    lines = [goal, f"Outcome: {outcome}", summary]
    lines += [f"{name.title()}: {said}" for name, said in more.items()]
    return "\n".join(filter(None, lines))


def told(task: str, *hits: Hit) -> list[str]:
    telling = LineChooser(task, hits, NEARNESS)
    lines = []
    for one in hits:
        if line := telling.line(telling.decided(one)):
            telling.keep(line)
            lines.append(line.text)
    return lines


# --- a session ---------------------------------------------------------------------------------------------


@pytest.mark.promise("R7")
def test_a_session_is_told_by_its_goal_and_by_the_part_that_is_asked_for() -> None:
    text = session(
        "look into https://example.com/acme/shop/issues/41",
        summary="All tests pass. The voucher was rounded before the tax was added.",
        commits="0a1b2c3 feat: add a basket; 1b2c3d4 fix(voucher): round the voucher after the tax",
    )
    (line,) = told("the voucher is rounded wrongly", hit("session:a", text))
    assert line.startswith("Done before: look into https://example.com/acme/shop/issues/41 → ")
    assert "round the voucher after the tax" in line and "1b2c3d4" not in line and "basket" not in line


def test_what_is_said_of_every_session_is_not_told_of_one() -> None:
    text = session("Round the voucher after the tax", summary="All tests pass and lint is clean. Pushed.")
    assert told("round the voucher", hit("session:a", text)) == [
        "Done before: Round the voucher after the tax"
    ]


@pytest.mark.parametrize(
    ("outcome", "label"),
    [
        ("done (answered)", "Done before: "),
        ("unknown (no test, commit or word of the user tells)", "Done before: "),
        ("partial (stops in the middle of work)", "Begun before: "),
        ("failed (api_error: overloaded)", "Tried before: "),
        ("abandoned (interrupted by the user)", "Tried before: "),
    ],
)
def test_what_was_not_finished_is_not_called_done(outcome: str, label: str) -> None:
    text = session("Round the voucher after the tax", outcome=outcome)
    assert told("round the voucher", hit("session:a", text)) == [f"{label}Round the voucher after the tax"]


@pytest.mark.parametrize(
    "text",
    [
        "Outcome: unknown (nothing was asked or done)",
        session("hi", outcome="failed (api_error: overloaded)"),
        session("You title threads.", outcome="unknown (talked about, and nothing was done)"),
        "",
    ],
)
def test_a_session_that_did_nothing_is_not_told(text: str) -> None:
    assert told("write a commit message", hit("session:a", text)) == []


def test_a_wish_that_came_to_nothing_is_told_as_one_when_it_is_what_is_asked_for() -> None:
    wish = "The grid should have as many columns as there are logos"
    text = session(wish, outcome="unknown (nothing was asked or done)")
    assert told("columns of the logos", hit("session:a", text)) == [f"Asked before: {wish}"]
    assert told("write a commit message", hit("session:a", text)) == []


def test_a_session_without_a_goal_is_told_by_what_it_did() -> None:
    text = "Outcome: done (1 commit)\nCommits: 0a1b2c3 fix: keep vouchers of a closed basket"
    assert told("vouchers of closed baskets", hit("session:a", text)) == [
        "Done before: fix: keep vouchers of a closed basket"
    ]


def test_files_are_told_whole_or_not_at_all() -> None:
    short, long = "shop/tax.py", "/".join(["a_rather_long_folder"] * 9) + "/voucher.py"
    goal = "Round the voucher after the tax"
    assert told("voucher", hit("session:a", session(goal, files=f"{short} {long}"))) == [
        f"Done before: {goal} · files: {short}"
    ]
    assert told("voucher", hit("session:a", session(goal, files=f"{long} {short}"))) == [
        f"Done before: {goal}"
    ]


def test_a_long_goal_is_told_without_the_middles_of_addresses_and_folders() -> None:
    address = "https://ci.example.com/acme/shop/actions/runs/21662191208/job/62449194626"
    assert shortened(f"why did {address} fail", 8) == "why did ci.example.com/…/job/62449194626 fail"
    assert shortened(f"why did {address} fail", 100) == f"why did {address} fail"
    assert without_folders("cat src/shop/basket/tax.py tests/x.py") == "cat …/tax.py tests/x.py"


# --- said already ------------------------------------------------------------------------------------------


@pytest.mark.promise("R7")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            hit("N-1", "`Basket` and `Voucher` didn't account for refunds of single items."),
            hit("N-2", "The issue was that both `Basket` and `Voucher` didn't account for refunds of single items."),
        ),
        (
            hit("N-1", "When items are refunded, `Basket` and `Voucher` didn't account for single items."),
            hit("N-2", "`Basket` and `Voucher` didn't account for refunded single items."),
        ),
        (
            hit("D-1", "Plan approved: Move vouchers into the basket (because Two places add the tax.)"),
            hit("session:a", session("Implement the plan: Move vouchers into the basket")),
        ),
        (
            hit("lesson:L-1", "`gh pr diff --stat` fails here (unknown flag: --stat) → `gh pr diff --name-only`"),
            hit("X-1", "`gh pr diff 88 --stat` fails here (unknown flag: --stat) → `gh pr diff 88 --name-only` worked"),
        ),
        (
            hit("session:a", session("added the component @ui/chip.tsx, update docs and demo, then run the fixer")),
            hit("session:b", session("added the component @ui/map.tsx, update docs and demo, then run the fixer"), "s2"),
        ),
        (
            hit("Q-1", "Which region hosts the backups? → Frankfurt"),
            hit("D-1", "Which region hosts the backups? Frankfurt (because it is near)"),
        ),
    ],
)  # fmt: skip
def test_what_says_no_more_than_a_line_before_is_not_told(first: Hit, second: Hit) -> None:
    assert len(told("what is known of this", first, second)) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            hit("N-1", "The staging database listens on port 5433"),
            hit("N-2", "The staging database listens on port 5434"),
        ),
        (hit("N-1", "Vouchers are rounded before the tax"), hit("N-2", "Vouchers are not rounded before the tax")),
        (
            hit("X-1", "`npm test` fails here (no script) → `pnpm test` worked"),
            hit("X-2", "`npm test` fails here (no script) → `yarn test` worked"),
        ),
        (
            hit("N-1", "`fromStore()` turns a `Row` into a `Basket` (for loading)"),
            hit("N-2", "`toStore()` turns a `Basket` into a `Row` (for saving)"),
        ),
        (hit("F-1", "`make test` runs the tests here"), hit("F-2", "`make test-all` runs the tests here")),
        (
            hit("session:a", session("fix lint errors", summary="Added constants for `main` and `master` branches.")),
            hit("session:b", session("fix lint errors: basket", summary="Wrapped three errors of the `tax` client."), "s2"),
        ),
    ],
)  # fmt: skip
def test_what_differs_in_a_number_a_denial_a_remedy_or_in_what_was_done_is_told_both(
    first: Hit, second: Hit
) -> None:
    assert len(told("what is known of this", first, second)) == 2


def test_the_same_words_are_told_once_also_where_they_count_from_one_to_zero() -> None:
    text = "Change the folders from 1-based to 0-based, from `1/`, `2/` to `0/`, `1/`"
    assert len(told("folders", hit("D-1", text), hit("D-2", text))) == 1


def test_what_a_session_says_twice_in_other_words_is_told_once() -> None:
    lines = told(
        "refunds of single items",
        hit("N-1", "When customers refunded single items, `Basket` and `Voucher` didn't subtract those refunds."),
        hit("N-2", "The issue was that both `Basket` and `Voucher` didn't account for refunds of single items."),
    )  # fmt: skip
    assert len(lines) == 1


def test_a_decision_stands_for_the_session_that_carried_it_out_wherever_it_ranks() -> None:
    carried = hit("session:a", session("Implement the plan: Move vouchers into the basket"))
    decided = hit("D-1", "Plan approved: Move vouchers into the basket (because Two places add the tax.)")
    assert told("vouchers in the basket", carried, decided) == [
        "Decided: Move vouchers into the basket: Two places add the tax."
    ]


def test_a_session_does_not_repeat_its_finding_but_tells_the_rest() -> None:
    finding = "The parser skips links because the scanner never opens linked folders."
    rest = "Linked folders now lie in `~/.shop/links`, which the scanner reads."
    text = session("can you read this and tell me what is going on", summary=f"{finding} {rest}")
    lines = told("the scanner skips linked folders", hit("N-1", finding), hit("session:a", text))
    assert lines[0] == f"Found: {finding}" and rest.rstrip(".") in lines[1] and finding not in lines[1]
    (alone, after) = told("the scanner skips linked folders", hit("session:a", text), hit("N-1", finding))
    assert finding not in alone and after == f"Found: {finding}"


def test_of_one_command_two_failures_are_told() -> None:
    rules = [
        hit(f"lesson:L-{name}", f"`make lint` fails on `{name}` ({why})", name)
        for name, why in (
            ("unused", "a name that nobody reads"),
            ("shadow", "the same name twice in a function"),
            ("wrap", "an error of a client is returned bare"),
        )
    ]
    assert len(told("make lint fails", *rules)) == 2


# --- wording -----------------------------------------------------------------------------------------------


def test_a_command_is_not_said_twice_in_a_fact() -> None:
    text = "`make lint` lints here (make lint → 0 issues.)"
    assert told("lint", hit("F-1", text)) == ["`make lint` lints here"]
    other = "shopctl is 1.4 here (shopctl --version → shopctl 1.4)"
    assert told("shopctl", hit("F-2", other)) == [other]


def test_of_a_long_failure_the_remedy_is_told() -> None:
    tried = "shopctl eval examples/features/composite/evals/dataset.eval.yaml --filter strict --dry-run"
    instead = tried.replace("eval ", "eval run ", 1).replace("--filter", "--test-id")
    text = f"`{tried}` fails here (unknown arguments: {'--filter ' * 12}) → `{instead}` worked"
    (line,) = told("run one eval", hit("X-1", text))
    assert "…/dataset.eval.yaml --filter strict" in line and "--test-id strict --dry-run` worked" in line


@given(
    st.text(max_size=400),
    st.lists(st.sampled_from(["Outcome: ", "Files: ", "Commits: ", "→", "`", "?", "x/y/z.py", "\n", " "])),
    st.sampled_from(["session:a", "N-1", "X-1", "D-1", "F-1", "Q-1", "lesson:L-1", "state:S-1"]),
)
def test_any_text_is_one_line_of_bounded_length(text: str, signs: list[str], id: str) -> None:
    said = text[:200] + "".join(signs) + text[200:]
    for line in told("x y z.py", hit(id, said)):
        assert "\n" not in line and count_tokens(line) <= LONGEST + 30


# --- in a memory -------------------------------------------------------------------------------------------


def remember(machine: Machine, entries: Iterable[LogEntry]) -> Path:
    project = machine.project()
    project.prepare()
    folder = project.memory / "projects" / project.title
    folder.mkdir(parents=True)
    text = render_beginning(project.title) + "".join(render_entry(entry) for entry in entries)
    (folder / "log.md").write_text(text, encoding="utf-8")
    return folder


def long_entry() -> LogEntry:
    commits = [
        f"{number:07x} feat: part {number} of the basket that nobody asks for here" for number in range(20)
    ]
    return LogEntry(
        session="5e551001", agent="codex", at=1.7e9,
        context="Work on the epic shop-4te and start with its first task",
        outcome="done (21 commits)",
        summary="The epic is complete.",
        files=tuple(f"shop/part{number}/of_the_basket.py" for number in range(20)),
        commits=(*commits, "abcdef1 feat: trace zeppelin flights in the dispatcher"),
    )  # fmt: skip


@pytest.mark.promise("R4", "R7")
def test_a_passage_of_a_long_session_comes_with_its_goal(holdfast: Holdfast, repo: Path) -> None:
    remember(Machine(cwd=repo), [long_entry()])
    (line, *_) = holdfast("recall", "trace the zeppelin flights", check=0).stdout.splitlines()
    assert line == (
        "Done before: Work on the epic shop-4te and start with its first task"
        " → feat: trace zeppelin flights in the dispatcher"
    )
    (found, *_) = holdfast("search", "zeppelin flights", "--json", check=0).json()
    goal, outcome, *rest = found["text"].split("\n")
    assert goal.startswith("Work on the epic") and outcome == "Outcome: done (21 commits)"
    assert "zeppelin" in " ".join(rest)
    shown = holdfast("search", "zeppelin flights", check=0).stdout
    assert shown.startswith("Work on the epic") and "trace zeppelin flights" in shown


@pytest.mark.promise("M6")
@pytest.mark.parametrize(
    "task", ["run the linter", "which command lints the code", "how do I lint this", "comment lancer le linter ?"]
)  # fmt: skip
def test_who_asks_for_a_command_is_told_it_first(holdfast: Holdfast, repo: Path, task: str) -> None:
    dead_ends = [
        DeadEnd(tried=f"just lint {rule}", failed=f"the linter stops at {rule} when just is run", instead="")
        for rule in ("unused", "shadow")
    ]  # fmt: skip
    remember(
        Machine(cwd=repo),
        [LogEntry(session="5e551001", agent="codex", at=1.7e9, dead_ends=tuple(dead_ends))],
    )
    holdfast("fact", "add", "`just check` lints here", "--evidence", "0 issues", check=0)
    (line, *_) = holdfast("recall", task, check=0).stdout.splitlines()
    (found, *_) = holdfast("search", "linter", "--json", check=0).json()
    assert found["text"].startswith("`just check` lints here")
    assert line == "`just check` lints here (0 issues)"


def test_one_word_of_several_is_chance_in_history_where_something_has_more(
    holdfast: Holdfast, repo: Path
) -> None:
    found = [
        "The file OWNERS of zeppelins names who reviews them",
        "Settings of the basket are read twice",
        "The setting of the clock drifts",
    ]
    findings = tuple(Finding(text=text, session="5e551001", at=1.7e9) for text in found)
    remember(Machine(cwd=repo), [LogEntry(session="5e551001", agent="codex", at=1.7e9, findings=findings)])
    said = holdfast("recall", "set up zeppelins owners", check=0).stdout
    assert "zeppelins" in said and "basket" not in said and "clock" not in said


@pytest.mark.promise("R6", "R7")
def test_the_lines_keep_the_budget_and_are_the_same_from_a_rebuilt_index(
    holdfast: Holdfast, repo: Path
) -> None:
    decision = Decision(
        text="Plan approved: Trace zeppelin flights", rationale="The dispatcher loses them.", session="5e551001"
    )  # fmt: skip
    findings = tuple(
        Finding(text=f"Zeppelin {number} was lost because the dispatcher forgot flight {number}", session="5e551001")
        for number in range(9)
    )  # fmt: skip
    other = LogEntry(
        session="5e551002", agent="codex", at=1.71e9, context="Implement the plan: Trace zeppelin flights",
        decisions=(decision,), findings=findings,
    )  # fmt: skip
    folder = remember(Machine(cwd=repo), [long_entry(), other])
    memory = folder.parent.parent
    for budget in (0, 7, 20, 33, 60, 200, 400):
        asked = ("recall", "trace the zeppelin flights", "--budget", str(budget), "--json")
        first = holdfast(*asked, check=0).stdout
        briefing = json.loads(first)
        assert set(briefing) - {"nothing"} == {"budget", "tokens", "lines", "text"}
        assert count_tokens(briefing["text"]) == briefing["tokens"] <= budget
        for path in memory.glob("index*"):
            path.unlink()
        assert holdfast(*asked, check=0).stdout == first
        goals = [line for line in briefing["lines"] if "Trace zeppelin flights" in line["text"]]
        assert len(goals) <= 1


def test_a_question_and_its_decision_are_one_hit(holdfast: Holdfast, repo: Path) -> None:
    holdfast("answer", "Which region hosts the backups?", "Frankfurt", check=0)
    holdfast("decide", "Which region hosts the backups? Frankfurt", "--because", "it is near", check=0)
    hits = holdfast("search", "region of the backups", "--json", check=0).json()
    assert [one["id"][:2] for one in hits if "Frankfurt" in one["text"]] in (["Q-"], ["D-"])
    holdfast("decide", "Which region hosts the backups? Paris", "--because", "it moved", check=0)
    texts = [one["text"] for one in holdfast("search", "region of the backups", "--json", check=0).json()]
    assert any("Paris" in text for text in texts) and any("Frankfurt" in text for text in texts)


@pytest.mark.promise("M6")
@pytest.mark.parametrize("task", ["was ist noch offen?", "what is still open", "where were we"])
def test_who_asks_on_a_new_branch_is_told_what_is_left_on_others(
    holdfast: Holdfast, repo: Path, tmp_path: Path, task: str
) -> None:
    put(tmp_path / "t", working_session(1, repo, branch="rules"))
    holdfast("import", tmp_path / "t", check=0)
    said = holdfast("recall", task, check=0).stdout
    assert "Document rule 1" in said and "(on rules)" in said


@pytest.mark.promise("M6")
@pytest.mark.parametrize(
    "task", ["wie führe ich die Tests aus?", "comment lancer les tests ?", "run the tests"]
)
def test_a_command_is_asked_for_in_other_languages_too(holdfast: Holdfast, repo: Path, task: str) -> None:
    for fact in (
        "`just check` runs the tests here",
        "The staging cache is Redis",
        "Port 5433 is the database",
    ):
        holdfast("fact", "add", fact, "--evidence", "seen", check=0)
    assert holdfast("recall", task, check=0).stdout.startswith("`just check` runs the tests here")
