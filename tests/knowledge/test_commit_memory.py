"""Commits as memory: whose count, where, until when, and that reading on gives what reading anew gives."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.knowledge.git_story import ADA, BOB, NOW, CommitMemory, GitStory, clean, read_of

from holdfast.core.git_history import own_emails
from holdfast.knowledge.commit_memory import CommitsRead, commit_sources

Make = Callable[[str], Path]

FEED = """feed: order by seq

created_at comes from the device and is off by minutes on about 2% of them,
which put replies above their posts. Order by the server's sequence number.
Do not go back to created_at for display order; it stays for the tooltip only.

Signed-off-by: Ada Example <ada@example.org>
"""
RETRY = "export: at most five attempts\n\nTen attempts count against the partner's contract, so five is the limit.\n"
CACHE = "rates: keep quotes for 90 seconds\n\nNever serve an older quote: the surcharge changes on Mondays.\n"


@pytest.fixture
def story(make_repo: Make) -> GitStory:
    return GitStory(make_repo("shop"))


@pytest.mark.promise("W7")
def test_the_body_of_a_commit_is_told_with_author_and_hash(story: GitStory) -> None:
    sha = story.commit(FEED, BOB)
    source = read_of(story.root).of(sha)
    assert (source.kind, source.title, source.who) == ("commit", "feed: order by seq", "Bob Example")
    assert source.branches == ()
    told = source.statements
    assert " ".join(statement.text for statement in told).startswith(
        "created_at comes from the device and is off"
    )
    assert any("Do not go back to created_at for display order" in statement.text for statement in told)
    assert not any(
        "Signed-off-by" in text for text in (*source.turns, *(statement.text for statement in told))
    )
    for statement in told:
        assert (statement.origin, statement.who, statement.basis) == ("git", "Bob Example", "")
        assert (statement.commits, statement.source) == ((sha,), f"git {sha[:12]}")
        assert (statement.subject, statement.status) == ("feed: order by seq", "agreed")


def test_what_this_user_committed_is_said_by_a_person(story: GitStory) -> None:
    own, foreign = story.commit(FEED, ADA), story.commit(RETRY, BOB)
    memory = read_of(story.root)
    assert {told.basis for told in memory.of(own).statements} == {"person"}
    assert {told.basis for told in memory.of(foreign).statements} == {""}


def test_others_count_once_the_project_is_enabled(story: GitStory) -> None:
    own, foreign = story.commit(FEED, ADA), story.commit(RETRY, BOB)
    memory = read_of(story.root, others=False)
    assert list(memory.sources) == [f"git:{own}"]
    memory.others = True
    assert memory.read().is_fresh
    assert set(memory.sources) == {f"git:{own}", f"git:{foreign}"}


@pytest.mark.parametrize(
    ("name", "email"),
    [
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"),
        ("renovate-bot", "bot@renovateapp.com"),
        ("Renovate Bot", "renovate@whitesourcesoftware.com"),
        ("github-actions", "actions@github.com"),
        ("GitHub Action", "action@github.com"),
        ("semantic-release-bot", "semantic-release-bot@martynus.net"),
        ("ci", "ci@example.org"),
        ("Release", "noreply@example.org"),
        ("pre-commit-ci", "x@example.org"),
        ("k8s-ci-robot", "k8s-ci-robot@users.noreply.github.com"),
    ],
)
def test_a_bot_is_no_memory(story: GitStory, name: str, email: str) -> None:
    story.commit(FEED, (name, email))
    assert read_of(story.root).sources == {}


@pytest.mark.parametrize(
    ("name", "email"),
    [
        ("Chris Talbot", "ctalbot@example.org"),
        ("Tim Jenkins", "tim.jenkins@example.org"),
        ("Travis Reeder", "treeder@example.org"),
        ("Gitta Cibulka", "cindy@example.org"),
        ("Botond Nagy", "botond@example.org"),
        ("Bob", "123+bob@users.noreply.github.com"),
    ],
)
def test_a_person_with_a_name_like_a_bot_is_one(story: GitStory, name: str, email: str) -> None:
    story.commit(FEED, (name, email))
    assert len(read_of(story.root).sources) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Bump lodash from 4.17.20 to 4.17.21\n\nBumps lodash, because the old one has a hole that must not stay.",
        "chore(release): 1.2.3",
        "chore(deps): update dependency vitest to v3",
        "Update dependency eslint to v9 (#12)",
        "v2.0.1",
        "Release 2.0.1",
        "chore: prepare Shop v1.17.0 release (#12)",
        "shop: prepare to release v1.18.0",
        "Update all non-major dependencies",
        "chore(deps): bump the actions group with 2 updates",
        "[pre-commit.ci] pre-commit autoupdate",
        "Merge branch 'main' into feature",
        "Merge remote-tracking branch 'origin/main'",
        "wip",
        "fix typo",
        "Fix tests",
        "address review comments",
        "...",
    ],
)
def test_generated_and_empty_messages_give_nothing(story: GitStory, message: str) -> None:
    story.commit(message, BOB)
    assert read_of(story.root).sources == {}


@pytest.mark.parametrize(
    "subject",
    [
        "Update all callers to pass a timeout",
        "Automatically retry the export on 429",
        "Start the worker with a limit of 1.5 seconds",
        "Update module loading so that plugins come last",
        "Release the lock before the callback runs",
        "Merge settings when a request is prepared",
        "Upgrade connections to TLS instead of refusing them",
        "feat: update dependency injection for the printer",
        "build: never cache the base image",
    ],
)
def test_what_a_person_wrote_is_not_taken_for_generated(story: GitStory, subject: str) -> None:
    sha = story.commit(subject, BOB)
    assert read_of(story.root).of(sha).title == subject


def test_a_subject_that_only_names_the_change_is_found_and_says_nothing(story: GitStory) -> None:
    named = story.commit("scheduler: metrics for queue depth by tenant")
    stating = story.commit("drm: rotate keys per asset, not per day")
    memory = read_of(story.root)
    assert memory.of(named).turns == ("scheduler: metrics for queue depth by tenant",)
    assert memory.of(named).statements == ()
    assert [told.text for told in memory.of(stating).statements] == [
        "drm: rotate keys per asset, not per day"
    ]


def test_the_merge_of_a_pull_request_is_its_title_and_text(story: GitStory) -> None:
    story.commit("begin the shop and its warehouse")
    story.git("checkout", "-q", "-b", "limits")
    story.commit("wip", BOB)
    story.git("checkout", "-q", "main")
    sha = story.merge(
        "limits",
        "Merge pull request #12 from bob/limits\n\nReject uploads above 20 MB\n\nThe proxy cuts larger ones anyway.",
    )
    source = read_of(story.root).of(sha)
    assert source.title == "Reject uploads above 20 MB"
    assert "The proxy cuts larger ones anyway." in [told.text for told in source.statements]


# --- reverts ----------------------------------------------------------------------------------------------


def statuses(memory: CommitMemory, sha: str) -> set[str]:
    return {told.status for told in memory.of(sha).statements}


@pytest.mark.promise("W6")
def test_a_revert_takes_back_what_a_commit_said_and_keeps_its_reason(story: GitStory) -> None:
    sha = story.commit(RETRY)
    memory = read_of(story.root)
    assert statuses(memory, sha) == {"agreed"}
    reason = "The partner counts attempts per day now, so the limit has no effect."
    revert = story.commit(
        f'Revert "export: at most five attempts"\n\nThis reverts commit {sha}.\n\n{reason}\n'
    )
    memory.read()
    assert statuses(memory, sha) == {"superseded"}
    assert reason in [told.text for told in memory.of(revert).statements]
    assert statuses(memory, revert) == {"agreed"}
    again = story.commit(f'Reapply "export: at most five attempts"\n\nThis reverts commit {revert}.\n')
    memory.read()
    assert (statuses(memory, sha), statuses(memory, revert)) == ({"agreed"}, {"superseded"})
    assert len(memory.given) == 3, "the new commit and the two that it turned"
    story.commit(f'Revert "Reapply"\n\nThis reverts commit {again[:10]}.\n')
    memory.read()
    assert statuses(memory, sha) == {"superseded"}
    assert memory.sources == read_of(story.root).sources


@pytest.mark.parametrize(
    "message",
    [
        'Revert "export: at most five attempts (#7)" (#9)\n\nReverts shop/shop#7',
        'Revert "export: at most five attempts (#7)"',
        'Revert "export: at most five attempts"',
        'export: revert "export: at most five attempts (#7)" (#9)',
    ],
)
def test_a_revert_may_name_a_pull_request_or_a_title(story: GitStory, message: str) -> None:
    sha = story.commit(RETRY.replace("attempts\n", "attempts (#7)\n", 1))
    other = story.commit(CACHE)
    memory = read_of(story.root)
    story.commit(message, BOB)
    memory.read()
    assert (statuses(memory, sha), statuses(memory, other)) == ({"superseded"}, {"agreed"})
    assert memory.sources == read_of(story.root).sources


def test_the_revert_of_a_merge_takes_back_what_it_brought(story: GitStory) -> None:
    before = story.commit(CACHE)
    story.git("checkout", "-q", "-b", "retry")
    sha = story.commit(RETRY, BOB)
    story.git("checkout", "-q", "main")
    merge = story.merge("retry", "Merge pull request #3 from bob/retry\n\nLimit the attempts of the export")
    memory = read_of(story.root)
    story.commit(f'Revert "Merge"\n\nThis reverts commit {merge}, reversing\nchanges made to {before}.\n')
    memory.read()
    assert (statuses(memory, sha), statuses(memory, before)) == ({"superseded"}, {"agreed"})
    assert memory.sources == read_of(story.root).sources


def test_a_partial_revert_and_a_mention_take_nothing_back(story: GitStory) -> None:
    sha = story.commit(RETRY)
    story.commit(f"export: log attempts\n\nThis partially reverts commit {sha}, which logged too little.\n")
    story.commit(
        f"docs: explain limits\n\nSee {sha}: before somebody says that this reverts commit {sha}, read it.\n"
    )
    assert statuses(read_of(story.root), sha) == {"agreed"}


@pytest.mark.promise("W6")
def test_a_revert_on_another_branch_counts_there_only(story: GitStory) -> None:
    story.commit("begin the shop and its warehouse")
    story.commit(CACHE)
    sha = story.git("rev-parse", "HEAD")
    story.git("checkout", "-q", "-b", "try")
    own = story.commit(RETRY)
    story.commit(f'Revert "rates"\n\nThis reverts commit {sha}.\n')
    story.commit(f'Revert "export"\n\nThis reverts commit {own}.\n')
    memory = read_of(story.root)
    assert (statuses(memory, sha), statuses(memory, own)) == ({"agreed"}, {"superseded"})


# --- branches ---------------------------------------------------------------------------------------------


@pytest.mark.promise("W6")
def test_own_commits_of_other_branches_count_there_until_they_are_merged(story: GitStory) -> None:
    story.commit("begin the shop and its warehouse")
    story.git("checkout", "-q", "-b", "retry")
    own, foreign = story.commit(RETRY), story.commit(CACHE, BOB)
    story.git("branch", "retry-2")
    memory = read_of(story.root)
    assert memory.of(own).branches == ("retry", "retry-2")
    assert f"git:{foreign}" not in memory.sources
    story.git("branch", "-D", "retry-2")
    memory.read()
    assert memory.of(own).branches == ("retry",)
    story.git("checkout", "-q", "main")
    story.merge("retry")
    memory.read()
    assert (memory.of(own).branches, memory.of(foreign).branches) == ((), ())
    assert memory.sources == read_of(story.root).sources


def test_a_deleted_branch_takes_its_commits_along(story: GitStory) -> None:
    story.commit("begin the shop and its warehouse")
    story.git("checkout", "-q", "-b", "retry")
    own = story.commit(RETRY)
    memory = read_of(story.root)
    story.git("checkout", "-q", "main")
    story.git("branch", "-D", "retry")
    assert memory.read().gone == (f"git:{own}",)


def test_the_default_branch_is_the_remotes(story: GitStory, tmp_path: Path) -> None:
    story.git("checkout", "-q", "-b", "stable")
    first = story.commit(CACHE, BOB)
    clone = GitStory(tmp_path / "clone")
    subprocess.run(["git", "clone", "-q", str(story.root), str(clone.root)], check=True)
    clone.git("checkout", "-q", "-b", "main")
    foreign, own = clone.commit(RETRY, BOB), clone.commit(FEED)
    memory = read_of(clone.root)
    assert memory.of(first).branches == ()
    assert memory.of(own).branches == ("main",)
    assert f"git:{foreign}" not in memory.sources
    later = story.commit("Refuse orders of more than 99 items instead of splitting them", BOB)
    clone.git("fetch", "-q")
    memory.read()
    assert memory.of(later).branches == (), "fetched, though nothing is checked out"


# --- reading on -------------------------------------------------------------------------------------------


def test_nothing_new_is_nothing_read(story: GitStory) -> None:
    story.commit(FEED)
    memory = read_of(story.root)
    state = memory.state
    reading = memory.read()
    assert (memory.given, reading.gone, reading.is_fresh, memory.state) == ([], (), False, state)


def test_only_what_is_new_is_given(story: GitStory) -> None:
    story.commit(FEED)
    memory = read_of(story.root)
    sha = story.commit(RETRY)
    memory.read()
    assert [source.id for source in memory.given] == [f"git:{sha}"]


def test_rewritten_history_is_gone(story: GitStory) -> None:
    first, old = story.commit(CACHE), story.commit(RETRY)
    memory = read_of(story.root)
    story.git("reset", "-q", "--hard", first)
    new = story.commit(FEED)
    reading = memory.read()
    assert (reading.gone, reading.is_fresh) == ((f"git:{old}",), False)
    assert set(memory.sources) == {f"git:{first}", f"git:{new}"}
    story.git(
        "commit",
        "-q",
        "--amend",
        "--allow-empty",
        "-m",
        "feed: never order by created_at, only by the sequence",
    )
    assert memory.read().gone == (f"git:{new}",)
    assert memory.sources == read_of(story.root).sources


def test_history_whose_objects_are_gone_is_read_anew(story: GitStory) -> None:
    story.commit(CACHE)
    story.commit(RETRY)
    memory = read_of(story.root)
    story.git("checkout", "-q", "--orphan", "fresh")
    sha = story.commit(FEED)
    story.git("branch", "-M", "fresh", "main")
    story.git("reflog", "expire", "--expire=now", "--all")
    story.git("gc", "-q", "--prune=now")
    assert memory.read().is_fresh
    assert set(memory.sources) == {f"git:{sha}"}


def test_the_state_survives_as_json(story: GitStory) -> None:
    story.commit(FEED)
    memory = read_of(story.root)
    data = msgspec.json.encode(memory.state)
    memory.state = msgspec.json.decode(data, type=CommitsRead)
    memory.read()
    assert memory.given == []


@pytest.mark.parametrize("seed", range(4))
def test_reading_on_gives_what_reading_anew_gives(story: GitStory, seed: int) -> None:
    """Commits, branches, merges, reverts of reverts, resets and deleted branches in any order."""
    rng = random.Random(seed)
    story.commit("begin the shop and its warehouse")
    memory = CommitMemory(story.root)
    for number in range(24):
        heads = [line for line in story.git("branch", "--format=%(refname:short)").split("\n") if line]
        step = rng.choice(
            ["commit", "commit", "commit", "branch", "switch", "merge", "revert", "revert", "reset", "drop"]
        )
        if step == "commit":
            body = f"Limit {number}: at most {number} parcels in a crate, because crates are weighed."
            story.commit(f"crates: limit {number}\n\n{body}\n", rng.choice([ADA, BOB]))
        elif step == "branch":
            story.git("checkout", "-q", "-b", f"topic-{number}")
        elif step == "switch":
            story.git("checkout", "-q", rng.choice(heads))
        elif step == "merge":
            story.git("checkout", "-q", "main")
            story.merge(rng.choice(heads))
        elif step == "revert":
            shas = story.git("log", "--format=%H", "-n8").split("\n")
            story.commit(f'Revert "something {number}"\n\nThis reverts commit {rng.choice(shas)}.\n')
        elif step == "reset" and len(story.git("log", "--format=%H", "-n3").split("\n")) == 3:
            story.git("reset", "-q", "--hard", "HEAD~1")
        elif step == "drop" and (others := [head for head in heads if head != "main"]):
            story.git("checkout", "-q", "main")
            story.git("branch", "-q", "-D", rng.choice(others))
        if rng.random() < 0.6:
            memory.read()
            assert memory.sources == read_of(story.root).sources, (seed, number, step)
    memory.read()
    assert memory.sources == read_of(story.root).sources


# --- kinds of repositories --------------------------------------------------------------------------------


def test_worktrees_bare_repositories_and_submodules_are_read(story: GitStory, tmp_path: Path) -> None:
    story.commit(FEED)
    story.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    bare, outer = tmp_path / "shop.git", GitStory(tmp_path / "outer")
    subprocess.run(["git", "clone", "-q", "--bare", str(story.root), str(bare)], check=True)
    subprocess.run(["git", "init", "-q", str(outer.root)], check=True)
    outer.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(story.root), "parts/shop"
    )
    whole = read_of(story.root).sources
    assert whole
    for root in (tmp_path / "tree", bare, outer.root / "parts" / "shop"):
        assert read_of(root).sources == whole, root


def test_a_shallow_clone_is_read_anew_when_it_is_deepened(story: GitStory, tmp_path: Path) -> None:
    old, new = story.commit(CACHE), story.commit(FEED)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{story.root}", str(clone)], check=True)
    memory = read_of(clone)
    assert set(memory.sources) == {f"git:{new}"}
    subprocess.run(["git", "-C", str(clone), "fetch", "-q", "--unshallow"], check=True)
    assert memory.read().is_fresh
    assert set(memory.sources) == {f"git:{old}", f"git:{new}"}


def test_no_repository_and_no_commit_are_no_error(make_repo: Make, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for root in (make_repo("empty"), tmp_path / "plain"):
        reading = commit_sources(root, None, clean=clean, user_emails=())
        assert (list(reading.sources()), reading.gone) == ([], ())


def test_a_detached_head_without_a_branch_is_read(story: GitStory) -> None:
    sha = story.commit(FEED)
    story.git("checkout", "-q", "--detach")
    story.git("branch", "-q", "-D", "main")
    assert set(read_of(story.root).sources) == {f"git:{sha}"}


def test_who_commits_here_is_known_from_git(story: GitStory) -> None:
    assert own_emails(story.root) == frozenset()
    story.git("config", "user.email", "Ada@Example.org")
    assert own_emails(story.root) == {"ada@example.org"}


def test_progress_is_told(story: GitStory) -> None:
    lines = []
    for number in range(1200):
        message = f"crates: weigh crate {number}"
        lines.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1_700_000_000 + number} +0000\n")
        lines.append(f"data {len(message)}\n{message}\n")
    story.git("fast-import", "--quiet", stdin="".join(lines).encode())
    seen: list[tuple[int, int]] = []
    reading = commit_sources(
        story.root, None, clean=clean, user_emails=(), progress=lambda done, total: seen.append((done, total))
    )
    assert len(list(reading.sources())) == 1200
    assert seen == [(500, 1200), (1000, 1200), (1200, 1200)]


def test_a_date_in_the_future_is_bounded(story: GitStory) -> None:
    story._time = int(NOW) + 1_000_000
    sha = story.commit(FEED)
    assert read_of(story.root).of(sha).at == NOW
