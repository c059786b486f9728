"""`holdfast lessons extract`: asks the configured model about one session, or shows what would be sent."""

from __future__ import annotations

import argparse

from holdfast.cli import output
from holdfast.flows.extract_lessons import Extraction, Sent, extract, preview
from holdfast.store.machine import Machine


def run(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    if options.dry_run:
        _show_sent(preview(machine, project, options.session), as_json=options.json)
        return 0
    done = extract(machine, project, options.session)
    if options.json:
        output.show_json(_as_json(done))
        return 0
    for line in done.dropped:
        output.warn(line)
    output.line(_said(done))
    if done.added:
        output.note("Candidates: they wait for you, holdfast lessons review.")
    return 0


def _show_sent(sent: Sent, *, as_json: bool) -> None:
    if as_json:
        output.show_json(
            {
                "session": sent.session,
                "to": sent.to,
                "model": sent.model or None,
                "tokens": sent.tokens,
                "instructions": sent.instructions,
                "text": sent.text,
            }
        )
        return
    output.line(sent.instructions)
    output.line("")
    output.line(sent.text)
    model = f", model {sent.model}" if sent.model else ""
    output.note(f"{sent.tokens:,} tokens on session {sent.session}, to {sent.to}{model}. Nothing was sent.")


def _as_json(done: Extraction) -> dict[str, object]:
    return {
        "session": done.session,
        "added": list(done.added),
        "known": done.known,
        "dropped": list(done.dropped),
        "cost_usd": None if done.cost_usd is None else str(done.cost_usd),
    }


def _said(done: Extraction) -> str:
    price = "at an unknown price" if done.cost_usd is None else f"for ${done.cost_usd.normalize():f}"
    found = ", ".join(done.added) if done.added else "nothing new"
    more = f", {done.known} known or rejected before" if done.known else ""
    return f"Session {done.session}: {found}{more}, {price}."
