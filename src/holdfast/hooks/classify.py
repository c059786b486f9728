"""Classifies a prompt as code-gen, exploration, qa or other, by rules over words and shape; unsure is other.

Pasted text (logs, traces, code, quotes) is separated from the person's own words. In those, the verbs at the head of a
clause count ("add", "can you add", "we need to add"), then question openings, then complaints and wishes. Each finding
has a weight and a reason; the class with the highest score wins if it is clear enough. See docs/research/classifier.md.
"""

from __future__ import annotations

from holdfast.hooks import classify_words as w
from holdfast.hooks.classify_orders import has, skip
from holdfast.hooks.classify_sentence import judge

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.hooks.classify_orders import Finding, Findings

ENOUGH = 1.5
CLEAR = 0.4
TALK = 10  # one word in this many, in a longer prompt
LONG = 14
SHORT = 12  # words of a reply to a proposal
UNSURE = 0.3  # the confidence without evidence for any class
WORK = "unsure, work on code or a look at it"
CLASSES = ("code-gen", "exploration", "qa", "other")
_WORK = {"code-gen", "exploration"}

# The request is at the start or at the end, however much is pasted between: characters, and words of each.
MOST_HEAD = 2_500
MOST_TAIL = 700
MOST_WORDS = 130
LONGEST_QUOTE = 40  # words; an unclosed quotation mark must not swallow the rest
EDGES = "+\"'`*_~()[]{}<>,.!?;:…“”‘’«»¿¡、。？！，"
ENDS = ".!?;:…。？！；"
ARROWS = ("->", "→", "=>")
DASHES = ("-", "–", "—", "--", *ARROWS)
MANNERS = (
    "please",
    "pls",
    "plz",
    "thanks",
    "thank you",
    "thx",
    "many thanks",
    "cheers",
    "bitte",
    "danke",
    "merci",
    "stp",
    "svp",
)
AFTERTHOUGHT = " \n\t,.!:)🙏"
TRACE_STARTS = (
    "at ", 'file "', "traceback ", "caused by", "--> ", "panic:", "goroutine ", "failed ", "fail:", "--- fail", "e   ",
    "error[", "error:", "npm err", "warning:", "warning[", "fatal:", "thread '", "exception in ", "uncaught ", "✗", "✘",
    "❌", "× ", "⨯", "segmentation fault", "err!", "[error]", "unhandled ", "assertionerror",
)  # fmt: skip
REQUEST = "## My request for Codex:"  # an editor puts the open files before the request
BEGINS = frozenset(("Can", "Could", "Please", "Also"))  # a sentence, with or without a full stop before it
LEVELS = ("[info", "[debug", "[warn", "[20")
BARE_LEVELS = ("INFO ", "DEBUG ", "WARN ")  # "debug the basket" is an order
PASTED_STARTS = (
    "{", "[{", '["', "<", "|", "$ ", "➜", "❯", "% ", "+++", "@@", "diff --git", "─", "│", "┌", "└", "===", "#!",
    "//", ">",
)  # fmt: skip


BARE = {
    "wont": "won't", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't", "arent": "aren't",
    "wasnt": "wasn't", "shouldnt": "shouldn't", "couldnt": "couldn't", "wouldnt": "wouldn't", "hasnt": "hasn't",
    "havent": "haven't", "cant": "can't", "im": "i'm", "ive": "i've", "thats": "that's", "whats": "what's",
}  # fmt: skip


def classify(prompt: str) -> tuple[str, float, str]:
    """Class, confidence from 0 to 1, and the words and shapes that decided. Never raises, whatever the text."""
    text = PromptText(prompt)
    if text.command:
        return _classify_command(text)
    findings = [*_foreign_findings(text), *_continuation(text)]
    judged_sentences: list[tuple[str, Findings]] = []
    for words, asked in text.sentences:
        sentence_findings: Findings = []
        judged_sentences.append((judge(words, asked, sentence_findings), sentence_findings))
    begun = bool(judged_sentences) and any(
        kind == "code-gen" and weight >= 4 for kind, weight, _ in judged_sentences[0][1]
    )
    findings += _weigh(text, judged_sentences)
    findings += _shape(text, begun, any(kind == "code-gen" and weight >= 4 for kind, weight, _ in findings))
    return _decide(findings)


def _classify_command(text: PromptText) -> tuple[str, float, str]:
    name = text.command.rpartition(":")[2]
    for kind, names in w.SLASH.items():
        if name in names:
            return kind, 0.8, f"the command /{text.command}"
    if text.arguments.count(" ") >= 2 and not text.arguments.startswith("/"):
        kind, confidence, why = classify(text.arguments)
        return kind, round(confidence * 0.8, 2), f"the words after /{text.command}: {why}"
    return "other", 0.8, f"the command /{text.command}"


def _weigh(text: PromptText, judged: list[tuple[str, Findings]]) -> Iterator[Finding]:
    """The findings of all sentences, weighted by their position and context."""
    last = len(judged) - 1
    closing = bool(judged) and _closes_with_a_question(*judged[-1])
    talking = text.words >= LONG and not text.code and not text.traces and _is_talk(text)
    looking = ordered = False
    for place, (act, sentence_findings) in enumerate(judged):
        # The request comes first or last; the middle of a long text gives details and context.
        middle = 5 < place < last - 1
        for kind, weight, why in sentence_findings:
            if talking and act == "statement" and kind == "code-gen":
                weight *= 0.7  # people among themselves, rather than about a program
            elif closing and (act == "statement" or (kind == "code-gen" and weight <= 3.0)):
                weight *= 0.6  # the complaint only introduces the question
            elif middle or (kind != "code-gen" and 1 < place < last):
                weight *= 0.5
            elif (place == 0 or not ordered) and kind in ("exploration", "other") and weight >= 2.5:
                weight *= 1.2 if kind == "exploration" else 1.0
                looking = True
            elif looking and place and kind == "code-gen" and (weight <= 3.0 or why in w.MANNERS_OF_WORK):
                weight *= 0.5 if weight <= 3.0 else 0.3  # the subject of the look, or how to do it
            yield kind, weight, why
        ordered = ordered or act == "order"
        if (
            place == 0
            and sentence_findings
            and len(text.sentences[0][0]) <= 3
            and sentence_findings[0][0] == "exploration"
        ):
            yield "code-gen", -3.0, ""  # "brainstorm: …", "review: …": the rest is its subject


def _is_talk(text: PromptText) -> bool:
    """Whether one word in ten is about the speakers: "i think we just …"."""
    words = text.all_words()
    return sum(word in w.PERSONAL for word in words) * TALK > len(words)


def _closes_with_a_question(act: str, found: Findings) -> bool:
    if act == "order":  # "explain how you would do that", "make a plan first"
        return all(kind in ("exploration", "qa") and weight >= 2.0 for kind, weight, _ in found)
    return act == "question" and bool(found) and found[-1][1] >= 1.2


def _continuation(text: PromptText) -> Iterator[Finding]:
    """Short replies: thanks and assent request nothing; "do it" and "option 2" accept a proposal."""
    if not text.sentences:
        return
    if text.words > SHORT:
        first = [word for word in text.sentences[0][0] if word not in w.ASSENT and word not in w.MANNERLY]
        start = " ".join(first[:2])
        phrase = next((phrase for phrase in w.GOES_ON if start == phrase or first[:1] == [phrase]), "")
        if phrase and first[len(phrase.split()) :][:1] in ([], [","], ["and"], ["with"]):
            yield "code-gen", 3.0, f'going on: "{phrase}"'
        return
    words = [word for word in text.all_words() if word != ","]
    if all(word in w.CHAT or word in w.ASSENT for word in words):
        yield "other", 3.0, "thanks, a greeting or a bare yes or no"
    elif text.asks:
        return
    elif phrase := _go_on_phrase(words):
        yield "code-gen", 3.0, f'going on: "{phrase}"'
    elif phrase := _proposal_phrase(words):
        yield "code-gen", 2.0, f'going on: "{phrase}"'
    elif sum(map(_is_choice, words)) > 1 and has(words, w.ASSENT):
        yield "code-gen", 1.6, "choices among what was offered"
    elif len(words) == 1 and words[0].isdigit():
        return  # an item of some list: to look at it as often as to do it
    elif len(words) < 8 and all(word in w.CHOOSING or word in w.ASSENT or _is_choice(word) for word in words):
        yield "code-gen", 1.6, "a choice among what was offered"


def _go_on_phrase(words: list[str]) -> str:
    """The words with which a reply says to go on: "try again", "… and continue", "ok go"; else ''."""
    phrase = next((phrase for phrase in w.TOLD_TO_GO_ON if f" {phrase} " in f" {' '.join(words)} "), "")
    if phrase == "try again" and (has(words, w.CHORE) or has(words, w.LOOK)):
        phrase = ""
    elif (
        not phrase
        and words[-1] in ("continue", "proceed")
        and words[-2:-1]
        and words[-2] not in w.AUXILIARIES
    ):
        phrase = words[-1]
    going = "go" in words and all(word in w.FILLERS or word in w.ASSENT for word in words)
    return phrase or ("go" if going else "")


def _proposal_phrase(words: list[str]) -> str:
    """The words with which a reply accepts a proposal: "go with the second one"; else ''."""
    assented = next((at for at, word in enumerate(words) if word not in w.ASSENT), 0)
    starts = " ".join(words[skip(words, 0) :]), " ".join(words[assented:])
    phrase = next((phrase for phrase in w.GO_ON if any(_begins(start, phrase) for start in starts)), "")
    return "" if has(words[1:3], w.CHORE) else phrase


def _begins(text: str, phrase: str) -> bool:
    """Whether the text starts with the phrase; "all" and "both" are a choice only on their own."""
    return text == phrase if phrase in ("all", "both") else text.startswith(phrase)


def _is_choice(word: str) -> bool:
    return (word.isdigit() and len(word) == 1) or word in ("a", "b", "c", "d", "e")


def _shape(text: PromptText, begun: bool, strong: bool) -> Iterator[Finding]:
    """Findings from phrases anywhere in a prompt and from its shape. `strong`: it orders a change; `begun`: at once."""
    edges = text.plain if len(text.plain) < 900 else text.plain[:500] + " … " + text.plain[-300:]
    spoken = " ".join(text.all_words()) if text.pasted or text.traces else edges
    if begun:
        spoken = spoken[
            :300
        ]  # "implement this plan: …": what the plan says about its parts does not limit the order
    # "Implement it, but don't edit the tests" is an order all the same.
    phrase = _phrase_in(spoken, w.HANDS_OFF if strong else w.HANDS_OFF + w.NOT_THAT)
    if phrase and strong and f"{phrase} to" in spoken:
        phrase = ""  # "don't make any changes to the light theme": limits the order
    aside = not phrase and _phrase_in(spoken, w.ASIDES)
    if phrase or aside:
        yield "code-gen", -6.0, ""
        yield "exploration", 3.0 if phrase else 1.5, f'"{phrase}"' if phrase else "a question by the way"
    traced = text.traces or _phrase_in(edges, w.ERROR_PHRASES)
    closing = _phrase_in(edges, w.CLOSING)
    described = not text.asks and text.words >= 20 and text.code
    findings: tuple[tuple[object, str, float, str], ...] = (
        (closing and text.words < 20, "other", 5.0, f'"{closing}"'),
        (_phrase_in(edges, w.FOR_A_PROGRAM), "other", 5.0, "an answer for a program"),
        (text.arrows and text.words < 15, "code-gen", 1.6, "an arrow from what is to what shall be"),
        (_phrase_in(text.plain, w.SETTLED), "code-gen", -1.5, ""),
        (traced and not text.asks, "code-gen", 2.0 if text.words < 60 else 1.0, "a pasted error"),
        (text.headings > 1 and not text.asks and text.words > 40, "code-gen", 1.0, "a plan with headings"),
        (described, "code-gen", 1.2, "a description of code without a question"),
    )
    for applies, kind, weight, why in findings:
        if applies:
            yield kind, weight, why


def _phrase_in(text: str, phrases: tuple[str, ...]) -> str:
    return next((phrase for phrase in phrases if phrase in text), "")


def _foreign_findings(text: PromptText) -> Iterator[Finding]:
    """Other languages: verbs often come last, so words count anywhere."""
    if text.plain.isascii() and (len(text.sentences) > 12 or " the " in text.plain):
        return
    from holdfast.hooks.classify_abroad import ABROAD, WISHES

    words = frozenset(text.all_words())
    for kind, weight, vocabulary, parts in ABROAD:
        common = words & vocabulary if words - WISHES else frozenset()  # a bare "I want" is not yet a request
        sign = min(common, default="") or ("" if text.plain.isascii() else _phrase_in(text.plain, parts))
        if sign:
            yield kind, weight, f'"{sign}"'


def _decide(findings: Findings) -> tuple[str, float, str]:
    """The strongest finding of a class counts in full, the others a little; one class must be clearly ahead."""
    scores: dict[str, float] = {}
    for kind in CLASSES:
        weights = sorted(
            (weight for finding_kind, weight, _ in findings if finding_kind == kind), reverse=True
        )
        first, *more = [weight for weight in weights if weight > 0] or [0.0]
        scores[kind] = first + min(1.0, 0.25 * sum(more)) + sum(weight for weight in weights if weight < 0)
    if scores["other"] <= 4.5 and any(kind == "code-gen" and weight >= 2.5 for kind, weight, _ in findings):
        scores["other"] *= 0.5  # "add it, commit and push": chores that go with the work
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


class PromptText:
    """A prompt split into sentences: (words, whether it ended with a question mark); the rest are counts."""

    def __init__(self, prompt: str) -> None:
        text = prompt.strip()
        if text.startswith("[Image"):
            text = text.partition("]")[2].strip() or text
        text = _without_manners(text.rpartition(REQUEST)[2].strip() or text)
        tail = ""
        if len(text) > MOST_HEAD + MOST_TAIL:
            text, tail = text[:MOST_HEAD], text[-MOST_TAIL:]
        self.sentences: list[tuple[list[str], bool]] = []
        self.traces = self.pasted = self.headings = self.arrows = self.words = self.code = self.quoted = 0
        self.command = self.arguments = ""
        self.plain = " ".join(f"{text} {tail}".lower().replace("’", "'").split())
        if text.startswith("/"):
            self._read_command(text)
        self._read_lines(text)
        if tail:
            self._read_lines(tail)
        if not self.sentences and self.quoted:  # only a quotation: then it is the prompt
            self._read_lines(text.replace('"', " ").replace("“", " "))

    @property
    def asks(self) -> bool:
        return any(asked for _, asked in self.sentences)

    def all_words(self) -> list[str]:
        return [word for words, _ in self.sentences for word in words]

    def _read_command(self, text: str) -> None:
        parts = text[1:].split(None, 1)
        name = parts[0].rstrip(".,!?:") if parts else ""
        if name and "/" not in name and "." not in name and name[0].isalpha():
            self.command, self.arguments = name.lower(), parts[1] if len(parts) > 1 else ""

    def _read_lines(self, text: str) -> None:
        fenced = False
        self._in_quote = 0
        self._most = self.words + MOST_WORDS
        for line in text.split("\n"):
            bare = line.strip()
            if bare.startswith(("```", "~~~", '"""')):
                fenced = not fenced
                self.pasted += 1
            elif not bare:
                self._in_quote = 0
            elif not self._is_pasted(bare, fenced) and self.words < self._most:
                self._read(bare)

    def _is_pasted(self, bare: str, fenced: bool) -> bool:
        low = bare[:60].lower()
        if low.startswith(TRACE_STARTS) or low.partition(" ")[0].endswith(("error:", "exception:")):
            self.traces += 1
            return True
        dated = bare[:4].isdigit() and bare[4:5] in ("-", "/")
        long_and_dense = len(bare) > 200 and bare.count(" ") < len(bare) // 40
        logged = dated or low.startswith(LEVELS) or bare.startswith(BARE_LEVELS)
        shell = bare.endswith("\\") or (low.startswith("export ") and "=" in low)
        if logged or fenced or long_and_dense or shell or bare.startswith(PASTED_STARTS):
            self.pasted += 1
            return True
        heading = bare.startswith("#") and bare.lstrip("#").startswith(" ")
        self.headings += heading
        return heading and self.headings > 1

    def _read(self, bare: str) -> None:
        sentence: list[str] = []
        for raw in _without_marker(bare).replace("’", "'").split():
            self.words += 1
            if self.words > self._most:
                break
            if raw.isalpha() and raw.islower() and not self._in_quote:
                sentence.append(
                    BARE.get(raw, raw)
                )  # most words: not quoted, not code, not the end of a sentence
                continue
            if self._is_quoted(raw) or raw == "/":
                continue
            if raw in BEGINS and sentence and sentence[-1] != ",":
                self._close(sentence, False)
                sentence = []
            core = raw.strip(EDGES)
            self.arrows += raw in ARROWS
            if core:
                is_code = _is_code(raw, core)
                self.code += is_code
                self.traces += core.endswith(("Error", "Exception")) and core not in ("Error", "Exception")
                low = core.lower()
                sentence.append(w.CODE if is_code else BARE.get(low, low))
            if raw[-1] == ",":
                sentence.append(",")
            elif raw[-1] in ENDS or raw in DASHES or raw.endswith(("?)", '?"', '."', ".)")):
                self._close(sentence, "?" in raw or "？" in raw)
                sentence = []
        self._close(sentence, False)

    def _close(self, sentence: list[str], asked: bool) -> None:
        if any(word != "," for word in sentence):
            self.sentences.append((sentence, asked))
        elif asked and self.sentences:  # "… ?", set apart as the French do
            self.sentences[-1] = (self.sentences[-1][0], True)

    def _is_quoted(self, raw: str) -> bool:
        """Whether a word is inside a quotation of several words: another person's words are not an order."""
        opens, closes = raw[0] in '"“', raw.rstrip(",.;:!?)")[-1:] in ('"', "”")
        if self._in_quote:
            self._in_quote = 0 if closes or self._in_quote > LONGEST_QUOTE else self._in_quote + 1
            return True
        if opens and not (closes and len(raw) > 1):
            self._in_quote = 1
            self.quoted += 1
            return True
        return False


def _without_manners(text: str) -> str:
    """Removes "please" in front and "thanks" behind, unless nothing else is left."""
    for _ in range(3):
        head, tail = text[:12].lower(), text[-20:].lower().rstrip(AFTERTHOUGHT)
        bare = text
        for word in MANNERS:
            if head.startswith((f"{word} ", f"{word},", f"{word}\n")):
                bare = bare[len(word) :].lstrip(" ,\n")
                break
        for word in MANNERS:
            if tail.endswith((f" {word}", f"\n{word}", f",{word}")):
                bare = bare.rstrip(AFTERTHOUGHT)[: -len(word)].rstrip(" \n\t,")
                break
        if bare == text or not bare.strip(" ,.!?\n"):
            return text
        text = bare
    return text


def _without_marker(bare: str) -> str:
    """A line without its leading bullet or number."""
    if bare[0] in "-*•+" and bare[1:2] == " ":
        return bare[2:]
    digits = len(bare) - len(bare.lstrip("0123456789"))
    if (
        0 < digits < 3
        and bare[digits : digits + 1] in (".", ")")
        and len(bare) > digits + 1
        and not bare[digits + 1].isdigit()
    ):
        return bare[digits + 1 :]
    return bare


def _is_code(raw: str, core: str) -> bool:
    """Names of files and of things in code: paths, calls, snake_case, camelCase, anything in backquotes."""
    if (
        "`" in raw
        or "_" in core
        or "(" in core
        or "::" in core
        or raw.startswith(("@", "--", "~/", "/", "./"))
    ):
        return True
    if "/" in core:
        return core.count("/") > 1 or "." in core
    if "." in core[1:-1]:
        return core.rpartition(".")[2].isalnum() and not core.replace(".", "").isdigit()
    inner = core[1:]
    return (
        inner != inner.lower()
        and inner != inner.upper()
        and "'" not in core
        and core.isascii()
        and core[-2:] != "Rs"
    )
