"""What waits for its remedy, and what is kept once that came or nobody looks for it any more."""

from __future__ import annotations

from holdfast.distill.harvest_state import Gathered, Slip, raw
from holdfast.distill.lesson_words import at_home, job, reason, shown
from holdfast.distill.shell_line import Simple, unquoted
from holdfast.model.experience import Stumble

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
