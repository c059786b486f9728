"""Entire: other agents' transcripts in the git objects of a repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.agents.builders import SESSION, ClaudeFile, CodexFile, Registry, digest_of, read_claude
from tests.agents.samples_stores import (
    ANSWER,
    COMMAND,
    EDITED,
    PROMPT,
    claude_story,
    entire,
    entire_checkpoint,
    entire_commit,
    git,
    opencode_story,
    read_only,
    read_parts,
)

from holdfast.agents.claude_code.reader import ClaudeCode
from holdfast.agents.codex.reader import Codex
from holdfast.agents.entire.reader import Entire
from holdfast.agents.opencode.reader import OpenCode
from holdfast.model.events import AgentTurn, Began, ToolCall, UsageReport, UserTurn
from holdfast.store.machine import Places

OTHER = "1b1e7c1a-58a4-4c4e-9b53-0d9f6b7e2a22"


def importer() -> Entire:
    return Entire([Codex(), ClaudeCode(), OpenCode()])


@pytest.fixture
def project(home: Path, tmp_path: Path) -> Path:
    return tmp_path / "shop"


@pytest.mark.promise("C1")
@pytest.mark.parametrize(
    "ref",
    [
        "refs/heads/entire/checkpoints/v1",
        "refs/entire/checkpoints/v1/a1",
        "refs/remotes/origin/entire/checkpoints/v1",
    ],
)
def test_a_checkpoint_is_the_inner_agents_session(project: Path, ref: str) -> None:
    entire_checkpoint(project, claude_story().data(), ref=ref)
    done = read_only(importer(), project / ".git" / "HEAD")
    assert done.warnings == []
    began = done.of(Began)[0]
    assert (began.session, began.agent) == (SESSION, "claude-code")
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    calls = [(call.action, call.target) for call in done.of(ToolCall)]
    assert calls == [("shell", COMMAND), ("edit", EDITED), ("shell", COMMAND)]
    assert done.of(AgentTurn)[-1].text == ANSWER
    assert done.position == len(claude_story().data())


@pytest.mark.promise("C2")
def test_later_checkpoints_supersede_earlier_ones(project: Path) -> None:
    whole = claude_story().data()
    lines = whole.splitlines(keepends=True)
    for number, count in enumerate((2, 4, len(lines)), 1):
        entire_checkpoint(project, b"".join(lines[:count]), number, at=number)
    (done,) = read_parts(importer(), project / ".git" / "HEAD").values()
    assert done.position == len(whole)
    assert digest_of(done.events) == digest_of(read_claude(_file(project, whole)).events)


@pytest.mark.promise("C1")
def test_checkpoints_that_are_pieces_are_put_together(project: Path) -> None:
    whole = claude_story().data()
    lines = whole.splitlines(keepends=True)
    entire_checkpoint(project, b"".join(lines[:4]), 1, at=1)
    entire_checkpoint(project, b"".join(lines[4:]), 2, at=2)
    done = read_only(importer(), project / ".git" / "HEAD")
    expected = read_claude(_file(project, whole))
    assert len(done.of(UsageReport)) == len(expected.of(UsageReport))
    assert [turn.text for turn in done.of(UserTurn, AgentTurn)] == [PROMPT, ANSWER]


@pytest.mark.promise("C2")
def test_a_transcript_that_is_here_as_well_counts_once(project: Path) -> None:
    registry, whole = Registry(), claude_story().data()
    entire_checkpoint(project, whole)
    original = _file(project, whole)
    assert read_claude(original, claims=registry.source("original")).events
    assert read_only(importer(), project / ".git" / "HEAD", registry).events == []


@pytest.mark.promise("C2")
def test_only_what_is_new_has_a_new_stamp(project: Path) -> None:
    path, found = entire(project), importer()

    def stamps() -> dict[str, tuple[int | None, int | None]]:
        return {glance.part: (glance.size, glance.changed) for glance in found.sessions(path, b"")}

    before = stamps()
    other = ClaudeFile(OTHER)
    other.user(0, "something else")
    entire_checkpoint(project, other.data(), 2, session=OTHER)
    after = stamps()
    assert after[SESSION] == before[SESSION]
    assert set(after) == {SESSION, OTHER}
    entire_checkpoint(project, claude_story().data() + b"\n", 3, at=99)
    assert stamps()[SESSION] != before[SESSION]


@pytest.mark.promise("C1")
def test_every_format_goes_to_the_importer_that_knows_it(project: Path) -> None:
    codex = CodexFile(OTHER)
    codex.meta(0)
    codex.ask(1, "hello")
    codex.tokens(2, 10, 0, 5)
    entire_checkpoint(project, codex.data(), 1, session=OTHER)
    exported = opencode_story().as_export(project / "export.json").read_bytes()
    entire_checkpoint(project, exported, 2, session="ses_one")
    entire_checkpoint(project, exported[:-20] + exported[-20:], 3, session="ses_one", at=99)
    parts = read_parts(importer(), project / ".git" / "HEAD")
    assert {name: done.of(Began)[0].agent for name, done in parts.items()} == {
        OTHER: "codex",
        "ses_one": "opencode",
    }
    assert len(parts["ses_one"].of(UserTurn)) == 1


@pytest.mark.promise("C1")
def test_a_transcript_cut_into_chunks_is_whole_again(project: Path) -> None:
    lines = claude_story().data().splitlines(keepends=True)
    entire_checkpoint(project, b"".join(lines[:3]))
    entire_commit(
        project, "refs/heads/entire/checkpoints/v1", {"a1/0000000001/0/full.jsonl.001": b"".join(lines[3:])}
    )
    done = read_only(importer(), project / ".git" / "HEAD")
    assert [turn.text for turn in done.of(UserTurn, AgentTurn)] == [PROMPT, ANSWER]


@pytest.mark.promise("F4")
def test_a_bad_line_is_named_by_its_place_in_git(project: Path) -> None:
    lines = claude_story().data().splitlines(keepends=True)
    entire_checkpoint(project, b"".join([*lines[:2], b"{torn\n", *lines[2:]]))
    done = read_only(importer(), project / ".git" / "HEAD")
    (warning,) = done.warnings
    assert warning.path == "git:refs/heads/entire/checkpoints/v1:a1/0000000001/0/full.jsonl"
    assert warning.line == 3
    assert done.of(AgentTurn)[-1].text == ANSWER


@pytest.mark.promise("F4")
def test_what_nobody_recognises_and_what_is_missing_are_one_warning_each(project: Path) -> None:
    entire_checkpoint(project, b"binary \x00 things", 1, session="strange")
    entire_checkpoint(project, b'{"a":1}\n' * 9, 2, session="lost")
    found = importer()
    assert [len(done.warnings) for done in read_parts(found, project / ".git" / "HEAD").values()] == [1, 1]
    lost = git(project, "rev-parse", "refs/heads/entire/checkpoints/v1:a2/0000000002/0/full.jsonl")
    (project / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    done = read_parts(found, project / ".git" / "HEAD")["lost"]
    assert [warning.code for warning in done.warnings] == ["unreadable"]


@pytest.mark.promise("C1")
def test_the_repository_stands_for_its_checkpoints_in_every_layout(project: Path, tmp_path: Path) -> None:
    path, found = entire(project), importer()
    entire_commit(project, "refs/heads/main", {"a.txt": b"a"})
    linked, bare = tmp_path / "linked", tmp_path / "bare.git"
    git(project, "worktree", "add", "--quiet", str(linked), "main", "--force")
    git(tmp_path, "clone", "--quiet", "--mirror", str(project), str(bare))

    def candidates(work_tree: Path) -> list[Path]:
        roots = found.roots(Places(Path("/nowhere"), {}, work_tree))
        return [candidate for root in roots for candidate in found.candidates(root)]

    assert candidates(project) == [path]
    assert [candidate.resolve() for candidate in candidates(linked)] == [path.resolve()]
    assert candidates(bare) == [bare / "HEAD"]
    assert [glance.cwd for glance in found.sessions(path, b"")] == [str(project)]
    assert candidates(tmp_path) == []


@pytest.mark.promise("F4")
def test_a_repository_without_checkpoints_is_not_recognised(project: Path, tmp_path: Path) -> None:
    entire_commit(project, "refs/heads/main", {"full.jsonl": b"{}"})
    head = project / ".git" / "HEAD"
    assert not importer().recognise(head, head.read_bytes())
    fake = tmp_path / "fake"
    (fake / "objects").mkdir(parents=True)
    (fake / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert not importer().recognise(fake / "HEAD", b"ref: refs/heads/main\n")
    assert not importer().recognise(tmp_path / "HEAD", b"")


@pytest.mark.promise("F4")
def test_a_hostile_repository_runs_nothing(project: Path, tmp_path: Path) -> None:
    path, mark = entire(project), tmp_path / "ran"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
    script.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.alternateRefsCommand",
        "core.askPass",
    ):
        git(project, "config", name, str(script))
    git(project, "config", "remote.origin.url", f"ext::{script}")
    git(project, "config", "remote.origin.promisor", "true")
    git(project, "config", "extensions.partialClone", "origin")
    git(project, "config", "protocol.ext.allow", "always")
    blob = git(project, "rev-parse", "refs/heads/entire/checkpoints/v1:a1/0000000001/0/full.jsonl")
    (project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    before = sorted(os.listdir(project / ".git"))
    read_parts(importer(), path)
    assert not mark.exists()
    assert sorted(os.listdir(project / ".git")) == before


@pytest.mark.slow
@pytest.mark.promise("F4")
def test_a_large_transcript_is_not_held_in_memory(project: Path) -> None:
    claude = ClaudeFile()
    claude.user(0, PROMPT)
    for number in range(400):
        claude.run(number, "cat big", "x" * 100_000)
    entire_checkpoint(project, claude.data())
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from holdfast.agents.entire.reader import Entire; from holdfast.agents.claude_code.reader import ClaudeCode\n"
        "class Claims:\n"
        "    def repeated(self, key): return False\n"
        "    foreign = repeated\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "reading = Entire([ClaudeCode()]).open(Path(sys.argv[1]), 0, b'', Claims(), sys.argv[2])\n"
        "assert sum(1 for _ in reading.events()) > 800 and not reading.warnings\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    import sys

    command = [sys.executable, "-c", script, str(project / ".git" / "HEAD"), SESSION]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert int(done.stdout) < 20 * 1024  # the transcript has 40 MB


def _file(project: Path, data: bytes) -> Path:
    path = project / "original.jsonl"
    path.write_bytes(data)
    return path
