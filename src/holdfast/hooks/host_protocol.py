"""Translates each host's events, payloads and answers to and from those of Claude Code, which we use internally."""

from __future__ import annotations

import os
import time

from holdfast.core.reading import bytes_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping


START, PROMPT, MOMENT = "SessionStart", "UserPromptSubmit", "PreToolUse"
STOP, COMPACT, END = "Stop", "PreCompact", "SessionEnd"
CAPTURED = (STOP, COMPACT, END)
READ = "Read"
FILE_TOOLS = frozenset((READ, "Edit", "Write"))

_SAME = {event: event for event in (START, PROMPT, MOMENT, STOP, COMPACT, END)}
# Each host's names of our events; other events are ignored.
EVENTS = {
    "claude-code": _SAME,
    "codex": _SAME,
    "qwen": {
        **{event: event for event in (START, PROMPT, STOP, COMPACT, END)},
        "PostToolUse": MOMENT,
        "PostToolUseFailure": MOMENT,
        "StopFailure": STOP,
    },
    "opencode": _SAME,  # our plugin sends these
    "kilo": _SAME,  # the same plugin
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
        **_SAME,  # from files written for Claude Code, which it reads too
    },
    "cursor": {
        "sessionStart": START,
        "beforeSubmitPrompt": PROMPT,
        "postToolUse": MOMENT,
        "stop": STOP,
        "preCompact": COMPACT,
        "sessionEnd": END,
    },
}

# Payload fields whose names differ from ours.
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
# Each host's names of tools that run a command line, ask the person, read a file or change one.
_TOOLS = {
    "run_shell_command": "Bash",
    "run_terminal_command": "Bash",
    "bash": "Bash",
    "shell": "Bash",
    "Shell": "Bash",
    "exec_command": "Bash",
    "request_user_input": "AskUserQuestion",  # Codex uses the same format
    "ask_user": "AskUserQuestion",
    "ask_user_question": "AskUserQuestion",
    "read_file": "Read",
    "read": "Read",
    "view": "Read",
    "replace": "Edit",
    "search_replace": "Edit",
    "edit": "Edit",
    "write_file": "Write",
    "write": "Write",
    "create": "Write",
}
# Events after a tool call.
_AFTERWARDS = frozenset(("AfterTool", "PostToolUse", "PostToolUseFailure", "postToolUse"))
# The model does not see the answers to these. Cursor's own code takes context from a hook for prompts and drops it.
# Grok Build runs the hooks of Claude Code and Cursor, and reads only the answers to those at a tool call.
_UNHEARD = frozenset(
    (
        ("gemini", "BeforeTool"),
        ("cursor", "beforeSubmitPrompt"),
        ("grok", "SessionStart"),
        ("grok", "UserPromptSubmit"),
        ("grok", "sessionStart"),
        ("grok", "beforeSubmitPrompt"),
    )
)
# Hosts that compact a session without an event.
UNTOLD_COMPACTION = frozenset(("gemini",))
# Hosts whose transcripts do not show that a session ran without a person.
UNTOLD_HEADLESS = frozenset(("gemini", "qwen"))
# An empty prompt in the payload of every host. No prompt can contain this text: quotes within a text are escaped.
NO_PROMPT = b'"prompt":""'
# Names in a payload that show that a person is about to be asked something.
ASKS = (b"AskUserQuestion", b"ask_user", b"request_user_input", b'"question"')
# Keys of a payload in JSON: a command line, the path of a file, the session.
COMMANDS = (b'"command"', b'"cmd"')
PATHS = (b'"file_path"', b'"filePath"', b'"absolute_path"', b'"path"')
SESSIONS = (b'"session_id"', b'"sessionId"', b'"conversation_id"')
# Hosts that show `systemMessage` to the person, beside the rest of a hook's answer.
SHOWS = frozenset(("claude-code", "codex", "gemini", "qwen", "opencode", "kilo"))
# The variable with the directory that a host was started for.
_PROJECT = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "gemini": "GEMINI_PROJECT_DIR",
    "qwen": "QWEN_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "opencode": "HOLDFAST_PROJECT_DIR",
    "kilo": "HOLDFAST_PROJECT_DIR",
    "copilot": "COPILOT_PROJECT_DIR",
}
# These have no such variable, and run a hook in the session's directory.
_IN_PLACE = frozenset(("codex",))
# The variable with the process id of the host. An agent started by another one inherits it.
_PROCESS = {"claude-code": ("CLAUDE_PID",)}
_PROCESS_OF_ANY = ("HOLDFAST_HOST_PID",)
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout"))
MOST_PARENTS = 4
_SHORT = ("session_id", "agent_id", "source")
LONGEST_ID = 512  # characters
MOST_ASKED = 20_000  # characters of a prompt in which a person may ask to remember something


class Call:
    """One hook call: the host, its name of the event and ours, and the payload with our field names."""

    def __init__(self, host: str, theirs: str, event: str, payload: dict[str, object]) -> None:
        self.host = host
        self.theirs = theirs
        self.event = event
        self.payload = understood(host, payload)
        for name in _SHORT:  # these are written to the trace
            value = self.payload.get(name)
            if isinstance(value, str) and len(value) > LONGEST_ID:
                self.payload[name] = value[:LONGEST_ID]
        self.afterwards = theirs in _AFTERWARDS
        self.heard = (host, theirs) not in _UNHEARD  # whether the model sees the answer
        self.now = time.time()  # what is told is as of this moment; a backtest sets it to the past

    def failed(self) -> bool:
        """Whether a command has failed."""
        if self.theirs == "PostToolUseFailure":
            return True
        if self.host == "cursor":
            output = _arguments(self.payload.get("tool_output"))
            return isinstance(output, dict) and output.get("exitCode", 0) not in (0, None)
        answer = self.payload.get("tool_response")
        if self.theirs != "AfterTool" or not isinstance(answer, dict):
            return False
        output = answer.get("llmContent")  # has an exit code only for failures
        return bool(answer.get("error")) or (isinstance(output, str) and "\nExit Code: " in output)

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""


def event_of(host: str, event: str) -> str:
    """Our name of a host's event; '' when we have none.

    An unknown host comes from a plugin package, whose agents use the events of Claude Code.
    """
    host_events = EVENTS.get(host)
    if host_events is None:
        host_events = _SAME if host.replace("-", "").replace("_", "").isalnum() else {}
    return host_events.get(event, "")


def is_alone(host: str) -> bool:
    """Whether the start of a session is all that a host lets us say before it works: nothing is heard at prompts."""
    events = EVENTS.get(host, {})
    return bool(events) and not any(
        event == PROMPT and (host, theirs) not in _UNHEARD for theirs, event in events.items()
    )


def named(payload: dict[str, object], words: list[str]) -> dict[str, object]:
    """Renames payload fields as the installed command says: `session_id=conversationId`."""
    pairs = [word.split("=", 1) for word in words if "=" in word]
    return {
        **payload,
        **{our_name: payload[host_name] for our_name, host_name in pairs if host_name in payload},
    }


def speaker(host: str, payload: Mapping[str, object], env: Mapping[str, str]) -> str:
    """The actual host. Copilot CLI runs a repository's hooks for Claude Code, and sends a time with each call."""
    if host in ("claude-code", "cursor") and env.get("GROK_HOOK_EVENT") and "hookEventName" in payload:
        return "grok"
    if host == "claude-code" and env.get("COPILOT_CLI") and "timestamp" in payload:
        return "copilot"
    if host == "claude-code" and env.get("CURSOR_VERSION") and "cursor_version" in payload:
        return "cursor"  # it runs the user's hooks for Claude Code, if they allow it
    return host


def understood(host: str, payload: dict[str, object]) -> dict[str, object]:
    """A host's payload with our names."""
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
    """Cursor sends all folders of a window where others send one, and marks headless sessions."""
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
    """The arguments of a call; a question to the person is converted to our format."""
    if not isinstance(given, dict) or not ("requestedSchema" in given or "choices" in given):
        return given
    from holdfast.hooks.copilot_form import with_questions

    return with_questions(given)


def _said(prompt: str) -> str:
    """The person's own text, without the hook output before it and the contents of mentioned files after it."""
    begin, end = "<hook_context>", "</hook_context>"
    while prompt.startswith(begin) and end in prompt:
        prompt = prompt.partition(end)[2].lstrip()
    return prompt.partition("\n--- Content from referenced files ---")[0]


def answer(host: str, event: str, context: str, notice: str, more: Mapping[str, object]) -> bytes:
    """The answer in the host's format: `context` for the model, `notice` for the person, `more` beside the context.

    `event` is the host's own name of the event.
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
            inner["permissionDecision"] = "allow"  # required for a changed input; it has no other effect
        if host == "gemini" and "updatedInput" in more:
            more = {"tool_input": more["updatedInput"]}
        output = {"hookSpecificOutput": {**inner, **more}}
        if notice:
            output = {"systemMessage": notice, **output}
    return dumps(output).encode() if output else b""


def with_notice(answer: bytes, notice: str) -> bytes:
    """Appends a message for the person to a hook's answer."""
    from holdfast.core.bare_json import dumps, loads

    output = loads(answer) if answer else {}
    before = output.get("systemMessage")
    output = {**output, "systemMessage": f"{before}\n{notice}" if before else notice}
    return dumps(output).encode()


def project_of(host: str, env: Mapping[str, str]) -> str:
    """The directory that a session belongs to, if the host sets it in the environment; else ''."""
    return env.get(_PROJECT.get(host, ""), "")


def place_of(host: str, env: Mapping[str, str]) -> str:
    """The directory of a session, as far as it is known without the payload; else ''."""
    return project_of(host, env) or (os.getcwd() if host in _IN_PLACE else "")


def process_of(host: str, env: Mapping[str, str]) -> int:
    """The host's process id, to detect a killed session; 0 when unknown."""
    for name in (*_PROCESS_OF_ANY, *_PROCESS.get(host, ())):
        number = env.get(name, "")
        if number.isdecimal() and len(number) < 10:
            return int(number)
    return _ancestor()


def _ancestor() -> int:
    """The parent of the shell that started this hook."""
    process = os.getppid()
    for _ in range(MOST_PARENTS):
        status = bytes_of(f"/proc/{process}/stat", 4096)
        if status is None:
            return 0  # no such folder outside Linux
        head, _, rest = status.rpartition(b")")
        if head.partition(b"(")[2].decode("utf-8", "replace") not in _SHELLS:
            return process
        process = int(rest.split()[1])
    return 0
