"""The memory on disk: the log only grows, hand edits are never overwritten, versions come back, faults lose nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import files
from holdfast.core.errors import NameRefused, NotFound, StoreError, UsageError
from holdfast.memory import session_log
from holdfast.memory.current import Current, CurrentFile, NextStep
from holdfast.memory.reference import KeptFact, Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Fact, Finding, LogEntry, OpenItem, Question
from holdfast.store import versions
from holdfast.store.project import Project

AT = 1_767_621_720.0
DAY = 86_400.0


def project_in(folder: Path) -> Project:
    window = folder / "shop" / ".holdfast"
    memory = folder / "home" / "projects" / "shop-1"
    return Project(root=folder / "shop", window=window, memory=memory, identity_file=window / "id")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_in(tmp_path)


@pytest.fixture
def store(project: Project) -> MemoryStore:
    return MemoryStore(project, "shop", clock=lambda: AT + 365 * DAY)  # after all that is recorded here


def entry(session: str, at: float = AT, **values: object) -> LogEntry:
    return LogEntry(session=session, agent="codex", at=at, **values)  # type: ignore[arg-type]


def step(text: str) -> Callable[[CurrentFile], Current]:
    return lambda _file: Current(next=(NextStep(text=text),))


def also(text: str) -> Callable[[CurrentFile], Current]:
    return lambda file: Current(todo=(*file.current.todo, OpenItem(text=text)))


# --- the log -------------------------------------------------------------------------------------------


@pytest.mark.promise("M2")
def test_a_session_is_logged_once_and_again_when_it_changed(store: MemoryStore) -> None:
    assert store.record(entry("a"))
    first = store.log_file.read_bytes()
    assert not store.record(entry("a"))
    assert store.log_file.read_bytes() == first
    changed = entry("a", findings=(Finding(text="new", session="a", at=AT),))
    assert store.record(changed)
    assert store.log_file.read_bytes().startswith(first)
    assert store.entries().entries == (changed,)
    assert not store.record(changed)


@pytest.mark.promise("M2")
def test_no_entry_without_session_and_date(store: MemoryStore) -> None:
    for bad in (entry(""), LogEntry(session="a", agent="codex", at=None)):
        with pytest.raises(UsageError, match="needs a session and a date"):
            store.record(bad)
    assert not store.log_file.exists()


@pytest.mark.promise("M2", "M8")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_log_only_grows_until_whole_sessions_move_to_the_archive(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    chance = random.Random(seed)
    root = tmp_path_factory.mktemp("memory")
    store = MemoryStore(project_in(root), "shop")
    expected: dict[str, LogEntry] = {}
    before = b""
    for n in range(30):
        name = f"s{chance.randrange(20)}"
        found = tuple(Finding(text=f"finding {k}") for k in range(chance.randrange(4)))
        new = entry(name, AT + chance.randrange(90) * DAY, findings=found, summary=str(n))
        store.record(new, longest=60)
        expected[name] = new
        after = store.log_file.read_bytes()
        assert after.startswith(before) or any(store.archive_folder.iterdir())
        assert len(after.splitlines()) <= 60
        before = after
    seen = store.entries()
    assert seen.problems == ()
    assert {found.session: found for found in seen.entries} == expected
    assert [found.at for found in seen.entries] == sorted(found.at or 0 for found in seen.entries)


@pytest.mark.promise("M8")
def test_archived_sessions_lie_whole_in_the_file_of_their_month(store: MemoryStore) -> None:
    for n in range(40):
        store.record(entry(f"s{n}", AT + 2 * n * DAY), longest=10_000)
    whole = store.log_file.read_text("utf-8")
    moved = store.archive(longest=100)
    names = sorted(path.name for path in store.archive_folder.iterdir())
    assert moved > 20 and names == ["2026-01.md", "2026-02.md"]
    parts = [path.read_text("utf-8").partition("\n\n")[2] for path in sorted(store.archive_folder.iterdir())]
    rest = store.log_file.read_text("utf-8")
    preamble = whole[: whole.index("## ")]
    assert preamble + "".join(parts) + rest.removeprefix(preamble) == whole
    assert store.archive(longest=100) == 0
    assert not store.record(entry("s0")), "an archived session is known"


@pytest.mark.promise("M8")
def test_a_crash_between_archive_and_log_doubles_nothing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        store.record(entry(f"s{n}", AT + n * DAY), longest=10_000)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session_log.files, "replace_held", crash)
        with pytest.raises(KeyboardInterrupt):
            store.archive(longest=100)
    assert len(store.entries().entries) == 40
    archived = {path: path.read_bytes() for path in store.archive_folder.iterdir()}
    assert store.archive(longest=100) > 20
    assert {path: path.read_bytes() for path in store.archive_folder.iterdir()} == archived
    assert len(store.entries().entries) == 40


@pytest.mark.promise("M2")
def test_a_broken_entry_is_reported_with_its_line_and_kept(store: MemoryStore) -> None:
    store.record(entry("a"))
    with store.log_file.open("ab") as log:
        log.write("\n## 2026-01-06 10:00 · codex · torn\n\n- **Context:** hal".encode() + b"\xff")
    store.record(entry("b"))
    found = store.entries()
    assert [kept.session for kept in found.entries] == ["a", "b"]
    assert [problem.message for problem in found.problems] == [
        "log.md:9: the entry breaks off before its end. The next capture of it is added below."
    ]
    assert b"hal\xff\n" in store.log_file.read_bytes()


# --- files that change ---------------------------------------------------------------------------------


@pytest.mark.promise("M1")
def test_a_hand_edit_made_meanwhile_is_never_overwritten(store: MemoryStore) -> None:
    store.change_current(step("one"))
    calls = []

    def slowly(file: CurrentFile) -> Current:
        calls.append(file.document.render())
        if len(calls) <= 3:  # a person saves while we work
            with store.current_file.open("ab") as current:
                current.write(f"\n- by hand {len(calls)}\n".encode())
        return Current(next=(NextStep(text="two"),))

    assert store.change_current(slowly)
    text = store.current_file.read_text("utf-8")
    assert [f"by hand {n}" in text for n in (1, 2, 3)] == [True] * 3
    assert store.current().current.next == (NextStep(text="two"),)
    assert len(calls) == 4


@pytest.mark.promise("M1")
def test_bytes_that_are_no_text_come_back_as_they_were(store: MemoryStore) -> None:
    store.current_file.parent.mkdir(parents=True)
    store.current_file.write_bytes(b"\xef\xbb\xbf# Mine \xff\xfe\r\nno end")
    store.change_current(step("one"))
    assert store.current_file.read_bytes().startswith(b"\xef\xbb\xbf# Mine \xff\xfe\r\nno end\r\n")


@pytest.mark.promise("M3", "M4", "M5")
def test_facts_questions_and_corrections_are_kept_by_project(project: Project, store: MemoryStore) -> None:
    fact = Fact(
        text="port 8080", category="endpoint", command="ss -ltn", evidence="*:8080", session="a", at=AT
    )
    question = Question(text="Which region?", answer="eu", by="user")
    assert store.change_facts(lambda _: Reference(facts=(KeptFact(fact=fact),)))
    assert store.change_questions(lambda known: (*known, question))
    assert store.propose(["Use pnpm"])
    assert not store.propose(["Use pnpm"])
    assert [kept.fact for kept in store.facts().reference.facts] == [fact]
    assert store.questions().questions == (question,)
    other = MemoryStore(project, "docs")
    assert (other.facts().reference, other.questions().questions) == (Reference(), ())
    assert other.style() == store.style()


@pytest.mark.promise("M3")
def test_a_fact_without_evidence_changes_nothing(store: MemoryStore) -> None:
    with pytest.raises(UsageError, match="has no evidence"):
        store.change_facts(lambda _: Reference(facts=(KeptFact(fact=Fact(text="port 8080")),)))
    assert not store.reference_file.exists()


# --- versions ------------------------------------------------------------------------------------------


@pytest.mark.promise("M15")
def test_undo_takes_back_the_last_change_and_twice_brings_it_back(store: MemoryStore) -> None:
    for text in ("one", "two"):
        store.change_current(step(text), reason=f"capture {text}")
    two = store.current_file.read_bytes()
    (undone,) = store.undo()
    assert [change.reason for change in undone.changes] == ["capture two"]
    assert store.current().current.next == (NextStep(text="one"),)
    store.undo()
    assert store.current_file.read_bytes() == two
    assert [change.reason for change in store.history("current.md")] == [
        "undo",
        "undo",
        "capture two",
        "capture one",
    ]


@pytest.mark.promise("M15")
def test_any_version_comes_back_and_a_hand_edit_is_one(store: MemoryStore) -> None:
    store.change_current(step("one"))
    store.current_file.write_bytes(store.current_file.read_bytes() + b"\nby hand\n")
    by_hand = store.current_file.read_bytes()
    with pytest.raises(StoreError, match=r"current\.md: it has been edited by hand since"):
        store.undo()
    assert store.current_file.read_bytes() == by_hand
    store.change_current(step("two"))
    reasons = [(change.n, change.reason) for change in store.history("current.md")]
    assert reasons == [(3, ""), (2, versions.BY_HAND), (1, "")]
    assert store.restore("current.md", 2)
    assert store.current_file.read_bytes() == by_hand
    assert not store.restore("current.md", 2)
    with pytest.raises(NotFound, match=r"current\.md has no version 99"):
        store.restore("current.md", 99)
    with pytest.raises(UsageError, match=r"'log\.md' keeps no versions"):
        store.history("log.md")


@pytest.mark.promise("M15")
def test_undoing_the_first_change_removes_the_file_and_it_can_return(store: MemoryStore) -> None:
    assert store.undo() == ()
    store.change_questions(lambda _: (Question(text="Which region?"),))
    store.undo()
    assert not store.questions_file.exists()
    store.undo()
    assert store.questions().questions == (Question(text="Which region?"),)


@pytest.mark.promise("M15")
def test_the_last_fifty_versions_are_kept_each_content_once(store: MemoryStore) -> None:
    for n in range(150):
        store.change_current(step(f"step {n % 100}"))
    changes = store.history("current.md")
    assert versions.KEPT <= len(changes) <= versions.KEPT + 25
    assert store.content("current.md", changes[0].n) == store.current_file.read_bytes()
    assert len(list((store.versions.directory / "contents").iterdir())) <= len(changes) + 1
    assert all(store.content("current.md", change.n) for change in changes)


# --- bad places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "a/b", ".git", "con", "", "-rf", "_x"])
def test_a_project_with_a_dangerous_name_is_refused(project: Project, name: str) -> None:
    with pytest.raises(NameRefused):
        MemoryStore(project, name)


WRITES: list[Callable[[MemoryStore], object]] = [
    lambda store: store.change_current(step("x")),
    lambda store: store.change_questions(lambda _: (Question(text="x"),)),
    lambda store: store.change_facts(lambda facts: facts),
    lambda store: store.propose(["x"]),
    lambda store: store.record(entry("x")),
]
PLACES = ["current_file", "questions_file", "reference_file", "style_file", "log_file"]


@pytest.mark.parametrize(("write", "place"), list(zip(WRITES, PLACES, strict=True)), ids=PLACES)
def test_a_directory_or_a_link_in_the_place_of_a_file_is_refused(
    store: MemoryStore, tmp_path: Path, write: Callable[[MemoryStore], object], place: str
) -> None:
    path: Path = getattr(store, place)
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="it is a directory") as caught:
        write(store)
    assert str(path) in caught.value.where and caught.value.fix
    path.rmdir()
    outside = tmp_path / "secret"
    outside.write_bytes(b"theirs")
    path.symlink_to(outside)
    with pytest.raises(StoreError, match=r"it is a link to .*secret"):
        write(store)
    assert outside.read_bytes() == b"theirs"
    assert path.is_symlink()


def test_a_folder_that_leads_out_of_the_memory_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    store.log_file.parent.parent.mkdir(parents=True)
    store.log_file.parent.symlink_to(tmp_path / "elsewhere")
    for act in (store.entries, store.facts, store.questions, lambda: store.record(entry("a"))):
        with pytest.raises(StoreError, match="a link on the way leads out"):
            act()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.promise("M1")
def test_conflict_markers_stop_the_write_and_nothing_is_lost(store: MemoryStore) -> None:
    store.change_current(step("one"))
    torn = store.current_file.read_bytes() + b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    store.current_file.write_bytes(torn)
    for act in (store.current, lambda: store.change_current(step("two"))):
        with pytest.raises(StoreError, match=r"current\.md:\d+: an unresolved git conflict"):
            act()
    assert store.current_file.read_bytes() == torn


# --- crashes and crowds --------------------------------------------------------------------------------

WORKER = """
import os, signal, sys
from pathlib import Path
from holdfast.model.memory import LogEntry, OpenItem
from holdfast.core import files
from holdfast.store.project import Project
from holdfast.memory.store import MemoryStore
from holdfast.memory.current import Current

memory, name, rounds, point = sys.argv[1:]
memory = Path(memory)
project = Project(root=memory, window=memory, memory=memory, identity_file=memory / "id")
store = MemoryStore(project, "shop")
calls = 0
def die_at(module, attribute):
    real = getattr(module, attribute)
    def wrapped(*arguments, **more):
        global calls
        calls += 1
        if calls == int(point):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)
    setattr(module, attribute, wrapped)
if int(point):
    for attribute in ("replace", "write", "fsync", "open"):
        die_at(os, attribute)
for n in range(int(rounds)):
    text = f"{name}-{n}"
    store.record(LogEntry(session=text, agent="codex", at=1_767_621_720.0 + n, context=text * 50), longest=40)
    store.change_current(lambda file: Current(todo=(*file.current.todo, OpenItem(text=text))))
    os.write(1, text.encode() + b"\\n")
"""


def start(store: MemoryStore, name: str, rounds: int, point: int = 0) -> subprocess.Popen[bytes]:
    arguments = [str(store.project.memory), name, str(rounds), str(point)]
    return subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE)


@pytest.mark.promise("M1", "M2")
def test_writers_at_once_lose_nothing(store: MemoryStore) -> None:
    workers = [start(store, f"w{n}", 8) for n in range(3)]
    done = {line.decode() for worker in workers for line in worker.communicate()[0].split()}
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert len(done) == 24
    assert {found.session for found in store.entries().entries} == done
    assert {item.text for item in store.current().current.todo} == done
    assert store.entries().problems == ()


@pytest.mark.promise("M1", "M2", "M15")
@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a thing of POSIX")
def test_kill_9_at_any_point_of_a_write_leaves_the_old_or_the_new(store: MemoryStore) -> None:
    store.change_current(also("first"))
    store.record(entry("first"))
    killed = 0
    for point in range(1, 60, 2):
        worker = start(store, f"k{point}", 1, point)
        acknowledged = [line.decode() for line in worker.communicate()[0].split()]
        killed += worker.returncode == -signal.SIGKILL
        todo = [item.text for item in store.current().current.todo]
        sessions = [found.session for found in store.entries().entries]
        assert todo[0] == "first" and "first" in sessions
        assert set(acknowledged) <= set(todo) & set(sessions)
    assert killed >= 15
    assert store.change_current(also("last"))
    assert store.record(entry("last"))
    assert store.undo()
    assert files.read(store.current_file) is not None
    assert [path.name for path in store.current_file.parent.iterdir() if path.name.endswith(".tmp")] == []


def test_what_a_person_deleted_by_hand_is_known_and_stays_known(store: MemoryStore) -> None:
    questions = (
        Question(text="Which port?", session="s", at=AT),
        Question(text="Which host?", session="s", at=AT),
    )
    store.change_questions(lambda known: questions)
    assert store.dismissed() == set()
    lines = store.questions_file.read_text().splitlines(keepends=True)
    store.questions_file.write_text("".join(line for line in lines if "Which port" not in line))
    assert store.dismissed() == {questions[0].id}
    store.change_questions(lambda known: [*known, Question(text="Which path?", session="s", at=AT)])
    assert store.dismissed() == {questions[0].id}, "remembered after the next write too"


def test_a_change_that_a_crash_prevented_dismisses_nothing(store: MemoryStore) -> None:
    store.change_questions(lambda known: [Question(text="Which port?", session="s", at=AT)])
    before = store.questions_file.read_bytes()
    store.change_questions(lambda known: [*known, Question(text="Which host?", session="s", at=AT)])
    store.questions_file.write_bytes(before)  # as if the replacement had never happened
    assert store.dismissed() == set()
