"""Refs in a git remote: what they show, what travels, and every way in which a remote or its line fails."""

from __future__ import annotations

import hashlib
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.sync.bad_line import BadLine, bad_line, git_daemon
from tests.sync.https_git import LOGIN, https_git
from tests.sync.transports import ANA, BEN, PROJECT, at, everything, project_at, some_packs

from holdfast.store.machine import Machine
from holdfast.store.memory_files import kind_of
from holdfast.sync.git_refs import GitRefs
from holdfast.sync.git_remote import remote_of
from holdfast.sync.keys import Keys, seal
from holdfast.sync.transport import SyncError, name_of

pytestmark = [pytest.mark.promise("T5"), pytest.mark.promise("T6")]
REF = f"refs/holdfast/{PROJECT}/{ANA}"


def git(place: Path, *arguments: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(["git", "-C", str(place), *arguments], input=stdin, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


@pytest.fixture
def remote(home: Path, tmp_path: Path) -> Path:
    """A remote with a branch, as a project has one."""
    served = tmp_path / "served"
    served.mkdir()
    place = served / "shop.git"
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", str(place))
    seed = tmp_path / "seed"
    git(tmp_path, "init", "-q", "--initial-branch=main", str(seed))
    git(seed, "commit", "-q", "--allow-empty", "-m", "first")
    git(seed, "push", "-q", str(place), "main")
    return place


Opening = Callable[..., GitRefs]


@pytest.fixture
def opened(remote: Path, tmp_path: Path) -> Opening:
    """The transport of a machine's clone; the clone is made on first use."""

    def open_(machine: str = "one", url: str = "", **more: object) -> GitRefs:
        root = tmp_path / machine
        if not root.exists():
            git(tmp_path, "clone", "-q", remote.as_uri(), str(root))
        if url:
            git(root, "config", "--replace-all", "--", "remote.origin.url", url)
        project = project_at(root)
        return GitRefs(project, remote_of(root, "origin"), PROJECT, {**os.environ}, **more)  # type: ignore[arg-type]

    return open_


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def objects_in(repository: Path) -> set[str]:
    return set(git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


def own_repository(tmp_path: Path, machine: str = "one") -> Path:
    (place,) = (tmp_path / f"memory-{machine}" / "sync" / "git").iterdir()
    return place


# --- what it shows -----------------------------------------------------------------------------------------


def test_the_users_clone_is_untouched_and_nobody_sees_the_refs(
    remote: Path, opened: Opening, tmp_path: Path
) -> None:
    one = opened("one")
    before = files_of(tmp_path / "one")
    one.publish(ANA, some_packs("a"))
    assert everything(one) == at(ANA, some_packs("a"))
    assert files_of(tmp_path / "one") == before
    git(tmp_path, "clone", "-q", remote.as_uri(), str(tmp_path / "plain"))
    for clone in (tmp_path / "plain", tmp_path / "one"):
        git(clone, "fetch", "-q", "--all", "--tags", "--prune")
        assert "holdfast" not in git(clone, "branch", "-a") + git(clone, "for-each-ref")
        assert git(clone, "log", "--all", "--format=%s").split() == ["first"]
        assert len(objects_in(clone)) == 2
    assert git(remote, "branch", "-a").split() == ["*", "main"]
    assert git(remote, "for-each-ref", "--format=%(refname)", "refs/holdfast").split() == [REF]


def test_the_objects_at_the_remote_name_nobody_and_sealed_packs_cannot_be_read(
    remote: Path, opened: Opening, home: Path
) -> None:
    before = objects_in(remote)
    keys = Keys(Machine({**os.environ}))
    secret = b"the export client makes at most five attempts; Ada Example <ada@example.org> said so"
    packs = [seal(secret + bytes([number]), [keys.own.seal]) for number in range(5)]
    one = opened()
    one.publish(ANA, {name_of(pack): pack for pack in packs[:3]})
    one.publish(ANA, {name_of(pack): pack for pack in packs[3:]}, drop=[name_of(packs[0])])
    kinds = set()
    for name in objects_in(remote) - before:
        kind = git(remote, "cat-file", "-t", name).strip()
        kinds.add(kind)
        data = subprocess.run(
            ["git", "-C", str(remote), "cat-file", kind, name], capture_output=True, check=True
        ).stdout
        assert not re.search(rb"(?i)ada example|example.org|attempts|export", data)
        if kind == "commit":
            assert re.fullmatch(
                rb"tree [0-9a-f]{40}\n(parent [0-9a-f]{40}\n)?"
                rb"author holdfast <holdfast@holdfast.invalid> 946684800 \+0000\n"
                rb"committer holdfast <holdfast@holdfast.invalid> 946684800 \+0000\n\n",
                data,
            )
        elif kind == "tree":
            names = git(remote, "ls-tree", "--name-only", name).split()
            assert all(re.fullmatch("[0-9a-f]{40}", name) for name in names)
        else:
            assert data in packs
            assert data.startswith(b"age-encryption.org/v1\n")
    assert kinds == {"commit", "tree", "blob"}


def test_what_is_dropped_is_kept_by_no_ref_and_by_no_copy_of_ours(
    remote: Path, opened: Opening, tmp_path: Path
) -> None:
    one, other = opened("one"), opened("two")
    for letter in "abc":
        one.publish(ANA, some_packs(letter))
        everything(other)
    blob = git(remote, "hash-object", "--stdin", stdin=next(iter(some_packs("b").values()))).strip()
    places = [own_repository(tmp_path, "one"), own_repository(tmp_path, "two")]
    assert all(blob in objects_in(place) for place in (remote, *places))
    one.publish(ANA, {}, drop=some_packs("b"))
    everything(other)
    assert not any(blob in objects_in(place) for place in places)
    git(remote, "gc", "-q", "--prune=now")
    assert blob not in objects_in(remote)
    assert everything(other) == at(ANA, some_packs("a", "c"))


def test_what_forgets_removes_our_copy_which_the_next_sync_makes_again(
    opened: Opening, tmp_path: Path
) -> None:
    one = opened()
    one.publish(ANA, some_packs("a"))
    memory = tmp_path / "memory-one"
    for path in memory.rglob("*"):
        if path.is_file():
            assert kind_of(path.relative_to(memory).as_posix()).forget == "remove"
            path.unlink()
    assert everything(one) == at(ANA, some_packs("a"))
    one.publish(ANA, some_packs("b"))
    assert everything(opened("two")) == at(ANA, some_packs("a", "b"))


# --- what travels ------------------------------------------------------------------------------------------


@pytest.fixture
def line(remote: Path) -> Iterator[BadLine]:
    with git_daemon(remote.parent) as port, bad_line(port) as between:
        yield between


def test_only_what_is_new_travels(line: BadLine, opened: Opening) -> None:
    url = f"git://127.0.0.1:{line.port}/shop.git"
    one, other = opened("one", url), opened("two", url)
    noise = random.Random(7)
    packs = [noise.randbytes(20_000) for _ in range(40)]
    one.publish(ANA, {name_of(pack): pack for pack in packs})
    everything(other)
    assert line.sent > 800_000
    assert line.received > 800_000
    new = {name_of(pack): pack for pack in (noise.randbytes(20_000), noise.randbytes(20_000))}
    line.heal()
    one.publish(ANA, new)
    assert 40_000 < line.sent < 55_000
    line.heal()
    other.packs()
    assert 40_000 < line.received < 55_000
    line.heal()
    state, connections = other.state(), line.connections
    assert other.state() == state
    assert line.connections == connections + 1
    assert line.sent + line.received < 10_000
    line.heal()
    other.packs()
    assert line.connections == connections + 1  # the state has just fetched


def test_a_line_that_cuts_delays_and_repeats_costs_time_and_nothing_else(
    line: BadLine, opened: Opening
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    url = f"git://127.0.0.1:{line.port}/shop.git"
    one, other = opened("one", url, quiet_seconds=3.0), opened("two", url, quiet_seconds=3.0)
    here: dict[str, bytes] = {}
    failures = 0
    for step in range(10):
        line.heal()
        setattr(line, chance.choice(["cut_after", "repeat_at"]), chance.randrange(12_000))
        line.delay_s = chance.choice([0.0, 0.002])
        new, gone = some_packs(step, (step, 1), size=3_000), list(here)[: chance.choice([0, 0, 1])]
        for attempt in (lambda new=new, gone=gone: one.publish(ANA, new, gone), other.packs):  # type: ignore[misc]
            try:
                attempt()
            except SyncError as error:
                failures += 1
                assert "\n" not in error.line()
        line.heal()
        one.publish(ANA, new, gone)
        here = {name: data for name, data in (here | new).items() if name not in gone}
        assert everything(other) == at(ANA, here), f"seed {seed}, step {step}"
    assert failures > 1, f"seed {seed}"


def test_a_line_that_goes_silent_is_given_up(line: BadLine, opened: Opening) -> None:
    url = f"git://127.0.0.1:{line.port}/shop.git"
    one = opened("one", url, quiet_seconds=1.0)
    one.publish(ANA, some_packs("a"))
    line.hold_after = 0
    for attempt in (one.state, one.packs, lambda: one.publish(ANA, some_packs("b"))):
        with pytest.raises(SyncError, match="the other side stopped answering"):
            attempt()
    line.heal()
    one.publish(ANA, some_packs("b"))
    assert everything(one) == at(ANA, some_packs("a", "b"))


# --- remotes that refuse -----------------------------------------------------------------------------------


def hook(remote: Path, name: str, text: str) -> None:
    (remote / "hooks").mkdir(exist_ok=True)
    (remote / "hooks" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (remote / "hooks" / name).chmod(0o755)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pre-receive", "echo 'only branches here' >&2; exit 1"),
        ("update", 'case "$1" in refs/heads/*) ;; *) exit 1 ;; esac'),
    ],
)
def test_a_remote_whose_hook_refuses_is_one_line(name: str, text: str, remote: Path, opened: Opening) -> None:
    hook(remote, name, text)
    with pytest.raises(SyncError, match=r"the remote refuses what holdfast pushes .*hook declined"):
        opened().publish(ANA, some_packs("a"))
    assert opened().packs() == {}


def test_a_remote_that_hides_refs_is_one_line(remote: Path, opened: Opening) -> None:
    git(remote, "config", "transfer.hideRefs", "refs/holdfast")
    with pytest.raises(SyncError, match="the remote refuses refs outside branches and tags"):
        opened().publish(ANA, some_packs("a"))
    git(remote, "config", "--unset", "transfer.hideRefs")
    git(remote, "config", "uploadpack.hideRefs", "refs/holdfast")
    with pytest.raises(SyncError, match="but does not show them"):
        opened().publish(ANA, some_packs("a"))


def test_a_remote_that_denies_rewriting_and_deleting_branches_is_no_hindrance(
    remote: Path, opened: Opening
) -> None:
    for key in (
        "receive.denyNonFastForwards",
        "receive.denyDeletes",
        "receive.fsckObjects",
        "transfer.fsckObjects",
    ):
        git(remote, "config", key, "true")
    one = opened()
    one.publish(ANA, some_packs("a", "b"))
    one.publish(ANA, some_packs("c"), drop=some_packs("a"))
    one.publish(ANA, {}, drop=some_packs("b", "c"))
    one.publish(ANA, some_packs("d"))
    assert everything(opened("two")) == at(ANA, some_packs("d"))


def test_a_shallow_remote_and_one_of_another_kind_of_hashes_work(
    remote: Path, opened: Opening, tmp_path: Path
) -> None:
    git(tmp_path / "seed", "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path / "seed", "push", "-q", str(remote), "main")
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", remote.as_uri(), str(tmp_path / "shallow.git"))
    one = opened("one", str(tmp_path / "shallow.git"))
    one.publish(ANA, some_packs("a"))
    assert everything(one) == at(ANA, some_packs("a"))
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", str(tmp_path / "sha256.git"))
    git(tmp_path, "init", "-q", "--object-format=sha256", str(tmp_path / "new"))
    git(tmp_path / "new", "remote", "add", "origin", str(tmp_path / "sha256.git"))
    other = opened("new")
    other.publish(ANA, some_packs("a"))
    assert everything(other) == at(ANA, some_packs("a"))


def test_a_remote_that_may_only_be_read_is_read(remote: Path, opened: Opening) -> None:
    opened("one").publish(ANA, some_packs("a"))
    with git_daemon(remote.parent, writable=False) as port:
        other = opened("two", f"git://127.0.0.1:{port}/shop.git")
        assert everything(other) == at(ANA, some_packs("a"))
        with pytest.raises(SyncError, match="access denied"):
            other.publish(BEN, some_packs("b"))
        for name, message in (
            ("nowhere.git", "access denied|no such repository"),
            ("../x", "access denied|no such"),
        ):
            with pytest.raises(SyncError, match=message):
                opened("three", f"git://127.0.0.1:{port}/{name}").state()


def test_over_https_the_users_password_counts_and_without_one_nothing_waits(
    remote: Path, opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with https_git(remote.parent, tmp_path / "https") as (port, certificate):
        url = f"https://127.0.0.1:{port}/shop.git"
        with pytest.raises(SyncError, match=r"\(.*certificate"):
            opened("one", url).state()
        monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
        with pytest.raises(SyncError, match="access denied"):
            opened("one", url).state()
        store = tmp_path / "credentials"
        store.write_text(f"https://{LOGIN}@127.0.0.1%3a{port}\n", encoding="utf-8")
        config = tmp_path / "gitconfig"
        config.write_text(f"[credential]\n\thelper = store --file={store}\n", encoding="utf-8")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        one = opened("one", url)
        packs = some_packs("a", "b", size=2_000_000)  # larger than what git sends in one piece
        one.publish(ANA, packs)
        one.publish(ANA, some_packs("c"), drop=list(packs)[:1])
        assert everything(opened("two", url)) == at(ANA, dict(list(packs.items())[1:]) | some_packs("c"))
        with pytest.raises(SyncError, match="there is no such repository"):
            opened("one", url.replace("shop", "nowhere")).state()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ext::sh -c 'touch {hit}'", "does not support this kind of remote address"),
        ("fd::3", "does not support this kind of remote address"),
        ("http://127.0.0.1:1/x", "does not support this kind of remote address"),
        ("https://127.0.0.1:1/x", "the host cannot be reached"),
        ("git://127.0.0.1:1/x", "the host cannot be reached"),
        ("https://ana:s3cret@host.invalid/x", "no host with this name"),
        ("/no/such/repository", "there is no such repository"),
        ("--upload-pack=touch {hit}", "there is no such repository|git cannot fetch"),
        ("ssh://-oProxyCommand=touch%20{hit}/x", "git cannot fetch|strange hostname"),
    ],
)
def test_each_address_that_leads_nowhere_is_one_line(
    url: str, message: str, opened: Opening, tmp_path: Path
) -> None:
    one = opened("one", url.format(hit=tmp_path / "hit"))
    for attempt in (one.state, lambda: one.publish(ANA, some_packs("a"))):
        with pytest.raises(SyncError, match=message) as caught:
            attempt()
        assert "\n" not in caught.value.line()
        assert "s3cret" not in caught.value.line()
    assert not (tmp_path / "hit").exists()


def test_without_git_it_is_one_line(opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened("one")
    one = GitRefs(
        project_at(tmp_path / "one"), remote_of(tmp_path / "one", "origin"), PROJECT, {"PATH": str(tmp_path)}
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SyncError, match="git"):
        one.state()


# --- what a repository configures --------------------------------------------------------------------------


def test_nothing_that_the_checkout_configures_is_run(remote: Path, opened: Opening, tmp_path: Path) -> None:
    one = opened("one", "ssh://host.invalid/x")
    root, hit = tmp_path / "one", tmp_path / "hit"
    for key in (
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "remote.origin.uploadpack",
        "credential.helper",
    ):
        git(root, "config", key, f"sh -c 'touch {hit}'")
    git(root, "config", "remote.origin.receivepack", f"touch {hit};")
    git(root, "config", f"url.{remote}.insteadOf", "ssh://host.invalid/x")
    for name in ("pre-push", "reference-transaction", "post-checkout"):
        (root / ".git" / "hooks").mkdir(exist_ok=True)
        hook(root / ".git", name, f"touch {hit}")
    with pytest.raises(SyncError):
        one.publish(ANA, some_packs("a"))
    two = opened("one", str(remote))
    two.publish(ANA, some_packs("a"))
    assert everything(two) == at(ANA, some_packs("a"))
    assert not hit.exists()


def test_the_users_own_configuration_counts(
    remote: Path, opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook(tmp_path, "pre-push", f"touch {tmp_path / 'hit'}")
    config.write_text(
        f'[url "{remote}"]\n\tinsteadOf = work:shop\n[core]\n\thooksPath = {hooks}\n[push]\n\tgpgSign = true\n'
        "[commit]\n\tgpgSign = true\n[fetch]\n\tprune = true\n[init]\n\tdefaultObjectFormat = sha256\n",
        encoding="utf-8",
    )
    one = opened("one", "work:shop")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    one = opened("one")
    one.publish(ANA, some_packs("a"))
    assert everything(one) == at(ANA, some_packs("a"))
    assert not (tmp_path / "hit").exists()


def test_a_relative_remote_and_another_one_for_pushing_are_found(
    remote: Path, opened: Opening, tmp_path: Path
) -> None:
    one = opened("one", "../served/shop.git")
    one.publish(ANA, some_packs("a"))
    assert everything(opened("two")) == at(ANA, some_packs("a"))
    git(tmp_path / "one", "remote", "set-url", "origin", "/nowhere")
    git(tmp_path / "one", "remote", "set-url", "--push", "origin", str(remote))
    assert remote_of(tmp_path / "one", "origin").push_url == str(remote)


# --- broken repositories -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage", ["empty objects", "no head", "lock", "packed-refs lock", "garbage", "a file"]
)
def test_a_broken_repository_of_ours_is_made_again(damage: str, opened: Opening, tmp_path: Path) -> None:
    one = opened()
    one.publish(ANA, some_packs("a", "b"))
    place = own_repository(tmp_path)
    if damage == "empty objects":
        for path in (place / "objects").rglob("*"):
            if path.is_file():
                path.chmod(0o600)
                path.write_bytes(b"")
    elif damage == "no head":
        (place / "HEAD").unlink()
    elif damage == "lock":
        (place / "refs" / "publish.lock").write_bytes(b"")
    elif damage == "packed-refs lock":
        (place / "packed-refs.lock").write_bytes(b"")
    elif damage == "garbage":
        (place / "HEAD").write_bytes(hashlib.sha256(b"x").digest())
    else:
        subprocess.run(["rm", "-rf", str(place)], check=True)
        place.write_bytes(b"x")
        place.unlink()
    again = opened()
    for _ in range(2):  # what is found broken while it publishes is made again by the next sync
        try:
            again.publish(ANA, some_packs("c"))
            break
        except SyncError:
            again = opened()
    assert everything(again) == at(ANA, some_packs("a", "b", "c"))
    assert everything(opened("two")) == at(ANA, some_packs("a", "b", "c"))


def test_what_others_put_into_the_refs_is_left_out(remote: Path, opened: Opening) -> None:
    """A blob and a tree in the place of a commit, links, folders, odd names, and a pack that is not what it says."""
    one = opened()
    one.publish(ANA, some_packs("a"))
    pack = next(iter(some_packs("x").values()))
    blob = git(remote, "hash-object", "-w", "--stdin", stdin=pack).strip()
    inner = git(remote, "mktree", stdin=f"100644 blob {blob}\t{name_of(pack)}\n".encode()).strip()
    lines = [
        f"100644 blob {blob}\t{'1' * 40}",
        f"100644 blob {blob}\t..x",
        f"120000 blob {blob}\t{'2' * 40}",
        f"100755 blob {blob}\t{'3' * 40}",
        f"040000 tree {inner}\t{'4' * 40}",
        f"100644 blob {blob}\t{name_of(pack)}",
    ]
    tree = git(remote, "mktree", stdin="\n".join(lines).encode()).strip()
    commit = git(remote, "commit-tree", tree, "-m", "x").strip()
    for ref, target in {
        BEN: commit,
        "fedcba9876543210/blob": blob,
        "fedcba9876543210/tree": inner,
        "fedcba9876543210/UPPER": commit,
        "odd/one": commit,
    }.items():
        git(remote, "update-ref", f"refs/holdfast/{PROJECT}/{ref}", target)
    expected = at(ANA, some_packs("a")) | at(BEN, {name_of(pack): pack})
    assert set(one.packs()) == {*expected, (BEN, "1" * 40)}
    assert everything(one) == expected
    one.publish(BEN, some_packs("b"))  # the ref is one's own in truth: the rest of it goes on
    assert everything(opened("two")) == expected | at(BEN, some_packs("b"))
