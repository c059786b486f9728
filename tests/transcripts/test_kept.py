"""Kept transcripts: off until asked for, redacted, counted once, forgotten with the rest, and enough to rebuild from."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.agents.builders import SESSION, START, ClaudeFile
from tests.agents.samples import SAMPLES
from tests.conftest import Holdfast
from tests.every_byte import views
from tests.remembered import project_at

from holdfast.transcripts.kept import KEPT, KeptTranscripts

pytestmark = pytest.mark.promise("V3")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def keeping(home: Path) -> Path:
    """The personal configuration asks for copies."""
    config = home / ".holdfast" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("keep_transcripts = true\n", encoding="utf-8")
    return config


def session(repo: Path, *, name: str = SESSION, prefix: str = "u") -> ClaudeFile:
    file = ClaudeFile(session=name, cwd=str(repo), prefix=prefix)
    file.user(0, f"count leap seconds, the token is {TOKEN} <private>my diary</private>")
    file.edit(1, f"{repo}/tide.py")
    file.run(3, "make test", "3 passed")
    file.assistant(9, "They are counted in the tide table.")
    return file


def kept_file(repo: Path) -> Path:
    return project_at(repo).memory / KEPT


def kept_in(repo: Path) -> KeptTranscripts:
    return KeptTranscripts(kept_file(repo))


def rows(holdfast: Holdfast) -> list[dict[str, object]]:
    listed = holdfast("ledger", "list", "--json", check=0).json()
    return [{name: value for name, value in row.items() if name != "recorded"} for row in listed]


def test_nothing_is_kept_unless_asked_for(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    holdfast("import", session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl"), check=0)
    assert not kept_file(repo).exists()


def test_a_kept_transcript_holds_no_secret_and_no_private_part(
    holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path
) -> None:
    holdfast("import", session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl"), check=0)
    path = kept_file(repo)
    seen = b"\n".join(views(path.read_bytes(), path))
    assert b"tide table" in seen, "the copy is looked into"
    assert TOKEN.encode() not in seen and b"diary" not in seen


def test_the_same_rows_come_from_kept_transcripts(
    holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path
) -> None:
    path = session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl")
    holdfast("import", path, check=0)
    before = rows(holdfast)
    path.unlink()
    project = project_at(repo)
    project.capture.unlink()
    (project.memory / "ledger.md").unlink()
    report = holdfast("import", "--from-kept", "--json", check=0).json()
    assert report["added"] == 1 and rows(holdfast) == before
    assert holdfast("import", "--from-kept", "--json", check=0).json()["added"] == 0


@pytest.mark.parametrize("agent", sorted(SAMPLES))
def test_every_agents_sessions_can_be_rebuilt(
    holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path, agent: str
) -> None:
    path = SAMPLES[agent](tmp_path / "home")
    holdfast("import", path, check=0)
    before = rows(holdfast)
    if agent == "entire":
        pytest.skip("a checkpoint is in git, which deletes nothing")
    project = project_at(repo)
    project.capture.unlink()
    (project.memory / "ledger.md").unlink()
    holdfast("import", "--from-kept", check=0)
    assert before and rows(holdfast) == before


def test_what_a_resumed_session_repeats_is_kept_once(
    holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path
) -> None:
    first = session(repo)
    other = "1f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a22"
    resumed = ClaudeFile(session=other, cwd=str(repo), prefix="r")
    resumed.copied_from(first)
    resumed.user(100, "now draw the moon")
    resumed.assistant(110, "Drawn.")
    first.save(tmp_path / "t" / f"{SESSION}.jsonl")
    resumed.save(tmp_path / "t" / f"{other}.jsonl")
    holdfast("import", tmp_path / "t", check=0)
    store = kept_in(repo)
    texts = [json.dumps([str(event) for event in store.events(one.key)]) for one in store.all()]
    store.close()
    assert sum(text.count("They are counted in the tide table.") for text in texts) == 1


def test_forgetting_reaches_the_copies(holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path) -> None:
    other = "1f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a22"
    session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl")
    more = ClaudeFile(session=other, cwd=str(repo), prefix="m")
    more.user(0, "the harbour master is called Quixote Abernathy")
    more.assistant(1, "Noted.")
    more.save(tmp_path / "t" / f"{other}.jsonl")
    holdfast("import", tmp_path / "t", check=0)
    holdfast("forget", "--session", SESSION, "--yes", check=0)
    holdfast("forget", "--text", "Quixote Abernathy", "--yes", check=0)
    store = kept_in(repo)
    assert [one.session for one in store.all()] == [other]
    store.close()
    data = b"\n".join(views(kept_file(repo).read_bytes(), kept_file(repo)))
    assert b"tide table" not in data and b"Abernathy" not in data


def test_show_reads_the_copy_when_the_agent_deleted_its_own(
    holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path
) -> None:
    path = session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl")
    holdfast("import", path, check=0)
    whole = holdfast("show", SESSION, check=0).stdout
    path.unlink()
    copy = holdfast("show", SESSION, check=0).stdout
    assert "this is the copy that was kept" in copy
    assert whole.partition("▸ 1")[2] == copy.partition("▸ 1")[2]


def test_a_retention_that_the_agent_was_given_counts_here_too(
    holdfast: Holdfast, repo: Path, home: Path, keeping: Path, tmp_path: Path
) -> None:
    assert time.time() - START > 86_400, "the builder's sessions are old"
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"cleanupPeriodDays": 1}', encoding="utf-8")
    holdfast("import", session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl"), check=0)
    store = kept_in(repo)
    assert store.all() == []
    store.close()


def test_above_the_cap_the_oldest_go(holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path) -> None:
    keeping.write_text("keep_transcripts = true\nkeep_transcripts_mb = 0\n", encoding="utf-8")
    holdfast("import", session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl"), check=0)
    store = kept_in(repo)
    assert store.all() == []
    store.close()


OTHER = "1f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a22"


def test_of_all_projects_the_oldest_copies_go_first(
    holdfast: Holdfast,
    repo: Path,
    make_repo: Callable[[str], Path],
    keeping: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holdfast("import", session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl"), check=0)
    with closing(kept_in(repo)) as kept:
        monkeypatch.setattr("holdfast.transcripts.keep.MB", sum(one.stored for one in kept.all()) + 20)
    keeping.write_text("keep_transcripts = true\nkeep_transcripts_mb = 1\n", encoding="utf-8")
    other = make_repo("harbour")
    newer = ClaudeFile(session=OTHER, cwd=str(other), prefix="n")
    newer.user(200_000, "draw the moon")
    newer.assistant(200_001, "Drawn.")
    holdfast("import", newer.save(tmp_path / "n" / f"{OTHER}.jsonl"), cwd=other, check=0)
    assert (sessions_kept(repo), sessions_kept(other)) == ([], [OTHER]), (
        "the imported project is not the oldest"
    )


def test_excluding_a_directory_reaches_its_copies(
    holdfast: Holdfast, repo: Path, make_repo: Callable[[str], Path], keeping: Path, tmp_path: Path
) -> None:
    holdfast("import", session(repo).save(tmp_path / "t" / f"{SESSION}.jsonl"), check=0)
    assert sessions_kept(repo) == [SESSION]
    keeping.write_text(f'keep_transcripts = true\nexclude = ["{repo}/**"]\n', encoding="utf-8")
    other = make_repo("harbour")
    elsewhere = ClaudeFile(session=OTHER, cwd=str(other), prefix="n")
    elsewhere.user(0, "draw the moon")
    elsewhere.assistant(1, "Drawn.")
    holdfast("import", elsewhere.save(tmp_path / "n" / f"{OTHER}.jsonl"), cwd=other, check=0)
    assert sessions_kept(repo) == [] and sessions_kept(other) == [OTHER]


def sessions_kept(repo: Path) -> list[str]:
    with closing(kept_in(repo)) as kept:
        return [one.session for one in kept.all()]


def test_what_is_kept_is_small(holdfast: Holdfast, repo: Path, keeping: Path, tmp_path: Path) -> None:
    file = ClaudeFile(session=SESSION, cwd=str(repo), prefix="u")
    for at in range(0, 3_000, 10):
        file.user(at, f"look at part {at} of the tide table and mend its {at}th column")
        file.run(
            at + 1, f"sed -n {at},{at + 40}p tides.csv", "\n".join(f"{at};{line};3.1" for line in range(40))
        )
        file.assistant(at + 5, f"Column {at} is mended: the high water of Brest was an hour late.")
    path = file.save(tmp_path / "t" / f"{SESSION}.jsonl")
    holdfast("import", path, check=0)
    with closing(kept_in(repo)) as kept:
        assert sum(one.stored for one in kept.all()) <= 0.15 * path.stat().st_size


def test_status_offers_copies_once_and_names_what_is_about_to_go(
    holdfast: Holdfast, repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(repo).save(home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl")
    long_ago = time.time() - 25 * 86_400
    os.utime(path, (long_ago, long_ago))
    holdfast("import", check=0)
    assert len(holdfast("status", "--json", check=0).json()["leaving"]) == 1
    assert "keep_transcripts" not in holdfast("status", check=0).stdout, "a pipe is nobody to ask"
    monkeypatch.setattr("holdfast.terminal.output.on_terminal", lambda: True)
    first, second = (" ".join(holdfast("status", check=0).stdout.split()) for _ in range(2))
    assert "ount leap seconds" in first and "keep_transcripts = true" in first
    assert "keep_transcripts" not in second


def test_without_copies_there_is_nothing_to_rebuild_from(holdfast: Holdfast, repo: Path) -> None:
    refused = holdfast("import", "--from-kept", check=2).stderr
    assert "no transcripts have been kept here" in refused and refused.count("\n") == 1
