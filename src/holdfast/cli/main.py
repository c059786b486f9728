"""The entry point: finds the command, imports only its module, and turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from holdfast import __version__

# name -> (module, one line of help). The module is imported only when its command runs. A name of two words is a
# subcommand that is a module of its own; the other subcommands are the VERBS of their command's module.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": (
        "holdfast.cli.init",
        "set up this project: import sessions, connect agents",
    ),
    "doctor": ("holdfast.cli.doctor", "check that everything is in order, and repair it"),
    "agents": ("holdfast.cli.agents", "agents on this machine: list, install, uninstall, plugin, on, off"),
    "agents install": (
        "holdfast.cli.install",
        "connect an agent: hooks and tools in its own configuration",
    ),
    "agents uninstall": ("holdfast.cli.uninstall", "disconnect an agent and restore its configuration"),
    "agents plugin": (
        "holdfast.cli.plugin",
        "connect an agent through a plugin, with commands and a skill",
    ),
    "agents on": ("holdfast.cli.switch", "turn hooks back on in this directory"),
    "agents off": ("holdfast.cli.switch", "turn hooks off in this directory"),
    "status": ("holdfast.cli.status", "where this project stands (what plain `holdfast` shows)"),
    "resume": ("holdfast.cli.resume", "what a new session needs to continue here"),
    "handoff": ("holdfast.cli.handoff", "record next steps, or hand a session over to an agent"),
    "todo": ("holdfast.cli.todo", "list, add, change and close to-dos"),
    "search": ("holdfast.cli.search", "find anything in memory; --brief gathers all about a subject"),
    "ask": ("holdfast.cli.ask", "an answer from memory, or the few lines a task needs"),
    "recall": ("holdfast.cli.recall", "the few lines a task needs, each with its source"),
    "why": ("holdfast.cli.why", "what a session saw, and why"),
    "note": ("holdfast.cli.note", "save what you know: a fact, a decision, an answer, a rule"),
    "note fact": ("holdfast.cli.fact", "add, list, verify and retire facts, each with its evidence"),
    "note decision": ("holdfast.cli.decide", "add, list, change, confirm and retire decisions"),
    "note answer": ("holdfast.cli.answer", "answer or close a question, so that it is not asked again"),
    "note write": ("holdfast.cli.write", "let your own agent write down what a session settled"),
    "note rule": ("holdfast.cli.rule", "add a rule that every agent should follow"),
    "lessons": ("holdfast.cli.lessons", "rules learned from sessions: review, promote, reject, share, trust"),
    "know": ("holdfast.cli.know", "conventions of this repository, and the files that show them"),
    "forget": ("holdfast.cli.forget", "remove a session, a fact or words from memory for good"),
    "undo": ("holdfast.cli.undo", "undo the last change; run it again to redo it"),
    "ui": ("holdfast.cli.ui", "everything in memory as a page in your browser"),
    "log": ("holdfast.cli.log", "what each session did, decided and found"),
    "show": ("holdfast.cli.show", "one session in full: prompts, calls, diffs, cost"),
    "blame": ("holdfast.cli.blame", "the session, request and decision behind lines of a file"),
    "ledger": ("holdfast.cli.ledger", "figures for every session: list, stats, report, recommend, alerts"),
    "ledger recommend": ("holdfast.cli.recommend", "which model to use for a goal, and the evidence"),
    "ledger similar": ("holdfast.cli.similar", "past sessions with a similar goal, and how they ended"),
    "ledger alerts": ("holdfast.cli.alerts", "unusually long or expensive sessions, and budgets"),
    "ledger roi": ("holdfast.cli.roi", "what memory saved, and how each figure was counted"),
    "cost": ("holdfast.cli.cost", "what all agents on this machine used, at API prices"),
    "backtest": (
        "holdfast.cli.backtest",
        "what memory would have shown past sessions, and what came of it",
    ),
    "sync": ("holdfast.cli.sync", "keep memory in sync between machines and with a team"),
    "team": ("holdfast.cli.team", "the members of a team, and what each of them shares"),
    "team server": ("holdfast.cli.team_server", "PostgreSQL for a team: set it up, add members, check it"),
    "audit": ("holdfast.cli.audit", "find secrets, contradictions and clutter in what agents read"),
    "demo": ("holdfast.cli.demo", "try everything on bundled sessions in a scratch project"),
    "import": ("holdfast.cli.import_", "read agents' sessions into this project's memory"),
    "context": ("holdfast.cli.context", "what is true here now, and what changed since you last looked"),
    "questions": ("holdfast.cli.questions", "questions that came up in this project, open ones first"),
    "project": ("holdfast.cli.project", "the projects in this repository, and which one a branch belongs to"),
    "classify": (
        "holdfast.cli.classify",
        "how a prompt is classified: code, exploration, question or other",
    ),
    "holdout": (
        "holdfast.cli.holdout",
        "withhold memory from a random share of sessions, to measure its effect",
    ),
    "share": ("holdfast.cli.share", "share decisions with your team, as files reviewed in git"),
    "trust": ("holdfast.cli.trust", "review and trust archives, lessons and decisions from elsewhere"),
    "history": ("holdfast.cli.history", "the versions of a file, and what each change did"),
    "archive": ("holdfast.cli.archive", "move older sessions of a long log to its archive"),
    "export": ("holdfast.cli.export", "export this project's memory to one file"),
    "restore": ("holdfast.cli.restore", "read an exported memory back in, here or on another machine"),
    "keys": ("holdfast.cli.keys", "the key that signs and seals what you sync"),
    "index": ("holdfast.cli.index", "update the search index, or rebuild it"),
    "du": ("holdfast.cli.du", "what uses disk space, by kind and project"),
    "prune": ("holdfast.cli.prune", "remove old backups, leftovers, and what can be rebuilt"),
    "completion": ("holdfast.cli.completion", "print the completion script for your shell"),
    "hook": ("holdfast.cli.hook", "answer an agent's hook (machine interface)"),
    "statusline": ("holdfast.cli.statusline", "a line for Claude Code's status line (machine interface)"),
    "fenced": ("holdfast.cli.fenced", "a command's output as notes for an agent (machine interface)"),
    "mcp": ("holdfast.mcp.command", "memory as tools for agents, over MCP (machine interface)"),
}

# What `holdfast --help` lists, at most 24 commands, by what one wants of them.
GROUPS: dict[str, str] = {
    "start": "init doctor agents",
    "continue": "resume handoff todo",
    "ask": "search ask why",
    "remember": "note lessons know forget undo",
    "read": "ui log show blame",
    "measure": "ledger cost backtest",
    "share and check": "sync team audit",
}
# What `holdfast --help --all` lists below them. Every command is in one of these sections.
RARE_GROUPS: dict[str, str] = {
    "less often": "status demo import recall questions context project holdout classify",
    "files and disk": "export restore history archive share trust keys index du prune completion",
    "for programs": "hook statusline fenced mcp",
}
# Names of before 1.0. They work as ever; a person at a terminal is told today's.
OLD_NAMES: dict[str, str] = {
    "install": "agents install",
    "uninstall": "agents uninstall",
    "plugin": "agents plugin",
    "on": "agents on",
    "off": "agents off",
    "fact": "note fact",
    "decide": "note decision",
    "answer": "note answer",
    "recommend": "ledger recommend",
    "similar": "ledger similar",
    "alerts": "ledger alerts",
    "roi": "ledger roi",
}

_SETTINGS = ("config", "configure", "settings", "options", "set")  # there is no such command: a file has them
_OPTIONS = ("--help", "--version", "--json")  # without a command
_ANYWHERE = ("--json", "--yes")  # options that may stand before a subcommand, too
USAGE = "usage: holdfast [COMMAND] [OPTIONS]\n"


def help_text(*, everything: bool = False) -> str:
    """The list of commands; with `everything` also the rare ones and the subcommands with a page of their own."""
    sections = GROUPS | RARE_GROUPS if everything else GROUPS
    listed = {
        title: [row for name in names.split() for row in _rows(name, everything)]
        for title, names in sections.items()
    }
    width = max(len(name) for names in listed.values() for name in names) + 2
    groups = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}{COMMANDS[name][1]}" for name in names)])
        for title, names in listed.items()
    )
    return (
        f"{USAGE}\nMemory that every coding agent shares: local, markdown, no daemon, no cloud.\n"
        "`holdfast` by itself shows where this project stands.\n\n"
        f"{groups}\n\n"
        "`holdfast COMMAND --help` shows more. Every command that reads accepts --json.\n\n"
        "options:\n  -h, --help     show this and exit; with --all, every command\n"
        "  --version      show the version and exit\n"
    )


def _rows(name: str, everything: bool) -> list[str]:
    return [name, *(f"{name} {below}" for below in subcommands(name))] if everything else [name]


def subcommands(name: str) -> dict[str, str]:
    """The subcommands of a command that are modules of their own, each with its line of help."""
    prefix = f"{name} "
    return {key[len(prefix) :]: about for key, (_, about) in COMMANDS.items() if key.startswith(prefix)}


def resolve(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command that is meant and the words for it: subcommands joined, old names as their new ones."""
    name, rest = OLD_NAMES.get(words[0], words[0]), list(words[1:])
    place = next((place for place, word in enumerate(rest) if word not in _ANYWHERE), None)
    if place is not None and f"{name} {rest[place]}" in COMMANDS:
        name = f"{name} {rest.pop(place)}"
    return name, rest


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
        sys.stderr.write("holdfast: interrupted; nothing was done.\n")
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
    if words[:1] == ["help"] and words[1:] and words[1] != "--all":
        words = [*words[1:], "--help"]
    if set(words) <= {"--json"}:
        words = ["status", *words]
    if words[0] in OLD_NAMES and sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"holdfast {words[0]} is now holdfast {OLD_NAMES[words[0]]}.\n")
    name, rest = resolve(words)
    if name in ("-h", "--help", "help"):
        sys.stdout.write(help_text(everything="--all" in rest))
    elif name in ("--version", "-V"):
        sys.stdout.write(f"holdfast {__version__}\n")
    elif name.startswith("-"):
        unknown = next(word for word in words if word != "--json")
        return _refuse("option", unknown, {option: option for option in _OPTIONS})
    elif name not in COMMANDS:
        return _refuse("command", name, _known_names())
    else:
        return _run(name, rest)
    return 0


def _refuse(kind: str, word: str, known: Mapping[str, str]) -> int:
    """`known` has for each word that may be meant how it is written today."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    suggestion = f" Did you mean {known[close[0]]!r}?" if close else ""
    if word in _SETTINGS:
        suggestion = " Options are in ~/.holdfast/config.toml (docs/configuration.md lists them)."
    sys.stderr.write(f"holdfast: unknown {kind} {word!r}.{suggestion} Run holdfast --help.\n")
    return 2


def _known_names() -> dict[str, str]:
    """What a mistyped command may mean: a command, else a subcommand, else a verb: `promote` is one of `lessons`."""
    from holdfast.terminal.run import verbs_of

    verbs = {verb: f"{name} {verb}" for name in reversed(COMMANDS) for verb in verbs_of(COMMANDS[name][0])}
    below = {name.rpartition(" ")[2]: name for name in COMMANDS}
    return {**verbs, **below, **OLD_NAMES, **{name: name for name in COMMANDS if " " not in name}}


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

    return run_command(name, *COMMANDS[name], words, subcommands(name))


if __name__ == "__main__":
    raise SystemExit(main())
