"""The origin of each span of a file, as it is shown: session with title, request, decision, commit and confidence."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.provenance.about_session import Decisions, title_of
from holdfast.provenance.git_lines import shallow_commits
from holdfast.provenance.spans import Span, spans_of
from holdfast.provenance.store import EditStore
from holdfast.provenance.target import Target
from holdfast.store.project import Project

_SURE, _LIKELY = 0.95, 0.85


class SpanOrigin(Struct, frozen=True, kw_only=True):
    """What is behind a span. `session` is None where it is not known; `decision` is an id with its text."""

    span: Span
    session: str | None = None
    agent: str = ""
    title: str = ""
    decision: tuple[str, str] | None = None

    @property
    def lines(self) -> str:
        return f"{self.span.start}-{self.span.end}" if self.size > 1 else str(self.span.start)

    @property
    def size(self) -> int:
        return self.span.end - self.span.start + 1

    def as_json(self) -> dict[str, object]:
        known = self.session is not None
        return {
            "start": self.span.start,
            "end": self.span.end,
            "session": self.session,
            "title": self.title if known else None,
            "prompt": self.span.prompt if known else None,
            "decision": self.decision[0] if self.decision else None,
            "commit": None if self.span.commit.uncommitted else self.span.commit.sha,
            "confidence": self.span.confidence,
        }

    def sentence(self) -> str:
        """All of it on one line, for an agent."""
        commit = self.span.commit
        where = "not committed" if commit.uncommitted else f"commit {commit.sha[:8]}"
        if self.session is None or self.span.confidence is None:
            by = "" if commit.uncommitted else f" by {commit.author}: {commit.subject}"
            return f"lines {self.lines}: session unknown; {where}{by}"
        sure = in_words(self.span.confidence)
        parts = [f"lines {self.lines}: session {self.session} ({self.agent}), {sure}; {where}"]
        parts += [f"title: {self.title}"] if self.title else []
        parts += [f"asked: {self.span.prompt}"] if self.span.prompt else []
        parts += [f"decided: {self.decision[1]} ({self.decision[0]})"] if self.decision else []
        return " ".join("; ".join(parts).split())


class FileBlame(Struct, frozen=True, kw_only=True):
    """The spans of a file in order. `problems` are transcripts that could not be read, a line each."""

    target: Target
    spans: Sequence[SpanOrigin]
    problems: Sequence[str] = ()
    shallow: bool = False


def in_words(confidence: float) -> str:
    word = "sure" if confidence >= _SURE else "likely" if confidence >= _LIKELY else "perhaps"
    return f"{word} {confidence:.0%}"


def origins_of(project: Project, store: EditStore, target: Target, problems: Sequence[str] = ()) -> FileBlame:
    """The origins of the wanted lines, by the edits in the store."""
    decisions, titles = Decisions(project), dict[str, str]()
    origins = []
    for span in spans_of(store, target.root, target.path, target.lines):
        if (edit := span.edit) is None:
            origins.append(SpanOrigin(span=span))
            continue
        if edit.session not in titles:
            titles[edit.session] = title_of(project, edit.session, store.first_prompt(edit.session))
        about = (span.text, span.beside)  # a single line seldom says enough
        found = (decisions.behind(edit.session, target.path, text) for text in about)
        decision = next((decision for decision in found if decision is not None), None)
        origins.append(
            SpanOrigin(
                span=span,
                session=edit.session,
                agent=edit.agent,
                title=titles[edit.session],
                decision=(decision.id, decision.text) if decision else None,
            )
        )
    shallow = bool(shallow_commits(target.root))
    return FileBlame(target=target, spans=_joined(origins), problems=problems, shallow=shallow)


def _joined(origins: Sequence[SpanOrigin]) -> list[SpanOrigin]:
    """Neighbours that only differ in the transcript or the edit that they were found by are one."""
    joined: list[SpanOrigin] = []
    for origin in origins:
        last = joined[-1] if joined else None
        if last is None or origin.session is None or _shown(last) != _shown(origin):
            joined.append(origin)
            continue
        sums = [part.size * (part.span.confidence or 0.0) for part in (last, origin)]
        span = replace(
            last.span,
            end=origin.span.end,
            confidence=round(sum(sums) / (last.size + origin.size), 2),
            text=f"{last.span.text}\n{origin.span.text}",
        )
        joined[-1] = replace(last, span=span)
    return joined


def _shown(origin: SpanOrigin) -> tuple[object, ...]:
    return origin.session, origin.span.commit.sha, origin.span.prompt, origin.decision
