"""Forgetting in edits.db: the edits of sessions, and texts in prompts and paths. SQLite's old pages go too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from holdfast.provenance.store import EditStore
from holdfast.store.removal import Removal


def count_edits(path: Path, removal: Removal) -> int:
    """How many sessions and texts would go. Writes nothing."""
    if not path.is_file():
        return 0
    with closing(EditStore(path)) as store:
        return sum(1 for _ in _changes(store, removal)) + len(store.sessions() & removal.sessions)


def forget_edits(path: Path, removal: Removal) -> int:
    """Remove them; return how many there were."""
    number = count_edits(path, removal)
    if number:
        with closing(EditStore(path)) as store:
            store.erase(removal.sessions, list(_changes(store, removal)))
    return number


def _changes(store: EditStore, removal: Removal) -> Iterator[tuple[str, int, str]]:
    """Each text that holds what is to be forgotten: its column, its row and the text without it."""
    for column, row, text in store.texts():
        edited = removal.text(text)
        if edited != text:
            yield column, row, edited
