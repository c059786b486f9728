"""Whether a session that could not be read is tried again: soon, then seldom, then only when somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from holdfast.app.wiring import Machine
from holdfast.store import aside
from holdfast.store.aside import Fault
from holdfast.store.inbox import Envelope
from holdfast.store.layout import Project

# Until the next try, after the first, second, … one that failed. After the last it is left alone.
WAITS_S = (60.0, 5 * 60.0, 30 * 60.0, 4 * 3600.0)
MOST_TRIES = len(WAITS_S) + 1
DIED = "its reading did not come to an end"


def bring_back_due(machine: Machine, project: Project) -> None:
    """Puts what is worth another try into the inbox again."""
    for fault in aside.faults(project.memory):
        if _is_due(machine, fault):
            aside.take_back(project.memory, fault.host, fault.session)


def begin(machine: Machine, project: Project, group: Sequence[Envelope]) -> Fault | None:
    """Notes that a session is about to be read, should that be the end of us; None where it is not its time yet."""
    last = group[-1]
    before = aside.fault_of(project.memory, last.host, last.session)
    if before is not None and not _is_due(machine, before):
        aside.put_aside(project.memory, group)
        return None
    tries = before.tries if before is not None and not _is_of_another(before) else 0
    fault = Fault(host=last.host, session=last.session, tries=tries + 1, at=machine.now().timestamp())
    aside.note(project.memory, fault)
    return fault


def end(project: Project, fault: Fault) -> None:
    aside.clear(project.memory, fault.host, fault.session)


def forget_attempt(project: Project, fault: Fault) -> None:
    """It failed for a reason that lies outside of the session."""
    aside.forget_fault(project.memory, fault)


def fail(project: Project, fault: Fault, problem: str, group: Sequence[Envelope]) -> None:
    aside.note(project.memory, replace(fault, problem=problem, version=version()))
    aside.put_aside(project.memory, group)


def try_again(project: Project) -> int:
    """Everything that was set aside is tried by the next capture; how many sessions there are."""
    every = aside.faults(project.memory)
    for fault in every:
        aside.take_back(project.memory, fault.host, fault.session)
        aside.forget_fault(project.memory, fault)
    return len(every)


def said_of(fault: Fault) -> str:
    """One line for `doctor`."""
    times = "once" if fault.tries == 1 else f"{fault.tries} times"
    what = f"session {fault.session[:8]} of {fault.host} could not be read, tried {times}: {fault.problem or DIED}"
    if given_up(fault):
        return f"{what}. It is set aside; holdfast doctor --fix tries again."
    later = datetime.fromtimestamp(fault.at + WAITS_S[fault.tries - 1], UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{what}. It is tried again after {later}, or by holdfast doctor --fix."


def given_up(fault: Fault) -> bool:
    return fault.tries >= MOST_TRIES


def _is_due(machine: Machine, fault: Fault) -> bool:
    if _is_of_another(fault):
        return True
    if given_up(fault):
        return False
    if not fault.problem and fault.tries == 1:
        return True  # whoever read it was ended from outside, as by a machine that is switched off
    passed = machine.now().timestamp() - fault.at
    return not 0 <= passed < WAITS_S[fault.tries - 1]


def _is_of_another(fault: Fault) -> bool:
    """Whether another holdfast failed, where this one may not."""
    return bool(fault.version) and fault.version != version()


def version() -> str:
    """Asked for only where something has failed: it takes a while to find out."""
    from importlib import metadata

    try:
        return metadata.version("holdfast")
    except metadata.PackageNotFoundError:
        return ""
