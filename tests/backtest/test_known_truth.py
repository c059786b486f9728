"""Written histories whose truth is known: every count of the backtest is exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backtest.histories import REFUSED, RIGHT, STORE, WRONG, History

from holdfast.backtest.report import BacktestReport, NeedSum
from holdfast.backtest.run import run
from holdfast.store.machine import Machine


@pytest.fixture
def history(repo: Path, home: Path) -> History:
    return History(repo, home)


def backtest(history: History) -> BacktestReport:
    machine = Machine(cwd=history.repo)
    return run(machine, machine.project())


def figures(need: NeedSum) -> tuple[int, int]:
    return need.known, need.told


@pytest.mark.promise("P1")
def test_a_repeated_stumble_is_told_at_the_command_that_fails_again(history: History) -> None:
    history.commit(-1, {"a.py": "a = 1\n"})
    history.session(0, "What does the pull request say?").run(WRONG, REFUSED, exit_code=1).run(
        RIGHT, "t"
    ).save()
    again = history.session(1, "Read the title of the change").read("a.py").run(WRONG, REFUSED, exit_code=1)
    again.run("git status", "clean").run(RIGHT, "t").save()
    history.session(2, "Thanks").run("ls", "a.py").save()
    report = backtest(history)

    remedy = report.memory.of("remedy")
    assert figures(remedy) == (1, 1)
    assert remedy.calls == 2, "the failing call and the one before what worked"
    assert remedy.told_calls == 2
    told = [line for line in report.tested[1].lines if line.kind == "remedy" and line.when == "command"]
    assert [(line.verdict, line.met != ()) for line in told] == [("used", True)]
    assert report.memory.wrong == 0
    assert report.tested[0].lines == (), "nothing was known before the first session"


def test_a_question_asked_again_is_answered_and_an_answer_that_changed_is_wrong(history: History) -> None:
    history.commit(-1, {"a.py": "a = 1\n"})
    history.session(0, "Build the spooler").ask("Redis").edit("a.py").save()
    history.session(1, "Go on with the spooler").ask("Redis").edit("a.py").save()
    history.session(2, "The spooler once more").ask("SQLite").edit("a.py").save()
    history.session(3, "And the spooler at last").ask("SQLite").edit("a.py").save()
    report = backtest(history)

    assert figures(report.memory.of("question")) == (3, 3)
    answers = [[line for line in one.lines if line.when == "question"] for one in report.tested]
    assert [[line.verdict for line in lines] for lines in answers] == [[], ["used"], ["wrong"], ["used"]]
    assert "SQLite" in answers[2][0].why
    assert "SQLite" in answers[3][0].text, "what was decided later is told, and not what it replaced"
    assert [line.kind for _, line in report.wrong_lines] == ["answer"]


def test_a_file_that_moved_is_told_only_while_it_was_there(history: History) -> None:
    old, new = "shop/refunds.py", "store/refunds.py"
    asked = "Fix the voucher refunds in the nightly run: case {} gives the wrong result"
    history.commit(-1, {old: "def refund(): ...\n", "README.md": "shop\n"})
    for day in range(6):
        history.session(day, asked.format(day)).read(old).edit(old).save()
    history.commit(6, {old: None, new: "def refund(): ...\n"})
    history.session(7, asked.format(7)).read(new).edit(new).save()
    report = backtest(history)

    named = [
        [line for line in one.lines if old in line.text and line.kind == "file"] for one in report.tested
    ]
    before, after = named[1:6], named[6]
    assert all(line.verdict == "used" for lines in before for line in lines)
    told = sum(bool(lines) for lines in before)
    assert told >= 3, "the file is known from the second session on"
    assert after == [], "when the file had moved, its old path was not told"
    file = report.memory.of("file")
    assert file.known == 5, "the old file in five sessions; the new one had never been seen"
    assert file.told == told
    assert report.memory.wrong == 0


def test_only_what_had_ended_before_is_known(history: History) -> None:
    """A session that runs while another one starts has told it nothing."""
    history.commit(-1, {"a.py": "a = 1\n"})
    long = history.session(0, "Look at the pull request").run(WRONG, REFUSED, exit_code=1).run(RIGHT, "t")
    short = (
        history.session(0.0001, "Look at the pull request").run(WRONG, REFUSED, exit_code=1).run(RIGHT, "t")
    )
    long.save()
    short.save()
    report = backtest(history)
    assert [one.past for one in report.tested] == [0, 0]
    assert report.memory.spoke == 0
    assert report.memory.needs == {}


def test_a_commit_made_later_is_not_seen(history: History) -> None:
    history.commit(-1, {"a.py": "a = 1\n"})
    history.session(0, "Look around").read("a.py").save()
    history.session(1, "Look at b.py again").read("a.py").save()
    history.commit(2, {"b.py": "b = 1\n", "CLAUDE.md": "Run `make everything` for tests.\n"})
    lines = "\n".join(line.text for one in backtest(history).tested for line in one.lines)
    assert "b.py" not in lines
    assert "make everything" not in lines


def test_the_questions_of_the_control_are_its_own(history: History) -> None:
    """The control is asked the same and judged in the same way; it knows nothing of this repository."""
    history.commit(-1, {"a.py": "a = 1\n"})
    for day in range(3):
        history.session(day, "Build the spooler").ask("Redis").read("a.py").save()
    report = backtest(history)
    assert report.control_of == "the bundled demonstration"
    assert figures(report.memory.of("question")) == (2, 2)
    assert figures(report.control.of("question")) == (2, 0)
    assert figures(report.control.of("file")) == (2, 0)
    assert STORE["question"] in {need.what for one in report.tested for need in one.needs}


def test_the_rival_lists_the_latest_files_and_commands_within_its_budget(history: History) -> None:
    history.commit(-1, {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    history.session(0, "Change it").edit("a.py").run("npm test", "12 passed").save()
    history.session(1, "Change it more").edit("a.py").run("npm test", "12 passed").save()
    report = backtest(history)
    assert (report.rival.spoke, report.rival.lines, report.rival.used) == (1, 2, 2)
    assert figures(report.rival.of("file")) == (1, 1)
    assert figures(report.rival.of("command")) == (1, 1)


def test_the_cost_is_the_tokens_of_each_telling_for_every_later_answer(history: History) -> None:
    history.commit(-1, {"a.py": "a = 1\n"})
    history.session(0, "What does the pull request say?").run(WRONG, REFUSED, exit_code=1).run(
        RIGHT, "t"
    ).save()
    history.session(1, "And now?").run(WRONG, REFUSED, exit_code=1).run(RIGHT, "t").save()
    report = backtest(history)
    one = report.tested[1]
    at_command = sum(line.tokens for line in one.lines if line.when == "command")
    assert at_command
    assert one.carried > at_command
    assert one.cost_usd is not None and one.cost_usd > 0
    assert report.carried == one.carried


def test_without_a_checkout_a_session_is_told_the_state_of_its_own_branch_only(history: History) -> None:
    for day, branch in enumerate(("fix/refunds", "fix/rates", "fix/refunds")):
        history.session(day, f"Work on {branch}", branch=branch).edit("a.py").save()
    transcripts = history.folder.rename(history.repo.parent / "transcripts")
    elsewhere = history.repo.parent / "elsewhere"
    elsewhere.mkdir()
    machine = Machine(cwd=elsewhere)
    report = run(machine, machine.project(), [transcripts])

    state = [[line.text for line in one.lines if line.kind == "state"] for one in report.tested]
    assert state[1] == [], "the branch is new, and what was done on another one is not told"
    assert len(state[2]) == 1 and "Work on fix/refunds" in state[2][0]
