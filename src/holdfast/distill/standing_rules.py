"""Corrections of a person that are meant to last: what they said is to be done always, or never.

One-off orders phrased like rules are many; so only words that say "from now on" count, or the same words in
several sessions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.distill.merging import merge
from holdfast.model.memory import Decision
from holdfast.model.session import DistilledSession

_LASTING = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|as a rule|by default)\b",
    re.IGNORECASE,
)
MOST = 5


def standing_rules(records: Sequence[DistilledSession]) -> tuple[str, ...]:
    """Rules to propose to the operating manual, each with the session it comes from."""
    said = [item for record in records for item in record.harvest.decisions if item.by == "user"]
    said += [
        Decision(text=item.text, by="user", session=record.session, at=item.at)
        for record in records
        for item in record.experience.corrections
    ]
    found = [
        group for group in merge(said).merged if len(group.sessions) > 1 or _LASTING.search(group.item.text)
    ]
    return tuple(f"{group.item.text} (session {group.sessions[0][:8]})" for group in found[-MOST:])
