"""blame names the session behind a line through what happens to lines in git, and says unknown otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.provenance.history import HOUR, History, code

from holdfast.provenance.confidence import LEAST


@pytest.mark.promise("V5")
def test_a_line_has_its_session_prompt_and_commit(history: History) -> None:
    session = history.session("a", (60, "rate.py", code("tax")), prompt="compute the tax of an order")
    history.put("rate.py", code("tax"))
    sha = history.commit(600)
    (span,) = history.blame("rate.py")
    assert (span["start"], span["end"]) == (1, 8)
    assert (span["session"], span["commit"]) == (session, sha)
    assert span["prompt"] == span["title"] == "compute the tax of an order"
    assert span["confidence"] >= LEAST


@pytest.mark.promise("V5")
def test_what_a_person_wrote_is_unknown(history: History) -> None:
    history.session("a", (60, "rate.py", code("tax")))
    history.put("other.py", code("discount"))
    history.commit(600)
    (span,) = history.blame("other.py")
    assert (span["session"], span["title"], span["prompt"], span["confidence"]) == (None, None, None, None)
    assert span["commit"]


def test_a_person_s_edit_afterwards_is_unknown_and_the_rest_stays(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax"))
    lines = code("tax").split("\n")
    lines[3] = "    audit_log.append(order.customer)"
    history.put("rate.py", "\n".join(lines))
    history.commit(2 * HOUR)
    sessions = history.sessions("rate.py")
    assert sessions[3] is None
    assert sessions[:3] == [session] * 3 and sessions[4:] == [session] * 4


def test_a_failed_edit_wrote_nothing(history: History) -> None:
    history.session("a", (60, "rate.py", "", code("tax"), "failed"))
    history.put("rate.py", code("tax"))
    history.commit(600)
    assert set(history.sessions("rate.py")) == {None}


def test_a_call_that_was_never_answered_wrote_nothing(history: History) -> None:
    history.session("a", (60, "other.py", code("other")), (70, "rate.py", code("tax"), "unanswered"))
    history.put("rate.py", code("tax"))
    history.commit(600)
    assert set(history.sessions("rate.py")) == {None}


def test_an_edit_after_the_commit_did_not_write_the_line(history: History) -> None:
    history.put("rate.py", code("tax"))
    history.commit(0)
    history.session("a", (5 * HOUR, "rate.py", code("tax")))
    assert set(history.sessions("rate.py")) == {None}


def test_of_two_sessions_that_wrote_a_line_the_last_before_the_commit_counts(history: History) -> None:
    history.session("a", (60, "rate.py", code("tax")))
    second = history.session("b", (300, "rate.py", code("tax")), at=200)
    history.session("c", (4 * HOUR, "rate.py", code("tax")), at=4 * HOUR)
    history.put("rate.py", code("tax"))
    history.commit(600)
    assert set(history.sessions("rate.py")) == {second}


def test_each_session_has_its_own_lines(history: History) -> None:
    first = history.write_and_commit("a", "rate.py", code("tax"))
    second = history.session(
        "b", (2 * HOUR, "rate.py", "# end", code("fee")), at=2 * HOUR, prompt="and a fee"
    )
    history.put("rate.py", code("tax") + code("fee"))
    history.commit(2 * HOUR + 300)
    assert history.sessions("rate.py") == [first] * 8 + [second] * 8
    assert [span["prompt"] for span in history.blame("rate.py")] == ["write it", "and a fee"]


def test_uncommitted_lines_are_matched_and_have_no_commit(history: History) -> None:
    first = history.write_and_commit("a", "rate.py", code("tax"))
    second = history.session("b", (2 * HOUR, "rate.py", "# end", code("fee")), at=2 * HOUR)
    history.put("rate.py", code("tax") + code("fee"))
    spans = history.blame("rate.py")
    assert [(span["session"], span["commit"] is None) for span in spans] == [(first, False), (second, True)]


def test_a_file_that_git_does_not_know_yet(history: History) -> None:
    session = history.session("a", (60, "rate.py", code("tax")))
    history.put("rate.py", code("tax"))
    assert set(history.sessions("rate.py")) == {session}  # no commit at all
    history.git("commit", "-q", "--allow-empty", "-m", "first", at=10)
    assert set(history.sessions("rate.py")) == {session}


def test_a_renamed_file_keeps_its_sessions(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax", 12))
    (history.repo / "src").mkdir()
    history.git("mv", "rate.py", "src/taxes.py")
    history.commit(2 * HOUR)
    assert set(history.sessions("src/taxes.py")) == {session}


def test_a_file_renamed_before_its_first_commit(history: History) -> None:
    session = history.session("a", (60, "draft.py", code("tax", 12)))
    history.put("final.py", code("tax", 12))
    history.commit(600)
    assert set(history.sessions("final.py")) == {session}


def test_lines_moved_to_another_file(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax", 12) + code("fee", 12))
    history.put("rate.py", code("tax", 12))
    history.put("fees.py", code("fee", 12))
    history.commit(2 * HOUR)
    assert set(history.sessions("fees.py")) == {session}


def test_another_indentation_changes_nothing(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax"))
    history.put("rate.py", code("tax").replace("    ", "\t"))
    history.commit(2 * HOUR)
    assert set(history.sessions("rate.py")) == {session}


def test_a_formatter_that_wraps_lines_changes_nothing(history: History) -> None:
    wide = "".join(f"result_{at} = combine_all(first_value_{at}, second_value_{at})\n" for at in range(8))
    session = history.write_and_commit("a", "rate.py", wide)
    wrapped = (
        wide.replace("(first", "(\n    first").replace(", second", ",\n    second").replace(")\n", ",\n)\n")
    )
    history.put("rate.py", wrapped)
    history.commit(2 * HOUR)
    named = [name for name in history.sessions("rate.py") if name]
    assert set(named) == {session} and len(named) >= 20


def test_a_formatter_that_runs_before_the_commit(history: History) -> None:
    session = history.session("a", (60, "rate.py", code("tax").replace("    ", "  ")))
    history.put("rate.py", code("tax"))
    history.commit(600)
    assert set(history.sessions("rate.py")) == {session}


def test_windows_line_ends(history: History) -> None:
    session = history.session("a", (60, "rate.py", code("tax")))
    history.git("config", "core.autocrlf", "false")
    history.put("rate.py", code("tax").replace("\n", "\r\n"))
    history.commit(600)
    assert set(history.sessions("rate.py")) == {session}


def test_a_cherry_picked_commit(history: History) -> None:
    history.put("README", "shop\n")
    history.commit(0)
    history.git("checkout", "-qb", "work")
    session = history.write_and_commit("a", "rate.py", code("tax"), at=60)
    picked = history.git("rev-parse", "HEAD")
    history.git("checkout", "-q", "-")
    history.put("README", "the shop\n")
    history.commit(HOUR)
    history.git("cherry-pick", picked, at=3 * HOUR)
    assert set(history.sessions("rate.py")) == {session}


def test_a_rebased_commit_belongs_to_the_session_before_it_was_made(history: History) -> None:
    history.put("README", "shop\n")
    history.commit(0)
    history.git("checkout", "-qb", "work")
    session = history.write_and_commit("a", "rate.py", code("tax"), at=60)
    # Another session writes the same lines elsewhere, after the commit and before the rebase.
    history.session("b", (5 * HOUR, "rate.py", code("tax")), at=5 * HOUR)
    history.git("checkout", "-q", "-")
    history.put("README", "the shop\n")
    history.commit(HOUR)
    history.git("rebase", "-q", "HEAD", "work", at=48 * HOUR)
    assert set(history.sessions("rate.py")) == {session}


def test_a_squash_merge_has_the_lines_of_each_session(history: History) -> None:
    history.put("README", "shop\n")
    history.commit(0)
    history.git("checkout", "-qb", "work")
    first = history.write_and_commit("a", "rate.py", code("tax"), at=60)
    second = history.write_and_commit("b", "fee.py", code("fee"), at=HOUR)
    history.git("checkout", "-q", "-")
    history.git("merge", "-q", "--squash", "work")
    history.commit(2 * HOUR)
    assert set(history.sessions("rate.py")) == {first}
    assert set(history.sessions("fee.py")) == {second}


def test_an_amended_commit(history: History) -> None:
    first = history.write_and_commit("a", "rate.py", code("tax"))
    session = history.session("a", (60, "rate.py", code("tax")), (900, "rate.py", "", code("fee")))
    assert first == session
    history.put("rate.py", code("tax") + code("fee"))
    history.git("commit", "-qa", "--amend", "-m", "both", committed=1000)
    sessions = history.sessions("rate.py")
    assert sessions[:8] == [session] * 8 and set(sessions[8:]) <= {session, None}


def test_a_reverted_revert_still_has_its_session(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax"))
    history.put("README", "shop\n")
    history.commit(700)
    history.git("revert", "--no-edit", "HEAD~1", at=800)
    assert not history.path("rate.py").exists()
    history.git("revert", "--no-edit", "HEAD", at=900)
    assert set(history.sessions("rate.py")) <= {session, None}


def test_an_old_edit_is_not_the_nearest_guess(history: History) -> None:
    """A line that a session wrote long before, and a person typed again, is not ascribed to the session."""
    history.session("a", (60, "rate.py", code("tax")))
    history.put("rate.py", "order_count = count_orders(today)\n" + code("discount", 20))
    text = history.path("rate.py").read_text(encoding="utf-8")
    history.put("rate.py", text + "    total_tax = add_tax(total_tax, tax_rates[0])\n")
    history.commit(60 * 24 * HOUR)
    assert set(history.sessions("rate.py")) == {None}


@pytest.mark.parametrize(
    "name", ["a b.py", "-rf", "ünïcode.py", "new\nline.py", '"quoted".py', "[x]*.py", "a:b.py"]
)
def test_hostile_names(history: History, name: str) -> None:
    session = history.write_and_commit("a", f"src/{name}", code("tax"))
    assert set(history.sessions(f"src/{name}")) == {session}


def test_one_line_and_a_range(history: History) -> None:
    history.write_and_commit("a", "rate.py", code("tax"))
    assert [(span["start"], span["end"]) for span in history.blame("rate.py:3")] == [(3, 3)]
    assert [(span["start"], span["end"]) for span in history.blame("rate.py:3-5")] == [(3, 5)]
    assert [(span["start"], span["end"]) for span in history.blame("rate.py:6-")] == [(6, 8)]


def test_from_a_folder_below_and_in_another_worktree(history: History, tmp_path: Path) -> None:
    session = history.write_and_commit("a", "src/rate.py", code("tax"))
    done = history.holdfast("blame", "rate.py", "--json", cwd=history.repo / "src", check=0).json()
    assert [span["session"] for span in done] == [session]
    history.git("worktree", "add", "-q", str(tmp_path / "tree"))
    done = history.holdfast("blame", "src/rate.py", "--json", cwd=tmp_path / "tree", check=0).json()
    assert [span["session"] for span in done] == [session]


def test_edits_are_kept_when_the_transcript_is_deleted(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax"))
    history.holdfast("import", check=0)
    assert set(history.sessions("rate.py")) == {session}
    for path in history.home.glob(".claude/projects/*/*.jsonl"):
        path.unlink()
    assert set(history.sessions("rate.py")) == {session}


def test_a_session_that_grew_is_read_again(history: History) -> None:
    session = history.session("a", (60, "rate.py", code("tax")))
    history.put("rate.py", code("tax") + code("fee"))
    history.commit(HOUR)
    history.holdfast("import", check=0)
    assert None in history.sessions("rate.py")
    history.session("a", (60, "rate.py", code("tax")), (90, "rate.py", "# end", code("fee")))
    assert set(history.sessions("rate.py")) == {session}


def test_without_a_memory_nothing_is_written(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax"))
    assert set(history.sessions("rate.py")) == {session}
    assert not (history.home / ".holdfast" / "projects").exists()
    assert not (history.repo / ".holdfast").exists()


def test_a_shallow_clone_does_not_guess(history: History, tmp_path: Path) -> None:
    history.session("a", (60, "rate.py", code("tax")))
    history.put("rate.py", code("tax"))
    history.commit(600)
    second = history.write_and_commit("b", "fee.py", code("fee"), at=HOUR)
    third = history.write_and_commit("c", "vat.py", code("vat"), at=2 * HOUR)
    clone = tmp_path / "clone"
    history.git("clone", "-q", "--depth", "2", history.repo.as_uri(), str(clone))
    for path in history.home.glob(".claude/projects/*/*.jsonl"):
        path.write_text(
            path.read_text(encoding="utf-8").replace(str(history.repo), str(clone)), encoding="utf-8"
        )
    for name, session in (("rate.py", None), ("fee.py", None), ("vat.py", third)):
        done = history.holdfast("blame", name, "--json", cwd=clone, check=0)
        assert {span["session"] for span in done.json()} == {session}, second
        assert "shallow clone" in done.stderr


def test_a_long_file(history: History) -> None:
    text = "".join(f"value_{at} = table_{at}[{at}] + offset_{at % 7}\n" for at in range(10_000))
    session = history.write_and_commit("a", "big.py", text)
    (span,) = history.blame("big.py")
    assert (span["start"], span["end"], span["session"]) == (1, 10_000, session)
