"""Refs in the git remote of a project as the transport: no other server, and nothing that a clone or a branch shows.

    refs/holdfast/<project>/<author>/<machine>     a commit; its tree has a blob for each pack, under its name

The objects pass through a bare repository of ours inside the memory, which can be rebuilt from the remote; nothing is
written into the user's `.git`. As long as packs are only added, each commit has the one before as its parent: git sends
what is new only between related commits. Dropping a pack writes a commit without a parent, so that nothing leads to the
pack any more; that sends the packs that stay once more. Commits name nobody and no time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping

from holdfast.core import files
from holdfast.core.folders import remove
from holdfast.core.git import Answer, GitStream, feed_git, reach_with_git, run_git
from holdfast.core.hashes import sha256
from holdfast.store.project import Project
from holdfast.sync.complaints import cause_of, too_quiet
from holdfast.sync.git_remote import Remote, object_format
from holdfast.sync.transport import LARGEST_PACK, NAME, PLACE, SyncError, name_of

QUIET_S = 120.0
_ASKING_S = 600.0  # a person looks for a password
_LOCAL_S = 600.0
_MOST_BYTES = 200_000_000  # of what git lists
_ATTEMPTS = 6
_NEW = "refs/publish"
_COMMITTER = b"committer holdfast <holdfast@holdfast.invalid> 946684800 +0000\n"
# Packs are compressed, and sealed ones are like noise: git need not try to make them smaller.
_CONFIG = (
    *("-c", "core.compression=0", "-c", "core.bigFileThreshold=512", "-c", "gc.auto=0"),
    *(
        "-c",
        "maintenance.auto=false",
        "-c",
        "fetch.writeCommitGraph=false",
        "-c",
        "core.logAllRefUpdates=false",
    ),
    *("-c", "push.gpgSign=false", "-c", "gc.writeCommitGraph=false", "-c", "core.fsync=all"),
)
_RACE = (
    "stale info",
    "fetch first",
    "cannot lock ref",
    "failed to update ref",
    "already exists",
    "non-fast-forward",
)
_BROKEN = (
    "not a git repository: ",
    "Unable to create",
    "bad object",
    "is corrupt",
    "is empty",
    "unable to read",
    "invalid sha1 pointer",
    "missing blob",
    "bad tree",
)


class GitRefs:
    """`remote` is the name of the remote; `project_id` what the project is called in it."""

    def __init__(
        self,
        project: Project,
        remote: Remote,
        project_id: str,
        env: Mapping[str, str],
        *,
        may_ask: bool = False,
        quiet_seconds: float = QUIET_S,
    ) -> None:
        self.shown = remote.shown
        self._remote = remote
        self._root = project.root
        self._refs = f"refs/holdfast/{project_id}/"
        self._folder = project.memory / "sync" / "git" / sha256(remote.url.encode()).hexdigest()[:12]
        self._env = env
        self._may_ask = may_ask
        self._quiet_seconds = _ASKING_S if may_ask else quiet_seconds
        self._is_fetched = self._is_fresh = False

    def state(self) -> str:
        self._fetch()
        self._is_fresh = True
        return sha256(repr(sorted(self._tips().items())).encode()).hexdigest()

    def packs(self) -> dict[tuple[str, str], int]:
        if not self._is_fresh:  # else `state` has just fetched
            self._fetch()
        self._is_fresh = False
        return {pack: size for pack, (_, size) in self._listed().items()}

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
        wanted = list(wanted)
        if wanted and not self._is_fetched:
            self._fetch()
        listed = self._listed() if wanted else {}
        there = [(pack, *listed[pack]) for pack in wanted if pack in listed]
        for pack, data in zip((pack for pack, _, _ in there), self._blobs(there), strict=False):
            if data is not None and name_of(data) == pack[1]:
                yield pack, data

    def publish(self, place: str, add: Mapping[str, bytes], drop: Collection[str] = ()) -> None:
        self._is_fresh = False
        if not (add or drop):
            return
        for _ in range(_ATTEMPTS):
            if not self._is_fetched:
                self._fetch()
            if self._published(place, add, drop):
                return
            self._is_fetched = False  # another process of this machine was faster
        raise SyncError(
            "other syncs keep changing the same ref",
            where=self.shown,
            fix="Run holdfast sync again when no other sync is running",
        )

    # --- publishing --------------------------------------------------------------------------------------

    def _published(self, place: str, add: Mapping[str, bytes], drop: Collection[str]) -> bool:
        """False if the ref was changed meanwhile."""
        ref = self._refs + place
        old = self._tips().get(place, "")
        have = self._tree(old) if old else {}
        new = {name: data for name, data in add.items() if have.get(name, ("", -1))[1] != len(data)}
        gone = {name for name in drop if name in have and name not in add}
        if not new and not gone:
            return True
        kept = {name: blob for name, (blob, _) in have.items() if name not in gone and name not in new}
        is_root = not old or bool(gone) or len(kept) + len(gone) != len(have)
        self._write(new, kept if is_root else {}, "" if is_root else old)
        if not self._push(ref, old):
            return False
        commit = self._local("rev-parse", "--verify", _NEW).strip()
        self._local("update-ref", ref, commit)
        self._local("update-ref", "-d", _NEW)
        if gone:
            self._collect_garbage()
        if not old:
            self._fetch()
            if place not in self._tips():
                raise SyncError(
                    "the remote accepts refs outside branches and tags, but does not show them",
                    where=self.shown,
                    fix="Sync through a folder or ssh, or ask the remote's administrator to show refs/holdfast/",
                )
        return True

    def _write(self, new: Mapping[str, bytes], kept: Mapping[str, str], parent: str) -> None:
        """Makes a commit of new packs and kept ones, as _NEW."""
        names = list(new)

        def stream() -> Iterator[bytes]:
            for mark, name in enumerate(names, 1):
                yield b"blob\nmark :%d\ndata %d\n" % (mark, len(new[name]))
                yield new[name]
                yield b"\n"
            yield b"commit %s\n%sdata 0\n" % (_NEW.encode(), _COMMITTER)
            yield b"from %s\n" % parent.encode() if parent else b"deleteall\n"
            for name, blob in kept.items():
                yield b"M 100644 %s %s\n" % (blob.encode(), name.encode())
            for mark, name in enumerate(names, 1):
                yield b"M 100644 :%d %s\n" % (mark, name.encode())
            yield b"\ndone\n"

        self._local("update-ref", "-d", _NEW)  # of a publisher that was killed
        importing = ("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
        answer = feed_git(self._folder, *_CONFIG, *importing, stdin=stream(), quiet_seconds=_LOCAL_S)
        if not answer.whole:
            remove(self._folder)  # a power cut may have left a lock in it: the next sync rebuilds it
            self._is_fetched = False
            raise cause_of(answer.complaint, str(self._folder), "git cannot store the packs")

    def _push(self, ref: str, old: str) -> bool:
        """False if the ref has not the value any more that it is replaced for."""
        options = ("--porcelain", "--progress", "--no-verify", "--no-signed", "--no-follow-tags")
        lease = (f"--force-with-lease={ref}:{old}", "--recurse-submodules=no")
        answer = self._reach("push", *options, *lease, "--", self._remote.push_url, f"{_NEW}:{ref}")
        if answer.whole:
            return True
        refused = [line for line in answer.data.decode("utf-8", "replace").splitlines() if line[:1] == "!"]
        if any(reason in line for line in refused for reason in _RACE):
            return False
        raise self._failure(answer, "\n".join(refused), "git cannot push")

    # --- fetching ----------------------------------------------------------------------------------------

    def _fetch(self) -> None:
        self._prepare()
        before = self._tips()
        answer = self._fetched()
        if not answer.whole and any(words in answer.complaint for words in _BROKEN):
            remove(self._folder)  # it may be ours that is broken: it can be rebuilt
            self._prepare()
            answer = self._fetched()
        if not answer.whole:
            raise self._failure(answer, "", "git cannot fetch")
        self._is_fetched = True
        now = self._tips()
        if any(self._is_rewritten(tip, now.get(place, "")) for place, tip in before.items()):
            self._collect_garbage()

    def _fetched(self) -> Answer:
        options = ("--progress", "--prune", "--force", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        more = ("--refmap=", "--recurse-submodules=no", "--no-show-forced-updates")
        refs = f"+{self._refs}*:{self._refs}*"
        return self._reach("fetch", *options, *more, "--", self._remote.url, refs)

    def _is_rewritten(self, before: str, now: str) -> bool:
        """Whether something that was there is dropped: nothing here may keep it either."""
        if before == now:
            return False
        arguments = ("merge-base", "--is-ancestor", before, now)
        return not now or not run_git(self._folder, *arguments, seconds=_LOCAL_S, is_git_dir=True).whole

    def _collect_garbage(self) -> None:
        """Removes the objects that no ref leads to. If it fails, the next time does it."""
        feed_git(self._folder, *_CONFIG, "gc", "--quiet", "--prune=now", stdin=(), quiet_seconds=_LOCAL_S)

    def _tips(self) -> dict[str, str]:
        """The commit of each place, as last fetched."""
        layout = "--format=%(objecttype) %(objectname) %(refname)"
        tips = {}
        for line in self._local("for-each-ref", layout, self._refs).splitlines():
            kind, _, rest = line.partition(" ")
            commit, _, ref = rest.partition(" ")
            if kind == "commit" and PLACE.fullmatch(place := ref.removeprefix(self._refs)):
                tips[place] = commit
        return tips

    def _listed(self) -> dict[tuple[str, str], tuple[str, int]]:
        return {
            (place, name): found
            for place, tip in self._tips().items()
            for name, found in self._tree(tip).items()
        }

    def _tree(self, commit: str) -> dict[str, tuple[str, int]]:
        """The packs of a commit: the name of each, its blob and its size. Whatever else lies there is left out."""
        found = {}
        for line in self._local("ls-tree", "-l", "-z", "--full-tree", commit).split("\0"):
            words, _, name = line.partition("\t")
            mode, _, rest = words.partition(" ")
            if mode == "100644" and NAME.fullmatch(name):
                _, blob, size = rest.split()
                if size.isdigit() and 0 < int(size) <= LARGEST_PACK:
                    found[name] = blob, int(size)
        return found

    def _blobs(self, there: list[tuple[tuple[str, str], str, int]]) -> Iterator[bytes | None]:
        """The bytes of each blob; None of one that is broken. All come from one process."""
        if not there:
            return
        asked = "".join(f"{blob}\n" for _, blob, _ in there).encode()
        stream = _Reader(GitStream(self._folder, "cat-file", "--batch", seconds=_LOCAL_S, stdin=asked))
        for _, blob, size in there:
            if stream.line() != f"{blob} blob {size}".encode():
                return
            yield stream.exactly(size)
            stream.exactly(1)

    # --- running git -------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        for folder in (self._folder.parent.parent, self._folder.parent, self._folder):
            files.make_private(folder)
        if (self._folder / "HEAD").is_file() and (self._folder / "config").is_file():
            return
        kind = object_format(self._root)
        arguments = ("init", "--quiet", "--bare", "--template=", f"--object-format={kind}")
        answer = run_git(self._folder, *arguments, seconds=_LOCAL_S)
        if not answer.whole:
            words = f"git cannot create a repository ({answer.complaint})"
            raise SyncError(words, where=str(self._folder), fix="Check that git works and the disk has room")

    def _local(self, *arguments: str) -> str:
        answer = run_git(self._folder, *arguments, seconds=_LOCAL_S, most_bytes=_MOST_BYTES, is_git_dir=True)
        return answer.data.decode("utf-8", "replace") if answer.whole else ""

    def _reach(self, *arguments: str) -> Answer:
        return reach_with_git(
            self._folder,
            *_CONFIG,
            *arguments,
            env=self._env,
            quiet_seconds=self._quiet_seconds,
            may_ask=self._may_ask,
        )

    def _failure(self, answer: Answer, refused: str, fallback: str) -> SyncError:
        if answer.late:
            return too_quiet(self.shown)
        if answer.code is None and not shutil.which("git", path=self._env.get("PATH", os.defpath)):
            return SyncError("there is no git on this machine", where=self.shown, fix="Install git")
        return cause_of(f"{refused}\n{answer.complaint}", self.shown, fallback)


class _Reader:
    """Pieces of bytes, read by lines and lengths."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = bytearray()

    def line(self) -> bytes:
        while b"\n" not in self._left and self._more():
            pass
        line, _, self._left = self._left.partition(b"\n")
        return bytes(line)

    def exactly(self, size: int) -> bytes:
        while len(self._left) < size and self._more():
            pass
        data = bytes(self._left[:size])
        del self._left[:size]
        return data

    def _more(self) -> bool:
        piece = next(self._pieces, b"")
        self._left += piece
        return bool(piece)
