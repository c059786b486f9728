"""The ledger store: one title, one header, rows in one write, foreign files continued and never changed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, LedgerError, StoreError
from holdfast.ledger import markdown
from holdfast.ledger.markdown import COLUMNS, LedgerFile, current, render_beginning
from holdfast.ledger.store import LedgerStore
from holdfast.model.ledger import LedgerEntry

SEED = """\
| Session | Model | Tasks | Failed | Cost | Duration | Framework | Goal |
|---|---|---|---|---|---|---|---|
| a1b2c3d4 | claude-3.5-sonnet | 5 | 1 | $0.12 | 8min | react | refactor auth middleware |
"""
TIME = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> LedgerStore:
    return LedgerStore(tmp_path / ".holdfast" / "ledger.md", tmp_path / "locks" / "ledger.lock")


def sessions(store: LedgerStore) -> list[str]:
    found = store.read()
    assert found.problems == []
    return [entry.session for entry in found.entries]


def put(store: LedgerStore, text: str | bytes) -> None:
    store.path.parent.mkdir(exist_ok=True)
    store.path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.promise("L1")
def test_the_file_is_made_on_first_use_and_appended_to_afterwards(store: LedgerStore) -> None:
    assert store.read() == LedgerFile()
    store.append([])
    assert not store.path.exists()
    store.append([LedgerEntry(session="a"), LedgerEntry(session="b")])
    before = store.path.read_bytes()
    assert before.startswith(render_beginning().encode())
    store.append([LedgerEntry(session="c")])
    assert store.path.read_bytes().startswith(before)
    assert sessions(store) == ["a", "b", "c"]
    assert store.path.read_text().count("\n|---") == 1


@pytest.mark.promise("L5")
def test_a_resumed_session_adds_a_row_and_the_last_one_counts(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="a", tasks=1, recorded=TIME)])
    before = store.path.read_bytes()
    again = LedgerEntry(session="a", tasks=2, recorded=TIME.replace(hour=6))
    store.append([again])
    assert store.path.read_bytes().startswith(before)
    assert current(store.read().entries) == [again]


@pytest.mark.promise("L4", "L5")
def test_a_seed_ledger_is_continued_in_a_table_of_ours(store: LedgerStore) -> None:
    put(store, SEED)
    ours = LedgerEntry(session="ours", model="x\ny|z\\", recorded=TIME)
    store.append([ours])
    store.append([ours])
    assert store.path.read_text().startswith(SEED + "\n<!-- holdfast ledger, format 1")
    found = store.read()
    assert found.problems == []
    assert [entry.session for entry in found.entries] == ["a1b2c3d4", "ours", "ours"]
    assert found.entries[1] == ours
    assert store.path.read_text().count("\n|---") == 2


@pytest.mark.promise("L4")
@pytest.mark.parametrize("ending", ["", "\n\nSome closing words.", "| torn | ro"])
def test_whatever_ends_a_foreign_file_does_not_swallow_our_row(store: LedgerStore, ending: str) -> None:
    put(store, SEED + ending)
    store.append([LedgerEntry(session="ours")])
    found = store.read()
    assert [entry.session for entry in found.entries] == ["a1b2c3d4", "ours"]
    assert len(found.problems) == ending.startswith("| torn")
    assert store.path.read_text().startswith(SEED + ending)


@pytest.mark.promise("L4")
def test_our_columns_without_our_marker_are_not_trusted_to_be_ours(store: LedgerStore) -> None:
    put(store, render_beginning().split("\n", 1)[1])
    store.append([LedgerEntry(session="a\nb")])
    assert sessions(store) == ["a\nb"]


@pytest.mark.promise("L4")
def test_columns_of_the_file_are_kept_in_their_order(store: LedgerStore) -> None:
    columns = ("Mood", *reversed(COLUMNS))
    put(store, render_beginning(columns))
    entry = LedgerEntry(session="a", recorded=TIME, extra=(("Mood", "good"),))
    store.append([entry, LedgerEntry(session="b")])
    assert store.read().entries == [entry, LedgerEntry(session="b")]
    assert store.path.read_text().count("\n|---") == 1


@pytest.mark.promise("L4", "L5")
def test_a_new_column_begins_a_new_table_that_has_the_old_ones_too(store: LedgerStore) -> None:
    first = LedgerEntry(session="a", extra=(("Mood", "good"),))
    second = LedgerEntry(session="b", extra=(("Weather", "fine"), ("\ud800", "odd")))
    for entry in (first, second, first, second):
        store.append([entry])
    found = store.read()
    assert found.problems == []
    assert found.entries == [first, second, first, second]
    assert found.header is not None
    assert found.header.columns == (*COLUMNS, "Mood", "Weather", "\ud800")
    assert store.path.read_text().count("\n|---") == 2


def test_a_header_changed_by_another_hand_is_noticed(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="a")])
    with store.path.open("a", encoding="utf-8") as file:
        file.write("\n| Session | Model |\n|---|---|\n| x | y |\n")
    store.append([LedgerEntry(session="b", outcome="done")])
    assert sessions(store) == ["a", "x", "b"]
    store.append([LedgerEntry(session="c")])
    assert store.path.read_text().count("\n|---") == 3


def test_appending_to_a_known_file_does_not_search_it_again(
    store: LedgerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append([LedgerEntry(session="a")])
    with monkeypatch.context() as patch:
        patch.setattr(markdown, "survey", None)
        store.append([LedgerEntry(session="b")])
        LedgerStore(store.path, store.lock_path).append([LedgerEntry(session="c")])
    assert sessions(store) == ["a", "b", "c"]


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b"null", b'[1, [], ["x"]]', b"\xff" * 40, b"[" * 100_000])
def test_a_spoilt_note_costs_a_search_and_nothing_else(store: LedgerStore, note: bytes) -> None:
    store.append([LedgerEntry(session="a")])
    store.lock_path.write_bytes(note)
    store.append([LedgerEntry(session="b")])
    assert sessions(store) == ["a", "b"]
    assert store.path.read_text().count("\n|---") == 1


def test_a_ledger_deleted_and_made_anew_gets_its_header(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="a")])
    store.path.unlink()
    store.append([LedgerEntry(session="b")])
    assert sessions(store) == ["b"]


@pytest.mark.promise("L4")
def test_a_newer_ledger_is_read_and_not_written(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="a")])
    put(store, store.path.read_text().replace("format 1", "format 2"))
    before = store.path.read_bytes()
    assert store.read().read_only
    with pytest.raises(FormatTooNew, match="Upgrade holdfast"):
        store.append([LedgerEntry(session="b")])
    assert store.path.read_bytes() == before


@pytest.mark.promise("L4")
@pytest.mark.parametrize("data", [SEED.encode("utf-16"), b"\x00\x01\x02", b"only prose\n", b"\xff\xff\xff\n"])
def test_a_file_that_is_no_ledger_is_left_alone(store: LedgerStore, data: bytes) -> None:
    put(store, data)
    for use in (store.read, lambda: store.append([LedgerEntry(session="a")])):
        with pytest.raises(LedgerError):
            use()
    assert store.path.read_bytes() == data


@pytest.mark.promise("F2")
def test_a_file_torn_at_any_byte_takes_the_next_row(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="first", model="a|b")])
    store.append([LedgerEntry(session="second", recorded=TIME)])
    whole = store.path.read_bytes()
    first_ends = whole.index(b"| second")
    after = LedgerEntry(session="after", outcome="done", recorded=TIME)
    for cut in range(len(whole) + 1):
        store.path.write_bytes(whole[:cut])
        store.append([after])
        found = store.read()
        assert store.path.read_bytes().startswith(whole[:cut])
        assert found.entries[-1] == after
        names = [entry.session for entry in found.entries]
        assert ("first" in names) == (cut >= first_ends - 1)
        assert ("second" in names) == (cut >= len(whole) - 1)
        assert found.header is not None and found.header.intact
        if first_ends < cut < len(whole) - 1:
            assert len(found.problems) == 1


def test_a_row_that_is_being_written_is_waited_for(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="a")])
    whole = store.path.read_bytes()
    put(store, whole[:-10])
    reads: list[bytes] = []

    class Finishing(LedgerStore):
        def _read_between_writers(self) -> bytes | None:
            put(self, whole)
            reads.append(whole)
            return super()._read_between_writers()

    assert sessions(Finishing(store.path, store.lock_path)) == ["a"]
    assert reads == [whole]


def test_reading_a_torn_ledger_leaves_nothing_behind(tmp_path: Path) -> None:
    store = LedgerStore(tmp_path / "ledger.md", tmp_path / "locks" / "ledger.lock")
    put(store, SEED.rstrip("\n"))
    assert len(store.read().entries) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.md"]


def test_a_link_in_the_ledgers_place_is_refused(store: LedgerStore, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.md"
    target.write_text(SEED, encoding="utf-8")
    store.path.parent.mkdir()
    store.path.symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        store.append([LedgerEntry(session="a")])
    assert target.read_text(encoding="utf-8") == SEED
    assert files.read(store.path) == SEED.encode()
