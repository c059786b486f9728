"""`holdfast ledger alerts`: unusual sessions and exceeded budgets; scripts can use the exit code."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.briefing.watch import Watch, alerts, live_sessions
from holdfast.ledger import rows as ledgers
from holdfast.ledger.rows import Filter
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag
from holdfast.views.memory import named

EXIT_WITH_ALERTS = 3
DESCRIPTION = f"""Reports running sessions and sessions of the last week that cost more or took longer than 90% of
similar ones, and budgets that are used up (`budget_day`, `budget_month` in the personal configuration). Exits with
{EXIT_WITH_ALERTS} if there is something to report, else with 0."""
EXAMPLES = """examples:
  holdfast ledger alerts || notify-send "holdfast" "look at what this costs"
  holdfast ledger alerts --json"""


OPTIONS = (flag("--json", "the alerts as JSON"),)


def run(options: Namespace, machine: Machine) -> int:
    project = machine.project()
    rows, problems = ledgers.read_all(machine, project, (), Filter())
    output.warn_all(problems)
    watch = alerts(machine, project, rows, live_sessions(machine, project))
    titles = ledgers.session_titles(project, [alert.session for alert in watch.alerts if alert.session])
    output.answer(options, watch, lambda: _show(watch, titles))
    return EXIT_WITH_ALERTS if watch.alerts else 0


def _show(watch: Watch, titles: Mapping[str, str]) -> None:
    for alert in watch.alerts:
        name = named(alert.session, titles) if alert.session else "budget"
        output.line(f"{name}{' (running)' if alert.live else ''}: {alert.text}")
    if not watch.alerts:
        known = output.plural(watch.sessions, "session")
        output.line(f"No unusual sessions in the last {watch.since_days} days ({known} in the ledger).")
