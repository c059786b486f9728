"""One decision with all that is known of it, as JSON and as text."""

from __future__ import annotations

from holdfast.model.origin import origin_text
from holdfast.terminal import output
from holdfast.terminal.options import Namespace
from holdfast.terminal.output import counted, flat
from holdfast.upkeep.one_decision import DecisionView
from holdfast.views import memory as views


def show_decision(options: Namespace, shown: DecisionView) -> None:
    more = ("state", "origin", "was", "replaces", "replaced_by", "doubts", "told")
    value = {**views.statement_as_json(shown.said), **{name: getattr(shown, name) for name in more}}
    output.answer(options, value, lambda: _show_decision(shown))


def _show_decision(shown: DecisionView) -> None:
    said = shown.said
    output.heading(f"{said.id}  {flat(said.text)}")
    source = views.origin("", said.at, said.session).removeprefix(" · ")
    _row("because", flat(said.reason))
    _row("question", flat(said.subject))
    _row("state", _STATES[shown.state])
    _row("by", {"user": "you", "agent": "an agent"}.get(said.who, said.who))
    _row("since", source)
    _row("origin", origin_text(shown.origin))
    _row("was", ", ".join(shown.was))
    for named in shown.replaces:
        _row("replaces", f"{named.id}  {flat(named.text)}")
    if shown.replaced_by is not None:
        _row("replaced", f"by {shown.replaced_by.id}  {flat(shown.replaced_by.text)}")
    _row("in doubt", ", ".join(shown.doubts))
    for told in shown.told[-_MOST_TOLD:]:
        _row("told to", f"{told.session[:8] or '?'}  {told.host}  {told.time[:16].replace('T', ' ')}")
    if len(shown.told) > _MOST_TOLD:
        _row("", f"and {counted(len(shown.told) - _MOST_TOLD, 'session')} before")
    if not shown.told:
        _row("told to", "no session so far")


_MOST_TOLD = 5
_STATES = {
    "holds": "holds",
    "proposed": "proposed, not agreed",
    "rejected": "was turned down",
    "replaced": "no longer holds: a later one replaced it",
}


def _row(name: str, text: str) -> None:
    if text:
        output.line(f"  {name:<9} {text}", under=12)
