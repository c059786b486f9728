"""What was read of which transcript, while others open the same file."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.errors import StoreError
from holdfast.sessions import store as capture
from holdfast.sessions.store import CaptureStore


@pytest.mark.promise("F1")
def test_whoever_opens_it_while_another_makes_it_waits(tmp_path: Path) -> None:
    """SQLite itself would say "locked" at once: it does not wait where a file changes to a write-ahead log."""
    path = tmp_path / "capture.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as maker:
        maker.execute("BEGIN IMMEDIATE")
        maker.execute("CREATE TABLE another (text TEXT)")
        done = threading.Timer(0.3, maker.execute, ("COMMIT",))
        done.start()
        with closing(CaptureStore(path)) as store:
            assert store.pending() == []
        done.join()


def test_one_that_is_held_for_too_long_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "BUSY_SECONDS", 0.1)
    path = tmp_path / "capture.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as maker:
        maker.execute("BEGIN IMMEDIATE")
        maker.execute("CREATE TABLE another (text TEXT)")
        with pytest.raises(StoreError, match="Another holdfast is using it"):
            CaptureStore(path)
