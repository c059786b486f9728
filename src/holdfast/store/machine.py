"""This user on this machine: the only module that reads the environment and the configuration."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.core.errors import StoreError
from holdfast.core.place import home_of, user_home
from holdfast.store.clock import MachineClock
from holdfast.store.project import Project, find_project
from holdfast.store.settings import Settings, load_settings

# Commands that only read need no redactor, and loading its rules takes as long as a whole small command.
if TYPE_CHECKING:
    from holdfast.guard.redact import Redactor, Scanner

SHORT = 400
# Variables that agents set in the shells that run their commands.
AGENT_SIGNS = ("CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "CURSOR_AGENT")
MOST_CLEANED = 20_000  # the same commands and paths occur again and again


class Machine:
    """This user on this machine: places, settings, the clock, and the one redactor for all texts."""

    def __init__(self, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
        self.env = dict(os.environ if env is None else env)
        self.cwd = cwd or _here()
        self._cleaned: dict[str, str] = {}
        self.tell: Callable[[str], None] = lambda message: None
        """Shows a person what a command is waiting for; interactive surfaces set it."""

    @cached_property
    def user_home(self) -> Path:
        return Path(user_home(self.env))

    @cached_property
    def home(self) -> Path:
        """`~/.holdfast`, or the folder in HOLDFAST_HOME."""
        return Path(home_of(self.env))

    @property
    def inside_agent(self) -> bool:
        """Whether an agent runs this command rather than a person."""
        return any(self.env.get(name) for name in AGENT_SIGNS)

    def places(self, project: Project | None = None) -> Places:
        return Places(home=self.user_home, env=self.env, project=project.root if project else None)

    def project(self, start: Path | None = None) -> Project:
        return find_project(start or self.cwd, self.home)

    def standing_in(self, folder: Path) -> Machine:
        """The same, as a command that was run in this folder has it."""
        other = copy.copy(self)
        other.cwd = folder
        return other

    def settings(self, project: Project | None = None) -> Settings:
        return load_settings(self.home / "config.toml", project.window / "config.toml" if project else None)

    @cached_property
    def redactor(self) -> Redactor:
        from holdfast.guard.redact import Redactor, secrets_of

        return Redactor(secrets_of(self.env), self._scanner())

    def _scanner(self) -> Scanner | None:
        """The scanner, if enabled. With `auto` only if its rules are compiled, because compiling takes seconds."""
        mode = self.settings().scanner
        if mode == "off" or (mode == "auto" and not self.scanner_cache.is_dir()):
            return None
        from holdfast.guard.redact import OnDemand, load_scanner

        return OnDemand(lambda: load_scanner(str(self.scanner_cache)))

    @property
    def scanner_cache(self) -> Path:
        return self.home / "cache" / "scanner"

    def clean(self, text: str) -> str:
        """A text for storage: without our own injected blocks, private parts and secrets."""
        cleaned = self._cleaned.get(text)
        if cleaned is None:
            cleaned = self._strip(text)
            if len(text) <= SHORT and len(self._cleaned) < MOST_CLEANED:
                self._cleaned[text] = cleaned
        return cleaned

    def look_over(self, texts: Iterable[str]) -> None:
        """Checks many texts at once, which costs a fraction of checking them one by one.

        If nothing is found in the joined text, all of them are clean; otherwise `clean` checks each by itself.
        """
        if len(self._cleaned) > MOST_CLEANED:
            self._cleaned.clear()
        unknown = [text for text in dict.fromkeys(texts) if text and text not in self._cleaned]
        together = "\n".join(unknown)
        if self._strip(together) == together:
            self._cleaned.update((text, text) for text in unknown)

    @cached_property
    def _strip(self) -> Callable[[str], str]:
        from holdfast.guard.redact import cleaner

        return cleaner(self.redactor)

    now: Callable[[], datetime] = staticmethod(lambda: datetime.now(UTC))

    @cached_property
    def clock(self) -> MachineClock:
        """Stamps for what is written; `now` is only what the wall clock says."""
        return MachineClock(self.home, lambda: self.now())


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise StoreError("the current directory is gone", fix="Change to an existing directory") from error


def scanner_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("kingfisher_sdk") is not None


def scanner_missing_rules(machine: Machine) -> bool:
    return scanner_installed() and machine.settings().scanner != "off" and not machine.scanner_cache.is_dir()


def compile_rules(machine: Machine) -> None:
    """Compiles the scanner's rules once, which takes seconds; later commands use the result."""
    from holdfast.guard.redact import load_scanner

    load_scanner(str(machine.scanner_cache))


class Places(Struct, frozen=True):
    """Where agents keep their files, passed in so that importers do not read the environment.

    `project` is the work tree in question, for agents that keep their sessions inside it.
    """

    home: Path
    env: Mapping[str, str]
    project: Path | None = None
