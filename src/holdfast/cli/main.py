"""The entry point: finds the command, imports only its module, and turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Sequence

from holdfast import __version__

# name -> (module, one line of help). The module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "status": ("holdfast.cli.status", "where this project stands (what plain `holdfast` shows)"),
    "init": ("holdfast.cli.init", "set this project up: read sessions, look around, wire your agents"),
    "demo": ("holdfast.cli.demo", "try everything on bundled sessions in a scratch project"),
    "import": ("holdfast.cli.import_", "read agents' transcripts into this project's memory"),
    "ledger": ("holdfast.cli.ledger", "list, show, add, share and summarise sessions"),
    "ui": ("holdfast.cli.ui", "everything that is remembered, as a page in your browser"),
    "cost": ("holdfast.cli.cost", "what all agents on this machine used, at API prices"),
    "recommend": ("holdfast.cli.recommend", "which model to take for a goal, and what that rests on"),
    "similar": ("holdfast.cli.similar", "past sessions like a goal, and how they ended"),
    "alerts": ("holdfast.cli.alerts", "sessions that cost or take more than their like, and budgets"),
    "resume": ("holdfast.cli.resume", "what a new session needs to go on here"),
    "context": ("holdfast.cli.context", "what is true here now, and what has changed since the last look"),
    "handoff": ("holdfast.cli.handoff", "say in your own words what is next"),
    "show": ("holdfast.cli.show", "a session as a person reads it: prompts, calls, diffs, cost"),
    "log": ("holdfast.cli.log", "what each session did, decided and found"),
    "search": ("holdfast.cli.search", "find anything that is remembered, by words and by meaning"),
    "recall": ("holdfast.cli.recall", "the few lines that a task needs, each with its source"),
    "classify": (
        "holdfast.cli.classify",
        "what a prompt asks for: code, a look, an answer, or neither",
    ),
    "index": ("holdfast.cli.index", "bring the search index up to date, or make it anew"),
    "lessons": ("holdfast.cli.lessons", "what sessions taught: review, promote, reject, share, trust"),
    "share": ("holdfast.cli.share", "share decisions with your team, as files that are reviewed in git"),
    "sync": ("holdfast.cli.sync", "one memory on several machines, and what a team shares"),
    "team": ("holdfast.cli.team", "who shares this project's decisions, and what each of them shares"),
    "keys": ("holdfast.cli.keys", "the key by which you sign and seal what is synced"),
    "trust": ("holdfast.cli.trust", "archives and lessons from elsewhere that wait for you"),
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
    "blame": ("holdfast.cli.blame", "which session, request and decision is behind the lines of a file"),
    "holdout": ("holdfast.cli.holdout", "give a random share of sessions nothing, to measure the effect"),
    "roi": ("holdfast.cli.roi", "what memory saved, counted, and how each figure was counted"),
    "backtest": (
        "holdfast.cli.backtest",
        "what memory would have told past sessions, and what came of it",
    ),
    "agents": ("holdfast.cli.agents", "which agents are on this machine, and what they recorded"),
    "doctor": ("holdfast.cli.doctor", "check that everything is sound, and say what is not"),
    "audit": ("holdfast.cli.audit", "secrets, contradictions and dead weight in what agents read"),
    "du": ("holdfast.cli.du", "what takes room on disk, by kind and project"),
    "prune": ("holdfast.cli.prune", "remove old backups, leftovers, and what can be made again"),
    "hook": ("holdfast.cli.hook", "answer an agent's hook (machine interface)"),
    "fenced": ("holdfast.cli.fenced", "what a command prints as notes for an agent (machine interface)"),
    "statusline": ("holdfast.cli.statusline", "a line for Claude Code's status line (machine interface)"),
    "mcp": ("holdfast.mcp.command", "memory as tools for agents, over MCP (machine interface)"),
    "completion": ("holdfast.cli.completion", "print the completion script for your shell"),
}

# The sections of the help, the everyday commands first. Every command is in one of them.
GROUPS: dict[str, str] = {
    "every day": "init status ui resume handoff why blame todo alerts demo",
    "memory": "log show search recall fact decide share ask answer questions context import",
    "lessons and knowledge": "lessons know classify",
    "ledger": "ledger cost recommend similar roi holdout backtest",
    "agents": "agents install uninstall plugin on off",
    "share": "sync team keys",
    "care": "doctor audit du prune project history undo archive export restore trust forget index completion",
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
    """Runs the command in `arguments`, by default the process's own; returns the exit code."""
    if sys.stdout is None or sys.stderr is None:
        from holdfast.terminal.run import open_missing

        open_missing()
    try:
        try:
            return _main(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            if sys.exc_info()[0] in (None, SystemExit):
                sys.stdout.flush()
            if arguments is None and "duckdb" not in sys.modules:  # which reports what nobody collected
                gc.freeze()  # a last search for cycles would only delay the end of the process
            else:
                gc.enable()  # a command may have disabled it, and this process continues
    except KeyboardInterrupt:  # while modules were still being loaded; a command answers for itself
        sys.stderr.write("holdfast: interrupted before anything was done.\n")
        return 130
    except OSError as error:
        from holdfast.terminal.run import give_up, is_ours

        if not is_ours(error):
            raise
        return give_up(error)


def _main(words: list[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        from holdfast.terminal.run import complete

        complete(COMMANDS)
    if words[:1] == ["help"] and len(words) > 1:
        words = [words[1], "--help"]
    if set(words) <= {"--json"}:
        words = ["status", *words]
    name, rest = words[0], words[1:]
    if name in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
    elif name in ("--version", "-V"):
        sys.stdout.write(f"holdfast {__version__}\n")
    elif name.startswith("-"):
        unknown = next(word for word in words if word != "--json")
        return _refuse("option", unknown, _OPTIONS)
    elif name not in COMMANDS:
        return _refuse("command", name, COMMANDS)
    else:
        return _run(name, rest)
    return 0


def _refuse(kind: str, word: str, known: Iterable[str]) -> int:
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    sys.stderr.write(f"holdfast: no {kind} {word!r}.{suggestion} Run holdfast --help.\n")
    return 2


def _run(name: str, words: list[str]) -> int:
    """Runs a command: without loading the application, where what was prepared suffices."""
    if name == "hook" and not {"-h", "--help"}.intersection(words):
        if len(words) == 2 or not sys.stdin.isatty():
            from holdfast.hooks.hook import run as answer_hook

            # Ends the process, whatever words a host gives: the 2 of a wrong usage would refuse a person's prompt.
            answer_hook(words)
    elif name == "statusline" and not words:
        from holdfast.hooks.statusline import run as show_line

        show_line()  # ends the process, too
    elif name == "resume":
        from holdfast.cli.prepared import print_resume

        if print_resume(words):
            return 0
    elif name == "context":
        from holdfast.cli.context_quick import print_context

        if print_context(words):
            return 0
    elif name == "ledger" and words[:1] == ["stats"]:
        from holdfast.cli.ledger_quick import print_stats

        if (code := print_stats(words[1:])) is not None:
            return code
    from holdfast.terminal.run import run_command

    return run_command(name, *COMMANDS[name], words)


if __name__ == "__main__":
    raise SystemExit(main())
