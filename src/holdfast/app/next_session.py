"""What the next session would be told, in its first form: where the last ones stopped and what works here."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.session import DistilledSession
from holdfast.text.tokens import count_tokens

BUDGET = 300


def told_next(records: Sequence[DistilledSession], budget: int = BUDGET) -> list[str]:
    """Lines for a new session, newest knowledge first, within a token budget. Nothing known, nothing said."""
    if not records:
        return []
    last = records[0]
    goal, why = _one_line(last.goal, 90).rstrip("."), _one_line(last.outcome_why, 90)
    lines = [f"Last session ({last.agent}): {goal}. Outcome: {last.outcome} ({why})"]
    lines += [f"Open: {_one_line(item, 110)}" for item in _still_open(records)[:5]]
    for kind, command in _working(records):
        lines.append(f"{kind} works with: {_one_line(command, 110)}")
    kept, used = [], 0
    for line in lines:
        used += count_tokens(line)
        if used > budget:
            break
        kept.append(line)
    return kept


def _still_open(records: Sequence[DistilledSession]) -> list[str]:
    """What the newest sessions left behind. Work of an older session on the same branch went on in a newer one."""
    items: list[str] = []
    branches: set[str] = set()
    for record in records[:5]:
        if record.branch not in branches:
            branches.add(record.branch)
            on = f" (branch {record.branch})" if record.branch and record.branch != records[0].branch else ""
            items += [f"{item}{on}" for item in record.open_items]
    return items


def _working(records: Sequence[DistilledSession]) -> list[tuple[str, str]]:
    """The newest command that passed, for each kind of check."""
    newest: dict[str, str] = {}
    for record in records:
        for kind, command in record.verified:
            newest.setdefault(kind, command)
    return list(newest.items())


def _one_line(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
