"""Instruction files for agents: AGENTS.md and similar, the nearest directory first, the person's own last."""

from __future__ import annotations

import os

from holdfast.core.guides import GUIDES
from holdfast.core.reading import is_file, is_inside, names_in, stamp_of, text_of
from holdfast.knowledge.context import ContextSource, counted, one_line

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.knowledge.context import Here, Value


MOST_FILES = 40
_SHOWN_LINES = 3
_NOT_READ = "(not read: "


class TextFile:
    """A file to read; `reason` says why it is not read."""

    __slots__ = ("path", "reason", "shown")

    def __init__(self, shown: str, path: str, reason: str = "") -> None:
        self.shown = shown
        self.path = path
        self.reason = reason


class TextFiles(ContextSource):
    """A source that consists of text files; its value has a text for each."""

    def files(self, here: Here) -> list[TextFile]:
        raise NotImplementedError

    def stamp(self, here: Here) -> str:
        parts = [f"{file.shown}={file.reason or stamp_of(file.path)}" for file in self.files(here)]
        return "\n".join(parts) or "none"

    def load(self, here: Here) -> Value:
        text_files = self.files(here)
        value = {file.shown: _text(file) for file in text_files[:MOST_FILES]}
        if len(text_files) > MOST_FILES:
            value["…"] = f"{_NOT_READ}{counted(len(text_files) - MOST_FILES, 'more file')})"
        return value

    def summary(self, value: Value) -> str:
        return ", ".join(f"{name} {_extent(text)}" for name, text in value.items())

    def render(self, value: Value) -> str:
        parts = []
        for name, text in value.items():
            body = "" if text.startswith(_NOT_READ) else text.strip()
            parts.append(f"--- {name} {_extent(text)}" + (f"\n{body}" if body else ""))
        return "\n\n".join(parts)

    def render_update(self, old: Value, new: Value) -> str:
        parts = [f"{name} is new, {_extent(new[name])}" for name in new if name not in old]
        for name in new:
            if name in old and old[name] != new[name]:
                parts.append(f"{name}: {_difference(old[name], new[name])}")
        parts += [f"{name} is gone" for name in old if name not in new]
        return "; ".join(parts) or "in another order"

    def render_removal(self, old: Value) -> str:
        return f"gone: {', '.join(old)}"


def _text(found: TextFile) -> str:
    if found.reason:
        return f"{_NOT_READ}{found.reason})"
    text = text_of(found.path)
    return f"{_NOT_READ}it is no file that can be read)" if text is None else text


def _extent(text: str) -> str:
    if text.startswith(_NOT_READ):
        return one_line(text, 80)
    return f"({counted(len(text.strip().splitlines()), 'line')})"


def _difference(old: str, new: str) -> str:
    """`2 lines new (Run make lint; …), 1 gone`: compares the lines as sets, whatever their order."""
    was, now = old.splitlines(), new.splitlines()
    earlier, later = set(was), set(now)
    added = [line for line in now if line.strip() and line not in earlier]
    removed = [line for line in was if line.strip() and line not in later]
    parts = []
    if added:
        excerpt = "; ".join(one_line(line, 60) for line in added[:_SHOWN_LINES])
        parts.append(
            f"{counted(len(added), 'line')} new ({excerpt}{'; …' if len(added) > _SHOWN_LINES else ''})"
        )
    if removed:
        parts.append(f"{counted(len(removed), 'line')} gone")
    return ", ".join(parts) or "the same lines in another order"


# Folders that contain only instructions.
FOLDERS = (
    (".cursor/rules", (".mdc", ".md")),
    (".windsurf/rules", (".md",)),
    (".github/instructions", (".md",)),
    (".claude/rules", (".md",)),
    (".clinerules", (".md", ".txt")),
    (".roo/rules", (".md", ".txt")),
)
# A person's own: the variable that moves the folder, the folder in the home directory, the file.
PERSONAL = (
    ("CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"),
    ("CODEX_HOME", ".codex", "AGENTS.override.md"),
    ("CODEX_HOME", ".codex", "AGENTS.md"),
    ("", ".gemini", "GEMINI.md"),
    ("", ".qwen", "QWEN.md"),
    ("", ".config/opencode", "AGENTS.md"),
    ("COPILOT_HOME", ".copilot", "copilot-instructions.md"),
    ("", ".config/goose", ".goosehints"),
)
LED_OUT = "a link that leads out of the repository"
_MOST_IN_FOLDER = 20
_DEEPEST_IMPORT = 4
_MOST_LEVELS = 40


class InstructionsSource(TextFiles):
    key = "core/instructions"

    def files(self, here: Here) -> list[TextFile]:
        by_path: dict[str, TextFile] = {}  # by the real path: CLAUDE.md is often a link to AGENTS.md
        for label, path, inside in _places(here):
            if len(by_path) > MOST_FILES:
                break
            _take(by_path, TextFile(label, path), inside, here.root, depth=0)
        return list(by_path.values())

    def render(self, value: Value) -> str:
        nearest: dict[str, str] = {}
        notes = []
        for name in value:
            kind = name.rpartition("/")[2]
            if kind in nearest and not name.startswith("~") and not nearest[kind].startswith("~"):
                notes.append(f"{nearest[kind]} is nearer than {name}: where they differ it comes first.")
            nearest.setdefault(kind, name)
        return "\n\n".join([*notes, super().render(value)])


def _places(here: Here) -> Iterator[tuple[str, str, str]]:
    """The display name of a file, its path, and the folder that it must be in."""
    for directory in _upwards(here.cwd, here.root):
        for name in GUIDES:
            path = os.path.join(directory, *name.split("/"))
            if is_file(path):
                yield _shown(path, here.root), path, here.root
        for folder, endings in FOLDERS:
            where = os.path.join(directory, *folder.split("/"))
            for name in names_in(where, endings, _MOST_IN_FOLDER):
                path = os.path.join(where, name)
                yield _shown(path, here.root), path, here.root
    for variable, folder, name in PERSONAL:
        base = here.env.get(variable, "") if variable else ""
        path = os.path.join(base or os.path.join(here.home, *folder.split("/")), name)
        if is_file(path):
            label = _shown(path, here.home)
            # A personal file is often a link to another folder.
            yield (label if os.path.isabs(label) else f"~/{label}"), path, base or here.home


def _upwards(cwd: str, root: str) -> list[str]:
    folders = [cwd]
    while folders[-1] != root and len(folders) < _MOST_LEVELS:
        parent = os.path.dirname(folders[-1])
        if parent == folders[-1]:
            return [cwd]  # the current directory is not below the root: only itself counts
        folders.append(parent)
    return folders


def _take(found: dict[str, TextFile], one: TextFile, inside: str, root: str, depth: int) -> None:
    real = os.path.realpath(one.path)
    if len(found) > MOST_FILES:
        return
    if real in found:
        if depth == 0 and found[real].shown != one.shown:
            found[one.path] = TextFile(one.shown, one.path, f"the same file as {found[real].shown}")
        return
    if not is_inside(one.path, inside):
        found[one.path] = TextFile(one.shown, one.path, LED_OUT)
        return
    found[real] = one
    if depth == _DEEPEST_IMPORT or inside != root:
        return  # imports of a personal file are not read: they may point anywhere
    text = text_of(real)
    for name in _imports(text) if text and "@" in text else ():
        path = os.path.normpath(os.path.join(os.path.dirname(one.path), *name.split("/")))
        # A file outside the repository is not read, whether by its name or through a link.
        if is_inside(path, root) and os.path.isfile(path):
            _take(found, TextFile(_shown(path, root), path), root, root, depth + 1)


def _imports(text: str) -> list[str]:
    """Imports such as `@docs/rules.md`, as Claude and Gemini parse them: a separate word, not in code."""
    names = []
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and "@" in line:
            plain = "".join(line.split("`")[::2])
            words = [word[1:].rstrip(".,;:!?)") for word in plain.split() if word[:1] == "@"]
            names += [
                word for word in words if "." in word and not word.startswith(("/", "~")) and "\0" not in word
            ]
    return names[:MOST_FILES]


def _shown(path: str, base: str) -> str:
    prefix = base.rstrip(os.sep) + os.sep
    return (path[len(prefix) :] if path.startswith(prefix) else path).replace(os.sep, "/")
