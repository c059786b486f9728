"""Miniature sessions of agents that keep databases, folders, markdown or git objects, in their true shape.

Every sample is the same short session: a person asks, a command fails, a file is edited, the command passes, the
agent answers. `SAMPLES` names the function that writes it below a folder (a home, or a work tree for agents that
keep their sessions there) and returns the file that stands for it.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.agents.builders import CWD, SESSION, START, ClaudeFile, Read, Registry, stamp

from holdfast.agent_kit.contract import Importer

Json = dict[str, Any]

PROMPT = "make the tests pass"
COMMAND = "pytest -q"
EDITED = f"{CWD}/src/cart.py"
ANSWER = "All tests pass now."
FAILURE = "1 failed, 3 passed"
SUCCESS = "4 passed"


def ms(at: float) -> int:
    return round((START + at) * 1000)


# OpenCode


class OpenCodeSession:
    """One session, to be written in any of the three forms."""

    def __init__(self, name: str = "ses_one", parent: str = "", **info: Any) -> None:
        self.name = name
        self.info: Json = {
            "id": name,
            "slug": "calm-otter",
            "projectID": "p1",
            "directory": CWD,
            "title": "Tests",
            "version": "1.18.33",
            "time": {"created": ms(0), "updated": ms(60)},
            **({"parentID": parent} if parent else {}),
            **info,
        }
        self.messages: list[Json] = []

    def message(self, at: float, role: str, parts: Iterable[Json], **info: Any) -> Json:
        number = len(self.messages) + 1
        name = info.pop("id", f"msg_{self.name[4:]}{number:03d}")
        message = {
            "info": {"id": name, "sessionID": self.name, "role": role, "time": {"created": ms(at)}, **info},
            "parts": [
                {"id": f"prt_{name[4:]}{place:03d}", "sessionID": self.name, "messageID": name, **part}
                for place, part in enumerate(parts)
            ],
        }
        self.messages.append(message)
        return message

    def user(self, at: float, text: str, *parts: Json) -> Json:
        return self.message(at, "user", [{"type": "text", "text": text}, *parts], agent="build")

    def assistant(
        self, at: float, *parts: Json, took: float = 2.0, tokens: Json | None = None, **info: Any
    ) -> Json:
        fields: Json = {
            "modelID": "claude-sonnet-4-5",
            "providerID": "anthropic",
            "path": {"cwd": CWD, "root": CWD},
            "cost": 0.0125,
            "tokens": tokens or opencode_tokens(100, 20),
            "time": {"created": ms(at), "completed": ms(at + took)},
            **info,
        }
        return self.message(at, "assistant", parts, **fields)

    def as_export(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"info": self.info, "messages": self.messages}, indent=1), encoding="utf-8"
        )
        return path

    def as_tree(self, data: Path) -> Path:
        storage = data / "opencode" / "storage"
        for message in self.messages:
            info = message["info"]
            write_json(storage / "message" / self.name / f"{info['id']}.json", info)
            for part in message["parts"]:
                write_json(storage / "part" / info["id"] / f"{part['id']}.json", part)
        return write_json(storage / "session" / "p1" / f"{self.name}.json", self.info)


def opencode_tokens(input: int, output: int, reasoning: int = 0, read: int = 0, write: int = 0) -> Json:
    return {"input": input, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": write}}


def opencode_tool(at: float, tool: str, input: Json, output: str = "", **state: Any) -> Json:
    fields = {
        "status": "completed",
        "input": input,
        "output": output,
        "time": {"start": ms(at), "end": ms(at + 1)},
    }
    return {"type": "tool", "tool": tool, "callID": f"call_{tool}_{at}", "state": {**fields, **state}}


def opencode_bash(at: float, command: str, output: str, code: int = 0) -> Json:
    return opencode_tool(at, "bash", {"command": command}, output, metadata={"exit": code, "output": output})


OPENCODE_SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, time_created integer, time_updated integer);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
  directory text NOT NULL, title text NOT NULL, version text NOT NULL, permission text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_idx ON message (session_id);
"""


def opencode_database(data: Path, *sessions: OpenCodeSession, wal: bool = True) -> Path:
    path = data / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        if wal:
            database.execute("PRAGMA journal_mode = WAL")
        database.executescript(OPENCODE_SCHEMA)
        for session in sessions:
            put_opencode(database, session)
    return path


def put_opencode(database: sqlite3.Connection, session: OpenCodeSession) -> None:
    info = session.info
    rules = json.dumps(info["permission"]) if "permission" in info else None
    database.execute(
        "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (info["id"], info["projectID"], info.get("parentID"), info["slug"], info["directory"], info["title"],
         info["version"], rules, info["time"]["created"], info["time"]["updated"]),
    )  # fmt: skip
    for message in session.messages:
        data = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
        created, name = data["time"]["created"], message["info"]["id"]
        row = (name, session.name, created, created, json.dumps(data))
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
        for part in message["parts"]:
            data = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
            stored = (part["id"], name, session.name, created, created, json.dumps(data))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", stored)


def opencode_story(name: str = "ses_one") -> OpenCodeSession:
    session = OpenCodeSession(name)
    session.user(0, PROMPT, {"type": "text", "text": "<path>read by the client</path>", "synthetic": True})
    session.assistant(
        5, {"type": "step-start"}, opencode_bash(6, COMMAND, FAILURE, 1), {"type": "step-finish"}
    )
    session.assistant(10, opencode_tool(11, "edit", {"filePath": EDITED, "oldString": "a", "newString": "b"}))
    session.assistant(20, opencode_bash(21, COMMAND, SUCCESS))
    session.assistant(30, {"type": "reasoning", "text": "Done."}, {"type": "text", "text": ANSWER})
    return session


def opencode(home: Path) -> Path:
    return opencode_database(home / ".local" / "share", opencode_story())


# Goose

GOOSE_SCHEMA = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER, accumulated_total_tokens INTEGER,
  accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, schedule_id TEXT, provider_name TEXT,
  model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
  role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
  timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
"""


class GooseSession:
    def __init__(
        self,
        name: str = "20260302_1",
        kind: str = "user",
        tokens: tuple[int, int] | None = (900, 90),
        at: float = 0,
    ) -> None:
        self.name, self.kind, self.tokens, self.at = name, kind, tokens, at
        self.messages: list[Json] = []

    def add(self, at: float, role: str, *content: Json, **metadata: bool) -> None:
        shown = {"userVisible": True, "agentVisible": True, **metadata}
        self.messages.append(
            {
                "id": None,
                "role": role,
                "created": int(START + at),
                "content": list(content),
                "metadata": shown,
            }
        )

    def say(self, at: float, role: str, text: str, **metadata: bool) -> None:
        self.add(at, role, {"type": "text", "text": text}, **metadata)

    def call(self, at: float, call: str, tool: str, arguments: Json) -> None:
        value = {"name": tool, "arguments": arguments}
        self.add(
            at,
            "assistant",
            {"type": "toolRequest", "id": call, "toolCall": {"status": "success", "value": value}},
        )

    def answer(self, at: float, call: str, text: str, *, failed: bool = False, **value: Any) -> None:
        answer = {"content": [{"type": "text", "text": text}], "isError": failed, **value}
        result = {"status": "success", "value": answer}
        self.add(at, "user", {"type": "toolResponse", "id": call, "toolResult": result})

    def error(self, at: float, call: str, problem: str) -> None:
        result = {"status": "error", "error": problem}
        self.add(at, "user", {"type": "toolResponse", "id": call, "toolResult": result})

    def as_lines(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        used: Json = {}
        if self.tokens is not None:
            used = {"accumulated_input_tokens": self.tokens[0], "accumulated_output_tokens": self.tokens[1]}
        first = {"working_dir": CWD, "description": "Tests", "message_count": len(self.messages), **used}
        path = folder / f"{self.name}.jsonl"
        path.write_text(
            "".join(json.dumps(line) + "\n" for line in [first, *self.messages]), encoding="utf-8"
        )
        return path


def goose_folder(home: Path) -> Path:
    return home / ".local" / "share" / "goose" / "sessions"


def goose_database(home: Path, *sessions: GooseSession) -> Path:
    path = goose_folder(home) / "sessions.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(GOOSE_SCHEMA)
        for session in sessions:
            put_goose(database, session)
    return path


def put_goose(database: sqlite3.Connection, session: GooseSession) -> None:
    moment = datetime.fromtimestamp(START + session.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    tokens = session.tokens or (None, None)
    total = sum(session.tokens) if session.tokens else None
    database.execute(
        "INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at, provider_name,"
        " model_config_json, accumulated_total_tokens, accumulated_input_tokens, accumulated_output_tokens)"
        " VALUES (?, 'Tests', ?, ?, ?, ?, 'anthropic', ?, ?, ?, ?)",
        (
            session.name,
            session.kind,
            CWD,
            moment,
            moment,
            json.dumps({"model_name": "claude-sonnet-4-5"}),
            total,
            *tokens,
        ),
    )
    for number, message in enumerate(session.messages):
        database.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (f"msg_{session.name}_{number}", session.name, message["role"], json.dumps(message["content"]),
             message["created"], json.dumps(message["metadata"])),
        )  # fmt: skip


def goose_story(name: str = "20260302_1") -> GooseSession:
    session = GooseSession(name)
    session.say(0, "user", PROMPT)
    session.call(5, "c1", "developer__shell", {"command": COMMAND})
    session.answer(6, "c1", f"{FAILURE}\n\nCommand exited with code 1", failed=True)
    session.call(10, "c2", "developer__text_editor", {"command": "str_replace", "path": EDITED})
    session.answer(11, "c2", "ok")
    session.call(20, "c3", "shell", {"command": COMMAND})
    session.answer(21, "c3", SUCCESS, structuredContent={"stdout": SUCCESS, "stderr": "", "exit_code": 0})
    session.say(30, "assistant", ANSWER)
    return session


def goose(home: Path) -> Path:
    return goose_database(home, goose_story())


# Cline and Roo


class ClineTask:
    def __init__(self, tasks: Path, name: str = "") -> None:
        self.folder = tasks / (name or str(ms(0)))
        self.screen: list[Json] = []
        self.conversation: list[Json] = []

    def say(self, at: float, kind: str, text: Any = "", **fields: Any) -> None:
        words = text if isinstance(text, str) else json.dumps(text)
        self.screen.append({"ts": ms(at), "type": "say", "say": kind, "text": words, **fields})

    def ask(self, at: float, kind: str, text: Any = "", **fields: Any) -> None:
        words = text if isinstance(text, str) else json.dumps(text)
        self.screen.append({"ts": ms(at), "type": "ask", "ask": kind, "text": words, **fields})

    def request(self, at: float, tokens_in: int, tokens_out: int, cost: float = 0.01, **fields: Any) -> None:
        used = {"request": "…", "tokensIn": tokens_in, "tokensOut": tokens_out, "cost": cost, **fields}
        self.say(at, "api_req_started", used)

    def told(self, role: str, *texts: str) -> None:
        self.conversation.append(
            {"role": role, "content": [{"type": "text", "text": text} for text in texts]}
        )

    def save(self, **files: Json) -> Path:
        for name, value in files.items():
            write_json(self.folder / f"{name}.json", value)
        write_json(self.folder / "api_conversation_history.json", self.conversation)
        return write_json(self.folder / "ui_messages.json", self.screen)


def cline_story(tasks: Path) -> ClineTask:
    task = ClineTask(tasks)
    task.say(0, "task", PROMPT)
    task.request(1, 400, 40, cacheReads=1000, cacheWrites=50)
    task.ask(6, "command", COMMAND)
    task.say(7, "command_output", FAILURE)
    task.request(9, 100, 30)
    task.say(10, "tool", {"tool": "editedExistingFile", "path": EDITED, "diff": "…"})
    task.say(20, "command", f"{COMMAND}REQ_APP")
    task.say(21, "command_output", SUCCESS)
    task.say(30, "completion_result", ANSWER)
    where = f"<environment_details>\n# Current Working Directory ({CWD}) Files\nsrc/\n</environment_details>"
    task.told("user", f"<task>\n{PROMPT}\n</task>", where)
    task.told("assistant", f"<execute_command>\n<command>{COMMAND}</command>\n</execute_command>")
    task.told(
        "user",
        f"[execute_command for '{COMMAND}'] Result:",
        f"Command executed. Exit code: 1\nOutput:\n{FAILURE}",
    )
    task.told("assistant", f"<replace_in_file>\n<path>{EDITED}</path>\n</replace_in_file>")
    task.told("user", f"[replace_in_file for '{EDITED}'] Result:", "The content was successfully saved.")
    task.told("assistant", f"<execute_command>\n<command>{COMMAND}</command>\n</execute_command>")
    task.told(
        "user",
        f"[execute_command for '{COMMAND}'] Result:",
        f"Command executed. Exit code: 0\nOutput:\n{SUCCESS}",
    )
    task.told("assistant", f"<attempt_completion>\n<result>{ANSWER}</result>\n</attempt_completion>")
    return task


def cline_tasks(home: Path) -> Path:
    return home / ".config" / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev" / "tasks"


def roo_tasks(home: Path) -> Path:
    return home / ".config" / "Code" / "User" / "globalStorage" / "rooveterinaryinc.roo-cline" / "tasks"


def cline(home: Path) -> Path:
    used = [{"ts": ms(0), "model_id": "claude-sonnet-4-5", "model_provider_id": "anthropic", "mode": "act"}]
    return cline_story(cline_tasks(home)).save(task_metadata={"files_in_context": [], "model_usage": used})


def roo(home: Path) -> Path:
    task = cline_story(roo_tasks(home))
    return task.save(history_item={"id": task.folder.name, "ts": ms(0), "task": PROMPT, "workspace": CWD})


# aider


def aider_chat(at: str, *lines: str) -> str:
    """A chat as aider writes it: its own lines end with two spaces, those of an answer do not."""
    shown, fenced = [], False
    for line in lines:
        fenced ^= line.startswith("```")
        shown.append(f"{line}  " if line.startswith(("#### ", "> ")) and not fenced else line)
    return "\n".join(["", f"# aider chat started at {at}", "", *shown, ""])


AIDER_STORY = aider_chat(
    "2026-03-02 09:00:00",
    "> /usr/bin/aider",
    "> Aider v0.86.1",
    "> Model: claude-sonnet-4-5 with diff edit format",
    "",
    f"#### /test {COMMAND}",
    f"> {FAILURE}",
    "",
    f"#### {PROMPT}",
    "",
    "The total was wrong:",
    "",
    "src/cart.py",
    "```python",
    "<<<<<<< SEARCH",
    "#### a heading in the file",
    "=======",
    "> a quotation in the file",
    ">>>>>>> REPLACE",
    "```",
    "",
    "> Tokens: 12k sent, 1.2k received. Cost: $0.05 message, $0.05 session.",
    "> Applied edit to src/cart.py",
    "> Commit 1a2b3c4 fix: the total",
    "",
    f"#### /run {COMMAND}",
    f"> {SUCCESS}",
    "",
    "#### thanks",
    "",
    ANSWER,
    "",
    "> Tokens: 900 sent, 4.0k cache write, 1.5k cache hit, 34 received.",
    "> Cost: $0.01 message, $0.06 session.",
)


def aider(project: Path) -> Path:
    path = project / ".aider.chat.history.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(AIDER_STORY, encoding="utf-8")
    return path


# SpecStory


def specstory_text(*entries: str, agent: str = "Claude Code", session: str = SESSION) -> str:
    first = f"{datetime.fromtimestamp(START, UTC):%Y-%m-%d %H:%M:%S}Z"
    heading = [
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->",
        f"# {first}",
        f"<!-- {agent} Session {session} ({first}) -->",
    ]
    return "\n\n".join([*heading, *entries]) + "\n"


def specstory_entry(at: float, who: str, *texts: str) -> str:
    moment = f"{datetime.fromtimestamp(START + at, UTC):%Y-%m-%d %H:%M:%S}Z"
    model = "claude-sonnet-4-5 " if who.startswith("Agent") else ""
    return "\n\n".join([f"_**{who} ({model}{moment})**_", *texts])


def specstory_tool(kind: str, name: str, summary: str, output: str = "") -> str:
    fence = "````" if "```" in output else "```"
    answered = f"\n\n{fence}text\n{output}\n{fence}" if output else ""
    opening = f'<tool-use data-tool-type="{kind}" data-tool-name="{name}"><details>'
    return f"{opening}\n<summary>Tool use: **{name}**</summary>\n{summary}{answered}\n</details></tool-use>"


def specstory_bash(command: str, output: str) -> str:
    return specstory_tool("shell", "Bash", f"Run it\n\n`{command}`", output)


def specstory(project: Path) -> Path:
    path = project / ".specstory" / "history" / "2026-03-02_09-00-00Z-make-the-tests.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = specstory_text(
        specstory_entry(0, "User", PROMPT, "---"),
        specstory_entry(5, "Agent", specstory_bash(COMMAND, f"Exit code 1\n{FAILURE}")),
        specstory_entry(
            10, "Agent", specstory_tool("write", "Edit", "", f"The file {EDITED} has been updated.")
        ),
        specstory_entry(20, "Agent", specstory_bash(COMMAND, SUCCESS)),
        specstory_entry(
            30,
            "Agent",
            "<think><details><summary>Thought Process</summary>\nDone.\n</details></think>",
            ANSWER,
        ),
    )
    path.write_text(text, encoding="utf-8")
    return path


# Entire


def git(folder: Path, *arguments: str, input: bytes = b"") -> str:
    identity = ("-c", "user.name=Ada Example", "-c", "user.email=ada@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, input=input, capture_output=True, check=True).stdout.decode().strip()


def entire_commit(project: Path, ref: str, files: dict[str, bytes]) -> None:
    """A ref whose tree has these files, and whatever it had before."""
    if not (project / ".git").exists():
        project.mkdir(parents=True, exist_ok=True)
        git(project, "init", "--quiet", "--initial-branch=main")
    tree: Json = {}
    known = git(project, "for-each-ref", "--format=%(objectname)", ref)
    before = (
        {line.split("\t")[1]: line.split()[2] for line in git(project, "ls-tree", "-r", ref).splitlines()}
        if known
        else {}
    )
    blobs = {
        name: git(project, "hash-object", "-w", "--stdin", input=content) for name, content in files.items()
    }
    for name, blob in {**before, **blobs}.items():
        place = tree
        for folder in name.split("/")[:-1]:
            place = place.setdefault(folder, {})
        place[name.rpartition("/")[2]] = blob
    parents = ("-p", known) if known else ()
    commit = git(project, "commit-tree", _tree(project, tree), *parents, "-m", "Checkpoint")
    git(project, "update-ref", ref, commit)


def _tree(project: Path, entries: Json) -> str:
    lines = [
        f"040000 tree {_tree(project, value)}\t{name}"
        if isinstance(value, dict)
        else f"100644 blob {value}\t{name}"
        for name, value in entries.items()
    ]
    return git(project, "mktree", input="\n".join(lines).encode())


def entire_checkpoint(
    project: Path, transcript: bytes, number: int = 1, session: str = SESSION, at: float = 60, ref: str = ""
) -> None:
    folder = f"a{number}/{number:010d}/0"
    about = {
        "checkpoint_id": f"a{number}{number:010d}",
        "session_id": session,
        "created_at": stamp(at),
        "agent": "Claude Code",
    }
    files = {f"{folder}/full.jsonl": transcript, f"{folder}/metadata.json": json.dumps(about).encode()}
    entire_commit(project, ref or "refs/heads/entire/checkpoints/v1", files)


def claude_story(session: str = SESSION, cwd: str = CWD) -> ClaudeFile:
    claude = ClaudeFile(session, cwd)
    claude.user(0, PROMPT)
    claude.run(5, COMMAND, FAILURE, exit_code=1)
    claude.edit(10, EDITED)
    claude.run(20, COMMAND, SUCCESS)
    claude.assistant(30, ANSWER)
    return claude


def entire(project: Path) -> Path:
    entire_checkpoint(project, claude_story(cwd=str(project)).data(), at=40)
    return project / ".git" / "HEAD"


def read_parts(importer: Importer, path: Path, registry: Registry | None = None) -> dict[str, Read]:
    """Every session that a file holds, by its part, read as an import reads it: oldest first, counted once."""
    counted = registry or Registry()
    head = path.read_bytes()[: 64 * 1024]
    assert importer.recognise(path, head), f"{importer.agent} does not recognise {path}"
    done = {}
    for glance in sorted(importer.sessions(path, head), key=lambda found: (found.started or 0.0, found.part)):
        claims = counted.source(f"{path}#{glance.part}")
        reading = importer.open(path, 0, b"", claims, glance.part)
        events = list(reading.events())
        done[glance.part] = Read(events, reading.warnings, reading.position(), reading.state())
    return done


def read_only(importer: Importer, path: Path, registry: Registry | None = None) -> Read:
    """The one session of a file that holds one."""
    (done,) = read_parts(importer, path, registry).values()
    return done


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "opencode": opencode,
    "goose": goose,
    "cline": cline,
    "roo": roo,
    "aider": aider,
    "specstory": specstory,
    "entire": entire,
}
