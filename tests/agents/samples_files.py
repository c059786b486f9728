"""Miniature sessions in the true shape of each agent, written where the agent would write them.

Every sample is the same short session: a person asks, a command fails, a file is edited, the command passes, the
agent answers. `SAMPLES` names the function that writes it below a home directory and returns the file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.agents.builders import CWD, SESSION, START, stamp

Json = dict[str, Any]

PROMPT = "make the tests pass"
COMMAND = "pytest -q"
EDITED = f"{CWD}/src/cart.py"
ANSWER = "All tests pass now."
MODEL = "gemini-2.5-flash"


def write_lines(path: Path, records: Iterable[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records))
    return path


# Gemini CLI


def gemini_header(session: str = SESSION, **fields: Any) -> Json:
    return {
        "sessionId": session,
        "projectHash": "0" * 64,
        "startTime": stamp(0),
        "lastUpdated": stamp(0),
        "kind": "main",
        **fields,
    }


def gemini_message(at: float, name: str, kind: str, content: Any, **fields: Any) -> Json:
    return {"id": name, "timestamp": stamp(at), "type": kind, "content": content, **fields}


def gemini_tokens(input: int, output: int, cached: int = 0, thoughts: int = 0) -> Json:
    total = input + output + thoughts
    return {
        "input": input,
        "output": output,
        "cached": cached,
        "thoughts": thoughts,
        "tool": 0,
        "total": total,
    }


def gemini_call(at: float, call: str, tool: str, args: Json, output: str, status: str = "success") -> Json:
    answer = {"error" if status == "error" else "output": output}
    response = {"functionResponse": {"id": call, "name": tool, "response": answer}}
    return {
        "id": call, "name": tool, "args": args, "result": [response], "status": status, "timestamp": stamp(at),
        "displayName": tool, "description": "",
    }  # fmt: skip


def gemini_messages() -> list[Json]:
    """The finished messages, each once."""
    failed = gemini_call(6, "c1", "run_shell_command", {"command": COMMAND}, "Output: 1 failed\nExit Code: 1")
    edited = gemini_call(
        8, "c2", "replace", {"file_path": EDITED, "old_string": "a", "new_string": "b"}, "ok"
    )
    passed = gemini_call(11, "c3", "run_shell_command", {"command": COMMAND}, "Output: 3 passed")
    return [
        gemini_message(1, "m1", "user", [{"text": PROMPT}]),
        gemini_message(
            5, "m2", "gemini", "", tokens=gemini_tokens(1000, 20, 200, 30), model=MODEL, toolCalls=[failed]
        ),
        gemini_message(
            7,
            "m3",
            "gemini",
            "",
            tokens=gemini_tokens(1500, 40, 900),
            model=MODEL,
            toolCalls=[edited, passed],
        ),
        gemini_message(12, "m4", "gemini", ANSWER, tokens=gemini_tokens(1700, 10, 1400), model=MODEL),
    ]


def gemini_records() -> list[Json]:
    """The same messages as they are appended: first without tokens, then without calls, then whole."""
    records: list[Json] = [gemini_header()]
    for message in gemini_messages():
        if message["type"] == "gemini":
            bare = {name: value for name, value in message.items() if name != "toolCalls"}
            records += [{**bare, "tokens": None}, bare]
        records += [message, {"$set": {"lastUpdated": message["timestamp"]}}]
    return records


def gemini_folder(folder: Path, nickname: str = "shop") -> Path:
    project = folder / ".gemini" / "tmp" / nickname
    project.mkdir(parents=True, exist_ok=True)
    (project / ".project_root").write_text(CWD, encoding="utf-8")
    return project / "chats"


def gemini(folder: Path) -> Path:
    return write_lines(
        gemini_folder(folder) / f"session-2026-03-02T09-00-{SESSION[:8]}.jsonl", gemini_records()
    )


def gemini_document(folder: Path, messages: list[Json] | None = None, **fields: Any) -> Path:
    """The older form: one document."""
    path = gemini_folder(folder) / f"session-2026-03-02T09-00-{SESSION[:8]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {**gemini_header(**fields), "messages": gemini_messages() if messages is None else messages}
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


# Qwen Code


def qwen_line(at: float, kind: str, session: str = SESSION, **fields: Any) -> Json:
    return {
        "uuid": f"q-{session[:4]}-{at}", "parentUuid": None, "sessionId": session, "timestamp": stamp(at),
        "type": kind, "cwd": CWD, "version": "0.24.4", "gitBranch": "main", **fields,
    }  # fmt: skip


def qwen_user(at: float, text: str, **fields: Any) -> Json:
    return qwen_line(
        at,
        "user",
        **{"provenance": "real_user", "message": {"role": "user", "parts": [{"text": text}]}} | fields,
    )


def qwen_model(
    at: float, *parts: Json, prompt: int = 100, output: int = 10, cached: int = 0, **fields: Any
) -> Json:
    usage = {
        "promptTokenCount": prompt, "candidatesTokenCount": output, "thoughtsTokenCount": 0,
        "totalTokenCount": prompt + output, "cachedContentTokenCount": cached,
    }  # fmt: skip
    message = {"role": "model", "parts": list(parts)}
    return qwen_line(
        at, "assistant", model="qwen3-coder-plus", message=message, **{"usageMetadata": usage} | fields
    )


def qwen_call(call: str, tool: str, **args: Any) -> Json:
    return {"functionCall": {"id": call, "name": tool, "args": args}}


def qwen_result(
    at: float, call: str, tool: str, output: str, status: str = "success", code: int | None = None
) -> Json:
    response = {"functionResponse": {"id": call, "name": tool, "response": {"output": output}}}
    display = {"type": "shell_result", "exitCode": code} if code is not None else "done"
    result = {"callId": call, "status": status, "resultDisplay": display}
    return qwen_line(at, "tool_result", message={"role": "user", "parts": [response]}, toolCallResult=result)


def qwen_records() -> list[Json]:
    return [
        qwen_user(1, PROMPT),
        qwen_model(2, qwen_call("c1", "run_shell_command", command=COMMAND), prompt=1000, cached=200),
        qwen_result(3, "c1", "run_shell_command", "Output: 1 failed\nExit Code: 1", code=1),
        qwen_model(4, qwen_call("c2", "edit", file_path=EDITED)),
        qwen_result(5, "c2", "edit", "ok"),
        qwen_model(6, qwen_call("c3", "run_shell_command", command=COMMAND)),
        qwen_result(7, "c3", "run_shell_command", "Output: 3 passed\nExit Code: 0", code=0),
        qwen_model(8, {"text": ANSWER}),
    ]


def qwen(folder: Path) -> Path:
    return write_lines(folder / ".qwen/projects/-home-ada-shop/chats" / f"{SESSION}.jsonl", qwen_records())


# GitHub Copilot CLI


def copilot_line(at: float, kind: str, data: Json, **fields: Any) -> Json:
    return {
        "type": kind,
        "data": data,
        "id": f"e-{kind}-{at}",
        "timestamp": stamp(at),
        "parentId": None,
        **fields,
    }


def copilot_start(at: float = 0, **fields: Any) -> Json:
    context = {"cwd": CWD, "gitRoot": CWD, "branch": "main", "headCommit": "0" * 40}
    data = {"sessionId": SESSION, "version": 1, "copilotVersion": "1.0.102", "context": context, **fields}
    return copilot_line(at, "session.start", data)


def copilot_call(at: float, call: str, tool: str, **arguments: Any) -> Json:
    return copilot_line(
        at, "tool.execution_start", {"toolCallId": call, "toolName": tool, "arguments": arguments}
    )


def copilot_result(at: float, call: str, content: str, success: bool = True, **fields: Any) -> Json:
    data = {"toolCallId": call, "success": success, "result": {"content": content}, **fields}
    return copilot_line(at, "tool.execution_complete", data)


def copilot_shutdown(at: float, model: str = "gpt-5.4-mini", **tokens: int) -> Json:
    metrics = {model: {"requests": {"count": 1, "cost": 0}, "usage": tokens}}
    return copilot_line(at, "session.shutdown", {"shutdownType": "routine", "modelMetrics": metrics})


def copilot_records() -> list[Json]:
    return [
        copilot_start(),
        copilot_line(1, "user.message", {"content": PROMPT, "transformedContent": f"<now/>{PROMPT}"}),
        copilot_call(2, "c1", "bash", command=COMMAND),
        copilot_result(3, "c1", "1 failed\n<shellId: 0 completed with exit code 1>"),
        copilot_call(4, "c2", "edit", path=EDITED, old_str="a", new_str="b"),
        copilot_result(5, "c2", "File updated"),
        copilot_call(6, "c3", "bash", command=COMMAND),
        copilot_result(7, "c3", "3 passed\n<shellId: 1 completed with exit code 0>"),
        copilot_line(8, "assistant.message", {"messageId": "m1", "content": ANSWER, "toolRequests": []}),
        copilot_shutdown(9, inputTokens=1000, outputTokens=50, cacheReadTokens=700, cacheWriteTokens=100),
    ]


def copilot(folder: Path) -> Path:
    return write_lines(folder / ".copilot/session-state" / SESSION / "events.jsonl", copilot_records())


# Pi


def pi_entry(at: float, kind: str, **fields: Any) -> Json:
    return {"type": kind, "id": f"{int(at * 10):08x}", "parentId": None, "timestamp": stamp(at), **fields}


def pi_header(session: str = SESSION, **fields: Any) -> Json:
    return {"type": "session", "version": 3, "id": session, "timestamp": stamp(0), "cwd": CWD, **fields}


def pi_user(at: float, text: str) -> Json:
    return pi_entry(at, "message", message={"role": "user", "content": [{"type": "text", "text": text}]})


def pi_model(at: float, *blocks: Json, cost: float = 0.0, stop: str = "toolUse", **fields: Any) -> Json:
    usage = {
        "input": 100,
        "output": 10,
        "cacheRead": 50,
        "cacheWrite": 5,
        "totalTokens": 165,
        "cost": {"total": cost},
    }
    message = {
        "role": "assistant", "content": list(blocks), "provider": "anthropic", "model": "claude-sonnet-4-5",
        "usage": usage, "stopReason": stop, **fields,
    }  # fmt: skip
    return pi_entry(at, "message", message=message)


def pi_call(call: str, tool: str, **arguments: Any) -> Json:
    return {"type": "toolCall", "id": call, "name": tool, "arguments": arguments}


def pi_result(at: float, call: str, text: str, failed: bool = False) -> Json:
    content = [{"type": "text", "text": text}]
    return pi_entry(
        at,
        "message",
        message={"role": "toolResult", "toolCallId": call, "content": content, "isError": failed},
    )


def pi_records() -> list[Json]:
    return [
        pi_header(),
        pi_entry(0.5, "model_change", provider="anthropic", modelId="claude-sonnet-4-5"),
        pi_user(1, PROMPT),
        pi_model(2, pi_call("c1", "bash", command=COMMAND), cost=0.25),
        pi_result(3, "c1", "1 failed\n\nCommand exited with code 1", failed=True),
        pi_model(4, pi_call("c2", "edit", path=EDITED, edits=[]), cost=0.25),
        pi_result(5, "c2", "ok"),
        pi_model(6, pi_call("c3", "bash", command=COMMAND)),
        pi_result(7, "c3", "3 passed"),
        pi_model(8, {"type": "text", "text": ANSWER}, stop="stop"),
    ]


def pi(folder: Path) -> Path:
    name = f"2026-03-02T09-00-00-000Z_{SESSION}.jsonl"
    return write_lines(folder / ".pi/agent/sessions/--home-ada-shop--" / name, pi_records())


# Reasonix


def reasonix_event(number: int, at: float, kind: str, **fields: Any) -> Json:
    return {"id": number, "ts": stamp(at), "turn": 1, "type": kind, **fields}


def reasonix_final(number: int, at: float, text: str = "", cost: float = 0.001) -> Json:
    usage = {
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400,
    }  # fmt: skip
    return reasonix_event(number, at, "model.final", content=text, toolCalls=[], usage=usage, costUsd=cost)


def reasonix_call(number: int, at: float, call: str, tool: str, **arguments: Any) -> Json:
    return reasonix_event(number, at, "tool.intent", callId=call, name=tool, args=json.dumps(arguments))


def reasonix_result(number: int, at: float, call: str, output: str, ok: bool = True) -> Json:
    return reasonix_event(number, at, "tool.result", callId=call, ok=ok, output=output, durationMs=5)


def reasonix_records() -> list[Json]:
    return [
        reasonix_event(1, 0, "session.opened", name="shop", resumedFromTurn=0),
        reasonix_event(2, 1, "user.message", text=PROMPT),
        reasonix_event(
            3, 1.5, "model.turn.started", model="deepseek-chat", reasoningEffort="high", prefixHash="x"
        ),
        reasonix_final(4, 2),
        reasonix_call(5, 3, "tc-1", "run_command", command=COMMAND),
        reasonix_result(6, 4, "tc-1", f"$ {COMMAND}\n[exit 1]\n1 failed"),
        reasonix_call(7, 5, "tc-2", "edit_file", path=EDITED),
        reasonix_result(8, 6, "tc-2", "edited"),
        reasonix_call(9, 7, "tc-3", "run_command", command=COMMAND),
        reasonix_result(10, 8, "tc-3", f"$ {COMMAND}\n[exit 0]\n3 passed"),
        reasonix_final(11, 9, ANSWER),
    ]


def reasonix(folder: Path) -> Path:
    sessions = folder / ".reasonix" / "sessions"
    path = write_lines(sessions / "code-shop.events.jsonl", reasonix_records())
    meta = {"workspace": CWD, "branch": "main", "totalCostUsd": 0.002}
    (sessions / "code-shop.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return path


# Cursor


def cursor_line(role: str, *blocks: Json) -> Json:
    return {"role": role, "message": {"content": list(blocks)}}


def cursor_text(text: str) -> Json:
    return {"type": "text", "text": text}


def cursor_call(tool: str, **arguments: Any) -> Json:
    return {"type": "tool_use", "name": tool, "input": arguments}


def cursor_records() -> list[Json]:
    return [
        cursor_line("user", cursor_text(f"<user_query>\n{PROMPT}\n</user_query>")),
        cursor_line("assistant", cursor_text("Running them first."), cursor_call("Shell", command=COMMAND)),
        cursor_line("assistant", cursor_call("StrReplace", path=EDITED, old_string="a", new_string="b")),
        cursor_line("assistant", cursor_call("Shell", command=COMMAND)),
        cursor_line("assistant", cursor_text(ANSWER)),
    ]


def cursor(folder: Path) -> Path:
    place = folder / ".cursor/projects/home-ada-shop/agent-transcripts" / SESSION
    return write_lines(place / f"{SESSION}.jsonl", cursor_records())


def cursor_tool(name: str, arguments: Json, result: Json, status: str = "completed", **fields: Any) -> Json:
    tool = {
        "name": name,
        "rawArgs": json.dumps(arguments),
        "result": json.dumps(result),
        "status": status,
        **fields,
    }
    return {"type": 2, "text": "", "toolFormerData": tool}


def cursor_bubbles() -> list[Json]:
    return [
        {"type": 1, "text": PROMPT},
        cursor_tool("run_terminal_cmd", {"command": COMMAND}, {"output": "1 failed", "exitCodeV2": 1}),
        cursor_tool("search_replace", {"file_path": EDITED}, {"diff": "…"}),
        cursor_tool("run_terminal_cmd", {"command": COMMAND}, {"output": "3 passed", "exitCodeV2": 0}),
        {"type": 2, "text": ANSWER, "tokenCount": {"inputTokens": 900, "outputTokens": 40}},
    ]


def cursor_database(folder: Path, conversations: dict[str, list[Json]] | None = None, **fields: Any) -> Path:
    """The editor's database with one conversation, or those given, and a workspace that lists them."""
    user = folder / ".config" / "Cursor" / "User"
    talks = {SESSION: cursor_bubbles()} if conversations is None else conversations
    rows: list[tuple[str, str]] = []
    for number, (identity, bubbles) in enumerate(talks.items()):
        headers = [{"bubbleId": f"b{n}", "type": bubble["type"]} for n, bubble in enumerate(bubbles)]
        composer = {
            "_v": 10, "composerId": identity, "createdAt": (START + 100 * number) * 1000,
            "lastUpdatedAt": (START + 100 * number + 20) * 1000, "createdOnBranch": "main", "status": "completed",
            "modelConfig": {"modelName": "gpt-5"}, "fullConversationHeadersOnly": headers, **fields,
        }  # fmt: skip
        rows.append((f"composerData:{identity}", json.dumps(composer)))
        for n, bubble in enumerate(bubbles):
            value = {"_v": 3, "bubbleId": f"b{n}", "createdAt": stamp(100 * number + n), **bubble}
            rows.append((f"bubbleId:{identity}:b{n}", json.dumps(value)))
    listed = json.dumps({"allComposers": [{"composerId": identity} for identity in talks]})
    workspace = user / "workspaceStorage" / "w1"
    _key_values(workspace / "state.vscdb", "ItemTable", [("composer.composerData", listed)])
    (workspace / "workspace.json").write_text(json.dumps({"folder": f"file://{CWD}"}), encoding="utf-8")
    return _key_values(user / "globalStorage" / "state.vscdb", "cursorDiskKV", rows)


def _key_values(path: Path, table: str, rows: list[tuple[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        database.commit()
    return path


# Any agent


def generic_records() -> list[Json]:
    return [
        {
            "type": "session", "format": "holdfast-events-1", "id": SESSION, "agent": "robin", "cwd": CWD,
            "started": stamp(0), "branch": "main", "version": "0.3", "provider": "openai",
        },
        {"type": "user", "at": stamp(1), "text": PROMPT},
        {"type": "tool_call", "at": stamp(2), "call": "c1", "tool": "sh", "action": "shell", "target": COMMAND},
        {"type": "tool_result", "at": stamp(3), "call": "c1", "ok": False, "exit_code": 1, "text": "1 failed"},
        {
            "type": "tool_call", "at": stamp(4), "call": "c2", "tool": "patch", "action": "edit", "target": EDITED,
            "paths": [EDITED],
        },
        {"type": "tool_result", "at": stamp(5), "call": "c2", "ok": True},
        {"type": "tool_call", "at": stamp(6), "call": "c3", "tool": "sh", "action": "shell", "target": COMMAND},
        {"type": "tool_result", "at": stamp(7), "call": "c3", "ok": True, "exit_code": 0, "text": "3 passed"},
        {"type": "usage", "at": stamp(8), "key": "r1", "model": "gpt-5", "input": 400, "output": 50, "cache_read": 600},
        {"type": "todo", "at": stamp(8), "items": [{"text": "release", "status": "pending"}]},
        {"type": "agent", "at": stamp(9), "text": ANSWER},
    ]  # fmt: skip


def generic(folder: Path) -> Path:
    return write_lines(folder / ".holdfast" / "events" / f"{SESSION}.jsonl", generic_records())


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "gemini": gemini,
    "qwen": qwen,
    "copilot": copilot,
    "pi": pi,
    "reasonix": reasonix,
    "cursor": cursor,
    "generic": generic,
}
