"""Chooses the lines for a prompt: what was decided about its subject, lessons, facts, commands and files.

Files and commands are offered if the prompt is about this repository, and each file if it is likely enough; the class
of the prompt decides about lessons only. `recall --as-prompt` uses this too, so that it shows exactly what the hook
would inject.
"""

from __future__ import annotations

import os

from holdfast.core.words import LONGEST_PROMPT, command_in, word_set, words
from holdfast.hooks import trace
from holdfast.hooks.classify import UNSURE, WORK, classify
from holdfast.hooks.classify_words import ASSENT
from holdfast.hooks.start_lines import Told, count_tokens

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from holdfast.hooks.relevance import Match

    Lines = list[tuple[str, str]]  # text and reason

MOST_TOKENS = 225  # of a first prompt; with the fence 250
MOST_LATER = 120
MOST_IN_SESSION = 800
MOST_LINES = 8
FACT_TOKENS = 40
MOST_FACTS = 2
# The smallest probability that is worth a line. A later prompt is offered files only when it moves to another topic;
# its files save five times as many calls as those of first prompts (docs/adr/0018 has the curves).
FIRST_BAR, LATER_BAR = 0.3, 0.2
MOST_FILES = 8
BRANCH_CHANCE = 0.4  # of the files of a branch that changes few (docs/adr/0018)
FACT_SHARE = 0.6  # of a fact's words, by rarity, that the prompt must contain
HEADING = "Likely files:"
OURS = "[holdfast "
CODE, LOOKING = "code-gen", "exploration"
ASKING = "qa"
AT_WORK = (CODE, LOOKING)
CLASSED = (*AT_WORK, ASKING)
_NO = word_set("no nope n wait stop false hm hmm")


class Heard:
    """What a session has seen: files and lines since its last compaction, tokens and prompts in total.

    `kind` is the class of its last prompt that had one, which a continuation inherits. `worked`: a prompt was work on
    code or a look at it. `read` is the length of its transcript at the time, where compaction is detected by it.
    """

    def __init__(self) -> None:
        self.lines: set[str] = set()
        self.files: set[str] = set()
        self.tokens = 0
        self.prompted = False
        self.kind = ""
        self.worked = False
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
) -> Answered:
    """The lines for a prompt. `root` is the checkout in which files must exist; None without a checkout. `cwd` is the
    agent's directory in it, if known.

    Facts are those of `project`, one of the repository's projects; '' if it has only one.

    `earlier` are the words of the session's prompts so far; None: the captured ones. `branch` is checked out.
    `memory` is the folder of the memory: what was decided is told from there.
    """
    text = prompt.strip()
    if not text:
        return Answered("", [], "the prompt is empty")
    if text.startswith(OURS):
        return Answered("", [], "the prompt is holdfast's own text")
    kind, _ = class_of(text, heard.kind)  # the reason quotes the prompt, which is not redacted
    budget = min(most, MOST_LATER if heard.prompted else most, MOST_IN_SESSION - heard.tokens)
    if budget <= 0:
        return Answered(kind, [], f"this session was told {heard.tokens} tokens already, the most there is")
    statements, nothing = _statements(memory, text, heard, budget, project, branch)
    budget -= sum(count_tokens(line) for line, _ in statements)
    answer = _beside(db, text, session, heard, root, earlier, budget, project, branch, cwd, kind)
    answer = Answered(kind, statements + answer.lines, answer.nothing or nothing, answer.files, answer)
    answer.nothing = "" if answer.lines else f"{nothing}; {answer.nothing}" if nothing else answer.nothing
    return answer


def _statements(
    memory: str, text: str, heard: Heard, budget: int, project: str, branch: str
) -> tuple[Lines, str]:
    """What was decided and found about the subject of the prompt, whatever its class; '' or why there is nothing."""
    if not memory:
        return [], ""
    import time

    from holdfast.hooks.telling import FLOOR, LATER_FLOOR, Telling, opened

    told = opened(memory)
    if told is None:
        return [], ""
    try:
        telling = Telling(told, text, branch, project, time.time())
        floor = LATER_FLOOR if heard.prompted else FLOOR
        lines, nothing = telling.told(budget, _ids(heard.lines), MOST_LINES, floor)
        return [(line.text, line.reason) for line in lines], nothing
    finally:
        told.close()


def _ids(lines: Collection[str]) -> set[str]:
    """The ids and commits that lines end with."""
    return {line.rpartition(" ")[2].rstrip(")") for line in lines if line.endswith(")")}


def _beside(
    db: sqlite3.Connection,
    text: str,
    session: str,
    heard: Heard,
    root: str | None,
    earlier: Sequence[Collection[str]] | None,
    budget: int,
    project: str,
    branch: str,
    cwd: str,
    kind: str,
) -> Answered:
    """Lessons for work on code; facts; commands and files where the prompt is about this repository."""
    command = command_in(text)
    if command and not _is_known(db, command):
        text = text[len(command) :].strip()  # its name says what kind of work it is, not what it is about
    if not text:
        return Answered(kind, [], "a command without words of its own")
    if budget <= 0:
        return Answered(kind, [])
    prompt_words = _said(db, text)
    lines: Lines = []
    left_out, changed = 0, False
    if kind == CODE:
        from holdfast.hooks.lesson_lines import lessons_for  # other prompts do not wait for it

        lessons = lessons_for(db, text, prompt_words, heard.lines, root, budget)
        lines, left_out, changed = lessons.lines, lessons.left_out, lessons.changed
        budget -= sum(count_tokens(line) for line, _ in lines)
    heard_now = heard.lines.union(line for line, _ in lines)
    facts = _facts(db, text, prompt_words, heard_now, min(FACT_TOKENS, budget), project)
    budget -= sum(count_tokens(line) for line, _ in facts)
    offer = _Offer(db, text, session, heard, root, earlier, branch, cwd)
    offered, nothing = offer.lines(budget, "\n".join([text, *heard_now, *(line for line, _ in facts)]))
    answer = Answered(kind, lines + facts + offered, nothing, offer.files)
    answer.left_out, answer.changed = left_out, changed
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


def _assents(text: str) -> bool:
    reply = text.lower().replace(",", " ").replace(".", " ").replace("!", " ").split()
    return 0 < len(reply) < 6 and all(word in ASSENT and word not in _NO for word in reply)


class _Offer:
    """The commands and files for a prompt."""

    def __init__(
        self,
        db: sqlite3.Connection,
        text: str,
        session: str,
        heard: Heard,
        root: str | None,
        earlier: Sequence[Collection[str]] | None,
        branch: str,
        cwd: str,
    ) -> None:
        from holdfast.hooks.postings import Postings

        self._db, self._text, self._heard, self._branch = db, text, heard, branch
        self._postings = Postings(db)
        self._number = self._postings.number(session) if session else -1
        given = self._postings.earlier(session) if earlier is None and session else earlier
        self._earlier = list(given or ())
        self._top = None if root is None else os.path.realpath(root)
        self._folders = [folder for folder in (self._top, cwd) if folder]
        self.files: list[str] = []

    def lines(self, budget: int, known: str) -> tuple[Lines, str]:
        """The lines, or why there are none. `known` is what the prompt and the session's lines already say."""
        from holdfast.hooks.ranking import names_in
        from holdfast.hooks.relevance import FLOOR, MOVED, Match

        if not self._postings.sessions:
            return [], "no session is known here"
        later = bool(self._earlier) or self._heard.prompted
        match = Match(self._postings, self._text, self._earlier, self._number, self._branch)
        named, names = names_in(self._postings, self._text, self._folders)
        if later:
            is_about, nothing = match.news()[0] >= MOVED, "the prompt goes on with what the session is about"
        else:
            names += bool(command_in(self._text))  # which sessions here were given before
            is_about, nothing = match.about(names) >= FLOOR, "the prompt may be about something else"
        on_branch = self._branch_files() if not later and (is_about or match.is_vague) else []
        commands: Lines = []
        if is_about and not later:
            from holdfast.hooks.command_lines import commands_for

            commands = commands_for(self._db, match, known, budget)
            budget -= sum(count_tokens(line) for line, _ in commands)
        files = self._file_lines(match, named, on_branch, budget, later=later, ranked=is_about)
        if is_about:
            nothing = "nothing that past sessions did is likely enough to help with it"
        return commands + files, nothing

    def _branch_files(self) -> list[str]:
        rows = self._db.execute("SELECT path FROM branch_file WHERE branch = ?", (self._branch,)).fetchall()
        return [path for (path,) in rows]

    def _file_lines(
        self,
        match: Match,
        named: Sequence[str],
        on_branch: Sequence[str],
        budget: int,
        *,
        later: bool,
        ranked: bool,
    ) -> Lines:
        from holdfast.hooks.ranking import fitting, path_lines, rank_files

        touched = self._postings.touched_by(self._number) if self._number >= 0 else []
        # A chance of 1 leaves only what the prompt names.
        bar = (LATER_BAR if later else FIRST_BAR) if ranked else 1.0
        likely: dict[str, str] = {}
        folders: dict[str, str] = {}
        reasons = [
            (pointer.path, f"{pointer.why}; {pointer.chance:.0%} likely")
            for pointer in rank_files(match, touched, bar, later=later, named=named)
        ]
        on_branch_reason = f"changed on this branch; {BRANCH_CHANCE:.0%} likely"
        of_branch = [(path, on_branch_reason) for path in on_branch if path not in touched]
        for path, reason in [*reasons[: len(named)], *of_branch, *reasons[len(named) :]]:
            if len(likely) == MOST_FILES:
                break
            if path in likely or path in self._heard.files or path in self._text:
                continue
            if self._top is None or is_file(self._top, path, folders):
                likely[path] = reason
        self.files = fitting(list(likely), budget - count_tokens(HEADING))
        if not self.files:
            return []
        lines = [
            (line, likely[path] if path else "folder of what is below it")
            for line, path in path_lines(self.files)
        ]
        return [(HEADING, "what the lines below it are"), *lines]


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


def is_file(top: str, path: str, folders: dict[str, str] | None = None) -> bool:
    """Whether a path is a file inside the checkout, and not reached through a link that leads out of it.

    `folders` caches the real paths of folders: resolving links checks every folder on the way, for every file.
    """
    try:
        whole = os.path.join(top, path)
        if not os.path.isfile(whole):
            return False
        if folders is None or os.path.islink(whole):
            real = os.path.realpath(whole, strict=True)
        else:
            folder = os.path.dirname(whole)
            if folder not in folders:
                folders[folder] = os.path.realpath(folder, strict=True) + os.sep
            real = folders[folder]
        return real.startswith(top.rstrip(os.sep) + os.sep)
    except (OSError, ValueError):
        return False


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
            heard.worked |= entry.get("class") in AT_WORK
            if not compacted and not entry.get("agent"):
                heard.lines.update(line["text"] for line in entry["lines"])
                heard.files.update(entry.get("files", ()))
            compacted |= entry.get("source") == "compact"
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
    heard.tokens = max(heard.tokens, total)  # older lines may be gone
    return heard
