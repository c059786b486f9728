"""What a person is told of a hit: the part of its text that answers, where that stands, and why it was found."""

from __future__ import annotations

import time

from holdfast.model.search import MEANING, WEAK, WORDS, Hit
from holdfast.search import fuse, lexical
from holdfast.search.database import Database
from holdfast.search.evidence import Evidence, Ranked

_REASON_WORDS = 6
_LONGEST_SHOWN = 1500
_TELLING_COSINE = 0.3


def hit_of(
    database: Database, one: Ranked, evidence: Evidence, is_weak: bool, otherwise: str = "like it in parts"
) -> Hit:
    """`otherwise` is the reason of what was found by nothing that could be named."""
    statement = "SELECT id, kind, title, text, path, line, session, project, at FROM chunk WHERE n = ?"
    ((id, kind, title, text, path, line, session, project, at),) = database.ask(statement, (one.number,))
    _, start, stop = one.best
    terms = evidence.chosen.shown
    if stop - start > _LONGEST_SHOWN:
        start, stop = lexical.around(terms, text, start, stop, _LONGEST_SHOWN)
    passage = text[start:stop].strip() if (start, stop) != (0, len(text)) else text
    reasons = ["its id"] if one.number in evidence.named else []
    words = lexical.held(terms, f"{title} {passage}", _REASON_WORDS)
    words = words or [sign for sign in evidence.signs if sign in passage]
    reasons += [f"{WORDS}{', '.join(words)}"] if words else []
    reasons += [f"{MEANING}{one.cosine:.2f}"] if one.cosine >= _TELLING_COSINE else []
    reasons += [WEAK] if is_weak else []
    skipped = len(text[start:stop]) - len(text[start:stop].lstrip()) if start else 0
    return Hit(
        id=id,
        kind=kind,
        text=passage,
        path=path,
        line=line + text.count("\n", 0, start + skipped) if line else 0,
        session=session,
        project=project,
        date="" if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
        score=round(fuse.score(one.value), 4),
        why="; ".join(reasons) or otherwise,
    )
