"""The built-in sources of live context: date, environment, git, instructions, knowledge, agents' own notes."""

from __future__ import annotations

import os
import sys
import time

from holdfast.core.git import MOST_BYTES, ask_git
from holdfast.core.place import Checkout, find_checkout
from holdfast.core.reading import first_line, is_file, is_inside, names_in, stamp_of
from holdfast.knowledge.context import REST_S, ContextSource, Registry, counted, differences, one_line
from holdfast.knowledge.instructions import InstructionsSource, TextFile, TextFiles

TYPE_CHECKING = False

if TYPE_CHECKING:
    from holdfast.knowledge.context import Here, Value


_LIMIT_S = 3.0  # all calls together must stay below the time limit of a source
_LOG_LIMIT_S = 1.0
_STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-ahead-behind",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=all",
)
_UNDER_WAY = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_SHORT_ID = 9
NOT_COUNTED = "not counted"
FILE = "session.json"
_MOST_CONVENTIONS = 12
_LEAST_CONFIDENCE = 0.6
_COUNTED = (("patterns", "pattern"), ("facts", "fact"), ("files", "file"))
_MOST_NOTES = 20
_LED_OUT = "a link that leads out of the agent's folder"
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


class GitSource(ContextSource):
    """Branch, last commit, number of changed files, and an operation in progress such as a merge or a rebase."""

    key = "core/git"

    def __init__(self) -> None:
        self._asked: tuple[Here, Value] | None = None

    def stamp(self, here: Here) -> str:
        checkout = find_checkout(here.root)
        standing = _standing(here, checkout) if checkout else {}
        self._asked = (here, standing)  # if the stamp is new, `load` is called next
        return "|".join(standing.values()) or "no git"

    def load(self, here: Here) -> Value:
        if self._asked is None or self._asked[0] is not here:
            self.stamp(here)
        stamped, self._asked = self._asked, None
        standing = stamped[1] if stamped else {}
        self.whole = True
        if not standing.get("commit"):
            return {name: text for name, text in standing.items() if text}
        log = ("log", "-1", "--no-decorate", "--format=%cs%x00%s", standing["commit"], "--")
        output = ask_git(here.root, log, here.env, _LOG_LIMIT_S)
        self.whole = output is not None
        date, _, subject = (output or b"").decode("utf-8", "replace").strip("\n").partition("\0")
        standing["commit"] = standing["commit"][:_SHORT_ID]
        return {name: text for name, text in {**standing, "date": date, "subject": subject}.items() if text}

    def summary(self, value: Value) -> str:
        parts = [value.get("branch") or "no branch"]
        if commit := value.get("commit"):
            when = f" of {value['date']}" if value.get("date") else ""
            parts[0] += f" at {commit}{when}" + (f": {value['subject']}" if value.get("subject") else "")
        elif value.get("changed") != NOT_COUNTED:
            parts[0] += ", no commit yet"
        parts += [f"{value['under way']} under way"] if value.get("under way") else []
        return " · ".join([*parts, _changed(value)])

    def render_update(self, old: Value, new: Value) -> str:
        parts = []
        if old.get("branch") != new.get("branch"):
            parts.append(f"{old.get('branch') or 'no branch'} → {new.get('branch') or 'no branch'}")
        if old.get("commit") != new.get("commit") and new.get("commit"):
            parts.append(f"now at {new['commit']}: {new.get('subject', '')}")
        if old.get("under way") != new.get("under way"):
            ended = f"{old.get('under way')} ended"
            parts.append(f"{new['under way']} under way" if new.get("under way") else ended)
        if old.get("changed") != new.get("changed"):
            parts.append(f"{_changed(new)} (was {old.get('changed', 'unknown')})")
        return "; ".join(parts or differences(old, new))

    def render_removal(self, old: Value) -> str:
        return f"no longer a git repository (was on {old.get('branch') or 'no branch'})"


def _changed(value: Value) -> str:
    number = value.get("changed", NOT_COUNTED)
    if number == "0":
        return "clean"
    return f"{counted(int(number), 'file')} changed" if number.isdigit() else f"changed files: {number}"


def _standing(here: Here, checkout: Checkout) -> Value:
    """The state from one git call. If git is too slow, cheaper sources are used, or values stay unknown."""
    branch, commit = checkout.head()
    changed = NOT_COUNTED
    output = ask_git(here.root, _STATUS, here.env, _LIMIT_S)
    if output is not None:
        number = 0
        for line in output.split(b"\0"):
            if line.startswith(b"# branch.oid "):
                commit = line[13:].decode("ascii", "replace")
            elif line.startswith((b"1 ", b"u ", b"? ")):
                number += 1
        commit = "" if commit == "(initial)" else commit
        changed = str(number) if len(output) < MOST_BYTES else f"{number} or more"
    elif not commit:  # a very large work tree, or a slow disk
        head = ask_git(here.root, ("rev-parse", "--verify", "-q", "HEAD"), here.env, _LOG_LIMIT_S / 2)
        commit = (head or b"").decode("ascii", "replace").strip()
    under_way = [word for name, word in _UNDER_WAY if os.path.lexists(os.path.join(checkout.private, name))]
    return {
        "branch": branch,
        "commit": commit,
        "changed": changed,
        "under way": under_way[0] if under_way else "",
    }


class KnowledgeSource(ContextSource):
    """Conventions of the repository, and the number of known patterns, facts and file notes."""

    key = "knowledge"
    rest = REST_S

    def stamp(self, here: Here) -> str:
        return (stamp_of(os.path.join(here.memory, FILE)) if here.memory else "") or "none"

    def load(self, here: Here) -> Value:
        knowledge = here.knowledge() if here.knowledge else None
        if not isinstance(knowledge, dict):
            return {}
        value: Value = {}
        conventions = [
            item for item in _listed(knowledge, "conventions") if _confidence(item) >= _LEAST_CONFIDENCE
        ]
        conventions.sort(key=_confidence, reverse=True)
        for item in conventions[:_MOST_CONVENTIONS]:
            category, pattern = one_line(str(item.get("category", "")), 40), item.get("pattern")
            if category and isinstance(pattern, str):
                scope = item.get("scope")
                line = one_line(f"{pattern} ({scope})" if scope and isinstance(scope, str) else pattern, 80)
                value[category] = f"{value[category]}, {line}" if category in value else line
        for name, noun in _COUNTED:
            if number := len(_listed(knowledge, name)):
                value[name] = counted(number, noun)
        return value

    def summary(self, value: Value) -> str:
        names = [name for name, _ in _COUNTED]
        conventions = [f"{name} {text}" for name, text in value.items() if name not in names]
        return "; ".join([*conventions, *(value[name] for name in names if name in value)])


def _listed(known: dict[object, object], name: str) -> list[dict[str, object]]:
    """The items of a list that have the expected shape: another version of holdfast may have written them."""
    items = known.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _confidence(one: dict[str, object]) -> float:
    value = one.get("confidence")
    return float(value) if isinstance(value, int | float) else 0.0


class ClaudeMemory(TextFiles):
    """`<config>/projects/<directory>/memory/`: MEMORY.md, and a file per topic."""

    key = "memory/claude-code"
    rest = REST_S

    def files(self, here: Here) -> list[TextFile]:
        config = here.env.get("CLAUDE_CONFIG_DIR") or os.path.join(here.home, ".claude")
        checkout = find_checkout(here.root)
        # All work trees of a repository share the notes of the first one.
        roots = [checkout.first_tree] if checkout else []
        folders = dict.fromkeys(_slug(path) for path in [*roots, here.root, here.cwd] if path)
        notes: list[TextFile] = []
        for folder in folders:
            notes += _notes(os.path.join(config, "projects", folder, "memory"), here.home)
        return notes


class CodexMemory(TextFiles):
    """`$CODEX_HOME/memories/`: a summary and a register for all projects; raw material is not read."""

    key = "memory/codex"
    rest = REST_S

    def files(self, here: Here) -> list[TextFile]:
        home = here.env.get("CODEX_HOME") or os.path.join(here.home, ".codex")
        folder = os.path.join(home, "memories")
        names = [name for name in ("memory_summary.md", "MEMORY.md") if is_file(os.path.join(folder, name))]
        return [_found(folder, name, here.home) for name in names]


def _notes(folder: str, home: str) -> list[TextFile]:
    names = names_in(folder, (".md",), _MOST_NOTES)
    names.sort(key=lambda name: name != "MEMORY.md")  # Claude itself reads this file first
    return [_found(folder, name, home) for name in names]


def _found(folder: str, name: str, home: str) -> TextFile:
    path = os.path.join(folder, name)
    prefix = home.rstrip(os.sep) + os.sep
    label = f"~/{path[len(prefix) :]}" if path.startswith(prefix) else path
    return TextFile(label.replace(os.sep, "/"), path, "" if is_inside(path, folder) else _LED_OUT)


def _slug(path: str) -> str:
    """Claude Code's folder name for a directory."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in path)


class DateTimeSource(ContextSource):
    """Date and part of the day: coarse, so that it changes four times a day and not with every load."""

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


class EnvironmentSource(ContextSource):
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
        labelled = ("project", "virtual environment", *(name for name, _ in _PINNED))
        return " · ".join(f"{name} {text}" if name in labelled else text for name, text in value.items())


def _platform() -> str:
    if not hasattr(os, "uname"):
        return sys.platform
    system = os.uname()
    return f"{'macOS' if system.sysname == 'Darwin' else system.sysname} {system.machine}"


def built_in() -> Registry:
    """A new registry for each caller, who may add sources to it."""
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
