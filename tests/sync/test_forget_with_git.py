"""`forget` in a memory that was synced through git: our copy of the remote goes, and is made again."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.command import Holdfast


def test_what_was_synced_through_git_can_be_forgotten(repo: Path, tmp_path: Path, holdfast: Holdfast) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=repo, check=True)
    subprocess.run(["git", "remote", "add", "origin", remote.as_uri()], cwd=repo, check=True)
    holdfast("note", "decision", "Use the zanzibar gateway", "--because", "it is the only one", check=0)
    assert holdfast("sync", "git", "--yes", "--json", check=0).json()["sent"] == 1
    holdfast("forget", "--text", "zanzibar gateway", "--yes", check=0)
    assert holdfast("sync", "--json", check=0).json()["refused"] == []
    assert holdfast("sync", "--json", check=0).json()["sent"] == 0
    assert "zanzibar" not in holdfast("note", "decision", "--list", check=0).stdout


def test_an_address_that_is_no_target_is_refused_before_anybody_is_asked(
    repo: Path, holdfast: Holdfast
) -> None:
    for target in ("ext::sh -c id", "gopher://x/y", "-oProxyCommand=id:/x"):
        refused = holdfast("sync", target) if not target.startswith("-") else holdfast("sync", "--", target)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, target
