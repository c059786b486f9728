"""The tool that proves two checkouts equal tells a difference from what may differ in any two runs.

A real run takes minutes and has a clock and a place for itself; here are its masks, its differ and its world on made-up trees.
"""

from __future__ import annotations

import importlib
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts"


@pytest.fixture
def goldens(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if sys.platform != "linux":
        pytest.skip("the pinned clock is a library for Linux")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("goldens")


@pytest.fixture
def world(goldens: ModuleType) -> ModuleType:
    return importlib.import_module("goldens_world")


def written(top: Path, goldens: ModuleType, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = top / goldens.masked(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(goldens.masked(text), encoding="utf-8")
    return top


SAME_BUT_RANDOM = (
    ("[holdfast ab12cd: notes]\nUse pnpm\n[/holdfast ab12cd]", "[holdfast zz99xx: notes]\nUse pnpm\n[/holdfast zz99xx]"),
    ('{"n":1,"group":"9146d85a90"}', '{"n":1,"group":"0000000000"}'),
    ("3347:1794969372919398741", "3347:1794969372919398742"),
    ("21:1794969372919398741:77", "21:1794969372919398742:78"),
    ('"file:2498924:1794969371620139658"', '"file:2498925:1794969371620139659"'),
    ("index-497984e00bb3.vec", "index-ed2b6499b0c8.vec"),
    ("'generation' | '497984e00bb3'", "'generation' | 'ed2b6499b0c8'"),
    ('{"format":3,"mark":"5486f1c2e366fa5a"}', '{"format":3,"mark":"c89ec1ecabf8a3e2"}'),
    ('".holdfast/local/lessons":["cccd11af49aa874c1e4df8a6",[]]', '".holdfast/local/lessons":["78f3d436a3b3de62166d6e0a",[]]'),
    ('{"value":{},"stamp":"9205aeb06222daabf4b24573"}', '{"value":{},"stamp":"d482d8b901af403a9d95039c"}'),
    ("inbox/a.1794304500000000000-10251.json", "inbox/a.1794304500000000000-17158.json"),
    ('"seconds": 0.451', '"seconds": 1'),
)  # fmt: skip

DIFFERENT = (
    ("[holdfast ab12cd: notes]", "[holdfast ab12cd: remarks]"),
    ("3347:1794969372919398741", "3348:1794969372919398741"),
    ("at 1794304500000000000", "at 1794304520000000000"),  # the pinned clock
    ("inbox/a.1794304500000000000-1.json", "inbox/b.1794304500000000000-1.json"),
    ('{"n":1,"group":"9146d85a90"}', '{"n":2,"group":"9146d85a90"}'),
    ("recorded 2026-11-10 09:00:20", "recorded 2026-11-10 09:00:40"),
)


@pytest.mark.parametrize(("one", "other"), SAME_BUT_RANDOM)
def test_what_is_random_in_any_run_is_no_difference(
    goldens: ModuleType, tmp_path: Path, one: str, other: str
) -> None:
    old = written(tmp_path / "old", goldens, {"demo/a.txt": one})
    new = written(tmp_path / "new", goldens, {"demo/a.txt": other})
    assert goldens.compared(old, new) == []


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_anything_else_is_one(goldens: ModuleType, tmp_path: Path, one: str, other: str) -> None:
    old = written(tmp_path / "old", goldens, {"demo/a.txt": f"same\n{one}\nsame"})
    new = written(tmp_path / "new", goldens, {"demo/a.txt": f"same\n{other}\nsame"})
    ((name, lines),) = goldens.compared(old, new)
    assert name == "demo/a.txt"
    assert len(lines) == 2
    assert lines[0].startswith("-") and lines[1].startswith("+")


def test_names_of_files_are_masked_and_missing_files_told(goldens: ModuleType, tmp_path: Path) -> None:
    old = written(tmp_path / "old", goldens, {"index-497984e00bb3.vec.txt": "a", "gone.txt": "a"})
    new = written(tmp_path / "new", goldens, {"index-ed2b6499b0c8.vec.txt": "a", "come.txt": "a"})
    found = goldens.compared(old, new)
    assert found == [("come.txt", ["only in new"]), ("gone.txt", ["only in old"])]
    told = list(goldens.summary(found, 2))
    assert told[0] == "different: 2 of 2 files"
    assert "gone.txt" in told
    assert list(goldens.summary([], 2)) == ["equal: 2 files"]


def test_every_mask_says_why(goldens: ModuleType) -> None:
    assert all(why for _, _, why in goldens.MASKS)


def test_a_long_difference_is_cut(goldens: ModuleType, tmp_path: Path) -> None:
    old = written(tmp_path / "old", goldens, {"a": "\n".join(f"old {n}" for n in range(50))})
    new = written(tmp_path / "new", goldens, {"a": "\n".join(f"new {n}" for n in range(50))})
    ((_, lines),) = goldens.compared(old, new)
    assert len(lines) == goldens.MOST_LINES + 1
    assert lines[-1] == f"… {100 - goldens.MOST_LINES} lines more"


def test_a_long_line_is_shown_where_it_differs(goldens: ModuleType, tmp_path: Path) -> None:
    old = written(tmp_path / "old", goldens, {"a": "x" * 5000 + "one" + "y" * 5000})
    new = written(tmp_path / "new", goldens, {"a": "x" * 5000 + "two" + "y" * 5000})
    ((_, lines),) = goldens.compared(old, new)
    assert "xoney" in lines[0] and "xtwoy" in lines[1]
    assert all(len(line) < 300 for line in lines)


def test_what_is_neither_a_checkout_nor_a_revision_is_a_usage_error(
    goldens: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert goldens.main(["no-such-revision", str(ROOT)]) == 2
    assert capsys.readouterr().err.startswith("goldens: no-such-revision is neither")


def test_a_database_is_compared_by_its_rows(world: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (k TEXT, v BLOB)")
        database.execute("INSERT INTO t VALUES ('b', ?), ('a', ?)", (b'{"n":1}', b"\xff\x00"))
        database.commit()
    told = world.readable(path).splitlines()
    assert told[0] == "=== t: CREATE TABLE t (k TEXT, v BLOB)"
    assert told[1].startswith("'a' | <2 bytes, sha256 ")
    assert told[2] == "'b' | {\"n\":1}"


def test_the_order_of_a_set_is_no_difference(world: ModuleType, tmp_path: Path) -> None:
    told = []
    for text in ('{"told":{"a":1,"b":2}}', '{"told":{"b":2,"a":1}}'):
        (tmp_path / "resume.json").write_text(text, encoding="utf-8")
        (tmp_path / "session.json").write_text(text, encoding="utf-8")
        told.append((world.readable(tmp_path / "resume.json"), world.readable(tmp_path / "session.json")))
    assert told[0][0] == told[1][0]
    assert told[0][1] != told[1][1]


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_the_clock_stands_still_and_waits_do_not(world: ModuleType, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("the pinned clock is a library for Linux")
    library = tmp_path / "clock.so"
    source = SCRIPTS / "goldens_clock.c"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(library), str(source)], check=True
    )
    code = "import time; a = time.time(), time.monotonic(); time.sleep(0.05); print(a[0], time.time(), time.monotonic() > a[1])"
    env = {"LD_PRELOAD": str(library), "HOLDFAST_GOLDENS_CLOCK": "1794301200", "HOLDFAST_GOLDENS_LATER": "10"}
    for apart, at in ((False, "1794301200.0"), (True, "1794301210.0")):
        told = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            env=env,
            capture_output=True,
            text=True,
            start_new_session=apart,
            check=True,
        )
        assert told.stdout == f"{at} {at} True\n"
