"""One commit as a source: its title, the texts by which it is found, and the passages that say something."""

from __future__ import annotations

import re

from msgspec import Struct

from holdfast.core.git_history import Commit
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.stamp import Stamp
from holdfast.core.tokens import cut_to
from holdfast.guard.quoted_text import is_hostile, safe_name
from holdfast.knowledge.commit_authors import is_empty_subject, is_generated
from holdfast.knowledge.commit_reverts import without_request
from holdfast.knowledge.quotations import (
    Quotation,
    content_words,
    paragraphs,
    plain,
    quotations,
    words_of,
    worth_of,
)
from holdfast.model.memory import content_id
from holdfast.model.source import Source
from holdfast.model.statement import Statement, StatementKind, Status

FORMAT = 2  # raise it when the same commit gives other sources: everything is read again then
_LONGEST_TITLE = 200
_LONGEST_TURN = 800
_MOST_IN_TURNS = 4000
_SUBJECT_TOKENS = 30
_LEAST_OF_UPKEEP = 0.5  # what a passage about documents or tools must be worth
_PLAIN_MERGE = lazy_regex(
    r"(?i)^(?:merge (?:pull request|branch|branches|remote|remote-tracking|tag|commit|commits|changes?|of"
    r"|master|main|develop|upstream|from|up|into|'|\S+ into)\b"
    r"|merge branch|merged in |merged? (?:pr|mr) ?[#!]?\d+\b|automatic merge|auto-?merge)"
)
_NOTHING_SAID = lazy_regex(r"\A(?:[\W_]*\n)+")  # lines before the subject that hold no letter
_FIXES = lazy_regex(
    r"(?i)(?:[\w()/.-]+: *)?(?:fix(?:e[sd])?|bug ?fix(?:es)?|hot ?fix|bug|issue|close[sd]?|resolve[sd]?|typos?)\b"
)
_UPKEEP = lazy_regex(
    r"(?i)(?:style|chore|ci|build|release)(?:\([^)]*\))?!?:|.*\b(?:docs?|documentation|docstrings?|readme|faq"
    r"|tests?|typos?"
    r"|comments?|changelog|lint\w*|\.gitignore|pep ?8)\b"
)
_MERGE_LIST = lazy_regex(r"^(?:[*#]|conflicts?:?\W*$|\S+ \(\d+\):?$)", re.IGNORECASE)
# A subject that holds by itself: a rule, a choice, a limit, a reason.
_STATES = PrefilteredRegex(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bdoes )(?<!\bdid )(?<!\bcan )(?<!\bcould )(?<!\bhas"
    r" )(?<!\bhave )(?<!\bwill )\bnot\b"
    r"|\b(?:instead of|rather than|in favou?r of|never|always|only|no longer|don['’]?t|must|should|because"
    r"|since|so that|to avoid|to prevent|unless"
    r"|by default|default to|at most|at least|up to|limit\w*|requires?|required|forbid\w*|disallow|reject\w*"
    r"|refuse\w*|revert\w*|drop(?:s|ped)? support"
    r"|deprecat\w*|replace\w*|switch\w* (?:to|from)|migrat\w+ (?:to|from)|prefer\w*|treat\w* \w+|stop\w*"
    r"|nicht|statt|nur|kein\w*|au lieu|sans|pas"
    r"|en vez|solo|sin|não)\b|\d+ ?(?:%|ms|s|sec\w*|min\w*|hours?|days?|kb|mb|gb|x|times)\b|不|改为",
    re.IGNORECASE,
)
_CAUSE = PrefilteredRegex(
    r"\b(?:because|caused? (?:by|a|an|the)|root cause|due to|reason (?:is|was|for|why)|the (?:problem|issue"
    r"|bug|culprit) (?:is|was)|turn(?:s|ed) out|leads? to|led to"
    r"|result(?:s|ed|ing) in|weil|wegen|parce que|à cause|porque|debido|потому)\b|因为|由于|原因",
    re.IGNORECASE,
)
_RULE = PrefilteredRegex(
    r"\b(?:must(?:n['’]t)?|never|always|do not|don['’]t|should not|shouldn['’]t|may not|only (?:if|when|where"
    r"|after|with)|no longer allowed|is required|are required"
    r"|nie(?:mals)?|immer|muss|müssen|darf nicht|jamais|toujours|nunca|siempre)\b|必须|不要|禁止",
    re.IGNORECASE,
)
_MEASUREMENT = lazy_regex(
    r"\b\d[\d.,]*\s?(?:%|ms|µs|us|ns|s|sec(?:onds?)?|min(?:utes?)?|hours?|k?b|kib|mb|mib|gb|gib|rps|qps"
    r"|ops(?:/s\w*)?|req/s|x|times|fps|tokens)(?!\w).{0,120}\b(?:faster|slower|less|more"
    r"|fewer|improve\w*|reduc\w*|regress\w*|speed\w*|took|takes|from|down|up|than|instead|gain|boost"
    r"|increase\w*|decrease\w*|measured|benchmark\w*|latency|throughput)\b"
    r"|\b(?:faster|slower|improve\w*|reduc\w*|regress\w*|speed\w*|took|takes|measured|benchmark\w*"
    r"|increase\w*|decrease\w*|latency|throughput)\b.{0,120}\b\d[\d.,]*\s?"
    r"(?:%|ms|µs|us|ns|s|sec(?:onds?)?|min(?:utes?)?|kb|kib|mb|mib|gb|gib|rps|qps|ops|req/s|x|times)(?!\w)",
    re.IGNORECASE,
)


class Message(Struct, frozen=True):
    """A commit's message in parts. Of the merge of a pull request the title is the request's."""

    subject: str
    body: str
    is_plain_merge: bool = False


def message_of(text: str) -> Message:
    text = _NOTHING_SAID.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    first, _, rest = text.strip().partition("\n")
    first = " ".join(first.split())
    following, _, after = rest.partition("\n")
    # A subject that was wrapped goes on in small letters; anything else below it is the body.
    if len(first) >= 45 and following[:1].islower() and len(following) < 80 and not after[:1].strip():
        first, rest = f"{first} {following.strip()}", after
    if not _PLAIN_MERGE.match(first):
        return Message(first, rest)
    title, _, body = _NOTHING_SAID.sub("", rest).strip().partition("\n")
    title = " ".join(title.split())
    if not title or _MERGE_LIST.match(title) or _PLAIN_MERGE.match(title):
        return Message(first, "", is_plain_merge=True)
    return Message(title, body)


class CommitText(Struct, frozen=True):
    """What is true of a commit besides its own words: who reads it, where it counts, whether it still does."""

    is_own: bool = False
    branches: tuple[str, ...] = ()
    is_reverted: bool = False
    now: float | None = None


def stamp_of(sha: str, place: CommitText) -> str:
    """A hash of all that a source is made from besides the program."""
    parts = (str(FORMAT), sha, str(place.is_own), str(place.is_reverted), *place.branches)
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def source_of(commit: Commit, place: CommitText) -> Source | None:
    """The source of a commit whose message was redacted; None if it says nothing or only what a tool wrote."""
    message = message_of(commit.message)
    if message.is_plain_merge or is_generated(message.subject):
        return None
    title = plain(message.subject)[:_LONGEST_TITLE].strip()
    if not title or is_hostile(title):
        return None
    prose = [paragraph for paragraph in paragraphs(message.body) if not is_hostile(paragraph.text)]
    told = [quotation for quotation in quotations(prose, title) if _is_worth_telling(quotation, title)]
    if states_something(title):
        told.insert(0, Quotation(title, worth=round(worth_of("", title), 2)))
    if not told and (is_empty_subject(without_request(title)) or content_words(title) < 2):
        return None
    at = commit.at if commit.at is None or place.now is None else min(commit.at, place.now)
    who = safe_name(commit.name)
    status: Status = "superseded" if place.is_reverted else "agreed"
    seen: set[str] = set()
    statements: list[Statement] = []
    for quotation in told:
        id = content_id("D", quotation.text)
        if id in seen:
            continue
        seen.add(id)
        statements.append(
            Statement(
                id=id,
                kind=kind_of(quotation.text),
                status=status,
                text=quotation.text,
                subject="" if quotation.text == title else cut_to(without_request(title), _SUBJECT_TOKENS),
                who=who,
                basis="person" if place.is_own else "",
                origin="git",
                stamp=None if at is None else Stamp.of_seconds(at),
                commits=(commit.sha,),
                source=f"git {commit.sha[:12]}",
                worth=quotation.worth,
            )
        )
    return Source(
        id=source_id(commit.sha),
        kind="commit",
        at=at,
        title=title,
        who=who,
        branches=place.branches,
        turns=_turns(title, [paragraph.text for paragraph in prose]),
        statements=tuple(statements),
        stamp=stamp_of(commit.sha, place),
    )


def _is_worth_telling(quotation: Quotation, title: str) -> bool:
    """Not if it repeats the title, gives orders, or only describes an upkeep of documents and tools."""
    if _UPKEEP.match(title) and quotation.worth <= _LEAST_OF_UPKEEP:
        return False
    return len(words_of(quotation.text) - words_of(title)) >= 2 and not is_hostile(quotation.text)


def source_id(sha: str) -> str:
    return f"git:{sha}"


def _turns(title: str, texts: list[str]) -> tuple[str, ...]:
    turns = [title]
    room = _MOST_IN_TURNS
    for text in texts:
        room -= len(text[:_LONGEST_TURN])
        if room < 0:
            break
        turns.append(text[:_LONGEST_TURN])
    return tuple(turns)


def states_something(subject: str) -> bool:
    """Whether a subject alone is worth telling: it says what holds, not only which part was changed."""
    bare = without_request(subject)
    return bool(_STATES.search(bare)) and content_words(bare) >= 4 and not _FIXES.match(bare)


def kind_of(text: str) -> StatementKind:
    """By the words of a passage; what is neither a figure, a cause nor a rule is a decision."""
    if _MEASUREMENT.search(text):
        return "measurement"
    if _RULE.search(text):
        return "rule"
    return "cause" if _CAUSE.search(text) else "decision"
