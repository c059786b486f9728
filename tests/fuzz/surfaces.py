"""Targets for what other programs send: payloads of hooks, requests of MCP clients, archives."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.fuzz.mutations import join_files, split_files
from tests.fuzz.oracles import Target, require, require_one_line
from tests.fuzz.world import World
from tests.store.test_bundle import manifest_for

from holdfast.core import fence
from holdfast.core.errors import HoldfastError
from holdfast.flows.portability import restore
from holdfast.guard.hidden_text import has_hidden
from holdfast.hooks.host_protocol import EVENTS
from holdfast.hooks.respond import MOST_CONTEXT
from holdfast.store.bundle import Source, check_bundle, write_bundle

FENCED = re.compile(
    rf"\[holdfast ([a-z0-9]{{6}}): {re.escape(fence.PURPOSE)}\]\n(.*?)\n\[/holdfast \1\]", re.DOTALL
)
_MOST_CALLS = 4  # of one input

# --- hooks ---------------------------------------------------------------------------------------------

_INNER = {"hookEventName", "additionalContext", "updatedInput", "tool_input", "permissionDecision"}
_OUTER = {"systemMessage", "hookSpecificOutput"}


def hook_target() -> Target:
    world = World()

    def check(data: bytes) -> None:
        world.forget_traces()
        for line in data.split(b"\n")[:_MOST_CALLS]:
            host, event, payload = _call(line)
            printed = world.run_hook([host, event], payload)
            _require_shape(host, event, printed)
            _require_no_fault(world.memory / "hook.log")

    return Target("hooks", check, tuple(_hook_seeds(world.repo)), _HOOK_WORDS, close=world.close)


def _call(line: bytes) -> tuple[str, str, bytes]:
    """The host, the event and the payload of a line; one of another form is a payload as a broken host sends it."""
    with suppress(ValueError, RecursionError, TypeError):
        host, event, payload = json.loads(line)
        if isinstance(host, str) and isinstance(event, str):
            text = payload if isinstance(payload, str) else json.dumps(payload)
            return host, event, text.encode("utf-8", "surrogatepass")
    return "claude-code", "UserPromptSubmit", line


def _require_no_fault(log: Path) -> None:
    """Hooks survive every error and write it down: a line that is about no payload is a fault of ours."""
    if log.exists():
        faults = [line for line in log.read_text(encoding="utf-8").splitlines() if ": payload: " not in line]
        require(not faults, f"fault in hook.log: {faults[:3]}")


def _require_shape(host: str, event: str, printed: bytes) -> None:
    if not printed:
        return
    answer = json.loads(printed)
    if host == "copilot":
        require(
            set(answer) <= {"additionalContext", "modifiedArgs", "systemMessage"},
            f"answer has other keys: {set(answer)}",
        )
        context = answer.get("additionalContext", "")
    elif host == "cursor":
        require(
            set(answer) <= {"additional_context", "systemMessage"}, f"answer has other keys: {set(answer)}"
        )
        context = answer.get("additional_context", "")
    else:
        inner = answer.get("hookSpecificOutput", {})
        require(
            set(answer) <= _OUTER and set(inner) <= _INNER,
            f"answer has other keys: {set(answer)} {set(inner)}",
        )
        require(inner.get("hookEventName", event) == event, "answer names another event")
        context = inner.get("additionalContext", "")
    if context:
        _require_fenced(context)
    said = answer.get("systemMessage", "")
    require(
        isinstance(said, str) and not has_hidden(said.replace("\n", " ")),
        f"hidden text for the person: {said[:200]!r}",
    )


def _require_fenced(context: str) -> None:
    match = FENCED.fullmatch(context)
    require(match is not None, f"not the fenced shape: {context[:200]!r}")
    assert match is not None
    lines = match[2].split("\n")
    require(not any(map(fence.imitates, lines)), f"fence within the fence: {context[:300]!r}")
    require(len(match[2]) <= MOST_CONTEXT, "more context than is allowed")
    require(not any(map(has_hidden, lines)), f"hidden text for the model: {context[:300]!r}")


def _hook_seeds(repo: Path) -> Iterator[bytes]:
    """A call of each host and event, then calls that follow each other."""
    for host, events in EVENTS.items():
        yield from (_line(host, event, repo) for event in events)
    for host in EVENTS:
        names = {ours: theirs for theirs, ours in EVENTS[host].items()}
        order = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PreCompact", "Stop")
        yield b"\n".join(_line(host, names[event], repo) for event in order if event in names)
    for host, events in EVENTS.items():
        names = {ours: theirs for theirs, ours in events.items()}
        for tool, given in _TOOL_CALLS:
            yield _line(host, names["PreToolUse"], repo, tool_name=tool, tool_input=given)
        for prompt in _PROMPTS if "UserPromptSubmit" in names else ():
            yield _line(host, names["UserPromptSubmit"], repo, prompt=prompt)
        for source in ("resume", "compact", "clear"):
            yield _line(host, names["SessionStart"], repo, source=source)


_TOOL_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Bash", {"command": "cd . && python -m pytest tests/test_tokens.py; cat src/reef.py | head"}),
    ("Read", {"file_path": "src/reef.py"}),
    ("Edit", {"file_path": "src/reef.py", "old_string": "a", "new_string": "b"}),
    (
        "AskUserQuestion",
        {
            "questions": [
                {
                    "question": "Which database do we use?",
                    "options": [{"label": "PostgreSQL", "description": "x"}, {"label": "SQLite"}],
                }
            ]
        },
    ),
)
_PROMPTS = (
    "keep refund small: refactor the refund module",
    "fix the rate limits of the token bucket in src/reef.py",
    "Which database do we use?",
    "<hook_context>x</hook_context> how do I run the tests here?",
)


def _line(host: str, event: str, repo: Path, **more: Any) -> bytes:
    payload: dict[str, Any] = {
        "session_id": "0dd89f7c-4b6d-4da4-93fc-bb732d2260fd",
        "transcript_path": str(repo / "none.jsonl"),
        "cwd": str(repo),
        "source": "startup",
        "prompt": "how do refunds round, and what did we decide about the tide tables?",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q tests/test_reef.py"},
        "tool_response": {"exit_code": 1, "stderr": "no such option"},
        **more,
    }
    if host == "copilot":
        names = {
            "session_id": "sessionId",
            "transcript_path": "transcriptPath",
            "tool_name": "toolName",
            "tool_input": "toolArgs",
        }
        payload = {names.get(name, name): value for name, value in payload.items()}
    if host == "cursor":
        payload["conversation_id"] = payload.pop("session_id")
    return json.dumps([host, event, payload]).encode()


_HOOK_WORDS = tuple(
    word.encode()
    for word in (
        *EVENTS, *sorted({name for events in EVENTS.values() for name in events}), "session_id", "sessionId", "conversation_id",
        "agent_id", "cwd", "source", "startup", "resume", "compact", "clear", "prompt", "tool_name", "tool_input", "toolArgs", "command",
        "file_path", "filePath", "path", "questions", "question", "options", "label", "requestedSchema", "choices", "transcript_path",
        "/dev/zero", "/proc/self/environ", "/", "<hook_context>", "</hook_context>", "Bash", "Read", "AskUserQuestion", "ask_user",
    )
)  # fmt: skip


# --- MCP -----------------------------------------------------------------------------------------------


def mcp_target() -> Target:
    from holdfast.mcp.server import BoundedLines, Session
    from holdfast.mcp.tools import TOOLS

    world = World()
    session = Session(world.repo)
    faults: list[Exception] = []
    session._fault = lambda what, error: faults.append(error) or "fault"  # type: ignore[method-assign,func-returns-value]
    writes = {tool.name for tool in TOOLS if tool.writes}

    def check(data: bytes) -> None:
        faults.clear()
        called: set[str] = set()
        lines = BoundedLines(BytesIO(data))
        try:
            for _ in range(_MOST_CALLS):
                if not (line := lines.readline()):
                    break
                called.add(_answer(session, line))
                if faults:
                    raise faults[0]
        finally:
            if called & writes:
                world.restore()

    return Target("mcp", check, tuple(_mcp_seeds()), _mcp_words(), close=world.close)


def _answer(session: Any, line: str) -> str:
    """Sends a line of a client through the SDK's own types to our tools and files; returns the tool's name."""
    import mcp.types as types
    import pydantic
    from mcp.shared.exceptions import MCPError

    from holdfast.mcp.server import _Call

    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (pydantic.ValidationError, ValueError, RecursionError):
        return ""  # the SDK answers these itself
    method, params = getattr(message, "method", ""), getattr(message, "params", None)
    try:
        if method == "tools/call":
            call = types.CallToolRequestParams.model_validate(params, by_name=False)
            text, _ = session._answer_alone(call.name, call.arguments or {}, "client", _Call())
            _require_plain(text)
            return call.name
        if method == "resources/read":
            _require_plain(
                session._file(types.ReadResourceRequestParams.model_validate(params, by_name=False).uri)
            )
    except pydantic.ValidationError:
        return ""
    except MCPError as error:
        require("\n" not in str(error), f"error is not one line: {error}")
    return ""


def _require_plain(text: str) -> None:
    text.encode()
    require(not any(map(has_hidden, text.split("\n"))), f"hidden text for the model: {text[:300]!r}")
    outside = FENCED.sub("", text)
    require(not any(map(fence.imitates, outside.split("\n"))), f"fence that is not closed: {text[:300]!r}")


def _mcp_seeds() -> Iterator[bytes]:
    given: dict[str, list[dict[str, Any]]] = {
        "recall": [{"task": "round refunds in cents"}, {"task": "refund", "budget": 50}, {"task": "refund", "brief": True, "budget": 400}],
        "open": [{"place": "current.md:3"}, {"place": "F-w2094e"}, {"place": "../../../etc/passwd"}],
        "remember": [
            {"kind": "decision", "text": "Round in cents", "because": "floats drift"},
            {"kind": "fact", "text": "port 8080", "command": "ss", "evidence": "*:8080"},
            {"kind": "todo", "text": "tidy up refund"},
        ],
        "question": [{"question": "Who owns refund?"}, {"question": "Who owns refund?", "answer": "Ada"}],
        "correct": [{"id": "F-w2094e", "action": "reject", "because": "wrong"}],
    }  # fmt: skip
    for name, calls in given.items():
        for arguments in calls:
            yield _request("tools/call", {"name": name, "arguments": arguments})
    from holdfast.mcp.tools import TOOLS

    for tool in TOOLS:  # whatever a tool takes, as its schema says
        properties = tool.schema()["properties"]
        arguments = {name: _value_of(property) for name, property in properties.items()}
        yield _request("tools/call", {"name": tool.name, "arguments": arguments})
    yield _request("resources/read", {"uri": "holdfast:///current.md"})
    yield _request("resources/read", {"uri": "holdfast:///../../etc/passwd"})


def _value_of(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kinds: dict[str, Any] = {"integer": 3, "number": 1.5, "boolean": True, "array": ["x"], "object": {}}
    return kinds.get(str(schema.get("type")), "refund")


def _request(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def _mcp_words() -> tuple[bytes, ...]:
    from holdfast.mcp.tools import TOOLS

    fields = {name for tool in TOOLS for name in tool.schema()["properties"]}
    choices = {
        str(value)
        for tool in TOOLS
        for part in tool.schema()["properties"].values()
        for value in part.get("enum", ())
    }
    names = {
        *fields,
        *choices,
        *(tool.name for tool in TOOLS),
        "holdfast:///",
        "holdfast:///reference.md",
        "tools/call",
        "resources/read",
    }
    return tuple(sorted(name.encode() for name in names))


# --- archives ------------------------------------------------------------------------------------------


def archive_target() -> Target:
    """Archives as bytes: an input that is not compressed is compressed first, so that changes reach the tar."""
    world = World()
    path = world.folder / "fuzz.tar.gz"
    seed = world.archive()

    def check(data: bytes) -> None:
        path.write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1))
        try:
            check_bundle(path)
        except HoldfastError as error:
            require_one_line(error)
            return
        _restored(world, path)

    small = _members_of(seed, 2_000)
    words = (
        b"ustar",
        b"manifest.json",
        b"memory/",
        b"../",
        b"\x00" * 8,
        b"2" * 12,
        b"\x80",
        b"0000000",
        b'"size": ',
        b'"path": "',
    )
    return Target("archive", check, (_tar(small), _packed(world, small)), words, close=world.close)


def archive_members_target() -> Target:
    """Archives that are whole, with any files in them: what they hold is taken in as text, never as it is."""
    world = World()
    path = world.folder / "fuzz.tar.gz"
    seed = world.archive()

    def check(data: bytes) -> None:
        names, contents = split_files(data)
        sources = [Source(name, content) for name, content in dict(zip(names, contents, strict=True)).items()]
        try:
            write_bundle(path, manifest_for(sources), sources, force=True)
        except (HoldfastError, ValueError, OSError):
            return  # an archive that export would not write
        _restored(world, path)

    members = _members_of(seed, 20_000)
    texts = {name: content for name, content in members.items() if not name.endswith(".db")}
    return Target(
        "archive-members",
        check,
        (join_files(texts), join_files(members)),
        (b"<private>", b"T-", b"D-", b"../"),
        close=world.close,
    )


def _restored(world: World, path: Path) -> None:
    """Restores it in both ways. A refusal changes nothing, and nothing is written beside the memory."""
    before = _below(world)
    try:
        restore(world.machine(), world.project, str(path), "0.1.0", "merge", dry_run=True)
        require(_below(world) == before, "dry run of restore changes something")
        restore(world.machine(), world.project, str(path), "0.1.0", "merge")
    except HoldfastError as error:
        require_one_line(error)
        require(_below(world) == before, f"refused archive changes something: {error}")
        return
    changed = {name for name, _ in before ^ _below(world)}
    allowed = (str(world.memory), str(world.home / ".holdfast"), str(world.repo / ".holdfast"))
    require(all(name.startswith(allowed) for name in changed), f"written elsewhere: {sorted(changed)[:5]}")
    world.restore()


def _below(world: World) -> set[tuple[str, int]]:
    """Every file with its content. Prepared files and locks may come and go."""
    return {
        (str(path), hash(path.read_bytes()))
        for path in world.folder.rglob("*")
        if path.is_file()
        and path.suffix not in (".lock", ".gz")
        and not path.name.startswith(("hot.", "index", "told"))
    }


def _members_of(archive: bytes, most: int) -> dict[str, bytes]:
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        entries = [
            entry for entry in tar.getmembers() if entry.name != "manifest.json" and entry.size <= most
        ]
        return {entry.name: data.read() for entry in entries if (data := tar.extractfile(entry)) is not None}


def _packed(world: World, members: dict[str, bytes]) -> bytes:
    path = world.folder / "seed.tar.gz"
    sources = [Source(name, content) for name, content in sorted(members.items())]
    write_bundle(path, manifest_for(sources), sources, force=True)
    return path.read_bytes()


def _tar(members: dict[str, bytes]) -> bytes:
    from holdfast.store.bundle import MANIFEST
    from holdfast.store.json_files import encode_json

    sources = [Source(name, content) for name, content in sorted(members.items())]
    files = {MANIFEST: encode_json(manifest_for(sources), indent=1), **dict(sorted(members.items()))}
    output = BytesIO()
    with tarfile.open(fileobj=output, mode="w:") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))
    return output.getvalue()


def surface_targets() -> dict[str, Callable[[], Target]]:
    return {
        "hooks": hook_target,
        "mcp": mcp_target,
        "archive": archive_target,
        "archive-members": archive_members_target,
    }
