"""What a person may write as a target of a sync."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.sync.transports import PROJECT, project_at

from holdfast.core.errors import UsageError
from holdfast.store.machine import Machine
from holdfast.sync.folder import Folder
from holdfast.sync.git_refs import GitRefs
from holdfast.sync.ssh import Ssh
from holdfast.sync.targets import open_transport
from holdfast.sync.transport import Transport

pytestmark = pytest.mark.promise("T5")


@pytest.fixture
def root(repo: Path) -> Path:
    for name, url in (
        ("origin", "ssh://git@host.example/shop.git"),
        ("work", "https://ana:pw@host.example/shop"),
    ):
        subprocess.run(["git", "-C", str(repo), "remote", "add", name, url], check=True)
    return repo


def opened(root: Path, target: str) -> Transport:
    project = project_at(root)
    return open_transport(Machine({**os.environ}, root), project, target, PROJECT)


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("/mnt/stick", "/mnt/stick"),
        ("file:///mnt/my%20stick", "/mnt/my stick"),
        ("file://localhost/mnt/stick", "/mnt/stick"),
        ("~/Sync", "{home}/Sync"),
        ("./stick", "{root}/stick"),
        ("../stick", "{root}/../stick"),
    ],
)
def test_a_path_is_a_folder(target: str, shown: str, root: Path, home: Path) -> None:
    transport = opened(root, target)
    assert isinstance(transport, Folder)
    assert transport.shown == shown.format(home=home, root=root)


@pytest.mark.parametrize(
    ("target", "address", "path"),
    [
        ("ssh://box/srv/sync", "box", "/srv/sync"),
        ("ssh://ana@box:2222/srv/my%20sync", "ana@box", "/srv/my sync"),
        ("ssh://box/~/sync", "box", "./sync"),
        ("ssh://ana@[2001:db8::1]:22/sync", "ana@2001:db8::1", "/sync"),
        ("box:sync", "box", "./sync"),
        ("ana@box.example:/srv/sync", "ana@box.example", "/srv/sync"),
        ("ana@box:~/sync", "ana@box", "./sync"),
    ],
)
def test_a_host_and_a_path_are_ssh(target: str, address: str, path: str, root: Path) -> None:
    transport = opened(root, target)
    assert isinstance(transport, Ssh)
    assert transport._command[-2:] == ["--", address]
    assert transport._head.startswith(f"{path}\n")
    assert ("-p" in transport._command) == (":22" in target)
    assert "BatchMode=yes" in transport._command


def test_git_is_the_remote_of_the_project_and_shows_no_password(root: Path) -> None:
    for target, shown in (
        ("git", "origin (ssh://git@host.example/shop.git)"),
        ("git:work", "work (https://ana:…@host.example/shop)"),
    ):
        transport = opened(root, target)
        assert isinstance(transport, GitRefs)
        assert transport.shown == shown


@pytest.mark.parametrize(
    "target",
    (
        *("", "origin", "ftp://host/x", "http://host/x", "git://host/x", "-oProxyCommand=id:/x"),
        *("ssh://-oProxyCommand=id/x", "ssh://box", "ssh://box/", "ssh://a b/x", "ssh://$(id)/x"),
        *("ssh://ana:secret@box/x", "ssh://box:99999/x", "box:", "-l@box:/x", "a@-box:/x", "file://other/x"),
        *("file://", "~ana/x", "/x\ny", "ssh://box/x%0Ay", "ssh://box/x?y", "\0", "git:--upload-pack=id"),
        *("git:nowhere", "git:../x"),
    ),
)
def test_anything_else_is_one_line_that_says_what_to_write(target: str, root: Path) -> None:
    with pytest.raises(UsageError) as caught:
        opened(root, target)
    line = caught.value.line()
    assert "\n" not in line
    assert caught.value.fix
    assert "secret" not in line


def test_a_project_without_git_has_no_remote(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this project has no git remote 'origin'"):
        opened(tmp_path / "plain", "git")
