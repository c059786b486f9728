"""What the next session would be told, in its first form: where the last ones stopped and what works here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.model.memory import DeadEnd
from holdfast.model.session import DistilledSession
from holdfast.text.tokens import count_tokens

BUDGET = 300
STUMBLE_BUDGET = 100
_NUMBERS = re.compile(r"\d+")
_FILE = re.compile(r"\w\.\w{1,5}$")


def told_next(records: Sequence[DistilledSession], budget: int = BUDGET) -> list[str]:
    """Lines for a new session, newest knowledge first, within a token budget. Nothing known, nothing said."""
    if not records:
        return []
    last = records[0]
    goal, why = _one_line(last.goal, 90).rstrip("."), _one_line(last.outcome_why, 90)
    lines = [f"Last session ({last.agent}): {goal}. Outcome: {last.outcome} ({why})"]
    lines += _stumbles(records)
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


def _stumbles(records: Sequence[DistilledSession]) -> list[str]:
    """What failed in several sessions and what worked instead: a third of all stumbles repeat a resolved one."""
    seen: dict[str, tuple[DeadEnd, set[str]]] = {}
    for record in records:
        for dead_end in record.harvest.dead_ends:
            if dead_end.instead:
                seen.setdefault(_alike(dead_end.tried), (dead_end, set()))[1].add(record.session)
    often = sorted((found for found in seen.values() if len(found[1]) > 1), key=lambda found: -len(found[1]))
    lines, used = [], 0
    for dead_end, sessions in often:
        tried, failed, instead = (
            _one_line(text, 80) for text in (dead_end.tried, dead_end.failed, dead_end.instead)
        )
        line = f"`{tried}` fails here ({failed}) → `{instead}` worked ({len(sessions)} sessions)"
        used += count_tokens(line)
        if used > STUMBLE_BUDGET:
            break
        lines.append(line)
    return lines


def _alike(tried: str) -> str:
    """The same for commands that differ only in the numbers and files they name; a path alone is itself."""
    words = tried.casefold().split()
    if len(words) < 2:
        return tried.casefold()
    return " ".join("*" if "/" in word or _FILE.search(word) else _NUMBERS.sub("#", word) for word in words)


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
