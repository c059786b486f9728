"""Collects a session's decisions, questions, findings, dead ends, open items and facts, verbatim.

No model is called. Text counts where a turn concludes: a person's messages, the message that ends an agent's
turn, compaction summaries, plans, answers. Tool output counts if it proves a command right or wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from holdfast.core.fence import MARK, strip_ours
from holdfast.core.shell import from_here
from holdfast.guard.not_secret import strip_private
from holdfast.language import harvest_sentences, open_items
from holdfast.language.dialogue import LONGEST_MESSAGE, Message, add_message
from holdfast.language.prose import LONGEST, SHORTEST_ITEM, sentences, statements, whole_lines
from holdfast.model.events import Action, AgentTurn, Asked, Compaction, Guided, Planned, ToolResult, UserTurn
from holdfast.model.memory import Harvest, OpenItem, Question
from holdfast.sessions import enforced_rules, failing_calls, harvest_commands, stumble_watch
from holdfast.sessions.corrections import corrections_in, is_guide, looks_up, note_stated, shows_guide
from holdfast.sessions.digest import (
    MOST_OF_A_KIND,
    REPORT_LENGTH,
    Gathered,
    Said,
    add_new,
    cut_raw,
    cut_raw_line,
    is_alike,
    item_words,
)

MOST = 6
MOST_COMMITS_SHOWN = 20
LONGEST_SUMMARY = 40_000
LONGEST_ANSWER = 300
LONG_OUTPUT = 2_000
Turned = TypeVar("Turned", UserTurn, ToolResult, Planned)


class Harvester:
    """Updates a `Gathered` state, one event at a time."""

    def __init__(self, state: Gathered, cwd: str = "") -> None:
        self.state = state
        self.cwd = cwd  # of the session: lessons name paths relative to it
        self.below = ""  # the subfolder in which the current call was made
        self._heard: tuple[ToolResult, ToolResult] | None = None

    def person(self, event: UserTurn) -> None:
        """Process a person's message: the agent's report is now final, and its question is answered or ignored."""
        state = self.state
        event = _spoken(event)
        replied = bool(state.report) or event.feedback
        conclude_report(state)
        if not event.command:
            _hear(state, Message("user", event.text, event.at))
            for correction in corrections_in(event.text, event.at, replied=replied):
                if len(state.corrections) < MOST_OF_A_KIND:
                    state.corrections.append(correction)
            _answer(state, event)
            add_new(state.decisions, harvest_sentences.decisions_of_person(event.text, event.at))

    def agent(self, event: AgentTurn) -> None:
        self.state.report = cut_raw(without_private(event.text), REPORT_LENGTH)
        self.state.report_at = event.at

    def summary(self, event: Compaction) -> None:
        if event.summary:
            _read(self.state, without_private(event.summary)[:LONGEST_SUMMARY], event.at)

    def guided(self, event: Guided) -> None:
        note_stated(self.state, without_private(event.text))

    def asked(self, event: Asked) -> None:
        state = self.state
        event = replace(event, question=without_private(event.question), answer=without_private(event.answer))
        if len(event.question) > LONGEST or harvest_sentences.asks_about_workflow(event.question):
            return
        text, answer = " ".join(event.question.split()), " ".join(event.answer.split())
        question = Question(text=text, at=event.at)
        if answer and event.by == "user" and len(answer) <= LONGEST_ANSWER:
            _hear(state, Message("agent", text, event.at))
            _hear(state, Message("user", harvest_sentences.without_advice(answer), event.at))
        if not answer:
            state.question = question
            return
        add_new(state.decisions, harvest_sentences.decisions_in_answer(event))
        if len(answer) <= LONGEST_ANSWER:
            answered = replace(
                question, answer=harvest_sentences.without_advice(answer), by=event.by, answered_at=event.at
            )
            add_new(state.questions, [answered])

    def planned(self, event: Planned) -> None:
        if event.approved is not None:
            _hear(self.state, Message("plan", without_private(event.text), event.at, event.approved))

    def ended(self, action: Action, target: str, event: ToolResult) -> None:
        state = self.state
        event, target = self._spoken(event), without_private(target)
        state.calls += 1
        if looks_up(action, target):
            state.looked_at = state.calls
        if action == "shell":
            command = self._from_here(target)
            refused = event.ok is not True and enforced_rules.watch_refusal(state, action, command, event)
            if state.refused and not refused and not event.rejected:
                enforced_rules.clear_refusals(state, command)
            if not event.own_fault and not event.rejected:
                if not refused:
                    stumble_watch.watch_shell(state, command, event.text, ok=event.ok, at=event.at)
                harvest_commands.watch_shell(state, target, event.text, ok=event.ok, at=event.at)
                if event.ok:
                    harvest_commands.watch_command(state, target, event.text, event.at)
                    if shows_guide(command):
                        note_stated(state, event.text)
        elif action == "edit":
            if event.ok is not False:
                state.edited = True
                if state.slips or state.shaky:
                    stumble_watch.note_edit(state, from_here(target, self.cwd))
                state.failures = [failure for failure in state.failures if failure.read]
        elif action == "web":
            enforced_rules.watch_refusal(state, action, target, event)
        elif action == "search":
            if event.ok is False:
                failing_calls.watch_file(
                    state, from_here(target, self.cwd), event.text, ok=False, at=event.at
                )
            else:
                failing_calls.watch_listing(state, event.text, target)
        elif action == "read":
            if event.ok is not False and event.text and is_guide(from_here(target, self.cwd)):
                note_stated(state, event.text)
            if (state.slips or event.ok is False) and not event.rejected:
                command = from_here(target, self.cwd)
                failing_calls.watch_file(state, command, event.text, ok=event.ok, at=event.at)
            if state.failures or event.ok is False:
                harvest_commands.watch_read(state, target, event.text, ok=event.ok, at=event.at)

    def _spoken(self, event: ToolResult) -> ToolResult:
        """Same as the module's `_spoken`, cached: the same output is read several times in a row."""
        if self._heard is None or self._heard[0] is not event:
            self._heard = event, _spoken(event)
        return self._heard[1]

    def verified(self, command: str, event: ToolResult) -> None:
        event, command = self._spoken(event), without_private(command)
        relative = self._from_here(command)
        if stumble_watch.is_misused_check(relative, event.text):
            return  # a pipe hid that the check did not even run
        harvest_commands.watch_checks(self.state, command, event.text, event.at)
        line = harvest_commands.proof(event.text) if stumble_watch.lacks_proof(self.state, relative) else ""
        stumble_watch.note_verified(self.state, relative, line, event.at)

    def _from_here(self, command: str) -> str:
        """Return a command relative to the session's folder, even if an earlier command changed directory."""
        relative = from_here(command, self.cwd)
        return f"cd {self.below} && {relative}" if self.below else relative

    def committed(self, command: str, event: ToolResult) -> None:
        harvest_commands.watch_commit(self.state, without_private(command), self._spoken(event).text)


def _spoken(event: Turned) -> Turned:
    """Return the event without private text. Must come before splitting: a single sentence no longer shows the tag."""
    text = without_private(event.text)
    return event if text == event.text else replace(event, text=text)


def without_private(text: str) -> str:
    """Remove private parts and our own blocks. A long output is scanned only if it may hold one."""
    if not text:
        return text
    fenced = MARK in text
    if not fenced and len(text) > LONG_OUTPUT and "rivate" not in text and "RIVATE" not in text:
        return text
    return strip_private(strip_ours(text) if fenced else text)


def _hear(state: Gathered, message: Message) -> None:
    message.text = cut_raw(message.text, LONGEST_MESSAGE)
    add_message(state.dialogue, message)


def conclude_report(state: Gathered) -> None:
    """Read the agent's last message, now that its turn is over."""
    if not state.report:
        return
    state.question = None
    _hear(state, Message("agent", state.report, state.report_at))
    _read(state, whole_lines(state.report, REPORT_LENGTH), state.report_at, replaces=state.edited)
    state.report, state.report_at, state.edited = "", None, False


def _read(state: Gathered, text: str, at: float | None, *, replaces: bool = False) -> None:
    lines = list(statements(text))
    if lines and (question := harvest_sentences.closing_question(lines[-1], at)) is not None:
        state.question = question
    candidates = [statement for statement in lines if SHORTEST_ITEM <= len(statement.text) <= LONGEST]
    add_new(state.decisions, harvest_sentences.decisions_in_report(candidates, at))
    add_new(state.findings, harvest_sentences.findings(candidates, at))
    add_new(state.dead_ends, harvest_sentences.abandoned_approaches(candidates, at))
    items = open_items.open_items([statement for statement in lines if len(statement.text) <= LONGEST], at)
    if items or replaces:
        asked = next((message.text for message in reversed(state.dialogue) if message.by == "user"), "")
        # A report need not repeat what is open; what two reports in a row do not speak of is not open any more.
        state.older_items = []
        if state.open_items:
            said = (text, *state.commits)
            state.older_items = open_items.remaining(
                state.open_items, *said, asked=asked if replaces else None
            )
        state.open_items = []
    add_new(state.open_items, items)


def _answer(state: Gathered, event: UserTurn) -> None:
    question, state.question = state.question, None
    if question is None:
        return
    first = next(iter(event.text.strip().splitlines()), "").strip()
    answer = first if len(first) <= LONGEST_ANSWER else next(iter(sentences(first)), "")
    if (
        not 2 <= len(answer) <= LONGEST_ANSWER
        or answer.endswith("?")
        or answer.startswith(("/", "<", "#", "@"))
    ):
        return  # ignored: the message is about something else
    add_new(
        state.questions, [replace(question, answer=cut_raw_line(answer), by="user", answered_at=event.at)]
    )


def harvest_of(
    session: str, main: Sequence[Gathered], all_of_them: Sequence[Gathered], left: Iterable[OpenItem]
) -> Harvest:
    """Return the best items of each kind. Sentences come from the main transcripts, facts from subagents too."""
    ended = [concluded(state) for state in main]
    proofs = [*(state for state in all_of_them if not any(state is other for other in main)), *ended]
    decisions = [item for state in ended for item in state.decisions]
    # A person's decision outranks an agent's, and one with a reason outranks one without; the best come last.
    decisions.sort(key=lambda item: (item.by == "user", bool(item.rationale)))
    questions = [item for state in ended for item in state.questions]
    if ended and (asked := ended[-1].question) is not None:
        questions.append(asked)
    # What fails comes first, then what the report states; the agent's list is long.
    unfinished = list(left)
    urgent = [item for item in unfinished if item.priority == "high"]
    stated = [*ended[-1].open_items, *ended[-1].older_items] if ended else []
    left_over = [*urgent, *stated, *(item for item in unfinished if item.priority != "high")]
    return Harvest(
        decisions=_best(decisions, session),
        questions=_best(questions, session),
        findings=_best([item for state in ended for item in state.findings], session),
        dead_ends=_best([item for state in proofs for item in state.dead_ends], session),
        open_items=_best(left_over[::-1], session)[::-1],
        facts=_best([item for state in proofs for item in harvest_commands.facts_of(state)][::-1], session)[
            ::-1
        ],
        commits=tuple(dict.fromkeys(text for state in proofs for text in state.commits))[
            -MOST_COMMITS_SHOWN:
        ],
    )


def concluded(state: Gathered) -> Gathered:
    """Return a concluded copy of the state; the state itself may still grow."""
    copy = replace(
        state,
        decisions=list(state.decisions),
        questions=list(state.questions),
        findings=list(state.findings),
        dead_ends=list(state.dead_ends),
        open_items=list(state.open_items),
        dialogue=list(state.dialogue),
    )
    conclude_report(copy)
    return copy


def _best(items: Sequence[Said], session: str) -> tuple[Said, ...]:
    """Return the last few distinct items, in order."""
    chosen: list[Said] = []
    for item in reversed(items):
        words = item_words(item)
        if not any(is_alike(words, item_words(other)) for other in chosen):
            chosen.append(replace(item, session=session))
        if len(chosen) == MOST:
            break
    return tuple(reversed(chosen))
