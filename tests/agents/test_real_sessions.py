"""Real sessions of public repositories, where they are at hand: every file reads whole, with plausible figures."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from tests.agents.builders import Read, Registry, digest_of, read

from holdfast.agents.registry import BY_AGENT, IMPORTERS
from holdfast.model.events import UsageReport
from holdfast.model.ledger import Complexity, FailureReason, Kind, Outcome
from holdfast.sessions.session import SessionPart, conclude, ledger_entry

AGENTS = ("claude-code", "codex")


def real_files(shared: Path, agent: str) -> list[Path]:
    files = sorted((shared / "data" / "transcripts" / agent).rglob("*.jsonl"))
    if not files:
        pytest.skip("no real sessions of this agent at hand")
    return files


@pytest.mark.promise("C1", "F4")
@pytest.mark.parametrize("agent", AGENTS)
def test_every_real_file_is_recognised_by_its_own_importer_alone(shared: Path, agent: str) -> None:
    for path in real_files(shared, agent):
        head = path.read_bytes()[: 64 * 1024]
        assert [importer.agent for importer in IMPORTERS if importer.recognise(path, head)] == [agent], path


@pytest.mark.promise("C1", "C3", "L7")
@pytest.mark.parametrize("agent", AGENTS)
def test_every_real_file_reads_without_a_warning_and_gives_plausible_figures(
    shared: Path, agent: str
) -> None:
    for path in real_files(shared, agent):
        importer = BY_AGENT[agent]
        (glance,) = importer.sessions(path, path.read_bytes()[: 64 * 1024])
        done = read(importer, path)
        assert done.warnings == [], path
        assert done.position == path.stat().st_size
        digest = digest_of(done.events, agent)
        assert digest.session
        assert digest.first_at is not None and digest.last_at is not None
        assert 1_735_000_000 < digest.first_at <= digest.last_at < 1_830_000_000
        assert glance.cwd
        assert glance.started is not None and abs(glance.started - digest.first_at) < 24 * 3600
        session = conclude(digest.parent or digest.session, [SessionPart(str(path), digest)], None, None)
        if session.active_s is not None and session.wall_s is not None:
            assert 0 <= session.active_s <= session.wall_s + 1
        assert session.failed_calls <= session.tool_calls
        assert session.outcome in set(Outcome)
        assert session.kind in set(Kind)
        assert session.complexity in set(Complexity)
        for task in session.tasks:
            assert task.evidence
            assert (task.status == "failed") == bool(task.reason)
            assert not task.reason or task.reason in set(FailureReason)
        for model in session.models:
            assert model.model
            assert model.cost_usd is None or Decimal(0) <= Decimal(model.cost_usd) < 1000
        entry = ledger_entry(session)
        assert entry.tasks is not None and entry.failed is not None and entry.failed <= entry.tasks


def responses_in(done: Read) -> set[str]:
    return {event.key for event in done.events if isinstance(event, UsageReport)}


@pytest.mark.promise("C2", "L17")
@pytest.mark.parametrize("agent", AGENTS)
def test_real_histories_that_were_copied_count_once(shared: Path, agent: str) -> None:
    files = real_files(shared, agent)
    alone = sum(len(responses_in(read(BY_AGENT[agent], path))) for path in files)
    registry = Registry()
    together = 0
    keys: set[str] = set()
    for path in files:
        responses = responses_in(read(BY_AGENT[agent], path, claims=registry.source(str(path))))
        assert keys.isdisjoint(responses)
        keys |= responses
        together += len(responses)
    assert together <= alone


@pytest.mark.promise("C2")
@pytest.mark.parametrize("agent", AGENTS)
def test_importing_real_files_again_adds_nothing(shared: Path, agent: str) -> None:
    for path in real_files(shared, agent)[:20]:
        claims = Registry().source("a")
        first = read(BY_AGENT[agent], path, claims=claims)
        again = read(BY_AGENT[agent], path, offset=first.position, state=first.state, claims=claims)
        assert (again.events, again.warnings, again.position) == ([], [], first.position)


@pytest.mark.promise("C1")
@pytest.mark.parametrize(("folder", "agent"), [("claude", "claude-code"), ("codex", "codex")])
def test_captures_of_today_s_clients_read_without_a_warning(shared: Path, folder: str, agent: str) -> None:
    files = [
        path
        for path in sorted((shared / "data" / "captures" / folder).glob("*.jsonl"))
        if not path.name.startswith("hook_stdin")
    ]
    if not files:
        pytest.skip("no captures at hand")
    for path in files:
        assert BY_AGENT[agent].recognise(path, path.read_bytes()[: 64 * 1024]), path
        done = read(BY_AGENT[agent], path)
        assert done.warnings == [], path
        digest = digest_of(done.events, agent)
        assert digest.session
        assert digest.turns and digest.turns[0].text
