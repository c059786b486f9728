"""`holdfast agents install` on a machine with several agents: short enough to be read, and one in a mess stops nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast

HOMES = {
    "claude-code": ".claude",
    "codex": ".codex",
    "gemini": ".gemini",
    "opencode": ".config/opencode",
    "cursor": ".cursor",
}


@pytest.fixture
def agents(home: Path) -> Path:
    for folder in HOMES.values():
        (home / folder).mkdir(parents=True)
    return home


@pytest.mark.promise("H1")
def test_several_agents_are_shown_by_name_and_line_by_line_when_asked(
    holdfast: Holdfast, agents: Path
) -> None:
    shown = holdfast("install", "--dry-run", check=0).stdout
    assert "~/.claude/settings.json (Claude Code, new file)\n  + hooks: SessionStart, " in shown
    assert "(OpenCode, new file)\n  + $schema\n  + plugin\n  + mcp: holdfast\n" in shown
    assert len(shown.splitlines()) <= 5 * len(HOMES) and "@@" not in shown
    every = holdfast("install", "--dry-run", "--diff", check=0).stdout
    assert every.count("@@ ") >= len(HOMES) and "hook_entry.py cursor stop" in every
    assert not (agents / ".claude" / "settings.json").exists()


def test_one_agent_is_shown_in_full(holdfast: Holdfast, agents: Path) -> None:
    shown = holdfast("install", "codex", "--dry-run", check=0).stdout
    assert "@@ " in shown and "hook_entry.py codex Stop" in shown


def test_an_agent_whose_file_is_broken_is_left_out_unless_it_was_named(
    holdfast: Holdfast, agents: Path
) -> None:
    (agents / ".gemini" / "settings.json").write_text("{", encoding="utf-8")
    done = holdfast("install", "--yes", check=0)
    assert "Gemini CLI is left out" in done.stderr and "Codex: connected." in done.stdout
    assert holdfast("install", "gemini", "--yes").returncode == 1
    shown = holdfast("uninstall", "codex", "--dry-run", check=0).stdout
    assert "@@ " in shown
    (agents / ".gemini" / "settings.json").unlink()
    shown = holdfast("uninstall", "--all", "--yes", check=0).stdout
    assert "~/.codex/hooks.json (Codex, will be deleted)\n  - hooks: SessionStart" in shown
    assert not (agents / ".codex" / "hooks.json").exists()
