"""A folder over ssh: whatever shell is on the other side, and every way in which a connection fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.forked import exit_code, fork
from tests.patience import wait_until
from tests.sync.sshd import find_sshd, free_port, running_sshd, ssh_wrapper, stub_ssh, user_name
from tests.sync.transports import ANA, PROJECT, at, everything, some_packs

from holdfast.sync import ssh_scripts
from holdfast.sync.ssh import Ssh
from holdfast.sync.transport import SyncError, name_of

pytestmark = pytest.mark.promise("T5")


def ssh_to(path: Path | str, folder: str = "store", **more: object) -> Ssh:
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    return Ssh("box", "", folder, PROJECT, env, **more)  # type: ignore[arg-type]


@pytest.fixture
def far_home(home: Path, tmp_path: Path) -> Path:
    place = tmp_path / "far"
    (place / "store").mkdir(parents=True)
    return place


def attempts(ssh: Ssh) -> list[Callable[[], object]]:
    first = (ANA, next(iter(some_packs("a"))))
    return [ssh.state, ssh.packs, lambda: list(ssh.fetch([first])), lambda: ssh.publish(ANA, some_packs("a"))]


# --- shells ------------------------------------------------------------------------------------------------


def test_the_scripts_hold_nothing_that_a_login_shell_would_change() -> None:
    for script in (ssh_scripts.LIST, ssh_scripts.FETCH, ssh_scripts.PUT):
        assert [sign for sign in ("'", "!", "\n", "\\\\") if sign in script] == []


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "ksh", "mksh", "fish", "tcsh", "busybox"])
def test_any_shell_on_the_other_side_does(shell: str, far_home: Path, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    path = "/usr/bin:/bin"
    if shell == "busybox":  # it has a tar, a find and an ls of its own
        applets = tmp_path / "applets"
        applets.mkdir()
        for name in subprocess.run(
            [program, "--list"], capture_output=True, text=True, check=True
        ).stdout.split():
            (applets / name).symlink_to(program)
        path, program = str(applets), str(applets / "sh")
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home, shell=program, path=path))
    packs = some_packs("a", "b") | {name_of(data): data for data in (b"x", bytes(512), os.urandom(1_000_000))}
    ssh.publish(ANA, packs)
    assert everything(ssh) == at(ANA, packs)
    state = ssh.state()
    ssh.publish(ANA, packs)
    assert ssh.state() == state
    ssh.publish(ANA, some_packs("c"), drop=packs)
    assert everything(ssh) == at(ANA, some_packs("c"))
    assert list(far_home.rglob(".holdfast-*")) == []


@pytest.mark.parametrize(
    "folder", ["it's", "two  spaces", "-rf", "$(touch hit)", "a;touch hit", "ü", "*", '"', "~root"]
)
def test_a_folder_may_have_any_name(folder: str, far_home: Path, tmp_path: Path) -> None:
    (far_home / folder).mkdir()
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home), folder)
    ssh.publish(ANA, some_packs("a"))
    assert everything(ssh) == at(ANA, some_packs("a"))
    assert (far_home / folder / "holdfast" / PROJECT / ANA).is_dir()
    assert not (far_home / "hit").exists()


def test_without_a_program_for_hashes_packs_are_still_put_whole(far_home: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in (
        "sh",
        "tar",
        "ls",
        "find",
        "mv",
        "rm",
        "rmdir",
        "mkdir",
        "chmod",
        "sync",
        "wc",
        "xargs",
        "cmp",
        "env",
    ):
        program = shutil.which(name)
        assert program is not None
        (tools / name).symlink_to(program)
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home, path=str(tools), shell=str(tools / "sh")))
    ssh.publish(ANA, some_packs("a", "b"))
    assert everything(ssh) == at(ANA, some_packs("a", "b"))
    (tools / "tar").unlink()
    for attempt in attempts(ssh)[2:]:
        with pytest.raises(SyncError, match="there is no tar on that machine"):
            attempt()


# --- failures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ("echo 'This account is only for sftp.'; exit 1", r"unexpected output from the remote shell \(This account is"),
        ("echo 'Interactive git shell is not enabled.' >&2; exit 128", "Interactive git shell is not enabled"),
        ("yes 'Welcome to the machine'", r"unexpected output from the remote shell \(Welcome to the machine\)"),
        ("yes | tr -d '\\n'", "unexpected output from the remote shell"),
        ("exit 255", "the connection ended too early"),
        ("echo 'ssh: Could not resolve hostname box: Name or service not known' >&2; exit 255", "no host with this name"),
        ("echo 'ssh: connect to host box port 22: No route to host' >&2; exit 255", "the host cannot be reached"),
        ("echo 'Connection closed by 192.0.2.1 port 22' >&2; exit 255", "the connection was cut"),
        ("printf '\\033[31mEvil\\007 \\342\\200\\256title' >&2; exit 255", r"\(\\x1b\[31mEvil\\x07 \\u202etitle\)"),
    ],
)  # fmt: skip
def test_what_fails_is_said_in_one_line(noise: str, message: str, far_home: Path, tmp_path: Path) -> None:
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home, noise=noise))
    for attempt in attempts(ssh):
        with pytest.raises(SyncError, match=message) as caught:
            attempt()
        assert "\n" not in caught.value.line()
        assert len(caught.value.line()) < 600


def test_what_a_bashrc_prints_is_skipped(far_home: Path, tmp_path: Path) -> None:
    noise = "printf 'holdfast-0000000000000000 ok\\nholdfast\\nend 0\\n\\0\\377 \\033[2J '; echo oh >&2"
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home, noise=noise))
    ssh.publish(ANA, some_packs("a"))
    assert everything(ssh) == at(ANA, some_packs("a"))


def test_another_side_that_is_silent_is_given_up(far_home: Path, tmp_path: Path) -> None:
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home, noise="sleep 600"), quiet_seconds=0.3)
    for attempt in attempts(ssh):
        with pytest.raises(SyncError, match="the other side stopped answering"):
            attempt()
    assert no_process_has(str(far_home))


def test_ctrl_c_ends_a_connection_that_hangs(far_home: Path, tmp_path: Path) -> None:
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home, noise=f"touch '{far_home}/here'; sleep 600"))
    process = fork(ssh.state)
    assert wait_until((far_home / "here").exists)
    os.kill(process, signal.SIGINT)
    assert exit_code(process) == 1
    assert no_process_has(str(far_home))


def test_what_arrived_whole_before_the_line_was_cut_stays(far_home: Path, tmp_path: Path) -> None:
    """So that a bad line brings a large memory over in several attempts, and removes nothing before all is there."""
    old, new = some_packs("old"), some_packs(*range(50), size=20_000)
    whole = ssh_to(stub_ssh(tmp_path / "bin", far_home))
    whole.publish(ANA, old)
    limits = tmp_path / "limits"
    limits.mkdir()
    (limits / "tar").write_text('#!/bin/sh\nhead -c 500000 | /bin/tar "$@"\n', encoding="utf-8")
    (limits / "tar").chmod(0o755)
    cut = ssh_to(stub_ssh(tmp_path / "cut", far_home, path=f"{limits}:/usr/bin:/bin"))
    with pytest.raises(SyncError):
        cut.publish(ANA, new, drop=old)
    there = whole.packs()
    assert 20 < len(there) < 51
    assert set(at(ANA, old)) <= set(there)
    assert set(everything(whole)) == set(there)
    whole.publish(ANA, new, drop=old)
    assert everything(whole) == at(ANA, new)


def no_process_has(words: str) -> bool:
    time.sleep(0.1)
    found = subprocess.run(["pgrep", "-f", words], capture_output=True, check=False).stdout.split()
    return [process for process in found if int(process) != os.getpid()] == []


def test_a_missing_folder_and_a_missing_ssh_are_said(far_home: Path, tmp_path: Path) -> None:
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home), "elsewhere")
    for attempt in attempts(ssh):
        with pytest.raises(SyncError, match="there is no such folder"):
            attempt()
    with pytest.raises(SyncError, match="there is no ssh on this machine"):
        Ssh("box", "", "store", PROJECT, {"PATH": str(tmp_path)}).state()


def test_another_side_that_lies_is_not_believed(far_home: Path, tmp_path: Path) -> None:
    """It sends files that were not asked for, endless ones, and no tar at all."""
    good, bad = some_packs("a"), some_packs("b")
    ssh = ssh_to(stub_ssh(tmp_path / "bin", far_home))
    ssh.publish(ANA, good | bad)
    fake = tmp_path / "fake"
    fake.mkdir()
    (far_home / "evil").mkdir()
    (far_home / "evil" / "passwd").write_bytes(b"x")
    real = shutil.which("tar")
    answers = {
        "no tar": "yes",
        "other files": f"{real} cf - -C '{far_home}/evil' passwd",
        "a folder": f"{real} cf - -C '{far_home}' evil",
        "no end": "head -c 300",
    }
    for number, answer in enumerate(answers.values()):
        (fake / "tar").write_text(f"#!/bin/sh\nexec 0</dev/null\n{answer}\n", encoding="utf-8")
        (fake / "tar").chmod(0o755)
        lying = ssh_to(stub_ssh(tmp_path / f"bin{number}", far_home, path=f"{fake}:/usr/bin:/bin"))
        try:
            assert dict(lying.fetch(at(ANA, good))) == {}
        except SyncError as error:
            assert "\n" not in error.line()
    assert dict(ssh.fetch(at(ANA, good))) == at(ANA, good)


# --- a real server -----------------------------------------------------------------------------------------


@pytest.fixture
def server(home: Path, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    if not find_sshd():
        pytest.skip("there is no sshd: scripts/install_sshd.sh")
    with running_sshd(tmp_path / "sshd") as running:
        yield running


def test_each_way_not_to_get_in_has_its_line(server: tuple[int, Path], tmp_path: Path) -> None:
    port, _ = server
    (tmp_path / "store").mkdir()
    known = tmp_path / "sshd" / "known_hosts"
    key = ("-F", "none", "-i", str(tmp_path / "sshd" / "user_key"))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    other = (tmp_path / "other.pub").read_text(encoding="utf-8").rsplit(" ", 1)[0]
    changed, unknown = tmp_path / "changed", tmp_path / "unknown"
    changed.write_text(f"[127.0.0.1]:{port} {other}\n", encoding="utf-8")
    unknown.write_text("", encoding="utf-8")

    def message(port: int, *options: str) -> str:
        env = {**os.environ, "PATH": f"{ssh_wrapper(tmp_path / 'bin', *options)}:{os.environ['PATH']}"}
        address = f"{user_name()}@127.0.0.1"
        with pytest.raises(SyncError) as caught:
            Ssh(address, str(port), str(tmp_path / "store"), PROJECT, env).state()
        return caught.value.problem

    assert "the key of this host is unknown" in message(port, *key, "-o", f"UserKnownHostsFile={unknown}")
    assert "the key of this host has changed" in message(port, *key, "-o", f"UserKnownHostsFile={changed}")
    stranger = (
        "-F",
        "none",
        "-o",
        "IdentityFile=none",
        "-o",
        "IdentityAgent=none",
        "-o",
        f"UserKnownHostsFile={known}",
    )
    assert "access denied" in message(port, *stranger)
    assert "the host cannot be reached" in message(free_port(), *key)


def test_packs_of_megabytes_and_thousands_of_packs_go_in_one_connection(
    server: tuple[int, Path], tmp_path: Path
) -> None:
    port, path = server
    (tmp_path / "store").mkdir()
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    ssh = Ssh(f"{user_name()}@127.0.0.1", str(port), str(tmp_path / "store"), PROJECT, env)
    packs = some_packs(*range(1200), size=300) | some_packs("large", size=9_000_000)
    ssh.publish(ANA, packs)
    assert everything(ssh) == at(ANA, packs)
