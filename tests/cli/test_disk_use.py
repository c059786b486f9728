"""`holdfast du` and `holdfast prune`: what takes room, what goes first, and what never goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command import Holdfast

import holdfast as package

DEMO = Path(package.__file__).parent / "demo_sessions"
OLD = 100 * 86_400

pytestmark = pytest.mark.promise("U10")


def files_in(home: Path) -> set[str]:
    root = home / ".holdfast"
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_room_is_shown_by_kind_and_project_with_the_largest_first(holdfast: Holdfast, home: Path) -> None:
    assert "Nothing is stored" in holdfast("du", check=0).stdout
    holdfast("import", DEMO, check=0)
    used = holdfast("du", "--json", check=0).json()
    sizes = [room["size"] for room in used["rooms"]]
    assert sizes == sorted(sizes, reverse=True) and used["bytes"] == sum(sizes)
    on_disk = sum(path.lstat().st_size for path in (home / ".holdfast").rglob("*") if not path.is_dir())
    assert used["bytes"] == on_disk
    assert {"memory", "sessions"} <= {room["kind"] for room in used["rooms"]}
    assert "of at most 2.0 GB" in holdfast("du", check=0).stdout


def test_only_old_backups_and_leftovers_go_below_the_cap_and_only_with_a_yes(
    holdfast: Holdfast, home: Path
) -> None:
    holdfast("import", DEMO, check=0)
    before = files_in(home)
    backups = home / ".holdfast" / "backups"
    backups.mkdir(exist_ok=True)
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    for path in (backups / "shop-1.tar.gz", memory / ".holdfast-current.md-0123abcd.tmp"):
        path.write_bytes(b"old")
        stamp = path.stat().st_mtime - OLD
        os.utime(path, (stamp, stamp))
    (backups / "shop-2.tar.gz").write_bytes(b"new")
    assert "Would remove 2 files" in holdfast("prune", check=0).stdout
    assert holdfast("prune", "--json", check=0).json()["done"] is False
    assert len(files_in(home) - before) == 3
    assert "Removed 2 files" in holdfast("prune", "--yes", check=0).stdout
    assert files_in(home) - before == {"backups/shop-2.tar.gz"} and before <= files_in(home)
    assert "Nothing to remove" in holdfast("prune", check=0).stdout
    assert holdfast("prune", "--yes", "--dry-run").returncode == 2


def test_above_the_cap_goes_what_can_be_made_again_and_nothing_else(holdfast: Holdfast, home: Path) -> None:
    holdfast("import", DEMO, check=0)
    holdfast("index", check=0)
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    (memory / "huge.vec").write_bytes(b"\0" * 3_000_000)
    config = home / ".holdfast" / "config.toml"
    config.write_text('scanner = "off"\nprune_cap_mb = 1\n', encoding="utf-8")
    answer = holdfast("recall", "rate limiting", check=0).stdout
    before = {name: (home / ".holdfast" / name).read_bytes() for name in files_in(home)}
    going = holdfast("prune", "--yes", "--json", check=0).json()
    assert {one["kind"] for one in going["files"]} <= {"cache", "derived"} and going["bytes"] >= 3_000_000
    gone = {Path(one["path"]).relative_to(home / ".holdfast").as_posix() for one in going["files"]}
    left = {name: (home / ".holdfast" / name).read_bytes() for name in files_in(home)}
    assert left == {name: data for name, data in before.items() if name not in gone}
    assert not [name for name in gone if name.endswith(".md") or "capture" in name or "history" in name]
    assert holdfast("recall", "rate limiting", check=0).stdout == answer
    assert holdfast("doctor", "--json").json()["ok"] is True


def test_what_can_not_be_made_again_stays_above_the_cap_and_is_said(holdfast: Holdfast, home: Path) -> None:
    holdfast("import", DEMO, check=0)
    holdfast("cost", check=0)
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    (memory / "kept.db").write_bytes(b"\0" * 2_000_000)
    usage = home / ".holdfast" / "cache" / "usage.db"
    usage.parent.mkdir(exist_ok=True)
    usage.touch()
    config = home / ".holdfast" / "config.toml"
    config.write_text('scanner = "off"\nprune_cap_mb = 1\n', encoding="utf-8")
    holdfast("prune", "--yes", check=0)
    assert (memory / "kept.db").is_file() and usage.is_file()
    kinds = {room["kind"] for room in holdfast("du", "--json", check=0).json()["rooms"]}
    assert {"transcripts", "usage"} <= kinds
    assert "the rest is memory, which is never removed" in holdfast("du", check=0).stdout
    assert "the rest is memory, which is never removed" in holdfast("prune", check=0).stdout
