"""A project that remembers two sessions everywhere it can: `A` is to be forgotten, `B` must not notice."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tests.agents.builders import START, ClaudeFile
from tests.hooks.enabled import Enabled

from holdfast.briefing.prepare import prepare
from holdfast.flows.import_sessions import import_into
from holdfast.memory.current import ActiveProject, Current, Done, NextStep
from holdfast.memory.reference import KeptFact, Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, LogEntry, OpenItem, Question
from holdfast.store.machine import Machine
from holdfast.store.project import Project

A = "aaaa1111-0000-4000-8000-000000000001"
B = "bbbb2222-0000-4000-8000-000000000002"
SECRET = "zanzibar"  # said in A and nowhere else
OTHER = "narwhal"  # said in B and nowhere else
SHARED = "Use short links for refunds"
PERSON = "My own words about the quokka plan."

FACT_A = Fact(
    text="The zanzibar port is 7001",
    command="zanzibar status",
    evidence="zanzibar on 7001",
    session=A,
    at=START,
)
FACT_B = Fact(
    text="The narwhal port is 7002", command="narwhal status", evidence="narwhal on 7002", session=B, at=START
)


class Remembered:
    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        self.folder = home / ".claude" / "projects" / "-shop"
        self.transcripts = {A: self.write(A, SECRET), B: self.write(B, OTHER)}
        self.subagent = self.write_subagent()
        self.enabled = Enabled(root)
        self.import_all()
        self.remember()
        prepare(Machine(cwd=root), self.project)
        self.tell()

    @property
    def project(self) -> Project:
        return self.enabled.project

    @property
    def memory(self) -> Path:
        return self.project.memory

    @property
    def store(self) -> MemoryStore:
        return MemoryStore(self.project, "shop", clock=lambda: START)

    def session_file(self, session: str, word: str) -> ClaudeFile:
        file = ClaudeFile(session, str(self.root), prefix=word[:3])
        file.user(0, f"Fix the {word} refund rounding in the {word} module")
        file.run(5, f"{word} status", f"{word} on 7001")
        file.run(8, f"pytest tests/{word}", f"FAILED tests/{word}.py::test_x - assert 1 == 2", exit_code=1)
        file.edit(10, f"{self.root}/src/{word}.py")
        file.run(12, f"pytest tests/{word}", "3 passed in 0.1s")
        file.assistant(
            20,
            f"Done. Decision: we keep the {word} rounding in cents because floats drift.\n\nNext steps:\n- wire the {word} endpoint",
        )
        return file

    def write(self, session: str, word: str) -> Path:
        return self.session_file(session, word).save(self.folder / f"{session}.jsonl")

    def write_subagent(self) -> Path:
        file = ClaudeFile(A, str(self.root), agent="abc123", prefix="sub")
        file.user(2, "Look into the zanzibar callers")
        file.assistant(4, "The zanzibar callers are three.")
        return file.save(self.folder / A / "subagents" / "agent-abc123.jsonl")

    def grow(self, session: str, word: str, at: float = 100) -> None:
        with self.transcripts[session].open("ab") as file:
            more = ClaudeFile(session, str(self.root), prefix=f"more{at}")
            more.user(at, f"And now the {word} again")
            more.assistant(at + 5, f"The {word} is done.")
            file.write(more.data())

    def import_all(self, *paths: Path) -> None:
        import_into(Machine(cwd=self.root), self.project, paths)

    def remember(self) -> None:
        """What capture will write one day, in every file, with some history."""
        store = self.store
        store.record(
            *(self.entry(session, word, n) for n, (session, word) in enumerate([(A, SECRET), (B, OTHER)]))
        )
        store.change_facts(lambda _: Reference(facts=(KeptFact(fact=FACT_A),)), "first")
        decisions = (
            Decision(text=SHARED, rationale="zanzibar cuts long ones", session=A, at=START),
            Decision(text="Zanzibar stays", session=A, at=START),
        )
        kept = (
            KeptFact(fact=FACT_A),
            KeptFact(
                fact=FACT_B,
                was=(Fact(text="Zanzibar was narwhal", evidence="zanzibar", session=A, at=START),),
            ),
        )
        store.change_facts(lambda _: Reference(facts=kept, decisions=decisions), "second")
        store.change_questions(
            lambda _: (
                Question(text="Which zanzibar?", answer="the big zanzibar", session=A, at=START),
                Question(text="Which narwhal?", session=B, at=START),
            )
        )
        store.change_current(lambda _: self.state())
        store.change_current(
            lambda file: Current(
                next=file.current.next,
                todo=file.current.todo,
                done=file.current.done,
                projects=file.current.projects,
            )
        )
        text = store.current_file.read_text(encoding="utf-8")
        store.current_file.write_text(text + f"\n{PERSON}\n", encoding="utf-8")
        store.propose(["Round the zanzibar refund rounding in cents", "Say narwhal in full"])

    def entry(self, session: str, word: str, n: int) -> LogEntry:
        return LogEntry(
            session=session,
            agent="claude-code",
            at=START + n,
            branch="main",
            context=f"Fix the {word} refund rounding",
            outcome=f"done: {word} passes",
            decisions=(Decision(text=SHARED, rationale=f"{word} says so", session=session, at=START + n),),
            findings=(Finding(text=f"The {word} is slow", session=session, at=START + n),),
            dead_ends=(
                DeadEnd(
                    tried=f"{word} --fast", failed=f"no such option, {word}", session=session, at=START + n
                ),
            ),
            open_items=(OpenItem(text=f"wire the {word} endpoint", session=session, at=START + n),),
            files=(f"src/{word}.py",),
            summary=f"The {word}\nis done",
        )

    def state(self) -> Current:
        return Current(
            next=(
                NextStep(text="wire the zanzibar endpoint", branch="main", session=A, at=START),
                NextStep(text="wire the narwhal endpoint", branch="main", session=B, at=START),
            ),
            todo=(OpenItem(text="zanzibar docs", session=A), OpenItem(text="narwhal docs", session=B)),
            done=(
                Done(text="zanzibar rounding", session=A, at=START),
                Done(text="narwhal rounding", session=B, at=START),
            ),
            projects=(
                ActiveProject(
                    name="shop", status="Fix the zanzibar refund rounding in the zanzibar module", at=START
                ),
            ),
        )

    def tell(self) -> None:
        """Traces as hooks leave them: what A was told, and what B was told of A."""
        lines = [
            {
                "time": "2026-03-02T09:00:00Z",
                "session": A,
                "lines": [{"text": "Open: nothing", "reason": ""}],
                "tokens": 3,
            },
            {
                "time": "2026-03-02T10:00:00Z",
                "session": B,
                "lines": [
                    {
                        "text": "Last session (claude-code): Fix the zanzibar refund rounding in the zanzibar module. Outcome: done",
                        "reason": "zanzibar was last",
                    },
                    {"text": "Open: feed it", "reason": "x"},
                ],
                "tokens": 9,
            },
        ]
        (self.memory / "why.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )
        (self.memory / "hook.log").write_text(
            f"2026 capture: {A} zanzibar broke\n2026 capture: something else\n", encoding="utf-8"
        )

    # --- looking ---------------------------------------------------------------------------------------

    def places(self) -> list[Path]:
        roots = (self.home / ".holdfast", self.root / ".holdfast")
        return sorted(
            Path(d, name)
            for root in roots
            for d, _, names in os.walk(root)
            for name in names
            if not Path(d, name).is_symlink()
        )

    def holding(self, word: str) -> list[str]:
        """Every file of the memory and of the window that has the word, in any case, in whatever encoding we use."""
        wanted = word.casefold().encode()
        return [str(path) for path in self.places() if wanted in path.read_bytes().lower()]

    def every_byte(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.places()}

    def text(self, name: str) -> str:
        return (self.memory / name).read_text(encoding="utf-8")


class BuiltOnce:
    """Builds the memory for the first test and copies it for the others: at one path, for a memory holds paths."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "place"
        self._copy = folder / "copy"
        self._memory: Remembered | None = None

    def empty(self) -> Path:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        return self.place

    def memory(self, root: Path, home: Path) -> Remembered:
        if self._memory is None:
            self._memory = Remembered(root, home)
            shutil.copytree(self.place, self._copy, symlinks=True)
        else:
            shutil.rmtree(self.place)
            shutil.copytree(self._copy, self.place, symlinks=True)
            self._memory.project.register()  # a copied id file has another inode
        return self._memory
