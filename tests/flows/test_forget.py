"""Forgetting holds: in every byte, against every import, after a crash; and nobody else's memory notices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agents.builders import START, ClaudeFile
from tests.command import Holdfast
from tests.flows.remembered import FACT_A, FACT_B, OTHER, PERSON, SECRET, SHARED, A, B, BuiltOnce, Remembered
from tests.flows.test_capture import leave
from tests.forked import exit_code, fork

from holdfast.core import files
from holdfast.core.errors import NotFound, StoreError, UsageError
from holdfast.flows import forget as forgetting
from holdfast.flows.capture import capture
from holdfast.ledger.rows import read_ledger, rows
from holdfast.model.memory import Decision, OpenItem, Question
from holdfast.sessions.store import CaptureStore
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.phrases import FORGOTTEN
from holdfast.store.versions import Versions


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> BuiltOnce:
    return BuiltOnce(tmp_path_factory.mktemp("forget"))


@pytest.fixture
def tmp_path(built_once: BuiltOnce) -> Path:
    return built_once.empty()


@pytest.fixture
def memory(built_once: BuiltOnce, repo: Path, home: Path) -> Remembered:
    return built_once.memory(repo, home)


def forget(
    memory: Remembered, sessions: tuple[str, ...] = (), ids: tuple[str, ...] = (), texts: tuple[str, ...] = ()
) -> forgetting.ForgetReport:
    machine = Machine(cwd=memory.root)
    return forgetting.forget(
        machine, memory.project, forgetting.resolve(memory.project, sessions, ids, texts)
    )


def sessions_of(memory: Remembered) -> list[str]:
    return [row.session for row in rows(read_ledger(memory.project))]


def record_exists(memory: Remembered, session: str) -> bool:
    store = CaptureStore(memory.project.capture)
    try:
        return store.record(session) is not None
    finally:
        store.close()


# --- a session -----------------------------------------------------------------------------------------


def test_before_it_is_forgotten_the_word_is_everywhere(memory: Remembered) -> None:
    names = {Path(path).name for path in memory.holding(SECRET)}
    expected = {
        "capture.db",
        "current.md",
        "style.md",
        "reference.md",
        "open-questions.md",
        "log.md",
        "ledger.md",
    }
    assert expected | {"why.jsonl", "hook.log", "hot.db"} <= names


@pytest.mark.promise("G5")
def test_a_forgotten_session_is_in_no_byte_of_the_memory(memory: Remembered) -> None:
    report = forget(memory, (A[:6],))
    assert memory.holding(SECRET) == []
    assert report.removed["ledger.md"] == 1
    assert {
        "projects/shop/log.md",
        "current.md",
        "capture.db",
        "history",
        "why.jsonl",
    } <= report.removed.keys()
    assert sessions_of(memory) == [B]


def test_only_tombstones_are_left_of_it(memory: Remembered) -> None:
    forget(memory, (A,))
    row = next(line for line in memory.text("ledger.md").splitlines() if A in line)
    assert [cell.strip() for cell in row.strip("|").split("|") if cell.strip()] == [A, "?", "forgotten"]
    assert memory.text("projects/shop/log.md").count(A) == 1
    assert f"<!-- session {A} · forgotten -->" in memory.text("projects/shop/log.md")
    assert [entry.session for entry in memory.store.entries().entries] == [B]
    assert memory.store.entries().problems == ()


def test_half_a_version_that_a_killed_writer_left_goes_at_once(memory: Remembered) -> None:
    from holdfast.core.temporary_files import is_temporary

    left = memory.project.memory / "history" / "contents" / ".holdfast-0a1b2c3d-8e356bfb.tmp"
    assert is_temporary(left.name)
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("what session A said", encoding="utf-8")
    forget(memory, (A,))
    assert not left.exists()


def test_what_another_session_says_too_stays_with_that_session(memory: Remembered) -> None:
    forget(memory, (A,))
    reference = memory.store.facts().reference
    (decision,) = reference.decisions
    assert (decision.text, decision.session, decision.rationale) == (SHARED, B, "narwhal says so")
    assert [kept.fact for kept in reference.facts] == [FACT_B]
    assert reference.facts[0].was == ()


def test_a_fact_that_a_forgotten_one_had_replaced_stands_again(memory: Remembered) -> None:
    from holdfast.memory.reference import KeptFact, Reference

    memory.store.change_facts(lambda _: Reference(facts=(KeptFact(fact=FACT_A, was=(FACT_B,)),)))
    forget(memory, (A,))
    assert [kept.fact for kept in memory.store.facts().reference.facts] == [FACT_B]


def narwhal_lines(memory: Remembered) -> dict[str, list[str]]:
    """What the files say of B alone."""
    names = [path.relative_to(memory.memory).as_posix() for path in memory.memory.rglob("*.md")]
    return {
        name: [
            line for line in memory.text(name).splitlines() if OTHER in line and SECRET not in line.lower()
        ]
        for name in names
    }


def test_other_sessions_and_a_persons_words_are_as_they_were(memory: Remembered) -> None:
    before = memory.text("projects/shop/log.md")
    entry = before[before.rindex(f"## 2026-03-02 09:00 · claude-code · {B[:8]}") :]
    row = next(line for line in memory.text("ledger.md").splitlines() if B in line)
    before_lines = narwhal_lines(memory)
    forget(memory, (A,))
    assert entry in memory.text("projects/shop/log.md")
    assert row in memory.text("ledger.md").splitlines()
    assert PERSON in memory.text("current.md")
    after_lines = narwhal_lines(memory)
    missing = {
        name: [line for line in lines if line not in after_lines[name]]
        for name, lines in before_lines.items()
    }
    assert {name: lines for name, lines in missing.items() if lines} == {}
    assert record_exists(memory, B)
    assert not record_exists(memory, A)


def test_a_project_that_knows_nothing_of_it_keeps_every_byte(memory: Remembered) -> None:
    before = memory.every_byte()
    forget(memory, texts=("gnu and gnat",))
    after = memory.every_byte()
    changed = {Path(path).name for path in after if after[path] != before.get(path)}
    derived = {"hot.db", "hot.words", "told.db", "resume.json"}
    assert changed <= {"denied.jsonl", "capture.db", "capture.lock", *derived}
    assert set(before) <= set(after)


@pytest.mark.promise("G5")
@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_importing_again_brings_nothing_back(
    memory: Remembered, holdfast: Holdfast, grown: bool, named: bool
) -> None:
    forget(memory, (A,))
    if grown:
        memory.grow(A, SECRET)
    for arguments in [memory.folder] if named else ["--all"], []:
        holdfast("import", *arguments, check=0)
        assert memory.holding(SECRET) == []
        assert sessions_of(memory) == [B]
        assert not record_exists(memory, A)


def test_an_import_says_that_it_left_out_what_was_forgotten(memory: Remembered, holdfast: Holdfast) -> None:
    forget(memory, (A,))
    memory.grow(A, SECRET)
    report = holdfast("import", "--json", check=0).json()
    assert (report["forgotten"], report["sessions"], report["bytes"]) == (1, 1, 0)
    assert "you removed them with holdfast forget: 1" in holdfast("import", check=0).stdout


def test_copies_forks_and_new_subagents_of_it_stay_out(memory: Remembered, holdfast: Holdfast) -> None:
    original = memory.session_file(A, SECRET)
    forget(memory, (A,))
    copy = memory.folder / "copy.jsonl"
    copy.write_bytes(memory.transcripts[A].read_bytes())
    fork = ClaudeFile("cccc3333-0000-4000-8000-000000000003", str(memory.root), prefix="fork")
    fork.copied_from(original)
    fork.user(300, "Now the walrus part")
    fork.assistant(310, "The walrus is done.")
    fork.save(memory.folder / "fork.jsonl")
    more = ClaudeFile(A, str(memory.root), agent="def456", prefix="sub2")
    more.user(50, "Look at zanzibar tests")
    more.assistant(52, "zanzibar tests are fine")
    more.save(memory.folder / A / "subagents" / "agent-def456.jsonl")
    holdfast("import", check=0)
    assert memory.holding(SECRET) == []
    assert sorted(sessions_of(memory)) == [B, "cccc3333-0000-4000-8000-000000000003"]
    assert memory.holding("walrus")


def test_hooks_capture_nothing_of_it(memory: Remembered) -> None:
    forget(memory, (A,))
    memory.grow(A, SECRET)
    for event in ("Stop", "SessionEnd"):
        leave(memory.enabled, event, memory.transcripts[A], session=A)
        capture(Machine(cwd=memory.root), memory.project)
        assert memory.holding(SECRET) == []
    assert sessions_of(memory) == [B]


def test_letters_of_a_forgotten_session_are_removed(memory: Remembered) -> None:
    leave(memory.enabled, "Stop", memory.transcripts[A], session=A)
    leave(memory.enabled, "Stop", memory.transcripts[B], session=B)
    forget(memory, (A,))
    assert [letter["session"] for letter in memory.enabled.inbox()] == [B]


def test_it_stays_out_even_when_what_was_captured_is_deleted(memory: Remembered, holdfast: Holdfast) -> None:
    forget(memory, (A,))
    memory.project.capture.unlink()
    holdfast("import", check=0)
    assert memory.holding(SECRET) == []
    assert sessions_of(memory) == [B]


def test_it_is_not_logged_again(memory: Remembered) -> None:
    forget(memory, (A,))
    assert memory.store.record(memory.entry(A, SECRET, 0)) == []
    (memory.memory / "denied.jsonl").unlink()
    assert memory.store.record(memory.entry(A, SECRET, 0)) == []  # the log's own tombstone says so too
    assert memory.holding(SECRET) == []


def test_an_archived_session_is_forgotten_as_well(memory: Remembered) -> None:
    memory.store.archive(longest=4)
    assert any("archive" in path for path in memory.holding(SECRET))
    forget(memory, (A,))
    assert memory.holding(SECRET) == []
    assert memory.store.record(memory.entry(A, SECRET, 0)) == []
    assert [entry.session for entry in memory.store.entries().entries] == [B]


def test_a_torn_entry_of_it_goes_too(memory: Remembered) -> None:
    log = memory.store.log_file
    torn = f"\n## 2026-03-02 09:30 · claude-code · {A[:8]}\n\n- **Context:** zanzibar again\n- **Decis"
    log.write_text(log.read_text(encoding="utf-8") + torn, encoding="utf-8")
    forget(memory, (A,))
    assert memory.holding(SECRET) == []


def test_a_row_by_hand_cannot_take_its_name(memory: Remembered, holdfast: Holdfast) -> None:
    forget(memory, (A,))
    assert "forgotten" in holdfast("ledger", "add", "--session", A, check=2).stderr


def test_a_question_that_quotes_it_goes_with_it(memory: Remembered) -> None:
    store = memory.store
    quoting = Decision(text="Zanzibar stays").id
    asked = Question(
        text=f"Which holds: “it stays” ({quoting}) or “it goes” (D-aaaaaa)?", session=B, at=START
    )
    memory.store.record(
        msgspec.structs.replace(
            memory.entry(A, SECRET, 5), decisions=(Decision(text="Zanzibar stays", session=A, at=START),)
        )
    )
    store.change_questions(lambda known: (*known, asked))
    forget(memory, (A,))
    assert asked not in store.questions().questions


def test_a_to_do_of_it_that_a_person_ticked_goes_too(memory: Remembered) -> None:
    current = memory.store.current_file
    text = current.read_text(encoding="utf-8")
    current.write_text(text.replace("- [ ] zanzibar docs", "- [x] zanzibar docs"), encoding="utf-8")
    memory.grow(B, OTHER)
    memory.import_all()
    forget(memory, (A,))
    assert memory.holding(SECRET) == []


# --- undo and history ----------------------------------------------------------------------------------


def test_undo_brings_nothing_back_and_goes_on_working(memory: Remembered) -> None:
    store = memory.store
    forget(memory, (A,))
    assert store.undo("style.md") is not None
    assert store.undo("reference.md") is not None
    assert memory.holding(SECRET) == []
    store.undo("reference.md")
    assert [kept.fact for kept in store.facts().reference.facts] == [FACT_B]
    for name in ("reference.md", "open-questions.md", "style.md", "current.md"):
        for change in store.history(name):
            store.restore(name, change.n)
            assert memory.holding(SECRET) == []


def test_every_version_that_is_left_is_whole(memory: Remembered) -> None:
    forget(memory, (A,), texts=("docs",))
    versions = Versions(memory.memory / "history")
    names = {name for change in versions.changes() for name in (change.before, change.after) if name}
    assert names
    assert all(files.digest(versions.content(name)) == name for name in names)
    assert {path.name for path in (memory.memory / "history" / "contents").iterdir()} == names


def test_a_version_that_cannot_be_understood_is_dropped(memory: Remembered) -> None:
    current = memory.store.current_file
    good = current.read_text(encoding="utf-8")
    current.write_text(good + "\n<!-- holdfast:begin next -->\nzanzibar\n", encoding="utf-8")
    with files.lock(memory.store.lock_path) as held:
        bad = current.read_bytes()
        memory.store.versions.record_all(held, [("current.md", bad, good.encode())], START, "mended")
        files.replace_held(held, current, good.encode(), files.ANYTHING)
    forget(memory, texts=(SECRET,))
    assert memory.holding(SECRET) == []
    assert memory.store.history("current.md")


# --- an id ---------------------------------------------------------------------------------------------


@pytest.mark.promise("G5")
def test_a_forgotten_fact_is_gone_and_does_not_come_back(memory: Remembered, holdfast: Holdfast) -> None:
    forget(memory, ids=(FACT_A.id,))
    assert FACT_A.id not in memory.text("projects/shop/reference.md")
    assert [kept.fact for kept in memory.store.facts().reference.facts] == [FACT_B]
    assert FACT_A.id in memory.store.dismissed()
    assert memory.holding(FACT_A.text) == []


@pytest.mark.parametrize(
    "item",
    [
        Decision(text=SHARED),
        OpenItem(text="wire the zanzibar endpoint"),
    ],
    ids=["decision", "to-do"],
)
def test_anything_with_an_id_goes_from_files_log_and_records(
    memory: Remembered, holdfast: Holdfast, item: Decision | OpenItem
) -> None:
    forget(memory, ids=(item.id.lower(),))
    assert item.id not in "".join(
        memory.text(name) for name in ("projects/shop/log.md", "projects/shop/reference.md", "current.md")
    )
    memory.grow(A, SECRET)
    holdfast("import", check=0)
    store = CaptureStore(memory.project.capture)
    try:
        for session in (A, B):
            record = store.record(session)
            assert record is not None
            kept = [*record.harvest.decisions, *record.harvest.open_items, *record.harvest.facts]
            assert item.id not in {one.id for one in kept}
    finally:
        store.close()


def test_what_a_person_wrote_stays_when_a_fact_goes(memory: Remembered) -> None:
    style = memory.store.style_file
    style.write_text(style.read_text(encoding="utf-8") + f"\n{FACT_A.text}, we believe.\n", encoding="utf-8")
    forget(memory, ids=(FACT_A.id,))
    assert f"{FACT_A.text}, we believe." in memory.text("style.md")


# --- a text --------------------------------------------------------------------------------------------


@pytest.mark.promise("G5")
@pytest.mark.parametrize("text", [SECRET, "  ZANZIBAR.  "])
def test_a_forgotten_text_is_in_no_byte_of_the_memory(
    memory: Remembered, holdfast: Holdfast, text: str
) -> None:
    style = memory.store.style_file
    style.write_text(style.read_text(encoding="utf-8") + "\nAsk about\nZanzibar first.\n", encoding="utf-8")
    forget(memory, texts=(text,))
    assert memory.holding(SECRET) == []
    assert "Ask about\n[forgotten] first." in memory.text("style.md")
    assert sorted(sessions_of(memory)) == [A, B]
    memory.grow(A, SECRET)
    holdfast("import", check=0)
    holdfast("import", memory.folder, check=0)
    memory.project.capture.unlink()
    holdfast("import", check=0)
    assert memory.holding(SECRET) == []
    assert record_exists(memory, A)


def test_facts_questions_and_decisions_go_whole_and_other_texts_get_a_hole(memory: Remembered) -> None:
    forget(memory, texts=(SECRET,))
    reference = memory.store.facts().reference
    assert [kept.fact for kept in reference.facts] == [FACT_B]
    assert [decision.text for decision in reference.decisions] == [SHARED]
    assert [question.text for question in memory.store.questions().questions] == ["Which narwhal?"]
    entry = next(entry for entry in memory.store.entries().entries if entry.session == A)
    assert entry.context == f"Fix the {FORGOTTEN} refund rounding"
    assert entry.summary == f"The {FORGOTTEN}\nis done"
    assert memory.store.entries().problems == ()


def test_words_in_a_row_are_found_over_line_ends_and_escapes(memory: Remembered) -> None:
    forget(memory, texts=("Narwhal is DONE",))
    entry = next(entry for entry in memory.store.entries().entries if entry.session == B)
    assert entry.summary == f"The {FORGOTTEN}"
    assert entry.context == "Fix the narwhal refund rounding"


def test_words_that_are_also_ours_break_no_file(memory: Remembered, holdfast: Holdfast) -> None:
    for text in (
        "done",
        "session",
        "holdfast",
        "main",
        "claude-code",
        "normal",
        "agent",
        "user",
        "next",
        "Context",
    ):
        forget(memory, texts=(text,))
        assert memory.store.entries().problems == (), text
        assert len(memory.store.entries().entries) == 2, text
        assert memory.store.current().problems == [], text
        assert memory.store.facts().problems == [], text
    memory.grow(A, SECRET)
    holdfast("import", check=0)
    assert record_exists(memory, A)
    assert read_ledger(memory.project).problems == []


def test_a_text_that_would_be_found_everywhere_is_refused(memory: Remembered) -> None:
    before = memory.every_byte()
    for text in ("", "abc", "  a ", "----", "\n\n\n\n\n", "[forgotten]"):
        with pytest.raises(UsageError):
            forget(memory, texts=(text,))
        assert memory.every_byte() == before, text


def test_a_hostile_text_is_a_text_like_any_other(memory: Remembered) -> None:
    for text in [
        "| a | b |",
        "<!-- holdfast:end next -->",
        "\x1b[31mred",
        "<<<<<<< HEAD",
        "x" * 100_000,
        "-S --all",
    ]:
        forget(memory, texts=(text,))
    assert memory.store.entries().problems == ()
    assert len(memory.store.entries().entries) == 2


# --- what cannot be done -------------------------------------------------------------------------------


def test_an_unknown_id_changes_nothing(memory: Remembered) -> None:
    before = memory.every_byte()
    for sessions in (("nope",), ("",), (A, "nope")):
        with pytest.raises(NotFound):
            forget(memory, sessions)
        assert memory.every_byte() == before, sessions
    for id in ("F-zzzzzz", "F-", ""):
        with pytest.raises(NotFound):
            forget(memory, ids=(id,))
        assert memory.every_byte() == before, id


@pytest.mark.parametrize("fault", ["conflict", "directory", "link"])
def test_a_file_that_cannot_be_understood_is_named_and_nothing_changes(
    memory: Remembered, tmp_path: Path, fault: str
) -> None:
    current = memory.store.current_file
    if fault == "conflict":
        current.write_text("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n", encoding="utf-8")
    else:
        current.unlink()
        if fault == "directory":
            current.mkdir()
        else:
            (tmp_path / "elsewhere.md").write_text("zanzibar\n", encoding="utf-8")
            current.symlink_to(tmp_path / "elsewhere.md")
    before = memory.every_byte()
    with pytest.raises(StoreError, match=r"current\.md"):
        forget(memory, (A,))
    assert {path: data for path, data in memory.every_byte().items() if "/locks/" not in path} == {
        path: data for path, data in before.items() if "/locks/" not in path
    }


def test_a_project_that_remembers_nothing_says_so(holdfast: Holdfast, repo: Path) -> None:
    assert "no memory yet" in holdfast("forget", "--text", "zanzibar", "--yes", check=1).stderr
    assert not (repo / ".holdfast").exists()


# --- the command ---------------------------------------------------------------------------------------


def test_a_dry_run_changes_no_byte_and_counts_what_would_go(memory: Remembered, holdfast: Holdfast) -> None:
    before = memory.every_byte()
    arguments = ("forget", "--session", A[:5], "--fact", FACT_B.id, "--text", "quokka plan", "--json")
    planned = holdfast(*arguments, "--dry-run", check=0).json()
    assert memory.every_byte() == before
    done = holdfast(*arguments, "--yes", check=0).json()
    assert planned["removed"] == done["removed"]
    assert done["sessions"] == [A]
    assert done["denied"] == {"sessions": [A], "ids": [FACT_B.id], "texts": 1}
    assert {held["path"] for held in done["elsewhere"]} == {str(memory.transcripts[A]), str(memory.subagent)}


def test_a_script_must_say_yes(memory: Remembered, holdfast: Holdfast) -> None:
    before = memory.every_byte()
    assert "--yes" in holdfast("forget", "--session", A, check=2).stderr
    assert memory.every_byte() == before
    assert "nothing to forget" in holdfast("forget", "--yes", check=2).stderr


@pytest.mark.promise("G5")
def test_it_says_which_commits_still_hold_it(memory: Remembered, holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "share", check=0)
    subprocess.run(["git", "-C", str(repo), "commit", "-qm", "share"], check=True)
    commit = subprocess.run(
        ["git", "-C", str(repo), "log", "--format=%h"], capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()
    report = holdfast("forget", "--session", A, "--yes", "--json", check=0).json()
    assert report["git"] == [{"path": ".holdfast/ledger.md", "commits": [commit]}]
    assert report["removed"][".holdfast/ledger.md"] == 1
    assert report["commit"] is True
    assert memory.holding(SECRET) == []
    by_text = holdfast("forget", "--text", "Zanzibar", "--dry-run", check=0).stdout
    assert commit in by_text
    assert "yours" in by_text


def test_backups_that_hold_it_are_named_and_left_alone(memory: Remembered) -> None:
    from holdfast.upkeep.doctor import back_up

    backup = back_up(memory.project, 1)
    before = backup.read_bytes()
    report = forget(memory, (A,), texts=(SECRET,))
    assert str(backup) in [held.path for held in report.elsewhere]
    assert backup.read_bytes() == before


# --- crashes and others at work ------------------------------------------------------------------------


def test_forgetting_twice_is_forgetting_once(memory: Remembered) -> None:
    forget(memory, (A,), texts=(SECRET,))
    before = {path: data for path, data in memory.every_byte().items() if not path.endswith((".db", ".lock"))}
    assert forget(memory, (A[:8],), texts=(SECRET,)).removed == {}
    assert {
        path: data for path, data in memory.every_byte().items() if not path.endswith((".db", ".lock"))
    } == before


def forget_and_die(memory: Remembered, writes: int) -> None:
    """Forgets, and is killed after so many files were replaced."""
    replace = files.replace_held
    left = iter(range(writes))

    def replace_or_die(*arguments: Any) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(*arguments)

    files.replace_held = replace_or_die
    forget(memory, (A,))


@pytest.mark.parametrize("writes", [0, 1, 2, 4, 7, 10, 13, 16])
def test_a_killed_forget_is_finished_by_the_next(memory: Remembered, holdfast: Holdfast, writes: int) -> None:
    assert exit_code(fork(lambda: forget_and_die(memory, writes))) in (0, -signal.SIGKILL)
    assert A in Denied(memory.memory).sessions
    holdfast("import", check=0)
    assert sessions_of(memory) in ([B], [A, B], [B, A])
    forget(memory, (A[:8],))
    assert memory.holding(SECRET) == []
    assert sessions_of(memory) == [B]
    assert memory.store.entries().problems == ()
    assert memory.store.undo("style.md") is not None


def test_an_import_at_the_same_time_brings_nothing_back(memory: Remembered, holdfast: Holdfast) -> None:
    memory.grow(A, SECRET)
    running = [fork(lambda: memory.import_all(memory.folder)) for _ in range(3)]
    forget(memory, (A,))
    assert [exit_code(process) for process in running] == [0, 0, 0]
    holdfast("import", check=0)
    assert memory.holding(SECRET) == []
    assert sessions_of(memory) == [B]


def test_what_a_dead_writer_left_is_swept(memory: Remembered) -> None:
    left = memory.memory / ".holdfast-current.md-0011aabb.tmp"
    left.write_text("zanzibar", encoding="utf-8")
    os.utime(left, (time.time() - 600,) * 2)
    forget(memory, (A,))
    assert not left.exists()


def test_a_record_that_was_replaced_before_leaves_no_page_behind(memory: Remembered) -> None:
    for n in range(5):
        memory.grow(A, SECRET, at=200 + 10 * n)
        memory.import_all()
    forget(memory, (A,))
    assert memory.holding(SECRET) == []
    assert (
        not list(memory.memory.glob("capture.db-wal"))
        or (memory.memory / "capture.db-wal").stat().st_size == 0
    )


def test_the_denylist_costs_nothing_where_there_is_none(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    clean = str.upper
    assert not denied
    assert denied.cleaner(clean) is clean
    assert json.dumps(denied.strip("x")) == '"x"'
