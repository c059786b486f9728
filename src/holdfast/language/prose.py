"""Splits prose: separates what a person wrote from what they pasted, and an agent's message into statements."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.stopwords import FILLER

LOOK_AT = 20_000  # characters; a prompt states its goal first

_HOST_TAGS = lazy_regex(
    r"system[-_]?\w*|command-(?:name|message|contents)|local-command-\w+|bash-\w+|ide_\w+|user-prompt-submit-hook|"
    r"(?:environment|additional)_context|user_instructions|instructions|skill|task-notification|attached_files|"
    r"file|files|document|documents|open_and_recently_viewed_files|tool_\w+|function_\w+|holdfast\w*",
    re.IGNORECASE,
)
_ASKING_TAGS = lazy_regex(
    r"(?:user[-_])?(?:query|message|prompt|request|question)|task|goal|objective|issue|bug|todo|story|p|"
    r"command-args|feature(?:[-_]\w+)?",
    re.IGNORECASE,
)
_TAG = lazy_regex(r"<(/?)([A-Za-z][\w.:-]{0,60})(?:\s[^<>]{0,400})?>")
GAP = "[…]"  # stands for text removed from the middle of a sentence
_SECRET_MARKER = lazy_regex(r"\[(?:redacted|forgotten)[^\]\n]{0,80}\]", re.IGNORECASE)
_ESCAPE = lazy_regex(
    r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\n]{0,200}\x07)|\[\d{1,2}(?:;\d{1,3}){0,4}m(?!\])",
    re.IGNORECASE,
)
_MARKER = lazy_regex(
    r"\[(?:image|pasted|request interrupted|attachment|truncated)[^\]\n]{0,80}\]",
    re.IGNORECASE,
)
_REMOVED = lazy_regex(r"\bREDACTED\b|\*{3,}")
# The caller has redacted what it knows to be a key; a word after "password is" is dropped too.
_TOLD = lazy_regex(
    r"\b(password|passwd|passphrase|secret|token|api[_ -]?key)\s*(?:is|:|=)\s*(?=\S*\d)\S+", re.IGNORECASE
)
_TOLD_WORDS = ("passw", "passphrase", "secret", "token", "key")
_FENCE = lazy_regex(r"^\s{0,12}(?:[-*>]\s+)?(`{3,}|~{3,})")
_QUOTE = lazy_regex(r"^(?:>\s?)+")
_HOLDFAST = lazy_regex(r"^\[(/?)holdfast\b[^\]\n]*\]$")
_TRACE_HEAD = PrefilteredRegex(
    r"traceback \(most recent call last\)|^stack(?: ?trace| backtrace)?:|^goroutine \d+|^thread '",
    re.I,
    words="traceback (|stack|goroutine |thread '",
)
_FRAME = lazy_regex(
    r"""^(?:
        at\s+\S.*[(:/\\.].*              # JavaScript, Java, C#
      | File\s".*",\sline\s\d+           # Python
      | Caused\sby:\s | \.\.\.\s\d+\smore
      | \d+:\s+0x[0-9a-f]+ | \#\d+\s+0x | \#\d+\s+\S+\(\d+\):
      | from\s\S+:\d+:in\s               # Ruby
      | [\^~|\s]+$ | created\sby\s\S+\.\S+
    )""",
    re.X,
)
_TOOL_OUTPUT = lazy_regex(
    r"""^(?:                             # first a compiler's file.go:12:3: message
        (?:[A-Za-z]:\\)?[\w./\\@-]+\.\w{1,6}(?::\d+:\d+|:\d+:|\(\d+,\d+\):)(?:[:\s]|$)
      | (?:error|warning)(?:\[\w+\]|\sTS\d+)?:\s | (?:npm|yarn|pnpm)\s(?:ERR!|WARN|error)
      | make(?:\[\d+\])?:\s | -->\s | \d+\s*[|│] | [│┃┆┌└├╭╰▶✓✔✗✘⨯⎿⏺]
      | (?:---|===)\s(?:FAIL|PASS|RUN|SKIP) | (?:FAIL|PASS|FAILED|PASSED)\s+\S+[/.:]\S* | ok\s+\S+/\S+\s+[\d(]
      | [EF]\s{2,}\S | >\s{3,}\S
      | \[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d | \[?\d\d:\d\d:\d\d | \w{3}\s+\d{1,2}\s\d\d:\d\d:\d\d\s
      | \[(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE)\]
      | (?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)(?::|\s{2,}|\s[\[\d(])
      | (?:level|time|ts)=\S+\s | \[\w+\]\s(?:ERROR|WARN|INFO)
      | diff\s--git\s | @@\s | (?:\+\+\+|---)\s\S | index\s[0-9a-f]{6,}\.\.
      | [$❯➜]\s\S | \S+@\S+[\s:].*[%$\#]\s\S | PS\s[A-Z]:\\
      | [\w.]*(?:Error|Exception|Panic|Warning):\s | panic:\s | fatal:\s
    )""",
    re.X,
)
_LOG_FIELDS = lazy_regex(r"\S\s{3,}\w[\w.-]*=\S|(?:\s\w+=\S+){3}")
_DATA = lazy_regex(r'^[\[{]\s*["\[{]|^[\]}][\]},;)]*$|^"[^"]+"\s*:\s*\S|^[\[{(]$|^\{.*\}[,;]?$')
_CODE = lazy_regex(
    r"""^(?:import\s\S+(?:\sfrom\s['"]|\sas\s\w+$)|from\s\S+\simport\s|\#include\s
      |(?:export\s)?(?:const|let|var)\s\w+\s*[:=]
      |(?:async\s)?(?:def|func|fn|function)\s\w*\s*\(.*[:{]$|(?:public|private|protected|static)\s.*[;{(]$
      |return\b.*[;)]$|(?:if|for|while)\s*\(.*\{$|\}\s*else|\w+\(.*\);$|(?:SELECT|INSERT|CREATE\sTABLE)\s.*[;(]$|//\s|<\?php)
      |^[\w.\[\]]+\s*(?::=|[+-]?=)\s*\S+.*[;)\]]$""",
    re.X,
)
_ARROW_AT_END = lazy_regex(r"=>\s*[{(]?$")
_UNUSUAL = lazy_regex(r"[^ -~\n]")
_COMPLAINT = PrefilteredRegex(
    r"error|fail|exception|panic|fatal|cannot|could not|denied|not found|timed? ?out", re.IGNORECASE
)

SHORTEST, LONGEST = 24, 280  # of a sentence that is meaningful, and readable at a glance
SHORTEST_ITEM = 16  # of a point on a list
_CODE_FENCE = ("```", "~~~")
_HEADING = lazy_regex(r"#{1,6}\s+(.+)")
_LABEL = lazy_regex(r"(?:\*\*|__)([^*_\n]{3,60}?):?(?:\*\*|__):?\s*(.*)")
_NUMBERED_HEADING = lazy_regex(r"(?:\d+\.\s+)?([A-Z][\w'’/& -]{2,50}):")
_ITEM = lazy_regex(r"(\s*)(?:[-*•+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(.+)")
# The lookbehind follows the blank: a pattern that begins with a character set is several times as fast.
_SENTENCE_END = lazy_regex(
    r"\s(?<=[.!?].)(?<!e\.g\..)(?<!i\.e\..)(?<!vs\..)(?<!etc\..)\s*(?=[A-Z`\"'(*_])", re.DOTALL
)
_LINK = lazy_regex(r"\[([^\[\]\n]{1,200})\]\([^)\s]{1,500}\)")
_BOLD = lazy_regex(r"\*\*|__(?=\S)|(?<=\S)__(?!\w)")
_LEADING = lazy_regex(r"\A(?:[^\w`\"'(/.$@<-]|-\s)+")
_POINTS_BACK = PrefilteredRegex(
    r"(?:this|that|these|those|it|it['’]s|its|they|them|their|he|she|here|there|then|also|but|and|so"
    r"|both|now"
    r"|next|first|second|third|finally|however|therefore|thus|otherwise|which|same|such|all of|each of"
    r"|another"
    r"|one of|as (?:you|mentioned|shown|noted|expected)|done|great|perfect|good|yes|no|ok|okay|sure|sorry"
    r"|you(?:['’]re|r| are)?|i['’]m|i['’]ll|i['’]ve|i will|let['’]s|let me|looking at|based on"
    r"|the (?:same|other|first"
    r"|second|third|latter|former|rest|user|fix|change|changes|diff|code|file|plan|output|result|summary"
    r"|answer))\b",
    re.IGNORECASE,
)
_ONLY_INSIDE = PrefilteredRegex(
    r"\b(?:above|below|the following|as follows|see (?:here|the)|this (?:file|function|line|change|fix"
    r"|commit|pr"
    r"|test|code|approach|issue|bug|session|conversation|section|method|one|case|plan|task|branch|diff|repo"
    r"|error|works|means|is|was|will)|these"
    r"|as (?:shown|mentioned|discussed|you)|earlier|previously|in my (?:last|previous)|you(?:['’]re"
    r"| are) right"
    r"|let me|i['’]ll|i will|i['’]m (?:going|now)|would you|shall i|do you want|let me know"
    r"|feel free|happy to"
    r"|your (?:question|request|message|feedback|comment|concern)|the (?:conversation|reviewer|assistant)"
    r"|user (?:asked|requested|wants?|wanted|said|approved|confirmed|then)|line \d+|lines \d+|step \d+"
    r"|(?:option|approach|issue|item|point|finding|fix|bug) #?\d+)\b",
    re.IGNORECASE,
)
_ANCHOR = lazy_regex(
    r"`[^`\n]+`|\w[\w-]*[./_]\w|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*|\b[A-Z][A-Z0-9]{1,}\b|(?:^"
    r"|\s)--?\w|\d"
    r"|\"[^\"\n]{2,}\""
)
_PLAIN_WORD = lazy_regex(r"[a-z]+(?:['’][a-z]+)?(?=[.,;:!]?(?:\s|\Z))")
_CONTENT = lazy_regex(r"[^\W\d_]{4,}")
_DEICTIC = PrefilteredRegex(
    r"\b(?:this|these|those|it|them|that(?! \w+ (?:is|are|can))|here|one|above|below)\b", re.IGNORECASE
)


class Prose(NamedTuple):
    """Lines a person wrote, and lines of tool output that name an error (a last resort)."""

    lines: tuple[str, ...]
    complaints: tuple[str, ...]


def unwrap_prompt(prompt: str) -> str:
    """Remove the tagged blocks that a host put before a prompt; keep it whole if nothing follows them."""
    text = prompt
    while (text[:1] == "<" or text[:1].isspace()) and (tag := _TAG.match(text := text.lstrip())):
        if tag[1] or _ASKING_TAGS.fullmatch(tag[2]):
            break
        end = _end_of_block(text, tag[2])
        if end is None or not (rest := text[end:].lstrip()):
            break
        text = rest
    return text if len(text.strip()) < len(prompt.strip()) else prompt


def _end_of_block(text: str, name: str) -> int | None:
    depth = 0
    for mark in re.finditer(rf"<(/?){re.escape(name)}(?=[\s>])[^<>]{{0,400}}>", text):
        depth += -1 if mark[1] else 1
        if depth <= 0:
            return mark.end()
    return None


@lru_cache(maxsize=32)  # called for the keywords and for the kind of the same goal
def prose_of(goal: str) -> Prose:
    """Return the lines of `goal` that a person wrote. Never raises, whatever the text holds."""
    text = _cleaned(goal.lstrip()[:LOOK_AT])
    kept = _sorted_lines(_without_tags(text, unwrap_unknown=False))
    if not kept.lines:
        kept = _sorted_lines(_without_tags(text, unwrap_unknown=True))
    return kept


def _cleaned(text: str) -> str:
    """Normalise to NFC, narrow full-width letters, and drop invisible and control characters and redaction marks."""
    text = without_escapes(text)
    text = _UNUSUAL.sub(_plain_character, text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _MARKER.sub(" ", _SECRET_MARKER.sub(GAP, unicodedata.normalize("NFC", text)))
    if "REDACTED" in text or "***" in text:
        text = _REMOVED.sub(" ", text)
    folded = text.casefold()
    return _TOLD.sub(r"\1 ", text) if any(word in folded for word in _TOLD_WORDS) else text


def without_escapes(text: str) -> str:
    """Remove colour codes: real ones, escaped ones, and those that lost their escape character."""
    return _ESCAPE.sub("", text) if "[" in text or "\x1b" in text else text


def _plain_character(found: re.Match[str]) -> str:
    char = found[0]
    if "\uff01" <= char <= "\uff5e":
        return chr(ord(char) - 0xFEE0)
    category = unicodedata.category(char)
    if category == "Cf":
        return ""
    return " " if category in {"Cc", "Cs", "Co", "Cn", "Zs", "Zp"} else "\n" if category == "Zl" else char


def _without_tags(text: str, *, unwrap_unknown: bool) -> str:
    """Remove tagged blocks with their content, unless the tag marks the content as the request."""
    tags = list(_TAG.finditer(text))
    closes_at: dict[str, list[int]] = {}
    for number, tag in enumerate(tags):
        if tag[1]:
            closes_at.setdefault(tag[2], []).append(number)
    kept: list[str] = []
    position = index = 0
    while index < len(tags):
        tag = tags[index]
        kept.append(text[position : tag.start()])
        position = tag.end()
        name, is_opening = tag[2], not tag[1]
        last = _closing(closes_at.get(name, []), index) if is_opening else None
        host_tag = bool(_HOST_TAGS.fullmatch(name))
        if is_opening and host_tag and last is None:
            return "".join(kept)
        if last is not None and not _ASKING_TAGS.fullmatch(name) and (host_tag or not unwrap_unknown):
            index, position = last, tags[last].end()
            kept.append("\n")
        elif last is None and is_opening:
            kept.append(f" {name} ")
        else:
            kept.append("\n")
        index += 1
    kept.append(text[position:])
    return "".join(kept)


def _closing(candidates: list[int], after: int) -> int | None:
    while candidates and candidates[0] <= after:
        candidates.pop(0)
    return candidates[0] if candidates else None


def _sorted_lines(text: str) -> Prose:
    lines: list[str] = []
    complaints: list[str] = []
    fence = ""
    in_trace = in_notes = False
    for raw in text.split("\n"):
        mark = _FENCE.match(raw) if "```" in raw or "~~~" in raw else None
        if mark:
            sign = mark[1][:3]
            if fence == sign:
                fence = ""
            elif not fence and raw.count(sign) == 1:
                fence = sign
            continue
        bare = raw.strip()
        note = _HOLDFAST.match(bare) if bare[:1] == "[" else None
        if note:
            in_notes = not note[1]
            continue
        if fence or in_notes:
            continue
        if raw.startswith(">   "):
            line = raw
        else:
            line = _QUOTE.sub("", bare).strip() if bare[:1] == ">" else bare
        if _TRACE_HEAD.search(line):
            in_trace = True
            continue
        if in_trace and line and (raw[:1].isspace() or _FRAME.match(line) or _TOOL_OUTPUT.match(line)):
            continue
        in_trace = False
        if _looks_pasted(line):
            if _COMPLAINT.search(line):
                complaints.append(line)
        elif line and line.strip(f"{GAP} "):
            lines.append(line)
    return Prose(tuple(lines), tuple(complaints))


def _looks_pasted(line: str) -> bool:
    if len(line) > 4000 and " " not in line[:2000]:
        return True
    return bool(
        _FRAME.match(line)
        or _TOOL_OUTPUT.match(line)
        or ("=" in line and _LOG_FIELDS.search(line))
        or _DATA.match(line)
        or _CODE.match(line)
        or line.endswith((";", "{"))
        or ("=>" in line and _ARROW_AT_END.search(line))
    )


class ReportLine(Struct, frozen=True, gc=False):
    """`heading` is in lower case; `item` marks a list item, `box` one with a box, `done` one that is ticked off.

    `depth` is the indentation relative to the first items of the list. `label` is the bold label that a paragraph
    begins with, as written, and `section` the heading above it.
    """

    heading: str
    text: str
    item: bool = False
    depth: int = 0
    done: bool = False
    box: bool = False
    label: str = ""
    section: str = ""


def statements(text: str) -> Iterator[ReportLine]:
    heading, section, fenced, margin = "", "", False, -1
    paragraph: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_CODE_FENCE):
            fenced = not fenced
            bare = ""
        if fenced:
            bare = ""
        plain_line = (
            bool(bare) and bare[0] not in "#|<>-*•+_" and not bare[0].isdigit() and not bare.endswith(":")
        )
        if plain_line:
            paragraph.append(bare)
            continue
        if paragraph:
            yield from _sentences(heading, " ".join(paragraph))
            paragraph = []
        if not bare or bare[0] in "|<>":
            continue
        if (
            bare[0] in "-+•*0123456789"
            and (match := _ITEM.fullmatch(line.rstrip()))
            and not bare.endswith(":")
        ):
            indent = len(match[1].expandtabs(4))
            margin = indent if margin < 0 else min(margin, indent)
            box = match[2] is not None
            yield ReportLine(heading, plain(match[3]), True, indent - margin, (match[2] or " ") != " ", box)
        elif title := _title(line, bare):
            heading, rest = _folded(title[0]), title[1]
            margin = -1
            section = section if bare[0] in "*_" else heading
            for sentence in sentences(rest) if rest else ():
                yield ReportLine(heading, sentence, label=plain(title[0]).rstrip(" :"), section=section)
        else:
            paragraph.append(bare)
    if paragraph:
        yield from _sentences(heading, " ".join(paragraph))


def _title(line: str, bare: str) -> tuple[str, str] | None:
    """Return a heading and the text after it on its line."""
    if bare[0] == "#" and (match := _HEADING.fullmatch(bare)):
        return match[1], ""
    if bare[0] in "*_" and (match := _LABEL.fullmatch(bare)):
        return match[1], match[2]
    if bare[-1] == ":" and not line[0].isspace() and (match := _NUMBERED_HEADING.fullmatch(bare)):
        return match[1], ""
    return None


def _sentences(heading: str, text: str) -> Iterator[ReportLine]:
    for sentence in sentences(text):
        yield ReportLine(heading, sentence)


def sentences(text: str) -> list[str]:
    if ". " not in text and "? " not in text and "! " not in text:
        return [plain(text)] if text else []
    return [plain(part) for part in _SENTENCE_END.split(text) if part.strip()]


def plain(text: str) -> str:
    """Join a text to one line without emphasis, links and leading punctuation; code spans stay."""
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "**" in text or "__" in text:
        text = _BOLD.sub("", text)
    if not text[:1].isalnum():
        text = _LEADING.sub("", text)
    return " ".join(text.split())


def _folded(heading: str) -> str:
    return plain(heading).strip(" :.").casefold()


def content_words(text: str) -> int:
    """Count the distinct content words of a text."""
    return len({word for word in _CONTENT.findall(text.casefold()) if word not in FILLER})


def names_something(text: str, fewest: int) -> bool:
    """Whether a sentence that names no code has enough content words for a subject."""
    return content_words(text) >= fewest and not _DEICTIC.search(text)


def capitalised(text: str) -> str:
    """Capitalise a text, unless it begins with the name of a file or of code."""
    return text[:1].upper() + text[1:] if _PLAIN_WORD.match(text) else text


def stands_alone(text: str, *, named: bool = True) -> bool:
    """Whether a sentence can be understood without its context.

    `named` requires a name of code, a number or a quotation in it: a caller that passes False
    has checked that the sentence names its subject.
    """
    return (
        is_whole(text)
        and len(text) <= LONGEST
        and (not named or bool(_ANCHOR.search(text)))
        and not _POINTS_BACK.match(text)
        and not _ONLY_INSIDE.search(text)
    )


def is_whole(text: str) -> bool:
    """Whether a text can be a sentence at all, by its length and punctuation: a cheap test."""
    return (
        len(text) >= SHORTEST and text[-1] not in ":?…" and text.count(" ") >= 4 and text.count("`") % 2 == 0
    )


def has_anchor(text: str) -> bool:
    return bool(_ANCHOR.search(text))


def contains_any(text: str, words: Iterable[str]) -> bool:
    for word in words:  # noqa: SIM110 (asked of every sentence, and a loop costs half of a generator)
        if word in text:
            return True
    return False


def line_around(text: str, position: int) -> str:
    """Return the line of a text at a position."""
    end = text.find("\n", position)
    return text[text.rfind("\n", 0, position) + 1 : end if end >= 0 else len(text)]


def whole_lines(text: str, limit: int) -> str:
    """Cut a text to the last complete line within the limit: the result is the same before and after a seal."""
    return text if len(text) < limit else text[: limit - 1].rpartition("\n")[0]
