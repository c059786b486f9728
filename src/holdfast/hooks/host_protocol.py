"""How each host speaks: its events, payloads and answers, to and from the words of Claude Code, which are ours."""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping


START, PROMPT, MOMENT = "SessionStart", "UserPromptSubmit", "PreToolUse"
STOP, COMPACT, END = "Stop", "PreCompact", "SessionEnd"
CAPTURED = (STOP, COMPACT, END)

_SAME = {event: event for event in (START, PROMPT, MOMENT, STOP, COMPACT, END)}
# What each host calls our events; others are not listened to.
EVENTS = {
    "claude-code": _SAME,
    "codex": _SAME,
    "qwen": {
        **{event: event for event in (START, PROMPT, STOP, COMPACT, END)},
        "PostToolUse": MOMENT,
        "PostToolUseFailure": MOMENT,
        "StopFailure": STOP,
    },
    "opencode": _SAME,  # a plugin of ours speaks for it
    "gemini": {
        "SessionStart": START,
        "BeforeAgent": PROMPT,
        "BeforeTool": MOMENT,
        "AfterTool": MOMENT,
        "AfterAgent": STOP,
        "SessionEnd": END,
    },
    "copilot": {
        "sessionStart": START,
        "userPromptSubmitted": PROMPT,
        "preToolUse": MOMENT,
        "agentStop": STOP,
        "preCompact": COMPACT,
        "sessionEnd": END,
        **_SAME,  # from files that were written for Claude Code, which it reads too
    },
    "cursor": {
        "sessionStart": START,
        "postToolUse": MOMENT,
        "stop": STOP,
        "preCompact": COMPACT,
        "sessionEnd": END,
    },
}

# Names in a payload that differ from ours.
_FIELDS = {
    "copilot": {
        "sessionId": "session_id",
        "transcriptPath": "transcript_path",
        "toolName": "tool_name",
        "toolArgs": "tool_input",
    },
    "cursor": {"conversation_id": "session_id"},
}
_SOURCES = {"new": "startup"}
# Tools that run a command line, and those that ask the person, as each host calls them.
_TOOLS = {
    "run_shell_command": "Bash",
    "bash": "Bash",
    "shell": "Bash",
    "Shell": "Bash",
    "exec_command": "Bash",
    "request_user_input": "AskUserQuestion",  # Codex asks in the same shape
    "ask_user": "AskUserQuestion",
    "ask_user_question": "AskUserQuestion",
}
# Events at which a tool has been called already.
_AFTERWARDS = frozenset(("AfterTool", "PostToolUse", "PostToolUseFailure", "postToolUse"))
# What is said at these does not reach the model.
_UNHEARD = frozenset((("gemini", "BeforeTool"),))
# Hosts that compact a session without an event.
UNTOLD_COMPACTION = frozenset(("gemini",))
# Hosts whose transcripts do not show that a session ran without a person.
UNTOLD_HEADLESS = frozenset(("gemini", "qwen"))
# As a payload of each host has it, which no prompt can: quotes within a text are escaped.
NO_PROMPT = b'"prompt":""'
# By these a payload tells that a person is about to be asked something.
ASKS = (b"AskUserQuestion", b"ask_user", b"request_user_input", b'"question"')
# Hosts that show a message to the person: `systemMessage` beside whatever else a hook answers.
SHOWS = frozenset(("claude-code", "codex", "gemini", "qwen", "opencode"))
# The variable in which a host names the directory that it was started for.
_PROJECT = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "gemini": "GEMINI_PROJECT_DIR",
    "qwen": "QWEN_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "opencode": "HOLDFAST_PROJECT_DIR",
    "copilot": "COPILOT_PROJECT_DIR",
}
# These name none, and start a hook where the session is.
_IN_PLACE = frozenset(("codex",))
# Where a variable says which process the host is. That of one agent is inherited by another that it started.
_PROCESS = {"claude-code": ("CLAUDE_PID",)}
_PROCESS_OF_ANY = ("HOLDFAST_HOST_PID",)
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout"))
MOST_PARENTS = 4


class Call:
    """One call of a host: who, its own name of the event and ours, and what it says in our words."""

    def __init__(self, host: str, theirs: str, event: str, payload: dict[str, object]) -> None:
        self.host = host
        self.theirs = theirs
        self.event = event
        self.payload = understood(host, payload)
        self.afterwards = theirs in _AFTERWARDS
        self.heard = (host, theirs) not in _UNHEARD  # whether what is said now reaches the model

    def failed(self) -> bool:
        """Whether a command that has run ended badly."""
        if self.theirs == "PostToolUseFailure":
            return True
        if self.host == "cursor":
            output = _arguments(self.payload.get("tool_output"))
            return isinstance(output, dict) and output.get("exitCode", 0) not in (0, None)
        answer = self.payload.get("tool_response")
        if self.theirs != "AfterTool" or not isinstance(answer, dict):
            return False
        output = answer.get("llmContent")  # with the code of those only that ended badly
        return bool(answer.get("error")) or (isinstance(output, str) and "\nExit Code: " in output)

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""


def event_of(host: str, event: str) -> str:
    """Our name of a host's event; '' where it is none of ours.

    A host that is not known here came with another package, whose agents speak as Claude Code does.
    """
    host_events = EVENTS.get(host)
    if host_events is None:
        host_events = _SAME if host.replace("-", "").replace("_", "").isalnum() else {}
    return host_events.get(event, "")


def named(payload: dict[str, object], words: list[str]) -> dict[str, object]:
    """A payload of a host whose installed command says what it calls our fields: `session_id=conversationId`."""
    pairs = [word.split("=", 1) for word in words if "=" in word]
    return {
        **payload,
        **{our_name: payload[host_name] for our_name, host_name in pairs if host_name in payload},
    }


def speaker(host: str, payload: Mapping[str, object], env: Mapping[str, str]) -> str:
    """Who really calls. Copilot CLI runs hooks that a repository has for Claude Code, and sends a time with each."""
    if host == "claude-code" and env.get("COPILOT_CLI") and "timestamp" in payload:
        return "copilot"
    if host == "claude-code" and env.get("CURSOR_VERSION") and "cursor_version" in payload:
        return "cursor"  # which runs a person's hooks for Claude Code, if they let it
    return host


def understood(host: str, payload: dict[str, object]) -> dict[str, object]:
    """A host's payload in our words."""
    if host == "claude-code":
        return payload
    names = _FIELDS.get(host)
    if names:
        payload = {names.get(name, name): value for name, value in payload.items()}
    if host == "copilot":
        payload["tool_input"] = _asked(_arguments(payload.get("tool_input")))
    if host == "cursor":
        _placed(payload)
    source, tool, prompt = payload.get("source"), payload.get("tool_name"), payload.get("prompt")
    if isinstance(source, str) and source in _SOURCES:
        payload["source"] = _SOURCES[source]
    if isinstance(tool, str) and tool in _TOOLS:
        payload["tool_name"] = _TOOLS[tool]
    if host == "gemini" and isinstance(prompt, str):
        payload["prompt"] = _said(prompt)
    return payload


def _placed(payload: dict[str, object]) -> None:
    """Cursor names all folders of a window where others name one, and marks sessions without a person."""
    roots = payload.get("workspace_roots")
    if not payload.get("cwd") and isinstance(roots, list) and roots:
        payload["cwd"] = roots[0]
    if payload.get("is_background_agent") is True:
        payload["agent_id"] = payload.get("session_id")


def _arguments(given: object) -> object:
    """A call's arguments; some versions send them as JSON in a string."""
    if not isinstance(given, str):
        return given
    from holdfast.core.bare_json import loads

    try:
        return loads(given)
    except (ValueError, RecursionError):
        return None


def _asked(given: object) -> object:
    """The arguments of a call, with a person's question as we know it where it asks one."""
    if not isinstance(given, dict) or not ("requestedSchema" in given or "choices" in given):
        return given
    from holdfast.hooks.copilot_form import with_questions

    return with_questions(given)


def _said(prompt: str) -> str:
    """What the person said: before it stands what hooks told at the start, after it what files were named hold."""
    begin, end = "<hook_context>", "</hook_context>"
    while prompt.startswith(begin) and end in prompt:
        prompt = prompt.partition(end)[2].lstrip()
    return prompt.partition("\n--- Content from referenced files ---")[0]


def answer(host: str, event: str, context: str, notice: str, more: Mapping[str, object]) -> bytes:
    """What the host reads: `context` for the model, `notice` for the person, `more` beside the context.

    `event` is the host's own name of it.
    """
    from holdfast.core.bare_json import dumps

    if host == "copilot":
        output: dict[str, object] = {"additionalContext": context} if context else {}
        changed = more.get("updatedInput")
        if isinstance(changed, dict):
            from holdfast.hooks.copilot_form import noted

            form = noted(changed)
            if form is not None:
                output["modifiedArgs"] = form
    elif host == "cursor":
        output = {"additional_context": context} if context else {}
    else:
        inner: dict[str, object] = {"hookEventName": event}
        if context:
            inner["additionalContext"] = context
        if host == "codex" and "updatedInput" in more:
            inner["permissionDecision"] = (
                "allow"  # it takes a change with this word only; nothing else follows
            )
        if host == "gemini" and "updatedInput" in more:
            more = {"tool_input": more["updatedInput"]}
        output = {"hookSpecificOutput": {**inner, **more}}
        if notice:
            output = {"systemMessage": notice, **output}
    return dumps(output).encode() if output else b""


def with_notice(answer: bytes, notice: str) -> bytes:
    """A hook's answer with a message for the person, after the one that it has."""
    from holdfast.core.bare_json import dumps, loads

    output = loads(answer) if answer else {}
    before = output.get("systemMessage")
    output = {**output, "systemMessage": f"{before}\n{notice}" if before else notice}
    return dumps(output).encode()


def project_of(host: str, env: Mapping[str, str]) -> str:
    """The directory that a session belongs to, where the host says so in the environment; else ''."""
    return env.get(_PROJECT.get(host, ""), "")


def place_of(host: str, env: Mapping[str, str]) -> str:
    """Where a session is, as far as that can be told without its payload; else ''."""
    return project_of(host, env) or (os.getcwd() if host in _IN_PLACE else "")


def process_of(host: str, env: Mapping[str, str]) -> int:
    """The host's process: its end tells that a session was killed. 0 where it cannot be told."""
    for name in (*_PROCESS_OF_ANY, *_PROCESS.get(host, ())):
        number = env.get(name, "")
        if number.isdecimal() and len(number) < 10:
            return int(number)
    return _ancestor()


def _ancestor() -> int:
    """Who started the shell that started this hook."""
    process = os.getppid()
    for _ in range(MOST_PARENTS):
        try:
            with open(f"/proc/{process}/stat", "rb") as file:
                head, _, rest = file.read(4096).rpartition(b")")
        except OSError:
            return 0  # no such folder outside Linux
        if head.partition(b"(")[2].decode("utf-8", "replace") not in _SHELLS:
            return process
        process = int(rest.split()[1])
    return 0
