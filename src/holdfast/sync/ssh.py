"""A folder on another machine as the transport, over the user's own ssh: it needs only sh and tar there.

The layout is that of `folder.py`, so one machine may use the folder itself and another ssh. Each call is one
connection. What a .bashrc prints comes before our mark, and is skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from holdfast.core.hashes import sha256
from holdfast.core.remote_process import RemoteProcess
from holdfast.sync import tar_stream
from holdfast.sync.complaints import cause_of, shown, too_quiet
from holdfast.sync.ssh_scripts import FETCH, LIST, PUT
from holdfast.sync.transport import LARGEST_PACK, NAME, PLACE, SUFFIX, SyncError, name_of

QUIET_S = 120.0
_ASKING_S = 600.0  # a person looks for a password
_MOST_NOISE = 65_536  # bytes of what comes before our mark
_MOST_LISTED = 50_000_000
_LISTINGS = 3
_OPTIONS = (
    *("-T", "-x", "-a"),
    *("-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"),
    *("-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no"),
)
# A file as `ls -lni` shows it: inode, mode, links, owner, group, size, three words of date, name.
_LISTED = re.compile(r"\s*\d+\s+-\S+\s+\d+\s+\S+\s+\S+\s+(\d+)\s+\S+\s+\S+\s+\S+\s+(\S+)")
_Listed = tuple[int, str]  # its size, and the whole line: a pack that is put right has another inode
_REFUSALS = {
    "no-folder": ("there is no such folder", "Create the folder there, or check the path"),
    "no-tar": ("there is no tar on that machine", "Install tar there"),
    "link": ("a link is where a folder should be", "Remove the link there"),
}


class Ssh:
    """`address` is HOST or USER@HOST, `path` the folder there: absolute, or relative to the user's home."""

    def __init__(
        self,
        address: str,
        port: str,
        path: str,
        project: str,
        env: Mapping[str, str],
        *,
        may_ask: bool = False,
        quiet_seconds: float = QUIET_S,
    ) -> None:
        self.shown = f"ssh://{address}{f':{port}' if port else ''}/{path.removeprefix('/')}"
        self.bytes_sent = self.bytes_read = 0
        self._command = ["ssh", *_OPTIONS]
        self._command += ["-o", f"BatchMode={'no' if may_ask else 'yes'}", *(["-p", port] if port else [])]
        self._command += ["--", address]
        self._head = f"{path if path.startswith('/') else './' + path}\nholdfast/{project}\n"
        self._env = dict(env)
        self._may_ask = may_ask
        self._quiet_seconds = _ASKING_S if may_ask else quiet_seconds
        self._listing: dict[tuple[str, str], _Listed] | None = None

    def state(self) -> str:
        self._listing = self._list()
        return sha256(repr(sorted(self._listing.items())).encode()).hexdigest()

    def packs(self) -> dict[tuple[str, str], int]:
        listing, self._listing = self._listing, None  # that of `state`, if it was asked just now
        listing = self._list() if listing is None else listing
        return {pack: size for pack, (size, _) in listing.items()}

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
        paths = {f"{place}/{name}{SUFFIX}": (place, name) for place, name in wanted}
        if not paths:
            return
        lines = "".join(f"{path}\n" for path in paths)
        with self._running(FETCH, [lines.encode()]) as (process, mark):
            end = f"{mark} end".encode()
            limit = dict.fromkeys(paths, LARGEST_PACK)
            try:
                for path, data in tar_stream.read_entries(
                    process.read_exactly, lambda path: limit.pop(path, 0), end
                ):
                    if name_of(data) == paths[path][1]:
                        yield paths[path], data
            except EOFError:
                raise self._failure(process) from None
            except tar_stream.NotATar:
                raise self._odd("something other than packs") from None
            process.wait()
            if "ermission denied" in process.complaint:
                raise self._failure(process)

    def publish(self, place: str, add: Mapping[str, bytes], drop: Collection[str] = ()) -> None:
        self._listing = None
        if not (add or drop):
            return
        author, _, machine = place.partition("/")
        head = f"{author}\n{machine}\n{len(add)}\n".encode()

        def data() -> Iterator[bytes]:
            yield head
            for name, pack in add.items():
                yield from tar_stream.entry(f"{name}{SUFFIX}", pack, 0o660)
            yield from tar_stream.entry("drop", "".join(f"{name}{SUFFIX}\n" for name in drop).encode(), 0o600)
            yield tar_stream.end()

        with self._running(PUT, data()) as (process, mark):
            answer = _line(process)
            if answer != f"{mark} done":
                raise self._failure(process)
            process.wait()  # until it has cleaned up

    def _list(self) -> dict[tuple[str, str], _Listed]:
        for attempt in range(1, _LISTINGS + 1):
            with self._running(LIST, []) as (process, mark):
                text = self._rest(process)
                listing, _, end = text.rpartition(f"{mark} end ")
                if end.strip() == "0":
                    return _parsed(listing)
                # A pack may be removed while ls looks at it; anything else stays as it is.
                if not end or attempt == _LISTINGS:
                    raise self._failure(process)
        raise AssertionError

    def _rest(self, process: RemoteProcess) -> str:
        data = bytearray()
        while part := process.read():
            data += part
            if len(data) > _MOST_LISTED:
                raise self._odd("an incomplete listing")
        return data.decode("utf-8", "replace")

    @contextmanager
    def _running(self, script: str, stdin: Iterable[bytes]) -> Iterator[tuple[RemoteProcess, str]]:
        """A connection whose script has found the folder, and its mark."""
        mark = f"holdfast-{os.urandom(8).hex()}"
        command = [*self._command, f"exec sh -c '{script}' {mark}"]

        def data() -> Iterator[bytes]:
            yield self._head.encode()
            yield from stdin

        try:
            process = RemoteProcess(
                command, self._env, self._quiet_seconds, may_ask=self._may_ask, stdin=data()
            )
        except FileNotFoundError as error:
            raise SyncError(
                "there is no ssh on this machine", where=self.shown, fix="Install OpenSSH"
            ) from error
        except OSError as error:
            words = f"ssh cannot be started: {error.strerror or error}"
            raise SyncError(words, where=self.shown, fix="Run ssh by hand") from error
        with process:
            try:
                self._meet(process, mark)
                yield process, mark
            finally:
                self.bytes_sent += process.sent_bytes
                self.bytes_read += process.read_bytes

    def _meet(self, process: RemoteProcess, mark: str) -> None:
        """Reads up to our mark, which the script prints once it runs."""
        noise = ""
        while line := _line(process):
            _before, found, word = line.rpartition(f"{mark} ")  # a greeting may end without a line end
            if found and word == "ok":
                return
            if found and word in _REFUSALS:
                problem, fix = _REFUSALS[word]
                raise SyncError(problem, where=self.shown, fix=fix)
            noise += f"{line}\n"
            if len(noise) > _MOST_NOISE:
                raise self._odd(noise)
        code = process.wait()
        if noise and (code == 0 or not process.complaint):
            raise self._odd(noise)
        raise self._failure(process)

    def _failure(self, process: RemoteProcess) -> SyncError:
        code = process.wait()
        if code is None:
            return too_quiet(self.shown)
        return cause_of(process.complaint, self.shown, "the connection ended too early")

    def _odd(self, text: str) -> SyncError:
        line = next((line for line in text.splitlines() if line.strip()), "")
        return SyncError(
            f"unexpected output from the remote shell ({shown(line)})",
            where=self.shown,
            fix="The account needs a shell that runs sh; check what its .bashrc prints",
        )


def _line(process: RemoteProcess) -> str:
    """The next line, without its end; '' at the end of the output. An empty line is ' '."""
    line = bytearray()
    while byte := process.read(1):
        if byte == b"\n":
            return line.decode("utf-8", "replace").rstrip("\r") or " "
        line += byte
        if len(line) > _MOST_NOISE:
            break
    return line.decode("utf-8", "replace")


def _parsed(listing: str) -> dict[tuple[str, str], _Listed]:
    packs = {}
    place = ""
    for line in listing.splitlines():
        if line.endswith(":"):
            folder = line[:-1].removeprefix("./")
            place = folder if PLACE.fullmatch(folder) else ""
        elif place and (found := _LISTED.fullmatch(line)):
            size, name = int(found[1]), found[2].removesuffix(SUFFIX)
            if found[2].endswith(SUFFIX) and NAME.fullmatch(name) and 0 < size <= LARGEST_PACK:
                packs[place, name] = size, line
    return packs
