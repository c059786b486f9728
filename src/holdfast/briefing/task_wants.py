"""Decides what a task needs from memory: the state, or some kinds of statements more than others.

A task that begins or continues work needs the state; a spec needs decisions and history; work on commands and
interfaces needs facts; a fix needs dead ends and similar failures. No kind is excluded: the weights only order relevant
hits, which decides where the budget ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.model.ledger import Kind
from holdfast.model.search import Hit

# By the letter of an id (decision, finding, fact, question, dead end) or its kind; the default is 1.
FIXING: Mapping[str, float] = {"X": 1.3, "lesson": 1.2, "N": 1.15, "F": 1.05}
DESIGNING: Mapping[str, float] = {"D": 1.25, "Q": 1.15, "session": 1.1}
COMMANDING: Mapping[str, float] = {"F": 1.6, "X": 1.2}
BUILDING: Mapping[str, float] = {"D": 1.1, "F": 1.1, "X": 1.1}

_BY_KIND: Mapping[Kind, Mapping[str, float]] = {
    Kind.BUGFIX: FIXING,
    Kind.TEST: COMMANDING,
    Kind.CONFIG: COMMANDING,
    Kind.MIGRATION: BUILDING,
    Kind.FEATURE: BUILDING,
    Kind.REFACTOR: BUILDING,
    Kind.DOCS: DESIGNING,
    Kind.REVIEW: DESIGNING,
    Kind.EXPLORATION: DESIGNING,
}
# Some call a test a spec; a task that writes one or asks for its reasons does not run it.
_SPEC = lazy_regex(
    r"\b(?:specifications?|rfc|adr|architecture|proposal|requirements?|roadmap|design|trade-?offs?)\b"
    r"|\b(?:write|draft|review|update|extend)\s+(?:\w+\s+){0,3}spec\b|\bspec\s+(?:for|of|out)\b"
)
_INTERFACE = lazy_regex(r"\b(?:apis?|endpoints?|urls?|webhooks?|curl|http|graphql|grpc|ports?|cli)\b")
_COMMAND = lazy_regex(
    r"\b(?:run|runs|running|execute|invoke|call|query|connect|deploy|install|lint|linter|formatter|compile|build"
    r"|publish|release|commands?"
    r"|ausführen|starten|bauen|befehl|lancer|exécuter|compiler|commande|ejecutar|compilar|comando)\b"
)
_RUN_ELSEWHERE = lazy_regex(
    r"\b(?:führe|führt|ausführen|starte|starten|lance[rsz]?|exécute[rsz]?|ejecut(?:ar|o|a)|esegui(?:re)?|rodar)\b",
    re.IGNORECASE,
)
_BUILD_ELSEWHERE = lazy_regex(r"\b(?:baue|bauen|compilar|construire|construir)\b", re.IGNORECASE)
_ASKS_HOW = lazy_regex(rf"{_COMMAND.pattern}|\b(?:how (?:do|can|to|is|are)|wie|comment|cómo)\b")
_STATES_A_COMMAND = lazy_regex(r"`[^`]+`")
_ABOUT_AS_GOOD = 0.5  # of the best score: a lesson about a command is longer, and matches more of any task
_MADE_ANEW = (Kind.FEATURE, Kind.REFACTOR, Kind.DOCS, Kind.MIGRATION, Kind.REVIEW)


def weights_for(task: str, kind: Kind) -> Mapping[str, float]:
    """How much each kind of statement helps; `kind` is the class of the task."""
    folded = task.casefold()
    if kind is Kind.BUGFIX:
        return FIXING
    if _SPEC.search(folded):
        return DESIGNING
    if _INTERFACE.search(folded) or (kind not in _MADE_ANEW and _COMMAND.search(folded)):
        return COMMANDING
    return _BY_KIND.get(kind, {})


def in_english(task: str) -> str:
    """Translates the words for running something to English, the language of facts."""
    return _BUILD_ELSEWHERE.sub("build", _RUN_ELSEWHERE.sub("run", task))


def first_for(task: str, kind: Kind, hits: Sequence[Hit]) -> frozenset[str]:
    """The ids of hits that must come first: a task that asks how to run something needs the command.

    Weights are not enough: a linter has a lesson for each of its rules, and each is equally about linting.
    """
    if weights_for(task, kind) is not COMMANDING or not _ASKS_HOW.search(task.casefold()):
        return frozenset()
    least = _ABOUT_AS_GOOD * max((hit.score for hit in hits), default=0.0)
    return frozenset(
        hit.id
        for hit in hits
        if hit.kind == "fact" and hit.score >= least and _STATES_A_COMMAND.search(hit.text)
    )


# --- the state -----------------------------------------------------------------------------------------

_FEW_WORDS = 8
_WORD = lazy_regex(r"\w+")
_ASKS_STATE = lazy_regex(
    r"\bwhere (?:were|are|was) (?:we|i)\b|\bwhat(?:'s| is) (?:next|left)\b|\bwhere did (?:we|i) (?:stop|leave)\b"
    r"|\bwhat (?:were we|was i) (?:doing|working|up to)\b|\b(?:catch me up|up to speed)\b"
    r"|\bwhat(?:'s| is) (?:still )?(?:open|to do)\b|\bwas (?:ist|steht) (?:noch )?(?:offen|an|zu tun)\b"
    r"|\bwo (?:waren|sind|stehen) wir\b|\boù en (?:étions|sommes)\b|\bdónde (?:estábamos|quedamos)\b"
)
_GOES_ON = lazy_regex(
    r"(?:please |ok |let's |now |mach )*"
    r"(?:(?:continue|resume|go on|carry on|keep going|pick (?:it )?up|weiter|continuons|continúa|sigue|продолжай)\b"
    r"|继续|続けて?)"
)
_BEGINS = lazy_regex(r"(?:please |ok |let's |now |get )*(?:start(?:ed|ing)?|begin|status)\b")
_NOTHING_MORE = {
    "please",
    "ok",
    "now",
    "work",
    "working",
    "session",
    "task",
    "left",
    "last",
    "time",
    "yesterday",
    "day",
    "new",
    "status",
}


def asks_state(task: str) -> bool:
    """Whether a task only begins or continues work; `make mongo on staging resume writes` is a real task."""
    folded = " ".join(task.casefold().split())
    if _ASKS_STATE.search(folded) and len(folded.split()) <= _FEW_WORDS:
        return True
    opening = _GOES_ON.match(folded) or _BEGINS.match(folded)
    return opening is not None and not set(_WORD.findall(folded[opening.end() :])) - _NOTHING_MORE - ENGLISH


def may_go_on(task: str) -> bool:
    """Whether a task starts like a continuation and says more: then the state is shown if nothing matches the rest."""
    return _GOES_ON.match(" ".join(task.casefold().split())) is not None
