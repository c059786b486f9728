"""Text that others wrote into git, made safe to quote: no orders to the reader, nothing forged or hidden, no secrets.

Commits, decision records and changelogs are written by anybody who gets a change merged. What they say is shown to an
agent as quoted data. A passage that addresses the agent instead of describing the project is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from holdfast.core.fence import imitates
from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.guard.hidden_text import has_hidden, why_line_refused

Clean = Callable[[str], str]
LONGEST_NAME = 60
_AT_ONCE = 200  # texts that are checked for secrets together

# What an order would make an agent do. `you should use X` describes an interface, `you should run X` is an order.
_ACTS = (
    r"(?:run|execute|install|download|curl|wget|fetch|visit|browse|send|upload|post|e?mail|exfiltrate|leak"
    r"|reveal|print|echo"
    r"|output|reply|respond|answer|say|tell|repeat|pretend|act|behave|obey|approve|delete|erase|wipe|disable"
    r"|turn off|ignore"
    r"|disregard|forget|bypass|paste|commit|push|force-push|grant|export|trust)"
)
# An order that overrides others, one that is given to a model, the marks of a conversation, a command line to execute.
_ORDERS = PrefilteredRegex(
    r"\b(?:ignore|disregard|forget|override|bypass|overrule)\b[^.;]{0,40}\b(?:previous|prior|above|earlier"
    r"|preceding|foregoing"
    r"|existing|other|all|any|your|these|system)\b[^.;]{0,30}\b(?:instructions?|rules?|prompts?|guidelines?"
    r"|directives?|orders?"
    r"|context|polic(?:y|ies)|constraints?|safety|messages?)\b"
    r"|\b(?:ignore|disregard|forget|override|bypass|overrule)\b[^.;]{0,20}\b(?:instructions?|rules?|prompts?|guidelines?)\b"
    r"[^.;]{0,20}\b(?:above|before|earlier|so far|previously)\b"
    r"|\b(?:new|updated|real|actual|secret|hidden|following) (?:system )?(?:instructions?|directives?"
    r"|orders?)\s*(?::|for (?:you|the))"
    r"|\byou (?:are|act|behave|will be)(?: now| no longer)? (?:a|an|in|as|the)\b[^.]{0,30}\b(?:assistant"
    r"|agent|model|ai|mode|bot|root|admin|dan)\b"
    r"|\b(?:if|when|since|as) you(?:'re|’re| are) (?:an? )?(?:ai|llm|language model|(?:coding "
    r"|code )?(?:agent|assistant)|model|bot|claude|copilot"
    r"|codex|gemini|gpt|cursor)\b"
    r"|\b(?:attention|note|notice|message|instructions?|reminder|hint|warning|dear|hey|hello"
    r"|important)\b[\s,:(]{0,3}(?:(?:to|for|from)\s)?(?:the |all |any )?"
    r"(?:ai|llm|llms|language models?|(?:ai |coding |code |automated )*(?:agents?|assistants?|models?"
    r"|reviewers?)|claude|copilot|codex|gemini"
    r"|chatgpt|gpt|cursor)\s*[:,!)—–-]"
    r"|\b(?:ai|llm|coding|code|automated|autonomous) (?:agents?|assistants?|models?|reviewers?"
    r"|tools?) (?:must|should|shall|have to|need to|are"
    r" (?:required|instructed|expected|asked|allowed)|may|will)\b"
    r"|\b(?:claude|copilot|codex|gemini|chatgpt|assistants?|agents?)\b,? (?:please|must|you must"
    r"|should always|run|execute)\b"
    rf"|\b(?:you|agents?|assistants?|the (?:agent|assistant|model|ai)) (?:must|should|shall|have to|need to"
    rf"|are (?:required|instructed|asked) to|ought to"
    rf"|can safely)(?: (?:now|always|then|first|also|immediately|never|only))* {_ACTS}\b"
    rf"|\b(?:always|first|immediately|before (?:you|doing|answering|replying|continuing|starting)[^.]{{0,40}},"
    rf"|from now on,?|please) "
    r"(?:run|execute|curl|wget|download|install|fetch|visit|send|upload|post|paste|reply|respond|approve|disable)\b"
    r"|\bdo not (?:tell|mention|inform|reveal|show|ask|warn|alert|notify)\b[^.]{0,30}\b(?:user|users|human"
    r"|humans|person|developer|anyone|anybody|them|him|her)\b"
    r"|\bwithout (?:telling|asking|informing|confirmation from|consulting|notifying)\b[^.]{0,20}\b(?:user"
    r"|human|person|developer)\b"
    r"|\b(?:curl|wget)\b[^|]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\bbase64\s+(?:-d|--decode)\b[^"
    r"|]{0,80}\|\s*(?:ba)?sh\b"
    r"|\brm -rf? [~/]|\beval \"?\$\(|\b(?:chmod|chown) [^ ]+ /"
    r"|ignorier\w* (?:alle |die |bitte )*(?:vorherigen|bisherigen|obigen)"
    r"|ignore[zr]? (?:toutes )?les instructions (?:pr[ée]c[ée]dentes|ant[ée]rieures)"
    r"|ignora (?:todas )?(?:las|le) (?:instrucciones|istruzioni)|игнорируй\w* (?:все )?(?:предыдущие|прежние)"
    r"|忽略(?:之前|以上|所有|先前)|無視して",
    re.IGNORECASE,
    words="ignor|disregard|forget|overrid|bypass|overrul|instruction|directive|order|you |you'|you’|attention"
    "|note|notice|message|reminder|hint|warning|dear|hey|hello|important|ai agent|ai assist|ai model"
    "|ai review|ai tool|llm|coding|code|automated|autonomous|claude|copilot|codex|gemini|chatgpt"
    "|assistant|agent|the model|the ai|always|first|immediately|before|from now|please|do not|without"
    "|curl|wget|base64|rm -r|eval|chmod|chown|игнорируй|忽略|無視",
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
    return imitates(plain) or bool(_ORDERS.search(" ".join(plain.split())) or _ROLE.search(plain))


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
