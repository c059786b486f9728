"""Names of the files that tell agents how to work in a repository. Standard library only, so `context` starts fast."""

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
    """Whether a path, absolute or relative, has the name of such a file."""
    return path in GUIDES or path.replace("\\", "/").endswith(_LAST)
