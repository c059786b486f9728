"""A warehouse project in which sessions settled things, for tests of what is told, found and forgotten of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.agents.builders import ClaudeFile

from holdfast.memory.decisions import SessionPassages
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Passage
from holdfast.store.machine import Machine
from holdfast.store.project import Project

PRINTER = "aaaa0001-0000-4000-8000-000000000001"
DOCK = "bbbb0002-0000-4000-8000-000000000002"
AMENDED = "cccc0003-0000-4000-8000-000000000003"
BADGE = "dddd0004-0000-4000-8000-000000000004"

KEPT = "The label spooler keeps its print jobs in a SQLite file on the handheld, not in Redis."
THREE = "A print job is retried three times, then the spooler parks it."
FIVE = "The spooler retries a print job five times since the printers got slower, then parks it."
RELEASED = (
    "A parked job is printed again only after a picker released it: duplicate labels sent two pallets wrong."
)
REDIS = "Keep the print jobs of the spooler in Redis and retry each of them ten times."
CAUSE = "The spooler lost jobs because it held them in memory while the wifi was down."


def at(day: int, month: int = 3) -> float:
    return datetime(2026, month, day, 9, 30, tzinfo=UTC).timestamp()


SECTIONS = (
    SessionPassages(
        session=PRINTER,
        title="make the label spooler survive a wifi outage",
        at=at(2),
        branch="main",
        passages=(
            Passage(text=CAUSE, kind="cause", by="agent", worth=60),
            Passage(text=REDIS, status="rejected", by="agent", worth=55),
            Passage(text=KEPT, by="user", worth=80),
            Passage(text=THREE, by="user", worth=75),
            Passage(text=RELEASED, question="Should a parked job be printed after a restart?", by="user", worth=70),
        ),
    ),
    SessionPassages(
        session=DOCK,
        title="colour of the dock doors",
        at=at(5),
        branch="main",
        passages=(
            Passage(text="Dock doors are green while a truck is loaded and grey at all other times.", by="user", worth=80),
            Passage(text="The door sensor answers within two seconds or counts as broken.", by="user", worth=60),
        ),
    ),
    SessionPassages(
        session=AMENDED,
        title="slower label printers",
        at=at(20),
        branch="main",
        passages=(Passage(text=FIVE, by="user", worth=80),),
    ),
    SessionPassages(
        session=BADGE,
        title="badges of visitors",
        at=at(1, 4),
        branch="main",
        passages=(
            Passage(text="Visitor badges expire at midnight of the day on which they were printed.", by="user", worth=80),
            Passage(text="A badge photo is deleted after thirty days.", by="user", worth=70),
        ),
    ),
)  # fmt: skip


class Decided:
    """The project of `root`, with what its sessions settled."""

    def __init__(self, root: Path, sections: tuple[SessionPassages, ...] = SECTIONS) -> None:
        self.machine = Machine(cwd=root)
        self.project.prepare()
        self.store.record_passages(sections)

    @property
    def project(self) -> Project:
        return self.machine.project()

    @property
    def store(self) -> MemoryStore:
        return MemoryStore(self.project, self.project.title)

    @property
    def months(self) -> dict[str, str]:
        return {path.stem: path.read_text(encoding="utf-8") for path in self.store.months()}


def spooler_chat(root: Path, session: str = PRINTER) -> ClaudeFile:
    """A session in which a rule emerges piecewise, and an agent's proposal is turned down."""
    file = ClaudeFile(session, str(root))
    file.user(
        0, "The label spooler loses print jobs when the warehouse wifi drops. Can you make it survive that?"
    )
    file.assistant(
        30, "I would keep the jobs in Redis and retry each one ten times, so that nothing is lost."
    )
    file.user(
        60,
        "No Redis on the handhelds, they have no network half of the day. Keep the jobs in a SQLite file next to the "
        "spooler. Retry three times, then park the job.",
    )
    file.assistant(
        90,
        "Agreed: the spooler keeps its jobs in a SQLite file, retries three times and then parks the job. Should a "
        "parked job be printed again after a restart?",
    )
    file.user(
        120,
        "Never by itself: a picker has to release it, because duplicate labels sent two pallets to the wrong dock "
        "last year.",
    )
    file.edit(130, f"{root}/spooler/queue.py")
    file.assistant(
        150, "Done. Parked jobs stay parked until a picker releases them; the retry limit is three."
    )
    return file
