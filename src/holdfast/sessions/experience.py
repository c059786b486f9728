"""The experience of a session, out of what its transcripts gathered: the main one's and those of subagents."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.shell import Simple, unquoted
from holdfast.model.lesson import EXPERIENCE_FORMAT, Correction, Experience, Ran, Stumble
from holdfast.sessions.command_words import at_home, job, reason, shown
from holdfast.sessions.harvest_state import Gathered, Slip, raw

# What waits for its remedy, and what is kept once that came or nobody looks for it any more.

PATIENCE = 8  # calls after which nobody is looking for the remedy any more
# What no edit mends waits longer: for the program by its name, or for the version that runs it.
LONGER = {"program": 40, "engine": 400}
MOST_SLIPS = 6
MOST_STUMBLES = 40


def wait(state: Gathered, slip: Slip) -> None:
    if slip.settled:
        note(state, slip, "")
        return
    grow_older(state)
    for known in state.slips:
        if known.key == slip.key:
            slip.vain = [*known.vain, *slip.vain]
    state.slips = [known for known in state.slips if known.key != slip.key]
    state.slips = [*state.slips, slip]
    for old in state.slips[:-MOST_SLIPS]:
        note(state, old, "")
    state.slips = state.slips[-MOST_SLIPS:]


def grow_older(state: Gathered) -> None:
    waiting = []
    for slip in state.slips:
        slip.age += 1
        if slip.age < LONGER.get(slip.cause, PATIENCE):
            waiting.append(slip)
        else:
            note(state, slip, "")
    state.slips = waiting


def stumbles_of(state: Gathered) -> list[Stumble]:
    """What was seen so far; what still waits for a remedy has none."""
    waiting = (_stumble(slip, "") for slip in state.slips)
    return [*state.stumbles.values(), *(item for item in waiting if item.key not in state.stumbles)]


def note(state: Gathered, slip: Slip, instead: str) -> None:
    """Keeps what a failure taught, once for each cause; one with its remedy replaces one without."""
    keep(state, _stumble(slip, instead))


def keep(state: Gathered, made: Stumble) -> None:
    known = state.stumbles.get(made.key)
    if known is not None and (known.instead or not made.instead):
        return
    if known is not None or len(state.stumbles) < MOST_STUMBLES:
        state.stumbles[made.key] = made


def _before(part: Simple, token: str) -> str:
    """The flag that a value was given to; for what is a flag itself the dashes that hand it on, or ''."""
    if token.startswith("-"):
        given = [unquoted(word).partition("=")[0] for word in part.words]
        return "-- " if "--" in given and token in given[given.index("--") :] else ""
    words = part.words
    for place, word in enumerate(words[1:], 1):
        if token in unquoted(word).split(",") and words[place - 1].startswith("-"):
            return f"{words[place - 1]} "
    return ""


def _stumble(slip: Slip, instead: str) -> Stumble:
    if slip.part is None or slip.cause in ("slow", "flaky"):
        tried = slip.token
        instead = at_home(instead)  # a file outside of the checkout is said as any machine knows it
    elif slip.cause == "flag":
        tried = f"{slip.subject} {_before(slip.part, slip.token)}{slip.token}"
    elif slip.cause == "place":
        tried = job(slip.part) or shown(slip.part)
    elif slip.cause == "target":
        tried = f"{slip.subject} {slip.token}"
    elif slip.cause == "engine":
        tried = f"{slip.part.program} …"
    else:
        tried = shown(slip.part, keep=(slip.token,), paths=slip.cause == "glob")
    return Stumble(
        cause=slip.cause, subject=raw(slip.subject), token=raw(slip.token), tried=raw(tried),
        failed=reason(slip.line), instead=raw(instead) if instead != tried else "", at=slip.at,
        vain=tuple(raw(text) for text in slip.vain if text != instead),
    )  # fmt: skip


MOST_EXPERIENCED_STUMBLES = 40
MOST_EXPERIENCED_COMMANDS = 40
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
        for command, done in state.jobs.items():
            before = ran.get(command, Ran(command=command, purpose=done.purpose))
            ran[command] = Ran(
                command=command,
                purpose=done.purpose,
                worked=before.worked + done.worked,
                failed=before.failed + done.failed,
                line=before.line or done.line,
                at=max(before.at or 0.0, done.at or 0.0) or None,
                sought=bool(before.sought) or done.sought,
            )
    said: dict[str, Correction] = {}
    for state in main:
        for correction in state.corrections:
            said.setdefault(correction.text.casefold(), correction)
    stated = dict.fromkeys(command for state in all_of_them for command in state.stated)
    worked = sorted((item for item in ran.values() if item.worked), key=lambda item: -item.worked)
    return Experience(
        format=EXPERIENCE_FORMAT,
        stumbles=tuple(stumbles.values())[:MOST_EXPERIENCED_STUMBLES],
        commands=tuple(worked[:MOST_EXPERIENCED_COMMANDS]),
        corrections=tuple(said.values())[:MOST_CORRECTIONS],
        stated=tuple(stated)[:MOST_STATED],
    )
