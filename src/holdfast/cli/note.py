"""`holdfast note`: the word before fact, decision, answer and rule, which are modules of their own."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.terminal.options import Machine, Namespace

DESCRIPTION = """Saves what you know, so that every agent sees it from the next prompt on: a fact with its evidence, a
decision with its reason, the answer to a question, a rule. holdfast undo removes the last one."""
EXAMPLES = """examples:
  holdfast note fact "The API listens on port 8080" --evidence "listening on :8080"
  holdfast note decision "Use pnpm, not npm" --because "the lock file is pnpm's"
  holdfast note answer "Which region do we deploy to?" "eu-west-1"
  holdfast note rule "Run make test, never pytest itself"
"""


# What people type for a command that is not there. None of them alone decides anything.
_COMMAND_WORDS = """
show get view list ls add new change edit update set confirm retire rm remove delete drop done close undo redo help
search find why history verify export import share forget
"""


def refuse_command_word(text: str, kind: str) -> None:
    """Raises UsageError for a note that is a command word alone: it would be told to every agent."""
    if text.strip().casefold() in _COMMAND_WORDS.split():
        raise UsageError(
            f"{text.strip()!r} alone is no {kind}; nothing was written",
            fix=f"Write a sentence; holdfast note {kind} --help lists the commands",
        )


def run(options: Namespace, machine: Machine) -> None:
    raise UsageError(
        "the kind of note is missing", fix='Use fact, decision, answer or rule: holdfast note rule "TEXT"'
    )
