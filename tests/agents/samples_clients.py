"""Miniature sessions of Kilo Code, Kimi Code, Grok Build, Continue and Crush, as their clients wrote the same story.

Kilo, Kimi, Grok and Continue were run against a scripted model; Crush is known from databases in public repositories.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.agents.builders import CWD, SESSION, START
from tests.agents.samples_files import ANSWER, COMMAND, EDITED, PROMPT, write_lines
from tests.agents.samples_stores import opencode_database, opencode_story

Json = dict[str, Any]

FAILURE = "1 failed, 3 passed"
SUCCESS = "4 passed"


def ms(at: float) -> int:
    return round((START + at) * 1000)


def kilo(home: Path) -> Path:
    path = opencode_database(home / ".local" / "share", opencode_story(), wal=False)
    folder = path.parent.with_name("kilo")
    folder.mkdir(parents=True, exist_ok=True)
    path = path.rename(folder / "kilo.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE kilo_board (root_session_id TEXT PRIMARY KEY, objective TEXT NOT NULL)"
        )
        database.commit()
    return path


# Kimi Code


def kimi_lines() -> list[Json]:
    def step(at: float, **event: Any) -> Json:
        return {
            "type": "context.append_loop_event",
            "agentId": "main",
            "event": {"turnId": "0", "step": 1, "stepUuid": "s-1", **event},
            "time": ms(at),
        }

    def call(at: float, name: str, tool: str, **args: Any) -> Json:
        return step(at, type="tool.call", uuid=f"u-{name}", toolCallId=name, name=tool, args=args)

    def result(at: float, name: str, output: str, **more: Any) -> Json:
        return step(
            at, type="tool.result", parentUuid=f"u-{name}", toolCallId=name, result={"output": output, **more}
        )

    def usage(at: float, fresh: int, output: int, cached: int = 0) -> Json:
        figures = {"inputOther": fresh, "output": output, "inputCacheRead": cached, "inputCacheCreation": 0}
        return {
            "type": "usage.record",
            "agentId": "main",
            "model": "kimi-k2",
            "usage": figures,
            "time": ms(at),
        }

    def message(text: str, **origin: Any) -> Json:
        content = [{"type": "text", "text": text}]
        return {
            "type": "context.append_message",
            "message": {"role": "user", "content": content, "toolCalls": [], "origin": origin},
            "time": ms(0.2),
        }

    typed = [{"type": "text", "text": PROMPT}]
    return [
        {"type": "metadata", "protocol_version": "1.5", "created_at": ms(0)},
        {"type": "profile.bind", "agentId": "main", "systemPrompt": "You are an agent.", "time": ms(0)},
        {
            "type": "turn.prompt",
            "agentId": "main",
            "input": typed,
            "origin": {"kind": "user"},
            "promptId": "msg_1",
            "turnId": 0,
            "time": ms(0.1),
        },
        message(PROMPT, kind="user"),
        message("<system-reminder>\nToday is Monday.\n</system-reminder>", kind="injection"),
        usage(1, 100, 10, 40),
        call(2, "c1", "Bash", command=COMMAND),
        result(3, "c1", f"{FAILURE}\nCommand failed with exit code: 1.", isError=True, durationMs=21),
        call(5, "c2", "Edit", path=EDITED, old_string="a", new_string="b"),
        result(5.2, "c2", "Replaced 1 occurrence."),
        usage(6, 200, 20),
        call(8, "c3", "Bash", command=COMMAND),
        result(9, "c3", SUCCESS, durationMs=15),
        step(12, type="content.part", uuid="u-part", part={"type": "text", "text": ANSWER}),
        {"type": "turn.ended", "agentId": "main", "turnId": 0, "reason": "completed", "time": ms(12.5)},
    ]


def kimi(home: Path) -> Path:
    session = home / ".kimi-code" / "sessions" / "wd_shop_1c45" / f"session_{SESSION}"
    path = write_lines(session / "agents" / "main" / "wire.jsonl", kimi_lines())
    state = {"id": f"session_{SESSION}", "version": 2, "cwd": CWD, "createdAt": ms(0), "isCustomTitle": False}
    (session / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return path


# Grok Build


def grok_line(at: float, number: int, update: Json, method: str = "session/update") -> Json:
    meta = {"eventId": f"{SESSION}-{number}", "agentTimestampMs": ms(at)}
    params = {"sessionId": SESSION, "update": update, "_meta": meta}
    return {"timestamp": round(START + at), "method": method, "params": params}


def grok_lines() -> list[Json]:
    def text(words: str) -> Json:
        return {"type": "text", "text": words}

    def call(name: str, tool: str, **arguments: Any) -> Json:
        meta = {"x.ai/tool": {"version": 1, "name": tool, "namespace": "grok_build"}}
        return {
            "sessionUpdate": "tool_call",
            "toolCallId": name,
            "title": tool,
            "rawInput": arguments,
            "_meta": meta,
        }

    def ended(name: str, output: str, **raw: Any) -> Json:
        return {
            "sessionUpdate": "tool_call_update",
            "toolCallId": name,
            "status": "completed",
            "content": [{"type": "content", "content": text(output)}],
            "rawOutput": raw,
        }

    figures = {"inputTokens": 300, "outputTokens": 30, "cachedReadTokens": 100, "cacheCreationTokens": 0}
    completed = {
        "sessionUpdate": "turn_completed",
        "stop_reason": "end_turn",
        "usage": {**figures, "modelUsage": {"grok-4": figures}},
    }
    hook = {"sessionUpdate": "hook_execution", "event_name": "session_start", "runs": []}
    half = len(ANSWER) // 2
    return [
        grok_line(0, 1, hook, "_x.ai/session/update"),
        grok_line(0.1, 2, {"sessionUpdate": "user_message_chunk", "content": text(PROMPT)}),
        grok_line(2, 3, call("c1", "run_terminal_command", command=COMMAND)),
        grok_line(2.1, 4, {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "kind": "execute"}),
        grok_line(3, 5, ended("c1", FAILURE, type="Bash", exit_code=1)),
        grok_line(5, 6, call("c2", "search_replace", file_path=EDITED, old_string="a", new_string="b")),
        grok_line(5.1, 7, ended("c2", "done", type="SearchReplace")),
        grok_line(8, 8, call("c3", "run_terminal_command", command=COMMAND)),
        grok_line(9, 9, ended("c3", SUCCESS, type="Bash", exit_code=0)),
        grok_line(11, 10, {"sessionUpdate": "agent_message_chunk", "content": text(ANSWER[:half])}),
        grok_line(11.2, 11, {"sessionUpdate": "agent_message_chunk", "content": text(ANSWER[half:])}),
        grok_line(12, 12, completed, "_x.ai/session/update"),
    ]


def grok(home: Path) -> Path:
    session = home / ".grok" / "sessions" / CWD.replace("/", "%2F") / SESSION
    path = write_lines(session / "updates.jsonl", grok_lines())
    summary = {
        "info": {"id": SESSION, "cwd": CWD},
        "generated_title": "Tests of the cart",
        "session_kind": "interactive",
    }
    (session / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return path


# Continue


def continue_call(name: str, tool: str, status: str, output: str, **arguments: Any) -> Json:
    asked = {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return {
        "message": {"role": "assistant", "content": "", "toolCalls": [asked], "usage": continue_usage()},
        "contextItems": [],
        "toolCallStates": [
            {
                "toolCallId": name,
                "toolCall": asked,
                "status": status,
                "parsedArgs": arguments,
                "output": [
                    {"content": output, "name": "Tool Result", "description": "Tool execution result"}
                ],
            }
        ],
    }


def continue_usage() -> Json:
    details = {"cached_tokens": 40}
    return {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": details,
        "model": "gpt-5",
        "cost_cents": 0,
    }


def continue_dev(home: Path) -> Path:
    failed = f"Error executing tool Bash: Error (exit code 1): {FAILURE}\n"
    history = [
        {"message": {"role": "system", "content": "You are an agent."}, "contextItems": []},
        {"message": {"role": "user", "content": PROMPT}, "contextItems": [], "editorState": PROMPT},
        continue_call("c1", "Bash", "errored", failed, command=COMMAND),
        continue_call("c2", "Edit", "done", "Edited", file_path=EDITED, old_string="a", new_string="b"),
        continue_call("c3", "Bash", "done", SUCCESS, command=COMMAND),
        {"message": {"role": "assistant", "content": ANSWER, "usage": continue_usage()}, "contextItems": []},
    ]
    value = {"sessionId": SESSION, "title": "Untitled Session", "workspaceDirectory": CWD, "history": history}
    path = home / ".continue" / "sessions" / f"{SESSION}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    listed = [
        {
            "sessionId": SESSION,
            "title": "Untitled Session",
            "dateCreated": str(ms(0)),
            "workspaceDirectory": CWD,
        }
    ]
    (path.parent / "sessions.json").write_text(json.dumps(listed), encoding="utf-8")
    return path


# Crush

CRUSH_SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0,
  updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
  parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  finished_at INTEGER, provider TEXT);
"""


def crush_call(name: str, tool: str, **arguments: Any) -> Json:
    data = {"id": name, "name": tool, "input": json.dumps(arguments), "type": "function", "finished": True}
    return {"type": "tool_call", "data": data}


def crush_result(name: str, content: str, *, is_error: bool = False) -> Json:
    data = {"tool_call_id": name, "name": "", "content": content, "metadata": "", "is_error": is_error}
    return {"type": "tool_result", "data": data}


def crush_text(words: str) -> Json:
    return {"type": "text", "data": {"text": words}}


CrushMessage = tuple[float, str, list[Json]]


def crush_story() -> list[CrushMessage]:
    folder = f"\n\n<cwd>{CWD}</cwd>"
    return [
        (0, "user", [crush_text(PROMPT), {"type": "finish", "data": {"reason": "stop", "time": 0}}]),
        (2, "assistant", [crush_call("c1", "bash", command=COMMAND)]),
        (3, "tool", [crush_result("c1", f"{FAILURE}\n\nExit code 1{folder}")]),
        (5, "assistant", [crush_call("c2", "edit", file_path=EDITED, old_string="a", new_string="b")]),
        (5, "tool", [crush_result("c2", "<result>\nContent replaced\n</result>")]),
        (8, "assistant", [crush_call("c3", "bash", command=COMMAND)]),
        (9, "tool", [crush_result("c3", f"{SUCCESS}{folder}")]),
        (
            12,
            "assistant",
            [crush_text(ANSWER), {"type": "finish", "data": {"reason": "end_turn", "time": 0}}],
        ),
    ]


def crush_database(
    project: Path, story: Iterable[CrushMessage], session: str = SESSION, parent: str | None = None
) -> Path:
    path = project / ".crush" / "crush.db"
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    messages = list(story)
    with closing(sqlite3.connect(path)) as database:
        if is_new:
            database.executescript(CRUSH_SCHEMA)
        start, end = round(START), round(START + 60)
        database.execute(
            "INSERT INTO sessions VALUES (?, ?, 'Tests of the cart', ?, 900, 30, 0.02, ?, ?, NULL)",
            (session, parent, len(messages), end, start),
        )
        for number, (at, role, parts) in enumerate(messages):
            when = round(START + at)
            model = "gpt-5" if role == "assistant" else ""
            values = (
                f"{session}-{number}",
                session,
                role,
                json.dumps(parts),
                model,
                when,
                when,
                None,
                "openai",
            )
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        database.commit()
    return path


def crush(project: Path) -> Path:
    return crush_database(project, crush_story())


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "kilo": kilo,
    "kimi": kimi,
    "grok": grok,
    "continue": continue_dev,
    "crush": crush,
}
