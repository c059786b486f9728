"""`holdfast holdout`: gives a random share of sessions nothing, so that the effect of memory can be measured."""

from __future__ import annotations

import re

from holdfast.briefing.prepare import prepare
from holdfast.core.errors import UsageError
from holdfast.flows.holdout import arms, checked_share, now_text, sessions_needed
from holdfast.flows.roi import session_records
from holdfast.hooks.holdout import DRAWN
from holdfast.store.project import Project
from holdfast.store.switches import LEAST_HELD, MOST_HELD, Holdout, hold_out, switches_of
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted

DESCRIPTION = """Measures what memory is worth in your own work: a random share of new sessions gets nothing from
memory, and `holdfast ledger roi` compares them with the others. Held-out sessions are still recorded, and agents may
still ask (search, recall, MCP). `holdfast why` shows whether a session is held out."""
EXAMPLES = """examples:
  holdfast holdout 20%        one new session in five gets nothing; asks first
  holdfast holdout            the current setting, and how many sessions were drawn
  holdfast holdout off        every session gets memory again; what was measured stays
"""

_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)\s*%", re.ASCII)
_FIX = f"Use a share from {LEAST_HELD:.0%} to {MOST_HELD:.0%} such as 20%, or off, or status"

OPTIONS = (
    option("wanted", nargs="?", default="status", metavar="SHARE", help="20%%, off, or status (the default)"),
    flag("--yes", "do not ask"),
    flag("--json", "the state as JSON"),
)


def run(options: Namespace, machine: Machine) -> int | None:
    project = machine.project()
    if options.wanted != "status":
        share = None if options.wanted == "off" else _share(options.wanted)
        require_person(machine)
        if share is not None and not options.yes and not _consents(project, share):
            output.line("Nothing was changed.")
            return 1
        before = switches_of(project)
        if share is None or before.held_share != share:
            hold_out(project, None if share is None else Holdout(share, now_text(machine.now())))
            prepare(machine, project)
    _show(options, project)
    return None


def _share(text: str) -> float:
    match = _SHARE.fullmatch(text.strip())
    share = float(match[1]) / 100 if match else 0.0
    if not LEAST_HELD <= share <= MOST_HELD:
        raise UsageError(f"{text!r} is not a valid share", fix=_FIX)
    return share


def _consents(project: Project, share: float) -> bool:
    needed = sessions_needed(session_records(project), share)
    planned = (
        f" Judging by the cost of sessions here, about {needed:,} would show an effect of 20% on cost."
        if needed is not None
        else ""
    )
    return agreed(
        f"{100 * share:.4g}% of new sessions of this project, drawn at random, will get nothing from memory: not at "
        "their start, not with prompts, files or commands. They are recorded as usual. Nobody chooses which ones."
        f"{planned}\nStart the holdout?",
        fix="Add --yes to go ahead",
    )


def _show(options: Namespace, project: Project) -> None:
    share = checked_share(project)
    drawn = [arm for arm in arms(project).values() if arm.basis == DRAWN]
    held = sum(arm.is_held for arm in drawn)
    holdout = switches_of(project).holdout
    needed = sessions_needed(session_records(project), share) if share else None
    value = {
        "share": share,
        "since": holdout.since if holdout else None,
        "drawn": len(drawn),
        "held": held,
        "planned": needed,
    }
    lines = [f"Holdout: {f'{100 * share:.4g}% of new sessions' if share else 'off'}."]
    if drawn:
        lines.append(f"{counted(len(drawn), 'session')} drawn so far, {held} of them in the holdout.")
    if needed is not None:
        lines.append(
            f"About {needed:,} sessions would show an effect of 20% on cost, by what sessions cost here."
        )
    if drawn:
        lines.append("holdfast ledger roi shows the effect.")
    output.answer(options, value, "\n".join(lines))
