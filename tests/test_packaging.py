"""What a user gets from `pip install .`: a command that works, typed, with its data, and not too large."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import holdfast

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
LARGEST = 200_000_000  # bytes, dependencies included
NOT_OURS = ("pip", "setuptools", "_distutils_hack", "pkg_resources")

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path | None = None, home: Path | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HOLDFAST_HOME")}
    if home is not None:
        env |= {"HOME": str(home), "USERPROFILE": str(home)}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("holdfast-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        f"holdfast/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "holdfast/py.typed" in ours
    assert any(name.startswith("holdfast/demo_sessions/") for name in ours)
    assert ours - packed == set()
    assert any(name.endswith("licenses/LICENSE") for name in packed)


@pytest.mark.promise("U4")
def test_pip_install_alone_gives_a_working_command(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT)

    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    assert run(scripts / "holdfast", "--version", home=home) == f"holdfast {holdfast.__version__}\n"
    assert "ledger" in run(scripts / "holdfast", "demo", cwd=elsewhere, home=home)
    assert list(elsewhere.iterdir()) == []
    assert list(home.iterdir()) == []

    installed = run(
        scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
    ).strip()
    assert size_of(Path(installed)) <= LARGEST


def size_of(folder: Path) -> int:
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(NOT_OURS)
    )
