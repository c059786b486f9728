"""What asking a model costs: a row of the ledger of its own, and a limit for the day over all projects."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from holdfast.app.model_wire import Answer, Question
from holdfast.app.settings import Settings
from holdfast.app.wiring import Machine
from holdfast.distill.cost import cost_of
from holdfast.distill.digest import UsageTotal
from holdfast.errors import HoldfastError, ModelError
from holdfast.model.ledger import Kind, LedgerEntry, Outcome, Tokens
from holdfast.model.session import Usage
from holdfast.store.layout import Project
from holdfast.store.ledger import LedgerStore
from holdfast.store.project_ledger import ProjectLedger
from holdfast.text.ledger_md import current
from holdfast.text.tokens import count_tokens

AGENT = "holdfast"
UNKNOWN_USD = Decimal("0.01")  # what a call of unknown price counts for the day's limit


class Meter:
    """Counts calls for one purpose, which its rows have as their goal."""

    def __init__(self, machine: Machine, project: Project, settings: Settings, goal: tuple[str, ...]) -> None:
        self._machine = machine
        self._project = project
        self._settings = settings
        self._goal = goal

    def check(self, question: Question) -> None:
        """Refuses a call that might go beyond what may be spent today."""
        limit = Decimal(str(self._settings.extractor_daily_usd))
        tokens = count_tokens(question.instructions) + count_tokens(question.text)
        likely = self._price(Usage(input=tokens, output=question.most_output), None)
        spent = spent_today(self._machine)
        if spent + (UNKNOWN_USD if likely is None else likely) > limit:
            raise ModelError(
                f"the day's limit of ${limit} is reached (${spent:.4f} spent)",
                where="extractor_daily_usd",
                fix="It begins anew at midnight UTC",
            )

    def count(self, session: str, answer: Answer | None, outcome: Outcome) -> Decimal | None:
        """Writes what one call cost; None when nobody can say."""
        usage = answer.usage if answer is not None else None
        cost = self._price(usage, answer.usd if answer is not None else None)
        moment = self._machine.now()
        row = LedgerEntry(
            session=session,
            model=self._machine.clean(label_of(self._settings)),
            cost_usd=cost,
            goal=self._goal,
            timestamp=moment,
            agent=AGENT,
            provider=self._settings.extractor,
            kind=Kind.OTHER,
            tokens=None
            if usage is None
            else Tokens(usage.input, usage.output, usage.cache_read, usage.cache_write),
            outcome=outcome,
            recorded=moment,
        )
        ProjectLedger(self._project).append([row])
        return cost

    def _price(self, usage: Usage | None, stated: float | None) -> Decimal | None:
        settings = self._settings
        if stated is not None:
            return Decimal(str(round(stated, 6)))
        if usage is None or not settings.extractor_model:
            return None
        vendor = settings.extractor if settings.extractor != "command" and not settings.extractor_url else ""
        total = UsageTotal(settings.extractor_model, 0, usage, 1)
        return cost_of(total, vendor, self._machine.now().timestamp())


def label_of(settings: Settings) -> str:
    """A model's name as it is told in evidence and rows: one short word."""
    name = settings.extractor_model or settings.extractor_command[0].replace("\\", "/").rpartition("/")[2]
    return "".join(sign if sign.isalnum() or sign in "._/-" else "-" for sign in name)[:60]


def spent_today(machine: Machine) -> Decimal:
    """What asking has cost since midnight UTC, in all projects of this user."""
    day = machine.now().date()
    begins = datetime.combine(day, datetime.min.time(), machine.now().tzinfo).timestamp()
    spent = Decimal(0)
    for path in sorted((machine.home / "projects").glob("*/ledger.md")):
        try:
            if path.stat().st_mtime < begins:
                continue
            entries = LedgerStore(path, path.parent / "locks" / "ledger.lock").read().entries
        except (OSError, HoldfastError):
            continue
        for row in current(entries):
            if row.agent == AGENT and row.timestamp is not None and row.timestamp.date() == day:
                spent += UNKNOWN_USD if row.cost_usd is None else row.cost_usd
    return spent
