"""Full-text and semantic search in one local file. Any program can use it: `holdfast.search.open(path)`.

docs/contributing/search.md has examples.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.core.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.search.contract import FLOOR, Index, When
from holdfast.search.embed.static import Embedder

__all__ = ["FLOOR", "Changes", "Chunk", "Embedder", "Hit", "Index", "Stats", "When", "open"]

_FILE = "index.db"


def open(
    path: str | os.PathLike[str],
    embedder: Embedder | str | None = "static",
    *,
    tell: Callable[[str], None] | None = None,
) -> Index:
    """Opens the index at `path` (a file, or a folder for its `index.db`), and creates it if it does not exist.

    `embedder`: "static" is the table that holdfast ships; "minilm" the real all-MiniLM-L6-v2, with the extra of
    that name; None searches by words alone; or anything that satisfies `Embedder`. An index that was made with
    another embedder gets new vectors; `tell` receives a sentence about that before it begins.
    """
    from holdfast.search.sqlite import SqliteIndex

    return SqliteIndex(_file_at(path), _embedder(embedder), tell)


def _file_at(given: str | os.PathLike[str]) -> Path:
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(path, str) or not path.strip() or not _is_name(path):
        fix = "Name a file or a folder; tempfile.TemporaryDirectory() makes one that goes away"
        raise UsageError(f"an index needs a place on disk, which {given!a} is not", fix=fix)
    is_folder = os.path.isdir(path) or path.endswith(("/", os.sep))
    return Path(path, _FILE) if is_folder else Path(path)


def _is_name(path: str) -> bool:
    """Whether SQLite would open a file of this name. An index in memory is not possible, because vectors are a file."""
    return path != ":memory:" and "\0" not in path and not any("\ud800" <= char <= "\udfff" for char in path)


def _embedder(wanted: Embedder | str | None) -> Embedder | None:
    if wanted is None:
        return None
    if not isinstance(wanted, str):
        if not all(hasattr(wanted, name) for name in ("name", "width", "embed")):
            raise UsageError(
                "an embedder has a name, a width and embed(texts)",
                fix="docs/contributing/search.md shows one",
            )
        return wanted
    if wanted == "static":
        from holdfast.search.embed.static import StaticTable

        return StaticTable()
    if wanted == "minilm":
        from holdfast.search.embed.minilm import installed

        return installed()
    raise UsageError(f"no embedder is called {wanted!r}", fix="Use 'static', 'minilm' or None")
