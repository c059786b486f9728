"""Search by words and by meaning in one local file: `holdfast.search.open(path)` is the way in for any program.

docs/search.md shows it at work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.search.contract import FLOOR, Index, When
from holdfast.search.embed.contract import Embedder

__all__ = ["FLOOR", "Changes", "Chunk", "Embedder", "Hit", "Index", "Stats", "When", "open"]

_FILE = "index.db"


def open(
    path: str | os.PathLike[str],
    embedder: Embedder | str | None = "static",
    *,
    tell: Callable[[str], None] | None = None,
) -> Index:
    """The index at `path` (a file, or a folder for its `index.db`), made if there is none.

    `embedder`: "static" is the table that holdfast ships; "minilm" the real all-MiniLM-L6-v2, with the extra of
    that name; None searches by words alone; or anything that satisfies `Embedder`. An index that was made with
    another one has its vectors made anew, which `tell` is told before it begins: a sentence for a person.
    """
    from holdfast.search.sqlite import SqliteIndex

    return SqliteIndex(_file_at(os.fspath(path)), _embedder(embedder), tell)


def _file_at(path: str) -> Path:
    if not path.strip() or path == ":memory:":  # its vectors are a file, whatever SQLite could do without one
        fix = "Name a file or a folder; tempfile.TemporaryDirectory() makes one that goes away"
        raise UsageError(f"an index needs a place on disk, which {path!r} is not", fix=fix)
    place = Path(path)
    is_folder = place.is_dir() or path.endswith(("/", os.sep))
    return place / _FILE if is_folder else place


def _embedder(wanted: Embedder | str | None) -> Embedder | None:
    if wanted is None:
        return None
    if not isinstance(wanted, str):
        if not all(hasattr(wanted, name) for name in ("name", "width", "embed")):
            raise UsageError(
                "an embedder has a name, a width and embed(texts)", fix="docs/search.md shows one"
            )
        return wanted
    if wanted == "static":
        from holdfast.search.embed.static import StaticTable

        return StaticTable()
    if wanted == "minilm":
        from holdfast.search.embed.minilm import installed

        return installed()
    raise UsageError(f"no embedder is called {wanted!r}", fix="Use 'static', 'minilm' or None")
