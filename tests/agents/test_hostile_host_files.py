"""What a hostile review found: other people's files that ran, led elsewhere, or stood in the way of an undo."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.agent_kit.slash_commands import program
from holdfast.agents.registry import HOSTS


def shadow(repo: Path) -> Path:
    """A repository with modules called as those that Python loads first; each leaves a mark when it is run."""
    mark = repo.parent / "ran"
    for name in ("json", "tomllib", "argparse", "holdfast", "msgspec", "mcp"):
        (repo / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    return mark


@pytest.mark.promise("G8")
@pytest.mark.parametrize("path", ["", "."])
def test_no_module_of_a_repository_is_run_by_the_tools_that_a_host_starts_there(
    holdfast: Holdfast, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    holdfast("install", "claude-code", "--yes", check=0)
    server = json.loads((home / ".claude.json").read_bytes())["mcpServers"]["holdfast"]
    mark = shadow(repo)
    monkeypatch.setenv("PYTHONPATH", path)
    done = subprocess.run(
        [server["command"], *server["args"]],
        cwd=repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr, mark.exists()) == (0, b"", False)


@pytest.mark.promise("G8")
def test_no_module_of_a_repository_is_run_by_a_slash_command(
    repo: Path,
) -> None:
    mark = shadow(repo)
    line = f"{program(sys.executable)} fenced resume"
    done = subprocess.run(line, shell=True, cwd=repo, capture_output=True, check=False)
    assert (done.returncode, mark.exists()) == (0, False), done.stderr


@pytest.mark.promise("G8")
@pytest.mark.parametrize("agent", ["copilot", "claude-code", "codex", "gemini", "qwen", "cursor"])
def test_a_folder_that_a_repository_links_elsewhere_is_not_followed(
    holdfast: Holdfast, repo: Path, tmp_path: Path, agent: str
) -> None:
    folders = {"copilot": ".github", "claude-code": ".claude"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repo / folders.get(agent, f".{agent}")).symlink_to(elsewhere)
    done = holdfast("install", agent, "--scope", "project", "--yes", check=1)
    assert "are not followed" in done.stderr
    assert not list(elsewhere.iterdir())
    holdfast("uninstall", agent, "--yes", check=0)


@pytest.mark.promise("H1")
@pytest.mark.parametrize("broken", [b'{"hooks": "holdfast/hot/hook_entry.py"', None], ids=["torn", "folder"])
def test_a_broken_file_of_one_agent_does_not_keep_our_hooks_in_the_others(
    holdfast: Holdfast, home: Path, repo: Path, broken: bytes | None
) -> None:
    qwen, cursor = home / ".qwen" / "settings.json", home / ".cursor" / "hooks.json"
    for path in (qwen, cursor):
        path.parent.mkdir()
    cursor.write_text('{"version": 1}\n', encoding="utf-8")
    holdfast("install", "qwen", "cursor", "--yes", check=0)
    if broken is None:
        qwen.unlink()
        qwen.mkdir()
    else:
        qwen.write_bytes(broken)
    done = holdfast("uninstall", "--all", "--yes", check=1)
    assert "Qwen Code is left as it is: ~/.qwen/settings.json" in " ".join(done.stderr.split())
    assert cursor.read_text(encoding="utf-8") == '{"version": 1}\n'
    holdfast("uninstall", "qwen", "--yes", check=1)


@pytest.mark.promise("H3")
@pytest.mark.parametrize(
    "words", [(), ("claude-code",), ("claude-code", "UserPromptSubmit", "plugin"), ("--new",)]
)
def test_a_hook_with_other_words_than_ours_refuses_no_prompt(
    holdfast: Holdfast, words: tuple[str, ...]
) -> None:
    done = holdfast("hook", *words, input="{}", check=0)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.promise("H7")
@pytest.mark.parametrize(("first", "second"), [("user", "project"), ("project", "user")])
@pytest.mark.parametrize("agent", HOSTS)
def test_hooks_in_both_scopes_are_warned_of(holdfast: Holdfast, agent: str, first: str, second: str) -> None:
    undo = f"(holdfast agents uninstall {agent} --scope {first})"
    assert undo not in " ".join(holdfast("install", agent, "--scope", first, "--yes", check=0).stderr.split())
    assert undo in " ".join(holdfast("install", agent, "--scope", second, "--yes", check=0).stderr.split())


@pytest.mark.promise("H1")
@pytest.mark.parametrize(
    ("agent", "file", "keys"),
    [
        ("claude-code", ".claude.json", ("mcpServers", "holdfast")),
        ("copilot", ".copilot/mcp-config.json", ("mcpServers", "holdfast")),
        ("cursor", ".cursor/mcp.json", ("mcpServers", "holdfast")),
        ("gemini", ".gemini/settings.json", ("mcpServers", "holdfast")),
        ("opencode", ".config/opencode/opencode.json", ("mcp", "holdfast")),
    ],
)
def test_what_a_person_set_for_our_tools_outlives_an_upgrade(
    holdfast: Holdfast, home: Path, agent: str, file: str, keys: tuple[str, str]
) -> None:
    holdfast("install", agent, "--yes", check=0)
    path = home / file
    value = json.loads(path.read_bytes())
    entry = value[keys[0]][keys[1]]
    good = dict(entry)
    theirs = {"enabled": False, "env": {"HOLDFAST_HOME": "/data"}, "tools": ["recall"]}
    entry.update(theirs)
    command = entry["command"]
    entry["command"] = ["/old/python", *command[1:]] if isinstance(command, list) else "/old/python"
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    holdfast("install", agent, "--yes", check=0)
    assert json.loads(path.read_bytes())[keys[0]][keys[1]] == {**good, **theirs}
    assert "already connected" in holdfast("install", agent, "--yes", check=0).stdout
    holdfast("uninstall", agent, "--yes", check=0)
    assert b"holdfast" not in path.read_bytes() if path.exists() else True


@pytest.mark.promise("H1")
def test_what_uninstall_cannot_reach_is_named(
    holdfast: Holdfast, repo: Path, make_repo: Callable[[str], Path]
) -> None:
    other = make_repo("other")
    holdfast("install", "codex", "--scope", "project", "--yes", cwd=other, check=0)
    holdfast("plugin", "gemini", check=0)
    said = " ".join(holdfast("uninstall", "--all", "--yes", check=0).stdout.split())
    assert f"{other}/.codex/hooks.json still contains holdfast's entries" in said
    assert "A plugin was made for Gemini CLI" in said
    assert "still has" not in holdfast("uninstall", "--all", "--yes", cwd=other, check=0).stdout
    assert not (other / ".codex").exists()


@pytest.mark.promise("H1")
def test_what_a_person_set_for_our_tools_in_codex_outlives_an_upgrade(holdfast: Holdfast, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('model = "x" # mine\n', encoding="utf-8")
    holdfast("install", "codex", "--yes", check=0)
    good = tomllib.loads(path.read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8").replace(sys.executable, "/old/python")
    text += (
        "startup_timeout_sec = 30.5\nenabled = false # for now\n\n"
        '[mcp_servers.holdfast.tools.remember]\napproval_mode = "approve"\n'
    )
    path.write_text(text, encoding="utf-8")
    holdfast("install", "codex", "--yes", check=0)
    theirs = {
        "startup_timeout_sec": 30.5,
        "enabled": False,
        "tools": {"remember": {"approval_mode": "approve"}},
    }
    good["mcp_servers"]["holdfast"].update(theirs)
    assert tomllib.loads(path.read_text(encoding="utf-8")) == good
    assert "already connected" in holdfast("install", "codex", "--yes", check=0).stdout
    holdfast("uninstall", "codex", "--yes", check=0)
    assert path.read_text(encoding="utf-8").rstrip() == 'model = "x" # mine'
