"""The entry point: finds the command, imports only its module, and turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Sequence

from holdfast import __version__

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    import argparse

# name -> (module, one line of help). The module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "status": ("holdfast.cli.status", "where this project stands (what plain `holdfast` shows)"),
    "init": ("holdfast.cli.init", "set this project up: read sessions, look around, wire your agents"),
    "demo": ("holdfast.cli.demo", "try everything on bundled sessions in a scratch project"),
    "import": ("holdfast.cli.import_", "read agents' transcripts into this project's memory"),
    "ledger": ("holdfast.cli.ledger", "list, show, add, share and summarise sessions"),
    "recommend": ("holdfast.cli.recommend", "which model to take for a goal, and what that rests on"),
    "similar": ("holdfast.cli.similar", "past sessions like a goal, and how they ended"),
    "alerts": ("holdfast.cli.alerts", "sessions that cost or take more than their like, and budgets"),
    "resume": ("holdfast.cli.resume", "what a new session needs to go on here"),
    "context": ("holdfast.cli.context", "what is true here now, and what has changed since the last look"),
    "handoff": ("holdfast.cli.handoff", "say in your own words what is next"),
    "log": ("holdfast.cli.log", "what each session did, decided and found"),
    "search": ("holdfast.cli.search", "find anything that is remembered, by words and by meaning"),
    "recall": ("holdfast.cli.recall", "the few lines that a task needs, each with its source"),
    "classify": (
        "holdfast.cli.classify",
        "what a prompt asks for: code, a look, an answer, or neither",
    ),
    "index": ("holdfast.cli.index", "bring the search index up to date, or make it anew"),
    "lessons": ("holdfast.cli.lessons", "what sessions taught: review, promote, reject, share, trust"),
    "forget": ("holdfast.cli.forget", "remove a session, a fact or words from all of memory, for good"),
    "project": ("holdfast.cli.project", "the projects of this repository, and which one a branch works on"),
    "history": ("holdfast.cli.history", "the versions of a file, and what each change did"),
    "undo": ("holdfast.cli.undo", "take back the last change, and bring it back again"),
    "archive": ("holdfast.cli.archive", "move older sessions of a long log to its archive"),
    "export": ("holdfast.cli.export", "everything of this project's memory as one file"),
    "restore": ("holdfast.cli.restore", "take such a file in, here or elsewhere"),
    "fact": ("holdfast.cli.fact", "keep, list, verify and retire facts, each with its evidence"),
    "decide": ("holdfast.cli.decide", "keep a decision with its reason, or list the register"),
    "ask": ("holdfast.cli.ask", "the answer from the record, or the question kept open"),
    "answer": ("holdfast.cli.answer", "close a question, so that it is not asked again"),
    "questions": ("holdfast.cli.questions", "what was asked in this project, open questions first"),
    "todo": ("holdfast.cli.todo", "list, add and close to-dos"),
    "know": ("holdfast.cli.know", "how things are done here, with the files that show it"),
    "install": ("holdfast.cli.install", "let an agent remember and be told: hooks in its own configuration"),
    "uninstall": ("holdfast.cli.uninstall", "take the hooks out again, to the byte"),
    "plugin": ("holdfast.cli.plugin", "the same as a plugin of the agent, with commands and a skill"),
    "on": ("holdfast.cli.switch", "switch hooks on again in this directory"),
    "off": ("holdfast.cli.switch", "switch hooks off in this directory"),
    "why": ("holdfast.cli.why", "what a session was told, and for what reason"),
    "roi": ("holdfast.cli.roi", "what memory saved, counted, and how each figure was counted"),
    "agents": ("holdfast.cli.agents", "which agents are on this machine, and what they recorded"),
    "doctor": ("holdfast.cli.doctor", "check that everything is sound, and say what is not"),
    "hook": ("holdfast.cli.hook", "answer an agent's hook (machine interface)"),
    "fenced": ("holdfast.cli.fenced", "what a command prints as notes for an agent (machine interface)"),
    "statusline": ("holdfast.cli.statusline", "a line for Claude Code's status line (machine interface)"),
    "mcp": ("holdfast.mcp.command", "memory as tools for agents, over MCP (machine interface)"),
    "completion": ("holdfast.cli.completion", "print the completion script for your shell"),
}

# How the list is read: what one does every day first. Every command stands in one of them.
GROUPS: dict[str, str] = {
    "every day": "init status resume handoff why todo alerts demo",
    "memory": "log search recall fact decide ask answer questions context import",
    "lessons and knowledge": "lessons know classify",
    "ledger": "ledger recommend similar roi",
    "agents": "agents install uninstall plugin on off",
    "care": "doctor project history undo archive export restore forget index completion",
    "for programs": "hook statusline fenced mcp",
}

_OPTIONS = ("--help", "--version", "--json")  # without a command
USAGE = "usage: holdfast [COMMAND] [OPTIONS]\n"


def help_text() -> str:
    width = max(len(name) for name in COMMANDS) + 2
    groups = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}{COMMANDS[name][1]}" for name in names.split())])
        for title, names in GROUPS.items()
    )
    return (
        f"{USAGE}\nMemory that every coding agent shares: local, markdown, no daemon, no cloud.\n\n"
        f"{groups}\n\n"
        "`holdfast COMMAND --help` says more. Every command that reads takes --json.\n\n"
        "options:\n  -h, --help     show this and exit\n  --version      show the version and exit\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    if sys.stdout is None or sys.stderr is None:
        from holdfast.cli.run import open_missing

        open_missing()
    try:
        try:
            return _main(arguments)
        finally:
            if sys.exc_info()[0] in (None, SystemExit):
                sys.stdout.flush()
    except KeyboardInterrupt:  # while modules were still being loaded; a command answers for itself
        sys.stderr.write("holdfast: interrupted before anything was done.\n")
        return 130
    except OSError as error:
        from holdfast.cli.run import give_up, is_ours

        if not is_ours(error):
            raise
        return give_up(error)


def _main(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "_ARGCOMPLETE" in os.environ:
        complete()
    if words and words[0] in ("-h", "--help", "help"):
        if words[0] == "help" and len(words) > 1:
            words = [words[1], "--help"]
        else:
            sys.stdout.write(help_text())
            return 0
    if words and words[0] in ("--version", "-V"):
        sys.stdout.write(f"holdfast {__version__}\n")
        return 0
    if not words or words[0].startswith("-"):
        if unknown := next((word for word in words if word != "--json"), None):
            sys.stderr.write(
                f"holdfast: no option {unknown!r}.{_nearest(unknown, _OPTIONS)} Run holdfast --help.\n"
            )
            return 2
        words = ["status", *words]
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        sys.stderr.write(f"holdfast: no command {name!r}.{_nearest(name)} Run holdfast --help.\n")
        return 2
    if (
        name == "hook"
        and not {"-h", "--help"}.intersection(rest)
        and (len(rest) == 2 or not sys.stdin.isatty())
    ):
        from holdfast.cli.hook import run_hook

        # Ends the process, without the application being loaded. Whatever a host has for words: the 2 of a wrong
        # usage would refuse a person's prompt.
        run_hook(rest)
    if name == "statusline" and not rest:
        from holdfast.cli.statusline import show_line

        show_line()  # as above
    if name == "resume":
        from holdfast.cli.prepared import print_resume

        if print_resume(rest):
            return 0
    if name == "context":
        from holdfast.cli.context_quick import print_context

        if print_context(rest):
            return 0
    if name == "ledger" and rest[:1] == ["stats"]:
        from holdfast.cli.ledger_quick import print_stats

        if (code := print_stats(rest[1:])) is not None:
            return _ended(code, arguments)
    return _ended(_run(name, rest), arguments)


def _ended(code: int, arguments: Sequence[str] | None) -> int:
    if arguments is None:
        gc.freeze()  # the process ends: a last search for cycles in all that was read would only hold it up
    return code


def _run(name: str, words: Sequence[str]) -> int:
    from holdfast.cli.run import run_command

    return run_command(name, COMMANDS[name][0], COMMANDS[name][1], words)


def _nearest(name: str, among: Iterable[str] = COMMANDS) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, among, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def complete() -> None:
    """Answers the shell's question for the words typed so far, and ends the process."""
    import argcomplete

    argcomplete.autocomplete(whole_parser())


def whole_parser() -> argparse.ArgumentParser:
    """Every command in one parser: for completion and for the generated reference, never for running."""
    import argparse

    from holdfast.cli.options import declare
    from holdfast.cli.run import load

    parser = argparse.ArgumentParser(prog="holdfast")
    verbs = parser.add_subparsers(dest="command")
    for name, (module, about) in COMMANDS.items():
        command = load(module)
        declare(
            command, verbs.add_parser(name, help=about, description=getattr(command, "DESCRIPTION", about))
        )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
