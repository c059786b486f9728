"""Finds rules in a person's messages: what is always or never done in this repository, and what they corrected.

Most instructions concern only the current task, however much they sound like rules. So a sentence counts only if its
subject is the work itself (an imperative, "we", "you"), it names something, and nothing in it refers to the current
task. It is lasting if it says so (always, everywhere, from now on), gives a durable reason, or tells how "we" work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.guides import GUIDES, may_be_guide
from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.shell import Simple, simple_commands, unquoted
from holdfast.language.command_words import job_text, purpose_of
from holdfast.language.prose import contains_any
from holdfast.model.lesson import Correction
from holdfast.sessions.digest import Gathered, cut_raw_line

LONGEST_MESSAGE = 1200  # a longer one is a pasted document
SHORTEST, LONGEST = 14, 170
MOST_OF_A_MESSAGE = 2
_QUOTED = lazy_regex(r"^[ \t]*>.*$", re.MULTILINE)

_BULLET = lazy_regex(r"\A[\s>•]*(?:[-*–]\s+)*")  # but not a star that begins a name
_OPENING = lazy_regex(
    r"(?:(?:no|nope|ok|okay|yes|yeah|right|actually|well|so|and|but|please|also|hm+|sorry|wait|stop|hey|btw|fyi"
    r"|remember|note|just|let['’]?s(?= (?:make sure|always|never)))\b[\s,.:;!–-]*)+",
    re.IGNORECASE,
)
_NOT = r"(?:don['’]?t|do not|never|avoid|stop)"
_DOES = (
    r"(?:use|run|add|put|write|mock|import|include|create|call|name|prefix|keep|store|return|check|test|commit|push"
    r"|amend|edit|touch|change|modify|delete|remove|mention|skip|format|lint|document|place|start|install|log|wrap"
    r"|assert|hard-?code|disable|ignore|rely|depend|import|export|define|declare|make|do|leave|ask|update|generate)"
)
# A sentence ends at a blank, a line break or a comma. A lookbehind then tells them apart, because a pattern that
# begins with a character set scans text several times as fast.
_SENTENCE = lazy_regex(
    r"[\s,](?:(?<=[.!?;]\s)\s*|(?<=\n)\n*|(?<=\s)\s*[–—-]\s+|(?<=\s)\s*and then\s+"
    rf"|(?:(?<=,)|(?<=,) (?:and|then|but)|(?<= )(?:and|then|but))\s+(?=(?:{_NOT}|always) (?:ever )?{_DOES}\b))",
    re.IGNORECASE,
)
_LASTING = PrefilteredRegex(
    rf"(?:(?:you|we|agents?|tests?) (?:should|must|need to|have to) |we |i want you to |make sure (?:to |you |we )?)?"
    rf"(?:always|never) (?!make sure (?!to |you |we ))(?:{_DOES})\b"
    rf"|(?:from now on|going forward|in (?:the )?future|as a rule|by default|in this (?:repo"
    rf"|repository|project|codebase))\b,? .*\b{_DOES}\b"
    rf"|every time (?:you|we) .*\b{_DOES}\b"
    rf"|don['’]?t ever {_DOES}\b"
    rf"|{_DOES} \S.*\b(?:from now on|going forward|in (?:the )?future)\Z"
    # Rules that apply to all work, not only to the current change.
    r"|(?:(?:we|you) (?:should|must|need to|have to) (?:be )?|make sure (?:to |you |we |(?:we|you)(?:['’]?re| are) )?)?"
    r"(?:us(?:e|ing)|prefer(?:ring)?|keep(?:ing)?|follow(?:ing)?|stick(?:ing)? (?:to|with)|writ(?:e|ing)) \S.*"
    r"\b(?:everywhere|wherever (?:(?:we|you) can|possible)|throughout the \w+|across the (?:code ?base|repo\w*"
    r"|project))\b",
    re.IGNORECASE,
    words="always|never|from now on|going forward|future|as a rule|by default|in this |every time|ever |everywhere"
    "|wherever|throughout the|across the",
)
_NEVER_DONE = PrefilteredRegex(  # the subject is a thing, not a person
    r"(?!(?:it|this|that|these|those|they|there)\b)[^,]{3,60}? (?:should|must|may) "
    r"(?:never (?:ever )?be \w+(?:ed|en|un|pt|lt)\b|not be \w+(?:ed|en|un|pt|lt)\b.{0,30}\bever\b)",
    re.IGNORECASE,
    words="never|not be",
)
_REASONED = PrefilteredRegex(
    rf"({_NOT} \w+ \S.*?),? (?:as|because|since|otherwise)"
    r" (?:it|that|this|they|these|those|the|our|all)\b(?! (?:is|are) (?:being|still)\b).{4,}",
    re.IGNORECASE,
    words="don't|don’t|dont|do not|never|avoid|stop",
)
_DEFINES = PrefilteredRegex(
    r"(?!(?:the|these|those|this|that|my|our|your|it)\b)(?:[a-z]\w* ){1,3}are (?:never|always) (?!\w+(?:ed|en)\b)\w.*",
    re.IGNORECASE,
)
_HOW_WE_WORK = PrefilteredRegex(
    rf"(?:we|this (?:repo|repository|project|codebase)) (?:only |always )?uses? (?!to\b)\S.*"
    rf"|(?:we|you) (?:don['’]?t|do not|never|should not|shouldn['’]?t|must not|mustn['’]?t) {_DOES} \S.*"
    rf"|{_NOT} (?:ever )?us(?:e|ing) [^\s,;]+,? (?:but |and )?use \S+.*",
    re.IGNORECASE,
)
_CORRECTS = PrefilteredRegex(
    rf"(?:we|this (?:repo|repository|project|codebase)) (?:only |always )?use[sd]? \S.*"
    rf"|(?:we|you) (?:don['’]?t|do not|never|should not|shouldn['’]?t|must not|mustn['’]?t) {_DOES} \S.*"
    rf"|{_NOT} (?:ever )?(?:use|using|mock|mocking|import"
    rf"|importing|hard-?cod\w+|add|adding|put|write)\b \S.*"
    rf"|use \S.* (?:instead of|rather than|and not|, not|not) \S.*"
    rf"|(?:prefer|stick to|stick with) \S.* (?:over|to|instead of|rather than) \S.*"
    rf"|(?:new )?(?:tests?|files?|docs|fixtures|helpers|types|components|migrations) (?:go|goes"
    rf"|live|lives|belong|belongs) (?:in|into|under|next to|beside) \S.*",
    re.IGNORECASE,
    words="use|using|don't|don’t|dont|do not|never|not |n't |n’t |nt |avoid|stop|prefer|stick| go| live| belong",
)
_ONE_OFF = PrefilteredRegex(
    r"\b(?:prs?|pull request|rebase|merge|branch|try again|for now|right now|this time|again|yet|today|tomorrow|review"
    r"|do (?:so|it|this|that)|continue|see if|start (?:with|by)|wait|first|just (?:a|the|one)|only (?:a|the|one)|at"
    r" this point|any ?more|anything"
    r"|until|unless i|before we|the (?:above|below|following)|here is|step \d|option \d"
    r"|previous|let me|let['’]s|would|could"
    r"|maybe|wondering|think|seems|looks like|i guess|currently|if you|if we|your (?:last|previous)|changes? yet)\b",
    re.IGNORECASE,
)
_AS_OF_NOW = PrefilteredRegex(
    r"\b(?:always|never)\b.*(?<!from )\bnow\b(?! on\b)", re.IGNORECASE
)  # "always … now" describes the latest change
_VAGUE = PrefilteredRegex(
    r"\b(?:this(?! (?:repo|repository|project|code ?base)\b)|that|these|those|it|its|them|they"
    r"|one|ones|above|below|there)\b",
    re.IGNORECASE,
)
# References that only make sense in the current task: `update the component file`, `add that option`.
_OF_THE_MOMENT = PrefilteredRegex(
    r"\b(?:update|edit|touch|change|modify|delete|remove|rename|move) the (?!`)[a-z -]+\Z", re.IGNORECASE
)
_WORK_AT_HAND = PrefilteredRegex(
    rf"{_NOT} (?:add|create|change|update|remove|delete|make|generate)\b", re.IGNORECASE
)
_FEWEST_WORDS = 4  # in a rule that names nothing, not counting words such as "always"
_STAYS = lazy_regex(r",?\s*\b(?:from now on|going forward|in (?:the )?future)\b,?\s*", re.IGNORECASE)
_NAMED = lazy_regex(
    r"`[^`]+`|\w[./_]\w|\b[a-z]+[A-Z]\w|(?<![\w-])--?\w|\w+\(\)|@\w|[\"“'][^\"”']{2,30}[\"”']"
)

_ASIDE = lazy_regex(r"\s*\([^()]*\)\s*\Z")
_POLITE = lazy_regex(r",? please\Z", re.IGNORECASE)
_IN_PLACE = PrefilteredRegex(r"\b(?:those|these|this|that)\b", re.IGNORECASE)
_ORDERED = lazy_regex(
    r"(?:(?:we|you) (?:should|must|need to|have to) (?:be )?|make sure (?:to |you |we |(?:we|you)(?:['’]?re| are) )?)"
    r"(?P<verb>us(?:e|ing)|prefer(?:ring)?|keep(?:ing)?|follow(?:ing)?|stick(?:ing)?|writ(?:e|ing)) ",
    re.IGNORECASE,
)
_PLAIN_VERB = {"us": "Use", "pr": "Prefer", "ke": "Keep", "fo": "Follow", "st": "Stick", "wr": "Write"}

MOST = 60
LONGEST_TEXT = 60_000
_NUMBERED = lazy_regex(r"^\s*\d+(?:→|\t|[:|] ?)", re.MULTILINE)  # line numbers that tools print
_SPAN = lazy_regex(r"`([^`\n]{3,160})`")
_FENCE = lazy_regex(r"\s*(?:```|~~~)")
_PROMPT = lazy_regex(r"\s*(?:[$%>] )?")
_REMARK = lazy_regex(r"\s+(?:#|//|--\s).*$")
_SHOWS = frozenset(["cat", "head", "tail", "sed", "less", "bat", "nl", "type"])

# Causes that mean a wrong call. A command that fails on formatting or on a missing module was the right one.
_MISCALLED = frozenset(["program", "task", "command", "target", "flag", "place", "usage"])
RECENT = 4  # calls between looking a command up and running it
_DEFINED_IN = PrefilteredRegex(
    r"(?:^|[\s/\"'])(?:package\.json|[Mm]akefile|GNUmakefile|\.?mise(?:\.local)?\.toml|mise-tasks|\.?[Jj]ustfile"
    r"|[Tt]askfile\.ya?ml|[Rr]akefile|composer\.json|deno\.jsonc?|turbo\.json|nx\.json|noxfile\.py|tox\.ini"
    r"|pyproject\.toml|CONTRIBUTING\.\w+|README\.\w+|\.github/workflows|lefthook\.ya?ml|hk\.pkl)(?=$|[\s\"'/:])",
    words="package.json|akefile|mise|ustfile|askfile.y|composer.json|deno.json|turbo.json|nx.json|noxfile.py|tox.ini"
    "|pyproject.toml|CONTRIBUTING.|README.|.github/workflows|lefthook.y|hk.pkl",
)
_LISTS = PrefilteredRegex(
    r"\bmise (?:tasks|run\s*(?:$|[|&;2])|ls)|\b(?:npm|bun|pnpm|yarn) run\s*(?:$|[|&;2])|\bmake (?:-n|help)\b"
    r"|\bjust (?:--list|-l)\b|\btask (?:--list|-l|-a)\b|\brake -T\b|(?:^|\s)--help\b",
    words="mise tasks|mise run|mise ls|npm run|bun run|yarn run|make -n|make help|just -|task -|rake -T|--help",
)
_READING = ("cat ", "head ", "tail ", "sed ", "grep ", "rg ", "jq ", "less ", "bat ")


def corrections_in(text: str, at: float | None, *, replied: bool) -> Iterator[Correction]:
    """Yield the rules in one message. `replied` means that it answers work the agent did or proposed."""
    text = _QUOTED.sub("", text) if ">" in text else text  # quoted lines are someone else's words
    if len(text) > LONGEST_MESSAGE or text[:1] in "<{[#|/" or "```" in text:
        return
    count = 0
    for sentence in _SENTENCE.split(text):
        core = _core(sentence)
        if not SHORTEST <= len(core) <= LONGEST or core[-1] in "?:" or core.count(" ") < 3:
            continue
        lasting = _lasts(core, replied=replied)
        if lasting is None:
            continue
        count += 1
        yield Correction(text=_stated(core), lasting=lasting, at=at)
        if count == MOST_OF_A_MESSAGE:
            return


def _core(sentence: str) -> str:
    """Strip the opening words, a closing parenthesis and the punctuation from a sentence."""
    core = _BULLET.sub("", sentence).strip()
    if core[:2] == core[-2:] == "**":
        core = core[2:-2]
    if opening := _OPENING.match(core):
        core = core[opening.end() :]
    core = core.strip()
    if core.endswith(")"):
        core = _ASIDE.sub("", core)
    core = core.rstrip(" .!;,")
    return _POLITE.sub("", core).strip() if core[-7:].casefold() == " please" else core.strip()


def _lasts(core: str, *, replied: bool) -> bool | None:
    """Return True for a lasting rule, False for one that counts only when repeated, None for anything else."""
    lasting = _rules(core, replied=replied)
    return None if lasting is None or _ONE_OFF.search(core) or _AS_OF_NOW.search(core) else lasting


def _rules(core: str, *, replied: bool) -> bool | None:
    """Same as `_lasts`, for a sentence assumed not to be about the current task."""
    named = bool(_NAMED.search(core))
    if reasoned := _REASONED.fullmatch(core):
        if _VAGUE.search(reasoned[1]):
            return None  # the reason refers to the current task
        # "Do not add …" belongs to the current plan, until it is repeated.
        return not _WORK_AT_HAND.match(core)
    if not named and (_OF_THE_MOMENT.search(core) or len(_STAYS.sub(" ", core).split()) < _FEWEST_WORDS):
        return None
    if never := _NEVER_DONE.match(core):
        return True if not _VAGUE.search(never[0]) else None
    if _LASTING.match(core) or (replied and _DEFINES.fullmatch(core)):
        return True if _NAMED.search(core) or not _VAGUE.search(core) else None
    if not _CORRECTS.fullmatch(core) or not _NAMED.search(core):
        return None
    if replied and _HOW_WE_WORK.fullmatch(core) and not _VAGUE.search(core):
        return True
    return False if replied or not _IN_PLACE.search(core) else None


def _stated(core: str) -> str:
    """Write a rule as an imperative, without polite phrases."""
    if match := _ORDERED.match(core):
        core = f"{_PLAIN_VERB[match['verb'][:2].casefold()]} {core[match.end() :]}"
    return core[0].upper() + core[1:] if core[0].isalpha() else core


# Commands in the repository's own instructions: an agent that read them needs no lesson about them.


def is_guide(here: str) -> bool:
    """Whether a path, relative to the session's directory, is an instruction file at the top of the repository."""
    return here.removeprefix("./") in GUIDES


def shows_guide(command: str) -> bool:
    """Whether a shell command prints an instruction file."""
    if not contains_any(command, GUIDES):
        return False
    return any(
        part.program in _SHOWS and any(may_be_guide(unquoted(word)) for word in part.words[1:])
        for part in simple_commands(command)
        if part.words
    )


def note_stated(state: Gathered, text: str) -> None:
    """Record the commands of an instruction file that a session read, as rules name them."""
    for command in stated_in(text):
        if len(state.stated) >= MOST:
            return
        if (line := cut_raw_line(command)) not in state.stated:
            state.stated.append(line)


def stated_in(text: str) -> Iterator[str]:
    """Yield the commands in a text's code blocks and spans that do a job, as rules name them."""
    for line in _code(_NUMBERED.sub("", text[:LONGEST_TEXT])):
        for part in simple_commands(line):
            if part.words and not part.shapes and purpose_of(part) and (named := job_text(part)):
                yield named


def _code(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            yield _REMARK.sub("", line[_PROMPT.match(line).end() :])  # type: ignore[union-attr]
        elif "`" in line:
            yield from _SPAN.findall(line)


# Whether a session had to look for the command that does a job: only then would knowing it have saved a call.


def looks_up(action: str, target: str) -> bool:
    """Whether a call looks where commands are defined. Instruction files do not count: agents know what they say."""
    if action == "read":
        return bool(_DEFINED_IN.search(target)) and not may_be_guide(target)
    if action != "shell" or len(target) > 600:
        return False
    return bool(_LISTS.search(target)) or (
        contains_any(target, (".", "akefile", "ustfile", "mise-tasks"))
        and contains_any(target, _READING)
        and bool(_DEFINED_IN.search(target))
    )


def had_to_search(state: Gathered, command: str, purpose: str) -> bool:
    """Whether this session just looked for the command that does a job, or tried another one that failed."""
    if state.looked_at and state.calls - state.looked_at <= RECENT:
        return True
    for slip in state.slips:
        if slip.cause in _MISCALLED and slip.part is not None and _is_another(slip.part, command, purpose):
            return True
    for stumble in state.stumbles.values():
        if stumble.cause in _MISCALLED and stumble.instead and not _holds(stumble.tried, command):
            parts = simple_commands(stumble.tried)
            if stumble.instead == command or any(_is_another(part, command, purpose) for part in parts):
                return True
    return False


def _is_another(part: Simple, command: str, purpose: str) -> bool:
    """Whether a call is another command for the same job. The same command behind a wrapper is not."""
    return bool(part.words) and not _holds(part.text, command) and purpose_of(part) == purpose


def _holds(text: str, command: str) -> bool:
    return f" {command} " in f" {text} "
