"""A home of any size for the page: sessions, rows, statements and what hooks told, in the form that holdfast writes.

`python -m bench.ui_home FOLDER [SESSIONS STATEMENTS]` makes one to look at: FOLDER/tidepool and FOLDER/home.
"""

from __future__ import annotations

import random
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.measuring import PYTHON, scratch_env
from holdfast.briefing.explain import Injection
from holdfast.ledger.markdown import render_row
from holdfast.memory.decisions import SessionPassages, beginning, with_sessions
from holdfast.model.events import DistilledSession
from holdfast.model.ledger import LedgerEntry, Tokens
from holdfast.model.line import Line
from holdfast.model.memory import Passage
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

DAYS = 420
_VERBS = (
    "Add Fix Rewrite Speed up|Test|Document|Move|Split|Remove|Trace|Harden|Simplify|Cache|Paginate".replace(
        " ", "|", 3
    ).split("|")
)
_THINGS = [
    "the retry of the export client",
    "the tide table importer",
    "login with magic links",
    "the gateway's rate limit",
    "station search",
    "the migration of harbour ids",
    "webhook signatures",
    "the nightly report",
    "GraphQL pagination",
    "the job queue",
    "image uploads",
    "the settings page",
    "CSV export",
    "the billing webhook",
    "feature flags",
    "the audit log",
]
_WHY = [
    "because the gateway drops one request in fifty",
    "so that a restart loses nothing",
    "since the old client blocks",
    "because p99 went above two seconds",
    "as the auditors asked",
    "until the vendor fixes its API",
    "to keep pages below 50 kB",
]
_HOW = [
    "uses a token bucket per client",
    "retries three times with backoff",
    "goes through one queue",
    "is stored as UTC",
    "has an index on (station, day)",
    "is written in one transaction",
    "runs behind a flag",
    "answers within 200 ms",
]
_MODELS = (
    ("claude-code", "claude-opus-4-7", "anthropic", 0.62),
    ("claude-code", "claude-haiku-4-5", "anthropic", 0.06),
    ("codex", "gpt-5.5", "openai", 0.34),
    ("gemini", "gemini-2.5-pro", "google", 0.21),
)
_OUTCOMES = ("done",) * 13 + ("partial",) * 3 + ("failed",) * 2 + ("abandoned", "unknown")
_KINDS = ("feature", "bugfix", "refactor", "test", "docs", "exploration")
_PASSAGES = ("decision", "decision", "cause", "finding", "measurement", "rule")


def make_home(folder: Path, sessions: int = 10_000, statements: int = 100_000, seed: int = 3) -> Project:
    """The demonstration, grown. The last session ended minutes ago."""
    demo = [PYTHON, "-m", "holdfast", "demo", "--keep", str(folder)]
    subprocess.run(demo, env=scratch_env(folder), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    machine = Machine(
        env={"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}, cwd=folder / "tidepool"
    )
    project = machine.project()
    rng = random.Random(seed)
    entries = _entries(rng, sessions)
    _write_rows(project, entries)
    _write_records(project, entries, rng)
    _write_passages(project, entries, statements, rng)
    _write_injections(project, entries[-min(sessions, 800) :], rng)
    return project


def title_of(rng: random.Random) -> str:
    return f"{rng.choice(_VERBS)} {rng.choice(_THINGS)}"


def _entries(rng: random.Random, count: int) -> list[LedgerEntry]:
    """Work on most days, more of it in the middle of the week and of the day."""
    now = datetime.now(UTC).replace(microsecond=0)
    moments = []
    while len(moments) < count:
        at = now - timedelta(days=rng.random() * DAYS, minutes=20)
        hour = min(max(rng.gauss(14, 3.5), 6), 23.5)
        at = min(at.replace(hour=int(hour), minute=rng.randrange(60)), now - timedelta(minutes=12))
        if rng.random() < (0.15 if at.weekday() > 4 else 0.9):
            moments.append(at)
    return [_entry(rng, at) for at in sorted(moments)]


def _entry(rng: random.Random, at: datetime) -> LedgerEntry:
    agent, model, provider, price = rng.choices(_MODELS, (6, 3, 4, 1))[0]
    tasks, outcome = rng.randint(1, 6), rng.choice(_OUTCOMES)
    size = rng.lognormvariate(0, 0.9)
    failed = 1 if outcome == "failed" else int(rng.random() < 0.08)
    return LedgerEntry(
        session=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        model=model,
        tasks=tasks,
        failed=min(failed, tasks),
        cost_usd=None if rng.random() < 0.02 else Decimal(str(round(price * size, 4))),
        duration_s=int(240 + 900 * size),
        framework=rng.choice(("fastapi", "react", None)),
        goal=tuple(title_of(rng).lower().split()[:5]),
        timestamp=at,
        agent=agent,
        provider=provider,
        kind=rng.choice(_KINDS),
        skipped=0,
        project_type="python",
        failures=("test_failure",) if failed else (),
        complexity=rng.choice(("simple", "moderate", "complex")),
        tokens=Tokens(*(int(size * n) for n in (2_000, 9_000, 600_000, 40_000))),
        commits=rng.choice((0, 0, 1, 1, 2, 4)),
        outcome=outcome,
        recorded=at + timedelta(minutes=11),
    )


def _write_rows(project: Project, entries: Sequence[LedgerEntry]) -> None:
    with project.ledger.open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{render_row(entry)}\n" for entry in entries)


def _write_records(project: Project, entries: Sequence[LedgerEntry], rng: random.Random) -> None:
    store = CaptureStore(project.capture)
    samples: list[DistilledSession] = list(store.records(10))
    with store.transaction():
        for entry in entries:
            sample = rng.choice(samples)
            began = entry.timestamp.timestamp() if entry.timestamp else 0.0
            store.put_record(
                replace(
                    sample,
                    session=entry.session,
                    agent=entry.agent or "",
                    started=began,
                    ended=began + (entry.duration_s or 0),
                    title=title_of(rng),
                    outcome=entry.outcome or "unknown",
                    kind=entry.kind or "other",
                )
            )
    store.close()


def _write_passages(project: Project, entries: Sequence[LedgerEntry], count: int, rng: random.Random) -> None:
    each = max(1, count // max(len(entries), 1))
    months: dict[str, list[SessionPassages]] = {}
    for entry in entries:
        assert entry.timestamp is not None
        passages = tuple(_passage(rng, entry.session) for _ in range(each))
        section = SessionPassages(
            session=entry.session,
            title=title_of(rng),
            at=entry.timestamp.timestamp(),
            branch="main",
            passages=passages,
        )
        months.setdefault(f"{entry.timestamp:%Y-%m}", []).append(section)
    folder = project.memory / "projects" / project.title / "decisions"
    folder.mkdir(exist_ok=True)
    for month, sections in months.items():
        text = "".join(_in_pieces(project.title, month, sections))
        (folder / f"{month}.md").write_text(text, encoding="utf-8")


def _in_pieces(title: str, month: str, sections: Sequence[SessionPassages]) -> Iterator[str]:
    """Each section is written for itself: adding to a long file reads it again for each."""
    head = beginning(title, month)
    yield head
    for section in sections:
        yield with_sessions(head, [section])[len(head) :]


def _passage(rng: random.Random, session: str) -> Passage:
    thing = rng.choice(_THINGS)
    text = (
        f"{thing[:1].upper()}{thing[1:]} {rng.choice(_HOW)} {rng.choice(_WHY)} (case {rng.randrange(10**6)})."
    )
    kind = rng.choice(_PASSAGES)
    status = (
        "proposed"
        if rng.random() < 0.05
        else "rejected"
        if kind == "decision" and rng.random() < 0.15
        else "agreed"
    )
    return Passage(
        text=text,
        kind=kind,
        status=status,
        by=rng.choice(("user", "agent", "")),
        worth=rng.randrange(100),
        session=session,
    )  # type: ignore[arg-type]


def _write_injections(project: Project, entries: Sequence[LedgerEntry], rng: random.Random) -> None:
    lines = []
    for entry in entries:
        assert entry.timestamp is not None
        told = tuple(
            Line(text=_passage(rng, entry.session).text, reason="the prompt names it", kind="decision")
            for _ in range(rng.randrange(4))
        )
        lines.append(
            Injection(
                time=entry.timestamp.isoformat(),
                session=entry.session,
                host=entry.agent or "",
                event="UserPromptSubmit",
                branch="main",
                tokens=20 * len(told),
                lines=told,
                nothing="" if told else "nothing was good enough",
            )
        )
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (project.memory / "why.jsonl").write_bytes(data)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(make_home(target, *map(int, sys.argv[2:4])).root)
