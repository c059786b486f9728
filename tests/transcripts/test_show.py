"""`holdfast show`: a recorded session as a person reads it, in every form, and what happens when it is not there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.agents.builders import SESSION, START, ClaudeFile, CodexFile
from tests.conftest import Holdfast

from holdfast.memory.reference import Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Decision
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("V4")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def told(repo: Path, tmp_path: Path) -> Path:
    """A session with two prompts, an edit, a failing and a passing check."""
    file = ClaudeFile(cwd=str(repo))
    file.user(0, "count leap seconds in the tide table")
    file.assistant(2, "I look at the table first.")
    read = file.call(3, "Read", {"file_path": f"{repo}/tide.py"})
    file.result(4, read, "1\tsecond = 59")
    edit = file.call(
        5, "Edit", {"file_path": f"{repo}/tide.py", "old_string": "second = 59", "new_string": "second = 60"}
    )
    file.result(6, edit, "The file has been updated.")
    file.run(7, "make test", "1 failed: moon", exit_code=2, took=30)
    file.run(50, "make test", "3 passed")
    file.assistant(60, "They are counted.")
    file.user(100, f"<b>thanks</b>, and the token is {TOKEN}")
    file.assistant(110, "It is not needed.")
    return file.save(tmp_path / "transcripts" / f"{SESSION}.jsonl")


def shown(holdfast: Holdfast, *words: str) -> str:
    return holdfast("show", *words, check=0).stdout


@pytest.fixture
def imported(holdfast: Holdfast, told: Path) -> Path:
    holdfast("import", told, check=0)
    return told


def test_a_session_reads_from_its_title_to_its_last_answer(holdfast: Holdfast, imported: Path) -> None:
    lines = shown(holdfast, SESSION[:8]).splitlines()
    assert lines[0] == "Count leap seconds in the tide table"
    assert lines[1].startswith(f"{SESSION[:8]} · claude-code · ")
    text = "\n".join(lines)
    order = (
        "▸ 1", "count leap seconds", "I look at the table first.", "✓ read tide.py", "✎ tide.py  +1 −1",
        "-second = 59", "+second = 60", "✗ $ make test", "exit 2", "│ Exit code 2", "✓ $ make test",
        "They are counted.", "── prompt 1: 4 calls", "▸ 2", "It is not needed.",
    )  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_without_a_word_it_is_the_newest_session(holdfast: Holdfast, imported: Path) -> None:
    assert shown(holdfast) == shown(holdfast, "last") == shown(holdfast, SESSION)


@pytest.mark.parametrize("form", ["", "--markdown", "--html", "--json"])
def test_no_form_shows_a_secret(holdfast: Holdfast, imported: Path, form: str) -> None:
    text = shown(holdfast, SESSION, *filter(None, [form]))
    assert "not needed" in text and TOKEN not in text and TOKEN[4:20] not in text


def test_html_is_one_inert_file(holdfast: Holdfast, imported: Path) -> None:
    page = shown(holdfast, SESSION, "--html")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "&lt;b&gt;thanks&lt;/b&gt;" in page and "<b>" not in page
    assert "<script" not in page and "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", ""), "nothing is loaded from anywhere"


def test_markdown_keeps_its_fences_whatever_an_agent_wrote(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    file = ClaudeFile(cwd=str(repo))
    file.user(0, "write the readme of the tide table")
    edit = file.call(1, "Write", {"file_path": f"{repo}/README.md", "content": "```sh\nmake\n````\ndone"})
    file.result(2, edit, "ok")
    file.assistant(3, "Written.")
    holdfast("import", file.save(tmp_path / f"{SESSION}.jsonl"), check=0)
    text = shown(holdfast, "last", "--markdown")
    assert "`````diff" in text and text.count("`````") == 2


def test_an_answer_does_not_run_into_the_call_before_it() -> None:
    from holdfast.transcripts.as_markdown import markdown
    from holdfast.transcripts.as_text import TextPage
    from holdfast.transcripts.story import Answer, Call

    scenes = [
        Call(1.0, "Bash", "shell", "make", True),
        Call(1.5, "todo", "other", ""),
        Answer(2.0, "It works."),
    ]
    for lines in (list(markdown(["x"], scenes)), list(TextPage(80).lines(scenes))):
        at = next(number for number, line in enumerate(lines) if "It works." in line)
        assert lines[at - 1] == "" and "todo" in lines[at - 2]
        assert all(line == line.rstrip() for line in lines) and "todo `" not in "".join(lines)


def test_json_has_every_scene_with_its_kind(holdfast: Holdfast, imported: Path) -> None:
    value = holdfast("show", SESSION, "--json", check=0).json()
    assert value["session"] == SESSION and value["title"] == "Count leap seconds in the tide table"
    kinds = [scene["type"] for scene in value["scenes"]]
    assert kinds[0] == "prompt" and kinds.count("prompt") == 2 and kinds.count("sum") == 2
    edit = next(scene for scene in value["scenes"] if scene["type"] == "edit")
    assert edit["path"] == "tide.py" and "+second = 60" in edit["diff"]


@pytest.mark.parametrize("at", ["2", "THANKS"])
def test_it_starts_at_a_prompt_by_number_or_words(holdfast: Holdfast, imported: Path, at: str) -> None:
    text = shown(holdfast, SESSION, "--at", at)
    assert "▸ 2" in text and "▸ 1" not in text


def test_a_commit_names_the_session_that_made_it(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    (repo / "tide.py").write_text("second = 60\n", encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "Count leap seconds")
    sha = git(repo, "rev-parse", "HEAD")
    file = CodexFile(cwd=str(repo))
    file.ask(1, "commit the tide table")
    file.run(
        2, "git commit -am 'Count leap seconds'", f"[main {sha[:7]}] Count leap seconds\n 1 file changed"
    )
    file.agent(3, "Committed.")
    holdfast("import", file.save(tmp_path / "rollout-a.jsonl"), check=0)
    assert "commit the tide table" in shown(holdfast, sha[:9])
    (repo / "moon.py").write_text("moon = 1\n", encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "By hand")
    refused = holdfast("show", git(repo, "rev-parse", "HEAD"), check=1).stderr
    assert "no recorded session made commit" in refused and refused.count("\n") == 1


def test_a_session_whose_transcript_is_gone_shows_what_memory_kept(
    holdfast: Holdfast, imported: Path
) -> None:
    imported.unlink()
    text = shown(holdfast, SESSION)
    assert "The transcript is gone" in text and "count leap seconds" in text and "✎ tide.py" in text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["zzzzzzzz"], "no session and no commit 'zzzzzzzz'"),
        (["ab"], "too short"),
        (["last", "--at", "9"], "no prompt '9'"),
        (["last", "--pr"], "--pr works on the current branch"),
    ],
)
def test_what_cannot_be_shown_is_one_clear_line(
    holdfast: Holdfast, imported: Path, words: list[str], problem: str
) -> None:
    done = holdfast("show", *words)
    assert done.returncode in (1, 2) and problem in done.stderr and done.stderr.count("\n") == 1


def test_an_ambiguous_beginning_names_the_candidates(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    for tail in ("aa", "bb"):
        file = ClaudeFile(session=f"0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a{tail}", cwd=str(repo), prefix=tail)
        file.user(0, f"draw the moon {tail}")
        file.assistant(1, "Drawn.")
        holdfast("import", file.save(tmp_path / f"{tail}.jsonl"), check=0)
    assert "fits 2 sessions" in holdfast("show", "0f0e7c1a", check=1).stderr


def test_a_pull_request_gets_decisions_checks_and_sessions_of_its_branch(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    (repo / "a").write_text("a", encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    git(repo, "branch", "-M", "main")
    git(repo, "checkout", "-qb", "leap")
    file = ClaudeFile(cwd=str(repo), branch="leap")
    file.user(0, "count leap seconds in the tide table")
    file.edit(1, f"{repo}/tide.py")
    file.run(3, "make test", "3 passed")
    file.assistant(5, "They are counted.")
    holdfast("import", file.save(tmp_path / f"{SESSION}.jsonl"), check=0)
    project = Machine(cwd=repo).project()
    decision = Decision(
        text="Leap seconds stand in a table of their own",
        rationale="they change",
        session=SESSION,
        by="user",
        at=START,
    )
    MemoryStore(project, project.title).change_facts(lambda _: Reference(decisions=(decision,)))
    text = shown(holdfast, "--pr")
    assert f"## What was decided\n\n- {decision.text} — they change ({decision.id})" in text
    assert "## Checked\n\n- test: `make test` passed" in text
    assert "## Sessions\n\n- Count leap seconds in the tide table (claude-code, done)" in text
    git(repo, "checkout", "-q", "main")
    assert "no pull request can be opened from here" in holdfast("show", "--pr", check=2).stderr


def test_the_first_screen_does_not_wait_for_the_end(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    """Scenes are made while the transcript is read: what is behind the first prompt is not touched for it."""
    from holdfast.model.events import AgentTurn, UserTurn
    from holdfast.transcripts.story import Teller

    read = []

    def events():
        for number in range(1_000):
            read.append(number)
            yield (
                UserTurn(float(number), f"prompt {number}")
                if number % 2 == 0
                else AgentTurn(float(number), "answer")
            )

    scenes = Teller(lambda text: text).scenes(events())
    next(scenes)
    assert read == [0]


def test_a_forgotten_session_is_not_read_again_from_a_transcript_that_is_still_there(
    holdfast: Holdfast, imported: Path
) -> None:
    holdfast("forget", "--session", SESSION, "--yes", check=0)
    refused = holdfast("show", SESSION)
    assert refused.returncode != 0
    assert "leap seconds" not in refused.stdout + refused.stderr
    assert "was forgotten" in refused.stderr
