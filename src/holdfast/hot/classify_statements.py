"""Judges what a sentence states for the classifier: something is wrong, or wished for, without an order."""

from __future__ import annotations

from holdfast.hot import classify_words as w
from holdfast.hot.classify_orders import CLAUSES
from holdfast.hot.classify_reading import CODE

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import TypeAlias

    Findings: TypeAlias = list[tuple[str, float, str]]


def judge_statement(words: list[str], ordered: bool, findings: Findings) -> None:
    """What is wished or wrong, said without an order: the strongest such word counts."""
    best, why = 0.0, ""
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        named = after in w.NAMES_OF_ERRORS  # "error handling" is nothing wrong
        referred = (
            word in w.NAMES_OF_FAULTS
            and at
            and (words[at - 1] in w.REFERRED or (words[at - 1] == "the" and not after))
        )
        mine = word in w.OWN_FAULTS and any(me in w.ONESELF for me in words[max(0, at - 3) : at])
        if (word in w.MUST and not ordered) or (word in w.BROKEN and not (named or referred or mine)):
            best, why = 2.0, f'"{word}"'
            break
        if at and words[at - 1] in w.WH:
            continue  # "why we need the lock"
        weight = _wrong_or_wished(word, after, words[at + 2 :], at, ordered)
        if weight > best:
            best, why = weight, f'"{word} {after}"'
    if best and w.HEDGES & set(words[:3]):
        best = 1.2  # "maybe it's better to …": an opinion
    if best:
        git = CODE not in words and any(word in w.GIT for word in words) and why.strip('"') not in w.BROKEN
        findings.append(("other" if git else "code-gen", best, why))
        return
    if any(word in w.REMARKS for word in words[1:]) and any(word in w.REMARKED for word in words):
        findings.append(("code-gen", 1.6, '"comments"'))  # what reviewers left is to be dealt with
        return
    opens = words[0] in w.OPENERS and not any(word in w.SUBJECTS for word in words[1:3])
    if opens or (words[0] in w.MORE_OR_LESS and len(words) < 7):
        findings.append(("code-gen", 1.6, f'"{words[0]}"'))
    elif (
        words[0] == "now"
        and len(words) < 6
        and not any(word in w.AUXILIARIES or word in w.SUBJECTS for word in words)
    ):
        findings.append(("code-gen", 1.6, '"now …"'))
    elif "still" in words:
        findings.append(("code-gen", 1.6, '"still"'))
    elif words[0] == "no" and len(words) > 3 and words[1] not in w.SUBJECTS and words[1] not in w.AFTER_NO:
        findings.append(("code-gen", 1.6, f'"{words[0]} {words[1]}"'))


def _wrong_or_wished(word: str, after: str, rest: list[str], at: int, ordered: bool) -> float:
    if word in ("i", "we", "i'd", "we'd") and after in w.BETWEEN and rest:
        after = rest[0]
    if (word in ("i", "we") and after in ("get", "got", "receive", "keep")) or (
        word in ("i'm", "am", "we're", "keeps") and after in ("getting", "seeing") and rest
    ):
        return 1.7
    if word in w.UNABLE and after and after not in w.OF_THE_MIND:
        return 1.7
    if word in ("not", "isn't", "aren't", "wasn't") and after.endswith("ed") and after not in w.STATES:
        return 1.7  # "it is not updated"
    if word in ("nothing", "neither") and at < 2 and after:
        return 1.7  # "nothing happens", "neither worked"
    if word in ("need", "want") or (after in ("need", "want") and rest[:1] in (["to"], ["you"])):
        return 0.0
    if (word in w.NOT and after in w.WORKS and "sense" not in rest) or (
        word in ("you", "u") and after in w.SLIPS
    ):
        return 2.0
    if word in ("i", "we", "i'd", "we'd", "users") and after in w.WISH_HEADS and after != "have":
        return 0.0 if ordered else 2.0
    if word == "no" and after == "need":
        return 0.0
    if word == "does" and after == "not" and at:
        return 1.7
    if word == "not" and after in ("needed", "necessary") and at:
        return 1.6
    if (
        word in w.FALLS_SHORT
        and at
        and after not in ("matter", "need", "mean")
        and (word, after) != ("never", "be")
    ):
        return 1.7
    if word == "too" and after not in ("", ",") and after not in CLAUSES:
        return 1.7
    if (word in ("no", "any") and after in ("longer", "more")) or (word == "not" and "but" in rest):
        return 1.6
    happening = word in ("when", "if") and after in ("i", "you", "we", "users") and at < 3
    return 1.6 if happening and rest else 0.0
