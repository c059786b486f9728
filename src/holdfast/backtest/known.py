"""What earlier sessions had found out, and what a session then needed of it.

A need is something that an earlier session had already found, and that this one came to need: a file that it opened, a
command that it ran, a remedy for a call that failed, the answer to a question that was asked again, a decision that was
made again. What a prompt had already named is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.backtest.walk import Step, Walk
from holdfast.briefing.file_pointers import pointer_session, repository_path
from holdfast.core.likeness import Likeness, Signature, compare_signatures, signature
from holdfast.core.words import names_file
from holdfast.flows.payback import Call, came_of
from holdfast.lessons.recurring_stumbles import key_of
from holdfast.memory.merge import is_passing_question
from holdfast.model.events import DistilledSession
from holdfast.model.lesson import Stumble
from holdfast.model.memory import content_id
from holdfast.search.shell_reads import shell_reads
from holdfast.sessions.stumble_watch import jobs_in

NeedKind = Literal["remedy", "file", "command", "question", "decision"]
MOST_CALLS = 10  # that are charged to one failure: after that, something else was going on
NO_REMEDY = ("rule", "slow", "flaky")  # what was done then is no call that works
_LONGEST = 20_000
_MOST_KNOWN = 4_096  # commands whose parts are kept


class Need(Struct, frozen=True, kw_only=True):
    """Something that was known before, and the step at which it was needed.

    `calls` and `tokens` are what a failure cost until something worked. `answers` are texts or ids of which a line that
    helps must contain one; for a remedy `tried` must be in it too.
    """

    kind: NeedKind
    what: str
    step: int
    answers: tuple[str, ...]
    tried: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0


class Known:
    """What the sessions so far have found out. `add` them in the order in which they ended."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.sessions = 0
        self.files: dict[str, int] = {}  # the last session that touched it, by its number
        self.edited: dict[str, int] = {}
        self.commands: dict[str, int] = {}
        self._remedies: dict[str, list[Stumble]] = {}
        self._questions: dict[str, tuple[Signature, str]] = {}
        self._decisions: dict[str, Signature] = {}
        self._by_word: dict[str, list[str]] = {}

    def add(self, record: DistilledSession) -> None:
        number = self.sessions
        self.sessions += 1
        pointers = pointer_session(record, self._root)
        for path in (*pointers.edited, *pointers.read):
            self.files[path] = number
        for path in pointers.edited:
            self.edited[path] = number
        for job in record.experience.commands:
            if job.worked:
                self.commands[job.command] = number
        for stumble in record.experience.stumbles:
            if stumble.instead and stumble.cause not in NO_REMEDY:
                self._remedies.setdefault(key_of(stumble), []).append(stumble)
        for question in record.harvest.questions:
            if question.answer and not is_passing_question(question.text):
                self._questions[question.id] = signature(question.text.rstrip(" ?")), question.answer
        for id, text in _decisions(record):
            if id not in self._decisions:
                self._decisions[id] = said = signature(text)
                for word in said.said | said.hard:
                    self._by_word.setdefault(word, []).append(id)

    def needs(self, walk: Walk, record: DistilledSession) -> list[Need]:
        """What this session needed, in no order."""
        if not self.sessions:
            return []
        return [
            *self._files_needed(walk),
            *self._commands_needed(walk),
            *self._remedies_needed(walk, record),
            *self._answers_needed(walk),
            *self._decided_again(walk, record),
        ]

    def _files_needed(self, walk: Walk) -> Iterator[Need]:
        seen: set[str] = set()
        asked = ""
        for number, step in enumerate(walk.steps):
            if step.did == "prompt":
                asked = f"{asked}\n{step.text}"[-_LONGEST:]
            for path in paths_of(step, self._root):
                if path not in seen:
                    seen.add(path)
                    if path in self.files and not names_file(asked, path):
                        yield Need(kind="file", what=path, step=number, answers=(path,))

    def _commands_needed(self, walk: Walk) -> Iterator[Need]:
        seen: set[str] = set()
        asked = ""
        for number, step in enumerate(walk.steps):
            if step.did == "prompt":
                asked = f"{asked}\n{step.text}"[-_LONGEST:]
            if step.did != "shell" or step.ok is False:
                continue
            for command in commands_of(step):
                if command not in seen:
                    seen.add(command)
                    if command in self.commands and command not in asked:
                        yield Need(kind="command", what=command, step=number, answers=(command,))

    def _remedies_needed(self, walk: Walk, record: DistilledSession) -> Iterator[Need]:
        for stumble in record.experience.stumbles:
            known = self._remedies.get(key_of(stumble))
            number = _step_of(stumble, walk)
            if not known or number is None:
                continue
            calls, tokens = _cost(stumble, number, walk)
            answers = dict.fromkeys(one.instead for one in known)
            tried = dict.fromkeys(
                text for one in (stumble, *known) for text in (one.token, one.tried) if text
            )
            yield Need(
                kind="remedy",
                what=f"{stumble.tried} → {known[-1].instead}",
                step=number,
                answers=tuple(answers),
                tried=tuple(tried),
                calls=calls,
                tokens=tokens,
            )

    def _answers_needed(self, walk: Walk) -> Iterator[Need]:
        for number, step in enumerate(walk.steps):
            if step.did != "ask" or not step.text:
                continue
            asked = signature(step.text.rstrip(" ?"))
            same = [
                (id, answer)
                for id, (earlier, answer) in self._questions.items()
                if id == content_id("Q", step.text)
                or compare_signatures(earlier, asked).likeness is Likeness.SAME
            ]
            if same:
                ids = tuple(id for id, _ in same)
                yield Need(kind="question", what=step.text, step=number, answers=ids)

    def _decided_again(self, walk: Walk, record: DistilledSession) -> Iterator[Need]:
        last = len(walk.steps)
        for id, text in _decisions(record):
            same = {id} if id in self._decisions else self._same_decisions(signature(text))
            if same:
                yield Need(kind="decision", what=text, step=last, answers=tuple(sorted(same)))

    def _same_decisions(self, said: Signature) -> set[str]:
        words, counts = said.said | said.hard, dict[str, int]()
        for word in words:
            for id in self._by_word.get(word, ()):
                counts[id] = counts.get(id, 0) + 1
        near = (id for id, shared in counts.items() if 2 * shared > len(words))
        return {id for id in near if compare_signatures(self._decisions[id], said).likeness is Likeness.SAME}


def _decisions(record: DistilledSession) -> Iterator[tuple[str, str]]:
    """What a session settled, each once: the register's decisions, and passages in the words that were used."""
    for decision in record.harvest.decisions:
        yield decision.id, decision.text
    for passage in record.passages:
        if passage.kind in ("decision", "rule") and passage.status == "agreed":
            yield passage.id, passage.text


def paths_of(step: Step, root: Path) -> list[str]:
    """The files of the repository that a step read or changed, and that were there."""
    if step.ok is False:
        return []
    if step.did in ("read", "edit"):
        given: Sequence[str] = step.paths
    elif step.did == "shell":
        given = _read_by(step.text)
    else:
        return []
    return [path for one in given if (path := repository_path(one, step.cwd, root))]


def commands_of(step: Step) -> list[str]:
    """The commands of a step that do a job, as a rule names them."""
    return list(_run_by(step.text))


@lru_cache(_MOST_KNOWN)  # each line is held against every step of its session
def _read_by(command: str) -> Sequence[str]:
    return tuple(shell_reads([command]))


@lru_cache(_MOST_KNOWN)
def _run_by(command: str) -> Sequence[str]:
    return tuple(text for text, _, _ in jobs_in(command))


def call_of(step: Step) -> Call:
    """A step as `came_of` judges calls."""
    command = step.text if step.did == "shell" else ""
    return Call(step.at, command, step.ok, step.output, step.paths)


def _step_of(stumble: Stumble, walk: Walk) -> int | None:
    """The step at which a failure happened: by its time, else the first failure that has its words."""
    failed = [
        number for number, step in enumerate(walk.steps) if step.did in ("shell", "read", "look", "edit")
    ]
    at = [number for number in failed if stumble.at is not None and walk.steps[number].ended == stumble.at]
    words = [word for word in (stumble.token, stumble.subject) if word]
    named = [number for number in at or failed if any(word in _said(walk.steps[number]) for word in words)]
    return named[0] if named else at[0] if at else None


def _said(step: Step) -> str:
    return "\n".join((step.text, *step.paths, step.output))


def _cost(stumble: Stumble, number: int, walk: Walk) -> tuple[int, int]:
    """The calls from a failure until something worked, the failing one included, and what the model read for them."""
    rule = f"`{stumble.tried}` fails here → `{stumble.instead}`"
    calls, last = 0, walk.steps[number].request
    for step in walk.steps[number:]:
        if step.did == "prompt" or calls == MOST_CALLS:
            break
        if step.did in ("prompt", "said", "compaction", "ask"):
            continue
        if calls and (not stumble.instead or came_of(rule, "stumble", [call_of(step)]) == "used"):
            break
        calls += 1
        last = step.request
    first = max(walk.steps[number].request - 1, 0)
    return calls, sum(walk.requests[first : max(last, first + 1)])
