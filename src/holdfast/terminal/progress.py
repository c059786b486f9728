"""How far a long command is: a bar on the terminal, gone when it is done; piped, a line on stderr now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Update = Callable[[int, int | None, str], None]  # done, in all, and what is at work

FIRST_S, EVERY_S = 3.0, 10.0  # piped: after so long the first line, then the next ones


@contextmanager
def progress_bar(*, show: bool, text: str, columns: tuple[str, ...]) -> Iterator[Update | None]:
    """`columns` are classes of rich.progress that stand after the bar; None is given where nothing is shown."""
    if not show:
        yield None
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich import progress
    from rich.console import Console

    first_columns = (progress.TextColumn("{task.description}"), progress.BarColumn())
    more = (getattr(progress, column)() for column in columns)
    with progress.Progress(*first_columns, *more, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)


class _Lines:
    """Says on stderr how far it is, and nothing if it is done soon."""

    def __init__(self) -> None:
        self._next = time.monotonic() + FIRST_S

    def __call__(self, done: int, total: int | None, text: str) -> None:
        if (now := time.monotonic()) < self._next:
            return
        self._next = now + EVERY_S
        share = f", {done / total:.0%}" if total else ""
        sys.stderr.write(f"holdfast: {' '.join(text.split())}{share}\n")
        sys.stderr.flush()
