"""`holdfast ui`: the page over everything that is remembered, in your browser, while this command runs."""

from __future__ import annotations

import sys

from holdfast.core.errors import UsageError
from holdfast.terminal import output
from holdfast.terminal.options import SUPPRESS, Machine, Namespace, count, flag, option

DESCRIPTION = """Opens everything holdfast knows as a page in your browser: sessions and what memory showed them,
decisions, facts and rules, cost, search. Only this machine can reach it, through a link that works once. It ends with
Ctrl+C, when its terminal closes, or after 30 minutes without use."""
EXAMPLES = """examples:
  holdfast ui
  holdfast ui --all                  every project on this machine, and all of them together
  holdfast ui --directory ~/work/api --directory ~/work/web
  holdfast ui --no-open --port 8765  on another machine: ssh -L 8765:localhost:8765 HOST
"""

OPTIONS = (
    option("--port", type=count, default=0, metavar="N", help="the port (default: a free one)"),
    flag("--no-open", "do not open the browser"),
    flag("--print-url", "print the link and nothing else, and do not open the browser"),
    flag("--all", "every project on this machine"),
    option(
        "--directory",
        action="append",
        default=[],
        metavar="DIR",
        help="the project of this directory; repeatable",
    ),
    option("--project", dest="directory", action="append", default=SUPPRESS, help=SUPPRESS),  # its first name
)


def run(options: Namespace, machine: Machine) -> None:
    terminal = next((stream.fileno() for stream in (sys.stdin, sys.stdout) if stream.isatty()), None)
    if terminal is None and not (options.no_open or options.print_url):
        raise UsageError(
            "holdfast ui needs a terminal",
            fix="Run it in a terminal, or add --print-url; it then runs until the process that started it ends",
        )
    from holdfast.web.projects import open_projects

    projects = open_projects(machine, options.directory, everywhere=options.all)
    # The server and the templates are loaded by this command alone.
    from holdfast.web.serve import GONE, Life, serve

    why = serve(
        machine,
        projects,
        port=options.port,
        everywhere=options.all,
        life=Life(
            terminal=terminal,
            offer=_print_url if options.print_url else _Offer(keys=terminal is not None),
            open_browser=not (options.no_open or options.print_url),
        ),
    )
    if not options.print_url and why != GONE:
        output.line(f"Ended: {why}.")


def _print_url(url: str) -> None:
    output.write(f"{url}\n")
    sys.stdout.flush()


class _Offer:
    """Shows a link; the first time with how to go on."""

    def __init__(self, *, keys: bool) -> None:
        self._keys = keys
        self._first = True

    def __call__(self, url: str) -> None:
        if self._first:
            output.heading("holdfast ui")
        output.write(f"\n  {url}\n\n")
        if self._first:
            output.line(
                "  The link works once, and only for you. The page stops after 30 minutes without use."
            )
            if self._keys:
                output.line("  Enter: new link    Ctrl+C: stop")
        self._first = False
        sys.stdout.flush()
