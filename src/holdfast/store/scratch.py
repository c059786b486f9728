"""A folder for what is needed only while one question is answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import StoreError


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """An empty folder that only this user can read, and that is gone afterwards."""
    from tempfile import TemporaryDirectory

    try:
        folder = TemporaryDirectory(prefix=f"holdfast-{purpose}-", ignore_cleanup_errors=True)
    except OSError as error:
        where = str(error.filename or "")
        fix = "Set TMPDIR to a folder that you may write to"
        raise StoreError(f"no folder for temporary files: {error.strerror}", where=where, fix=fix) from error
    with folder as name:
        yield Path(name)
