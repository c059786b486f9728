"""What a session did, in a sentence or two: in the words of the last message that says so, else of its commits.

"Committed.", "Done." and "All tests pass." could end any session. The words that count are those of this work
(`own_words`): the last message of a turn that changed something and has them, then the commits, then any message,
then the list of what was changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.core.patterns import lazy_regex
from holdfast.language.open_items import lists_open_items, states_a_need
from holdfast.language.own_words import own_words
from holdfast.language.prose import ReportLine, capitalised, sentences, statements, without_escapes
from holdfast.model.events import FileTouch
from holdfast.sessions.digest import Turn

MOST = 300
MOST_READ = 4_000
ENOUGH_SAID = 90
TELLS = 3  # own words of a summary that tells this work from others
_TELLS_ALONE = 2  # own words of a sentence that is worth its place
_MOST_COMMITS = 4
_MOST_FILES = 4
_MOST_LOOKED_AT = 24  # statements of a message
_DRAWN = ("───", "━━━", "═══")  # lines across the page, around a heading
_EMPTY_WORDS = lazy_regex(
    r"(?:(?:all )?(?:done|perfect|great(?: question)?|excellent|good(?: question| catch| point)?|fixed|sure|certainly"
    r"|yes|no|ok(?:ay)?|summary|exactly|agreed|you(?:['’]re| are| were) (?:absolutely |totally )?right)\b"
    r"(?:[.!:,]+\s*|\s+[–—-]\s+|\s*\Z))+",
    re.IGNORECASE,
)
_DATA = lazy_regex(r"\s*(?:\{\s*[\"}]|\[\s*[{\[\"])")
_NAME_ALONE = lazy_regex(r"[\w.~-]*(?:[/\\][\w.~-]+|\.\w{1,5}):?")  # the file that a block of code is for
_NO_RESULT = lazy_regex(
    r"(?:(?:let me|i['’]ll|i will|i['’]m|i am|now|next,? i|first,? i|would you|do you|let['’]s|here(?:['’]s| is| are)"
    r"|you(?:['’]re| were| are) (?:welcome|right)|glad|ready to|happy to|understood|want me|shall i|if you|thank"
    r"|i apologi[sz]e)\b|::)",
    re.IGNORECASE,
)
_COMMIT_NAME = lazy_regex(r"\A[0-9a-f]{7,12} ")
_TRAILERS = lazy_regex(
    r"(?:(?:\A|\n)\s*(?:(?:[A-Z]\w*-[\w-]+|Fixes|Refs?|Closes|Link|Issue): [^\n]*|🤖[^\n]*|Generated with[^\n]*)?)+\Z"
)


class Account(NamedTuple):
    """What a text says was done, and how many words of it belong to this work alone."""

    text: str
    own: int


def summary_line(message: str, most: int = MOST) -> str:
    """The first sentences of a message that say what was done; '' if none says anything about this work."""
    return account(message, most).text


def account(message: str, most: int = MOST) -> Account:
    if _DATA.match(message):
        return Account("", 0)  # an answer for a program does not describe the work
    candidates = list(_candidates(message))
    telling = [pair for pair in candidates if pair[1] >= _TELLS_ALONE] or [
        pair for pair in candidates if pair[1]
    ]
    summary = ""
    for words, _ in telling:
        summary = f"{summary}{_between(summary)}{words}" if summary else words
        if len(summary) >= ENOUGH_SAID:
            break
    text = cut(capitalised(summary), most)
    return Account(text, len(own_words(text)))


def _between(summary: str) -> str:
    return " " if summary.endswith((".", "!", ":")) else "; "


def _candidates(message: str) -> Iterator[tuple[str, int]]:
    """The statements that may say what was done, each with the number of its own words."""
    leading = ""  # a line that introduces a list says what the items are
    headed = ""
    for statement in _without_choices(list(statements(without_escapes(message[:MOST_READ]))))[
        :_MOST_LOOKED_AT
    ]:
        words = _EMPTY_WORDS.sub("", statement.text.lstrip("-–—•* "), count=1)
        if words.endswith(":") and not _NO_RESULT.match(words):
            leading = words if len(own_words(words)) >= _TELLS_ALONE else ""
            continue
        if not words or words.endswith((":", "?")) or _NO_RESULT.match(words):
            continue
        if lists_open_items(statement) or states_a_need(words):
            continue
        if _NAME_ALONE.fullmatch(words) or any(line in words for line in _DRAWN):
            continue
        own = len(own_words(words))
        if statement.item and leading:
            words, own = f"{leading} {words}", own + len(own_words(leading))
        elif (
            statement.item
            and statement.heading != headed
            and len(own_words(statement.heading)) >= _TELLS_ALONE
        ):
            words, own = f"{capitalised(statement.heading)}: {words}", own + 1
        headed, leading = statement.heading, ""
        yield words, own


def _without_choices(said: list[ReportLine]) -> list[ReportLine]:
    """The statements without a list that a closing question offers: what may be done was not done."""
    if not said or not said[-1].text.endswith("?"):
        return said
    end = len(said) - 1
    while end and said[end - 1].item:
        end -= 1
    return said[:end]


# --- of a whole session ----------------------------------------------------------------------------------


def session_summary(
    turns: Sequence[Turn], commits: Sequence[str], bodies: Mapping[str, str], files: Iterable[FileTouch]
) -> str:
    """What the session did, best first: see the head of this module."""
    ended = [turn for turn in turns if turn.final and turn.answered]
    at_work = [turn for turn in ended if turn.edits]
    delivering = [turn for turn in ended if not turn.edits and (turn.commits or turn.published)]
    committed = _commits_account(commits, bodies)
    weak: list[Account] = []
    for accounts in (_accounts(at_work), iter((committed,)), _accounts(delivering), _accounts(ended)):
        for found in accounts:
            if found.own >= TELLS:
                return found.text
            weak.append(found)
    best = max(weak, key=lambda found: found.own, default=Account("", 0))
    if best.own:
        return best.text
    unfinished = next(
        (found.text for found in _accounts([turn for turn in turns if turn.final]) if found.own), ""
    )
    return _changed(files) or unfinished


def _accounts(turns: Sequence[Turn]) -> Iterator[Account]:
    return (account(turn.final) for turn in reversed(turns))


def _commits_account(commits: Sequence[str], bodies: Mapping[str, str]) -> Account:
    """The subjects of the last commits; of a single one also what its body says first."""
    lines = list(dict.fromkeys(commits))[-_MOST_COMMITS:]
    text = "; ".join(_COMMIT_NAME.sub("", line) for line in lines)
    if len(lines) == 1 and (body := bodies.get(lines[0], "")):
        text = f"{text}. {body}"
    return Account(cut(text, MOST), len(own_words(text)))


def body_of(body: str) -> str:
    """The first sentence of a commit's body; '' if it is only trailers."""
    paragraph = " ".join(_TRAILERS.sub("", body).strip().partition("\n\n")[0].split()).lstrip("-* ")
    return next((sentence for sentence in sentences(paragraph) if own_words(sentence)), "")


def _changed(files: Iterable[FileTouch]) -> str:
    """A list of what was changed, for a session that says nothing about it."""
    edited = sorted((touch for touch in files if touch.edits), key=lambda touch: -touch.edits)
    if not edited:
        return ""
    shown = list(
        dict.fromkeys(_shown(touch.path) for touch in edited)
    )  # one file may have been named in two ways
    more = len(shown) - _MOST_FILES
    names = ", ".join(f"`{name}`" for name in shown[:_MOST_FILES])
    return f"Changed {names}{f' and {more} more' if more > 0 else ''}; no report."


def _shown(path: str) -> str:
    """A path as it may be shown: of one outside of the session's folder the end."""
    return path if not path.startswith(("/", "~")) else "/".join(["…", *path.split("/")[-3:]])


def cut(text: str, most: int) -> str:
    """At most `most` characters, ending with a whole word."""
    if len(text) <= most:
        return text
    head = text[:most]
    return f"{head[: head.rfind(' ')] if ' ' in head[most // 2 :] else head}…"
