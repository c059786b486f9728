"""Tells what a prompt wants: code-gen, exploration, qa or other. Rules over words and shape; unsure is other.

What is pasted (logs, traces, code, quotes) is set apart from what is said. Of what is said, the verbs at the head of a
clause count ("add", "can you add", "we need to add"), then how questions begin, then what is wrong or wished. Each
finding carries a weight and a reason; the class with the most wins if it is clear enough. docs/classifier.md has more.
"""

from __future__ import annotations

from holdfast.hooks import classify_words as p
from holdfast.hooks import classify_words as w
from holdfast.hooks.classify_orders import CLAUSES, base_form, judge_statement, orders, skip
from holdfast.hooks.classify_reading import Said

TYPE_CHECKING = False


# Judges one sentence of a prompt for the classifier: orders by the verb at the head of a clause, questions,
# wishes.

if TYPE_CHECKING:
    from typing import TypeAlias

    SentenceFindings: TypeAlias = list[tuple[str, float, str]]


def judge(words: list[str], asked: bool, findings: SentenceFindings) -> str:
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


def _is_request(words: list[str], start: int, findings: SentenceFindings) -> bool:
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
    words: list[str], start: int, inverted: bool, doubt: str, plain: str, findings: SentenceFindings
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


ENOUGH = 1.5
CLEAR = 0.4
TALK = 10  # one word in so many, of a prompt of some length
LONG = 14
UNSURE = 0.3  # the confidence of a class that nothing speaks for
WORK = "unsure, work on code or a look at it"
_WORK = {"code-gen", "exploration"}

if TYPE_CHECKING:
    from typing import TypeAlias

    Findings: TypeAlias = list[tuple[str, float, str]]


def classify(prompt: str) -> tuple[str, float, str]:
    """Class, confidence from 0 to 1, and why: the words and shapes that decided. Never raises on any text."""
    said = Said(prompt)
    if said.command:
        return _slash(said)
    findings: Findings = []
    _abroad(said, findings)
    _go_on(said, findings)
    judged: list[tuple[str, Findings]] = []
    for words, asked in said.sentences:
        found: Findings = []
        judged.append((judge(words, asked, found), found))
    last = len(judged) - 1
    closing = bool(judged) and _closes_with_a_question(*judged[-1])
    talking = said.words >= LONG and not said.code and not said.traces and _is_talk(said)
    looking = ordered = begun = False
    for place, (act, found) in enumerate(judged):
        # What is wanted stands first or last; the middle of a long text tells how, and what else there is.
        middle = 5 < place < last - 1
        for kind, weight, why in found:
            if talking and act == "statement" and kind == "code-gen":
                weight *= 0.7  # people among themselves, rather than about a program
            elif closing and (act == "statement" or (kind == "code-gen" and weight <= 3.0)):
                weight *= 0.6  # what is wrong was said to ask something about it
            elif middle or (kind != "code-gen" and 1 < place < last):
                weight *= 0.5
            elif (place == 0 or not ordered) and kind in ("exploration", "other") and weight >= 2.5:
                weight *= 1.2 if kind == "exploration" else 1.0
                looking = True
            elif looking and place and kind == "code-gen" and (weight <= 3.0 or why in p.MANNERS_OF_WORK):
                weight *= 0.5 if weight <= 3.0 else 0.3  # what the look is about, and how to go about it
            findings.append((kind, weight, why))
        begun = begun or (place == 0 and any(kind == "code-gen" and weight >= 4 for kind, weight, _ in found))
        ordered = ordered or act == "order"
        if place == 0 and found and len(said.sentences[0][0]) <= 3 and found[0][0] == "exploration":
            findings.append(("code-gen", -3.0, ""))  # "brainstorm: …", "review: …": the rest is its subject
    _shape(said, findings, begun)
    return _decide(findings)


def _is_talk(said: Said) -> bool:
    """Whether one word in ten is about the two who speak: "i think we just …"."""
    personal = sum(word in p.PERSONAL for words, _ in said.sentences for word in words)
    return personal * TALK > sum(len(words) for words, _ in said.sentences)


def _closes_with_a_question(act: str, found: Findings) -> bool:
    if act == "order":  # "explain how you would do that", "make a plan first"
        return all(kind in ("exploration", "qa") and weight >= 2.0 for kind, weight, _ in found)
    return act == "question" and bool(found) and found[-1][1] >= 1.2


def _slash(said: Said) -> tuple[str, float, str]:
    name = said.command.rpartition(":")[2]
    for kind, names in p.SLASH.items():
        if name in names:
            return kind, 0.8, f"the command /{said.command}"
    if said.arguments.count(" ") >= 2 and not said.arguments.startswith("/"):
        kind, confidence, why = classify(said.arguments)
        return kind, round(confidence * 0.8, 2), f"the words after /{said.command}: {why}"
    return "other", 0.8, f"the command /{said.command}"


def _go_on(said: Said, findings: Findings) -> None:
    """Short answers: thanks and assent are nobody's order; "do it" and "option 2" go on with what was proposed."""
    if said.words > 12 and said.sentences:
        first = [word for word in said.sentences[0][0] if word not in p.ASSENT and word not in p.MANNERLY]
        start = " ".join(first[:2])
        phrase = next((phrase for phrase in p.GOES_ON if start == phrase or first[:1] == [phrase]), "")
        if phrase and first[len(phrase.split()) :][:1] in ([], [","], ["and"], ["with"]):
            findings.append(("code-gen", 3.0, f'going on: "{phrase}"'))
    if said.words > 12 or not said.sentences:
        return
    words = [word for sentence, _ in said.sentences for word in sentence if word != ","]
    if all(word in p.CHAT or word in p.ASSENT for word in words):
        findings.append(("other", 3.0, "thanks, a greeting or a bare yes or no"))
        return
    if any(asked for _, asked in said.sentences):
        return
    told = next((phrase for phrase in p.TOLD_TO_GO_ON if f" {phrase} " in f" {' '.join(words)} "), "")
    if (
        not told
        and words[-1] in ("continue", "proceed")
        and len(words) > 1
        and words[-2] not in w.AUXILIARIES
    ):
        told = words[-1]
    if told == "try again" and any(word in w.CHORE or word in w.LOOK for word in words):
        told = ""
    if told or ("go" in words and all(word in w.FILLERS or word in p.ASSENT for word in words)):
        findings.append(("code-gen", 3.0, f'going on: "{told or "go"}"'))
        return
    rest = " ".join(words[skip(words, 0) :])
    assented = next((at for at, word in enumerate(words) if word not in p.ASSENT), 0)
    plain = " ".join(words[assented:])
    phrase = next((phrase for phrase in p.GO_ON if _begins(rest, phrase) or _begins(plain, phrase)), "")
    if phrase and not any(word in w.CHORE for word in words[1:3]):
        findings.append(("code-gen", 2.0, f'going on: "{phrase}"'))
    elif sum(_is_choice(word) for word in words) > 1 and any(word in p.ASSENT for word in words):
        findings.append(("code-gen", 1.6, "choices among what was offered"))
    elif len(words) == 1 and words[0].isdigit():
        return  # from whatever list: to look at it, as often as to do it
    elif len(words) < 8 and all(word in p.CHOOSING or word in p.ASSENT or _is_choice(word) for word in words):
        findings.append(("code-gen", 1.6, "a choice among what was offered"))


def _begins(text: str, phrase: str) -> bool:
    """Whether it goes on so; "all" and "both" are a choice only where nothing is said of them."""
    return text == phrase if phrase in ("all", "both") else text.startswith(phrase)


def _is_choice(word: str) -> bool:
    return (word.isdigit() and len(word) == 1) or word in ("a", "b", "c", "d", "e")


def _shape(said: Said, findings: Findings, begun: bool) -> None:
    edges = said.text if len(said.text) < 900 else said.text[:500] + " … " + said.text[-300:]
    spoken = (
        " ".join(word for words, _ in said.sentences for word in words)
        if said.pasted or said.traces
        else edges
    )
    strong = any(kind == "code-gen" and weight >= 4 for kind, weight, _ in findings)
    # "Implement it, but don't edit the tests" is an order all the same.
    stopping = p.HANDS_OFF if strong else p.HANDS_OFF + p.NOT_THAT
    if begun:
        spoken = spoken[:300]  # "implement this plan: …": what the plan says of its parts is no limit of it
    phrase = next((phrase for phrase in stopping if phrase in spoken), "")
    if phrase and strong and f"{phrase} to" in spoken:
        phrase = ""  # "don't make any changes to the light theme": a limit of the order
    if phrase:
        findings.append(("code-gen", -6.0, ""))
        findings.append(("exploration", 3.0, f'"{phrase}"'))
    elif any(phrase in spoken for phrase in p.ASIDES):
        findings.append(("code-gen", -6.0, ""))
        findings.append(("exploration", 1.5, "a question by the way"))
    phrase = next((phrase for phrase in p.CLOSING if phrase in edges), "")
    if phrase and said.words < 20:
        findings.append(("other", 5.0, f'"{phrase}"'))
    if any(phrase in edges for phrase in p.FOR_A_PROGRAM):
        findings.append(("other", 5.0, "an answer for a program"))
    if said.arrows and said.words < 15:
        findings.append(("code-gen", 1.6, "an arrow from what is to what shall be"))
    if any(phrase in said.text for phrase in p.SETTLED):
        findings.append(("code-gen", -1.5, ""))
    asked = any(asked for _, asked in said.sentences)
    if not said.traces and any(phrase in edges for phrase in p.ERROR_PHRASES):
        said.traces = 1
    if said.traces and not asked:
        findings.append(("code-gen", 2.0 if said.words < 60 else 1.0, "a pasted error"))
    if said.headings > 1 and not asked and said.words > 40:
        findings.append(("code-gen", 1.0, "a plan with headings"))
    if not asked and said.words >= 20 and said.code:
        findings.append(("code-gen", 1.2, "a description of code without a question"))


def _abroad(said: Said, findings: Findings) -> None:
    """Other languages: verbs often come last, so words count wherever they stand."""
    if said.text.isascii() and (len(said.sentences) > 12 or " the " in said.text):
        return
    from holdfast.hooks.classify_abroad import ABROAD, WISHES

    words = frozenset(word for sentence, _ in said.sentences for word in sentence)
    for kind, weight, known, parts in ABROAD:
        common = words & known if words - WISHES else frozenset()  # a bare "I want" wants nothing yet
        if common:
            findings.append((kind, weight, f'"{min(common)}"'))
        elif not said.text.isascii():
            part = next((part for part in parts if part in said.text), "")
            if part:
                findings.append((kind, weight, f'"{part}"'))


def _decide(findings: Findings) -> tuple[str, float, str]:
    """The strongest finding of a class counts in full, further ones a little; one class must be clearly ahead."""
    scores: dict[str, float] = {}
    for kind in ("code-gen", "exploration", "qa", "other"):
        weights = sorted(
            (weight for known, weight, _ in findings if known == kind and weight > 0), reverse=True
        )
        against = sum(weight for known, weight, _ in findings if known == kind and weight < 0)
        scores[kind] = (weights[0] + min(1.0, 0.25 * sum(weights[1:])) if weights else 0.0) + against
    if scores["other"] <= 4.5 and any(kind == "code-gen" and weight >= 2.5 for kind, weight, _ in findings):
        scores["other"] *= 0.5  # "add it, commit and push": chores that come with the work
    best = max(scores, key=lambda kind: scores[kind])
    second = max(score for kind, score in scores.items() if kind != best)
    if scores[best] < ENOUGH:
        return "other", UNSURE, "nothing in it tells"
    if scores[best] - second < CLEAR:
        close = {kind for kind, score in scores.items() if scores[best] - score < CLEAR}
        return "other", UNSURE, f"{WORK if close == _WORK else 'unsure'}: {_why(findings, best)}"
    return best, round(min(0.99, 0.5 + 0.12 * (scores[best] - max(second, 0.0))), 2), _why(findings, best)


def _why(findings: Findings, kind: str) -> str:
    chosen = sorted((item for item in findings if item[0] == kind and item[1] > 0), key=lambda item: -item[1])
    return ", ".join(dict.fromkeys(reason for _, _, reason in chosen[:3]))
