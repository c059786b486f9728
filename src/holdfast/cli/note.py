"""`holdfast note`: the word before fact, decision, answer and rule, which are modules of their own."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.terminal.options import Machine, Namespace

DESCRIPTION = """Keeps what you know, so that every agent knows it from the next prompt on: a fact with its
evidence, a decision with its reason, the answer to a question, a rule. holdfast undo takes the last one back."""
EXAMPLES = """examples:
  holdfast note fact "The API listens on port 8080" --evidence "listening on :8080"
  holdfast note decision "Use pnpm, not npm" --because "the lock file is pnpm's"
  holdfast note answer "Which region do we deploy to?" "eu-west-1"
  holdfast note rule "Run make test, never pytest itself"
"""


def run(options: Namespace, machine: Machine) -> None:
    raise UsageError("no kind of note", fix='Say fact, decision, answer or rule: holdfast note rule "TEXT"')
