"""Tells what a prompt wants. A stand-in with the real classifier's signature, which replaces this file."""

from __future__ import annotations

_ORDERS = frozenset(
    [
        "add",
        "fix",
        "implement",
        "write",
        "create",
        "build",
        "refactor",
        "change",
        "update",
        "remove",
        "delete",
        "rename",
        "move",
        "replace",
        "make",
        "extend",
        "port",
        "migrate",
        "wire",
        "support",
        "handle",
        "use",
        "let",
        "convert",
        "bump",
    ]
)
_LOOKS = frozenset(
    [
        "find",
        "look",
        "explain",
        "check",
        "investigate",
        "explore",
        "review",
        "show",
        "where",
        "trace",
        "debug",
        "analyze",
    ]
)
_CHAT = frozenset(["thanks", "thank", "great", "nice", "ok", "okay", "cool", "yes", "no", "hello", "hi"])


def classify(prompt: str) -> tuple[str, float, str]:
    """Class, confidence and why."""
    found = [word.strip(".,:;!?\"'()`").lower() for word in prompt.split()[:400]]
    if not found or (found[0] in _CHAT and len(found) <= 4):
        return "other", 0.8, "small talk"
    for word in found:
        if word in _ORDERS:
            return "code-gen", 0.6, f"an order: {word}"
    for word in found:
        if word in _LOOKS:
            return "exploration", 0.6, f"a look around: {word}"
    if prompt.rstrip().endswith("?"):
        return "qa", 0.5, "a question"
    wrong = next(
        (word for word in found if word in ("ignores", "fails", "broken", "wrong", "crashes", "loses")), ""
    )
    return ("code-gen", 0.5, f"something is wrong: {wrong}") if wrong else ("other", 0.3, "")
