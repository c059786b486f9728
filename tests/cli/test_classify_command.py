"""`holdfast classify`: the class, how sure, and why; from words or standard input; anywhere, leaving nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def holdfast(folder: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "memory"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "holdfast", "classify", *words]
    return subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, check=False)


@pytest.mark.promise("S5")
def test_it_tells_the_class_and_why(tmp_path: Path) -> None:
    done = holdfast(tmp_path, "--json", "add a flag to the export command")
    assert json.loads(done.stdout) == {"class": "code-gen", "confidence": 0.98, "why": '"add"'}
    assert holdfast(tmp_path, "where", "is", "it", "set?").stdout.startswith(b"exploration")
    assert list(tmp_path.iterdir()) == []


def test_it_reads_any_bytes_from_standard_input(tmp_path: Path) -> None:
    done = holdfast(tmp_path, "-", "--json", stdin=b"\xff\x00 commit this\n")
    assert json.loads(done.stdout)["class"] in ("other", "code-gen")
    assert done.stderr == b""


def test_no_prompt_is_a_wrong_call(tmp_path: Path) -> None:
    for words, stdin in ((("  ",), b""), (("-",), b"\n")):
        done = holdfast(tmp_path, *words, stdin=stdin)
        assert done.returncode == 2
        assert done.stderr.startswith(b"holdfast: no prompt given.")
