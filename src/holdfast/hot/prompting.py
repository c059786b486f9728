"""What a prompt is told: files that like sessions worked on, and facts about what it asks for; mostly nothing.

The class of the prompt decides first, then how likely each file is. `recall --as-prompt` asks here as well, so that it
shows what the hook would say.
"""

from __future__ import annotations

import os

from holdfast.hot import trace
from holdfast.hot.classify import classify
from holdfast.hot.pointer_text import fitting, path_lines
from holdfast.hot.postings import Postings
from holdfast.hot.ranking import rank
from holdfast.hot.telling import Told, count_tokens
from holdfast.hot.words import LONGEST_PROMPT, words

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    Lines = list[tuple[str, str]]  # text and reason

MOST_TOKENS = 200
MOST_IN_SESSION = 1_200
FACT_TOKENS = 80
MOST_FACTS = 3
# The smallest chance that is worth a line. Files under later prompts cost five times what those under the first do
# (5.9% of all calls against 1.2%), so a first prompt's file must be five times as likely to pay for the same tokens.
FIRST_BAR, LATER_BAR = 0.2, 0.04
FACT_SHARE = 0.6  # of what a fact says, by rarity, that the prompt must say too
HEADING = "Files of like sessions:"
OURS = "[holdfast "
CODE, LOOKING = "code-gen", "exploration"


class Heard:
    """What a session was told before: files and lines since its last compaction, tokens and prompts in all."""

    def __init__(self) -> None:
        self.lines: set[str] = set()
        self.files: set[str] = set()
        self.tokens = 0
        self.prompted = False


class Answered(Told):
    """Also the class that was decided on, and the files that the lines stand for."""

    def __init__(self, kind: str, lines: Lines, nothing: str = "", files: Sequence[str] = ()) -> None:
        super().__init__(lines, nothing)
        self.kind = kind
        self.files = list(files)


def choose(
    db: sqlite3.Connection,
    prompt: str,
    session: str,
    heard: Heard,
    root: str | None,
    earlier: Sequence[Collection[str]] | None = None,
    project: str = "",
) -> Answered:
    """The lines for a prompt. `root` is the checkout in which files must exist; None where there is none to look at.

    Facts are those of `project`, one of the repository's; '' where it has but one.

    `earlier` are the words of the session's prompts so far; None: those that were captured.
    """
    text = prompt.strip()
    if not text:
        return Answered("", [], "the prompt is empty")
    if text.startswith("/"):
        return Answered("", [], "a command of the client")
    if text.startswith(OURS):
        return Answered("", [], "the prompt is holdfast's own text")
    kind, _, _ = classify(text)  # why is said in words of the prompt, which nobody has redacted
    if kind not in (CODE, LOOKING):
        return Answered(kind, [], f"the prompt is {kind}, not work on code")
    budget = min(MOST_TOKENS, MOST_IN_SESSION - heard.tokens)
    if budget <= 0:
        return Answered(kind, [], f"this session was told {heard.tokens} tokens already, the most there is")
    facts = _facts(db, text, heard, min(FACT_TOKENS, budget), project) if kind == CODE else []
    budget -= sum(count_tokens(line) for line, _ in facts)
    pointers, files = _pointers(db, text, session, heard, root, budget, earlier)
    nothing = f"the prompt is {kind}; nothing that past sessions did is likely enough to help with it"
    return Answered(kind, facts + pointers, nothing, files)


def _pointers(
    db: sqlite3.Connection,
    text: str,
    session: str,
    heard: Heard,
    root: str | None,
    budget: int,
    earlier: Sequence[Collection[str]] | None,
) -> tuple[Lines, list[str]]:
    postings = Postings(db)
    if not postings.sessions:
        return [], []
    own = postings.number(session) if session else -1
    touched = postings.touched_by(own) if own >= 0 else []
    before = postings.earlier(session) if earlier is None and session else list(earlier or ())
    later = bool(before) or heard.prompted
    ranked = rank(postings, text, before, touched, LATER_BAR if later else FIRST_BAR, own, later)
    top = None if root is None else os.path.realpath(root)
    likely = {
        one.path: one
        for one in ranked
        if one.path not in heard.files and (top is None or is_file(top, one.path))
    }
    files = fitting(list(likely), budget - count_tokens(HEADING))
    if not files:
        return [], []
    lines = [
        (
            line,
            f"{likely[path].why}; {likely[path].chance:.0%} likely" if path else "folder of what is below it",
        )
        for line, path in path_lines(files)
    ]
    return [(HEADING, "what the lines below it are"), *lines], files


def _facts(db: sqlite3.Connection, text: str, heard: Heard, budget: int, project: str) -> Lines:
    """The few facts of which the prompt says most."""
    asked = "SELECT text, reason, words FROM prompt_fact WHERE ? IN ('', project)"
    rows = db.execute(asked, (project,)).fetchall()
    if not rows:
        return []
    ((empty,),) = db.execute("SELECT empty FROM asked_meta").fetchall()
    said = set(words(text[:LONGEST_PROMPT], frozenset(empty.split())))
    found = []
    for line, reason, weighed in rows:
        weights = {
            word: float(weight) for word, _, weight in (part.partition(":") for part in weighed.split())
        }
        shared = [word for word in weights if word in said]
        share = sum(weights[word] for word in shared) / (sum(weights.values()) or 1.0)
        if len(shared) > 1 and share >= FACT_SHARE and line not in heard.lines and line not in text:
            found.append((share, line, f"{reason}; {', '.join(sorted(shared)[:3])}"))
    kept: Lines = []
    for _, line, reason in sorted(found, key=lambda one: (-one[0], one[1]))[:MOST_FACTS]:
        cost = count_tokens(line)
        if cost <= budget:
            budget -= cost
            kept.append((line, reason))
    return kept


def is_file(top: str, path: str) -> bool:
    """A file inside the checkout, whose real path is given; not through a link that leads out of it."""
    try:
        if not os.path.exists(os.path.join(top, path)):
            return False  # most of what is missing needs no closer look
        real = os.path.realpath(os.path.join(top, path), strict=True)
        return real.startswith(top.rstrip(os.sep) + os.sep) and os.path.isfile(real)
    except (OSError, ValueError):
        return False


def heard_by(memory: str, session: str) -> Heard:
    """From the end of the trace; a torn or foreign line says nothing."""
    import json

    found = Heard()
    if not session:
        return found
    mark = json.dumps(session, ensure_ascii=False).encode("utf-8", "replace")
    compacted = False
    for raw in reversed(trace._end(os.path.join(memory, "why.jsonl"), trace.MOST_LOOKED_AT).split(b"\n")):
        if mark not in raw:
            continue
        try:
            entry = json.loads(raw)
            if entry["session"] != session:
                continue
            found.tokens += int(entry["tokens"])
            found.prompted |= entry["event"] == "UserPromptSubmit"
            if not compacted and not entry.get("agent"):
                found.lines.update(line["text"] for line in entry["lines"])
                found.files.update(entry.get("files", ()))
            compacted |= entry.get("source") == "compact"
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            continue
    return found
