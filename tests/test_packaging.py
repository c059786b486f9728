"""What is published: an archive and a wheel with every file, typed, not too large, that install and say their version."""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.wheels import ROOT, bare_env, built, made_tools, run, with_pip

import holdfast
from holdfast.core import yaml

SOURCE = ROOT / "src" / "holdfast"
LARGEST = 150_000_000  # bytes, dependencies included, as installers unpack them
WITH_BYTECODE = 200_000_000  # pip writes what it compiles beside them
NOT_OURS = ("pip", "setuptools", "_distutils_hack", "pkg_resources")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_tools(tmp_path_factory.mktemp("tools"))


@pytest.fixture(scope="module")
def packages(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return built(tools, tmp_path_factory.mktemp("dist"))


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(packages: tuple[Path, Path]) -> None:
    packed = content(packages[1]).keys()
    ours = {
        f"holdfast/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "holdfast/py.typed" in ours
    assert any(name.startswith("holdfast/demo_sessions/") for name in ours)
    assert ours - packed == set()
    assert any(name.endswith("licenses/LICENSE") for name in packed)


@pytest.mark.slow
def test_the_source_archive_builds_the_same_wheel(packages: tuple[Path, Path], tmp_path: Path) -> None:
    sdist, wheel = packages
    options = ("--quiet", "--no-deps", "--disable-pip-version-check", "--wheel-dir", tmp_path)
    run(sys.executable, "-m", "pip", "wheel", *options, sdist, fetches=True)
    (again,) = tmp_path.glob("*.whl")
    assert again.name == wheel.name and content(again) == content(wheel)


@pytest.mark.slow
@pytest.mark.promise("U4", "U14")
def test_pip_install_alone_gives_a_working_command(
    tools: Path, packages: tuple[Path, Path], tmp_path: Path
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    installed, env = with_pip(tools, packages[1], home), bare_env(home)
    before = sorted(home.iterdir())  # pip asks a Rust that is here for its version, which makes a folder
    assert run(installed.program, "--version", env=env) == f"holdfast {holdfast.__version__}\n"
    assert "ledger" in run(installed.program, "demo", cwd=elsewhere, env=env)
    assert list(elsewhere.iterdir()) == []
    assert sorted(home.iterdir()) == before
    compiled, plain = sizes_of(installed.packages)
    assert plain <= LARGEST and compiled + plain <= WITH_BYTECODE


def test_the_version_is_in_the_changelog_and_called_stable() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(
        rf"^## \[{re.escape(holdfast.__version__)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE
    )
    assert changes.index("## [Unreleased]") < changes.index(f"## [{holdfast.__version__}]")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "Development Status :: 5 - Production/Stable" in project["classifiers"]


def test_what_runs_on_github_can_be_read_and_names_what_is_here() -> None:
    files = sorted((ROOT / ".github").rglob("*.yml"))
    read = {path.name: yaml.load(path.read_text(encoding="utf-8")) for path in files}
    systems = read["ci.yml"]["jobs"]["test"]["strategy"]["matrix"]["os"]
    assert systems == ["ubuntu-latest", "macos-latest", "windows-latest"]
    for name in ("bug.yml", "idea.yml", "reading.yml"):
        assert read[name]["name"] and read[name]["body"]
    for path in files:
        for named in re.findall(r"(?:scripts|tests|\.ci)/[\w./]+\w", path.read_text(encoding="utf-8")):
            assert (ROOT / named).exists(), f"{path.name} names {named}"


def sizes_of(folder: Path) -> tuple[int, int]:
    """Bytes of compiled modules, and of all else."""
    compiled = plain = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(NOT_OURS):
            size = path.stat().st_size
            compiled, plain = (compiled + size, plain) if path.suffix == ".pyc" else (compiled, plain + size)
    return compiled, plain
