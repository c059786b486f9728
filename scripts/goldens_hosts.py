"""How goldens.py plays the seven hosts: their events in the shapes that were captured from them (docs/hosts.md)."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldens_world import GONE, RUNNING, World

SAID = "Move the cache from JSON files to SQLite, because two processes corrupt it. What is left afterwards?"
REPORT = (
    "The cache is in SQLite now; I decided on WAL mode because readers must not wait.\\n\\nNot done yet:\\n"
    "- [ ] Migrate the old JSON files\\n- [ ] Document the new file\\n\\nShould old files be deleted after a week?"
)


@dataclass(frozen=True)
class Host:
    """One host: where its configuration lies, what it calls its events, and where its transcript belongs."""

    name: str
    config: str
    events: dict[str, str]
    session: str
    captured: str = ""  # below the captures
    transcript: str = ""  # below the home; {session} and {day} are filled in
    project: str = ""  # the variable that names the project
    shell: str = "Bash"
    asks: str = "AskUserQuestion"
    ends_unsaid: bool = False  # its capture waits for its process to go
    extra: dict[str, Any] = field(default_factory=dict)


_COMMON = {
    "start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "pre": "PreToolUse",
    "post": "PostToolUse",
    "stop": "Stop",
    "compact": "PreCompact",
    "end": "SessionEnd",
}
HOSTS = (
    Host(
        name="claude-code",
        config=".claude/settings.json",
        events=_COMMON,
        session="c84ebe76-b214-4f40-8277-dcd56e0cab14",
        captured="claude/transcript_harness.jsonl",
        transcript=".claude/projects/-scratch/{session}.jsonl",
        project="CLAUDE_PROJECT_DIR",
        extra={"prompt_id": "5681ada7-e219-4a78-9663-f2a730eec1f1", "permission_mode": "default"},
    ),
    Host(
        name="codex",
        config=".codex/hooks.json",
        events=_COMMON,
        session="01a1e081-0350-7512-b28b-6b31c267bca0",
        captured="codex/transcript_harness.jsonl",
        transcript=".codex/sessions/rollout-{day}T18-38-33-{session}.jsonl",
        asks="request_user_input",
        extra={
            "model": "fake-model",
            "permission_mode": "bypassPermissions",
            "turn_id": "01a1e06c-d72e-7981",
        },
    ),
    Host(
        name="gemini",
        config=".gemini/settings.json",
        events={
            "start": "SessionStart",
            "prompt": "BeforeAgent",
            "pre": "BeforeTool",
            "post": "AfterTool",
            "stop": "AfterAgent",
            "end": "SessionEnd",
        },
        session="1e6d1717-e24f-4915-b938-c3b795cb3702",
        captured="gemini/transcript_harness.jsonl",
        transcript=".gemini/tmp/proj/chats/session-{day}T18-38-1e6d1717.jsonl",
        project="GEMINI_PROJECT_DIR",
        shell="run_shell_command",
        asks="ask_user",
        extra={"timestamp": "2026-11-15T18:38:39.058Z"},
    ),
    Host(
        name="opencode",
        config=".config/opencode/opencode.json",
        events=_COMMON,
        session="ses_e1f90a601ffesvxy2uRg1z0nSK",
        captured="opencode/opencode.db",
        transcript=".local/share/opencode/opencode.db",
        project="HOLDFAST_PROJECT_DIR",
    ),
    Host(
        name="copilot",
        config=".copilot/hooks/holdfast.json",
        events={
            "start": "sessionStart",
            "prompt": "userPromptSubmitted",
            "pre": "preToolUse",
            "post": "postToolUse",
            "stop": "agentStop",
            "compact": "preCompact",
            "end": "sessionEnd",
        },
        session="599dcc91-c41c-48c0-a33f-53015af63256",
        captured="copilot/transcript_harness.jsonl",
        transcript=".copilot/session-state/{session}/events.jsonl",
        project="COPILOT_PROJECT_DIR",
        shell="bash",
        asks="ask_user",
        ends_unsaid=True,
        extra={"timestamp": 1794767928907},
    ),
    Host(
        name="qwen",
        config=".qwen/settings.json",
        events=_COMMON | {"post": "PostToolUseFailure", "pre": "PostToolUse"},
        session="dcf5321e-3560-49c7-968c-67da92d89f94",
        captured="qwen/transcript_harness.jsonl",
        transcript=".qwen/projects/-scratch/chats/{session}.jsonl",
        project="QWEN_PROJECT_DIR",
        shell="run_shell_command",
        asks="ask_user_question",
        ends_unsaid=True,
        extra={"timestamp": "2026-11-15T18:22:01.458Z", "permission_mode": "yolo"},
    ),
    Host(
        name="cursor",
        config=".cursor/hooks.json",
        events={
            "start": "sessionStart",
            "prompt": "beforeSubmitPrompt",
            "pre": "preToolUse",
            "post": "postToolUse",
            "stop": "stop",
            "compact": "preCompact",
            "end": "sessionEnd",
        },
        session="7d0e5c1a-2f57-4b0e-9d51-0c6f8a1b2c3d",
        project="CURSOR_PROJECT_DIR",
        shell="Shell",
        extra={"generation_id": "1b2c", "model": "fake-model", "cursor_version": "2.0.0"},
    ),
)


@dataclass
class Visit:
    """One session of a host in a world."""

    world: World
    host: Host
    captures: Path | None
    folder: str
    process: str = RUNNING
    session: str = ""

    def __post_init__(self) -> None:
        self.session = self.session or self.host.session
        day = datetime.fromtimestamp(self.world.began, UTC).strftime("%Y-%m-%d")
        place = self.host.transcript.format(session=self.session, day=day)
        self.transcript = self.world.home / place if place else None

    def call(self, kind: str, **more: Any) -> str:
        """Sends one event, as the installed configuration says; what the host is answered."""
        event = self.host.events.get(kind, "")
        command = command_of(self.world.home / self.host.config, self.host.name, event)
        if not command:
            text = f"{event or kind}: not registered"
        else:
            payload = json.dumps(self._payload(event, more), separators=(",", ":"))  # as hosts write it
            done = self.world.run(["sh", "-c", command], stdin=payload, env=self._env())
            text = f"{done.text()}\n--- payload\n{payload}"
        self.world.keep_next(self.folder, f"{kind}-{event}", text)
        return text

    def command(self, kind: str, line: str) -> None:
        """A shell command before it runs, or after it failed."""
        given = {"command": line, "description": "Run it"}
        self.call(kind, **self._tool(self.host.shell, given), **(self._failure() if kind == "post" else {}))

    def ask(self, question: str, choices: list[str]) -> None:
        """The host is about to put a question to the person."""
        options = [{"label": choice, "description": ""} for choice in choices]
        given: dict[str, Any] = {
            "questions": [
                {"question": question, "header": "Choice", "options": options, "multiSelect": False}
            ]
        }
        if self.host.name == "copilot":
            schema = {"type": "object", "properties": {"choice": {"type": "string", "enum": choices}}}
            given = {"message": question, "requestedSchema": schema}
        self.call("pre", **self._tool(self.host.asks, given))

    def write_transcript(self, share: float) -> None:
        """The first lines of what the host has written, with words that leave something behind."""
        if self.captures is None or self.transcript is None or not self.host.captured:
            return
        source = self.captures / self.host.captured
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".db":
            if not self.transcript.exists():
                self.transcript.write_bytes(source.read_bytes())
                _replace_in(self.transcript, self._words())
        else:
            text = source.read_text(encoding="utf-8")
            for old, new in self._words().items():
                text = text.replace(old, new)
            lines = text.splitlines(keepends=True)
            self.transcript.write_text("".join(lines[: round(len(lines) * share)]), encoding="utf-8")
        os.utime(self.transcript, (self.world.now, self.world.now))

    def _words(self) -> dict[str, str]:
        day = datetime.fromtimestamp(self.world.began, UTC).strftime("%Y-%m-%d")
        return {
            "/home/dev/demo": str(self.world.work),
            "2026-11-15T18": f"{day}T08",
            "List the files, please.": SAID,
            "FAKE-FINAL-ANSWER: done.": REPORT,
            self.host.session: self.session,
        }

    def _payload(self, event: str, more: dict[str, Any]) -> dict[str, Any]:
        about = {"hook_event_name": event, "cwd": str(self.world.work), **self.host.extra, **more}
        path = str(self.transcript) if self.transcript else ""
        if self.host.name == "copilot":
            names = {"tool_name": "toolName", "tool_input": "toolArgs", "hook_event_name": "hookEventName"}
            about = {names.get(name, name): value for name, value in about.items()}
            return {"sessionId": self.session, "transcriptPath": path, **about}
        if self.host.name == "cursor":
            return {"conversation_id": self.session, "workspace_roots": [about.pop("cwd")], **about}
        if self.host.name == "opencode":
            return {"session_id": self.session, **about}
        return {"session_id": self.session, "transcript_path": path, **about}

    def _env(self) -> dict[str, str]:
        named = {self.host.project: str(self.world.work)} if self.host.project else {}
        return {**named, "HOLDFAST_HOST_PID": self.process}

    @staticmethod
    def _tool(name: str, given: dict[str, Any]) -> dict[str, Any]:
        return {"tool_name": name, "tool_input": given, "tool_use_id": "toolu_e32d3ee0e49942b3a23d"}

    @staticmethod
    def _failure() -> dict[str, Any]:
        said = "Command: it\nOutput: (empty)\nError: command not found\nExit Code: 127\nSignal: (none)"
        return {
            "tool_response": {"llmContent": said, "returnDisplay": said},
            "tool_output": json.dumps({"exitCode": 127, "output": "command not found"}),
            "error": "command not found",
        }


def play(visit: Visit, prompts: list[str], lines: list[str], questions: list[tuple[str, list[str]]]) -> None:
    """One session of a host, from its start to its end."""
    visit.write_transcript(0.3)
    visit.call("start", source="new" if visit.host.name == "copilot" else "startup")
    for prompt in prompts:
        visit.call("prompt", prompt=prompt)
    for line in lines:
        visit.command("pre", line)
        visit.command("post", line)
    for question, choices in questions:
        visit.ask(question, choices)
    visit.write_transcript(0.7)
    waits, visit.process = visit.process, GONE if visit.host.ends_unsaid else visit.process
    visit.call("stop", stop_hook_active=False, last_assistant_message="Done.")
    visit.process = waits
    visit.call("prompt", prompt=prompts[0])  # what was told once is not told again
    visit.call("compact", trigger="auto")
    visit.call("start", source="compact")
    visit.write_transcript(1.0)
    visit.process = GONE if visit.host.ends_unsaid else visit.process
    visit.call("end", reason="other")


def command_of(config: Path, host: str, event: str) -> str:
    """What the configuration of a host runs at an event; '' where it has nothing of ours for it."""
    if not event or not config.is_file():
        return ""
    for command in _commands(json.loads(config.read_text(encoding="utf-8"))):
        if isinstance(command, str) and f" {host} {event} " in f"{command} ":
            return command
        if isinstance(command, list) and host == "opencode" and "mcp" not in command:
            return shlex.join([*command, host, event])  # as its plugin does
    return ""


def _commands(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "command":
                yield inner
            yield from _commands(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _commands(inner)


def _replace_in(path: Path, words: dict[str, str]) -> None:
    """The same words in every text of a database."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            for column in columns:
                for old, new in words.items():
                    sets = f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?)'
                    database.execute(f"{sets} WHERE typeof(\"{column}\") = 'text'", (old, new))
        database.commit()
