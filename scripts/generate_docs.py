"""Writes the pages that the code itself can tell: commands, errors, options, and the README's example.

`--check` writes nothing and fails when a page is out of date. The help is rendered from the parsers and not
taken from `--help`, because argparse words that differently from one Python version to the next.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from draw_rooms import picture

import holdfast
from holdfast.cli.main import COMMANDS, OLD_NAMES, subcommands
from holdfast.core import errors
from holdfast.core.errors import HoldfastError
from holdfast.store.settings import OPTIONS, Option
from holdfast.terminal.run import parser_for

DOCS = Path(__file__).parents[1] / "docs"
GENERATED = "<!-- Written by scripts/generate_docs.py; change the code and run `make docs`. -->\n"


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument(
        "--check", action="store_true", help="write nothing, fail when a page is out of date"
    )
    check = options.parse_args().check
    stale = [name for name, text in pages() if differs(DOCS / name, text)]
    if check:
        for name in stale:
            print(f"docs/{name} is out of date: run make docs and commit it.", file=sys.stderr)
        return 1 if stale else 0
    for name, text in pages():
        (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
    print(f"docs: {', '.join(stale)} written" if stale else "docs: up to date")
    return 0


def pages() -> Iterator[tuple[str, str]]:
    yield "cli.md", commands_page()
    yield "errors.md", errors_page()
    yield "configuration.md", configuration_page()
    yield "rooms.svg", picture()
    yield "getting-started.md", getting_started()


def differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_bytes().replace(b"\r\n", b"\n") != text.encode()


# --- the example of the first page ------------------------------------------------------------------------------


SHOWN = ("1.", "4.", "5.")  # the parts of the demonstration that the page shows: not its tables


def getting_started() -> str:
    """The page with what the demo prints now, in a pipe and in UTC."""
    text = (DOCS / "getting-started.md").read_text(encoding="utf-8")
    demo = subprocess.run(
        [sys.executable, "-m", "holdfast", "demo"],
        env={**os.environ, "TZ": "UTC", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    shown = [part for part in re.split(r"\n\n(?=\d\. )", demo) if part.startswith(SHOWN)]
    lines = "\n".join(
        line.rstrip() for line in "\n\n".join(shown).splitlines() if "scratch project" not in line
    )
    lines = lines.rstrip()
    return re.sub(r"(?s)(<!-- demo output -->\n```text\n).*?(```)", lambda m: f"{m[1]}{lines}\n{m[2]}", text)


# --- commands ------------------------------------------------------------------------------------------


COMMON = {
    "--json": "the result as JSON",
    "--yes": "do not ask",
    "--dry-run": "show what would change, and change nothing",
    "-n, --limit": "how many to show; 0 is all",
    "--since": "only from then on: `7d`, `24h`, `2w`, `today` or `2026-11-01`",
    "--agent": "only this agent's sessions, e.g. `claude-code`",
    "--model": "only models whose name contains this",
    "--framework": "only projects built with this, e.g. `react`",
    "--goal": "only sessions whose goal has all these keywords",
}
COMMANDS_HEAD = """\
# The command line

`holdfast COMMAND --help` shows the same with more examples. Where a command takes one of these options, it means:
"""
EXAMPLES_SHOWN = 2
FOR_PROGRAMS = ("hook", "statusline", "fenced", "mcp", "completion")


def commands_page() -> str:
    common = [(f"`{name}`", about) for name, about in COMMON.items()]
    parts = [GENERATED, COMMANDS_HEAD, table(("Option", "Meaning"), common)]
    parts += ["An id may be shortened to its first letters.\n", old_names()]
    for name, (module, about) in COMMANDS.items():
        if name in FOR_PROGRAMS:
            continue
        parser = parser_for(name, importlib.import_module(module), about, subcommands(name))
        parts.append(f"## holdfast {name}\n")
        parts += described(name, parser, sentence(about))
    rows = [
        (f"`holdfast {name}`", COMMANDS[name][1].removesuffix(" (machine interface)"))
        for name in FOR_PROGRAMS
    ]
    return "\n".join([*parts, "## Called by programs\n", table(("Command", "Meaning"), rows)])


def old_names() -> str:
    rows = ", ".join(f"`{old}` (now `{new}`)" for old, new in OLD_NAMES.items())
    return f"Names from before 1.0 still work: {rows}.\n"


def described(name: str, parser: argparse.ArgumentParser, about: str) -> Iterator[str]:
    """What a command is for, how it is called, what each argument means, and its first examples."""
    verbs = [(verb, sub, about) for verb, sub, about in verbs_of(parser) if verb not in subcommands(name)]
    yield f"{parser.description or about}\n"
    yield fenced("\n".join([usage_of(parser), *examples_of(parser)]))
    if verbs:
        yield table(("Verb", "Meaning"), [(f"`{usage_of(sub, verb)}`", help_) for verb, sub, help_ in verbs])
    rows = argument_rows([("", parser), *((verb, sub) for verb, sub, _ in verbs)])
    if rows:
        yield table(("Argument", "Meaning"), rows)


def argument_rows(parsers: list[tuple[str, argparse.ArgumentParser]]) -> list[tuple[str, ...]]:
    """A row for each meaning, however many verbs take the argument; common options are described once for all."""
    takers: dict[tuple[str, str], list[str]] = {}
    for verb, parser in parsers:
        for action in arguments_of(parser):
            if ", ".join(action.option_strings) not in COMMON:
                takers.setdefault((label(action), meaning(action)), []).append(verb)
    rows = []
    for (argument, means), verbs in takers.items():
        of = "" if "" in verbs else f" ({', '.join(verbs)})"
        rows.append((f"{argument}{of}", means))
    return rows


def examples_of(parser: argparse.ArgumentParser) -> list[str]:
    lines = [line.strip() for line in (parser.epilog or "").splitlines()[1:] if line.strip()]
    return ["", *lines[:EXAMPLES_SHOWN]] if lines else []


def usage_of(parser: argparse.ArgumentParser, verb: str = "") -> str:
    """How it is called: common options by name, and whether there are others."""
    words = [verb or parser.prog]
    words += ["[VERB]" for _ in subparsers_of(parser)]
    given = arguments_of(parser)
    options = [", ".join(action.option_strings) for action in given if action.option_strings]
    words += [shown(action) for action in given if not action.option_strings]
    words += ["[OPTIONS]"] if any(name not in COMMON for name in options) else []
    words += [f"[{name.rpartition(' ')[2]}]" for name in options if name in COMMON]
    return " ".join(words)


def shown(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest).upper()
    return f"[{name} …]" if action.nargs == "*" else f"[{name}]" if action.nargs == "?" else name


def arguments_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    hidden = (argparse._SubParsersAction, argparse._HelpAction)
    return [
        action
        for action in parser._actions
        if not isinstance(action, hidden) and action.help != argparse.SUPPRESS
    ]


def subparsers_of(
    parser: argparse.ArgumentParser,
) -> Iterator[argparse._SubParsersAction[argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield action


def verbs_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    for action in subparsers_of(parser):
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for verb, sub in action.choices.items():
            yield verb, sub, helps.get(verb, "")


def label(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{shown(action)}`"
    value = f" {action.metavar or action.dest.upper()}" if action.nargs != 0 else ""
    return f"`{', '.join(action.option_strings)}{value}`"


def meaning(action: argparse.Action) -> str:
    text = action.help or ""
    choices = f"one of {', '.join(map(str, action.choices))}" if action.choices else ""
    if choices and choices.removeprefix("one of ") in text:
        choices = ""
    again = "may be repeated" if isinstance(action, argparse._AppendAction) else ""
    return "; ".join(part for part in (text, choices, again) if part)


# --- errors --------------------------------------------------------------------------------------------


ERRORS = """\
# Errors

An error is one line on standard error: where, what is wrong, and what to do. Codes never change once released.
"""
EXIT_CODES = """\
Exit codes: 0 success; 1 an error, or a problem that `holdfast doctor` found; 2 wrong usage; 130 interrupted.
"""


def errors_page() -> str:
    rows = [(f"`{kind.code}`", kind.__name__, meaning_of(kind), str(exit_code(kind))) for kind in families()]
    return "\n".join([GENERATED, ERRORS, table(("Code", "Class", "Meaning", "Exit code"), rows), EXIT_CODES])


def families() -> list[type[HoldfastError]]:
    """Every error class of the package, the base first."""
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: list[type[HoldfastError]] = [HoldfastError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__.startswith("holdfast.")]


def meaning_of(kind: type[HoldfastError]) -> str:
    """The class's own words, else its line in the tree at the top of the module."""
    if kind.__doc__:
        return flat(kind.__doc__)
    line = re.search(rf"^.*\b{kind.__name__}\s+(\S.*)$", errors.__doc__ or "", re.MULTILINE)
    if line is None:
        raise SystemExit(
            f"{kind.__module__}.{kind.__name__} says nowhere what it means: give it a docstring."
        )
    return sentence(line[1])


def exit_code(kind: type[HoldfastError]) -> int:
    return 2 if issubclass(kind, errors.UsageError) else 1


# --- configuration -------------------------------------------------------------------------------------

ENVIRONMENT = (
    ("`HOLDFAST_HOME`", "Where memory is stored, instead of `~/.holdfast`."),
    ("`CLAUDE_CONFIG_DIR`", "Where Claude Code keeps its files, if not in its usual places."),
    ("`CODEX_HOME`", "Where Codex keeps its files, instead of `~/.codex`."),
)


CONFIGURATION = """\
# Configuration

Two optional TOML files: your own `~/.holdfast/config.toml` (in `HOLDFAST_HOME` if that is set) and the repository's `.holdfast/config.toml`. Yours wins.
Options marked "personal file" are ignored in a repository, with a warning: nothing that comes with a clone may decide what is read, run or sent. An
unknown option is a warning, a wrong value an error.
"""


def configuration_page() -> str:
    titles = ("Option", "Type", "Default", "Read from", "Meaning")
    options = table(titles, [option_row(option) for option in OPTIONS])
    environment = table(("Variable", "Meaning"), list(ENVIRONMENT))
    return "\n".join([GENERATED, CONFIGURATION, options, "## Environment\n", environment])


TYPES = {"list": "list of strings", "str": "string"}


def option_row(option: Option) -> tuple[str, ...]:
    choices = " or ".join(f'`"{choice}"`' for choice in option.choices)
    kind = choices or TYPES.get(option.kind.__name__, option.kind.__name__)
    default = f"`{option.default!r}`".replace("'", '"')
    return (
        f"`{option.name}`",
        kind,
        default,
        "personal file" if option.personal_only else "both",
        option.about,
    )


# --- markdown ------------------------------------------------------------------------------------------


def table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [
        titles,
        tuple("---" for _ in titles),
        *(tuple(flat(c).replace("|", "\\|") for c in row) for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def flat(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    raise SystemExit(main())
