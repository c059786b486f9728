"""Machines of people who sync: each has a home, a clone and a key of its own, and runs real commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.command import Finished, ThisProcess

from holdfast.store.machine import Machine
from holdfast.store.project import Project

PASSPHRASE = "correct horse battery"


class Person:
    """One machine of one person. Calling it runs `holdfast WORDS` there, and expects that it succeeds."""

    def __init__(self, folder: Path, name: str, repo: Path | None) -> None:
        self.name, self.home, self.repo = name, folder / "home", folder / "shop"
        self.home.mkdir(parents=True)
        clone = (
            ["clone", "--quiet", str(repo), str(self.repo)] if repo else ["init", "--quiet", str(self.repo)]
        )
        _git(folder, *clone)
        self.git("config", "user.name", name)
        if repo:
            self.git("remote", "remove", "origin")
        self.holdfast_home = self.home / ".holdfast"
        self.holdfast_home.mkdir(mode=0o700)
        (self.holdfast_home / "config.toml").write_text('scanner = "off"\n', encoding="utf-8")
        self._run = ThisProcess(self.repo)

    @property
    def env(self) -> dict[str, str]:
        home = str(self.home)
        return {
            "HOME": home,
            "USERPROFILE": home,
            "HOLDFAST_HOME": str(self.holdfast_home),
            "HOLDFAST_PASSPHRASE": PASSPHRASE,
        }

    def __call__(
        self,
        *words: str | Path,
        check: int | None = 0,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
    ) -> Finished:
        return self._run(*words, env={**self.env, **(env or {})}, input=input, check=check)

    def refused(self, *words: str | Path, env: Mapping[str, str] | None = None) -> str:
        """What a command says that fails: one line, and no traceback."""
        done = self(*words, check=None, env=env)
        lines = [line for line in done.stderr.strip().split("\n") if line.strip()]
        assert done.returncode in (1, 2), done
        assert len(lines) == 1, done.stderr
        assert "Traceback" not in lines[0]
        return lines[0]

    def json(self, *words: str | Path) -> Any:
        return self(*words, "--json").json()

    def sync(self, *words: str | Path) -> dict[str, Any]:
        return dict(self("sync", *words, "--json").json())

    def git(self, *words: str) -> str:
        return _git(self.repo, *words)

    @property
    def machine(self) -> Machine:
        return Machine(cwd=self.repo, env={**os.environ, **self.env})

    @property
    def project(self) -> Project:
        return self.machine.project()

    @property
    def memory(self) -> Path:
        (memory,) = (self.holdfast_home / "projects").iterdir()
        return memory

    @property
    def shop(self) -> Path:
        """The folder of the main project's files."""
        return self.memory / "projects" / "shop"

    def decide(self, text: str, because: str = "") -> str:
        said = self("decide", text, *(["--because", because] if because else [])).stdout
        found = re.match(r"D-\w+", said)
        assert found, said
        return found[0]

    def edit(self, path: Path, old: str, new: str) -> None:
        """Changes a file by hand."""
        text = path.read_text(encoding="utf-8")
        assert old in text, text
        path.write_text(text.replace(old, new), encoding="utf-8")


class Machines:
    """Makes machines, and brings one person's key from one to another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first: Person | None = None
        self.target = folder / "usb"
        self.target.mkdir()

    def person(self, name: str, *, machine: str = "laptop", like: Person | None = None) -> Person:
        """A machine of a person; with `like`, a further one of the same person, with the same key."""
        folder = self._folder / f"{name.lower()}-{machine}"
        folder.mkdir()
        person = Person(folder, name, self._first.repo if self._first else None)
        if self._first is None:
            (person.repo / "README.md").write_text("A shop.\n", encoding="utf-8")
            person.git("add", "README.md")
            person.git("commit", "--quiet", "-m", "a shop")
            self._first = person
        if like is not None:
            key = folder / "me.key"
            like("keys", "export", key)
            person("keys", "restore", key)
        return person

    def two_of_one(self) -> tuple[Person, Person]:
        laptop = self.person("Ana")
        return laptop, self.person("Ana", machine="desktop", like=laptop)

    def settle(self, *people: Person, rounds: int = 3) -> None:
        """Everybody syncs until nothing moves."""
        for number in range(rounds + 3):
            moved = [
                done
                for person in people
                if (done := person.sync(self.target, "--yes"))["sent"] or done["received"]
            ]
            if not moved and number:
                return
        raise AssertionError(f"it does not come to rest: {moved}")

    def team(self, *names: str, roles: Mapping[str, str] | None = None) -> list[Person]:
        """A team of these people, the first of them its owner, all synced."""
        owner, *others = [self.person(name) for name in names]
        owner("team", "create", "Shop")
        owner.sync(self.target, "--yes")
        for other in others:
            role = (roles or {}).get(other.name, "member")
            other("team", "join", owner.json("team", "invite", "--role", role)["code"], "--yes")
            other.sync(self.target, "--yes")
        self.settle(owner, *others)
        return [owner, *others]


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def below(folder: Path, *, but: Callable[[Path], bool] = lambda _: False) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and not but(path)
    }


def copy_of(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to, symlinks=True)
    return to
