"""Chooses the commands for a prompt, in one line: those that sessions here run, and similar ones most of all."""

from __future__ import annotations

from holdfast.hooks.start_lines import count_tokens

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3

    from holdfast.hooks.relevance import Match

    Lines = list[tuple[str, str]]  # text and reason

HEADING = "Commands here: "
BETWEEN = " · "
MOST_TOKENS = 60
MOST_COMMANDS = 6
LEAST = 0.1  # chance that a session runs it


def commands_for(db: sqlite3.Connection, match: Match, known: str, budget: int) -> Lines:
    """At most one line. `known` is what the prompt and the session's lines already say."""
    similar = match.similar
    whole = sum(similar.values())
    candidates = []
    for text, rate, blob in db.execute("SELECT text, rate, sessions FROM command").fetchall():
        sessions = memoryview(blob).cast("I").tolist()
        near = sum(similar.get(number, 0.0) for number in sessions) / whole if whole else rate
        chance = (rate + near) / 2
        if chance >= LEAST and not is_mentioned(text, known):
            candidates.append((-chance, text, len(sessions)))
    remaining = min(budget, MOST_TOKENS) - count_tokens(HEADING)
    chosen: list[str] = []
    most = 0
    for _, text, runs in sorted(candidates):
        cost = count_tokens(f"`{text}`{BETWEEN if chosen else ''}")
        if cost <= remaining and len(chosen) < MOST_COMMANDS:
            remaining -= cost
            chosen.append(f"`{text}`")
            most = max(most, runs)
    if not chosen:
        return []
    reason = f"run in up to {most} of {match.postings.sessions} sessions; recent and similar ones count more"
    return [(HEADING + BETWEEN.join(chosen), reason)]


def is_mentioned(command: str, text: str) -> bool:
    """Whether a text contains a command as such, and not only the beginning of another one."""
    at = text.find(command)
    while at >= 0:
        after = text[at + len(command) : at + len(command) + 1]
        if not (after.isalnum() or after in (" ", "-", ":", "_")) or text[at - 1 : at] == "`" == after:
            return True
        at = text.find(command, at + 1)
    return False
