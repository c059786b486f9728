"""OpenCode: a plugin of ours and the tools in `opencode.json` or `opencode.jsonc`, with whatever is remarked there.

It has no command hooks. The plugin is named by where it lies in our package (in a folder of plugins OpenCode would
install packages beside it), with the interpreter as its option. OpenCode reads the file of the user, the one that
OPENCODE_CONFIG names and those of the repository, each on top of the others, so the user's is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit.host_contract import SERVER, BaseHost, Change, Host, Scope, Where, Wired
from holdfast.agent_kit.json_config import JsonFile, followed, kept
from holdfast.agent_kit.json_hooks import SCRIPT, keep_out_of_git, refuse_tracked
from holdfast.core.git import git_text
from holdfast.core.json_text import Span, append, member, remove
from holdfast.core.patterns import lazy_regex

# The address that configurations name: it stays, wherever the plugin itself lies.
PLUGIN = Path(__file__).absolute().parents[2] / "hosts" / "opencode_plugin.js"
OURS = lazy_regex(r"holdfast/+hosts/+opencode_plugin\.js$")
TOOLS = ("mcp", SERVER)
FETCHES = (
    "At its next start OpenCode downloads @opencode-ai/plugin from the npm registry, once, as for any plugin. "
    "Without access to the registry, each start waits about 90 seconds."
)
# OpenCode writes this into a file that has it not, which then could not be undone to the byte.
EMPTY = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'


class OpenCode(BaseHost):
    agent = "opencode"
    title = "OpenCode"
    folder = "opencode"  # in the folders for configuration and data
    # As the client itself chooses among those that are there; the last is what it read first of all.
    names: Mapping[Scope, tuple[str, ...]] = {
        "user": ("opencode.jsonc", "opencode.json", "config.json"),
        "project": ("opencode.jsonc", "opencode.json"),
    }
    new = "opencode.json"
    empty = EMPTY
    options: Mapping[str, Any] = {}  # of the plugin, beside the command

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        file = self._chosen(where, scope)
        refuse_tracked(where, scope, file.path)
        data = file.data()
        text = before = self.empty if data is None and not file.linked else file.text(data)
        if self._missing(file, where):
            text = _with_plugin(file, _without_plugin(file, text), self.entry(where.interpreter))
        if where.server:
            existing = file.at(text, TOOLS)
            wanted = kept(existing, server(where), "type", "command")
            text = text if existing == wanted else file.with_member(text, TOOLS, wanted)
        return (file.change(data, text) if text != before else file.unchanged(data),)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        changes = []
        for file in self._files(where, scope):
            data = file.data()
            if data is None or b"holdfast" not in data:
                continue
            text = _without_plugin(file, file.text(data))
            if file.at(text, TOOLS) is not None:
                text = file.without_member(text, TOOLS)
            changes.append(file.change(data, text))
        return tuple(changes)

    def status(self, where: Where, scope: Scope) -> Wired:
        wired = [file for file in self._files(where, scope) if _mentioned(file.data())]
        file = wired[0] if wired else self._chosen(where, scope)
        return Wired(
            agent=self.agent,
            scope=scope,
            path=file.path,
            installed=bool(wired),
            missing=("plugin",) if self._missing(file, where) else (),
        )

    def found(self, where: Where) -> bool:
        data = where.folder("XDG_DATA_HOME", ".local", "share")
        return self._folder(where).is_dir() or (data / self.folder).is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        fetched = (self._folder(where) / "node_modules").is_dir()
        notes = keep_out_of_git(where, self._chosen(where, scope).path.name) if scope == "project" else ()
        return notes if fetched else (FETCHES.replace("OpenCode", self.title), *notes)

    def entry(self, interpreter: str) -> list[Any]:
        """The plugin, and how it starts the hook."""
        return [PLUGIN.absolute().as_uri(), {"command": [interpreter, "-I", "-S", SCRIPT], **self.options}]

    def _folder(self, where: Where) -> Path:
        return where.folder("XDG_CONFIG_HOME", ".config") / self.folder

    def _missing(self, file: JsonFile, where: Where) -> bool:
        data = file.data()
        plugins = file.value(data).get("plugin") if data is not None else None
        ours = [plugin for plugin in plugins if _is_ours(plugin)] if isinstance(plugins, list) else []
        return ours != [self.entry(where.interpreter)]

    def _files(self, where: Where, scope: Scope) -> Iterator[JsonFile]:
        folder = where.project if scope == "project" else self._folder(where)
        for name in self.names[scope]:
            path = folder / name if scope == "project" else followed(folder / name)
            linked = scope == "project" and path.is_symlink()
            yield JsonFile(where=where, path=path, title=self.title, comments=True, linked=linked)

    def _chosen(self, where: Where, scope: Scope) -> JsonFile:
        """The existing file; in a repository, of the two that OpenCode reads, one that git does not track."""
        by_name = {file.path.name: file for file in self._files(where, scope)}
        existing = [file for file in by_name.values() if file.linked or file.data() is not None]
        mine = [file for file in existing if scope == "user" or not _is_tracked(where, file)]
        if mine or not existing:
            return mine[0] if mine else by_name.get(self.new, next(iter(by_name.values())))
        missing = [file for file in by_name.values() if file not in existing]
        return missing[0] if missing else existing[0]


HOST: Host = OpenCode()


def server(where: Where) -> dict[str, Any]:
    return {"type": "local", "command": list(where.server), "enabled": True}


def _is_tracked(where: Where, file: JsonFile) -> bool:
    return bool(git_text(where.project, "ls-files", "--", file.path.name))


def _mentioned(data: bytes | None) -> bool:
    return data is not None and b"opencode_plugin.js" in data


def _is_ours(plugin: object) -> bool:
    name = plugin[0] if isinstance(plugin, list) and plugin else plugin
    return isinstance(name, str) and bool(OURS.search(name.replace("\\", "/")))


def _with_plugin(file: JsonFile, text: str, plugin: list[Any]) -> str:
    top = file.span(text)
    plugins = member(top, "plugin")
    if plugins is None:
        return append(text, top, [plugin], "plugin")
    file.require(plugins.span, list, "plugin")
    return append(text, plugins.span, plugin)


def _without_plugin(file: JsonFile, text: str) -> str:
    while (position := _first_of_ours(file.span(text))) is not None:
        text = remove(text, *position)
    return text


def _first_of_ours(top: Span) -> tuple[Span, int] | None:
    """Where one of our plugins stands: in the list, or the list itself where it holds nothing else."""
    plugins = member(top, "plugin")
    if plugins is None or not isinstance(plugins.span.value, list):
        return None
    for number, plugin in enumerate(plugins.span.members):
        if _is_ours(plugin.span.value):
            alone = len(plugins.span.members) == 1
            return (top, top.members.index(plugins)) if alone else (plugins.span, number)
    return None
