"""Hooks that 0.1.0 wrote into hosts' files speak with the current code at its place: the very commands, run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest
from scripts.old_home_sessions import write
from tests.patience import PATIENCE_S, wait_until
from tests.upgrade.hosts import HOSTS, NEXT, PROMPT, Host
from tests.upgrade.world import CURRENT, FENCE, Machine, settings

DRIVER = Path(__file__).parents[1] / "agents" / "opencode_driver.mjs"
DECISION = "Refunds go through the ledger service"
HANDED_OVER = "Wire the refund endpoint, then delete rates_old.py"


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


def spoken(machine: Machine, host: Host) -> dict[str, str]:
    """What a session is told at its start and at its first prompt."""
    session, commands = str(uuid4()), host.commands(machine)
    return {
        event: machine.hear(
            commands[event], host.payload(machine, event, session, "/nowhere.jsonl"), host.variables(machine)
        )
        for event in (host.start, host.prompt)
        if event
    }


@pytest.mark.promise("H1", "H3")
def test_what_the_files_of_hosts_name_is_there(machine: Machine) -> None:
    """Both stay where they are until 2.0, and so does the plugin that OpenCode loads."""
    assert (CURRENT / "hot" / "hook_entry.py").is_file()
    assert find_spec("holdfast.hosts.capture") is not None
    assert (CURRENT / "hosts" / "opencode_plugin.js").is_file()
    named = set()
    for host in HOSTS.values():
        text = (machine.home / host.file).read_text(encoding="utf-8")
        named |= set(re.findall(r"(/[^\s\"']*/site-packages/holdfast/[^\s\"']+)", text))
    assert {Path(name).name for name in named} == {"hook_entry.py", "opencode_plugin.js"}
    assert all(Path(name).is_file() for name in named)


@pytest.mark.promise("H1")
def test_the_module_that_hooks_leave_behind_runs(machine: Machine) -> None:
    """As a hook of 0.1.0 starts it, one that was called just before the package was replaced."""
    words = ["-E", "-P", "-m", "holdfast.hosts.capture", str(machine.memory), str(machine.repo)]
    done = subprocess.run(
        [str(machine.installation.python), *words], env=machine.env, cwd="/", capture_output=True, check=False
    )
    assert (done.returncode, done.stderr, machine.confessed()) == (0, b"", "")


@pytest.mark.promise("H2", "H3")
def test_start_and_prompt_are_answered_with_the_same_memory(before: Machine, host: Host) -> None:
    """What is told differs since 0.1 (ADR 18 and 19); what a person handed over and decided is told still."""
    machine = before
    was = spoken(machine, host)
    assert HANDED_OVER in was[host.start]
    assert not host.prompt or DECISION in was[host.prompt]
    machine.settle()
    machine.put_back()
    machine.upgrade()
    now = spoken(machine, host)
    assert HANDED_OVER in now[host.start]
    assert not host.prompt or DECISION in now[host.prompt]
    assert machine.confessed() == ""


@pytest.mark.promise("H2", "H3")
def test_a_stop_is_captured_and_the_end_writes_the_row(machine: Machine, host: Host) -> None:
    story, commands = host.story(machine), host.commands(machine)
    transcript = write(story, machine.home)
    rows, told = machine.rows(), host.variables(machine)

    def call(event: str) -> str:
        return machine.run(commands[event], host.payload(machine, event, story.session, transcript), told)

    call(host.start)
    assert NEXT not in call(host.stop)
    current = machine.memory / "current.md"
    if host.agent == "claude-code":
        assert wait_until(lambda: NEXT in current.read_text(encoding="utf-8")), machine.confessed()
        assert machine.rows() == rows, "no row is written while a session goes on"
    call(host.end)
    assert wait_until(lambda: story.session in machine.rows()), machine.confessed()
    machine.settle()
    assert machine.rows().startswith(rows)
    assert machine.sessions()[-1] == story.session
    assert machine.confessed() == ""


@pytest.mark.promise("H2")
def test_what_a_hook_of_0_1_0_left_in_the_inbox_is_done_by_the_current_code(before: Machine) -> None:
    """A session began with 0.1.0, the package was replaced meanwhile, and the client was closed without a word."""
    machine, host = before, HOSTS["claude-code"]
    story = host.story(machine)
    transcript = write(story, machine.home)
    payload = host.payload(machine, host.start, story.session, transcript)
    machine.run(host.commands(machine)[host.start], payload, leaves=True)
    machine.settle()
    (letter,) = (machine.memory / "inbox").glob("*.json")
    assert story.session in letter.name and story.session not in machine.rows()
    machine.upgrade()
    machine.holdfast("resume")
    assert wait_until(lambda: story.session in machine.rows()), machine.confessed()


@pytest.mark.promise("U6")
def test_what_was_switched_off_stays_off(machine: Machine) -> None:
    host = HOSTS["claude-code"]
    command = host.commands(machine)[host.start]
    for folder in (machine.repo / "experiments", machine.folder / "clients" / "acme", machine.notes):
        payload = host.payload(machine, host.start, str(uuid4()), "/nowhere.jsonl") | {"cwd": str(folder)}
        assert machine.run(command, payload, {"CLAUDE_PROJECT_DIR": str(folder)}) == "", folder
    payload = host.payload(machine, host.start, str(uuid4()), "/nowhere.jsonl")
    assert machine.run(command, payload, {"HOLDFAST": "off"}) == ""
    assert machine.hear(command, payload)


@pytest.mark.promise("U5")
def test_the_status_line_of_0_1_0_shows(machine: Machine) -> None:
    command = settings(machine.home / ".claude" / "settings.json")["statusLine"]["command"]
    payload = {
        "session_id": str(uuid4()),
        "cwd": str(machine.repo),
        "workspace": {"project_dir": str(machine.repo)},
    }
    assert machine.hear(command, payload).startswith("holdfast: ")


@pytest.mark.promise("H5")
@pytest.mark.parametrize("agent", ["claude-code", "gemini"])
def test_slash_commands_of_0_1_0_answer(machine: Machine, agent: str) -> None:
    if agent == "gemini":
        file = machine.home / ".gemini" / "commands" / "holdfast" / "resume.toml"
        text = tomllib.loads(file.read_text(encoding="utf-8"))["prompt"]
        (line,) = re.findall(r"!\{(.*?)\}", text)
    else:
        text = (machine.home / ".claude" / "commands" / "holdfast" / "resume.md").read_text(encoding="utf-8")
        (line,) = re.findall(r"^!`(.*)`$", text, re.MULTILINE)
    said = machine.run(line, {})
    assert FENCE.search(said) and HANDED_OVER in said


@pytest.mark.promise("H4")
def test_the_tools_that_0_1_0_registered_answer(machine: Machine) -> None:
    pytest.importorskip("mcp")
    server = settings(machine.home / ".claude.json")["mcpServers"]["holdfast"]
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    done = subprocess.run(
        [server["command"], *server["args"]],
        cwd=machine.repo,
        env=machine.env | server.get("env", {}),
        input=json.dumps(hello) + "\n",
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["id"] == 1 and "serverInfo" in answer["result"]


@pytest.mark.promise("H6")
@pytest.mark.parametrize("agent", ["claude-code", "gemini"])
def test_a_plugin_that_0_1_0_made_speaks(machine: Machine, agent: str) -> None:
    host = HOSTS[agent]
    machine.holdfast("uninstall", agent, "--yes")  # where hooks stand in the settings, a plugin's are silent
    (file,) = (machine.home / ".holdfast" / "plugins" / agent).rglob("hooks.json")
    (group,) = settings(file)["hooks"][host.start]
    payload = host.payload(machine, host.start, str(uuid4()), "/nowhere.jsonl")
    said = machine.hear(group["hooks"][0]["command"], payload, host.variables(machine))
    assert HANDED_OVER in said


@pytest.mark.promise("H2")
@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugins are JavaScript")
def test_the_plugin_that_opencode_loads_from_our_package_speaks(machine: Machine) -> None:
    ((plugin, options),) = settings(machine.home / HOSTS["opencode"].file)["plugin"]
    session = "ses_main"
    message = {"message": {"id": "msg_1"}, "parts": [{"id": "prt_1", "type": "text", "text": PROMPT}]}
    asked = {
        "plugin": plugin,
        "options": options,
        "directory": str(machine.repo),
        "parents": {session: None},
        "hangs": False,
        "steps": [{"hook": "chat.message", "input": {"sessionID": session}, "output": message}],
    }

    def heard() -> str:
        done = subprocess.run(
            ["node", str(DRIVER)],
            input=json.dumps(asked),
            env=machine.env,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        ((result,),) = [json.loads(done.stdout)["results"]]
        return "\n".join(part["text"] for part in result["output"]["parts"][1:])

    # A hook that comes too late says nothing, and what it was about to say is held back for 3 seconds.
    assert wait_until(lambda: DECISION in heard(), 40), machine.confessed()
