"""Judges one sentence of a prompt for the classifier: orders by the verb at the head of a clause, questions, wishes."""

from __future__ import annotations

from holdfast.hot import classify_words as w
from holdfast.hot.classify_reading import CODE

MOST_ORDERS = 20  # in one sentence; a longer list tells nothing new
CLAUSES = frozenset((",", "and", "then", "but", "so", "&", "+"))
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
    plain = " ".join(words)
    doubt = next((doubt for doubt in w.DOUBTS if doubt in plain), "")
    tagged = (
        len(words) > 4 and words[-1] == "right" and words[-2] not in ("the", "all", "not", "to", "is", "in")
    )
    questioned = asked or inverted or bool(doubt) or tagged
    frames = _frames(words, start if inverted else len(words))
    if questioned:  # "do we need to add": asked, not wished
        frames = {at: frame for at, frame in frames.items() if frame.partition(" ")[0] not in w.WISHING}
    ordered = _orders(words, start, questioned, frames, findings)
    embedded = next((at for at in range(1, len(words) - 1) if _is_embedded(words, at)), 0)
    if embedded and not questioned and not ordered:
        _question(words, embedded, False, "", plain, findings)
        return "question"
    if not questioned:
        _statement(words, ordered, findings)
        return "order" if ordered else "statement"
    if frames and not inverted and min(frames) > 4:
        _statement(words[: min(frames) - 2], ordered, findings)  # "lint shows errors, can you take a look?"
    if not ordered:
        _question(words, start, inverted, doubt, plain, findings)
    return "order" if ordered else "question"


def _is_embedded(words: list[str], at: int) -> bool:
    """A question inside a statement: "tell me what is"; but "a theme, which is different" only says more of it."""
    if words[at] not in w.WH or words[at + 1] not in w.AUXILIARIES:
        return False
    return words[at] not in ("which", "who", "whose") or words[at - 1] in w.ASKS


def skip(words: list[str], at: int) -> int:
    """Past "please", "also", "now", and adverbs: "let's completely remove"."""
    for _ in range(8):
        word = words[at] if at < len(words) else ""
        adverb = word.endswith("ly") and word not in w.CHANGE
        going = word == "go" and at + 1 < len(words) and words[at + 1] in ("through", "over")
        if going or not (adverb or word == "," or word in w.FILLERS):
            break
        at += 1
    return at


def _is_inverted(words: list[str], at: int) -> bool:
    """Whether it begins as a question does: "where is", "does it", "is the". "when i click" does not."""
    head = words[at] if at < len(words) else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    if head in ("when", "which", "how", "who", "any", "anything", "may", "might", "as"):
        return after in w.AUXILIARIES or (
            head == "how" and after in ("much", "many", "hard", "long", "to", "come")
        )
    if head == "do" and after in w.IT and words[at + 2 : at + 3] in w.THEN:
        return False  # "do it, and push"
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
    if word in ("need", "want", "needs") and before in w.NOT:
        return 0  # "we might not need to redeploy"
    if (
        word == "you"
        and after == "can"
        and words[at + 2 : at + 3] in (["see"], ["tell"], ["notice"], ["find"])
    ):
        return 0  # "you can see that it is off": shown, not asked for
    if word in ("can", "could", "would", "will", "can't", "couldn't"):
        if after in ("you", "u") or (after == "we" and word not in ("would", "will")):
            return at + 3 if words[at + 2 : at + 3] == ["mind"] else at + 2
        return 0
    if word in ("let's", "lets", "please", "pls", "plz"):
        return at + 1
    if word == "you" and after in ("could", "can", "should", "must"):
        return at + 2
    if word in ("i", "we", "i'd", "we'd", "it", "they"):
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
    if after in ("should", "must", "wanna", "gotta"):
        return at + 2
    if after in w.WISH_HEADS:
        rest = words[at + 2 : at + 4]
        return at + 4 if rest == ["you", "to"] else at + 3 if rest[:1] == ["to"] else 0
    return 0


def _orders(
    words: list[str], start: int, questioned: bool, frames: dict[int, str], findings: Findings
) -> bool:
    """Verbs at the head of the sentence or of a clause; in a question only after "can you" and the like."""
    places = dict(frames)
    if not questioned or (start < len(words) and words[start] in w.PLAIN_VERBS):
        places.setdefault(start, "")  # "add a test for that?" is an order too
    if places:
        first = min(places) if questioned else 0
        for at, word in enumerate(words):
            if word in CLAUSES and at >= first:
                places.setdefault(skip(words, at + 1), "and")
            elif word == "it" and words[at - 1] == "at":
                places.setdefault(skip(words, at + 1), "and")  # "while you're at it rename"
            elif _stands_after_a_place(words, at) and not questioned:
                places.setdefault(at, "and")
            elif word == CODE and not questioned and at + 1 < len(words) and words[at + 1] not in w.NOUNISH:
                places.setdefault(at + 1, "and")  # "new component a.tsx update the docs"
    found = False
    for at in sorted(places)[:MOST_ORDERS]:
        if at < len(words):
            found = _order(words, at, places[at], findings) or found
    return found


def _stands_after_a_place(words: list[str], at: int) -> bool:
    """ "for the mobile view stack the columns": an order after where or when it holds, without a comma."""
    conditional = words[0] in ("if", "when", "once") and any(word in w.AUXILIARIES for word in words[:at])
    placed = words[0] in ("for", "in", "on", "inside", "under")
    if (
        not (conditional or placed)
        or at < 2
        or at + 1 >= len(words)
        or any(word in w.WH for word in words[:at])
    ):
        return False
    placed = (
        words[at] in w.CHANGE
        and words[at] not in w.NOUNISH
        and words[at + 1] in ("the", "a", "an", "all", "it")
    )
    return (
        placed
        and words[at - 1] not in w.SUBJECTS
        and words[at - 1] not in w.AUXILIARIES
        and words[at - 1] != "to"
    )


def _order(words: list[str], at: int, frame: str, findings: Findings) -> bool:
    verb, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    bare = frame in ("", "and")
    said = f'"{verb}"' if bare else f'"{frame} {verb}"'
    if verb in ("don't", "not", "never", "dont") or (verb == "do" and after == "not"):
        verb, after = after, words[at + 2] if at + 2 < len(words) else ""
        if verb == "not":
            verb = after
        kind, thing = _object(words, words.index(verb, at) if verb in words[at:] else at, verb)
        if kind == "other":
            findings.append((kind, 2.0, f'"{words[at]} {verb}" … "{thing}"'))
            return True
        if _stem(verb) in w.CHANGE or verb in ("need", "want"):
            findings.append(("code-gen", 2.0, f'"{words[at]} {verb}"'))
            return True
        return False
    stem = verb if bare else _stem(verb)
    if bare and _is_noun(stem, after) and (stem, after) != ("comment", "on"):
        return False
    if bare and at + 2 == len(words) and after.endswith("ed") and verb not in w.CHANGE:
        return False  # "scope confirmed", "review finished": what is done already
    if stem in w.DELEGATES and "to" in words[at + 2 : at + 8]:
        at = words.index("to", at + 2) + 1  # whoever does it, this is what is wanted
        stem = words[at] if at < len(words) else ""
    kind, weight, what = _meaning(words, at, stem, frame)
    if not kind:
        return False
    findings.append((kind, weight, f'{said} … "{what}"' if what else said))
    return True


def _is_noun(word: str, after: str) -> bool:
    """A noun after all: "build fails", "type is", "default off"."""
    if word in w.NOUNISH:
        return after not in w.DETERMINERS
    return after in w.FINITE or (word in w.NOUNS_TOO and after in w.BROKEN)


def _meaning(words: list[str], at: int, stem: str, frame: str) -> tuple[str, float, str]:
    """What an order asks for: class, weight, and the object where that decides."""
    subject = frame.partition(" ")[0]
    wished = subject in w.WISHING
    after = words[at + 1] if at + 1 < len(words) else ""
    if stem in w.CHANGE or stem in ("do", "take", "have", "get", "give") or _nearly(stem, frame, at):
        kind, thing = _object(words, at, stem)
        if kind:
            return kind, 3.0 if thing != "look" else 1.5, thing
        if (stem, after) in w.PHRASAL:
            return "code-gen", 4.0, after
        if stem in ("take", "have", "get", "give"):
            if stem == "give":
                return ("code-gen", 2.0, "") if after not in ("me", "us") else ("qa", 1.6, after)
            return ("code-gen", 2.0, "") if frame not in ("", "and") else ("", 0.0, "")
        if stem == "use" and any(word in w.HELPERS for word in words[at + 1 : at + 7]):
            return _with_help(words, at)
        if stem == "test":
            return "exploration", 2.0, after  # to try it: tests are added or written
        if (stem, after) in (("comment", "on"), ("ignore", "that"), ("ignore", "this"), ("ignore", "it")):
            return "other", 2.5, after
        if stem in ("make", "have", "get", "let") and any(word in w.CHORE for word in words[at + 2 : at + 5]):
            return "other", 2.5, "somebody"  # "make the agent rerun it"
        if (stem, after) in w.IDIOMS:
            return "", 0.0, ""
        if stem == "mention":
            return "code-gen", 2.0, ""  # in a text; or in a pull request
        if wished:
            return "code-gen", 2.0 if subject in ("it", "they") else 3.0, ""
        return "code-gen", 2.5 if stem == "do" or stem in w.NOUNISH else 4.0, ""
    if (
        stem in w.SPEAKS
        and after == "the"
        and words[at + 2 : at + 3] in (["user"], ["users"], ["caller"], ["customer"])
    ):
        return "code-gen", 2.5, "the user"  # "tell the user which file": what the program is to do
    if stem == "go" and after in ("through", "over"):
        return "exploration", 2.5, after
    begun = stem in ("start", "begin", "try", "continue", "keep") and _stem(after) in w.CHANGE
    if begun or (stem == "work" and after in ("on", "through")):
        return "code-gen", 3.0, after
    if stem in ("start", "begin") and after in ("with", "on"):
        return "code-gen", 2.0, after
    if stem in ("respond", "reply") and after == "with":
        return "other", 5.0, after  # a program speaks to a model
    if subject in ("it", "they") or (
        wished and (stem in w.PRODUCT or stem not in w.LOOK | w.TELL | w.CHORE | w.TALK)
    ):
        return "code-gen", 2.0, ""  # "it should send", "we want to show": what the program is to do
    if stem == "consider" and after.endswith("ing"):
        return "code-gen", 1.5, after  # as reviewers put it
    if stem in w.LOOK:
        soft = stem in ("look", "check") and after in (",", "", "again")
        return "exploration", 1.5 if soft else 2.5, ""
    if wished and stem in w.TALK:
        return "qa", 1.6, ""
    if stem in w.TELL:
        explores = frame == "and" or any(word in w.IN_CODE for word in words)
        return ("exploration", 1.2 if frame == "and" else 2.3, "") if explores else ("qa", 2.3, "")
    if stem in w.CHORE:
        return "other", 2.5, ""
    if subject in ("let's", "lets") and stem not in w.TALK:
        return "code-gen", 1.6, ""
    return "", 0.0, ""


def _with_help(words: list[str], at: int) -> tuple[str, float, str]:
    """ "use the skill to improve it", "use the reviewer on it": what the helper is for, or is called, tells."""
    rest = words[at + 1 : at + 12]
    for place, word in enumerate(rest[:-1]):
        if word == "to" and rest[place + 1] in w.CHANGE:
            return "code-gen", 3.0, rest[place + 1]
    looks = any(word in w.LOOK or word in w.LOOK_OBJECTS for word in rest)
    return (
        ("exploration", 1.5, "a helper") if looks else ("code-gen", 1.6 if "on" in rest else 0.5, "a helper")
    )


def _stem(verb: str) -> str:
    """ "splitting" → "split", "adding" → "add": as after "would you mind" and "start"."""
    if len(verb) > 5 and verb.endswith("ing"):
        base = verb[:-3]
        for known in (base, base + "e", base[:-1]):
            if known in w.CHANGE or known in w.LOOK:
                return known
    return verb


def _object(words: list[str], at: int, stem: str) -> tuple[str, str]:
    """The thing that is made, where that tells a chore or a look: a pull request, a branch, a plan."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if (
        stem in ("get", "take", "bring")
        and after == "back"
        and any(word in w.BRANCHES for word in words[at:])
    ):
        return "other", "back"
    if stem in ("update", "switch", "sync", "move") and after in ("from", "to", "with"):
        place = next((word for word in words[at + 2 : at + 7] if word in w.BRANCHES), "")
        return ("other", place) if place else ("", "")
    if stem == "add" and after in ("all", "everything") and "commit" in words:
        return "other", "commit"
    chores = w.CHORE_OBJECTS | w.BRANCHES
    if stem == "ensure" and CODE not in words and any(word in chores for word in words[at:]):
        return "other", "ensure"
    if stem not in w.MAKERS:
        return "", ""
    end = at + 1
    while end < len(words) and end < at + 9 and words[end] not in w.NAMED:
        end += 1
    thing = words[end - 1] if end > at + 1 else ""
    if thing in ("up", "out", "open", "ready") and end > at + 2:
        thing = words[end - 2]  # "get a pr up"
    if thing in ("message", "description", "title") and ("commit" in words[at:end] or "pr" in words[at:end]):
        return "other", thing
    if stem == "do":
        thing = next((word for word in words[at + 1 : end] if word in w.LOOK_OBJECTS), thing)
    to_do = words[end + 1] if words[end : end + 1] == ["to"] and end + 1 < len(words) else ""
    if thing in ("pr", "branch") and to_do in w.CHANGE:
        return "", ""  # "make a pr to fix it"
    if thing in w.CHORE_OBJECTS:
        return "other", thing
    written = words[end : end + 1] in (["to"], ["in"], ["into"]) and CODE in words[end : end + 5]
    if thing in w.LOOK_OBJECTS and not written and "implementation" not in words[end : end + 3]:
        return "exploration", thing
    return "", ""


def _nearly(verb: str, frame: str, at: int) -> bool:
    """A verb of change with one slip of the keyboard, where an order would stand."""
    if len(verb) < 6 or verb in w.FILLERS or not verb.isalpha() or not (frame or at == 0):
        return False
    if verb in w.LOOK or verb in w.CHORE or verb in w.TELL or verb.endswith(("s", "ed", "ing", "er")):
        return False
    return any(known[0] == verb[0] and len(known) > 5 and _one_slip(known, verb) for known in w.CHANGE)


def _one_slip(one: str, two: str) -> bool:
    start, shorter = 0, min(len(one), len(two))
    while start < shorter and one[start] == two[start]:
        start += 1
    one, two = one[start:], two[start:]
    swapped = len(one) > 1 and one[:2] == two[1::-1] and one[2:] == two[2:]
    return swapped or one[1:] == two or one == two[1:] or one[1:] == two[1:]


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


def _statement(words: list[str], ordered: bool, findings: Findings) -> None:
    """What is wished or wrong, said without an order: the strongest such word counts."""
    best, why = 0.0, ""
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        named = after in w.NAMES_OF_ERRORS  # "error handling" is nothing wrong
        referred = word in w.NAMES_OF_FAULTS and at and words[at - 1] in w.REFERRED
        mine = word == "missing" and at and words[at - 1] in ("am", "i'm", "we're", "i")
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
    elif words[0] in ("only", "no") and len(words) > 3:
        findings.append(("code-gen", 1.6, f'"{words[0]} {words[1]}"'))


def _wrong_or_wished(word: str, after: str, rest: list[str], at: int, ordered: bool) -> float:
    if word in ("i", "we", "i'd", "we'd") and after in w.BETWEEN and rest:
        after = rest[0]
    if word in ("i", "we") and after in ("get", "got", "receive", "keep"):
        return 1.7
    if word in w.UNABLE and after and after not in w.OF_THE_MIND:
        return 1.7
    if word in ("not", "isn't", "aren't", "wasn't") and after.endswith("ed") and after not in w.STATES:
        return 1.7  # "it is not updated"
    if word in ("need", "want") or (after in ("need", "want") and rest[:1] == ["to"]):
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
    if (
        word in w.FALLS_SHORT
        and at
        and after not in ("matter", "need", "mean")
        and (word, after) != ("never", "be")
    ):
        return 1.7
    if (word == "too" and after not in ("", ",") and after not in CLAUSES) or (
        word == "could" and after == "be"
    ):
        return 1.7
    if (word in ("no", "any") and after in ("longer", "more")) or (word == "not" and "but" in rest):
        return 1.6
    happening = word in ("when", "if") and after in ("i", "you", "we", "users") and at < 3
    return 1.6 if happening and rest else 0.0
