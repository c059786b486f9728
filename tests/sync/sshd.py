"""A real sshd for tests, as the user who runs them, on a port of its own; and a stand-in for ssh without a network."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.installed import why_not_installed
from tests.patience import wait_until

_CACHE = os.environ.get("HOLDFAST_SSHD_CACHE", "") or os.path.expanduser("~/.cache/holdfast-sshd")
_PLACES = (os.environ.get("HOLDFAST_SSHD", ""), f"{_CACHE}/usr/sbin/sshd", "/usr/sbin/sshd")
_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
"""


def find_sshd() -> str:
    """The path of an sshd, which scripts/install_sshd.sh puts into the cache if there is none; '' where it cannot."""
    if found := _sshd():
        return found
    if sys.platform != "linux" or why_not_installed("install_sshd.sh", "HOLDFAST_SSHD_CACHE", _CACHE):
        return ""
    return _sshd()


def _sshd() -> str:
    return next((place for place in _PLACES if place and os.access(place, os.X_OK)), "")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ssh_wrapper(folder: Path, *options: str) -> Path:
    """A folder for the PATH with an `ssh` that adds options to the real one."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "ssh"
    words = " ".join(f"'{option}'" for option in options)
    script.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} {words} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


@contextmanager
def running_sshd(folder: Path) -> Iterator[tuple[int, Path]]:
    """Its port, and a folder for the PATH whose `ssh` knows its key."""
    folder.mkdir(parents=True)
    for name in ("host_key", "user_key"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port = free_port()
    config = folder / "config"
    config.write_text(_CONFIG.format(port=port, folder=folder), encoding="utf-8")
    host_key = (folder / "host_key.pub").read_text(encoding="utf-8").rsplit(" ", 1)[0]
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {host_key}\n", encoding="utf-8")
    with (folder / "log").open("wb") as log:
        command = [*_with_its_user(folder), find_sshd(), "-D", "-e", "-f", str(config)]
        server = subprocess.Popen(command, stderr=log)
    try:
        assert wait_until(lambda: server.poll() is not None or _answers(port), 30)
        assert server.poll() is None, (folder / "log").read_text(encoding="utf-8")
        options = ("-F", "none", "-i", str(folder / "user_key"), "-o", f"UserKnownHostsFile={known}")
        yield port, ssh_wrapper(folder / "bin", *options)
    finally:
        server.terminate()
        server.wait()


def _with_its_user(folder: Path) -> list[str]:
    """As root sshd wants a user of its own. Where there is none, it sees one that the system does not have."""
    try:
        pwd.getpwnam("sshd")
    except KeyError:
        if os.geteuid() == 0:
            users = folder / "passwd"
            line = "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
            users.write_text(Path("/etc/passwd").read_text(encoding="utf-8") + line, encoding="utf-8")
            return [
                "unshare",
                "--mount",
                "sh",
                "-c",
                f"mount --bind '{users}' /etc/passwd && exec \"$@\"",
                "sh",
            ]
    return []


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def user_name() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def stub_ssh(
    folder: Path, home: Path, *, shell: str = "/bin/sh", noise: str = "", path: str = "/usr/bin:/bin"
) -> Path:
    """A folder for the PATH with an `ssh` that runs the command here, in a home and an environment of its own."""
    folder.mkdir(parents=True)
    home.mkdir(exist_ok=True)
    script = folder / "ssh"
    script.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != -- ]; do shift; done\n'
        f"shift 2\ncd '{home}' || exit 255\n{noise}\n"
        f"exec env -i HOME='{home}' PATH='{path}' {shell} -c \"$1\"\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return folder
