"""`holdfast context`: what is true here now, and what has changed since the last look."""

from __future__ import annotations

import contextlib
import select
import shutil
import sys

from holdfast.cli.context_quick import REST_S, look_again
from holdfast.core.errors import UsageError
from holdfast.knowledge import context_view
from holdfast.knowledge.live_context import ContextLook, LiveContext, News
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Shows what is true in this directory now, one line per source: date, environment, git, the
instruction files agents read, what is known of the repository, agents' own notes. Then what changed since you last
looked. Agents do not see this."""
EXAMPLES = """examples:
  holdfast context                             one line per source
  holdfast context --source core/instructions  one source in full
  holdfast context --watch                     and a line for each change, until Ctrl+C"""


OPTIONS = (
    flag("--watch", "keep running and print changes as they happen"),
    option(
        "--source",
        default="",
        metavar="KEY",
        help="show one source in full, such as core/git; does not count as a look",
    ),
    flag("--no-save", "do not count this as a look: the next one shows the same changes"),
    flag("--json", "as JSON; with --watch a line for each change"),
)


def run(options: Namespace, machine: Machine) -> None:
    # A look at one source does not show what changed in the others.
    save = not options.no_save and (options.watch or not options.source)
    context = LiveContext(machine, machine.project(), save=save)
    if options.source and options.source not in context.registry.keys:
        names = ", ".join(context.registry.keys)
        raise UsageError(f"no source {options.source!r}", fix=f"Sources: {names}")
    try:
        look = context.look()
        if options.json and not options.watch:
            _write(_json(look, options.source, indent=2))
        elif not options.json:
            _show(look, options.source)
        _look_again(machine)
        if options.watch:
            _watch(context, machine, options.source, as_json=options.json)
    except KeyboardInterrupt:
        if not options.watch:
            raise


def _look_again(machine: Machine) -> None:
    project = machine.project()
    look_again(str(project.memory), str(project.root), machine.env, machine.now().timestamp())


def _json(look: ContextLook, only: str, indent: int | None = None) -> str:
    loaded = look.loaded
    fields = context_view.as_json(
        look.registry, look.place, loaded.entries, loaded.errors, look.changes, look.since, only
    )
    return context_view.dumped(fields, indent)


def _show(look: ContextLook, only: str) -> None:
    if look.warning:
        output.warn(look.warning)
    width = shutil.get_terminal_size().columns if output.on_terminal() else None
    text = context_view.report(look.registry, look.loaded, look.changes, look.since, only, width)
    output.lines(*text.splitlines())
    if only in look.loaded.errors:
        output.warn(f"{only} {look.loaded.errors[only]}")
    elif not text:
        output.note(f"{only} has nothing to show here.")


def _watch(context: LiveContext, machine: Machine, only: str, *, as_json: bool) -> None:
    if not as_json and output.on_terminal():
        output.note("Watching; press Ctrl+C to stop.")
    sys.stdout.flush()  # a pipe is buffered, and its reader waits for what is known so far
    began = machine.now().timestamp()
    for news in context.watch():
        if news is None:
            if _reader_has_gone():
                return
            if machine.now().timestamp() - began >= REST_S:
                began = machine.now().timestamp()
                _look_again(machine)
        elif only in ("", news.change.key if news.change else news.key):
            _write(_news_as_json(news) if as_json else _news(news))


def _news(news: News) -> str:
    problem = f"! {news.key}  {news.error or 'responds again'}"
    text = context_view.change_line(news.change) if news.change is not None else problem
    return f"{context_view.clock(news.at, '%H:%M:%S')} {text}"


def _news_as_json(news: News) -> str:
    kind = "error" if news.error else "recovered"
    problem = {"kind": kind, "key": news.key, "text": news.error, "value": None}
    value = context_view.change_as_json(news.change) if news.change is not None else problem
    return context_view.dumped({"at": context_view.moment(news.at), **value})


def _write(text: str) -> None:
    """A line that a reader of the pipe gets at once."""
    output.line(text)
    sys.stdout.flush()


def _reader_has_gone() -> bool:
    """Only a write fails when the reader of a pipe is gone, and there may be nothing to write for hours."""
    if not hasattr(select, "poll"):
        return False
    with contextlib.suppress(OSError, ValueError):
        waiting = select.poll()
        waiting.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in waiting.poll(0))
    return False
