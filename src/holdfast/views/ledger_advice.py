"""How advice from the ledger looks: the models that were compared, and the sessions that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.core.session_id import short_session
from holdfast.core.wording import about_dollars, about_minutes
from holdfast.ledger.similar import ModelEstimate
from holdfast.model.ledger import LedgerEntry
from holdfast.terminal import output
from holdfast.terminal.output import Column, Table, dollars, short_model, table_of
from holdfast.views.ledger import LEAST_TITLE, day
from holdfast.views.ledger_figures import interval


def candidates_table(candidates: Sequence[ModelEstimate]) -> Table:
    return table_of(
        candidates,
        (Column("Model", style="cyan"), lambda one: short_model(one.model)),
        (Column("Sessions", "right"), lambda one: str(one.sessions)),
        (
            Column("Like this", "right", dispensable=1),
            lambda one: f"{one.like} ({one.like_failed} failed)" if one.like else "0",
        ),
        (Column("Fails", "right"), lambda one: _known(one, _fails)),
        (
            Column("Cost", "right", dispensable=2),
            lambda one: _known(one, lambda own: about_dollars(own.cost)),
        ),
        (
            Column("Per success", "right"),
            lambda one: _known(one, lambda own: about_dollars(own.cost_per_success)),
        ),
        (
            Column("Time per success", "right", dispensable=3),
            lambda one: _known(one, lambda own: about_minutes(own.minutes_per_success)),
        ),
    )


def _known(one: ModelEstimate, figure: Callable[[ModelEstimate], str]) -> str:
    """A figure of a model that was used for something like the goal."""
    return figure(one) if one.like else "–"


def _fails(one: ModelEstimate) -> str:
    return f"{one.failure_rate:.0%}{interval(one.failure_interval)}"


def sessions_table(entries: Sequence[LedgerEntry], titles: Mapping[str, str]) -> Table:
    return table_of(
        entries,
        (Column("Session", style="cyan"), lambda entry: short_session(entry.session)),
        (Column("When", dispensable=2), lambda entry: day(entry.timestamp)[:10]),
        (Column("Model", dispensable=1), lambda entry: short_model(entry.model)),
        (Column("Outcome"), lambda entry: entry.outcome or "?"),
        (Column("Failed", "right"), lambda entry: output.number(entry.failed)),
        (Column("Cost", "right", dispensable=3), lambda entry: dollars(entry.cost_usd)),
        (
            Column("Title", flexible=True, least=LEAST_TITLE),
            lambda entry: titles.get(entry.session) or " ".join(entry.goal),
        ),
    )
