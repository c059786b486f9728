"""Passages of a dialogue that a later session should know: one to three sentences with kind, status and subject.

The model judges sentences; here they become passages. A short answer stands with the question that it answers. What an
agent said counts when the person agreed, or when it repeats what the person said; else it is proposed, and a proposal
that was corrected is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from holdfast.core.tokens import count_tokens, cut_to
from holdfast.language.dialogue import Message, Sentence, sentences_of
from holdfast.language.statement_model import Model, Scene, shipped, taken_apart
from holdfast.model.memory import Passage, PassageKind, PassageStatus

LEAST_WORTH, LEAST_AT_WORK = 0.3, 0.55  # when agents work, less of what is said is worth keeping
LEAST_AGREED = 0.5
MOST_SENTENCES = 800  # of one session
LONGEST = 60  # tokens of a passage
LONGEST_SUBJECT = 24  # tokens of the question that a passage answers
_TERSE, _TERSE_QUESTION = 8, 3  # content words of an answer that needs its question, and of a question
_LESS_WITH_QUESTION = 0.6
_FEWEST = 3  # content words of a sentence without a number that can say something by itself
# What a passage of this kind is worth beside a decision: reasons and results help less than what holds.
_KINDS = {"decision": 1.0, "rule": 1.0, "preference": 1.0, "answer": 0.7, "dead_end": 0.7, "cause": 0.55}
_OTHER_KIND = 0.5
_PASTED, _PASTED_WORTH = 12, 0.6  # a person's message of more sentences is mostly pasted
_BRIEF = 3  # sentences of one message in one passage
MOST = 16  # passages of one session
ASKS = ("?", "？")


class _Judged:
    """A sentence with what the model says of it: asked only where it matters, for that takes time."""

    def __init__(self, sentence: Sentence, scene: Scene, model: Model) -> None:
        self.sentence = sentence
        self.question = ""
        self._scene, self._model = scene, model

    @cached_property
    def _features(self) -> set[int]:
        return self._scene.features(self.sentence)

    @cached_property
    def at_most(self) -> float:
        """What it is worth, whatever its kind."""
        return self._model.worth(self._features)

    @cached_property
    def kind(self) -> PassageKind:
        return self._model.kind(self._features)

    @cached_property
    def worth(self) -> float:
        pasted = self.sentence.by == "user" and self.sentence.of > _PASTED
        worth = self.at_most * _KINDS.get(self.kind, _OTHER_KIND)
        return worth * _PASTED_WORTH if pasted else worth

    @cached_property
    def status(self) -> PassageStatus:
        """What an agent said is agreed only if a person said it, repeated it or agreed to it."""
        status, agreed = self._model.status(self._features)
        if self.sentence.by == "user" and status == "proposed":
            return "agreed"
        if status == "agreed" and (agreed < LEAST_AGREED or not self._scene.is_confirmed(self.sentence)):
            return "proposed"
        return status


def passages_of(
    dialogue: Sequence[Message], model: Model | None = None, *, worked: bool = False
) -> list[Passage]:
    """The passages worth keeping, in the order in which they were said. `worked`: the agent used tools."""
    sentences = list(sentences_of(dialogue))
    if len(sentences) > MOST_SENTENCES:
        sentences = sentences[:40] + sentences[40 - MOST_SENTENCES :]
    model = shipped() if model is None else model
    scene = Scene(dialogue, worked=worked)
    judged = [_Judged(sentence, scene, model) for sentence in sentences]
    questions = _questions(judged)
    kept: list[list[_Judged]] = []
    for one in judged:
        if worked and not scene.is_confirmed(one.sentence):
            continue  # a report: nobody has agreed to it
        candidate = _with_question(one, questions, LEAST_AT_WORK if worked else LEAST_WORTH)
        if candidate is None:
            continue
        if kept and _continues(kept[-1], candidate):
            kept[-1].append(candidate)
        else:
            kept.append([candidate])
    return _best([_passage(group) for group in kept], MOST)


def _best(passages: Sequence[Passage], most: int) -> list[Passage]:
    """The most valuable ones, each once, in their order."""
    latest = {passage.id: passage for passage in passages}
    chosen = set(sorted(latest, key=lambda id: -latest[id].worth)[:most])
    return [passage for passage in latest.values() if passage.id in chosen]


def _with_question(judged: _Judged, questions: dict[int, str], least: float) -> _Judged | None:
    """The sentence, with the question if it is a short answer; None if it is not worth keeping."""
    sentence = judged.sentence
    words = taken_apart(sentence.text)
    if sentence.text.endswith(ASKS):
        return None
    if sentence.by == "user" and not sentence.place and len(words.content) < _TERSE:
        judged.question = questions.get(sentence.message - 1, "")
    if len(words.content) < _FEWEST and not words.numbers and not judged.question and sentence.text.isascii():
        return None
    needed = least * (_LESS_WITH_QUESTION if judged.question else 1.0)
    return judged if judged.at_most >= needed and judged.worth >= needed else None


def _questions(judged: Sequence[_Judged]) -> dict[int, str]:
    """The questions that end each message of the agent; a very short one with the sentence before it."""
    messages: dict[int, list[_Judged]] = {}
    for one in judged:
        if one.sentence.by != "user":
            messages.setdefault(one.sentence.message, []).append(one)
    found: dict[int, str] = {}
    for number, said in messages.items():
        first = len(said)
        while first and said[first - 1].sentence.text.endswith(ASKS):
            first -= 1
        if first == len(said):
            continue
        asked = " ".join(one.sentence.text for one in said[first:])
        if first and len(taken_apart(asked).content) < _TERSE_QUESTION and said[first - 1].status == "agreed":
            asked = f"{said[first - 1].sentence.text} {asked}"
        found[number] = cut_to(asked, LONGEST_SUBJECT)
    return found


def _continues(group: Sequence[_Judged], judged: _Judged) -> bool:
    last = group[-1].sentence
    new = judged.sentence
    return (
        last.message == new.message
        and new.place == last.place + 1
        and len(group) < _BRIEF
        and group[-1].status == judged.status
        and sum(count_tokens(one.sentence.text) for one in (*group, judged)) <= LONGEST
    )


def _passage(group: Sequence[_Judged]) -> Passage:
    best = max(group, key=lambda one: one.worth)
    return Passage(
        text=" ".join(one.sentence.text for one in group),
        question=group[0].question,
        kind=best.kind,
        status=best.status,
        by="user" if group[0].sentence.by == "user" else "agent",
        worth=round(100 * best.worth),
    )
