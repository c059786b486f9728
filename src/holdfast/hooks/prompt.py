"""Chooses the lines for a prompt: what was decided about its subject, lessons, facts, commands and files.

The class of the prompt decides about lessons and facts; `hooks/offers.py` decides about commands and files.
`recall --as-prompt` uses this too, so that it shows exactly what the hook would inject.
"""

from __future__ import annotations

from holdfast.core.words import LONGEST_PROMPT, command_in, word_set, words
from holdfast.hooks import trace
from holdfast.hooks.classify import UNSURE, WORK, classify
from holdfast.hooks.classify_words import ASSENT
from holdfast.hooks.start_lines import Told, count_tokens

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from holdfast.hooks.offers import Offers

    Lines = list[tuple[str, str]]  # text and reason

MOST_PROMPT = 100_000  # characters that are looked at
MOST_TOKENS = 225  # of a first prompt; with the fence 250
MOST_LATER = 120
MOST_IN_SESSION = 800
MOST_LINES = 8
FACT_TOKENS = 40
MOST_FACTS = 2
MOST_SAID = 500  # words of a prompt that a query may hold
FACT_SHARE = 0.6  # of a fact's words, by rarity, that the prompt must contain
OURS = "[holdfast "
CODE, LOOKING = "code-gen", "exploration"
ASKING = "qa"
AT_WORK = (CODE, LOOKING)
CLASSED = (*AT_WORK, ASKING)
_NO = word_set("no nope n wait stop false hm hmm")


class Heard:
    """What a session has seen: files and lines since its last compaction, tokens and prompts in total.

    `kind` is the class of its last prompt that had one, which a continuation inherits. `read` is the length of
    its transcript at the time, where compaction is detected by it.
    """

    def __init__(self) -> None:
        self.lines: set[str] = set()
        self.files: set[str] = set()
        self.tokens = 0
        self.prompted = False
        self.kind = ""
        self.read: int | None = None


class Answered(Told):
    """Also has the class of the prompt, and the files that the lines name."""

    def __init__(
        self,
        kind: str,
        lines: Lines,
        nothing: str = "",
        files: Sequence[str] = (),
        beside: Answered | None = None,
    ) -> None:
        super().__init__(lines, nothing)
        self.kind = kind
        self.files = list(files)
        # A file that a lesson depends on has changed: the child process checks it.
        self.changed: bool = beside is not None and beside.changed
        self.left_out = 0 if beside is None else beside.left_out


def choose(
    db: sqlite3.Connection,
    prompt: str,
    session: str,
    heard: Heard,
    root: str | None,
    earlier: Sequence[Collection[str]] | None = None,
    most: int = MOST_TOKENS,
    project: str = "",
    branch: str = "",
    cwd: str = "",
    memory: str = "",
    as_of: float | None = None,
    own: Collection[str] = (),
) -> Answered:
    """The lines for a prompt. `root` is the checkout in which files must exist; None without a checkout. `cwd` is the
    agent's directory in it, if known.

    Facts are those of `project`, one of the repository's projects; '' if it has only one.

    `earlier` are the words of the session's prompts so far; None: the captured ones. `branch` is checked out.
    `memory` is the folder of the memory: what was decided is told from there, as of a moment (None: now). `own` are
    ids of statements that the host reads in a file of its own.
    """
    text = prompt[:MOST_PROMPT].strip()
    if not text:
        return Answered("", [], "the prompt is empty")
    if text.startswith(OURS):
        return Answered("", [], "the prompt is holdfast's own text")
    kind, _ = class_of(text, heard.kind)  # the reason quotes the prompt, which is not redacted
    budget = min(most, MOST_LATER if heard.prompted else most, MOST_IN_SESSION - heard.tokens)
    if budget <= 0:
        return Answered(kind, [], f"this session has already seen {heard.tokens} tokens, the maximum")
    offers, nothing_beside = _offers(db, text, session, heard, root, earlier, branch, cwd, kind)
    # Statements and lessons may fill any budget, and would leave none to files and commands.
    reserved = budget // 4 if offers is not None and offers.any else 0
    statements, nothing = _statements(
        memory, text, {*_ids(heard.lines), *own}, heard.prompted, budget - reserved, project, branch, as_of
    )
    budget -= sum(count_tokens(line) for line, _ in statements)
    learned = _learned(db, text, heard, root, budget - reserved, project, kind)
    budget -= learned.tokens
    lines = statements + learned.lines
    if offers is not None:
        known = "\n".join([text, *heard.lines, *(line for line, _ in lines)])
        lines = lines + offers.lines(budget, known)
    nothing = "" if lines else f"{nothing}; {nothing_beside}" if nothing else nothing_beside
    return Answered(kind, lines, nothing, offers.files if offers is not None else (), learned)


def _statements(
    memory: str,
    text: str,
    heard: Collection[str],
    prompted: bool,
    budget: int,
    project: str,
    branch: str,
    as_of: float | None,
) -> tuple[Lines, str]:
    """What was decided and found about the subject of the prompt, whatever its class; '' or why there is nothing."""
    if not memory:
        return [], ""
    import time

    from holdfast.hooks.telling import FLOOR, LATER_FLOOR, Telling, TellingLine, noted_by_hand, opened

    told = opened(memory)
    if told is None:
        return [], ""
    try:
        now = time.time() if as_of is None else as_of
        noted: list[TellingLine] = []
        if rows := noted_by_hand(told):
            from holdfast.hooks import by_hand  # few memories have such decisions

            floor = by_hand.LATER_FLOOR if prompted else by_hand.FLOOR
            noted = by_hand.lines_by_hand(told, rows, text, budget, heard, project, now, floor)
        budget -= sum(count_tokens(line.text) for line in noted)
        heard = {*heard, *(id for line in noted for id in line.ids)}
        telling = Telling(told, text, branch, project, now)
        floor = LATER_FLOOR if prompted else FLOOR
        lines, nothing = telling.told(budget, heard, MOST_LINES - len(noted), floor)
        return [(line.text, line.reason) for line in (*noted, *lines)], nothing
    finally:
        told.close()


def _ids(lines: Collection[str]) -> set[str]:
    """The ids and commits that lines end with."""
    return {line.rpartition(" ")[2].rstrip(")") for line in lines if line.endswith(")")}


def _offers(
    db: sqlite3.Connection,
    text: str,
    session: str,
    heard: Heard,
    root: str | None,
    earlier: Sequence[Collection[str]] | None,
    branch: str,
    cwd: str,
    kind: str,
) -> tuple[Offers | None, str]:
    """Commands and files, for whatever is about this repository; or None. And why there may be none."""
    command = command_in(text)
    if command and not _is_known(db, command):
        if kind not in AT_WORK:
            return None, f"a command that is {kind}, and that no session here was given"
        text = text[len(command) :].strip()  # its name says what kind of work it is, not what it is about
    if not text:
        return None, "a command without words of its own"
    if not _may_be_about(db, text, branch):
        return None, "nothing that past sessions did shares a word with the prompt"
    from holdfast.hooks.offers import Offers  # small talk does not wait for it

    offers = Offers(db, text, session, heard, root, earlier, branch, cwd)
    return offers, offers.nothing


def _learned(
    db: sqlite3.Connection, text: str, heard: Heard, root: str | None, budget: int, project: str, kind: str
) -> Answered:
    """Lessons and facts, for work on code."""
    command = command_in(text)
    if command and not _is_known(db, command):
        text = text[len(command) :].strip()
    if kind != CODE or not text or budget <= 0:
        return Answered(kind, [])
    from holdfast.hooks.lesson_lines import lessons_for  # other prompts do not wait for it

    prompt_words = _said(db, text)
    lessons = lessons_for(db, text, prompt_words, heard.lines, root, budget)
    budget -= sum(count_tokens(line) for line, _ in lessons.lines)
    heard_now = heard.lines.union(line for line, _ in lessons.lines)
    facts = _facts(db, text, prompt_words, heard_now, min(FACT_TOKENS, budget), project)
    answer = Answered(kind, lessons.lines + facts)
    answer.left_out, answer.changed = lessons.left_out, lessons.changed
    return answer


def class_of(text: str, last: str) -> tuple[str, str]:
    """The class of a prompt, and why. `last` is the class of the session's previous prompt.

    Unsure between work on code and a look at it counts as a look: files help with both. Assent ("yes") and prompts
    without a class of their own ("all four", "the other one") continue the previous one; thanks and questions do not.
    """
    kind, sure, why = classify(text)
    if kind != "other":
        return kind, why
    if why.startswith(WORK):
        return LOOKING, why
    if last in CLASSED and (sure == UNSURE or _assents(text)):
        return last, f"goes on with a prompt that was {last}"
    return kind, why


def _is_known(db: sqlite3.Connection, command: str) -> bool:
    """Whether past sessions here used this slash command."""
    return bool(db.execute("SELECT 1 FROM word WHERE word = ?", (command,)).fetchall())


def _may_be_about(db: sqlite3.Connection, text: str, branch: str) -> bool:
    """Whether there can be an offer at all: most small talk ends here, and loads nothing that ranks."""
    if (
        "." in text
        or "#" in text
        or db.execute("SELECT 1 FROM branch_file WHERE branch = ?", (branch,)).fetchone()
    ):
        return True
    said = list(_said(db, text))[:MOST_SAID]
    marks = ", ".join("?" * len(said))
    return bool(db.execute(f"SELECT 1 FROM word WHERE word IN ({marks}) LIMIT 1", said).fetchall())


def _assents(text: str) -> bool:
    reply = text.lower().replace(",", " ").replace(".", " ").replace("!", " ").split()
    return 0 < len(reply) < 6 and all(word in ASSENT and word not in _NO for word in reply)


def _said(db: sqlite3.Connection, text: str) -> set[str]:
    """The content words of a prompt."""
    ((empty,),) = db.execute("SELECT empty FROM asked_meta").fetchall()
    return set(words(text[:LONGEST_PROMPT], frozenset(empty.split())))


def _facts(
    db: sqlite3.Connection,
    text: str,
    said: Collection[str],
    heard: Collection[str],
    budget: int,
    project: str,
) -> Lines:
    """The few facts that share most of their words with the prompt."""
    statement = "SELECT text, reason, words FROM prompt_fact WHERE ? IN ('', project)"
    rows = db.execute(statement, (project,)).fetchall()
    matches = []
    heard_text = "\n".join([*heard, ""])
    for line, reason, weighed in rows:
        weights = {
            word: float(weight) for word, _, weight in (part.partition(":") for part in weighed.split())
        }
        shared = [word for word in weights if word in said]
        share = sum(weights[word] for word in shared) / (sum(weights.values()) or 1.0)
        if len(shared) > 1 and share >= FACT_SHARE and line not in text and not _is_said(line, heard_text):
            matches.append((share, line, f"{reason}; {', '.join(sorted(shared)[:3])}"))
    chosen: Lines = []
    for _, line, reason in sorted(matches, key=lambda one: (-one[0], one[1]))[:MOST_FACTS]:
        cost = count_tokens(line)
        if cost <= budget:
            budget -= cost
            chosen.append((line, reason))
    return chosen


def _is_said(line: str, told: str) -> bool:
    """Whether the session has seen this line, or the command that it names in another line."""
    if f"{line}\n" in told:
        return True
    command = line.split("`")[1] if line.count("`") > 1 else ""
    return bool(command) and any(f"{command}{end}" in told for end in ("`", "\n"))


def heard_by(memory: str, session: str) -> Heard:
    """Reads what a session has seen from the trace; ignores torn or foreign lines."""
    heard = Heard()
    compacted = False
    total = 0
    for entry in trace.told_to(memory, session):
        try:
            total = max(total, int(entry.get("total", 0)))
            heard.tokens += int(entry["tokens"])
            heard.prompted |= entry["event"] == "UserPromptSubmit"
            if heard.read is None and isinstance(entry.get("read"), int):
                heard.read = entry["read"]
            if not heard.kind and entry.get("class") in CLASSED:
                heard.kind = entry["class"]
            if not compacted and not entry.get("agent"):
                heard.lines.update(line["text"] for line in entry["lines"])
                heard.files.update(entry.get("files", ()))
            compacted |= entry.get("source") == "compact"
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
    heard.tokens = max(heard.tokens, total)  # older lines may be gone
    return heard
