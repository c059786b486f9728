"""What each host has in its files of 0.1.0's doing, and what it says when it calls: as the clients do, in our words."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.old_home_sessions import Edit, Run, Story
from tests.upgrade.world import Machine, settings

PROMPT = "Implement the refund endpoint: refunds go through the ledger service"
NEXT = "send the receipt of the refund"


@dataclass(frozen=True)
class Host:
    """Where its hooks stand, and what it calls the moments that ours are called at. '' where it has no such hook."""

    agent: str
    file: str
    start: str = "SessionStart"
    prompt: str = "UserPromptSubmit"
    stop: str = "Stop"
    end: str = "SessionEnd"
    project: str = ""  # the variable in which it names the directory
    env: dict[str, str] = field(default_factory=dict)

    def commands(self, machine: Machine) -> dict[str, str]:
        """Event → the one command of ours, taken from the file as it stands."""
        held = settings(machine.home / self.file)
        if self.agent == "opencode":
            ((_, options),) = [entry for entry in held["plugin"] if isinstance(entry, list)]
            words = [*options["command"], "opencode"]
            return {event: shlex.join([*words, event]) for event in self.events}
        found: dict[str, str] = {}
        for event, groups in held["hooks"].items():
            hooks = [hook for group in groups for hook in group.get("hooks", [group])]
            ours = [hook["command"] for hook in hooks if "hook_entry.py" in hook["command"]]
            if ours:
                (found[event],) = ours
        return found

    @property
    def events(self) -> list[str]:
        return [event for event in (self.start, self.prompt, self.stop, self.end) if event]

    def story(self, machine: Machine) -> Story:
        """The session that the host is in: it began a moment ago."""
        return Story(
            self.agent,
            f"hooked-{self.agent}",
            round(time.time()) - 90,
            machine.repo,
            PROMPT,
            (Edit("src/shop/refunds.py"), Run("make test", "7 passed in 0.40s")),
            f"The endpoint is there.\n\nNext steps:\n- {NEXT}",
        )

    def payload(self, machine: Machine, event: str, session: str, transcript: Path | str) -> dict[str, Any]:
        """What comes on standard input, in this host's names."""
        cwd = str(machine.repo)
        prompt = {"prompt": PROMPT} if event == self.prompt else {}
        if self.agent == "copilot":
            more = {"transcriptPath": str(transcript)} if event == self.stop else {}
            source = {"source": "new", "initialPrompt": PROMPT} if event == self.start else {}
            return {
                "sessionId": session, "timestamp": round(time.time() * 1000), "cwd": cwd, **prompt, **more, **source,
            }  # fmt: skip
        if self.agent == "cursor":
            return {
                "conversation_id": session, "generation_id": "g1", "hook_event_name": event,
                "cursor_version": "2.4.0", "workspace_roots": [cwd], "transcript_path": str(transcript),
            }  # fmt: skip
        if self.agent == "opencode":
            anew: dict[str, Any] = {"source": "startup", "anew": True} if event == self.start else {}
            return {"cwd": cwd, "hook_event_name": event, "session_id": session, **anew, **prompt}
        source = {"source": "startup"} if event == self.start else {}
        more = {"reason": "exit"} if event == self.end else {}
        return {
            "session_id": session, "transcript_path": str(transcript), "cwd": cwd, "hook_event_name": event,
            "permission_mode": "default", **source, **prompt, **more,
        }  # fmt: skip

    def variables(self, machine: Machine) -> dict[str, str]:
        return self.env | ({self.project: str(machine.repo)} if self.project else {})


HOSTS = {
    host.agent: host
    for host in (
        Host("claude-code", ".claude/settings.json", project="CLAUDE_PROJECT_DIR"),
        Host("codex", ".codex/hooks.json"),
        Host(
            "copilot", ".copilot/hooks/holdfast.json", "sessionStart", "userPromptSubmitted", "agentStop",
            "sessionEnd", project="COPILOT_PROJECT_DIR", env={"COPILOT_CLI": "1"},
        ),
        Host(
            "gemini", ".gemini/settings.json", prompt="BeforeAgent", stop="AfterAgent",
            project="GEMINI_PROJECT_DIR",
        ),
        Host("opencode", ".config/opencode/opencode.jsonc", project="HOLDFAST_PROJECT_DIR"),
        Host("qwen", ".qwen/settings.json", project="QWEN_PROJECT_DIR"),
        Host(
            "cursor", ".cursor/hooks.json", "sessionStart", "", "stop", "sessionEnd",
            project="CURSOR_PROJECT_DIR",
        ),
    )
}  # fmt: skip
