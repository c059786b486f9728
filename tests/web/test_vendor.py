"""What the page loads from other projects is what their packages hold, byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.web.static_files import FOLDER

VENDOR = FOLDER / "vendor"
# Each committed file, and where its package has it.
FILES = {"htmx.min.js": "htmx.org/dist/htmx.min.js", "htmx.LICENSE": "htmx.org/LICENSE"}


def test_every_committed_file_of_another_project_has_its_source_and_licence() -> None:
    ours = {"package.json", "package-lock.json", "README.md"}
    assert {path.name for path in VENDOR.iterdir()} - ours == set(FILES)
    for package in json.loads((VENDOR / "package.json").read_text(encoding="utf-8"))["dependencies"]:
        assert f"{package.partition('.')[0]}.LICENSE" in FILES


def test_the_lock_file_pins_hashes_and_names_no_registry() -> None:
    lock = json.loads((VENDOR / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    for entry in packages.values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


@pytest.mark.slow
def test_the_files_can_be_made_again_from_the_lock_file(tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("needs npm")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(VENDOR / name, tmp_path / name)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the npm registry does not answer")
    if done.returncode and "EINTEGRITY" not in done.stderr:
        pytest.skip(f"npm cannot install here: {' '.join(done.stderr.split())[-300:]}")
    assert done.returncode == 0, done.stderr
    for name, source in FILES.items():
        assert (VENDOR / name).read_bytes() == (tmp_path / "node_modules" / source).read_bytes(), name
