"""What the model does next, said once for every client and fitted to the tools that a client offers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Shell:
    """A command in the client's shell tool."""

    command: str


@dataclass(frozen=True)
class Read:
    """A file, looked at with the client's reading tool, or with its shell where it has no other."""

    path: str


@dataclass(frozen=True)
class Ask:
    """A question to the person."""

    question: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Mcp:
    """A tool of an MCP server, whatever the client puts before its name."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Raw = tuple[str, dict[str, Any]]
"""A tool call as it stands: name and input."""

Step = str | Shell | Read | Ask | Mcp | Raw | None
"""A final answer, a tool call, or None: the model never answers."""


@dataclass(frozen=True)
class Tool:
    """A tool that a client offers. Codex puts those of a server into a namespace."""

    name: str
    schema: Mapping[str, Any]
    namespace: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call that fits the client."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""


class NotOffered(Exception):
    """The client has no tool for this step."""


# In the order of preference: some clients offer an older name beside the newer one.
_SHELLS = (
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "run_terminal_command",
    "shell",
)
_READERS = ("Read", "read", "read_file", "view")
_ASKERS = ("AskUserQuestion", "question", "ask_user_question", "request_user_input", "ask_user")
_COMMANDS = ("command", "cmd")
_PATHS = ("file_path", "filePath", "absolute_path", "path")


def fitted(step: Step, tools: Sequence[Tool]) -> str | Call:
    """The answer to give: a text, or a call of a tool that is there."""
    match step:
        case str():
            return step
        case Shell(command):
            return _shell(command, tools)
        case Read(path):
            return _read(path, tools)
        case Ask(question, choices):
            return _ask(question, choices, tools)
        case Mcp(name, arguments):
            return _call(_ending(name, tools), arguments)
        case (str(name), dict(arguments)):
            return Call(name, arguments)
    raise TypeError(f"no step: {step!r}")


def _shell(command: str, tools: Sequence[Tool]) -> Call:
    tool = _named(_SHELLS, tools)
    name = _property(_COMMANDS, tool)
    as_list = tool.schema["properties"][name].get("type") == "array"
    return _call(tool, {name: ["bash", "-c", command] if as_list else command})


def _read(path: str, tools: Sequence[Tool]) -> Call:
    try:
        tool = _named(_READERS, tools)
    except NotOffered:
        return _shell(f"cat {shlex.quote(path)}", tools)
    return _call(tool, {_property(_PATHS, tool): path})


def _ask(question: str, choices: Sequence[str], tools: Sequence[Tool]) -> Call:
    tool = _named(_ASKERS, tools)
    if "questions" not in tool.schema.get("properties", {}):
        return _call(tool, {"question": question, "choices": list(choices)})
    options = [{"label": choice, "description": choice} for choice in choices]
    asked = {"question": question, "header": "Question", "multiSelect": False, "options": options}
    return _call(tool, {"questions": [asked]})


def _call(tool: Tool, arguments: Mapping[str, Any]) -> Call:
    """With something for every argument that the tool insists on."""
    needed = [name for name in tool.schema.get("required", ()) if name not in arguments]
    more = {name: _anything(tool.schema["properties"].get(name, {})) for name in needed}
    return Call(tool.name, {**arguments, **more}, tool.namespace)


def _anything(schema: Mapping[str, Any]) -> Any:
    return {"boolean": False, "number": 0, "integer": 0, "array": [], "object": {}}.get(
        str(schema.get("type", "")).lower(), "as asked"
    )


def _named(names: Sequence[str], tools: Sequence[Tool]) -> Tool:
    offered = {tool.name: tool for tool in tools}
    for name in names:
        if name in offered:
            return offered[name]
    raise NotOffered(f"none of {', '.join(names)}; there are {', '.join(offered)}")


def _ending(name: str, tools: Sequence[Tool]) -> Tool:
    """`recall`, `mcp__holdfast__recall`, `holdfast_recall`, `holdfast-recall` are the same tool."""
    for tool in tools:
        if tool.name == name or (tool.name.endswith(name) and tool.name[-len(name) - 1] in "_-./"):
            return tool
    raise NotOffered(f"no tool ending in {name}; there are {', '.join(tool.name for tool in tools)}")


def _property(names: Sequence[str], tool: Tool) -> str:
    known = tool.schema.get("properties", {})
    for name in names:
        if name in known:
            return name
    raise NotOffered(f"{tool.name} takes {', '.join(known)}")
