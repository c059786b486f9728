"""When an agent reads or changes a file: the line that holds for it, once, in every host; and in most cases nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import SESSION, Answer, Enabled, everything_below
from tests.hooks.host_call import asked
from tests.hooks.test_tool_call_hook import told

from holdfast.briefing.explain import injections
from holdfast.briefing.moments import Moment
from holdfast.briefing.prepare import prepare
from holdfast.briefing.start import Briefings
from holdfast.hooks.file_moment import MOST_TOKENS
from holdfast.hooks.host_protocol import READ
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("M10", "S12")

LINE = "In src/refunds.py amounts are whole cents (you, 11-14, D-abcd)"
REASON = "it names src/refunds.py; session s1"
LATER = "4102444800.0"  # the year 2100


def file_row(path: str = "src/refunds.py", text: str = LINE, **more: Any) -> Moment:
    values = {"token": "s1", "needs": ("", ""), "id": "D-abcd", "reason": REASON, **more}
    return Moment(tool=READ, key=path, rule="file", text=text, **values)


class WithFile(Enabled):
    """A project in which something was decided about a file."""

    def knows(self, *rows: Moment, **more: Any) -> None:
        prepare(Machine(cwd=self.root), self.project, Briefings(moments=rows, **more))

    def read(
        self, path: str, env: dict[str, str] | None = None, tool: str = "Read", **more: object
    ) -> Answer:
        given = {"file_path": str(self.root / path)}
        environment = {"CLAUDE_PROJECT_DIR": str(self.root), **(env or {})}
        return self.hook("PreToolUse", environment, tool_name=tool, tool_input=given, **more)

    def bash(self, command: str, **more: object) -> Answer:
        environment = {"CLAUDE_PROJECT_DIR": str(self.root)}
        return self.hook("PreToolUse", environment, tool_name="Bash", tool_input={"command": command}, **more)


@pytest.fixture
def shop(repo: Path) -> WithFile:
    shop = WithFile(repo)
    (repo / "src").mkdir()
    (repo / "src" / "refunds.py").write_text("x\n", encoding="utf-8")
    shop.knows(file_row())
    return shop


@pytest.mark.promise("W4")
@pytest.mark.parametrize("tool", ["Read", "Edit", "Write"])
def test_a_file_that_is_read_or_changed_brings_its_line_once(shop: WithFile, tool: str) -> None:
    assert told(shop.read("src/refunds.py", tool=tool)) == [LINE]
    before = everything_below(shop.memory)
    assert shop.read("src/refunds.py", tool="Edit").printed == b""
    assert shop.bash("cat src/refunds.py").printed == b""
    assert everything_below(shop.memory) == before
    (entry,) = injections(shop.project)
    assert (entry.event, entry.tool, entry.lines[0].reason) == ("PreToolUse", "Read", REASON)


@pytest.mark.parametrize("path", ["src/other.py", "refunds.py", "lib/src/refunds.py", "README.md"])
def test_any_other_file_is_let_alone_and_nothing_is_written(shop: WithFile, path: str) -> None:
    before = everything_below(shop.memory)
    assert shop.read(path).printed == b""
    assert everything_below(shop.memory) == before


@pytest.mark.parametrize(
    "command",
    ["cat src/refunds.py", "sed -n '1,80p' src/refunds.py | head", "cd src && nl -ba refunds.py", "git status; tail -5 ./src/refunds.py"],
)  # fmt: skip
def test_a_file_that_is_read_through_the_shell_brings_its_line(shop: WithFile, command: str) -> None:
    assert told(shop.bash(command)) == [LINE]


@pytest.mark.parametrize(
    "command", ["git add src/refunds.py", "rm src/refunds.py", "echo refunds.py", "cat other.py"]
)
def test_a_command_that_reads_no_such_file_is_let_alone(shop: WithFile, command: str) -> None:
    assert shop.bash(command).printed == b""


def test_after_a_compaction_a_subagent_or_another_session_it_is_news_again(shop: WithFile) -> None:
    assert told(shop.read("src/refunds.py")) == [LINE]
    assert told(shop.read("src/refunds.py", agent_id="a1")) == [LINE]
    assert shop.read("src/refunds.py", agent_id="a1").printed == b""
    assert told(shop.read("src/refunds.py", session_id="another")) == [LINE]
    shop.hook("SessionStart", source="compact")
    assert told(shop.read("src/refunds.py")) == [LINE]


def test_the_session_that_said_it_and_one_that_was_told_it_hear_nothing(shop: WithFile) -> None:
    assert shop.read("src/refunds.py", session_id="s1").printed == b""
    heard = {"time": "2026", "session": SESSION, "source": "", "tokens": 9, "lines": [{"text": f"x; {LINE}"}]}
    (shop.memory / "why.jsonl").write_text(json.dumps(heard) + "\n", encoding="utf-8")
    assert shop.read("src/refunds.py").printed == b""


def test_a_line_of_another_branch_waits_until_it_counts_everywhere(shop: WithFile) -> None:
    shop.knows(file_row(needs=("feature", LATER)))
    assert shop.read("src/refunds.py").printed == b""
    (shop.root / ".git" / "HEAD").write_text("ref: refs/heads/feature\n", encoding="utf-8")
    assert told(shop.read("src/refunds.py")) == [LINE]
    shop.knows(file_row(needs=("third", "1.0")))
    assert told(shop.read("src/refunds.py", session_id="another")) == [LINE]


def test_a_line_of_another_project_of_the_repository_is_not_told(shop: WithFile) -> None:
    shop.knows(file_row(project="mail"), projects={"": "shop"})
    assert shop.read("src/refunds.py").printed == b""


def test_files_get_no_more_than_their_share_of_a_session(shop: WithFile) -> None:
    entry = {
        "time": "2026",
        "session": SESSION,
        "source": "",
        "tool": "Read",
        "lines": [],
        "tokens": MOST_TOKENS - 5,
    }
    (shop.memory / "why.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    assert shop.read("src/refunds.py").printed == b""


def test_in_another_work_tree_of_the_repository_the_same_file_is_meant(
    shop: WithFile, tmp_path: Path
) -> None:
    git = ["git", "-C", str(shop.root)]
    subprocess.run([*git, "add", "src/refunds.py"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True, capture_output=True)
    assert told(shop.read(str(tmp_path / "tree" / "src" / "refunds.py"))) == [LINE]
    other = tmp_path / "elsewhere" / "src" / "refunds.py"
    assert shop.read(str(other), session_id="another").printed == b""


# As each host sends it: its own names of the event, the tool and the path, and what its answer looks like.
HOSTS = {
    "codex": ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "cat src/refunds.py"}}),
    "gemini": ("AfterTool", {"tool_name": "read_file", "tool_input": {"file_path": "src/refunds.py"}, "tool_response": {"llmContent": "x"}}),
    "qwen": ("PostToolUse", {"tool_name": "read_file", "tool_input": {"file_path": "{}"}, "tool_response": "x"}),
    "opencode": ("PreToolUse", {"tool_name": "Read", "tool_input": {"filePath": "{}"}}),
    "copilot": ("preToolUse", {"toolName": "view", "toolArgs": '{{"path": "{}"}}'}),
    "cursor": ("postToolUse", {"tool_name": "Read", "tool_input": {"file_path": "{}"}, "tool_output": "{{}}"}),
}  # fmt: skip
VARIABLES = {
    "gemini": "GEMINI_PROJECT_DIR",
    "qwen": "QWEN_PROJECT_DIR",
    "opencode": "HOLDFAST_PROJECT_DIR",
    "copilot": "COPILOT_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
}


def filled(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {name: filled(one, path) for name, one in value.items()}
    return (
        value.replace("{{", "{").replace("}}", "}").replace("{}", path) if isinstance(value, str) else value
    )


@pytest.mark.promise("W4")
@pytest.mark.parametrize("host", HOSTS)
def test_every_host_whose_tool_hook_reaches_the_model_is_told(shop: WithFile, host: str) -> None:
    event, payload = HOSTS[host]
    session = {"copilot": "sessionId", "cursor": "conversation_id"}.get(host, "session_id")
    env = {VARIABLES[host]: str(shop.root)} if host in VARIABLES else {}
    for path, expected in ((shop.root / "src" / "other.py", False), (shop.root / "src" / "refunds.py", True)):
        given = {session: SESSION, "cwd": str(shop.root), **filled(payload, str(path))}
        if host in ("codex", "gemini"):
            given = json.loads(json.dumps(given).replace("src/refunds.py", f"src/{path.name}"))
        answer = asked(host, event, given, shop.root, env)
        assert (LINE in json.dumps(answer)) == expected, answer


def test_a_silent_call_loads_neither_json_nor_sqlite(shop: WithFile) -> None:
    told(shop.read("src/refunds.py"))
    script = (
        "import io, os, sys; before = set(sys.modules); sys.path.append(sys.argv[1])\n"
        "from holdfast.hooks import hook\n"
        "hook.main(['claude-code', 'PreToolUse'], sys.stdin.buffer, io.BytesIO(), dict(os.environ))\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    source = str(Path(prepare.__code__.co_filename).parents[2])
    for path in ("src/other.py", "src/refunds.py"):
        payload = shop.payload(tool_name="Read", tool_input={"file_path": str(shop.root / path)})
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, source],
            input=json.dumps(payload).encode(),
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(shop.root)},
            capture_output=True,
            check=True,
        )
        loaded = set(done.stdout.decode().split())
        assert not {"_json", "_sqlite3", "json", "sqlite3", "holdfast.hooks.respond", "re"} & loaded


def test_a_name_with_escapes_takes_the_long_way_and_arrives(shop: WithFile) -> None:
    name = "src/größe.py"
    (shop.root / name).write_text("x\n", encoding="utf-8")
    shop.knows(file_row(name, "In größe.py sizes are whole (you, 11-14, D-abcd)"))
    assert told(shop.read(name)) == ["In größe.py sizes are whole (you, 11-14, D-abcd)"]
