"""Files that tell agents how to work in a repository, by name. Standard library only: `context` reads them at once."""

from __future__ import annotations

# In any directory from the current one up to the top of the repository.
GUIDES = (
    "AGENTS.override.md",
    "AGENTS.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
    "CONVENTIONS.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules",
    ".goosehints",
    ".rules",
    ".junie/guidelines.md",
)
_LAST = tuple(f"/{name}" for name in GUIDES)


def may_be_guide(path: str) -> bool:
    """Whether a path, absolute or not, is named like one."""
    return path in GUIDES or path.replace("\\", "/").endswith(_LAST)
