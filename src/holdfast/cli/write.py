"""`holdfast note write`: the user's own agent writes what a session settled, once and on request."""

from __future__ import annotations

from holdfast.core.session_id import short_session
from holdfast.extraction import writer
from holdfast.flows.refresh import refresh
from holdfast.guard.hidden_text import visible
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, flat

DESCRIPTION = """Asks your own agent, or a configured model, to write down what a session settled. It sees the
conversation without secrets and must quote it; anything it cannot quote is dropped. This uses your agent's quota, or
costs what the model costs: `holdfast ledger list --agent holdfast` lists each call. With writer set in the personal
configuration, this happens after sessions of ten messages or more, at most five times a day."""
EXAMPLES = """examples:
  holdfast note write --dry-run       what would be sent about the latest session, and where
  holdfast note write                 ask about the latest session
  holdfast note write 847ff7d2        about this one
"""
OPTIONS = (
    option(
        "session",
        nargs="?",
        default="",
        metavar="SESSION",
        help="the session's id, or a prefix of it (default: the latest)",
    ),
    flag("--dry-run", "show what would be sent, and send nothing"),
    flag("--json", "what was written, or would be sent, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.dry_run:
        found = writer.preview(machine, project, options.session)
        output.answer(
            options,
            {
                "session": found.session,
                "to": found.to,
                "messages": found.turns,
                "tokens": found.tokens,
                "text": found.text,
            },
            f"{found.tokens:,} tokens about session {short_session(found.session)} to {found.to}:\n\n{found.text}",
        )
        return
    written = writer.write(machine, project, options.session)
    if written.added:
        refresh(machine, project)
    output.warn_all(f"dropped: {line}" for line in written.dropped)
    value = {
        "session": written.session,
        "added": [
            {"id": one.id, "kind": one.kind, "status": one.status, "by": one.by, "text": one.text}
            for one in written.added
        ],
        "dropped": list(written.dropped),
        "cost_usd": None if written.cost_usd is None else float(written.cost_usd),
    }
    lines = [f"{one.id}  {one.kind}, {one.status}: {flat(visible(one.text))}" for one in written.added]
    cost = "an unknown part of your quota" if written.cost_usd is None else f"${written.cost_usd}"
    lines.append(
        f"{counted(len(written.added), 'statement')} written, at a cost of {cost}. holdfast undo removes them."
    )
    output.answer(options, value, "\n".join(lines))
