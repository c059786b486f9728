"""Judges one sentence of a prompt for the classifier: orders by the verb at the head of a clause, questions, wishes."""

from __future__ import annotations

from holdfast.hot import classify_words as w
from holdfast.hot.classify_orders import CLAUSES, base_form, orders, skip
from holdfast.hot.classify_statements import judge_statement

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import TypeAlias

    Findings: TypeAlias = list[tuple[str, float, str]]


def judge(words: list[str], asked: bool, findings: Findings) -> str:
    """Adds what a sentence tells; returns whether it is an order, a question or a statement."""
    start = skip(words, 0)
    if "only" in words[:start]:
        start = len(words)  # "only count lines that …": what the program is to do
    inverted = _is_inverted(words, start) or (
        asked and any(word in w.WH for word in words[start : start + 1])
    )
    if words[0] == "if" and not asked and _asks_after_a_condition(words):
        findings.append(("qa", 2.0, '"if …"'))
        return "question"
    plain = " ".join(words)
    doubt = next((doubt for doubt in w.DOUBTS if doubt in plain), "")
    tagged = (
        len(words) > 4 and words[-1] == "right" and words[-2] not in ("the", "all", "not", "to", "is", "in")
    )
    questioned = asked or inverted or bool(doubt) or tagged
    frames = _frames(words, start if inverted else len(words))
    if questioned:  # "do we need to add": asked, not wished
        frames = {
            at: frame
            for at, frame in frames.items()
            if frame.partition(" ")[0] not in w.WISHING
            or (frame == "we should" and w.HEDGES & set(words[:3]))
        }  # but "maybe we should make it bigger?" is a wish all the same
    if asked and len(words) - start == 1:
        findings.append(("qa", 1.6, f'"{words[start]}?"'))
        return "question"
    ordered = orders(words, start, questioned, frames, findings)
    embedded = next((at for at in range(1, len(words) - 1) if _is_embedded(words, at)), 0)
    if embedded and not questioned and not ordered:
        _question(words, embedded, False, "", plain, findings)
        return "question"
    if not questioned:
        if not (ordered and findings[0][0] == "exploration" and words[start] in w.LOOK):
            judge_statement(words, ordered, findings)  # "find out why it fails" says what to look at
        return "order" if ordered else "statement"
    if frames and not inverted and min(frames) > 4:
        # "lint shows errors, can you take a look?"
        judge_statement(words[: min(frames) - 2], ordered, findings)
    if not ordered and _is_request(words, start, findings):
        return "order"
    if not ordered:
        _question(words, start, inverted, doubt, plain, findings)
        if (
            asked
            and not inverted
            and not doubt
            and not any(word in w.WH for word in words[start : start + 1])
        ):
            judge_statement(words, False, findings)  # "the header is gone now?": said as it is, and doubted
    return "order" if ordered else "question"


def _asks_after_a_condition(words: list[str]) -> bool:
    """ "if i wrote nothing would it stop": the question mark was left out."""
    return any(
        words[at] in ("would", "will", "does", "is", "are", "can")
        and words[at + 1] in ("it", "they", "there", "i", "we")
        and words[at - 1] not in w.WH
        for at in range(3, len(words) - 1)
    )


def _is_request(words: list[str], start: int, findings: Findings) -> bool:
    """Asked for as a question: "can it be removed?", "how about we add", "why don't you use"."""
    head, after = words[start] if start < len(words) else "", words[start + 1 : start + 3]
    if head in ("can", "could", "can't", "couldn't"):
        for at in range(start + 1, min(start + 8, len(words) - 1)):
            if (
                words[at] == "be"
                and (words[at + 1].endswith("ed") or words[at + 1] in w.DONE)
                and words[at + 1] not in w.STATES
            ):
                findings.append(("code-gen", 1.7, f'"{head} … be {words[at + 1]}"'))
                return True
    if (head in ("how", "what") and after[:1] == ["about"]) or (
        head == "why" and after in (["don't", "you"], ["don't", "we"])
    ):
        at = start + 2
        while at < len(words) and (
            words[at] in w.SUBJECTS or words[at] in w.BETWEEN or words[at] in ("if", "to")
        ):
            at += 1
        if at < len(words) and base_form(words[at]) in w.CHANGE and words[at] not in w.NOUNISH:
            findings.append(("code-gen", 2.0, f'"{head} {after[0]} … {words[at]}"'))
            return True
    return False


def _is_embedded(words: list[str], at: int) -> bool:
    """A question inside a statement: "tell me what is"; but "a theme, which is different" only says more of it."""
    if words[at] not in w.WH or words[at + 1] not in w.AUXILIARIES:
        return False
    return words[at] not in ("which", "who", "whose") or words[at - 1] in w.ASKS


def _is_inverted(words: list[str], at: int) -> bool:
    """Whether it begins as a question does: "where is", "does it", "is the". "when i click" does not."""
    head = words[at] if at < len(words) else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    if head in ("when", "which", "how", "who", "any", "anything", "may", "might", "as"):
        return after in w.AUXILIARIES or (
            head == "how" and after in ("much", "many", "hard", "long", "to", "come")
        )
    if head == "do" and after in w.IT:
        return False  # "do it, and push"
    if after in w.ELIDED:
        return False  # "should be fixed", "still doesn't work": who or what it is goes without saying
    if head in ("do", "have", "had", "don't", "can", "could", "would", "will"):
        nouns = head not in ("do", "have", "don't") and after in ("the", "these", "those", "this", "that")
        return len(words) > at + 2 and (after in w.SUBJECTS or nouns)
    return head in w.QUESTION_HEADS


def _frames(words: list[str], asked_from: int) -> dict[int, str]:
    """Where verbs stand that "can you", "let's", "we need to" and the like lead to, with those words."""
    found: dict[int, str] = {}
    for at in range(len(words)):
        after = _frame(words, at)
        inside = at > asked_from and words[at - 1] not in CLAUSES  # "which one would you recommend?"
        if after and not inside:
            polite = words[after : after + 1] == ["not"] and words[at] in (
                "can",
                "could",
            )  # "can we not just …"
            found[skip(words, after + polite)] = " ".join(words[at:after])
    return found


def _frame(words: list[str], at: int) -> int:
    """Where the verb stands if an asking or wishing phrase begins here, else 0."""
    word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    before = words[at - 1] if at else ""
    if before in ("what", "whether", "why", "how", "where", "which", "when", "if"):
        return 0
    if word in w.WISHING and any(asks in w.WH for asks in words[max(0, at - 6) : at]):
        return 0  # "what is the option that we need to set": asked about
    if word in ("need", "want", "needs") and (before in w.NOT or before in w.OF_OTHERS):
        return 0  # "we might not need to redeploy", "users may want to see it"
    if (
        word == "you"
        and after == "can"
        and words[at + 2 : at + 3] in (["see"], ["tell"], ["notice"], ["find"])
    ):
        return 0  # "you can see that it is off": shown, not asked for
    if word in ("can", "could", "would", "will", "can't", "couldn't"):
        if after in ("you", "u") or (after == "we" and word not in ("would", "will")):
            if words[at + 2 : at + 5] == ["be", "able", "to"]:
                return at + 5
            return at + 3 if words[at + 2 : at + 3] == ["mind"] else at + 2
        return 0
    if word in ("let's", "lets", "please", "pls", "plz"):
        return at + 1
    if word == "you" and after in ("could", "can", "should", "must"):
        return at + 2
    if word == "we" and before == "now" and after in w.CHANGE and after not in w.NOUNISH:
        return at + 1  # "now we add one more box"
    if word in ("i", "we", "i'd", "we'd", "it", "they", "id"):
        would = word.endswith("'d")
        while after in w.BETWEEN:
            would = would or after == "would"
            at += 1
            after = words[at + 1] if at + 1 < len(words) else ""
        if would and after in w.CHANGE:
            return at + 1
    elif not (word in ("need", "want", "remember", "needs") and after == "to"):
        return 0
    else:
        return at + 2
    if word == "id" and after == "like":
        after = "like"
    if after in ("should", "must", "wanna", "gotta"):
        return at + 2
    if after in w.WISH_HEADS:
        rest = words[at + 2 : at + 4]
        return at + 4 if rest == ["you", "to"] else at + 3 if rest[:1] == ["to"] else 0
    return 0


def _question(
    words: list[str], start: int, inverted: bool, doubt: str, plain: str, findings: Findings
) -> None:
    head = words[start] if start < len(words) else ""
    after = words[start + 1] if start + 1 < len(words) else ""
    about_code = any(word in w.IN_CODE for word in words)
    locating = head in ("where", "where's") or (head == "which" and after in w.IN_CODE)
    who = words[start + 2] if start + 2 < len(words) else ""
    working = head in ("how", "how's") and after in w.AUXILIARIES and who not in ("i", "you")
    reasoning = (
        head in ("why", "why's")
        and after in w.AUXILIARIES
        and after not in ("did", "didn't")
        and who != "you"
    )
    scoping = head == "what" and (after == "effort" or "take" in words) and after != "if"
    if locating or working or scoping or (reasoning and (about_code or len(words) > 8)):
        kind = "exploration"
    else:
        here = head not in ("can", "could", "may") and any(word in w.HERE for word in words)
        about = here or (head in ("what", "what's") and after != "if" and about_code)
        used = head in ("is", "are", "does", "do") and any(word in w.REACHED for word in words)
        doubted = bool(doubt) and any(word in w.WH for word in words)
        kind = "exploration" if about or used or doubted else "qa"
    underlined = len(words) < 6 and any(plain.endswith(known) for known in w.RHETORICAL)
    if underlined or words == ["why"]:
        weight = 0.9
    elif doubt:
        weight = 1.6
    else:
        weight = 2.0 if inverted or head in w.WH or words[-1] in w.TAGS else 1.2
    findings.append((kind, weight, f'"{doubt or " ".join(words[start : start + 3])}"'))
