"""A session as the project's log keeps it: short enough that a person reads it in ten lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.distill.harvest_decisions import PLAN_TO_DO, plan_title
from holdfast.distill.harvest_prose import capitalised, plain, sentences, statements
from holdfast.distill.harvest_reports import tells_what_is_left
from holdfast.model.memory import LogEntry, OpenItem
from holdfast.model.session import DistilledSession
from holdfast.text.prose import prose_of, without_escapes

MOST_CONTEXT = 220
MOST_SUMMARY = 300
MOST_ITEMS = 4
MOST_FILES = 8
MOST_COMMITS = 6
MOST_READ = 4_000
_DRAWN = ("───", "━━━", "═══")  # lines across the page, around a heading
_LEAST_SAID = 25  # characters: "fix it" alone tells nobody what
_ENOUGH_SAID = 90
_INTRODUCES = 60  # a longer line that ends with a colon says something itself
_MARKS = re.compile(r"^(?:[#>*•-]+|\d+[.)])\s+")
_EMPTY_WORDS = re.compile(
    r"(?:(?:all )?(?:done|perfect|great|excellent|good|fixed|sure|certainly|yes|ok(?:ay)?|summary)\b"
    r"(?:[.!:,]+\s*|\s+[–—-]\s+|\s*\Z))+",
    re.IGNORECASE,
)
_COMMAND_ALONE = re.compile(r"/[\w:.-]+")  # of the client: how, and not what
_DATA = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[{\[\"])")
_NAME_ALONE = re.compile(r"[\w.~-]*(?:[/\\][\w.~-]+|\.\w{1,5}):?")  # the file that a block of code is for
_NO_RESULT = re.compile(
    r"(?:(?:let me|i['’]ll|i will|i['’]m|i am|now|next,? i|first,? i|would you|do you|let['’]s|here(?:['’]s| is| are)"
    r"|you['’]re welcome|glad|understood)\b)",
    re.IGNORECASE,
)


def log_entry(record: DistilledSession, now: float, left: Sequence[OpenItem] | None = None) -> LogEntry:
    """What happened, why, and what is left. A session that nothing dates is dated now, when it became known.

    `left`: what it left open as the state has it, so that a to-do is worded alike, and has one id, in both.
    """
    harvest = record.harvest
    open_items = harvest.open_items if left is None else left
    at = next((moment for moment in (record.started, record.ended) if moment is not None), now)
    return LogEntry(
        session=record.session,
        agent=record.agent,
        at=at,
        branch=record.branch,
        context=("(headless) " if record.headless else "") + goal_line(record, MOST_CONTEXT),
        outcome=_outcome(record),
        decisions=tuple(replace(item, at=at) for item in harvest.decisions[:MOST_ITEMS]),
        findings=tuple(replace(item, at=at) for item in harvest.findings[:MOST_ITEMS]),
        dead_ends=tuple(replace(item, at=at) for item in harvest.dead_ends[:MOST_ITEMS]),
        questions=tuple(replace(item, at=at) for item in harvest.questions[:MOST_ITEMS]),
        open_items=tuple(
            replace(item, at=at, branch="", session=record.session) for item in open_items[:MOST_ITEMS]
        ),
        files=_files(record),
        commits=harvest.commits[-MOST_COMMITS:],
        summary=summary_line(record.final_message, MOST_SUMMARY),
        transcript=record.sources[0] if record.sources else "",
    )


def goal_line(record: DistilledSession, most: int) -> str:
    """What the session was about: the first words of a person that say something."""
    for prompt in record.prompts or (record.goal,):
        line = _first_said(prompt)
        says = len(line) >= _LEAST_SAID and not _COMMAND_ALONE.fullmatch(line)
        if says or (line and len(record.prompts) < 2):
            return cut(line, most)
    return cut(" ".join(record.goal.split()), most)


def _first_said(prompt: str) -> str:
    """The first line, with those after it while it only introduces them; of a plan to implement its title."""
    if plan := PLAN_TO_DO.match(prompt):
        title = plan_title(prompt[plan.end() :].lstrip().partition("\n")[0])
        if title:
            return f"Implement the plan: {plain(title)}"
    said = ""
    for line in prose_of(prompt).lines:
        said = f"{said} {_MARKS.sub('', plain(line))}".strip()
        if len(said) >= _LEAST_SAID and not (said.endswith(":") and len(said) <= _INTRODUCES):
            break
    return said.rstrip(":")


def summary_line(message: str, most: int) -> str:
    """The first sentences of an agent's last words that say what was done."""
    said = ""
    if _DATA.match(message):
        return ""  # what a program was answered is no account of the work
    for statement in statements(without_escapes(message[:MOST_READ])):
        words = statement.text.lstrip("-–—•* ")
        if not said and (empty := _EMPTY_WORDS.match(words)):
            words = words[empty.end() :]
        if not words or words.endswith((":", "?")) or _NO_RESULT.match(words):
            continue
        if _NAME_ALONE.fullmatch(words) or any(line in words for line in _DRAWN):
            continue
        if tells_what_is_left(statement):
            continue
        said = f"{said}{' ' if said.endswith(('.', '!')) else '; '}{words}" if said else words
        if len(said) >= _ENOUGH_SAID:
            break
    return cut(capitalised(said), most)


def task_line(title: str, most: int) -> str:
    """A request as something to do: its first sentence, not the whole prompt."""
    line = _first_said(title) or " ".join(title.split())
    return cut(next(iter(sentences(line)), line) if len(line) > _ENOUGH_SAID else line, most)


def cut(text: str, most: int) -> str:
    """At most so many characters, ending with a whole word."""
    if len(text) <= most:
        return text
    head = text[:most]
    return f"{head[: head.rfind(' ')] if ' ' in head[most // 2 :] else head}…"


def _outcome(record: DistilledSession) -> str:
    why = " ".join(without_escapes(record.outcome_why).split())
    return f"{record.outcome} ({cut(why, 120)})" if why else record.outcome


def _files(record: DistilledSession) -> tuple[str, ...]:
    """Those of the repository that were changed, the most worked on first."""
    own = (touch for touch in record.files if touch.edits and not touch.path.startswith(("/", "~", "..")))
    edited = sorted(own, key=lambda touch: -touch.edits)
    return tuple(touch.path for touch in edited[:MOST_FILES])
