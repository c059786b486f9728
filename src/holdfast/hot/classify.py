"""Tells what a prompt wants: code-gen, exploration, qa or other. Rules over words and shape; unsure is other.

What is pasted (logs, traces, code, quotes) is set apart from what is said. Of what is said, the verbs at the head of a
clause count ("add", "can you add", "we need to add"), then how questions begin, then what is wrong or wished. Each
finding carries a weight and a reason; the class with the most wins if it is clear enough. docs/classifier.md has more.
"""

from __future__ import annotations

from holdfast.hot import classify_phrases as p
from holdfast.hot import classify_words as w
from holdfast.hot.classify_orders import skip
from holdfast.hot.classify_reading import Said
from holdfast.hot.classify_sentence import judge

ENOUGH = 1.5
CLEAR = 0.4
TALK = 10  # one word in so many, of a prompt of some length
LONG = 14
UNSURE = 0.3  # the confidence of a class that nothing speaks for
WORK = "unsure, work on code or a look at it"
_WORK = {"code-gen", "exploration"}

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
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
    from holdfast.hot.classify_abroad import ABROAD, WISHES  # which most prompts do without

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
