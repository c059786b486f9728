"""Memory, questions with their answers, and next steps."""

from __future__ import annotations

from holdfast.ledger.rows import session_titles
from holdfast.web.contract import Page, Request, Route
from holdfast.web.memory_lists import questions_of, steps_of, views


def show_questions(request: Request) -> Page:
    asked = request.query
    wanted, state = asked.get("q", "").casefold().split(), asked.get("state", "")
    chosen = [
        question
        for question in questions_of(request)
        if (not state or question.open == (state == "open"))
        and all(word in f"{question.text} {question.answer} {question.id}".casefold() for word in wanted)
    ]
    part = request.page(chosen)
    sessions = [question.session for question in part.items if question.session]
    return Page(
        "memory_questions.html",
        title="Questions",
        views=views(request),
        asked=asked,
        part=part,
        titles=session_titles(request.project, sessions),
    )


def show_steps(request: Request) -> Page:
    asked = request.query
    every = steps_of(request)
    wanted, branch = asked.get("q", "").casefold().split(), asked.get("branch", "")
    closed = asked.get("state", "") == "closed"
    chosen = [
        step
        for step in every
        if bool(step.closed) == closed
        and (not branch or step.item.branch == branch)
        and all(word in f"{step.item.text} {step.item.why} {step.item.id}".casefold() for word in wanted)
    ]
    part = request.page(chosen)
    sessions = [step.item.session for step in part.items if step.item.session]
    return Page(
        "memory_next.html",
        title="Next steps",
        views=views(request),
        asked=asked,
        part=part,
        branches=sorted({step.item.branch for step in every if step.item.branch}),
        titles=session_titles(request.project, sessions),
    )


ROUTES = (Route("/memory/questions", show_questions), Route("/memory/next", show_steps))
