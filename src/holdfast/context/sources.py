"""The sources that come with holdfast, and the small ones among them."""

from __future__ import annotations

import os
import sys
import time

from holdfast.context.contract import Source
from holdfast.context.git import GitSource
from holdfast.context.instructions import InstructionsSource
from holdfast.context.knowledge import KnowledgeSource
from holdfast.context.memories import ClaudeMemory, CodexMemory
from holdfast.context.reading import first_line
from holdfast.context.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.contract import Here, Value

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PARTS = ("night", "morning", "afternoon", "evening")  # six hours each
_PINNED = (
    ("python", ".python-version"),
    ("node", ".nvmrc"),
    ("node", ".node-version"),
    ("ruby", ".ruby-version"),
    ("rust", "rust-toolchain"),
    ("java", ".java-version"),
)


class DateTimeSource(Source):
    """Coarse, so that it changes four times a day and not with every look."""

    key = "core/datetime"

    def stamp(self, here: Here) -> str:
        return "|".join(self.load(here).values())

    def load(self, here: Here) -> Value:
        local = time.localtime(here.now)
        return {
            "date": f"{local.tm_year:04d}-{local.tm_mon:02d}-{local.tm_mday:02d}",
            "weekday": _DAYS[local.tm_wday],
            "part of day": _PARTS[local.tm_hour // 6],
            "zone": time.strftime("%z", local),
        }

    def summary(self, value: Value) -> str:
        return " ".join(f"{value.get('weekday', '')} {value.get('date', '')}, {self._part(value)}".split())

    def render_update(self, old: Value, new: Value) -> str:
        if old.get("date") == new.get("date") and old.get("zone") == new.get("zone"):
            return f"{old.get('part of day')} → {self._part(new)}"
        return f"now {self.summary(new)}"

    def _part(self, value: Value) -> str:
        return f"{value.get('part of day', '')} (UTC{value.get('zone', '')})"


class EnvironmentSource(Source):
    key = "core/environment"

    def stamp(self, here: Here) -> str:
        return "\n".join(f"{name}={text}" for name, text in self.load(here).items())

    def load(self, here: Here) -> Value:
        value = {"directory": here.cwd}
        if here.root != here.cwd:
            value["project"] = here.root
        if shell := here.env.get("SHELL") or here.env.get("COMSPEC"):
            value["shell"] = os.path.basename(shell.replace("\\", "/"))
        value["platform"] = _platform()
        if surroundings := here.env.get("VIRTUAL_ENV") or here.env.get("CONDA_PREFIX"):
            value["virtual environment"] = surroundings
        for name, file in _PINNED:
            if name not in value and (version := first_line(os.path.join(here.root, file))):
                value[name] = version[:40]
        return value

    def summary(self, value: Value) -> str:
        named = ("project", "virtual environment", *(name for name, _ in _PINNED))
        return " · ".join(f"{name} {text}" if name in named else text for name, text in value.items())


def _platform() -> str:
    if not hasattr(os, "uname"):
        return sys.platform
    system = os.uname()
    return f"{'macOS' if system.sysname == 'Darwin' else system.sysname} {system.machine}"


def built_in() -> Registry:
    """A registry of its own for each caller, who may add to it."""
    return Registry(
        (
            DateTimeSource(),
            EnvironmentSource(),
            GitSource(),
            InstructionsSource(),
            KnowledgeSource(),
            ClaudeMemory(),
            CodexMemory(),
        )
    )
