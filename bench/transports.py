"""What each way to travel costs: 5,000 packs of 10 KB published, fetched by another machine, and asked for again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.sync.bad_line import bad_line, git_daemon
from tests.sync.sshd import find_sshd, running_sshd, stub_ssh, user_name
from tests.sync.transports import ANA, PROJECT, project_at

from bench.measuring import PYTHON, outer, report
from holdfast.sync.folder import Folder
from holdfast.sync.git_refs import GitRefs
from holdfast.sync.git_remote import remote_of
from holdfast.sync.ssh import Ssh
from holdfast.sync.transport import Transport, name_of

_PACKS, _SIZE = 5_000, 10_000
_MOST_STATE = 10.0  # times `python -c pass`, as the issue asks of a sync that moves nothing
Wire = Callable[[], int]


def bench_transports(folder: Path) -> bool:
    noise = random.Random(24)
    data = [noise.randbytes(_SIZE) for _ in range(_PACKS)]
    packs = {name_of(pack): pack for pack in data}
    bare = outer([PYTHON, "-c", "pass"])
    passes = [_folder(folder / "folder", packs, bare), _ssh(folder / "ssh", packs, bare)]
    if find_sshd():
        passes.append(_sshd(folder / "sshd", packs, bare))
    passes.append(_git(folder / "git", packs, bare))
    return all(passes)


def _folder(folder: Path, packs: dict[str, bytes], bare: float) -> bool:
    folder.mkdir()
    return _measure("folder", Folder(folder, PROJECT), Folder(folder, PROJECT), packs, bare, lambda: 0)


def _ssh(folder: Path, packs: dict[str, bytes], bare: float) -> bool:
    """Without a network and its handshake: what our side and the shell on the other side cost."""
    folder.mkdir()
    (folder / "far" / "store").mkdir(parents=True)
    path = stub_ssh(folder / "bin", folder / "far")
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    one, other = (Ssh("box", "", "store", PROJECT, env) for _ in range(2))
    return _measure("ssh stub", one, other, packs, bare, _wire_of(one, other))


def _sshd(folder: Path, packs: dict[str, bytes], bare: float) -> bool:
    folder.mkdir()
    (folder / "store").mkdir()
    with running_sshd(folder / "server") as (port, path):
        env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
        address = f"{user_name()}@127.0.0.1"
        one, other = (Ssh(address, str(port), str(folder / "store"), PROJECT, env) for _ in range(2))
        return _measure("ssh", one, other, packs, bare, _wire_of(one, other))


def _wire_of(*transports: Ssh) -> Wire:
    return lambda: sum(one.bytes_sent + one.bytes_read for one in transports)


def _git(folder: Path, packs: dict[str, bytes], bare: float) -> bool:
    remote = folder / "served" / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    with git_daemon(folder / "served") as port, bad_line(port) as line:
        transports = []
        for name in ("one", "two"):
            root = folder / name
            subprocess.run(["git", "init", "-q", str(root)], check=True)
            url = f"git://127.0.0.1:{line.port}/shop.git"
            subprocess.run(["git", "-C", str(root), "remote", "add", "origin", url], check=True)
            project = project_at(root)
            transports.append(GitRefs(project, remote_of(root, "origin"), PROJECT, {**os.environ}))
        return _measure("git", *transports, packs, bare, lambda: line.sent + line.received)


def _measure(
    name: str, one: Transport, other: Transport, packs: dict[str, bytes], bare: float, wire: Wire
) -> bool:
    first = dict(list(packs.items())[:10])
    rest = {key: value for key, value in packs.items() if key not in first}
    seconds: dict[str, float] = {}
    passed: dict[str, int] = {}

    def step(words: str, work: Callable[[], object]) -> None:
        began, before = time.perf_counter(), wire()
        work()
        seconds[words], passed[words] = time.perf_counter() - began, wire() - before
        sys.stderr.write(f"{name}: {words} {seconds[words]:.2f} s, {passed[words]:,} bytes\n")

    step("publish", lambda: one.publish(ANA, rest))
    fetched: list[object] = []
    step("fetch", lambda: fetched.extend(other.fetch(other.packs())))
    assert len(fetched) == len(rest)
    step("publish 10 more", lambda: one.publish(ANA, first))
    step(
        "fetch 10 more",
        lambda: fetched.extend(other.fetch([(ANA, key) for key in first] if other.packs() else [])),
    )
    assert len(fetched) == len(packs)
    step("drop one", lambda: one.publish(ANA, {}, drop=list(first)[:1]))
    other.state()
    step("state", other.state)
    return report(
        f"transport {name}: an unchanged target",
        seconds["state"] / bare,
        "× python -c pass",
        None if name == "ssh" else _MOST_STATE,
        packs=len(packs),
        **{f"{words}_s": round(value, 2) for words, value in seconds.items()},
        **{f"{words}_bytes": value for words, value in passed.items() if value},
    )
