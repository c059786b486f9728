"""What cannot be blamed gets one clear line; what is shown reads well; what is forgotten is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mcp.client import Said, Talk, talk
from tests.provenance.history import HOUR, History, code


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nothing.py", "nothing.py: no such file."),
        ("src", "src: is a folder."),
        ("../elsewhere.py", "outside the repository"),
        ("picture.png", "is a binary file"),
        ("rate.py:99", "line 99 is beyond the end: the file has 8."),
        ("rate.py:5-2", "there are no lines 5 to 2."),
        ("rate.py:0", "there are no lines 0 to 0."),
        ("rate.py:last", "'last' is no line number."),
        (".git/config", "belongs to git itself"),
        ("", "there is no file"),
        ("pipe", "is no regular file"),
        ("both:3", "is a file, and 'both' is one too"),
    ],
)
def test_bad_input_gets_one_line(history: History, name: str, expected: str) -> None:
    import os

    history.put("rate.py", code("tax"))
    history.put("src/x.py", "a\n")
    history.put("both", "a\n")
    history.put("both:3", "a\n")
    history.path("picture.png").write_bytes(b"\x89PNG\0\0")
    (history.repo.parent / "elsewhere.py").write_text("a\n", encoding="utf-8")
    history.commit(0)
    os.mkfifo(history.path("pipe"))
    done = history.holdfast("blame", name)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert expected in done.stderr and done.stderr.count("\n") == 1


def test_outside_a_repository(history: History, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "a.py").write_text("a\n", encoding="utf-8")
    done = history.holdfast("blame", "a.py", cwd=tmp_path / "alone")
    assert done.returncode == 2 and "not in a git repository" in done.stderr


def test_a_link_out_of_the_repository_is_refused(history: History, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a\n", encoding="utf-8")
    history.path("link.py").symlink_to(tmp_path / "secret")
    assert "outside the repository" in history.holdfast("blame", "link.py", check=2).stderr


def test_a_file_named_like_lines(history: History) -> None:
    session = history.write_and_commit("a", "notes:3", code("tax"))
    assert set(history.sessions("notes:3")) == {session}
    spans = history.holdfast("blame", "notes:3", "--lines", "2-3", "--json", check=0).json()
    assert [(span["start"], span["end"]) for span in spans] == [(2, 3)]


def test_an_empty_file(history: History) -> None:
    history.put("empty.py", "")
    history.commit(0)
    assert history.blame("empty.py") == []
    assert history.holdfast("blame", "empty.py", check=0).stdout == "empty.py is empty.\n"


@pytest.mark.promise("V5")
def test_the_answer_reads_well(history: History) -> None:
    history.session("a", (60, "rate.py", code("tax")), prompt="compute the tax of an order")
    history.put("rate.py", code("tax"))
    history.commit(600)
    lines = code("tax").split("\n")
    lines[3] = "    audit_log.append(order.customer)"
    history.put("rate.py", "\n".join(lines))
    sha = history.commit(2 * HOUR, "log the customer")[:8]
    shown = history.holdfast("blame", "rate.py", check=0).stdout.splitlines()
    assert "claude-code aaaaaaaa" in shown[0] and "compute the tax of an order" in shown[0]
    assert shown[0].startswith("1-3  2026-03-02  ") and "%" in shown[0]
    assert f"{sha}  unknown" in shown[1] and shown[1].endswith("Ada: log the customer")
    assert shown[-1] == "7 of 8 lines from 1 recorded session."


def test_a_request_is_said_once_and_a_plan_by_its_heading(history: History) -> None:
    plan = "Implement the following plan:\n\n# Plan: Taxes of an order\n\n## Context\n\nOrders have no taxes."
    before, after = code("tax"), code("duty")
    history.session("a", (60, "rate.py", before), (70, "rate.py", after), prompt=plan)
    history.put("rate.py", f"{before}# by hand, and long enough to tell\n{after}")
    history.commit(600, "Compute what customs wants")
    shown = history.holdfast("blame", "rate.py", check=0).stdout
    assert shown.count("claude-code aaaaaaaa") == 2
    assert "Implement the following plan" not in shown and shown.count("Taxes of an order") <= 2
    assert shown.count("asked:") <= 1


def test_nothing_known_is_said_so(history: History) -> None:
    history.put("rate.py", code("tax"))
    history.commit(0)
    shown = history.holdfast("blame", "rate.py", check=0).stdout
    assert shown.endswith("No recorded session wrote these lines.\n")


def edits_file(history: History) -> Path:
    (path,) = history.home.glob(".holdfast/projects/*/edits.db")
    return path


def test_no_line_of_code_and_no_secret_is_stored(history: History) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = code("tax") + f'token = "{secret}"\n'
    history.session("a", (60, "rate.py", text), prompt=f"use the token {secret}")
    history.put("rate.py", text)
    history.commit(600)
    history.holdfast("import", check=0)
    history.blame("rate.py")
    data = edits_file(history).read_bytes()
    assert secret.encode() not in data and b"compute_tax" not in data and b"rate.py" in data


@pytest.mark.promise("V5")
def test_a_forgotten_session_is_unknown_and_stays_so(history: History) -> None:
    session = history.write_and_commit("a", "rate.py", code("tax"))
    other = history.write_and_commit("b", "fee.py", code("fee"), at=HOUR)
    history.holdfast("import", check=0)
    assert set(history.sessions("rate.py")) == {session}
    history.holdfast("forget", "--session", session, "--yes", check=0)
    assert session.encode() not in edits_file(history).read_bytes()
    assert set(history.sessions("rate.py")) == {None}
    assert set(history.sessions("fee.py")) == {other}
    assert session.encode() not in edits_file(history).read_bytes()


def test_a_forgotten_text_leaves_the_prompts(history: History) -> None:
    history.session(
        "a", (60, "rate.py", code("tax")), prompt="the account of Wilhelmina Oakenshield is wrong"
    )
    history.put("rate.py", code("tax"))
    history.commit(600)
    history.holdfast("import", check=0)
    assert "Oakenshield" in history.blame("rate.py")[0]["prompt"]
    history.holdfast("forget", "--text", "Wilhelmina Oakenshield", "--yes", check=0)
    assert b"Oakenshield" not in edits_file(history).read_bytes()
    assert "Oakenshield" not in history.blame("rate.py")[0]["prompt"]


def test_a_damaged_store_says_what_to_do(history: History) -> None:
    history.write_and_commit("a", "rate.py", code("tax"))
    history.holdfast("import", check=0)
    history.blame("rate.py")
    edits_file(history).write_bytes(b"not a database, and long enough to be looked at as one" * 40)
    done = history.holdfast("blame", "rate.py")
    assert done.returncode == 1 and "Delete edits.db" in done.stderr


@pytest.mark.promise("V5")
def test_the_decision_of_the_session_about_this_code_is_named_in_the_shell_and_to_agents(
    history: History,
) -> None:
    from holdfast.memory.reference import Reference
    from holdfast.memory.store import MemoryStore
    from holdfast.model.memory import Decision
    from holdfast.store.machine import Machine

    history.holdfast("install", "claude-code", "--yes", check=0)
    session = history.session("a", (60, "rate.py", code("tax")), prompt="compute the tax of an order")
    history.put("rate.py", code("tax"))
    sha = history.commit(600)
    history.put("other.py", code("moon"))
    history.commit(700)
    project = Machine(cwd=history.repo).project()
    decision = Decision(text="Compute tax with tax rates of the order", session=session, by="user", at=1.0)
    MemoryStore(project, project.title).change_facts(lambda _: Reference(decisions=(decision,)))
    (span,) = history.blame("rate.py")
    assert span["decision"] == decision.id
    assert f"decided: {decision.text} ({decision.id})" in history.holdfast("blame", "rate.py", check=0).stdout

    async def scene(said: Talk) -> list[Said]:
        return [await said("open", place=f"blame:{name}") for name in ("rate.py:3", "other.py", "nothing.py")]

    known, unknown, missing = talk(history.repo, scene)
    assert session in known.fenced and sha[:8] in known.fenced and decision.text in known.fenced
    assert "asked: compute the tax of an order" in known.fenced
    assert "session unknown" in unknown.fenced and missing.failed
