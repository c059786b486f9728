"""Classifies one sentence of a prompt: what it orders, asks, states or wishes."""

from __future__ import annotations

from holdfast.hooks import classify_words as w
from holdfast.hooks.classify_orders import CLAUSES, base_form, find_frames, find_orders, has, skip, word_at
from holdfast.hooks.classify_words import CODE

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from holdfast.hooks.classify_orders import Finding, Findings


def judge(words: list[str], asked: bool, findings: Findings) -> str:
    """Adds the findings of a sentence; returns whether it is an order, a question or a statement."""
    start = skip(words, 0)
    if "only" in words[:start]:
        start = len(words)  # "only count lines that …": what the program is to do
    inverted = _is_inverted(words, start) or (asked and word_at(words, start) in w.WH)
    if words[0] == "if" and not asked and _asks_after_a_condition(words):
        findings.append(("qa", 2.0, '"if …"'))
        return "question"
    plain = " ".join(words)
    doubt = next((doubt for doubt in w.DOUBTS if doubt in plain), "")
    tagged = len(words) > 4 and words[-1] == "right" and words[-2] not in w.BEFORE_RIGHT
    questioned = asked or inverted or bool(doubt) or tagged
    frames = find_frames(words, start if inverted else len(words))
    if questioned:  # "do we need to add" is a question; "maybe we should make it bigger?" is a wish
        hedged = bool(w.HEDGES & set(words[:3]))
        frames = {
            at: frame
            for at, frame in frames.items()
            if frame.partition(" ")[0] not in w.WISHING or (frame == "we should" and hedged)
        }
    if asked and len(words) - start == 1:
        findings.append(("qa", 1.6, f'"{words[start]}?"'))
        return "question"
    ordered = find_orders(words, start, questioned, frames, findings)
    embedded = next((at for at in range(1, len(words) - 1) if _is_embedded(words, at)), 0)
    if embedded and not questioned and not ordered:
        findings.append(_question(words, embedded, False, "", plain))
        return "question"
    if not questioned:
        if not (ordered and findings[0][0] == "exploration" and word_at(words, start) in w.LOOK):
            _judge_statement(words, ordered, findings)  # "find out why it fails" says what to look at
        return "order" if ordered else "statement"
    if frames and not inverted and min(frames) > 4:
        # "lint shows errors, can you take a look?"
        _judge_statement(words[: min(frames) - 2], ordered, findings)
    if ordered or _is_request(words, start, findings):
        return "order"
    findings.append(_question(words, start, inverted, doubt, plain))
    if asked and not inverted and not doubt:
        _judge_statement(words, False, findings)  # "the header is gone now?": a statement in doubt
    return "question"


# Questions


def _is_inverted(words: list[str], at: int) -> bool:
    """Whether it begins as a question does: "where is", "does it", "is the". "when i click" does not."""
    head, after = word_at(words, at), word_at(words, at + 1)
    if head in ("when", "which", "how", "who", "any", "anything", "may", "might", "as"):
        return after in w.AUXILIARIES or (head == "how" and after in w.AFTER_HOW)
    # "do it, and push"; "should be fixed", "still doesn't work": the subject is left out
    if (head == "do" and after in w.IT) or after in w.ELIDED:
        return False
    if head in ("do", "have", "had", "don't", "can", "could", "would", "will"):
        nouns = head not in ("do", "have", "don't") and after in ("the", "these", "those", "this", "that")
        return len(words) > at + 2 and (after in w.SUBJECTS or nouns)
    return head in w.QUESTION_HEADS


def _asks_after_a_condition(words: list[str]) -> bool:
    """ "if i wrote nothing would it stop": the question mark is missing."""
    return any(
        words[at] in ("would", "will", "does", "is", "are", "can")
        and words[at + 1] in ("it", "they", "there", "i", "we")
        and words[at - 1] not in w.WH
        for at in range(3, len(words) - 1)
    )


def _is_embedded(words: list[str], at: int) -> bool:
    """A question inside a statement: "tell me what is"; but "a theme, which is different" is a relative clause."""
    if words[at] not in w.WH or words[at + 1] not in w.AUXILIARIES:
        return False
    return words[at] not in ("which", "who", "whose") or words[at - 1] in w.ASKS


def _is_request(words: list[str], start: int, findings: Findings) -> bool:
    """A request in the form of a question: "can it be removed?", "how about we add", "why don't you use"."""
    head, after, second = (word_at(words, start + place) for place in range(3))
    if head in ("can", "could", "can't", "couldn't"):
        for at in range(start + 1, min(start + 8, len(words) - 1)):
            done = words[at + 1]
            if words[at] == "be" and (done.endswith("ed") or done in w.DONE) and done not in w.STATES:
                findings.append(("code-gen", 1.7, f'"{head} … be {done}"'))
                return True
    proposed = head in ("how", "what") and after == "about"
    if proposed or (head == "why" and after == "don't" and second in ("you", "we")):
        at = start + 2
        while (verb := word_at(words, at)) in w.SUBJECTS or verb in w.BETWEEN or verb in ("if", "to"):
            at += 1
        if base_form(verb) in w.CHANGE and verb not in w.NOUNISH:
            findings.append(("code-gen", 2.0, f'"{head} {after} … {verb}"'))
            return True
    return False


def _question(words: list[str], start: int, inverted: bool, doubt: str, plain: str) -> Finding:
    head, after, who = (word_at(words, start + place) for place in range(3))
    explores = _explores(words, head, after, who) or (bool(doubt) and has(words, w.WH))
    if (len(words) < 6 and plain.endswith(w.RHETORICAL)) or words == ["why"]:
        weight = 0.9
    elif doubt:
        weight = 1.6
    else:
        weight = 2.0 if inverted or head in w.WH or words[-1] in w.TAGS else 1.2
    return "exploration" if explores else "qa", weight, f'"{doubt or " ".join(words[start : start + 3])}"'


def _explores(words: list[str], head: str, after: str, who: str) -> bool:
    """Whether the answer to a question is found in the files: where, how and why something is done here."""
    about_code = has(words, w.IN_CODE)
    helps = after in w.AUXILIARIES
    return (
        head in ("where", "where's")
        or (head == "which" and after in w.IN_CODE)
        or (head in ("how", "how's") and helps and who not in ("i", "you"))
        or (
            head in ("why", "why's")
            and helps
            and after not in ("did", "didn't")
            and who != "you"
            and (about_code or len(words) > 8)
        )
        or (head in ("what", "what's") and after != "if" and about_code)
        or (head == "what" and after != "if" and (after == "effort" or "take" in words))
        or (head in ("is", "are", "does", "do") and has(words, w.REACHED))
        or (head not in ("can", "could", "may") and has(words, w.HERE))
    )


# Statements


def _judge_statement(words: list[str], ordered: bool, findings: Findings) -> None:
    """Wishes and complaints without an order: the strongest such word counts."""
    best, why = _strongest(words, ordered)
    if best and w.HEDGES & set(words[:3]):
        best = 1.2  # "maybe it's better to …": an opinion
    if best:
        git = CODE not in words and has(words, w.GIT) and why.strip('"') not in w.BROKEN
        findings.append(("other" if git else "code-gen", best, why))
    elif reason := next((reason for applies, reason in _SHORT_STATEMENTS if applies(words)), ""):
        findings.append(("code-gen", 1.6, reason.format(*words)))


def _strongest(words: list[str], ordered: bool) -> tuple[float, str]:
    best, why = 0.0, ""
    for at, word in enumerate(words):
        after, before = word_at(words, at + 1), words[at - 1] if at else ""
        error_name = after in w.NAMES_OF_ERRORS  # "error handling" is nothing wrong
        referred = word in w.NAMES_OF_FAULTS and (before in w.REFERRED or (before == "the" and not after))
        own_fault = word in w.OWN_FAULTS and has(words[max(0, at - 3) : at], w.ONESELF)
        if (word in w.MUST and not ordered) or (
            word in w.BROKEN and not (error_name or referred or own_fault)
        ):
            return 2.0, f'"{word}"'
        if before in w.WH:
            continue  # "why we need the lock"
        weight = _fault_or_wish(word, after, words[at + 2 :], at, ordered)
        if weight > best:
            best, why = weight, f'"{word} {after}"'
    return best, why


# Requests in statements without a complaint or a wish, by their words: each has the same weight.
_SHORT_STATEMENTS: tuple[tuple[Callable[[list[str]], bool], str], ...] = (
    # Review comments are to be addressed.
    (lambda words: has(words[1:], w.REMARKS) and has(words, w.REMARKED), '"comments"'),
    (lambda words: words[0] in w.OPENERS and not has(words[1:3], w.SUBJECTS), '"{}"'),
    (lambda words: words[0] in w.MORE_OR_LESS and len(words) < 7, '"{}"'),
    (
        lambda words: (
            words[0] == "now" and len(words) < 6 and not (has(words, w.AUXILIARIES) or has(words, w.SUBJECTS))
        ),
        '"now …"',
    ),
    (lambda words: "still" in words, '"still"'),
    (
        lambda words: (
            words[0] == "no" and len(words) > 3 and words[1] not in w.SUBJECTS and words[1] not in w.AFTER_NO
        ),
        '"{} {}"',
    ),
)
# Two words that report a fault: the first, a condition on the following ones, and a weight. `rest` are the words after
# the second, `at` is the position of the first.
_FAULTS: tuple[tuple[Collection[str], Callable[[str, list[str], int], bool], float], ...] = (
    (("i", "we"), lambda after, rest, at: after in ("get", "got", "receive", "keep"), 1.7),
    (w.GETTING, lambda after, rest, at: after in ("getting", "seeing") and bool(rest), 1.7),
    (w.UNABLE, lambda after, rest, at: after != "" and after not in w.OF_THE_MIND, 1.7),
    # "it is not updated"
    (w.IS_NOT, lambda after, rest, at: after.endswith("ed") and after not in w.STATES, 1.7),
    # "nothing happens", "neither worked"
    (("nothing", "neither"), lambda after, rest, at: at < 2 and after != "", 1.7),
    # "we do not need to wait"
    (w.NOT | {"too"}, lambda after, rest, at: after in ("need", "want") and rest[:1] in w.LEADS_ON, 0.0),
    (w.NOT, lambda after, rest, at: after in w.WORKS and "sense" not in rest, 2.0),
    (("you", "u"), lambda after, rest, at: after in w.SLIPS, 2.0),
    (("no",), lambda after, rest, at: after == "need", 0.0),
    (("does",), lambda after, rest, at: after == "not" and at > 0, 1.7),
    (("not",), lambda after, rest, at: after in ("needed", "necessary") and at > 0, 1.6),
    (("never",), lambda after, rest, at: after == "be", 0.0),
    (w.FALLS_SHORT, lambda after, rest, at: at > 0 and after not in ("matter", "need", "mean"), 1.7),
    (("too",), lambda after, rest, at: after != "" and after not in CLAUSES, 1.7),
    (("no", "any"), lambda after, rest, at: after in ("longer", "more"), 1.6),
    (("not",), lambda after, rest, at: "but" in rest, 1.6),
    # "when i click save the page jumps"
    (("when", "if"), lambda after, rest, at: after in w.WHO_ACTS and at < 3 and bool(rest), 1.6),
)

_FAULT_HEADS = frozenset(word for first, _, _ in _FAULTS for word in first)


def _fault_or_wish(word: str, after: str, rest: list[str], at: int, ordered: bool) -> float:
    if word in ("i", "we", "i'd", "we'd") and after in w.BETWEEN and rest:
        after = rest[0]
    if word in w.WISHERS and after in w.WISH_HEADS and after != "have":
        led_on = after in ("need", "want") and rest[:1] in w.LEADS_ON  # the next verb counts
        return 0.0 if ordered or led_on else 2.0
    for first, applies, weight in _FAULTS if word in _FAULT_HEADS else ():
        if word in first and applies(after, rest, at):
            return weight
    return 0.0
