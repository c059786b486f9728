"""A progress bar on the terminal, gone when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Update = Callable[[int, int | None, str], None]  # done, in all, and what is at work


@contextmanager
def progress_bar(*, show: bool, text: str, columns: tuple[str, ...]) -> Iterator[Update | None]:
    """`columns` are classes of rich.progress that stand after the bar; None is given where no bar is shown."""
    if not (show and sys.stderr.isatty()):
        yield None
        return
    from rich import progress
    from rich.console import Console

    first_columns = (progress.TextColumn("{task.description}"), progress.BarColumn())
    more = (getattr(progress, column)() for column in columns)
    with progress.Progress(*first_columns, *more, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)
