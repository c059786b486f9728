"""The experience of a session, out of what its transcripts gathered: the main one's and those of subagents."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.distill.harvest_state import Gathered
from holdfast.distill.lesson_notes import stumbles_of
from holdfast.model.experience import EXPERIENCE_FORMAT, Correction, Experience, Ran, Stumble

MOST_STUMBLES = 40
MOST_COMMANDS = 40
MOST_CORRECTIONS = 12
MOST_STATED = 40


def experience_of(main: Sequence[Gathered], all_of_them: Sequence[Gathered]) -> Experience:
    """A person's words come from the main transcripts, what calls proved from all."""
    stumbles: dict[str, Stumble] = {}
    ran: dict[str, Ran] = {}
    for state in all_of_them:
        for item in stumbles_of(state):
            known = stumbles.get(item.key)
            if known is None or (item.instead and not known.instead):
                stumbles[item.key] = item
        for command, job in state.jobs.items():
            before = ran.get(command, Ran(command=command, purpose=job.purpose))
            ran[command] = Ran(
                command=command,
                purpose=job.purpose,
                worked=before.worked + job.worked,
                failed=before.failed + job.failed,
                line=before.line or job.line,
                at=max(before.at or 0.0, job.at or 0.0) or None,
                sought=bool(before.sought) or job.sought,
            )
    said: dict[str, Correction] = {}
    for state in main:
        for correction in state.corrections:
            said.setdefault(correction.text.casefold(), correction)
    stated = dict.fromkeys(command for state in all_of_them for command in state.stated)
    worked = sorted((item for item in ran.values() if item.worked), key=lambda item: -item.worked)
    return Experience(
        format=EXPERIENCE_FORMAT,
        stumbles=tuple(stumbles.values())[:MOST_STUMBLES],
        commands=tuple(worked[:MOST_COMMANDS]),
        corrections=tuple(said.values())[:MOST_CORRECTIONS],
        stated=tuple(stated)[:MOST_STATED],
    )
