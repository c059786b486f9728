"""What Copilot CLI's lines hold, as far as it is used here, and what its tools do."""

from __future__ import annotations

from msgspec import Raw, Struct

from holdfast.model.session import Action, Usage

ACTIONS: dict[str, Action] = {
    "bash": "shell",
    "powershell": "shell",
    "local_shell": "shell",
    "create": "edit",
    "edit": "edit",
    "str_replace_editor": "edit",
    "apply_patch": "edit",
    "view": "read",
    "show_file": "read",
    "grep": "search",
    "rg": "search",
    "glob": "search",
    "lsp": "search",
    "web_fetch": "web",
    "web_search": "web",
    "fetch_copilot_cli_documentation": "web",
    "ask_user": "ask",
    "exit_plan_mode": "plan",
    "update_todo": "todo",
    "task": "agent",
}


class Tokens(Struct):
    model: str | None = None
    inputTokens: float | None = None
    outputTokens: float | None = None
    cacheReadTokens: float | None = None
    cacheWriteTokens: float | None = None


class Metrics(Struct):
    usage: Tokens | None = None


class Context(Struct):
    cwd: str | None = None
    branch: str | None = None


class Shell(Struct):
    exitCode: int | None = None


class Data(Struct):
    sessionId: str | None = None
    copilotVersion: str | None = None
    context: Raw = Raw(b"")
    content: Raw = Raw(b"")
    source: str | None = None
    parentToolCallId: str | None = None
    toolCallId: str | None = None
    toolName: str | None = None
    arguments: Raw = Raw(b"")
    success: bool | None = None
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")
    shellExecution: Shell | None = None
    usage: Raw = Raw(b"")
    modelMetrics: dict[str, Metrics] | None = None
    summaryContent: str | None = None
    message: Raw = Raw(b"")
    kind: Raw = Raw(b"")
    response: Raw = Raw(b"")


class Line(Struct):
    type: str | None = None
    data: Data | None = None
    id: str | None = None
    agentId: str | None = None
    timestamp: str | None = None


def usage_of(tokens: Tokens) -> Usage:
    """Input is stated with what was read from and written to the cache."""
    prompt, read, written = (
        round(count or 0) for count in (tokens.inputTokens, tokens.cacheReadTokens, tokens.cacheWriteTokens)
    )
    return Usage(max(prompt - read - written, 0), round(tokens.outputTokens or 0), read, written)
