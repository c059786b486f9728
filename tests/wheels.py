"""Builds holdfast as it is published, and installs it into empty places with pip, uv and pipx."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
TOOLS = ("hatchling", "uv", "pipx")
_PASSED_ON = (
    "PATH",
    "SYSTEMROOT",
    "LANG",
    "TMPDIR",
    "TEMP",
    "TMP",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
)
_NO_NETWORK = ("Failed to fetch", "error sending request", "Could not find a version", "NewConnectionError")


def bare_env(home: Path) -> dict[str, str]:
    """The environment of somebody with an empty home; only what installers need to reach a registry is passed on."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(("PIP_", "UV_INDEX", "UV_DEFAULT"))
    }
    if "PIP_CERT" in env:
        env.setdefault("SSL_CERT_FILE", env["PIP_CERT"])
    # What installers keep for themselves is theirs, and not in the home that is compared.
    caches = {"UV_CACHE_DIR": str(home.parent / "uv-cache"), "PIP_CACHE_DIR": str(home.parent / "pip-cache")}
    return {**env, **caches, "HOME": str(home), "USERPROFILE": str(home)}


def run(
    *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, fetches: bool = False
) -> str:
    """What a command printed. `fetches` skips the test where the registry cannot be reached."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    said = f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    if done.returncode and fetches and any(sign in said for sign in _NO_NETWORK):
        pytest.skip(f"cannot be fetched here: {said[-300:]}")
    assert done.returncode == 0, said
    return done.stdout


def made_tools(folder: Path) -> Path:
    """The folder of programs of an environment with the tools that build and install."""
    venv.create(folder, with_pip=True)
    python = folder / SCRIPTS / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS, fetches=True)
    return folder / SCRIPTS


def built(tools: Path, folder: Path) -> tuple[Path, Path]:
    """The source archive and the wheel, as they are published."""
    run(tools / "python", "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", folder, cwd=ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


class Installed:
    """Holdfast in an empty home, and how it goes again."""

    def __init__(self, program: Path, packages: Path, removed: Callable[[], object]) -> None:
        self.program, self.packages, self.remove = program, packages, removed


def with_pip(tools: Path, wheel: Path, home: Path) -> Installed:
    folder = home.parent / "environment"
    venv.create(folder, with_pip=True)
    python, env = folder / SCRIPTS / "python", bare_env(home)
    run(
        python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, env=env, fetches=True
    )
    removed = ("-m", "pip", "uninstall", "--quiet", "--yes", "holdfast")
    return Installed(folder / SCRIPTS / "holdfast", _packages(python), lambda: run(python, *removed, env=env))


def with_uv(tools: Path, wheel: Path, home: Path) -> Installed:
    env = bare_env(home)
    run(tools / "uv", "tool", "install", "--quiet", "--python", sys.executable, wheel, env=env, fetches=True)
    folder = Path(run(tools / "uv", "tool", "dir", "--bin", env=env).strip())
    own = Path(run(tools / "uv", "tool", "dir", env=env).strip()) / "holdfast" / SCRIPTS / "python"
    remove = lambda: run(tools / "uv", "tool", "uninstall", "--quiet", "holdfast", env=env)  # noqa: E731
    return Installed(folder / "holdfast", _packages(own), remove)


def with_pipx(tools: Path, wheel: Path, home: Path) -> Installed:
    env = bare_env(home)
    run(tools / "pipx", "install", "--quiet", "--python", sys.executable, wheel, env=env, fetches=True)
    folder = Path(run(tools / "pipx", "environment", "--value", "PIPX_BIN_DIR", env=env).strip())
    places = Path(run(tools / "pipx", "environment", "--value", "PIPX_LOCAL_VENVS", env=env).strip())
    remove = lambda: run(tools / "pipx", "uninstall", "--quiet", "holdfast", env=env)  # noqa: E731
    return Installed(folder / "holdfast", _packages(places / "holdfast" / SCRIPTS / "python"), remove)


WAYS = {"pip": with_pip, "uv": with_uv, "pipx": with_pipx}


def _packages(python: Path) -> Path:
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
