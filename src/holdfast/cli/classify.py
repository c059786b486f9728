"""`holdfast classify`: the class of a prompt, and the words that decided."""

from __future__ import annotations

import sys

from holdfast.core.errors import UsageError
from holdfast.extraction.classify import classified
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Shows how the prompt hook classifies a prompt: code-gen (gets lessons and file pointers),
exploration (file pointers), qa or other (nothing). It uses rules only and stores nothing. With classifier =
"extractor" in the personal configuration, the extractor's model is asked here; hooks always use the rules."""
EXAMPLES = """examples:
  holdfast classify "fix the flaky refresh test"
  holdfast classify "where is the token refreshed?" --json
  git log -1 --format=%B | holdfast classify -"""
MOST_BYTES = 8 << 20


OPTIONS = (
    option("prompt", nargs="+", metavar="PROMPT", help="the prompt; - reads it from standard input"),
    flag("--json", "class, confidence and why as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    prompt = " ".join(options.prompt)
    if prompt == "-":
        prompt = sys.stdin.buffer.read(MOST_BYTES).decode("utf-8", "replace")
    if not prompt.strip():
        raise UsageError(
            "no prompt given", fix='Give one: holdfast classify "fix the login", or - for standard input'
        )
    verdict = classified(machine, prompt, output.warn)
    output.answer(options, verdict, f"{verdict.kind}  {verdict.confidence:.2f}")
    if not options.json:
        output.aside(verdict.why)
