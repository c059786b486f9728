"""An agent's message as statements: sentences and points under their headings, without code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from holdfast.core.patterns import late
from holdfast.core.stopwords import FILLER

SHORTEST, LONGEST = 24, 280  # of a sentence that says something, and says it at a glance
SHORTEST_ITEM = 16  # of a point on a list

_FENCE = ("```", "~~~")
_HEADING = late(r"#{1,6}\s+(.+)")
_LABEL = late(r"(?:\*\*|__)([^*_\n]{3,60}?):?(?:\*\*|__):?\s*(.*)")
_NUMBERED_HEADING = late(r"(?:\d+\.\s+)?([A-Z][\w'’/& -]{2,50}):")
_ITEM = late(r"(\s*)(?:[-*•+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(.+)")
_SENTENCE_END = late(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)\s+(?=[A-Z`\"'(*_])")
_LINK = late(r"\[([^\[\]\n]{1,200})\]\([^)\s]{1,500}\)")
_BOLD = late(r"\*\*|__(?=\S)|(?<=\S)__(?!\w)")
_LEADING = late(r"\A(?:[^\w`\"'(/.$@<-]|-\s)+")

_POINTS_BACK = late(
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
_ONLY_INSIDE = late(
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
_ANCHOR = late(
    r"`[^`\n]+`|\w[\w-]*[./_]\w|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*|\b[A-Z][A-Z0-9]{1,}\b|(?:^"
    r"|\s)--?\w|\d"
    r"|\"[^\"\n]{2,}\""
)
_PLAIN_WORD = late(r"[a-z]+(?:['’][a-z]+)?(?=[.,;:!]?(?:\s|\Z))")
_CONTENT = late(r"[^\W\d_]{4,}")
_DEICTIC = late(
    r"\b(?:this|these|those|it|them|that(?! \w+ (?:is|are|can))|here|one|above|below)\b", re.IGNORECASE
)


class Statement(Struct, frozen=True, gc=False):
    """`heading` is in lower case; `item` says that it is a point of a list, `done` that it was ticked off.

    `depth` is how far a point is indented below the first ones of its list.
    """

    heading: str
    text: str
    item: bool = False
    depth: int = 0
    done: bool = False


def statements(text: str) -> Iterator[Statement]:
    heading, fenced, margin = "", False, -1
    paragraph: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_FENCE):
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
            yield Statement(heading, plain(match[3]), True, indent - margin, (match[2] or " ") != " ")
        elif title := _title(line, bare):
            heading, said = title
            margin = -1
            if said:
                yield from _sentences(heading, said)
        else:
            paragraph.append(bare)
    if paragraph:
        yield from _sentences(heading, " ".join(paragraph))


def _title(line: str, bare: str) -> tuple[str, str] | None:
    """A heading, and what stands on its line after it."""
    if bare[0] == "#" and (match := _HEADING.fullmatch(bare)):
        return _folded(match[1]), ""
    if bare[0] in "*_" and (match := _LABEL.fullmatch(bare)):
        return _folded(match[1]), match[2]
    if bare[-1] == ":" and not line[0].isspace() and (match := _NUMBERED_HEADING.fullmatch(bare)):
        return _folded(match[1]), ""
    return None


def _sentences(heading: str, text: str) -> Iterator[Statement]:
    for sentence in sentences(text):
        yield Statement(heading, sentence)


def sentences(text: str) -> list[str]:
    if ". " not in text and "? " not in text and "! " not in text:
        return [plain(text)] if text else []
    return [plain(part) for part in _SENTENCE_END.split(text) if part.strip()]


def plain(text: str) -> str:
    """One line without emphasis, links and leading signs; code spans stay."""
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
    """How many different words of a text name something."""
    return len({word for word in _CONTENT.findall(text.casefold()) if word not in FILLER})


def names_something(text: str, fewest: int) -> bool:
    """Whether a sentence without any name of code says in plain words what it is about."""
    return content_words(text) >= fewest and not _DEICTIC.search(text)


def capitalised(text: str) -> str:
    """With a capital at the start, where a plain word stands there and no name of a file or of code."""
    return text[:1].upper() + text[1:] if _PLAIN_WORD.match(text) else text


def stands_alone(text: str, *, named: bool = True) -> bool:
    """Whether a sentence can be understood by someone who was not there.

    `named` asks for a name of code, a number or a quotation in it: whoever does not ask has looked himself
    whether it says what it is about.
    """
    return (
        is_whole(text)
        and len(text) <= LONGEST
        and (not named or bool(_ANCHOR.search(text)))
        and not _POINTS_BACK.match(text)
        and not _ONLY_INSIDE.search(text)
    )


def is_whole(text: str) -> bool:
    """Whether a text can be a sentence at all: told by its length and its signs, which costs next to nothing."""
    return (
        len(text) >= SHORTEST and text[-1] not in ":?…" and text.count(" ") >= 4 and text.count("`") % 2 == 0
    )


def has_anchor(text: str) -> bool:
    return bool(_ANCHOR.search(text))


def mentions(text: str, words: Iterable[str]) -> bool:
    for word in words:  # noqa: SIM110 (asked of every sentence, and a loop costs half of a generator)
        if word in text:
            return True
    return False


def whole_lines(text: str, limit: int) -> str:
    """At most so much of a text, without the line in which it was cut: the same before and after a seal."""
    return text if len(text) < limit else text[: limit - 1].rpartition("\n")[0]
