"""Gives a session a title that a person recognises: from what it is called, what it delivered, or what was asked.

The agent's own title counts first, then the pull request or the commit, then the first prompt that says something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import simple_commands, unquoted
from holdfast.language.kind_words import OPERATION
from holdfast.language.own_words import own_words
from holdfast.language.prose import capitalised, plain, prose_of, sentences

LONGEST = 80
_TELLS = 2  # own words of a title that tells this work from others
_SHORTEST = 12
_PLAIN_WORDS = 4  # of a first request that says something in ordinary words
_SAYS_ENOUGH = 3  # words of a request for routine work
_SHORT_ORDER = 5  # words
_MOST_BEFORE = 4  # sentences that are looked at for a request

_FILLER = lazy_regex(
    r"(?:(?:ok(?:ay)?|hi|hey|hello|so|now|well|and|then|also|please|pls|plz|great|thanks?|thank you|alright|right|cool"
    r"|perfect|yes|yeah|no|actually|just|next|first|claude|codex|gemini)\b[\s,.!:;–—-]*"
    r"|(?:can|could|would|will) (?:you|we)(?: please)? (?:just |also |now )?"
    r"|(?:i(?:['’]d| would) like (?:you )?to|i (?:want|need)(?: you)? to|i think (?:we|you) (?:should|need to)"
    r"|let['’]?s|lets|we (?:need|want|should|have) (?:to )?|you (?:should|need to)|help me(?: to)?|go ahead and"
    r"|your task is to|the task is to|task:) )+",
    re.IGNORECASE,
)
_THINKING = lazy_regex(
    r"(?:I (?:need|should|will|must|have)|I['’](?:ll|m)|Let me|We need)\b"
)  # aloud: no title
# A report that talks to the person, or a line of a list about one place in the code.
_NO_TITLE = lazy_regex(r"(?:you|i|it|we|here|sorry|there)\b|\S+:\d+\b", re.IGNORECASE)
# Asks about what the sentence before or after it names.
_POINTS_AWAY = lazy_regex(
    r"\b(?:this|that|these|it|the following)(?: (?:bug|issue|problem|error|descriptions?|spec\w*|design|list))?\W*\Z"
    r"|\b(?:find|figure) out why\W*\Z",
    re.IGNORECASE,
)
_ASKS = lazy_regex(
    r"(?:(?:so|now|ok(?:ay)?|please|then|also|and|but|instead)\b[\s,]*)*"
    r"(?:(?:can|could|would|will) (?:you|we)\b|please\b|let['’]?s\b|i(?:['’]d| would) like\b|i (?:want|need)\b"
    r"|we (?:need|should|want)\b"
    r"|(?:add|fix|make|create|implement|update|remove|rename|refactor|write|review|check|investigate|find|move|change|extract|replace"
    r"|use|show|run|build|debug|document|explain|improve|convert|migrate|set up|clean up|look at|help)\b)",
    re.IGNORECASE,
)
_COMMIT_NAME = lazy_regex(r"\A[0-9a-f]{7,40} ")
_TYPE = lazy_regex(
    r"(?:feat|fix|chore|docs?|test|tests|refactor|perf|style|build|ci|revert|wip)(?:\(([^)\n]{1,40})\))?!?:\s+",
    re.I,
)
_PULL = lazy_regex(r"https?://[^\s/]+/[^\s/]+/([^\s/]+)/(?:pull|merge_requests|-/merge_requests)/(\d+)\S*")
_ISSUE = lazy_regex(r"https?://[^\s/]+/[^\s/]+/([^\s/]+)/(?:issues|discussions|-/issues)/(\d+)\S*")
_MARKDOWN_LINK = lazy_regex(r"\[([^\]\n]{1,300})\]\((https?://[^)\s]{1,600})\)")
_LINK = lazy_regex(r"https?://([^\s/]+)[^\s)\]]*")
_IDENTIFIER = lazy_regex(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{18,}|\b[0-9a-f]{12,}\b")
_ABSOLUTE = lazy_regex(r"(?<![\w.:])(?:~|[A-Za-z]:)?[/\\](?:[\w.@ -]+[/\\]){2,}([\w.@-]+)")
_COMMAND = lazy_regex(r"/[\w:-]+ +\S")
_TRAILING = lazy_regex(
    r"[\s,;.–—-]+(?:can|could|would) you (?:please )?(?:(?:take|have) a look|check|fix (?:it|this|that|them)|help)$",
    re.IGNORECASE,
)
_FLAG = lazy_regex(r"(?<!\S)--?[a-z][\w-]*(?:=\S+)?(?!\S)")
_PLACEHOLDER = lazy_regex(r"\[(?:Image|Pasted text|Request)[^\]]*\]|@(?=[\w./-]+/)|<[^<>\n]{1,60}>")
_MARKS = lazy_regex(r"^(?:[#>*\s•–—-]+|\d+[.)]\s+)")
_NO_SUBJECT = lazy_regex(
    r"(?:wip|fixup!|squash!|merge (?:branch|remote|pull)|initial commit\b|update\s*$)", re.I
)
_PLAN = lazy_regex(r"(?:implement|execute|continue with) the following plan:?\s*", re.IGNORECASE)


def title_of(
    named: str, prompts: Sequence[str], commits: Sequence[str], commands: Iterable[str], summary: str = ""
) -> str:
    """The title of a session; '' if nothing in it says what it was about."""
    named = " ".join(plain(named).split())
    if _own(named) >= _TELLS and not _THINKING.match(named):
        return shortened(named)
    asked = _requests(prompts)
    delivered = _delivered(commits, commands, asked)
    for enough in (_TELLS, 1):
        for number, candidate in enumerate((delivered, *asked)):
            # The first request may be said in ordinary words; what comes later must name its subject.
            least = 1 if number == 1 and len(candidate.split()) >= _PLAIN_WORDS else enough
            if _own(candidate) >= least or _COMMAND.match(candidate):
                return shortened(candidate)
    reported = next(iter(sentences(summary)), summary)
    if _NO_TITLE.match(reported) or any(len(line.split()) >= _SAYS_ENOUGH for line in asked[:1]):
        reported = ""  # "fix lint errors" says more to the person who asked than a line of the report
    return shortened(reported or next(iter(asked), "") or named)


def _own(title: str) -> int:
    return len(own_words(_IDENTIFIER.sub(" ", title)))


def _delivered(commits: Sequence[str], commands: Iterable[str], asked: Sequence[str]) -> str:
    """The pull request that was opened, or else the commit that is most like the request; the first of equals."""
    for command in commands:
        if title := pull_request_title(command):
            return without_type(title)
    subjects = [without_type(_COMMIT_NAME.sub("", line)) for line in commits]
    subjects = [line for line in subjects if not _NO_SUBJECT.match(line) and len(own_words(line)) >= _TELLS]
    wanted = own_words(" ".join(asked[:2]))
    return max(subjects, key=lambda line: len(own_words(line) & wanted), default="")


def pull_request_title(command: str) -> str:
    """The title that a command gives to a new pull request; '' if it opens none."""
    if "pr create" not in command and "mr create" not in command:
        return ""
    for simple in simple_commands(command):
        if simple.words[:3] in (("gh", "pr", "create"), ("glab", "mr", "create")):
            for option, value in zip(simple.words, simple.words[1:], strict=False):
                if option in ("--title", "-t") and "$" not in value:
                    return unquoted(value)
    return ""


def without_type(subject: str) -> str:
    """A commit's subject without its conventional type; its scope stays."""
    match = _TYPE.match(subject)
    if match is None:
        return subject
    rest = subject[match.end() :]
    return f"{match[1]}: {rest}" if match[1] else capitalised(rest)


def _requests(prompts: Iterable[str]) -> list[str]:
    """What was asked, in order; a short order to run something ("start the server") comes after the rest."""
    lines = [line for prompt in prompts if (line := request_line(prompt))]
    return sorted(lines, key=lambda line: len(line.split()) <= _SHORT_ORDER and bool(OPERATION.search(line)))


def named_plan(prompt: str) -> str:
    """A prompt that hands over a plan by the plan's heading; any other as it is."""
    return request_line(prompt) or prompt if _PLAN.match(prompt.lstrip()) else prompt


def request_line(prompt: str) -> str:
    """What a prompt asks for, as a title: without filler, flags, links and what was pasted."""
    if plan := _PLAN.match(prompt.lstrip()):
        heading = prompt.lstrip()[plan.end() :].lstrip().partition("\n")[0]
        prompt = re.sub(r"^#+\s*(?:(?:implementation )?plan\s*[:–—-]\s*)?", "", heading, flags=re.IGNORECASE)
    text = ""
    for line in prose_of(_links_named(prompt)).lines:
        text = f"{text} {_MARKS.sub('', plain(line))}".strip()
        if len(text) >= _SHORTEST and not text.endswith(":"):
            break
    text = " ".join(_FLAG.sub(" ", _PLACEHOLDER.sub(" ", text)).split())
    text = _ABSOLUTE.sub(r"\1", text)
    text = _request_in(text) if len(text) > LONGEST else text
    text = _TRAILING.sub("", text.rstrip(" ?!."))
    bare = text[match.end() :] if (match := _FILLER.match(text)) else text
    return capitalised(bare.strip(" ,.:;–—-").rstrip("?!")) if len(bare) >= _SHORTEST else text.rstrip(":")


def _request_in(text: str) -> str:
    """Of several sentences the first that asks for something: what is before it is the background."""
    said = sentences(text)
    place = next((at for at, line in enumerate(said[:_MOST_BEFORE]) if _ASKS.match(line)), 0)
    if not said:
        return text
    if _POINTS_AWAY.search(said[place]) and len(own_words(said[place])) <= _TELLS and len(said) > 1:
        return said[place - 1] if place else said[1]
    return said[place]


def _links_named(prompt: str) -> str:
    """The prompt with links as a person would say them: `PR #12`."""
    prompt = _MARKDOWN_LINK.sub(lambda link: link[2] if "://" in link[1] else link[1], prompt)
    prompt = _ISSUE.sub(r"\1 issue #\2", _PULL.sub(r"\1 PR #\2", prompt))
    bare = _LINK.sub(lambda link: link[1] if prompt[link.end() :].strip() else " ", prompt)
    return bare if len(bare.split()) > 1 else _LINK.sub(r"\1", prompt)


def shortened(text: str) -> str:
    """At most `LONGEST` characters, ending with a whole word."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    head = text[:LONGEST]
    return f"{head[: head.rfind(' ')] if ' ' in head[LONGEST // 2 :] else head}…"
