"""`holdfast export`, `restore` and `uninstall --purge` as a user runs them: between homes, into what is there, under faults."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.test_terminal import on_terminal
from tests.command import Holdfast
from tests.remembered import contents, everything, project_at, remember
from tests.store.test_bundle import forged, listed, plain

import holdfast as package
from holdfast.briefing.projects import memory_of
from holdfast.cli.main import main
from holdfast.core import files
from holdfast.flows import transplant
from holdfast.ledger.store import LedgerStore
from holdfast.memory.store import Dismissed
from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import Question
from holdfast.store.bundle import check_bundle, unpack_bundle
from holdfast.store.machine import Machine
from holdfast.store.switches import enable, switches_of
from holdfast.store.versions import Versions

DEMO = Path(package.__file__).parent / "demo_sessions"


class Elsewhere:
    """Another machine: its own home, and a clone of the repository."""

    def __init__(self, home: Path, repo: Path) -> None:
        self.home, self.repo = home, repo
        self.env = {"HOME": str(home), "USERPROFILE": str(home)}

    def project(self) -> Machine:
        return Machine(env={**os.environ, **self.env}, cwd=self.repo)


@pytest.fixture
def elsewhere(tmp_path: Path, make_repo: Callable[[str], Path]) -> Elsewhere:
    home = tmp_path / "other home"
    home.mkdir()
    return Elsewhere(home, make_repo("clone"))


@pytest.fixture
def archive(holdfast: Holdfast, repo: Path, tmp_path: Path) -> Path:
    """A memory of everything, exported."""
    holdfast("import", DEMO, check=0)
    remember(repo, "alpha")
    path = tmp_path / "shop.tar.gz"
    holdfast("export", path, check=0)
    return path


# --- there and back ------------------------------------------------------------------------------------


@pytest.mark.promise("M9")
def test_a_memory_exported_and_restored_elsewhere_is_the_same_and_an_import_adds_nothing(
    holdfast: Holdfast, repo: Path, archive: Path, elsewhere: Elsewhere
) -> None:
    done = holdfast(
        "restore", archive, "--trust", "--yes", "--json", cwd=elsewhere.repo, env=elsewhere.env, check=0
    ).json()
    assert done["done"] and done["mode"] == "new" and done["title"] == "shop" and done["backup"] is None
    there = elsewhere.project().project()
    restored, original = contents(there), contents(project_at(repo))
    for memory in (restored, original):  # sessions of another machine do not promote lessons here
        assert memory.pop("lessons/record.json")
    assert restored == original
    assert there.title == "shop"  # the clone's folder has another name
    listed_here = holdfast("ledger", "list", "--json", check=0).json()
    listed_there = holdfast("ledger", "list", "--json", cwd=elsewhere.repo, env=elsewhere.env, check=0).json()
    assert listed_there == listed_here and len(listed_here) == 10
    session = listed_here[0]["session"]
    shown = holdfast("ledger", "show", session, "--json", cwd=elsewhere.repo, env=elsewhere.env, check=0)
    shown_there, shown_here = shown.json(), holdfast("ledger", "show", session, "--json", check=0).json()
    assert (shown_there.pop("origin"), shown_here.pop("origin")) == ("other_archive", "session")
    assert shown_there == shown_here
    for command in (["import", DEMO], ["import", shutil.copytree(DEMO, elsewhere.home / "copied")]):
        again = holdfast(*command, "--json", cwd=elsewhere.repo, env=elsewhere.env, check=0).json()
        assert (again["added"], again["updated"]) == (0, 0)
    assert (elsewhere.repo / ".holdfast" / "local" / "current.md").is_file()
    assert (elsewhere.repo / ".holdfast" / "ledger.md").is_symlink()
    assert holdfast("doctor", cwd=elsewhere.repo, env=elsewhere.env).returncode == 0


def test_an_export_names_itself_is_private_and_overwrites_nothing_unasked(
    holdfast: Holdfast, repo: Path, tmp_path: Path, home: Path
) -> None:
    remember(repo, "alpha")
    before = everything(tmp_path)
    assert "Would write" in holdfast("export", "--dry-run", check=0).stdout
    assert everything(tmp_path) == before
    shown = holdfast("export", "--json", check=0).json()
    path = Path(shown["path"])
    assert re.fullmatch(r"holdfast-shop-\d{4}-\d\d-\d\d\.tar\.gz", path.name)
    assert path.parent == home / ".holdfast" / "exports"
    assert shown["done"] and shown["size"] == path.stat().st_size and shown["left_out"] == []
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600
    refused = holdfast("export", path, check=1)
    assert refused.stderr.count("\n") == 1 and "already exists" in refused.stderr
    holdfast("export", "--force", check=0)
    (tmp_path / "folder").mkdir()
    holdfast("export", tmp_path / "folder", check=0)
    assert (tmp_path / "folder" / path.name).is_file()
    assert "no such folder" in holdfast("export", tmp_path / "missing" / "x.tar.gz", check=1).stderr
    assert check_bundle(path).members


def test_an_export_takes_what_is_ours_and_says_what_it_leaves(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    memory = store.project.memory
    enable(store.project)
    for name in (
        "hot.db",
        "index.db",
        "v.npy",
        "why.jsonl",
        "hook.log",
        ".holdfast-x-12345678.tmp",
        "inbox/a.json",
    ):
        (memory / name).parent.mkdir(exist_ok=True)
        (memory / name).write_bytes(b"x")
    (memory / "lessons").mkdir()
    (memory / "lessons" / "own.md").write_text("# a lesson\n", encoding="utf-8")
    (memory / "denied.jsonl").write_text('{"session":"s"}\n', encoding="utf-8")
    if os.name != "nt":
        (memory / "style.md").symlink_to("/etc/hostname")
    done = holdfast("export", "a.tar.gz", check=0)
    with tarfile.open(repo / "a.tar.gz") as archive:
        names = {name.removeprefix("memory/") for name in archive.getnames()}
    assert {"lessons/own.md", "denied.jsonl", "current.md", "name", "history/changes.jsonl"} <= names
    assert "projects/shop/log.md" in names and "projects/shop/reference.md" in names
    unwanted = ("hot.db", "index.db", "v.npy", "why.jsonl", "hook.log", "switches.json", "root", "style.md")
    assert not names & {*unwanted} and not any("tmp" in name or "inbox" in name for name in names)
    if os.name != "nt":
        assert "style.md is not included: it is a link." in done.stderr


def test_where_nothing_is_kept_there_is_nothing_to_export(holdfast: Holdfast, repo: Path, home: Path) -> None:
    assert "this project has no memory yet" in holdfast("export", check=1).stderr
    assert everything(home) == {} and not (repo / ".holdfast").exists()


def test_rows_that_came_through_git_are_taken_along(
    holdfast: Holdfast, repo: Path, tmp_path: Path, elsewhere: Elsewhere
) -> None:
    holdfast("ledger", "add", "--session", "mine", check=0)
    holdfast("ledger", "share", check=0)
    theirs = LedgerStore(repo / ".holdfast" / "ledger.md", tmp_path / "their.lock")
    theirs.append([LedgerEntry(session="a-colleague's")])
    holdfast("export", tmp_path / "a.tar.gz", check=0)
    agreed = ("--trust", "--yes")
    holdfast("restore", tmp_path / "a.tar.gz", *agreed, cwd=elsewhere.repo, env=elsewhere.env, check=0)
    rows = holdfast("ledger", "--json", cwd=elsewhere.repo, env=elsewhere.env, check=0).json()
    assert {row["session"] for row in rows} == {"mine", "a-colleague's"}
    assert not project_at(elsewhere.repo).shared


# --- into a memory that is there -----------------------------------------------------------------------


def test_a_memory_that_is_there_is_not_touched_unless_one_says_how(
    holdfast: Holdfast, repo: Path, archive: Path, home: Path
) -> None:
    before = everything(home)
    refused = holdfast("restore", archive, check=1)
    assert (
        "already has a memory" in refused.stderr
        and "--merge" in refused.stderr
        and "--replace" in refused.stderr
    )
    assert holdfast("restore", archive, "--merge", "--replace").returncode == 2
    assert everything(home) == before


@pytest.mark.promise("M9")
def test_a_merge_adds_what_is_missing_and_loses_nothing(
    holdfast: Holdfast, repo: Path, archive: Path, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in elsewhere.env.items():
        monkeypatch.setenv(name, value)
    holdfast("ledger", "add", "--session", "own", cwd=elsewhere.repo, check=0)
    store = remember(elsewhere.repo, "beta")
    store.change_questions(lambda questions: (*questions, Question(text="Who owns alpha?")))
    store.current_file.write_bytes(store.current_file.read_bytes() + b"\n## Mine\nby hand\n")
    project = project_at(elsewhere.repo)
    before = contents(project)
    merging = ("restore", archive, "--merge", "--trust")
    told = holdfast(*merging, "--dry-run", "--json", cwd=elsewhere.repo, check=0).json()
    assert contents(project) == before and not told["done"]
    done = holdfast(*merging, "--yes", "--json", cwd=elsewhere.repo, check=0).json()
    assert done["done"] and done["added"] == told["added"]
    added = done["added"]
    assert (added["rows"], added["sessions"], added["records"], added["questions"]) == (10, 13, 10, 1)
    assert min(added["facts"], added["decisions"], added["next"], added["todo"]) >= 1
    store = memory_of(Machine(cwd=elsewhere.repo), project)
    assert store.name == "clone"  # its own project stays its own, and took the other's
    sessions = [found.session for found in store.entries().entries]
    assert {f"{word}-{n}" for word in ("alpha", "beta") for n in range(3)} < set(sessions)
    assert len(sessions) == 16
    assert store.log_file.read_bytes().startswith(before["projects/clone/log.md"])
    facts = [kept.fact.text for kept in store.facts().reference.facts]
    assert {"beta listens on 8080", "alpha listens on 8080"} <= set(facts) and len(facts) == 1 + added[
        "facts"
    ]
    assert {"go on with alpha", "go on with beta"} <= {step.text for step in store.current().current.next}
    assert b"\n## Mine\nby hand\n" in store.current_file.read_bytes()
    rows = holdfast("ledger", "--json", cwd=elsewhere.repo, check=0).json()
    assert len(rows) == 11
    after = contents(project)
    again = holdfast("restore", archive, "--merge", cwd=elsewhere.repo, check=0)
    assert "is already here" in again.stdout and contents(project) == after
    # It is a change like any other: it goes back as one.
    holdfast("undo", "--yes", cwd=elsewhere.repo, check=0)
    assert b"alpha" not in store.reference_file.read_bytes() + store.current_file.read_bytes()


def test_a_merge_answers_open_questions_and_brings_back_nothing_that_was_taken_out(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    store = remember(repo, "alpha")
    store.change_questions(
        lambda questions: [Question(text=one.text, answer="Ada", by="user") for one in questions]
    )
    holdfast("ledger", "add", "--session", "alpha-0", check=0)
    holdfast("export", tmp_path / "a.tar.gz", check=0)
    shutil.rmtree(store.project.memory)
    project = project_at(repo)
    project.prepare()
    store = memory_of(Machine(cwd=repo), project)
    fact = "alpha listens on 8080"
    remember(repo, "alpha", sessions=0)
    with files.lock(store.lock_path) as held:
        ids = [kept.fact.id for kept in store.facts().reference.facts]
        Dismissed(project.memory / "dismissed.jsonl").add(held, ids, 1.0)
    store.change_facts(lambda now: type(now)(facts=(), decisions=now.decisions))
    (project.memory / "denied.jsonl").write_text('{"session":"alpha-1"}\n', encoding="utf-8")
    LedgerStore(project.ledger, project.lock("ledger")).append(
        [LedgerEntry(session="alpha-0", outcome="forgotten")]
    )
    holdfast("restore", tmp_path / "a.tar.gz", "--merge", check=0)
    assert [question.answer for question in store.questions().questions] == ["Ada"]
    assert [found.session for found in store.entries().entries] == ["alpha-2"]
    assert fact not in store.reference_file.read_text(encoding="utf-8")
    assert holdfast("ledger", "--json", check=0).json() == []


@pytest.mark.promise("G5")
def test_a_merge_brings_back_no_text_that_was_forgotten(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    store = remember(repo, "alpha")
    holdfast("fact", "add", "Project Heron runs on port 9", "--evidence", "Project Heron: 9", check=0)
    holdfast("ask", "--keep", "Who pays for project heron?", check=0)
    holdfast("handoff", "Call the owners of Project  Heron", check=0)
    holdfast("export", tmp_path / "a.tar.gz", check=0)
    holdfast("forget", "--text", "project heron", "--yes", check=0)
    holdfast("restore", tmp_path / "a.tar.gz", "--merge", check=0)
    left = [path for path in store.project.memory.rglob("*") if path.is_file()]
    assert [path.name for path in left if b"heron" in path.read_bytes().lower()] == []


@pytest.mark.promise("M9")
def test_replacing_keeps_a_backup_that_brings_everything_back(
    holdfast: Holdfast, repo: Path, archive: Path, home: Path
) -> None:
    first = contents(project_at(repo))
    remember(repo, "gamma")
    (project_at(repo).memory / "inbox").mkdir()
    (project_at(repo).memory / "inbox" / "s.1-2.json").write_text("{}", encoding="utf-8")
    enable(project_at(repo))
    second = contents(project_at(repo))
    done = holdfast("restore", archive, "--replace", check=0)
    assert contents(project_at(repo)) == first
    assert switches_of(project_at(repo)).enabled  # what belongs to this machine stays
    assert (project_at(repo).memory / "inbox" / "s.1-2.json").is_file()
    backup = re.search(r"What was here before: (\S+)", done.stdout)
    assert backup is not None and Path(backup[1]).expanduser().parent == home / ".holdfast" / "backups"
    holdfast("restore", backup[1], "--replace", check=0)
    assert contents(project_at(repo)) == second
    assert len(list((home / ".holdfast" / "backups").iterdir())) == 2
    assert [path.name for path in (home / ".holdfast" / "projects").iterdir()] == [
        project_at(repo).memory.name
    ]


def test_a_hand_edit_made_meanwhile_stops_a_restore(repo: Path, holdfast: Holdfast, archive: Path) -> None:
    project = project_at(repo)
    current = project.memory / "current.md"

    def build(stage: Path, before: transplant.Taken | None) -> bool:
        unpack_bundle(archive, check_bundle(archive), stage)
        current.write_bytes(current.read_bytes() + b"typed just now\n")
        return True

    with pytest.raises(files.Conflict, match="changed by someone else"):
        transplant.put(project, build, look=lambda: None)
    assert current.read_bytes().endswith(b"typed just now\n")


# --- archives of strangers -----------------------------------------------------------------------------


@pytest.mark.promise("M9", "G4")
@pytest.mark.parametrize(
    "mode", [[], ["--merge"], ["--replace"], ["--dry-run"]], ids=lambda mode: "".join(mode) or "new"
)
def test_a_hostile_archive_changes_nothing_anywhere(
    holdfast: Holdfast, repo: Path, tmp_path: Path, elsewhere: Elsewhere, mode: list[str]
) -> None:
    where = {"cwd": elsewhere.repo, "env": elsewhere.env}
    if mode in (["--merge"], ["--replace"]):
        holdfast("ledger", "add", "--session", "own", **where, check=0)  # type: ignore[arg-type]
    bad = [
        forged(tmp_path / "up", [listed("memory/../../up.md")], [plain("memory/../../up.md")]),
        forged(tmp_path / "on", [listed("memory/switches.json")], [plain("memory/switches.json")]),
        forged(tmp_path / "hash", [listed("memory/x"), listed("memory/y")], [plain("memory/x"), plain("memory/y", b"z")]),
        forged(tmp_path / "new", [], [], format=2),
        forged(tmp_path / "db", [listed("memory/capture.db", b"SQLite format 3\0")], [plain("memory/capture.db", b"SQLite format 3\0")]),
    ]  # fmt: skip
    before = everything(tmp_path)
    for path in bad[:4] if "--dry-run" in mode else bad:
        refused = holdfast("restore", path, *mode, **where, check=1)  # type: ignore[arg-type]
        assert refused.stderr.count("\n") == 1 and "\x1b" not in refused.stderr and refused.stdout == ""
    after = everything(tmp_path)
    assert {name for name in after if "locks" not in name} == {name for name in before if "locks" not in name}
    assert all(after[name] == data for name, data in before.items())


def test_a_database_with_more_in_it_than_ours_is_refused(
    holdfast: Holdfast, repo: Path, tmp_path: Path, archive: Path, elsewhere: Elsewhere
) -> None:
    import sqlite3

    database = tmp_path / "evil.db"
    shutil.copy(project_at(repo).capture, database)
    with sqlite3.connect(database) as db:
        db.execute("CREATE TRIGGER sting AFTER INSERT ON session BEGIN DELETE FROM source; END")
    db.close()
    data = database.read_bytes()
    path = forged(tmp_path / "a", [listed("memory/capture.db", data)], [plain("memory/capture.db", data)])
    refused = holdfast("restore", path, cwd=elsewhere.repo, env=elsewhere.env, check=1)
    assert "sting" in refused.stderr and not (elsewhere.repo / ".holdfast").exists()


def test_hidden_characters_in_an_archive_do_not_reach_the_terminal(tmp_path: Path, repo: Path) -> None:
    path = forged(tmp_path / "a", [], [], title="\x1b[31mred\u202e", holdfast="\x07")
    _, sent = on_terminal(["restore", str(path)], repo, 100)
    assert b"\x1b[31m" not in sent and b"\x07" not in sent and "\u202e".encode() not in sent


# --- faults --------------------------------------------------------------------------------------------


def die_at(point: int, arguments: list[str]) -> bool:
    """Runs a command in a copy of this process that is killed before its point-th lasting step; whether it was."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = [point]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def step(*given: object, **named: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return step

    from holdfast.core import folders

    for name in ("fsync", "rename", "replace", "unlink", "mkdir", "link"):
        setattr(os, name, counted(getattr(os, name)))
    folders._exchange = counted(folders._exchange)  # type: ignore[assignment]
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        code = main(arguments)
    os._exit(code)


@pytest.mark.promise("M9", "F2")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", ["--replace", "--merge", ""])
def test_a_restore_killed_at_any_point_leaves_the_old_or_the_new(
    repo: Path, tmp_path: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    remember(repo, "alpha", sessions=1)
    holdfast("ledger", "add", "--session", "row-alpha", check=0)
    holdfast("export", tmp_path / "a.tar.gz", check=0)
    project = project_at(repo)
    shutil.rmtree(project.memory)
    if mode:
        remember(repo, "beta", sessions=1)
    kept = tmp_path / "kept"
    if mode:
        shutil.copytree(project.memory, kept)
    old = contents(project)
    monkeypatch.chdir(repo)
    killed, news = 0, 0
    for point in range(0, 400, 3):
        if mode and not project.memory.is_dir():
            shutil.copytree(kept, project.memory)
        alive = not die_at(point, ["restore", str(tmp_path / "a.tar.gz"), *([mode] if mode else [])])
        now = contents(project)
        if now != old and set(now) - {"name"}:
            news += 1
            assert b"alpha" in now["projects/shop/log.md"] and b"alpha" in now["current.md"]
            assert b"row-alpha" in now["ledger.md"] and b"alpha" in now["projects/shop/reference.md"]
            assert (b"beta" in now["current.md"]) == (mode == "--merge")
        if project.memory.is_dir():
            shutil.rmtree(project.memory)
        if alive:
            break
        killed += 1
    assert alive and killed > 8 and news >= 1
    left = [path.name for path in project.memory.parent.iterdir()]
    assert len(left) <= killed + 1


WRITER = """
import itertools, sys
from pathlib import Path
from tests.remembered import remember
for n in itertools.count():
    remember(Path(sys.argv[1]), f"w{n}", sessions=1)
    print(n, flush=True)
"""


@pytest.mark.promise("M9")
def test_an_export_taken_while_others_write_is_one_moment_of_the_memory(
    repo: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    remember(repo, "first")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(repo)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert writer.stdout is not None and writer.stdout.readline()
        for n in range(6):
            path = tmp_path / f"{n}.tar.gz"
            holdfast("export", path, check=0)
            unpack_bundle(path, check_bundle(path), tmp_path / f"out{n}")
            memory = tmp_path / f"out{n}" / "memory"
            versions = Versions(memory / "history")
            last = {change.file: change for change in versions.changes()}
            assert len(last) == 3
            for name, change in last.items():
                assert files.digest((memory / name).read_bytes()) == change.after
                assert versions.content(change.after or "")
            assert (memory / "projects/shop/log.md").read_bytes().endswith(b"-->\n")
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()


@pytest.mark.promise("M9", "F1")
def test_what_others_write_while_an_archive_is_merged_is_not_lost(
    repo: Path, tmp_path: Path, holdfast: Holdfast, make_repo: Callable[[str], Path]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = make_repo("elsewhere/shop")
    remember(other, "theirs", sessions=5)
    holdfast("export", tmp_path / "a.tar.gz", cwd=other, check=0)
    remember(repo, "first")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(repo)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert writer.stdout is not None and writer.stdout.readline()
        holdfast("restore", tmp_path / "a.tar.gz", "--merge", check=0)
        holdfast("restore", tmp_path / "a.tar.gz", "--replace", check=0)
        (backup,) = (project_at(repo).memory.parent.parent / "backups").iterdir()
        holdfast("restore", backup, "--merge", check=0)
        assert writer.stdout.readline() and writer.poll() is None
    finally:
        writer.kill()
        acknowledged = 2 + len(writer.communicate()[0].splitlines())
    store = memory_of(Machine(cwd=repo), project_at(repo))
    sessions = {found.session for found in store.entries().entries}
    assert {f"w{n}-0" for n in range(acknowledged)} <= sessions
    assert {*(f"theirs-{n}" for n in range(5)), *(f"first-{n}" for n in range(3))} <= sessions
    todo = {item.text for item in store.current().current.todo}
    assert {f"tidy up w{n}" for n in range(acknowledged)} <= todo


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.promise("F3")
def test_a_full_disk_is_said_and_no_half_archive_or_memory_is_left(
    holdfast: Holdfast, repo: Path, tmp_path: Path, small_disk: Path, elsewhere: Elsewhere
) -> None:
    store = remember(repo, "alpha")
    (store.project.memory / "notes.bin").write_bytes(os.urandom(80_000))
    holdfast("export", tmp_path / "a.tar.gz", check=0)
    (small_disk / "ballast").write_bytes(bytes(40_000))
    full = holdfast("export", small_disk / "a.tar.gz", check=1)
    assert "the disk is full. Free some space" in full.stderr and full.stderr.count("\n") == 1
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]
    env = {**elsewhere.env, "HOLDFAST_HOME": str(small_disk / "home")}
    tight = holdfast("restore", tmp_path / "a.tar.gz", cwd=elsewhere.repo, env=env, check=1)
    assert "are free. Free some space" in tight.stderr
    (small_disk / "ballast").write_bytes(bytes(4_000))  # enough for the bytes, not for their blocks
    full = holdfast("restore", tmp_path / "a.tar.gz", cwd=elsewhere.repo, env=env, check=1)
    assert "the disk is full" in full.stderr and full.stderr.count("\n") == 1
    assert not (elsewhere.repo / ".holdfast").exists()
    assert [path for path in (small_disk / "home").rglob("*") if path.is_file()] == []
    (small_disk / "ballast").unlink()


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that nobody can write into")
def test_a_folder_that_cannot_be_written_is_said(holdfast: Holdfast, repo: Path) -> None:
    remember(repo, "alpha")
    done = holdfast("export", "/proc/holdfast.tar.gz")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "bug in holdfast" not in done.stderr


def test_a_memory_that_stepped_aside_when_a_crash_came_is_brought_back(
    holdfast: Holdfast, repo: Path
) -> None:
    remember(repo, "alpha")
    memory = project_at(repo).memory
    before = contents(project_at(repo))
    memory.rename(memory.parent / f".{memory.name}-aside")
    holdfast("export", "a.tar.gz", check=0)
    assert contents(project_at(repo)) == before
    memory.rename(memory.parent / f".{memory.name}-aside")
    holdfast("ledger", "add", "--session", "s", check=0)
    assert {**contents(project_at(repo)), "ledger.md": b""} == {**before, "ledger.md": b""}


def test_a_memory_of_a_newer_holdfast_is_neither_exported_nor_replaced(
    holdfast: Holdfast, repo: Path, archive: Path
) -> None:
    (project_at(repo).memory / "format").write_text("99\n", encoding="utf-8")
    before = contents(project_at(repo))
    for command in (
        ["export", "b.tar.gz"],
        ["restore", str(archive), "--replace"],
        ["restore", str(archive), "--merge"],
    ):
        assert "newer holdfast" in holdfast(*command, check=1).stderr
    assert contents(project_at(repo)) == before


# --- leaving -------------------------------------------------------------------------------------------


def test_a_purge_removes_the_memory_and_what_shows_of_it_and_the_backup_brings_it_back(
    holdfast: Holdfast, repo: Path, home: Path, tmp_path: Path, make_repo: Callable[[str], Path]
) -> None:
    other = make_repo("other")
    remember(other, "theirs")
    subprocess.run(["git", "-C", repo, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
    subprocess.run(["git", "-C", repo, "worktree", "add", "--quiet", tmp_path / "tree"], check=True)
    holdfast("install", "claude-code", "--yes", check=0)
    remember(repo, "alpha")
    holdfast("ledger", "add", "--session", "s", cwd=tmp_path / "tree", check=0)
    before, untouched = contents(project_at(repo)), contents(project_at(other))
    looked = everything(tmp_path)
    shown = holdfast("uninstall", "claude-code", "--purge", "--dry-run", check=0).stdout
    assert f"~/.holdfast/projects/{project_at(repo).memory.name}" in shown and everything(tmp_path) == looked
    assert holdfast("uninstall", "claude-code", "--purge").returncode == 2  # nobody is there to be asked
    assert holdfast("uninstall", "claude-code", "--purge", "--json").returncode == 2
    assert everything(tmp_path) == looked
    done = holdfast("uninstall", "claude-code", "--purge", "--yes", "--json", check=0).json()
    assert done["purged"]["done"] and done["agents"][0]["done"]
    assert not (repo / ".holdfast").exists() and not (tmp_path / "tree" / ".holdfast").exists()
    assert [path.name for path in (home / ".holdfast" / "projects").iterdir()] == [
        project_at(other).memory.name
    ]
    assert not (repo / ".git" / "holdfast-id").exists()
    assert contents(project_at(other)) == untouched
    holdfast("restore", done["purged"]["backup"], check=0)
    assert contents(project_at(repo)) == before
    assert not switches_of(project_at(repo)).enabled  # an archive enables nothing
    again = holdfast("uninstall", "--all", "--purge", "--no-backup", "--yes", check=0)
    assert "removed." in again.stdout and "Backup" not in again.stdout
    assert len(list((home / ".holdfast" / "backups").iterdir())) == 1
    none = holdfast("uninstall", "--all", "--purge", "--yes", check=0).stdout
    assert "has no memory here" in none


def test_the_last_purge_leaves_nothing_of_ours_and_names_what_is_yours(
    holdfast: Holdfast, repo: Path, home: Path, make_repo: Callable[[str], Path]
) -> None:
    other = make_repo("other")
    for root in (repo, other):
        remember(root, "alpha")
    (home / ".claude").mkdir()
    holdfast("install", "claude-code", "--yes", check=0)
    holdfast("cost", check=0)  # fills the cache that belongs to no project
    leave = ("uninstall", "--all", "--purge", "--yes")
    first = holdfast(*leave, "--json", check=0).json()
    assert first["stays"]["memories"] == 1 and (home / ".holdfast" / "cache").is_dir()
    shown = holdfast("uninstall", "--all", "--purge", "--dry-run", check=0).stdout
    assert "other: cd " in shown and f"{other.name} && holdfast agents uninstall --all --purge" in shown
    (home / ".holdfast" / "config.toml").write_text('scanner = "off"\n', encoding="utf-8")
    second = holdfast(*leave, cwd=other, check=0).stdout
    kept = {path.name for path in (home / ".holdfast").iterdir()}
    assert kept - {"machine"} == {"backups", "config.toml", "machine.key"}
    assert all(f"\n  {name}: " in second for name in kept), "all that stays is named"
    assert "--no-backup" in second
    backups = list((home / ".holdfast" / "backups").iterdir())
    holdfast("restore", backups[0], check=0)  # of this machine still: no trust is asked for
    listed = holdfast("uninstall", "--all", "--purge", "--no-backup", "--dry-run", check=0).stdout
    assert all(backup.name in listed and backup.exists() for backup in backups)
    third = holdfast(*leave, "--no-backup", check=0).stdout
    assert "\n  config.toml: " in third
    assert [path.name for path in (home / ".holdfast").iterdir()] == ["config.toml"]
    (home / ".holdfast" / "config.toml").unlink()
    assert "~/.holdfast: removed." in holdfast(*leave, "--no-backup", check=0).stdout
    assert sorted(path.name for path in home.iterdir()) == [".claude"]
    assert not (repo / ".holdfast").exists() and not (other / ".holdfast").exists()


def test_a_purge_leaves_the_ledger_that_git_has_and_what_is_not_ours(holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "add", "--session", "s", check=0)
    holdfast("ledger", "share", check=0)
    (repo / ".holdfast" / "config.toml").write_text("", encoding="utf-8")
    shared = (repo / ".holdfast" / "ledger.md").read_bytes()
    holdfast("uninstall", "claude-code", "--purge", "--yes", check=0)
    assert (repo / ".holdfast" / "ledger.md").read_bytes() == shared
    left = sorted(path.name for path in (repo / ".holdfast").iterdir())
    assert left == [".gitattributes", ".gitignore", "config.toml", "ledger.md"]
    assert [row["session"] for row in holdfast("ledger", "--json", check=0).json()] == ["s"]


def test_a_purge_is_refused_while_a_part_is_in_no_backup(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    if os.name == "nt":
        pytest.skip("links need a privilege")
    (store.project.memory / "style.md").symlink_to("/etc/hostname")
    refused = holdfast("uninstall", "claude-code", "--purge", "--yes", check=1)
    assert "style.md: cannot be taken into the backup" in refused.stderr
    assert store.current_file.is_file() and store.project.memory.is_dir()


def test_the_json_of_an_uninstall_without_purge_is_what_it_was(holdfast: Holdfast) -> None:
    shown = holdfast("uninstall", "claude-code", "--json", check=0)
    assert isinstance(json.loads(shown.stdout), list)
