"""Other programs' databases: read while they are written, never locked, never changed."""

from __future__ import annotations

import contextlib
import os
import random
import select
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

from holdfast.agent_kit.sqlite_source import has_tables, opened
from holdfast.core.errors import TranscriptError

WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
print("ready", flush=True)
ended = time.monotonic() + float(sys.argv[2])
written = 0
while time.monotonic() < ended or written < 100:
    database.execute("INSERT INTO note (text) VALUES (?)", ("x" * 500,))
    written += 1
print(written, flush=True)
"""

OPENER = """
import random, sqlite3, sys, time
for path in sys.argv[1:]:
    sys.stdin.readline()
    time.sleep(random.random() * 0.003)
    database = sqlite3.connect(path, timeout=0, isolation_level=None)
    for _ in range(5):
        database.execute("INSERT INTO note (text) VALUES ('newer')")
    database.close()
    print("written", flush=True)
"""


def database(path: Path, *, wal: bool = True, rows: int = 3) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        if wal:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        connection.executemany("INSERT INTO note (text) VALUES (?)", [(f"note {n}",) for n in range(rows)])
    return path


def count(path: Path) -> int:
    with opened(path) as found:
        return int(found.rows("SELECT count(*) AS n FROM note")[0]["n"])


@pytest.mark.promise("F4")
@pytest.mark.parametrize("wal", [True, False], ids=["wal", "rollback"])
def test_reading_leaves_no_file_behind_and_changes_none(tmp_path: Path, wal: bool) -> None:
    path = database(tmp_path / "notes.db", wal=wal)
    before = (path.read_bytes(), sorted(os.listdir(tmp_path)))
    assert count(path) == 3
    assert (path.read_bytes(), sorted(os.listdir(tmp_path))) == before


@pytest.mark.promise("F4")
def test_a_database_in_a_folder_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = database(folder / "notes.db")
    folder.chmod(0o555)
    try:
        assert count(path) == 3
    finally:
        folder.chmod(0o755)


@pytest.mark.promise("F4")
def test_rows_that_are_still_in_the_log_are_seen(tmp_path: Path) -> None:
    path = database(tmp_path / "notes.db")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO note (text) VALUES ('newest')")
        writer.commit()
        assert (tmp_path / "notes.db-wal").stat().st_size
        assert count(path) == 4


@pytest.mark.promise("F4")
@pytest.mark.parametrize("wal", [True, False], ids=["wal", "rollback"])
def test_a_process_that_writes_meanwhile_is_not_stopped(tmp_path: Path, wal: bool) -> None:
    path = database(tmp_path / "notes.db", wal=wal)
    command = [sys.executable, "-c", WRITER, str(path), "1.5"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        seen: list[int] = []
        while writer.poll() is None and len(seen) < 2000:
            with suppress(*() if wal else (TranscriptError,)):  # there it may have to come again later
                seen.append(count(path))
            time.sleep(0.002)
        output, errors = writer.communicate(timeout=PATIENCE_S)
    if wal:  # there a reader never stands in the way: the writer has no patience at all, and needs none
        assert errors == ""
        assert int(output) > 0
    else:
        assert errors == "" or "locked" in errors
    seen.append(count(path))
    assert seen == sorted(seen)
    assert seen[-1] > 3 or not wal


@pytest.mark.promise("F4")
def test_a_process_that_opens_it_meanwhile_is_not_stopped(tmp_path: Path) -> None:
    """Whoever comes first lays out the index of the log, and a writer that comes then is told "locked"."""
    paths = [database(tmp_path / f"{attempt}.db") for attempt in range(300)]
    with subprocess.Popen(
        [sys.executable, "-c", OPENER, *map(str, paths)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None and writer.stderr is not None
        for path in paths:
            writer.stdin.write(b"\n")
            writer.stdin.flush()
            while not select.select([writer.stdout], [], [], 0)[0]:
                count(path)
            answer = writer.stdout.readline()
            assert answer == b"written\n", writer.stderr.read()
            assert count(path) == 8


@pytest.mark.promise("F4")
def test_the_log_of_a_program_that_died_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    path = database(tmp_path / "notes.db")
    died = "import os, sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    died += "c.execute(\"INSERT INTO note (text) VALUES ('newest')\")\nos._exit(9)"
    assert subprocess.run([sys.executable, "-c", died, str(path)]).returncode == 9
    index = path.with_name("notes.db-shm")
    index.write_bytes(bytes(index.stat().st_size))  # what another may lay out anew: that is not for a reader
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(before) == 3
    assert count(path) == 4
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.promise("F4")
def test_a_writer_within_a_transaction_does_not_block_reading(tmp_path: Path) -> None:
    path = database(tmp_path / "notes.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO note (text) VALUES ('not yet')")
        assert count(path) == 3  # it would say "locked" if it had to wait for the writer
        writer.execute("ROLLBACK")


@pytest.mark.promise("F4")
def test_a_locked_database_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.agent_kit.sqlite_source.WAIT_SECONDS", 0.05)
    path = database(tmp_path / "notes.db", wal=False)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TranscriptError, match="another program holds the database just now"):
            count(path)
        writer.execute("ROLLBACK")
    assert count(path) == 3


@pytest.mark.promise("F4")
def test_a_broken_database_is_one_clear_line(tmp_path: Path) -> None:
    path = database(tmp_path / "notes.db", rows=500)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(TranscriptError, match="cannot be read as a database"), opened(path) as found:
        found.rows("SELECT * FROM note")


@pytest.mark.promise("F4")
@pytest.mark.parametrize("seed", range(60))
def test_whatever_bytes_are_wrong_it_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    path = database(tmp_path / "notes.db", rows=50, wal=bool(seed % 2))
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 40)):
        data[chance.randrange(18, len(data))] = chance.randrange(256)
    path.write_bytes(data)
    assert has_tables(path, bytes(data), {"note": {"text"}}) in (True, False)
    rows = []
    with contextlib.suppress(TranscriptError), opened(path) as found:  # nothing else may be raised
        rows = found.rows("SELECT * FROM note")
    assert all(isinstance(row, dict) for row in rows)


@pytest.mark.promise("F4")
def test_texts_with_bad_utf_8_are_read(tmp_path: Path) -> None:
    path = database(tmp_path / "notes.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE note SET text = CAST(x'61ff62' AS TEXT) WHERE id = 1")
    with opened(path) as found:
        assert found.rows("SELECT text FROM note WHERE id = 1") == [{"text": "a\ufffdb"}]


def test_tables_and_columns_tell_whose_it_is(tmp_path: Path) -> None:
    path = database(tmp_path / "with space & 100%.db")
    head = path.read_bytes()
    assert has_tables(path, head, {"note": {"text"}})
    assert not has_tables(path, head, {"note": {"author"}})
    assert not has_tables(path, head, {"session": {"id"}})
    assert not has_tables(path, b"not a database", {"note": {"text"}})


def test_a_file_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError), opened(tmp_path / "none.db"):
        pass
    assert list(tmp_path.iterdir()) == []
