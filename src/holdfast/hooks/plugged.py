"""Checks whether a host's own settings contain our hooks too: then a plugin's hooks do nothing, so that nothing is
injected twice. Only a plugin's hooks use this.
"""

from __future__ import annotations

import os

from holdfast.core.reading import bytes_of

WORD = "plugin"
OURS = b"hook_entry.py"
MOST = 1 << 20
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The variable that moves a host's folder, that folder in the home directory, files in it, and files in a repository.
PLACES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", ("settings.json",), (".claude/settings.local.json",)),
    "codex": ("CODEX_HOME", ".codex", ("hooks.json",), (".codex/hooks.json",)),
    "gemini": ("", ".gemini", ("settings.json",), (".gemini/settings.json",)),
    "copilot": (
        "COPILOT_HOME",
        ".copilot",
        ("hooks/holdfast.json",),
        (".github/copilot/settings.local.json",),
    ),
}


def leaves_it_to_settings(host: str, root: str, env: dict[str, str]) -> bool:
    if host not in PLACES:
        return False
    variable, folder, home_files, repository_files = PLACES[host]
    home = env.get("GEMINI_CLI_HOME") if host == "gemini" else None
    home = home or env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")
    base = env.get(variable) or os.path.join(home, folder)
    mark = f" {host} ".encode()
    settings_files = (os.path.join(os.path.expanduser(base), name) for name in home_files)
    if any(OURS in text and mark in text for text in map(_text, settings_files)):
        return True
    # A repository's settings may be written for another machine, or to silence us: they must name exactly this hook.
    hook_path = os.path.join(_PACKAGE, "hot", "hook_entry.py").replace("\\", "/")
    texts = [_text(os.path.join(root, name)) for name in repository_files]
    return any(hook_path.encode() in text.replace(b"\\\\", b"/") and mark in text for text in texts)


def _text(path: str) -> bytes:
    return bytes_of(path, MOST) or b""
