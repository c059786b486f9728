"""Invented sessions, written where and as each agent writes its own: what `old_home.py` fills a home with.

A story is the same for every agent; each function below puts it into one agent's words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

Json = dict[str, Any]
STEP_S = 20.0  # from one thing that happens to the next


@dataclass(frozen=True)
class Run:
    """A command and how it ended."""

    command: str
    output: str
    code: int = 0


@dataclass(frozen=True)
class Edit:
    """A file of the repository that was changed."""

    path: str


@dataclass(frozen=True)
class Story:
    """One session: what was asked, what was done and what was said at the end. `at` is when it began."""

    agent: str
    name: str
    at: float
    cwd: Path
    asked: str
    steps: tuple[Run | Edit, ...]
    said: str
    branch: str = "main"

    @property
    def session(self) -> str:
        """The same for the same name, whenever it is written."""
        made = str(uuid5(NAMESPACE_URL, f"https://example.org/old-home/{self.name}"))
        return f"ses_{made.replace('-', '')[:26]}" if self.agent == "opencode" else made

    def when(self, number: int) -> float:
        return self.at + number * STEP_S

    @property
    def end(self) -> float:
        return self.when(len(self.steps) + 1)


def stamp(at: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def write(story: Story, home: Path) -> Path:
    """Writes the story's transcript into the agent's folder of this home."""
    return WRITERS[story.agent](story, home)


def _lines(path: Path, records: Iterable[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records))
    return path


def _slug(cwd: Path) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in str(cwd))


def claude_code(story: Story, home: Path) -> Path:
    records: list[Json] = []

    def line(at: float, kind: str, content: Any, **more: Any) -> None:
        uuid = str(uuid5(NAMESPACE_URL, f"{story.session}/{len(records)}"))
        message = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {
                "id": f"msg_{uuid[:12]}", "type": "message", "model": "claude-opus-4-5-20251101",
                "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": 12, "output_tokens": 60, "cache_read_input_tokens": 9000,
                          "cache_creation_input_tokens": 300},
            }  # fmt: skip
            more["requestId"] = f"req_{uuid[:12]}"
        records.append(
            {
                "parentUuid": records[-1]["uuid"] if records else None, "isSidechain": False,
                "userType": "external", "cwd": str(story.cwd), "sessionId": story.session,
                "version": "2.1.39", "gitBranch": story.branch, "type": kind, "message": message,
                "uuid": uuid, "timestamp": stamp(at), **more,
            }
        )  # fmt: skip

    line(story.when(0), "user", story.asked)
    for number, step in enumerate(story.steps, 1):
        at, call = story.when(number), f"toolu_{number:04d}_{story.session[:8]}"
        details: Any
        if isinstance(step, Run):
            use = {"name": "Bash", "input": {"command": step.command, "description": "Runs it"}}
            text = f"Exit code {step.code}\n{step.output}" if step.code else step.output
            details = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
            details = f"Error: {text}" if step.code else details
        else:
            path = str(story.cwd / step.path)
            use = {"name": "Edit", "input": {"file_path": path, "old_string": "a", "new_string": "b"}}
            text = f"The file {path} has been updated."
            details = {"filePath": path, "oldString": "a", "newString": "b", "structuredPatch": []}
        line(at, "assistant", [{"type": "tool_use", "id": call, **use}])
        failed = {"is_error": True} if isinstance(step, Run) and step.code else {}
        answer = [{"type": "tool_result", "tool_use_id": call, "content": text, **failed}]
        line(at + 2, "user", answer, toolUseResult=details)
    line(story.end, "assistant", [{"type": "text", "text": story.said}])
    return _lines(home / ".claude/projects" / _slug(story.cwd) / f"{story.session}.jsonl", records)


def codex(story: Story, home: Path) -> Path:
    records: list[Json] = []

    def line(at: float, kind: str, **payload: Any) -> None:
        records.append({"timestamp": stamp(at), "type": kind, "payload": payload})

    def message(at: float, role: str, text: str) -> None:
        content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
        line(at, "response_item", type="message", role=role, content=content)

    line(
        story.at, "session_meta", id=story.session, timestamp=stamp(story.at), cwd=str(story.cwd),
        originator="codex_cli_rs", cli_version="0.144.2", source="cli", model_provider="openai",
        git={"commit_hash": "1" * 40, "branch": story.branch, "repository_url": "git@example.org:ada/shop.git"},
    )  # fmt: skip
    line(story.at, "event_msg", type="task_started", turn_id=f"turn-{story.session[:8]}")
    line(story.at, "turn_context", turn_id=f"turn-{story.session[:8]}", cwd=str(story.cwd), model="gpt-5.5")
    message(story.when(0), "user", story.asked)
    line(story.when(0), "event_msg", type="user_message", message=story.asked, images=[])
    for number, step in enumerate(story.steps, 1):
        at, call = story.when(number), f"call_{number:04d}"
        if isinstance(step, Run):
            given = json.dumps({"cmd": step.command, "workdir": str(story.cwd)})
            line(
                at, "response_item", type="function_call", name="exec_command", arguments=given, call_id=call
            )
            said = (
                f"Chunk ID: 0a1b2c\nWall time: 0.5 seconds\nProcess exited with code {step.code}\n"
                f"Output:\n{step.output}"
            )
            line(at + 2, "response_item", type="function_call_output", call_id=call, output=said)
        else:
            patch = f"*** Begin Patch\n*** Update File: {step.path}\n@@\n-a\n+b\n*** End Patch"
            line(
                at, "response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id=call,
                status="completed",
            )  # fmt: skip
            line(
                at + 2, "event_msg", type="patch_apply_end", call_id=call, success=True, stdout="", stderr="",
                changes={},
            )  # fmt: skip
            line(
                at + 2, "response_item", type="custom_tool_call_output", call_id=call,
                output="Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess.",
            )  # fmt: skip
    usage = {"input_tokens": 9000, "cached_input_tokens": 7000, "output_tokens": 300, "total_tokens": 9300}
    line(
        story.end,
        "event_msg",
        type="token_count",
        info={"total_token_usage": usage, "last_token_usage": usage},
    )
    line(story.end, "event_msg", type="agent_message", message=story.said)
    message(story.end, "assistant", story.said)
    day = datetime.fromtimestamp(story.at, UTC)
    name = f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{story.session}.jsonl"
    return _lines(home / f".codex/sessions/{day:%Y/%m/%d}" / name, records)


def gemini(story: Story, home: Path) -> Path:
    project = home / ".gemini" / "tmp" / _slug(story.cwd).strip("-")
    project.mkdir(parents=True, exist_ok=True)
    (project / ".project_root").write_text(str(story.cwd), encoding="utf-8")
    records: list[Json] = [
        {
            "sessionId": story.session, "projectHash": "0" * 64, "startTime": stamp(story.at),
            "lastUpdated": stamp(story.at), "kind": "main",
        },
        {"id": "m0", "timestamp": stamp(story.when(0)), "type": "user", "content": [{"text": story.asked}]},
    ]  # fmt: skip
    for number, step in enumerate(story.steps, 1):
        at, call = story.when(number), f"c{number}"
        if isinstance(step, Run):
            tool, given = "run_shell_command", {"command": step.command}
            output = f"Output: {step.output}" + (f"\nExit Code: {step.code}" if step.code else "")
        else:
            tool, output = "replace", "ok"
            given = {"file_path": str(story.cwd / step.path), "old_string": "a", "new_string": "b"}
        answer = {"functionResponse": {"id": call, "name": tool, "response": {"output": output}}}
        called = {
            "id": call, "name": tool, "args": given, "result": [answer], "status": "success",
            "timestamp": stamp(at + 2), "displayName": tool, "description": "",
        }  # fmt: skip
        records.append(_gemini_said(at, f"m{number}", "", toolCalls=[called]))
    records.append(_gemini_said(story.end, "last", story.said))
    day = datetime.fromtimestamp(story.at, UTC)
    return _lines(project / "chats" / f"session-{day:%Y-%m-%dT%H-%M}-{story.session[:8]}.jsonl", records)


def _gemini_said(at: float, name: str, text: str, **more: Any) -> Json:
    tokens = {"input": 900, "output": 40, "cached": 200, "thoughts": 10, "tool": 0, "total": 950}
    return {
        "id": name, "timestamp": stamp(at), "type": "gemini", "content": text, "tokens": tokens,
        "model": "gemini-2.5-pro", **more,
    }  # fmt: skip


def qwen(story: Story, home: Path) -> Path:
    records: list[Json] = []

    def line(at: float, kind: str, role: str, *parts: Json, **more: Any) -> None:
        records.append(
            {
                "uuid": f"q-{story.session[:8]}-{len(records)}", "parentUuid": None,
                "sessionId": story.session, "timestamp": stamp(at), "type": kind, "cwd": str(story.cwd),
                "version": "0.24.4", "gitBranch": story.branch,
                "message": {"role": role, "parts": list(parts)}, **more,
            }
        )  # fmt: skip

    used = {"promptTokenCount": 800, "candidatesTokenCount": 30, "totalTokenCount": 830}
    model: Json = {"model": "qwen3-coder-plus", "usageMetadata": used}
    line(story.when(0), "user", "user", {"text": story.asked}, provenance="real_user")
    for number, step in enumerate(story.steps, 1):
        at, call = story.when(number), f"c{number}"
        display: Any
        if isinstance(step, Run):
            tool, given = "run_shell_command", {"command": step.command}
            output = f"Output: {step.output}\nExit Code: {step.code}"
            display = {"type": "shell_result", "exitCode": step.code}
        else:
            tool, given, output, display = "edit", {"file_path": str(story.cwd / step.path)}, "ok", "done"
        line(at, "assistant", "model", {"functionCall": {"id": call, "name": tool, "args": given}}, **model)
        answer = {"functionResponse": {"id": call, "name": tool, "response": {"output": output}}}
        result = {"callId": call, "status": "success", "resultDisplay": display}
        line(at + 2, "tool_result", "user", answer, toolCallResult=result)
    line(story.end, "assistant", "model", {"text": story.said}, **model)
    return _lines(home / ".qwen/projects" / _slug(story.cwd) / "chats" / f"{story.session}.jsonl", records)


def copilot(story: Story, home: Path) -> Path:
    records: list[Json] = []

    def line(at: float, kind: str, **data: Any) -> None:
        name = f"e-{len(records)}-{story.session[:8]}"
        records.append({"type": kind, "data": data, "id": name, "timestamp": stamp(at), "parentId": None})

    context = {"cwd": str(story.cwd), "gitRoot": str(story.cwd), "branch": story.branch}
    line(
        story.at,
        "session.start",
        sessionId=story.session,
        version=1,
        copilotVersion="1.0.102",
        context=context,
    )
    line(story.when(0), "user.message", content=story.asked, transformedContent=story.asked)
    for number, step in enumerate(story.steps, 1):
        at, call = story.when(number), f"c{number}"
        given: Json
        if isinstance(step, Run):
            tool, given = "bash", {"command": step.command}
            text = f"{step.output}\n<shellId: {number} completed with exit code {step.code}>"
        else:
            tool, text = "edit", "File updated"
            given = {"path": str(story.cwd / step.path), "old_str": "a", "new_str": "b"}
        line(at, "tool.execution_start", toolCallId=call, toolName=tool, arguments=given)
        line(at + 2, "tool.execution_complete", toolCallId=call, success=True, result={"content": text})
    line(story.end, "assistant.message", messageId="m1", content=story.said, toolRequests=[])
    usage = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 700, "cacheWriteTokens": 100}
    metrics = {"gpt-5.4-mini": {"requests": {"count": 1, "cost": 0}, "usage": usage}}
    line(story.end + 1, "session.shutdown", shutdownType="routine", modelMetrics=metrics)
    return _lines(home / ".copilot/session-state" / story.session / "events.jsonl", records)


def cursor(story: Story, home: Path) -> Path:
    def line(role: str, *blocks: Json) -> Json:
        return {"role": role, "message": {"content": list(blocks)}}

    records = [line("user", {"type": "text", "text": f"<user_query>\n{story.asked}\n</user_query>"})]
    for step in story.steps:
        if isinstance(step, Run):
            use: Json = {"name": "Shell", "input": {"command": step.command}}
        else:
            path = str(story.cwd / step.path)
            use = {"name": "StrReplace", "input": {"path": path, "old_string": "a", "new_string": "b"}}
        records.append(line("assistant", {"type": "tool_use", **use}))
    records.append(line("assistant", {"type": "text", "text": story.said}))
    slug = _slug(story.cwd).strip("-")
    place = home / ".cursor/projects" / slug / "agent-transcripts" / story.session
    return _lines(place / f"{story.session}.jsonl", records)


_OPENCODE = """
CREATE TABLE IF NOT EXISTS project
  (id text PRIMARY KEY, worktree text NOT NULL, time_created integer, time_updated integer);
CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
  slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL, permission text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""


def opencode(story: Story, home: Path) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)

    def ms(at: float) -> int:
        return round(at * 1000)

    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(_OPENCODE)
        database.execute(
            "INSERT INTO session VALUES (?, 'p1', NULL, 'calm-otter', ?, ?, '1.18.33', NULL, ?, ?)",
            (story.session, str(story.cwd), story.asked[:40], ms(story.at), ms(story.end)),
        )
        count = 0

        def message(at: float, role: str, part: Json, **info: Any) -> None:
            nonlocal count
            count += 1
            name = f"msg_{story.session[4:16]}{count:03d}"
            data = {"role": role, "time": {"created": ms(at)}, **info}
            database.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
                (name, story.session, ms(at), ms(at), json.dumps(data)),
            )
            database.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)",
                (f"prt_{name[4:]}", name, story.session, ms(at), ms(at), json.dumps(part)),
            )

        def said(at: float, part: Json) -> None:
            tokens = {"input": 100, "output": 20, "reasoning": 0, "cache": {"read": 0, "write": 0}}
            message(
                at, "assistant", part, modelID="claude-sonnet-4-5", providerID="anthropic", cost=0.0125,
                tokens=tokens, path={"cwd": str(story.cwd), "root": str(story.cwd)},
                time={"created": ms(at), "completed": ms(at + 2)},
            )  # fmt: skip

        message(story.when(0), "user", {"type": "text", "text": story.asked}, agent="build")
        for number, step in enumerate(story.steps, 1):
            at = story.when(number)
            if isinstance(step, Run):
                tool, given, output = "bash", {"command": step.command}, step.output
                more: Json = {"metadata": {"exit": step.code, "output": step.output}}
            else:
                given = {"filePath": str(story.cwd / step.path), "oldString": "a", "newString": "b"}
                tool, output, more = "edit", "ok", {}
            state = {"status": "completed", "input": given, "output": output, **more}
            state["time"] = {"start": ms(at), "end": ms(at + 1)}
            said(at, {"type": "tool", "tool": tool, "callID": f"call_{number}", "state": state})
        said(story.end, {"type": "text", "text": story.said})
    return path


WRITERS: dict[str, Callable[[Story, Path], Path]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini,
    "qwen": qwen,
    "copilot": copilot,
    "cursor": cursor,
    "opencode": opencode,
}
