"""`holdfast note rule`: keeps one rule as a lesson, under a name made of its words."""

from __future__ import annotations

from holdfast.cli.lessons import active_text, handled_as_json
from holdfast.cli.note import refuse_command_word
from holdfast.flows.lessons import add_rule
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Adds a rule that every agent should follow here; it is active at once. It is saved as a lesson, named
after its first words or --name; if a lesson with that name exists, the rule is added to it. `holdfast lessons`
manages them."""
EXAMPLES = """examples:
  holdfast note rule "Run make test, never pytest itself"
  holdfast note rule "Ask before you add a dependency" --personal
  holdfast note rule "Regenerate the client with make api" --name api --fingerprint Makefile
"""

OPTIONS = (
    option("text", metavar="TEXT", help="the rule, in one line"),
    option(
        "--name", default="", metavar="NAME", help="the lesson it belongs to (default: named after its words)"
    ),
    option(
        "--fingerprint",
        action="append",
        default=[],
        metavar="TARGET",
        help="what it depends on: a file, tests/, src/**/*.ts; repeat it for each",
    ),
    flag("--personal", "for all your projects, not just this one"),
    flag("--json", "the lesson as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    refuse_command_word(options.text, "rule")
    done = add_rule(
        machine,
        machine.project(),
        options.text,
        name=options.name,
        fingerprint=options.fingerprint,
        personal=options.personal,
    )
    output.answer(options, handled_as_json(done), active_text(done, options))
    if not options.json:
        output.note(
            "holdfast undo --personal removes it." if options.personal else "holdfast undo removes it."
        )
