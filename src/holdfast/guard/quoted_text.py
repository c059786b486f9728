"""Text that others wrote into git, made safe to quote: no orders to the reader, nothing forged or hidden, no secrets.

Commits, decision records and changelogs are written by anybody who gets a change merged. What they say is shown to an
agent as quoted data. A passage that addresses the agent instead of describing the project is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from holdfast.core.fence import imitates
from holdfast.core.patterns import PrefilteredRegex, fold_case, lazy_regex
from holdfast.guard.hidden_text import has_hidden, why_line_refused

Clean = Callable[[str], str]
LONGEST_NAME = 60
_AT_ONCE = 200  # texts that are checked for secrets together

# What an order would make an agent do. `you should use X` describes an interface, `you should run X` is an order.
_ACTS = (
    r"(?:run|execute|install|download|curl|wget|fetch|visit|browse|send|upload|post|e?mail|exfiltrate|leak|reveal"
    r"|print|echo|output|reply|respond|answer|say|tell|repeat|pretend|act|behave|obey|approve|delete|erase|wipe"
    r"|disable|turn off|ignore|disregard|forget|bypass|paste|commit|push|force-push|grant|export|trust)"
)
_OVERRIDE = r"\b(?:ignore|disregard|forget|override|bypass|overrule)\b"
_MODELS = (
    r"(?:llms?|language models?|(?:ai |coding |code |automated |autonomous )*(?:ai|agents?|assistants?|models?"
    r"|reviewers?)|claude|copilot|codex|gemini|chatgpt|gpt|cursor)"
)


def _orders(*alternatives: str, words: str) -> PrefilteredRegex:
    return PrefilteredRegex("|".join(alternatives), re.IGNORECASE, words=words)


_ORDERS = (
    # One that overrides others.
    _orders(
        rf"{_OVERRIDE}[^.;]{{0,40}}\b(?:previous|prior|above|earlier|preceding|foregoing|existing|other|all|any|your|these"
        r"|system)\b[^.;]{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|directives?|orders?|context|polic(?:y|ies)"
        r"|constraints?|safety|messages?)\b",
        rf"{_OVERRIDE}[^.;]{{0,20}}\b(?:instructions?|rules?|prompts?|guidelines?)\b[^.;]{{0,20}}"
        r"\b(?:above|before|earlier|so far|previously)\b",
        r"ignorier\w* (?:alle |die |bitte )*(?:vorherigen|bisherigen|obigen)",
        r"ignore[zr]? (?:toutes )?les instructions (?:pr[ée]c[ée]dentes|ant[ée]rieures)",
        r"ignora (?:todas )?(?:las|le) (?:instrucciones|istruzioni)",
        r"игнорируй\w* (?:все )?(?:предыдущие|прежние)|忽略(?:之前|以上|所有|先前)|無視して",
        words="ignor|disregard|forget|overrid|bypass|overrul|игнорируй|忽略|無視",
    ),
    _orders(
        r"\b(?:new|updated|real|actual|secret|hidden|following) (?:system )?(?:instructions?|directives?|orders?)\s*"
        r"(?::|for (?:you|the))",
        words="instruction|directive|order",
    ),
    # One that is given to a model.
    _orders(
        r"\byou (?:are|act|behave|will be)(?: now| no longer)? (?:a|an|in|as|the)\b[^.]{0,30}"
        r"\b(?:assistant|agent|model|ai|mode|bot|root|admin|dan)\b",
        rf"\b(?:if|when|since|as) you(?:'re|’re| are) (?:an? )?{_MODELS}\b",
        words="you",
    ),
    _orders(
        r"\b(?:attention|note|notice|message|instructions?|reminder|hint|warning|dear|hey|hello|important)\b[\s,:(]{0,3}"
        rf"(?:(?:to|for|from)\s)?(?:the |all |any )?{_MODELS}\s*[:,!)—–-]",
        rf"\b{_MODELS},? (?:please|must|you must|should|shall|have to|need to|are (?:required|instructed|expected|asked"
        r"|allowed)|may|will) ",
        r"\b(?:claude|copilot|codex|gemini|chatgpt|assistants?|agents?),? (?:run|execute)\b",
        words="llm|language model|ai|agent|assistant|model|reviewer|claude|copilot|codex|gemini|gpt|cursor",
    ),
    _orders(
        r"\b(?:you|agents?|assistants?|the (?:agent|assistant|model|ai)) (?:must|should|shall|have to|need to|ought to"
        r"|are (?:required|instructed|asked) to|can safely)(?: (?:now|always|then|first|also|immediately|never|only))* "
        rf"{_ACTS}\b",
        words="must|should|shall|to |can safely",
    ),
    # What to do, or not to tell.
    _orders(
        r"\b(?:always|first|immediately|before (?:you|doing|answering|replying|continuing|starting)[^.]{0,40},"
        r"|from now on,?|please) (?:run|execute|curl|wget|download|install|fetch|visit|send|upload|post|paste|reply"
        r"|respond|approve|disable)\b",
        words="always|first|immediately|before|from now|please",
    ),
    _orders(
        r"\bdo not (?:tell|mention|inform|reveal|show|ask|warn|alert|notify)\b[^.]{0,30}"
        r"\b(?:users?|humans?|person|developer|anyone|anybody|them|him|her)\b",
        r"\bwithout (?:telling|asking|informing|confirmation from|consulting|notifying)\b[^.]{0,20}"
        r"\b(?:user|human|person|developer)\b",
        words="do not|without",
    ),
    _orders(
        r"\b(?:curl|wget)\b[^|]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b",
        r"\bbase64\s+(?:-d|--decode)\b[^|]{0,80}\|\s*(?:ba)?sh\b",
        r"\brm -rf? [~/]|\beval \"?\$\(|\b(?:chmod|chown) [^ ]+ /",
        words="curl|wget|base64|rm -r|eval|chmod|chown",
    ),
)
# Role marks of a conversation at the start of a line; `system: restart on failure` is an ordinary subject.
_ROLE = lazy_regex(
    r"(?m)^[\s>*#_-]*(?:SYSTEM|System|ASSISTANT|Assistant|HUMAN|Human|USER|User|DEVELOPER)(?i: (?:prompt"
    r"|message|override))?"
    r"\s*(?:\*\*)?:(?!:)|^[\s#=*-]*(?:BEGIN|END|NEW|Begin|New) (?:SYSTEM|System|INSTRUCTIONS?|Instructions?"
    r"|PROMPT)\b"
)
_LATIN = lazy_regex(r"[A-Za-z]")
_LOOK_ALIKE = lazy_regex(r"[\u0370-\u03ff\u0400-\u052f]")
_WORD = lazy_regex(r"\w+")


def is_hostile(text: str) -> bool:
    """Whether a text orders its reader about, imitates a host or holdfast, or hides something."""
    plain = text
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text)
        if has_hidden(text) or _is_disguised(plain):
            return True
    if not _is_unmarked(text) and any(why_line_refused(line) for line in text.split("\n")):
        return True
    return imitates(plain) or _ROLE.search(plain) is not None or _orders_reader(plain)


def _orders_reader(text: str) -> bool:
    line = fold_case(" ".join(text.split()))  # once, not for each pattern
    for order in _ORDERS:
        for word in order.words:
            if word in line:
                if order.pattern.search(line):
                    return True
                break
    return False


def _is_unmarked(text: str) -> bool:
    """Whether a text has none of the characters that marks are made of; most have none."""
    return text.isascii() and text.isprintable() and "<" not in text and "[" not in text


def _is_disguised(text: str) -> bool:
    """Whether a word mixes Latin with Greek or Cyrillic letters, as words do that a filter is meant to miss."""
    if not _LOOK_ALIKE.search(text):
        return False
    return any(
        len(_LATIN.findall(word)) >= 2 and _LOOK_ALIKE.search(word) is not None and "µ" not in word
        for word in _WORD.findall(text)
    )


def safe_name(name: str) -> str:
    """A person's name as it may be shown; '' if it is none."""
    name = " ".join(name.split())[:LONGEST_NAME].strip()
    if not name.isprintable() or set(name) & set("[]<>{}|`\n") or is_hostile(name):
        return ""
    return name


def cleaned_all(texts: Sequence[str], clean: Clean) -> list[str]:
    """What `clean` makes of every text. Texts are joined first: if nothing is found in them, none holds anything."""
    cleaned: list[str] = []
    for start in range(0, len(texts), _AT_ONCE):
        group = texts[start : start + _AT_ONCE]
        cleaned += _cleaned(group, clean)
    return cleaned


def _cleaned(texts: Sequence[str], clean: Clean) -> Iterable[str]:
    if len(texts) <= 1:
        return [clean(text) for text in texts]
    together = "\n\n".join(texts)
    if clean(together) == together:
        return texts
    middle = len(texts) // 2
    return [*_cleaned(texts[:middle], clean), *_cleaned(texts[middle:], clean)]
