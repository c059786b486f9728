"""Finds where a value goes on: in the next line, in the next string of a program, behind a tag.

A joint is what lies between two pieces: a line's end with whatever the next line begins with (blanks, a line number,
the mark of a diff, a comment or a quotation, a prompt, a time), or the quotes and operators between two strings. A
joint is sure where both sides look like parts of one value. Elsewhere it may be one: there only a secret that reaches
across it counts, and what follows the joint is part of it unless it reads as a word, an id or the next assignment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from holdfast.core.patterns import lazy_regex
from holdfast.guard import not_secret


class Joint(NamedTuple):
    """The text between two pieces of a value; `ordinary` says that what follows may well not belong to it."""

    start: int
    end: int
    sure: bool = True
    ordinary: bool = False


# What a value consists of, at the end of a line and at the beginning of the next.
_LINE = r"-A-Za-z0-9_+/=~.%!#$^&*@?"
# What lines begin with, each time the same or nearly so: times of logs, numbers of listings, grep and editors, marks of
# comments, diffs, quotations and prompts.
_PREFIX = (
    r"(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]{5,18}(?:Z|[+-]\d\d:?\d\d)?\]?(?:[ \t]+\[?[A-Z]{3,8}\]?:?)?"
    r"|[A-Za-z.~/][\w./\\-]{0,80}(?::\d{1,6}:|-\d{1,6}-)|\d{1,6}(?:[ \t]{0,3}[→:|│┃)]|\t)"
    r"|//[/!]?|--|\.\.\.|…|(?:rem|REM)\b|;;?|[>|#*+│┃%-]{1,3})"
)
_MARKS = frozenset("+-#*%")
_ONE_DIGIT = str.maketrans("123456789", "000000000")
_SHORTEST_PREFIX, _LONGEST_PREFIX = 6, 120
_PREFIX_END = lazy_regex(r"(?=[^\n]*[0-9])[^\n]*[\s|:>\])}]|[^\n]*[|:>\])}]\s*+(?=\S|\Z)")
_LOGGED = lazy_regex(r"[0-9]:[0-9][0-9]|[_-][0-9]{1,3} {0,20}[|:] |\]:? ")
_PIECE = lazy_regex(rf"(?!\.\.)[{_LINE}:]{{1,400}}+")
# It begins with a literal, so that texts are searched fast; what closes the line before is looked at afterwards.
_NEXT_LINE = lazy_regex(
    rf"\n(?:(?<=[{_LINE}:│┃|\\]\n)|(?<=[{_LINE}│┃|]\r\n))"
    rf"[ \t]{{0,60}}+(?:{_PREFIX}[ \t]{{0,60}}+){{0,2}}(?P<next>(?!\.\.)[{_LINE}:]{{1,400}}+)"
)
_LINE_ENDS = frozenset({"", "\n", "\r", "\\", "|", "│", '"', "'", "`"})
# A value that has begun under a secret's name, or behind the user of a URL: what follows need not look random.
_OPENED = lazy_regex(
    r"(?:(?:passw(?:or)?d|passwort|passphrase|pwd|pw|secret|token|key|credentials?)[\w-]{0,20}[\"'`]?[ \t]{0,4}"
    r"(?:[:=]|=>|:=|[ \t]is|,)[ \t]{0,4}(?:[>|][+-]?\d?[ \t]*\r?\n[ \t]+)?[\"'`]?[^\s\"'`]{1,80}"
    r"|(?:basic|bearer)[ \t][\w+/=.~-]{2,200}"
    r"|://[^\s/@:]{0,60}:[^\s/@]{1,60})\Z",
    re.IGNORECASE,
)
# The same in other languages; asked only where one of their words stands.
_WORD_ABROAD = lazy_regex(
    r"kennwort|asswort|ontrase|enha|asse |lave|achtwoord|arola|andi|ifre|as[lł]o|lösenord"
    r"|арол|密|口令|パスワード|비밀번호|암호"
)
_OPENED_ABROAD = lazy_regex(
    r"(?i:kennwort|passwort|contrase[ñn]a|senha|passe|clave|wachtwoord|parola|sandi|[sş]ifre|has[lł]o|lösenord"
    r"|парол\w{0,3}|密码|密碼|口令|パスワード|비밀번호|암호)\w{0,8}[ \t]{0,4}"
    r"(?:[:=：]|[ \t](?:ist|lautet|es|est|é|è|är|jest|adalah)[ \t]|は|为|是|는|은)"
    r"[ \t]{0,4}[\"'`「『“‘«]?[^\s\"'`]{1,80}\Z"
)
_CLOSE = "\r \t│┃|\\"
_TAIL = lazy_regex(rf"[{_LINE}:]{{1,200}}")
_NAME_AND_VALUE = lazy_regex(r"[A-Za-z_][\w.-]*=[^=]")
_ASSIGNED = lazy_regex(r"[ \t]{0,4}(?:[=:(\[{]|<(?!/)|->|:=)")
_HEAD = lazy_regex(r"[^@&?#]+")
_DIGIT_OR_MIXED = lazy_regex(r"\d|[a-z][A-Z]")
_REACH = 260
_SHORTEST_RUN = 8
_SHORTEST_RANDOM = 5
_WRAPPED_AT = 12  # columns; lines that break words are no shorter
_WIDEST = 200
_LONGEST_OPENED = 200

# Two strings of a program: operators, calls and line breaks between them.
_OPERATOR = r"(?:\+\+?|&|~|\.{1,2}|\|\||<>|\\|_|,)"
_NEXT_STRING = lazy_regex(
    r"(?P<quote>[\"'`])(?:(?P<call>\.concat\()|[ \t]{0,40}+"
    rf"(?:{_OPERATOR}[ \t]{{0,8}}+){{0,2}}(?:\r?\n[ \t]{{0,60}}+(?:{_PREFIX}[ \t]{{0,60}}+)??)?"
    rf"(?:{_OPERATOR}[ \t]{{0,40}}+)?)"
    r"[fFrRbBuUL@]?(?P=quote)(?=[\w+/=.~!@#$%^&*:-])"
)
_ENDS = frozenset("_-+/=")
_EMPTY_STRING = lazy_regex(r"(?P<quote>[\"'])(?P<other>(?!(?P=quote))[\"'])(?P=other)(?P=quote)")
_LISTS = ("join(", "concat(", "implode(", "Join(", "Concat(", "concat!(", "CONCAT(", "StringJoin", "-join")
_TAGS = lazy_regex(r"(?<=[\w+/=.~-])(?:</?[a-z]{1,10}(?:[ \t][^<>\n]{0,80})?/?>){1,6}(?=[\w+/=.~-])")


def joints(text: str) -> list[Joint]:
    """Return the joints in order, without overlaps."""
    found = [*_over_lines(text), *_over_strings(text), *_over_tags(text)]
    found.sort()
    end = Joint(len(text) + 1, 0)
    return [joint for joint, after in pairwise([*found, end]) if joint.end <= after.start]


def _over_tags(text: str) -> Iterator[Joint]:
    if "><" in text or "<wbr" in text or "<br" in text:
        for match in _TAGS.finditer(text):
            if match[0].startswith(("<wbr", "<br", "</")):
                yield Joint(*match.span(), sure=False)


def _over_lines(text: str) -> Iterator[Joint]:
    if "\n" not in text:
        return
    last_next, last_likely, run = -1, -_WIDEST, ""
    words_before: Joint | None = None
    for at, resumed, end in _breaks(text):
        following = text[resumed:end]
        ahead = text[max(0, at - _REACH) : at].rstrip(_CLOSE)
        tail = _tail_of(ahead)
        if not any(map(str.isalnum, tail)):
            continue
        start = at - min(_REACH, at) + len(ahead)
        # A piece that is a whole line goes on what the lines before it began.
        run = (run + tail if last_next == start - len(tail) else tail)[-_REACH:]
        last_next = resumed
        if not any(map(str.isalnum, following)):
            continue
        sure = _is_sure(text, end, tail, following)
        opened = not sure and _is_opened(ahead[-_LONGEST_OPENED:])
        likely = sure or opened or _may_go_on(run, following)
        if likely and not opened and not sure and _is_word(tail) and not _is_at_end(text, end):
            continue  # a word, and a line that begins with an id: `git log`
        wrapped = not sure and _is_wrapped(text, at)
        if not likely and not wrapped:
            continue
        # The last `=` is the soft break of quoted-printable.
        start -= tail.endswith("=") and not tail.endswith("==")
        ordinary = not sure and not wrapped and _is_ordinary(text, end, following)
        if ordinary and not _is_at_end(text, end):
            continue  # a word and more; only a whole line of one may lie in the middle of a value
        joint = Joint(start, resumed, sure, ordinary)
        # A word that a terminal broke matters only right before a value, or right after one.
        if likely:
            if words_before and start - words_before.end < _WIDEST:
                yield words_before
            yield joint
            last_likely, words_before = resumed, None
        elif start - last_likely < _WIDEST:
            yield joint
        else:
            words_before = joint


def _is_opened(ahead: str) -> bool:
    if _OPENED.search(ahead) is not None:
        return True
    return _WORD_ABROAD.search(ahead) is not None and _OPENED_ABROAD.search(ahead) is not None


def _breaks(text: str) -> list[tuple[int, int, int]]:
    """Where a line ends, where what may go on begins behind the next line's prefix, and where that ends."""
    breaks = {
        match.start(): (match.start(), match.start("next") - _is_own_sign(text, match), match.end())
        for match in _NEXT_LINE.finditer(text)
    }
    for found in _behind_shared_prefixes(text):
        if found[0] not in breaks or breaks[found[0]][1] < found[1]:
            breaks[found[0]] = found
    return sorted(breaks.values())


def _behind_shared_prefixes(text: str) -> Iterator[tuple[int, int, int]]:
    """The same of lines that begin alike but for digits: with a log's time and level, with a container's name."""
    if _LOGGED.search(text) is None:
        return
    folded = text.translate(_ONE_DIGIT)
    begin, at = 0, text.find("\n")
    while at >= 0:
        after = at + 1
        if folded[begin : begin + _SHORTEST_PREFIX] == folded[after : after + _SHORTEST_PREFIX] and (
            size := _shared(
                folded[begin : min(at, begin + _LONGEST_PREFIX)], folded[after : after + _LONGEST_PREFIX]
            )
        ):
            piece = _PIECE.match(text, after + size)
            if piece:
                yield at, after + size, piece.end()
        begin, at = after, text.find("\n", after)


def _shared(one: str, other: str) -> int:
    size = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    end = _PREFIX_END.match(one[:size])
    return end.end() if end and end.end() >= _SHORTEST_PREFIX and any(map(str.isalnum, end[0])) else 0


def _is_at_end(text: str, position: int) -> bool:
    return text[position : position + 1] in _LINE_ENDS


def _is_own_sign(text: str, match: re.Match[str]) -> bool:
    """Whether the sign before the piece is its first one: no diff, list or comment is marked so in the line before."""
    at = match.start("next") - 1
    sign = text[at]
    if sign not in _MARKS or text[at - 1] in _MARKS:
        return False
    begin = text.rfind("\n", max(0, match.start() - 400), match.start()) + 1
    return not text[begin : match.start()].lstrip().startswith(sign)


def _tail_of(ahead: str) -> str:
    run = _TAIL.match(ahead[::-1])
    return run[0][::-1] if run else ""


def _is_sure(text: str, end: int, tail: str, following: str) -> bool:
    """Whether both sides are parts of one value by themselves."""
    if len(tail) < 3 or len(following) < 2 or _is_word(tail):
        return False
    if following.isalpha() and (following.islower() or following.istitle()) and len(following) < 12:
        return False
    if text[end : end + 1] in {"(", "["} or _ASSIGNED.match(text, end):
        return False
    return _goes_on(following) or _fills_its_line(text, end, tail)


def _may_go_on(run: str, following: str) -> bool:
    """Whether a value may lie across the break: one of the sides is random."""
    random = _is_random(run[-60:]) or _is_random(following[:60])
    return random and len(run) + len(following) >= _SHORTEST_RUN


@lru_cache(maxsize=4096)  # names in programs repeat
def _is_random(run: str) -> bool:
    return (
        len(run) >= _SHORTEST_RANDOM
        and _DIGIT_OR_MIXED.search(run) is not None
        and not not_secret.is_wordlike(run)
        and not not_secret.is_id(run)
        and not run.replace(".", "").isdigit()
    )


def _is_wrapped(text: str, at: int) -> bool:
    """Whether a terminal broke the line: the line before it, or the next one, is exactly as long."""
    begin = text.rfind("\n", max(0, at - 400), at) + 1
    width = at - begin
    if width < _WRAPPED_AT:
        return False
    if text.find("\n", at + 1, at + width + 3) - at - 1 == width:
        return True
    return begin > width and text.rfind("\n", max(0, begin - width - 2), begin - 1) == begin - width - 2


def _is_ordinary(text: str, end: int, following: str) -> bool:
    """Whether the beginning of a line reads as what lines begin with: a word, an id, a name and its value."""
    if _NAME_AND_VALUE.match(following) or _ASSIGNED.match(text, end):
        return True
    word = following.strip(".!?:*_-#+=/")
    if len(word) < 2:
        return not word or word in "aAIi"
    if word.isdigit():
        return len(word) < 5
    return not_secret.is_wordlike(word) if not any(map(str.isdigit, word)) else _is_long_id(word)


def _is_long_id(word: str) -> bool:
    return len(word) > 6 and not word.isupper() and not_secret.is_id(word)


def _fills_its_line(text: str, end: int, tail: str) -> bool:
    """Whether a run is all that its line has, and goes on with one that is no word either."""
    line_end = text.find("\n", end, end + 200)
    rest = text[end : line_end if line_end >= 0 else end + 200]
    return not rest.strip(" \t\r│|\"'\\") and any(sign.isdigit() for sign in tail[-80:])


def _is_word(run: str) -> bool:
    word = run.rstrip(".!?:")
    return not word or (
        len(word) < 20
        and word.isalpha()
        and (word.islower() or word.istitle() or not_secret.is_wordlike(word))
    )


def _goes_on(following: str) -> bool:
    """Whether a run at the beginning of a line looks like the rest of a value: no word, id or assignment."""
    if _NAME_AND_VALUE.match(following):
        return False
    head = _HEAD.match(following)
    part = head[0] if head else following
    return not not_secret.is_wordlike(part) and (
        (part.isupper() and part.isalnum()) or not not_secret.is_id(part)
    )


def _over_strings(text: str) -> Iterator[Joint]:
    if '"' not in text and "'" not in text and "`" not in text:
        return
    listed = any(word in text for word in _LISTS)
    for match in _NEXT_STRING.finditer(text):
        before = text[match.start() - 1 : match.start()]
        if before.isspace() or ("," in match[0] and not listed):
            continue
        if len(match[0]) > 2 or before.isalnum() or before in _ENDS:
            yield Joint(match.start(), match.end())
    if "\"''\"" in text or "'\"\"'" in text:
        yield from (Joint(*match.span()) for match in _EMPTY_STRING.finditer(text))
