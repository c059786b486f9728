"""Takes prose out of commit messages and documents: paragraphs without code and trailers, and passages to quote.

A quotation is one to three sentences, or list items with their introduction, in at most `MOST_TOKENS` tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.stopwords import FILLER
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.language.dialogue import Message, Sentence
from holdfast.language.statement_model import Scene, shipped

MOST_TOKENS = 60
MOST_QUOTATIONS = 12
LEAST_WORTH = 0.4
_MOST_SENTENCES = 3
_LONGEST_LEAD = 24  # tokens of a line that introduces a list
_LONGEST_LINE = 2000
_LONGEST_PARAGRAPH = 6000
_MOST_LINES = 600
_LEAST_WORDS = 3
_SHORT_REST = 20  # tokens

_FENCE = lazy_regex(r"\s{0,8}(?:[-*>]\s+)?(`{3,}|~{3,})")
_ITEM = lazy_regex(r"(\s*)(?:[-*•+]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?:\[([ xX])\]\s+)?(\S.*)")
_BOX = lazy_regex(r"\s*[-*]\s*\[[ xX]?\]")
_HEADING = lazy_regex(r"#{1,6}\s+(.*?)\s*#*")
_LABEL = lazy_regex(r"(?:\*\*|__)([^*_\n]{2,60}?):?(?:\*\*|__):?")
_UNDERLINE = lazy_regex(r"([-=~^\"'+*])\1{2,}")
_RULE = lazy_regex(r"[-=_*~#+:|\s]+")
_COMMENT = lazy_regex(r"(?s)<!--.*?(?:-->|\Z)")
# Not the marks of a conversation: those must stay for the guard to see.
_TAG = lazy_regex(
    r"(?i)</?(?!system|assistant|human|user|tool|function|invoke|antml|instruction)[a-z][^<>\n]{0,200}>"
)
# `Token-by: someone`, `Change-Id: I12`, and what tools and hosts append to messages.
_TRAILER = lazy_regex(
    r"(?i)\s*(?:[a-z][a-z]*-[a-z][a-z-]*:\s*[0-9a-f]{7,}\s*\Z|[a-z][a-z-]*-(?:by|id|ids|on|to|url|from|with|link|bug|issue|pr|revision|stage|commit|for|off"
    r"|version)\s*:\s"
    r"|(?:cc|bug|bugs|fixes|closes|resolves|refs?|references|issues?|pr|prs|link|see|signed|git-svn-id"
    r"|upstream|jira|ticket"
    r"|related|differential revision|reviewers|subscribers|tags|tasks"
    r"|merge request)\s*:\s*(?=\S*[#@/\d])\S+(?:[\s,]+\S*[#@/\d]\S*)*\s*\Z"
    r"|\(?cherry[- ]picked from |🤖|generated (?:with|by|using) |\[skip ci\]|\[ci skip\]|approved by:? "
    r"|see merge request )"
)
_REFERENCE = r"(?>[\w./-]*[#!]\d++|gh-\d++|[A-Z][A-Z0-9]+-\d++|https?://\S++)"
_ONLY_REFERENCES = lazy_regex(
    r"(?i)[-*\s]*(?:(?:this |it )?(?:closes?|closed|fix(?:es|ed)?|resolves?|resolved|refs?|references"
    r"|see(?: also)?|related(?: to)?|part of"
    r"|towards?|addresses|follow[- ]?up (?:to|of)|backports?(?: of)?|depends on|supersedes|reverts|from|pr"
    r"|issue|and|,|:|&)\s*)*"
    rf"(?:{_REFERENCE}[\s,;.]*+(?:and\s)?)+[\s.)]*"
)
_GITHUB = lazy_regex(
    r"https?://(?:www\.)?git(?:hub|lab)\.com/[\w.-]+/[\w.-]+/(?:-/)?(?:issues|pull|merge_requests"
    r"|discussions)/(\d+)[^\s)>\]]*"
)
_ADDRESS = lazy_regex(r"https?://(?:www\.)?([\w.-]+)[^\s)>\]]*")
_LINK = lazy_regex(r"!?\[([^\[\]\n]{0,300})\]\([^)\s]{1,1000}(?:\s+\"[^\"\n]*\")?\)")
_FOOTNOTE = lazy_regex(r"\s*\[\^?\w{1,20}\]:?\s+\S*://\S+.*|\s*\[\^?\w{1,20}\]:\s.*")
_EMPHASIS = lazy_regex(r"\*\*|__(?=\S)|(?<=\S)__(?!\w)")
_END = lazy_regex(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])\s*")
_NO_END = lazy_regex(
    r"(?i)(?:\b(?:e\.g|i\.e|vs|cf|etc|approx|resp|incl|no|fig|eq|sec|ca|z\.b|d\.h|bzw|dr|mr|ms|st|p|pp)"
    r"|\b[a-z]|\d)\.\Z"
)
_WORD = lazy_regex(r"[^\W\d_]{3,}|[一-鿿぀-ヿ가-힣]{2}")
# Sections of pull request templates that say nothing about the project.
_OTHER_SECTIONS = PrefilteredRegex(
    r"(?:how (?:was|has|to|did|can)\b.*\btest|test(?:ing|ed)?(?: plan| steps| instructions| done| notes)?\b"
    r"|verification|validation|check ?list|screenshots?"
    r"|before / after|related|references?|links?|reviewers?|type of change|todo|to do|steps to reproduce"
    r"|reproduc\w*|environment|ci\b"
    r"|acknowledge?ments?|credits|thanks|contributors?|files (?:changed|modified|created|added)|new files"
    r"|modified files|commits?|conflicts)",
    re.IGNORECASE,
)
# The model was trained on dialogues, where nobody gives credit; the rest of what is not worth telling it knows.
_CREDIT = PrefilteredRegex(
    r"(?:also )?(?:thanks?\b|thank you|kudos|credits? to|cc @|@\w+|(?:reported|suggested|discovered|found"
    r"|spotted|inspired"
    r"|reviewed|sponsored) by\b|conflicts:|see\b.{0,40}(?:#\d|\b(?:comments?|prs?|issues?|commits?"
    r"|discussions?|threads?"
    r"|github|details)\b)|(?:ci|tests?) fail|fail\w* (?:in )?ci\b)",
    re.IGNORECASE,
)
_REVERTS = lazy_regex(
    r"(?i)this (?:partially )?reverts? commits? [0-9a-f]{7,64}\W*(?:reversing changes made to [0-9a-f]+)?\W*"
)
# The state before the change told as if it were now, and what is left for later.
_PASSING = PrefilteredRegex(
    r"(?:however, |but |and |so |also,? |note that )*(?:(?:as of )?(?:currently|presently|at present"
    r"|at the moment|right now|today|for now|as of now|at this point|so far)\b"
    r"|.{0,80}\b(?:currently|still (?:missing|to do|todo|needs?|broken)|more work|to ?do\b|future (?:work"
    r"|prs?|commits?"
    r"|refactor\w*|change|patch)|follow-?up|next step|later (?:pr|commit|patch)|subsequent)"
    r"|(?:we |i )?(?:still )?(?:need|want|plan|would like) to\b|(?:this|the) (?:pr|pull request|patch|commit"
    r"|change|mr) (?:is|was) (?:a|the|an|part|based|also|for|similar|created|about|needed)\b"
    r"|references?:|see also|links?:|related:|discussion:)",
    re.IGNORECASE,
)
_NEGATES = PrefilteredRegex(
    r"\b(?:not|never|no|none|n['’]t|without|avoid\w*|reject\w*|remov\w*|drop\w*|instead|wrong|nicht|kein\w*"
    r"|nie|pas|jamais|nunca|sin|не)\b|不",
    re.IGNORECASE,
)
# That something is not so or must not be, why, what was chosen over what, figures: told also if the model doubts it.
_WEIGHTY = PrefilteredRegex(
    r"\b(?:not|never|don['’]t|cannot|instead|rather than|must|always|only|because|decid\w+|chose\w*|deliberate\w*"
    r"|at most|at least|by default|nicht|nie|kein\w*|statt|weil|pas|jamais|parce|au lieu|nunca|porque|solo"
    r"|en vez|não"
    r"|не|нельзя|потому|вместо)\b|不|因为|没有|ない",
    re.IGNORECASE,
)


class Paragraph(Struct, frozen=True):
    """A paragraph or list item as one line; `lead` introduces the list."""

    text: str
    line: int = 0
    heading: str = ""
    is_item: bool = False
    lead: str = ""


class Quotation(Struct, frozen=True):
    """A passage that can be quoted, and the probability that a later session should know it."""

    text: str
    line: int = 0
    heading: str = ""
    worth: float = 0.5


class _Part(NamedTuple):
    """A sentence, an item or a clause. `is_start` says that it begins a paragraph or an item."""

    text: str
    size: int
    line: int
    is_start: bool


def paragraphs(text: str) -> list[Paragraph]:
    """The prose of a text, unwrapped: no code blocks, tables, quotations, trailers, checklists and addresses."""
    collector = _Collector()
    for number, line in enumerate(_without_comments(text).split("\n")[:_MOST_LINES], 1):
        collector.add(number, line[:_LONGEST_LINE].rstrip())
    return collector.finished()


def _without_comments(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<!--" in text:  # the same number of lines, so that line numbers hold
        text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return text


class _Collector:
    """Sorts the lines of a text into paragraphs."""

    def __init__(self) -> None:
        self._done: list[Paragraph] = []
        self._open: list[str] = []
        self._line = 0
        self._heading = ""
        self._leads: list[tuple[int, str]] = []  # what introduces the open list, and the lists inside it
        self._last = 0  # the line at which prose ended
        self._fence = ""
        self._indent = -1  # of the list item that is open; -1 outside of lists
        self._is_item = False
        self._after_blank = True
        self._is_skipped = False  # a quotation, a table or a checklist that goes on in the next line

    def add(self, number: int, line: str) -> None:
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark or self._fence:
            self._close_before_code(number)
            if mark and (not self._fence or mark[1].startswith(self._fence)):
                is_inline = not self._fence and line.count(mark[1]) > 1
                self._fence = "" if self._fence or is_inline else mark[1]
            return
        bare = line.strip()
        if not bare:
            self._close()
            self._after_blank, self._is_skipped = True, False
            return
        self._take(number, line, bare)
        self._after_blank = False
        self._last = number if self._open else self._last

    def _take(self, number: int, line: str, bare: str) -> None:
        if self._is_underline(bare):
            title = " ".join(self._open)
            self._open = []
            self._begin_section(title)
        elif (bare[0] == "#" and (match := _HEADING.fullmatch(bare))) or (match := _LABEL.fullmatch(bare)):
            self._close()
            self._begin_section(match[1])
        elif _RULE.fullmatch(bare) or self._is_no_prose(line, bare):
            self._close()
        elif match := _ITEM.fullmatch(line):
            self._begin_item(number, match)
        elif self._is_code(line):
            self._close_before_code(number)
        elif not self._is_skipped:
            self._go_on(number, line, bare)

    def _is_underline(self, bare: str) -> bool:
        return (
            len(self._open) == 1
            and not self._is_item
            and _UNDERLINE.fullmatch(bare) is not None
            and len(bare) >= len(self._open[0]) - 2
        )

    def _begin_section(self, title: str) -> None:
        self._heading, self._leads, self._indent = plain(title).rstrip(":"), [], -1
        self._is_item = self._is_skipped = False

    def _is_no_prose(self, line: str, bare: str) -> bool:
        is_table = bare[0] in "|+" and bare[-1] in "|+"
        if bare[0] == ">" or is_table or _BOX.match(line):
            self._is_skipped = True
            return True
        return bool(_TRAILER.match(bare) or _FOOTNOTE.fullmatch(bare) or _ONLY_REFERENCES.fullmatch(bare))

    def _begin_item(self, number: int, match: re.Match[str]) -> None:
        self._close()
        indent = len(match[1].expandtabs(4))
        self._leads = [(margin, lead) for margin, lead in self._leads if margin < indent]
        self._is_item, self._indent, self._line, self._is_skipped = True, indent, number, False
        self._open = [match[3]]

    def _is_code(self, line: str) -> bool:
        """An indented block that is not part of a list item."""
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if self._is_item and self._open:
            return False
        return indent >= 4 and indent > self._indent + 1 and (self._after_blank or not self._open)

    def _go_on(self, number: int, line: str, bare: str) -> None:
        if not self._open:
            if self._is_item and line[0] != " ":
                self._indent = -1
            is_inner = self._indent >= 0 and line[0] == " "
            self._is_item = is_inner
            if not is_inner:
                self._leads = []
            self._line = number
        self._open.append(bare)

    def _close(self) -> None:
        text = plain(" ".join(self._open)[:_LONGEST_PARAGRAPH])
        self._open = []
        lead = self._leads[-1][1] if self._leads and self._is_item else ""
        if text.endswith((":", "…")):
            *complete, introduction = sentences(text)
            text = " ".join(complete)
            if count_tokens(introduction) <= _LONGEST_LEAD and introduction.endswith(":"):
                self._leads.append((self._indent if self._is_item else -1, introduction))
        if text:
            self._done.append(Paragraph(text, self._line, self._heading, self._is_item, lead))

    def _close_before_code(self, number: int) -> None:
        """A sentence that led to a block of code is not whole without it."""
        self._close()
        if self._done and self._last >= number - 2 and self._done[-1].text[-1].isalnum():
            led = self._done.pop()
            if text := " ".join(sentences(led.text)[:-1]):
                self._done.append(Paragraph(text, led.line, led.heading, led.is_item, led.lead))
        self._last = 0

    def finished(self) -> list[Paragraph]:
        self._close()
        return [paragraph for paragraph in self._done if not _OTHER_SECTIONS.match(paragraph.heading)]


def plain(text: str) -> str:
    """One line without emphasis, the targets of links and addresses; code spans stay."""
    if "](" in text:
        text = _LINK.sub(lambda match: "" if match[0][0] == "!" else match[1], text)
    if "://" in text:
        text = _ADDRESS.sub(r"\1", _GITHUB.sub(r"#\1", text))
    if "**" in text or "__" in text:
        text = _EMPHASIS.sub("", text)
    if "<" in text:
        text = _TAG.sub(lambda match: match[0] if "`" in text else "", text)
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """Split at ends of sentences: not after abbreviations and initials, not inside code, not before a small letter."""
    if len(text) < 40:
        return [text] if text else []
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        following = text[end.end() : end.end() + 1]
        head = text[start : end.start()]
        if (
            not following
            or following.islower()
            or head.count("`") % 2
            or _NO_END.search(head.rstrip("\"'”’)]"))
        ):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    if rest := text[start:].strip():
        found.append(rest)
    return found


def quotations(
    prose: Iterable[Paragraph], title: str, least: float = LEAST_WORTH, most: int = MOST_QUOTATIONS
) -> list[Quotation]:
    """The passages of a text below a title that are worth quoting, in their order; of too many those worth most."""
    found: list[Quotation] = []
    for group in _grouped(prose):
        found += _packed(group, title, least)
    if len(found) > most:
        ranked = sorted(range(len(found)), key=lambda at: (-found[at].worth, at))[:most]
        found = [found[at] for at in sorted(ranked)]
    return found


def worth_of(title: str, text: str) -> float:
    """The probability that a later session should know a text: the model judges it as an answer to its title."""
    scene = Scene((Message(by="user", text=title), Message(by="agent", text=text)))
    return shipped().worth(scene.features(Sentence(text, "agent", 1, 0, 1)))


def is_weighty(text: str) -> bool:
    return _WEIGHTY.search(text) is not None


def content_words(text: str) -> int:
    """How many different words of a text say something."""
    return len(words_of(text))


def words_of(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if word not in FILLER}


def says_something(text: str) -> bool:
    """Whether a sentence holds after the commit: no thanks, references and plans, nor what was so before."""
    is_frame = _CREDIT.match(text) or _PASSING.match(text)
    return not is_frame and not _ONLY_REFERENCES.fullmatch(text) and not _REVERTS.fullmatch(text)


def _grouped(prose: Iterable[Paragraph]) -> Iterator[list[Paragraph]]:
    """A paragraph, or the items of one list."""
    group: list[Paragraph] = []
    for paragraph in prose:
        goes_on = (
            group
            and paragraph.is_item
            and group[-1].is_item
            and (paragraph.lead, paragraph.heading) == (group[-1].lead, group[-1].heading)
        )
        if group and not goes_on:
            yield group
            group = []
        group.append(paragraph)
    if group:
        yield group


def _packed(group: list[Paragraph], title: str, least: float) -> Iterator[Quotation]:
    """Neighbouring sentences or items together, as long as they fit."""
    first = group[0]
    room = MOST_TOKENS - count_tokens(first.lead)
    for chunk in _chunks(_parts(group, room), room):
        texts = [part.text for part in chunk]
        text = "; ".join(part.rstrip(".;,") for part in texts) if first.is_item else " ".join(texts)
        # What goes on inside an item needs no introduction again, unless that one says that it is not so.
        if first.lead and (chunk[0].is_start or _NEGATES.search(first.lead)):
            text = f"{first.lead} {text}"
        weighty = is_weighty(text)
        if content_words(text) < _LEAST_WORDS - weighty:
            continue
        worth = worth_of(title, text)
        if worth >= least or weighty:
            yield Quotation(text, chunk[0].line, first.heading, round(worth, 2))


def _parts(group: list[Paragraph], room: int) -> Iterator[_Part]:
    for paragraph in group:
        is_whole = paragraph.is_item and count_tokens(paragraph.text) <= room
        pieces = [paragraph.text] if is_whole else sentences(paragraph.text)
        is_start = True
        for text in (text for piece in pieces if says_something(piece) for text in _fitting(piece, room)):
            yield _Part(text, count_tokens(text) + 1, paragraph.line, is_start)
            is_start = False


def _chunks(parts: Iterable[_Part], room: int) -> list[list[_Part]]:
    """As many parts together as fit; a short rest takes a part of the chunk before along, to stand alone."""
    chunks: list[list[_Part]] = []
    used = room
    for part in parts:
        if not chunks or used + part.size > room or len(chunks[-1]) >= _MOST_SENTENCES:
            chunks.append([])
            used = 0
        chunks[-1].append(part)
        used += part.size
    if len(chunks) > 1 and not chunks[-1][0].is_start and used < _SHORT_REST and len(chunks[-2]) > 1:
        moved = chunks[-2][-1]
        if moved.size + used <= room:
            chunks[-1].insert(0, chunks[-2].pop())
    return chunks


def _fitting(sentence: str, room: int) -> list[str]:
    """The sentence, or its clauses if it is too long; what is longer still is cut."""
    if count_tokens(sentence) <= room:
        return [sentence]
    clauses = re.split(
        r"(?<=;)\s+|\s+(?=[–—] )|(?<=:)\s+|(?<=,)\s+(?=(?:but|so|and|which|because)\b)", sentence
    )
    fitting: list[str] = []
    for clause in clauses:
        if fitting and count_tokens(fitting[-1]) + count_tokens(clause) <= room - 2:
            fitting[-1] = f"{fitting[-1]} {clause}"
        else:
            fitting.append(clause)
    # A clause without its sentence is told only if it says why, or what must not be.
    joined = [
        f"{'… ' if at else ''}{part}{' …' if at + 1 < len(fitting) else ''}"
        for at, part in enumerate(fitting)
        if not at or is_weighty(part)
    ]
    return [cut_to(part, room) for part in joined]
