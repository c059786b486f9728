"""The SQLite index among several processes, after crashes, with parts of it gone, and without numpy."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import holdfast.search
from holdfast.core.errors import FormatTooNew, StoreError, UsageError
from holdfast.search import Chunk
from holdfast.search.database import INDEX_FORMAT
from holdfast.search.sqlite import SqliteIndex
from holdfast.search.vectors import Vanished, VectorFile

WRITER = """
import sys
import holdfast.search
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with holdfast.search.open(path) as index:
    for number in range(count):
        assert index.put(f"{name}-{number}", f"note {number} of writer {name} about walrus {number}")
        hits = index.search(f"walrus {number}", k=5)
        assert hits, "the index is not empty"
        if number % 5 == 4:
            assert index.delete(f"{name}-{number}")
"""

WORDS = [
    "walrus",
    "kelp",
    "anchor",
    "rope",
    "harbor",
    "tide",
    "lantern",
    "gull",
    "salt",
    "wind",
    "chart",
    "keel",
    "mast",
    "deck",
    "oar",
    "reef",
]


def notes(count: int, seed: int = 1) -> list[Chunk]:
    chance = random.Random(seed)
    return [
        Chunk(
            id=f"n{number}",
            text=" ".join(chance.choices(WORDS, k=12)) + f" number{number}",
            when=number * 3600.0,
        )
        for number in range(count)
    ]


def start(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")


def vector_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.vec"))


@pytest.mark.promise("R3")
def test_sixteen_processes_search_and_save_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    writers = [start(WRITER, path, f"w{number}", "10") for number in range(16)]
    errors = [writer.communicate()[1] for writer in writers]
    assert errors == [""] * 16
    with holdfast.search.open(path) as index:
        expected = {f"w{w}-{n}" for w in range(16) for n in range(10) if n % 5 != 4}
        assert set(index.ids()) == expected
        for name in ("w0-0", "w9-3", "w15-8"):
            writer, number = name[1:].split("-")
            assert name in [hit.id for hit in index.search(f"note {number} of writer w{writer}", k=20)]
        assert isinstance(index, SqliteIndex)
        assert_vectors_are_right(index)


def assert_vectors_are_right(index: SqliteIndex) -> None:
    """Every passage has in the file just the vector of its text; without passages there need be no file."""
    rows = index._db.ask(
        "SELECT passage.n, start, stop, text FROM passage JOIN chunk ON chunk.n = passage.chunk"
    ).fetchall()
    if not rows:
        assert list(index.ids()) == []
        return
    vectors = index._generations.current()
    assert vectors is not None
    content, _ = vectors._mapped(1)
    assert content is not None
    embedder = index._embedding.embedder
    assert embedder is not None
    for number, first, last, text in rows:
        place = vectors._place(number)
        assert content[place : place + vectors.width] == embedder.embed([text[first:last]])[0]


ENDLESS = """
import sys, itertools
import holdfast.search
with holdfast.search.open(sys.argv[1]) as index:
    print("ready", file=sys.stderr, flush=True)
    for number in itertools.count():
        index.put_many([holdfast.search.Chunk(id=f"k{(number * 7 + n) % 300}", text=f"walrus {number} {n} " * 5) for n in range(20)])
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is of POSIX")
def test_a_writer_killed_at_any_moment_leaves_an_index_that_works(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    chance = random.Random(4)
    for _ in range(4):
        writer = start(ENDLESS, path)
        assert writer.stderr is not None
        writer.stderr.readline()
        time.sleep(chance.uniform(0.05, 0.5))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stderr.close()
        with holdfast.search.open(path) as index:
            assert isinstance(index, SqliteIndex)
            assert_vectors_are_right(index)
            listed = list(index.ids())
            if listed:
                assert index.search("walrus", k=5)
            index.put("after", "the kelp holds the rock")
            assert index.search("kelp rock", k=1)[0].id == "after"
            (damage,) = index._db.ask("PRAGMA integrity_check").fetchone()
            assert damage == "ok"
            index._db.ask("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")


@pytest.mark.promise("R6")
def test_deleted_and_made_again_it_gives_the_same_answers(tmp_path: Path) -> None:
    questions = [" ".join(random.Random(seed).choices(WORDS, k=3)) for seed in range(20)]
    with holdfast.search.open(tmp_path / "index.db") as index:
        for chunk in notes(300):
            index.put_many([Chunk(id=chunk.id, text="an earlier text")])
        index.put_many(notes(300))
        asked = [index.search(question) for question in questions]
    for file in tmp_path.iterdir():
        file.unlink()
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put_many(reversed(notes(300)))
        assert [index.search(question) for question in questions] == asked


def test_a_lost_or_foreign_vector_file_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put_many(notes(50))
        asked = index.search("walrus harbor tide")
    (lost,) = vector_files(tmp_path)
    lost.unlink()
    (tmp_path / "index-0000.vec").write_bytes(b"rubbish")
    with holdfast.search.open(path) as index:
        assert index.search("walrus harbor tide") == asked
        (made,) = vector_files(tmp_path)
        assert made != lost
        made.write_bytes(b"cut off")
        assert index.search("walrus harbor tide") == asked


def test_a_save_after_the_vector_file_was_lost_loses_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put_many(notes(50))
        for damage in (Path.unlink, lambda file: file.write_bytes(b"cut off")):
            (file,) = vector_files(tmp_path)
            damage(file)
            index.put(f"late {damage}", "a late note")
            assert index.search("walrus")
            assert isinstance(index, SqliteIndex)
            assert_vectors_are_right(index)


LAYING_OUT = """
import sys
import holdfast.search
for turn in range(6):
    with holdfast.search.open(sys.argv[1]) as index:
        index._layout.make_anew(however_it_is=True)
        assert len(index.search("walrus harbor tide", k=5)) == 5
"""


def test_questions_are_answered_while_others_lay_the_index_out_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put_many(notes(100))
        asked = index.search("walrus harbor tide")
        others = [start(LAYING_OUT, path) for _ in range(2)]
        while any(other.poll() is None for other in others):
            assert index.search("walrus harbor tide") == asked
    assert [other.communicate()[1] for other in others] == ["", ""]


def test_a_first_question_whose_vectors_vanish_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put_many(notes(100))
        asked = index.search("walrus harbor tide")
    mapped = VectorFile._mapped
    tries: list[int] = []

    def gone_at_first(self: VectorFile, needed: int) -> Any:
        tries.append(needed)
        if len(tries) == 1:  # another process has just laid the index out anew
            raise Vanished
        return mapped(self, needed)

    monkeypatch.setattr(VectorFile, "_mapped", gone_at_first)
    with holdfast.search.open(path) as index:
        assert index.search("walrus harbor tide") == asked
    assert len(tries) > 1


def test_holes_are_closed_when_they_are_most_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.search.writer._MOST_HOLES", 100)
    with (
        holdfast.search.open(tmp_path / "index.db") as index,
        holdfast.search.open(tmp_path / "index.db") as other,
    ):
        index.put_many(notes(80))
        asked = index.search("walrus harbor tide")
        for turn in range(3):
            index.put_many(Chunk(id=chunk.id, text=f"something else {turn}") for chunk in notes(80))
        index.put_many(notes(80))
        assert index.search("walrus harbor tide") == asked
        assert other.search("walrus harbor tide") == asked
        (file,) = vector_files(tmp_path)
        assert file.stat().st_size < 300 * 384


def test_another_embedder_makes_the_vectors_anew(tmp_path: Path) -> None:
    class Letters:
        name, width = "letters", 26

        def embed(self, texts: list[str]) -> list[bytes]:
            return [bytes(min(127, 40 * text.count(chr(97 + n))) for n in range(26)) for text in texts]

    path = tmp_path / "index.db"
    told: list[str] = []
    with holdfast.search.open(path, tell=told.append) as index:
        index.put("a", "walrus")
    assert told == []
    with holdfast.search.open(path, embedder=Letters(), tell=told.append) as index:  # type: ignore[arg-type]
        assert told == [
            "The search index is being rebuilt with letters, in place of minilm-static-1: 1 pieces."
        ]
        assert index.stats().vectors == "letters"
        assert [hit.id for hit in index.search("surlaw")] == ["a"]
    with holdfast.search.open(path) as index:
        assert index.stats().vectors == "minilm-static-1"
        assert [hit.id for hit in index.search("walrus")] == ["a"]
    assert len(vector_files(tmp_path)) == 1


def test_with_and_without_numpy_the_answers_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    script = (
        "import sys\nif sys.argv[2] == 'without': sys.modules['numpy'] = None\n"
        "else: import numpy\n"
        "import holdfast.search\n"
        "with holdfast.search.open(sys.argv[1]) as index:\n"
        "    for question in ('walrus harbor tide', 'lantern', 'old ships at sea'):\n"
        "        print([(hit.id, hit.score, hit.why) for hit in index.search(question)])\n"
    )
    with holdfast.search.open(path) as index:
        index.put_many(notes(200))
    told = [
        subprocess.run(
            [sys.executable, "-c", script, path, how], capture_output=True, encoding="utf-8", check=True
        )
        for how in ("with", "without")
    ]
    assert told[0].stdout == told[1].stdout != ""


def test_a_first_question_loads_no_numpy(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put_many(notes(200))
    script = (
        "import sys, holdfast.search\n"
        "with holdfast.search.open(sys.argv[1]) as index: assert index.search('walrus tide')\n"
        "assert not {'numpy', 'hashlib'} & set(sys.modules), 'a question needs neither'\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)


def test_an_unchanged_batch_writes_nothing(tmp_path: Path) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put_many(notes(100))
        before = index.stats().bytes
        with sqlite3.connect(tmp_path / "index.db") as other:
            other.execute("BEGIN IMMEDIATE")  # nobody else can write now
            assert index.put_many(notes(100)).unchanged == 100
            assert index.search("walrus")
            other.rollback()
        assert index.stats().bytes == before


def test_a_newer_format_is_not_touched_and_an_older_one_starts_empty(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put("a", "walrus")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(FormatTooNew, match="newer holdfast"):
        holdfast.search.open(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=0")
    with holdfast.search.open(path) as index:
        assert index.stats().chunks == 0
        index.put("a", "walrus")
        assert index.search("walrus")


def test_a_damaged_file_is_told_apart_from_a_busy_one(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(StoreError, match=r"damaged.*delete it.*name another file"):
        holdfast.search.open(path)


@pytest.mark.parametrize("version", [0, INDEX_FORMAT])
def test_another_programs_database_is_refused_and_nothing_in_it_is_touched(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "their.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE chunk (theirs TEXT)")
        db.execute("INSERT INTO chunk VALUES ('precious')")
        db.execute(f"PRAGMA user_version={version}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"another program's database.*Name another file"):
        holdfast.search.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("path", ["", "  ", ":memory:", "a\0b", "half \ud83d", None, 5, b"bytes"])
def test_an_index_needs_a_place_on_disk(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="place on disk"):
        holdfast.search.open(path)
    assert not list(tmp_path.iterdir())


def test_a_path_that_ends_like_a_folder_is_one(tmp_path: Path) -> None:
    with holdfast.search.open(f"{tmp_path}/notes/") as index:
        index.put("a", "walrus")
    assert (tmp_path / "notes" / "index.db").is_file()


def test_a_closed_index_and_one_of_another_thread_say_so(tmp_path: Path) -> None:
    index = holdfast.search.open(tmp_path)
    said: list[str] = []

    def ask() -> None:
        try:
            index.search("walrus")
        except StoreError as error:
            said.append(error.line())

    other = Thread(target=ask)
    other.start()
    other.join()
    index.close()
    ask()
    assert "belongs to the thread that opened it" in said[0] and "was closed" in said[1]


def test_a_folder_stands_for_the_index_in_it_and_missing_ones_are_made(tmp_path: Path) -> None:
    with holdfast.search.open(tmp_path) as index:
        index.put("a", "walrus")
    assert (tmp_path / "index.db").is_file()
    with holdfast.search.open(tmp_path / "new" / "folder" / "x.db") as index:
        assert index.stats().chunks == 0


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for place in (tmp_path / "file" / "index.db", tmp_path / ("long" * 1000)):
        with pytest.raises(StoreError, match="cannot be used"):
            holdfast.search.open(place)


def test_wrong_arguments_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no embedder"):
        holdfast.search.open(tmp_path, embedder="word2vec")
    with holdfast.search.open(tmp_path) as index, pytest.raises(UsageError, match="kinds"):
        index.search("x", kinds="fact")


def test_a_vector_file_of_the_right_size_that_is_none_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with holdfast.search.open(path) as index:
        index.put_many(notes(50))
        asked = index.search("walrus harbor tide")
    (spoilt,) = vector_files(tmp_path)
    spoilt.write_bytes(bytes(reversed(spoilt.read_bytes())))
    with holdfast.search.open(path) as index:
        assert index.search("walrus harbor tide") == asked


class Narrow:
    """Says four, gives what it likes."""

    name, width = "narrow", 4

    def __init__(self, vector: Any) -> None:
        self.vector = vector

    def embed(self, texts: Any) -> Any:
        return [self.vector] * len(texts) if self.vector else []


@pytest.mark.parametrize("vector", [b"\1\1", [0.1, 0.2, 0.3, 0.4], None])
def test_an_embedder_that_breaks_its_word_is_refused_and_nothing_is_written(
    tmp_path: Path, vector: Any
) -> None:
    with holdfast.search.open(tmp_path, embedder=Narrow(vector)) as index:
        with pytest.raises(UsageError, match="'narrow' does not keep to its contract"):
            index.put("a", "walrus")
        assert index.stats().chunks == 0
    with pytest.raises(UsageError, match="an embedder has a name"):
        holdfast.search.open(tmp_path, embedder=7)  # type: ignore[arg-type]
