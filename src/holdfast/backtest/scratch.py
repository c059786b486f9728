"""The folder that a backtest works in: all that it writes is below it, and goes with it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.core.folders import scratch_projects
from holdfast.core.sync_folders import names_together, to_be_discarded


@contextmanager
def scratch_folder() -> Iterator[Path]:
    with (
        scratch_projects("backtest") as folder,
        to_be_discarded(),
        names_together(),
    ):
        yield folder


def make(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(path: Path, text: str) -> None:
    make(path.parent)
    path.write_text(text, encoding="utf-8")


def remove(path: Path) -> None:
    """Removes a file or a folder with all that is in it, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
