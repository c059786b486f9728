"""Memory, writes: every change that the screen makes, by name; the forms that lead to them; forget and verify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from holdfast.core.errors import NotFound, UsageError
from holdfast.core.hashes import blake2b
from holdfast.core.wording import counted, cut
from holdfast.flows import amend, facts, lesson_sharing, lessons, questions, todos
from holdfast.flows.forget import forget, preview, resolve
from holdfast.flows.lessons import read_lessons
from holdfast.flows.undo import undo
from holdfast.memory.reference import KeptFact
from holdfast.model.memory import FactCategory, Priority
from holdfast.store.gate import admit
from holdfast.web.changes import change
from holdfast.web.contract import Changed, Fragment, Request, Route
from holdfast.web.memory_lists import facts_of, questions_of, statements_of, steps_of

_LONGEST_SAID = 80
_VERIFY_S = 120.0
CHECKS = {
    "holds": "Still true; marked as verified",
    "changed": "Its command no longer prints it",
    "failed": "The command failed",
    "timeout": "The command took too long and was stopped",
    "no command": "It has no command to run",
    "incomplete": "Its command is incomplete, so it cannot be run",
}


# --- what can be done ------------------------------------------------------------------------------------


def _of(request: Request, name: str) -> str:
    return request.form.get(name, "").strip()


def _said(text: str) -> str:
    return f"“{cut(' '.join(text.split()), _LONGEST_SAID)}”"


def _decide(request: Request) -> str:
    done = questions.decide(request.here, _of(request, "text"), _of(request, "because"), "user")
    against = f", and contradicts {counted(len(done.contradictions), 'other')}" if done.contradictions else ""
    return f"{'Decided' if done.status == 'recorded' else 'Already decided'}: {_said(done.decision.text)}{against}"


def _change_decision(request: Request) -> str:
    because = _of(request, "because") if "because" in request.form else None
    amend.change_decision(request.here, _of(request, "id"), _of(request, "text"), because)
    return f"Changed to {_said(_of(request, 'text'))}"


def _add_fact(request: Request) -> str:
    done = facts.add_fact(
        request.here,
        _of(request, "text"),
        _of(request, "evidence"),
        _of(request, "command"),
        _category(request),
    )
    against = f", and contradicts {counted(len(done.contradictions), 'other')}" if done.contradictions else ""
    words = {"added": "Added", "merged": "Already known", "revived": "Current again"}
    return f"{words.get(done.status, done.status)}: {_said(done.kept.fact.text)}{against}"


def _change_fact(request: Request) -> str:
    command = _of(request, "command") if "command" in request.form else None
    done = facts.change(
        request.here,
        _of(request, "id"),
        _of(request, "text"),
        _of(request, "evidence"),
        command,
        _category(request),
    )
    return f"Changed to {_said(done.kept.fact.text)}"


def _category(request: Request) -> str | None:
    given = _of(request, "category")
    if given and given not in {str(category) for category in FactCategory}:
        raise UsageError(f"there is no category {given[:40]!r}", fix="Choose one of the list")
    return given or None


def _answer(request: Request) -> str:
    done = questions.answer(request.here, _of(request, "id"), _of(request, "answer"), "user")
    return f"Answered {_said(done.question.text)}"


def _ask(request: Request) -> str:
    reply = questions.ask(request.here, _of(request, "text"))
    if reply.status == "answered":
        return f"Memory has the answer: {_said(reply.answer)}"
    return f"{'Kept as open' if reply.status == 'recorded' else 'Asked before'}: {_said(reply.question)}"


def _add_step(request: Request) -> str:
    done = todos.add_todo(
        request.here, _of(request, "text"), _priority(request), None, _of(request, "because")
    )
    return f"{'Added' if done.status == 'added' else 'Already there'}: {_said(done.item.text)}"


def _change_step(request: Request) -> str:
    changed = todos.change_todo(
        request.here, _of(request, "id"), _of(request, "text"), _of(request, "because"), _priority(request)
    )
    return f"Changed to {_said(changed.text)}"


def _priority(request: Request) -> Priority | None:
    given = _of(request, "priority")
    if given not in ("", "high", "normal", "low"):
        raise UsageError(f"there is no priority {given[:40]!r}", fix="Choose high, normal or low")
    return cast(Priority, given) if given else None


def _step(request: Request, *, done: bool) -> str:
    (item,) = todos.close_todos(request.here, [_of(request, "id")], done=done)
    return f"{'Done' if done else 'Dropped'}: {_said(item.text)}"


def _promote(request: Request) -> str:
    personal = bool(_of(request, "personal"))
    (one,) = lessons.promote(request.here, request.project, [_of(request, "name")], personal=personal)
    return f"{one.lesson.name} is active {'in all your projects' if personal else 'here'}"


def _mute(request: Request) -> str:
    days = _of(request, "days")
    if days and not (days.isdecimal() and 0 < int(days) < 10_000):
        raise UsageError(
            f"{days[:40]!r} is not a number of days", fix="Write a whole number, or leave it out"
        )
    (one,) = lessons.mute(request.here, request.project, [_of(request, "name")], int(days) if days else None)
    return f"{one.lesson.name} is muted {f'for {days} days' if days else 'until you unmute it'}"


def _whole(request: Request, name: str) -> str:
    """A field of several lines, through the gate before it is split: a private part may span them."""
    return admit(request.here, request.project, request.form.get(name, ""), f"the field {name!r}")


def _reword(request: Request) -> str:
    rules = _whole(request, "rules").splitlines()
    (one,) = lessons.reword(
        request.here, request.project, _of(request, "name"), rules, _of(request, "description")
    )
    return f"{one.lesson.name} has {counted(len([rule for rule in rules if rule.strip()]), 'rule')} now"


def _add_rule(request: Request) -> str:
    one = lessons.add(
        request.here,
        request.project,
        _of(request, "name"),
        _whole(request, "rules").splitlines(),
        description=_of(request, "description"),
        fingerprint=_whole(request, "fingerprint").split(),
        personal=bool(_of(request, "personal")),
    )
    return f"{one.lesson.name} is active {'in all your projects' if one.place == 'personal' else 'here'}"


def _lesson(action: Callable[..., Sequence[lessons.Handled]], text: str) -> Callable[[Request], str]:
    def act(request: Request) -> str:
        done = action(request.here, request.project, [_of(request, "name")])
        return f"{done[0].lesson.name} {text}"

    return act


def _share(request: Request) -> str:
    lesson_sharing.share(request.here, request.project, [_of(request, "name")])
    return f"{_of(request, 'name')} is in .holdfast/lessons/, staged and not committed"


def _take_back(request: Request) -> str:
    number = _of(request, "n")
    if not number.isdecimal() or len(number) > 9:
        raise UsageError(f"{number[:40]!r} is not a change", fix="Choose one of the list")
    done = undo(request.here, request.project, _of(request, "file") or None, to=int(number))
    return f"{done[0].file} is as it was after change {number}" if done else "It is already as it was then"


ACTIONS: Mapping[str, Callable[[Request], str]] = {
    "decide": _decide,
    "decision-change": _change_decision,
    "decision-confirm": lambda r: f"You agree: {_said(amend.confirm(r.here, _of(r, 'id')).text)}",
    "decision-retire": lambda r: f"Retired: {_said(questions.retire(r.here, _of(r, 'id')).text)}",
    "fact-add": _add_fact,
    "fact-change": _change_fact,
    "fact-retire": lambda r: (
        f"Retired: {_said(facts.retire(r.here, _of(r, 'id'), _of(r, 'because')).kept.fact.text)}"
    ),
    "ask": _ask,
    "answer": _answer,
    "question-close": lambda r: f"Closed: {_said(amend.close_question(r.here, _of(r, 'id')).text)}",
    "step-add": _add_step,
    "step-change": _change_step,
    "step-done": lambda r: _step(r, done=True),
    "step-drop": lambda r: _step(r, done=False),
    "rule-add": _add_rule,
    "rule-change": _reword,
    "rule-promote": _promote,
    "rule-mute": _mute,
    "rule-reject": _lesson(lessons.reject, "was rejected and will not come back"),
    "rule-unmute": _lesson(lessons.unmute, "counts again"),
    "rule-share": _share,
    "rule-unshare": _lesson(lesson_sharing.unshare, "was removed from the repository; commit the removal"),
    "restore": _take_back,
}


def act(request: Request) -> Changed:
    action = ACTIONS.get(request.path["action"])
    if action is None:
        raise NotFound("there is no such action", fix="Load the page again")
    return change(request, lambda said: said, lambda: action(request))


# --- forms -----------------------------------------------------------------------------------------------


class FormField(Struct, frozen=True, kw_only=True):
    """A field of a form. `rows` above 1 is a box of text; `options` make it a choice."""

    name: str
    label: str
    value: str = ""
    rows: int = 1
    options: Sequence[tuple[str, str]] = ()
    hint: str = ""


_CATEGORIES = [(str(category), str(category).capitalize()) for category in FactCategory]
_PRIORITIES = (("high", "High"), ("normal", "Normal"), ("low", "Low"))
_WHY = FormField(name="because", label="Because", rows=2)
NEW: Mapping[str, tuple[str, str, str, Sequence[FormField]]] = {  # title, action, button, fields
    "decision": (
        "New decision",
        "decide",
        "Decide",
        (FormField(name="text", label="The decision", rows=2), _WHY),
    ),
    "fact": (
        "New fact",
        "fact-add",
        "Add",
        (
            FormField(name="text", label="What holds", rows=2),
            FormField(name="evidence", label="Evidence: the line that showed it", rows=2),
            FormField(name="command", label="Command that showed it", hint="Verify runs it again"),
            FormField(
                name="category", label="Category", options=(("", "Guessed from the words"), *_CATEGORIES)
            ),
        ),
    ),
    "question": ("New question", "ask", "Ask", (FormField(name="text", label="Question", rows=2),)),
    "step": (
        "New next step",
        "step-add",
        "Add",
        (
            FormField(name="text", label="What is to be done", rows=2),
            _WHY,
            FormField(name="priority", label="Priority", value="normal", options=_PRIORITIES),
        ),
    ),
    "rule": (
        "New rule",
        "rule-add",
        "Add",
        (
            FormField(name="name", label="Name", hint="Letters, digits and dashes"),
            FormField(name="rules", label="Rules, one on each line", rows=3),
            FormField(name="description", label="What they are about"),
            FormField(name="fingerprint", label="Files they depend on", hint="Separated by spaces"),
        ),
    ),
}


def new(request: Request) -> Fragment:
    form = NEW.get(request.path["kind"])
    if form is None:
        raise NotFound("there is no such form", fix="Load the page again")
    title, action, submit, fields = form
    return Fragment("memory_new.html", heading=title, action=action, submit=submit, fields=fields)


def edit(request: Request) -> Fragment:
    """The form in the place of a row."""
    kind, id = request.path["kind"], request.path["id"]
    make = _EDITED.get(kind)
    if make is None:
        raise NotFound("there is no such form", fix="Load the page again")
    action, fields, values = make(request, id)
    return Fragment("memory_edit.html", row=id, action=action, fields=fields, values=values)


_Form = tuple[str, Sequence[FormField], Mapping[str, str]]


def _edit_decision(request: Request, id: str) -> _Form:
    said = statements_of(request).find(id)
    if said is None:
        raise NotFound(f"no decision {id[:40]!r}", fix="Load the page again")
    fields = [FormField(name="text", label="Decision", value=said.text, rows=3)]
    if said.source == "reference.md":
        fields.append(FormField(name="because", label="Because", value=said.reason, rows=2))
    return "decision-change", fields, {"id": id}


def _edit_fact(request: Request, id: str) -> _Form:
    fact = _fact(request, id).fact
    fields = (
        FormField(name="text", label="What holds now", value=fact.text, rows=2),
        FormField(name="evidence", label="Evidence", value=fact.evidence, rows=2),
        FormField(name="command", label="Command", value=fact.command),
        FormField(name="category", label="Category", value=str(fact.category), options=_CATEGORIES),
    )
    return "fact-change", fields, {"id": id}


def _edit_question(request: Request, id: str) -> _Form:
    question = next((one for one in questions_of(request) if one.id == id), None)
    if question is None:
        raise NotFound(f"no question {id[:40]!r}", fix="Load the page again")
    field = FormField(name="answer", label=question.text, value=question.answer, rows=2)
    return "answer", (field,), {"id": id}


def _edit_step(request: Request, id: str) -> _Form:
    item = next((step.item for step in steps_of(request) if step.item.id == id and not step.closed), None)
    if item is None:
        raise NotFound(f"no next step {id[:40]!r}", fix="Load the page again")
    fields = (
        FormField(name="text", label="What is to be done", value=item.text, rows=2),
        FormField(name="because", label="Because", value=item.why, rows=2),
        FormField(name="priority", label="Priority", value=item.priority, options=_PRIORITIES),
    )
    return "step-change", fields, {"id": id}


def _edit_rule(request: Request, name: str) -> _Form:
    status = lessons.pick(read_lessons(request.here, request.project).lessons, name, lessons.KEPT_FIRST)
    lesson = status.lesson
    fields = (
        FormField(name="rules", label="Rules, one on each line", value="\n".join(lesson.rules), rows=4),
        FormField(name="description", label="What they are about", value=lesson.description),
    )
    return "rule-change", fields, {"name": lesson.name}


_EDITED: Mapping[str, Callable[[Request, str], _Form]] = {
    "decision": _edit_decision,
    "fact": _edit_fact,
    "question": _edit_question,
    "step": _edit_step,
    "rule": _edit_rule,
}


# --- verify and forget -----------------------------------------------------------------------------------


def ask_verify(request: Request) -> Fragment:
    fact = _fact(request, request.path["id"]).fact
    if obstacle := facts.obstacle(fact, named=True):
        raise UsageError(CHECKS[obstacle.status], fix="Change the fact and give it evidence of now")
    return Fragment(
        "memory_verify.html", fact=fact, root=str(request.project.root), digest=_digest(fact.command)
    )


def verify(request: Request) -> Changed:
    """Runs the command of a fact, exactly the one that was shown."""
    fact = _fact(request, _of(request, "id")).fact
    if _digest(fact.command) != _of(request, "command"):
        raise UsageError("the command has changed since you saw it", fix="Look at it again")

    def run() -> facts.FactCheck:
        check = facts.obstacle(fact, named=True) or facts.verify(request.here, fact, _VERIFY_S)
        held, failed = [fact] if check.status == "holds" else [], [fact]
        facts.mark_verified(request.here, held, failed if check.status in ("changed", "failed") else [])
        return check

    return change(request, _result, run)


def _result(check: facts.FactCheck) -> str:
    instead = f": {_said(' '.join(check.lines))}" if check.lines else ""
    code = f" with exit code {check.exit_code}" if check.status == "failed" else ""
    return f"{CHECKS[check.status]}{code}{instead}"


def _digest(command: str) -> str:
    return blake2b(command.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _fact(request: Request, id: str) -> KeptFact:
    return facts.wanted_fact(facts_of(request), id)


def ask_forget(request: Request) -> Fragment:
    """What would go, before anything goes."""
    text = _asked_text(request)
    wanted = resolve(
        request.project, (), [] if text else [request.query.get("id", "")], [text] if text else []
    )
    report = preview(request.here, request.project, wanted)
    return Fragment("memory_forget.html", report=report, text=text, id=request.query.get("id", ""))


def _asked_text(request: Request) -> str:
    return request.query.get("text", "").strip()


def do_forget(request: Request) -> Changed:
    """Takes it out of every file. It cannot be undone, and the dialog has said so."""
    text, id = _of(request, "text"), _of(request, "id")
    wanted = resolve(request.project, (), [] if text else [id], [text] if text else [])
    report = forget(request.here, request.project, wanted)
    places = sum(report.removed.values())
    left = len(report.git) + len(report.elsewhere)
    rest = f"; {counted(left, 'file')} elsewhere still hold{'s' if left == 1 else ''} it" if left else ""
    return Changed(f"Forgotten in {counted(places, 'place')}{rest}", None)


ROUTES = (
    Route("/memory/do/{action}", act, "POST"),
    Route("/memory/new/{kind}", new),
    Route("/memory/edit/{kind}/{id}", edit),
    Route("/memory/verify/{id}", ask_verify),
    Route("/memory/verified", verify, "POST"),
    Route("/memory/forget", ask_forget),
    Route("/memory/forgotten", do_forget, "POST"),
)
