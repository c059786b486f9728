"""Decision records and changelogs as memory: which files are, what of them holds, and where."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.knowledge.git_story import NOW, GitStory, clean

from holdfast.core import git_files
from holdfast.knowledge.changelogs import MOST_ENTRIES, releases_in
from holdfast.knowledge.decision_records import record_in
from holdfast.knowledge.document_memory import DocumentReading, DocumentsRead, document_sources
from holdfast.model.source import Source

Make = Callable[[str], Path]

RECORD = """# 3. Keep quotes for ninety seconds

Date: 2026-03-01

## Status

Accepted

## Context

Carriers change their surcharge on Mondays, and we are liable for the difference.

## Decision

A quote is reused for 90 seconds, never longer. Take the contract table when the carrier is slow.

## Consequences

- The checkout asks the carrier more often

## Alternatives considered

### Keep quotes for an hour

We sold 3,100 shipments below cost that way.
"""
LOG = """# Changelog

## [Unreleased]

### Removed

- Support for Python 3.9 ([#41](https://example.org/41))

## [1.1.0] - 2026-02-03

### Changed

- Uploads above 20 MB are refused instead of cut off (#40, thanks @bob)
- Bump lodash from 4.17.20 to 4.17.21

## 1.0.0 - 2026-01-02

- **export:** five attempts at most, then the job stops
"""


@pytest.fixture
def story(make_repo: Make) -> GitStory:
    return GitStory(make_repo("shop"))


class Documents:
    """What a caller keeps."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sources: dict[str, Source] = {}
        self.state: DocumentsRead | None = None

    def read(self) -> DocumentReading:
        reading = document_sources(self.root, self.state, clean=clean, now=NOW)
        self.sources |= {source.id: source for source in reading.sources}
        for id in reading.gone:
            self.sources.pop(id)
        self.state = reading.state
        return reading

    def anew(self) -> dict[str, Source]:
        reading = document_sources(self.root, None, clean=clean, now=NOW)
        return {source.id: source for source in reading.sources}


@pytest.mark.promise("W7")
def test_a_decision_record_says_what_was_decided_and_what_was_not(story: GitStory) -> None:
    story.commit("Add", files={"docs/adr/0003-quotes.md": RECORD})
    documents = Documents(story.root)
    documents.read()
    source = documents.sources["doc:docs/adr/0003-quotes.md"]
    assert (source.kind, source.title, source.branches) == (
        "document",
        "3. Keep quotes for ninety seconds",
        (),
    )
    assert source.at == datetime(2026, 3, 1, tzinfo=UTC).timestamp()
    told = {statement.text: statement for statement in source.statements}
    decision = told[
        "A quote is reused for 90 seconds, never longer. Take the contract table when the carrier is slow."
    ]
    assert (decision.status, decision.source) == ("agreed", "docs/adr/0003-quotes.md:15")
    assert (decision.origin, decision.subject) == ("git", "3. Keep quotes for ninety seconds")
    refused = told["Keep quotes for an hour: We sold 3,100 shipments below cost that way."]
    assert refused.status == "rejected"


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        ("Accepted", "agreed"),
        ("Accepted. Supersedes [ADR 2](0002-x.md)", "agreed"),
        ("Superseded by [ADR 9](0009-x.md)", "superseded"),
        ("Deprecated", "superseded"),
        ("Rejected", "superseded"),
        ("Proposed", "proposed"),
        ("Draft", "proposed"),
    ],
)
def test_a_record_that_was_replaced_does_not_count(status: str, meaning: str) -> None:
    for text in (
        RECORD.replace("Accepted", status),
        f"---\nstatus: {status}\ndate: 2026-03-01\n---\n" + RECORD.replace("## Status\n\nAccepted\n", ""),
        f"# A title of this record\n\n- **Status**: {status}\n- Date: 2026-03-01\n\n## Decision\n\nOrders go to Postgres.\n",
        f"# A title of this record\n\n* Status: {status}\n\n## Decision Outcome\n\nOrders go to Postgres.\n",
        f"# A title of this record\n\n| Status | {status} |\n|---|---|\n\n## Decision\n\nOrders go to Postgres.\n",
    ):
        record = record_in("docs/adr/0003-x.md", text)
        assert record is not None
        assert record.status == meaning, text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/adr/template.md", RECORD),
        ("README.md", "# Shop\n\n## Status\n\nThe build is green.\n\n## Usage\n\nRun it.\n"),
        ("docs/guide.md", "# How to decide\n\n## Decisions\n\nWrite them down in the folder.\n"),
        ("docs/adr/0000-use.md", RECORD.replace("Accepted", "Proposed | Accepted | Deprecated")),
        ("docs/adr/0000-use.md", RECORD.replace("Accepted", "{proposed, accepted}")),
        ("node_modules/x/docs/adr/0001-a.md", RECORD),
        ("vendor/x/CHANGELOG.md", LOG),
        (".cache/CHANGELOG.md", LOG),
        ("CONTRIBUTING.md", "# Contributing\n\nAlways write tests, never mocks.\n"),
    ],
)
def test_templates_guides_and_foreign_files_are_no_records(story: GitStory, path: str, text: str) -> None:
    story.commit("Add", files={path: text})
    documents = Documents(story.root)
    documents.read()
    assert documents.sources == {}


def test_a_record_outside_of_the_usual_folders_is_found_by_its_form(story: GitStory) -> None:
    story.commit("Add", files={"notes/quotes.md": RECORD})
    documents = Documents(story.root)
    documents.read()
    assert list(documents.sources) == ["doc:notes/quotes.md"]


@pytest.mark.promise("W7")
def test_each_version_of_a_changelog_is_a_source(story: GitStory) -> None:
    story.commit("Add", files={"CHANGELOG.md": LOG})
    documents = Documents(story.root)
    documents.read()
    told = {
        id: [(item.text, item.source) for item in source.statements]
        for id, source in documents.sources.items()
    }
    assert told == {
        "doc:CHANGELOG.md#unreleased": [("Removed: Support for Python 3.9", "CHANGELOG.md:7")],
        "doc:CHANGELOG.md#1.1.0": [
            ("Changed: Uploads above 20 MB are refused instead of cut off", "CHANGELOG.md:13")
        ],
        "doc:CHANGELOG.md#1.0.0": [("export: five attempts at most, then the job stops", "CHANGELOG.md:18")],
    }
    assert documents.sources["doc:CHANGELOG.md#1.1.0"].at == datetime(2026, 2, 3, tzinfo=UTC).timestamp()
    assert documents.sources["doc:CHANGELOG.md#unreleased"].at is not None


@pytest.mark.parametrize(
    "text",
    [
        "Release History\n===============\n\n2.1.0 (2026-02-01)\n-------------------\n\n- Refuse uploads above 20 MB\n\n2.0 (2025-01-01)\n----------------\n\n- Keep quotes for an hour\n",
        "# v2.1.0\n- Refuse uploads above 20 MB\n# v2.0.0\n- Keep quotes for an hour\n",
        "## Version 2.1.0, 1 Feb\n* Refuse uploads above 20 MB\n\n## Version 2.0\n* Keep quotes for an hour\n",
        "## shop@2.1.0\n\n### Patch Changes\n\n- 3f1e2ab: Refuse uploads above 20 MB\n\n## shop@2.0.0\n\n- Keep quotes for an hour\n",
        "2.0\n===\n\n* Keep quotes for an hour\n\n2.1.0\n=====\n\n* Refuse uploads above 20 MB\n",
    ],
)
def test_changelogs_of_any_form_have_the_newest_first(text: str) -> None:
    releases = releases_in(text)
    assert releases[0].version == "2.1.0"
    assert [entry.text.rpartition(": ")[2] for release in releases for entry in release.entries] == [
        "Refuse uploads above 20 MB",
        "Keep quotes for an hour",
    ]


def test_only_the_newest_entries_of_a_changelog_are_taken() -> None:
    text = "\n".join(
        f"## 1.{number}.0\n\n- Limit {number} applies to every crate\n" for number in range(200, 0, -1)
    )
    releases = releases_in(text)
    assert len(releases) == MOST_ENTRIES
    assert releases[0].version == "1.200.0"


def test_only_changed_files_are_read_again(story: GitStory) -> None:
    story.commit(
        "Add", files={"CHANGELOG.md": LOG, "docs/adr/0003-quotes.md": RECORD, "docs/a.md": "# A\n\nText.\n"}
    )
    documents = Documents(story.root)
    documents.read()
    assert documents.read().sources == ()
    story.commit("Change", files={"docs/adr/0003-quotes.md": RECORD.replace("Accepted", "Superseded by 4")})
    reading = documents.read()
    assert [source.id for source in reading.sources] == ["doc:docs/adr/0003-quotes.md"]
    assert {told.status for told in reading.sources[0].statements} == {"superseded"}
    assert documents.sources == documents.anew()
    story.git("rm", "-q", "CHANGELOG.md")
    story.commit("Remove")
    assert set(documents.read().gone) == {
        f"doc:CHANGELOG.md#{name}" for name in ("unreleased", "1.1.0", "1.0.0")
    }
    assert documents.sources == documents.anew()


def test_a_version_that_leaves_the_changelog_is_gone(story: GitStory) -> None:
    story.commit("Add", files={"CHANGELOG.md": LOG})
    documents = Documents(story.root)
    documents.read()
    story.commit("Release", files={"CHANGELOG.md": LOG.replace("[Unreleased]", "[1.2.0]")})
    assert documents.read().gone == ("doc:CHANGELOG.md#unreleased",)
    assert documents.sources == documents.anew()


def test_what_only_this_branch_says_counts_on_this_branch(story: GitStory) -> None:
    story.commit("Add", files={"docs/adr/0003-quotes.md": RECORD})
    story.git("checkout", "-q", "-b", "limits")
    story.commit("Add", files={"docs/adr/0004-limits.md": RECORD.replace("Keep quotes", "Keep limits")})
    documents = Documents(story.root)
    documents.read()
    branches = {id: source.branches for id, source in documents.sources.items()}
    assert branches == {"doc:docs/adr/0003-quotes.md": (), "doc:docs/adr/0004-limits.md@limits": ("limits",)}
    story.git("checkout", "-q", "main")
    story.merge("limits")
    documents.read()
    assert {source.branches for source in documents.sources.values()} == {()}
    assert documents.sources == documents.anew()


def test_files_that_git_does_not_track_are_not_read(story: GitStory) -> None:
    story.commit("begin")
    (story.root / "CHANGELOG.md").write_text(LOG, encoding="utf-8")
    documents = Documents(story.root)
    documents.read()
    assert documents.sources == {}


def test_documents_of_others_wait_for_init(story: GitStory) -> None:
    story.commit("Add", files={"CHANGELOG.md": LOG})
    documents = Documents(story.root)
    documents.read()
    reading = document_sources(story.root, documents.state, clean=clean, others=False)
    assert (reading.sources, len(reading.gone)) == ((), 3)


def test_a_bare_repository_a_worktree_and_no_repository(story: GitStory, tmp_path: Path) -> None:
    story.commit("Add", files={"CHANGELOG.md": LOG})
    bare, tree = tmp_path / "shop.git", tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", "--bare", str(story.root), str(bare)], check=True)
    story.git("worktree", "add", "-q", "-b", "topic", str(tree))
    for root in (bare, tree):
        assert {source.branches for source in document_sources(root, None, clean=clean).sources} == {()}
    (tmp_path / "plain").mkdir()
    assert document_sources(tmp_path / "plain", None, clean=clean).sources == ()


def test_the_state_survives_as_json(story: GitStory) -> None:
    story.commit("Add", files={"CHANGELOG.md": LOG})
    documents = Documents(story.root)
    documents.read()
    documents.state = msgspec.json.decode(msgspec.json.encode(documents.state), type=DocumentsRead)
    assert documents.read().sources == ()


def test_a_file_that_is_too_large_is_left_out(story: GitStory) -> None:
    story.commit("Add", files={"docs/adr/0001-a.md": RECORD + "x" * 300_000, "docs/adr/0002-b.md": RECORD})
    documents = Documents(story.root)
    documents.read()
    assert list(documents.sources) == ["doc:docs/adr/0002-b.md"]


def test_many_contents_are_read_in_groups(story: GitStory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_files, "_AT_ONCE", 2000)
    files = {f"docs/adr/{number:04}-a.md": RECORD.replace("90", str(number)) for number in range(30)}
    story.commit("Add", files=files)
    documents = Documents(story.root)
    documents.read()
    assert len(documents.sources) == 30
