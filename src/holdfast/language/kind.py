"""Classifies the kind of work of a session: first by the user's request, then by the edited files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.language.checks import check_kinds
from holdfast.language.kind_words import (
    CONVENTIONAL,
    OPERATION,
    OTHER_LANGUAGES,
    POLITE,
    PURE_QUESTION,
    QUESTION,
    REQUEST,
    SLASH_COMMANDS,
    STRONG,
    WEAK,
)
from holdfast.language.prose import prose_of
from holdfast.model.ledger import Kind

_PREFIX = lazy_regex(
    r"^(?:#{1,4}\s*)?(?:plan:\s*)?([a-z]{1,10})(?:\([^)]{0,40}\))?!?:(?:\s|$)", re.IGNORECASE
)
_COMMIT_TYPE = lazy_regex(r"(?:[0-9a-f]{7,40} )?([a-z]{1,10})(?:\([^)]{0,40}\))?!?: ", re.IGNORECASE)
_SLASH = lazy_regex(r"^\s*/(?:[\w-]+:)?([a-z][\w-]*)(?:\s|$)", re.IGNORECASE)
_PLAN_WORD = lazy_regex(r"^plan\b[:\s–—-]*", re.IGNORECASE)
_PLAN_OPENING = PrefilteredRegex(
    r"^(?:please )?(?:implement|execute|follow) the (?:following )?plan\b.{0,20}$", re.IGNORECASE
)
_SENTENCE_END = lazy_regex(r"(?<=[.!?。！？])\s+|\s->\s")
_OPENING_CHARS = 300
_WHOLE_CHARS = 2000
_FOREIGN = tuple((kind, "asks for it in the user's language", pattern) for kind, pattern in OTHER_LANGUAGES)
_QUOTED = lazy_regex(r"`[^`\n]{1,60}`|\"[^\"\n]{1,60}\"|“[^”\n]{1,60}”")
_WHY = PrefilteredRegex(r"\bwhy\b|\bhow come\b", re.IGNORECASE)
_DOC_FILE = PrefilteredRegex(
    r"\.(?:mdx?|rst|adoc|txt)$|^(?:readme|license|licence|copying|changelog|authors|notice|contributing)",
    re.I,
)
# Text files that an agent or a test reads are not documentation.
_WORKING_TEXT = PrefilteredRegex(
    r"skill\.md$|requirements[^/]*\.txt$|(?:^|/)(?:commands|prompts|agents|testdata|fixtures|plans)/|robots\.txt$",
    re.I,
)
_SCRATCH = PrefilteredRegex(r"(?:^|/)(?:\.claude/plans|scratchpad)/|(?:^|/)plan\.md$", re.I)
_TEST_FILE = lazy_regex(
    r"(?:^|/)(?:tests?|specs?|__tests__|integration_tests?|e2e(?:_tests?)?|cypress)/|(?:^|/)(?:test_[^/]+"
    r"|conftest\.py)$|"
    r"[._-](?:test|spec|tests)\.\w+$|(?:Test|Tests|Spec|IT)\.(?:java|kt|cs|scala|swift|php)$|\.bats$"
)
_CONFIG_FILE = PrefilteredRegex(
    r"(?:^|/)\.config/|(?:^|/)\.[\w-]+\.conf$|(?:^|/)\.(?:github|circleci|gitlab|husky|vscode|devcontainer"
    r"|entire|claude-plugin|codex-plugin|cursor-plugin)/|\.(?:ya?ml|toml|ini|cfg|conf|json5?|jsonc|lock|env"
    r"|properties|nix|tf)$|"
    r"(?:^|/)(?:dockerfile\S*|makefile|justfile|\.[\w-]+(?:rc|ignore|attributes|config)(?:\.\w+)?|go\.(?:mod"
    r"|sum)|codeowners|gemfile\S*|rakefile|"
    r"[\w.-]*\.config\.[cm]?[jt]s|pom\.xml|build\.gradle\S*|cmakelists\.txt|requirements[^/]*\.txt)$",
    re.I,
)


# The person wants words, not changes.
_HANDS_OFF = PrefilteredRegex(
    r"\b(?:do not|don['’]?t|without) (?:take (?:any )?action|tak(?:e|ing) action|modify(?:ing)?|mak(?:e"
    r"|ing) (?:any )?changes?"
    r"|chang(?:e|ing) (?:any|the) (?:code|files?)|edit(?:ing)?)\b|\bjust tell me\b",
    re.IGNORECASE,
)
_WANTS_A_PLAN = PrefilteredRegex(
    r"\b(?:help me plan|plan (?:that|this|the|out) |(?:make|write|create|devise|propose"
    r"|draft) (?:me )?an? (?:\w+ ){0,2}plan\b)",
    re.IGNORECASE,
)
_CHECKS = PrefilteredRegex(
    r"\b(?:review|audit|verify|validate|check (?:that|whether|if)|last check|(?:requirements?|quality"
    r"|conformance) check)\b",
    re.IGNORECASE,
)
_LAST_CHECK = PrefilteredRegex(r"\b(?:last|final) check\b|\bdouble-?check\b", re.IGNORECASE)
_LONG = 1200  # characters from which on a prompt is a document, whose words are about many things


class KindJudgement(NamedTuple):
    """The kind, and the reason in words."""

    kind: Kind
    reason: str


BUILD = "about the build or its checks"
NOTHING_ELSE = "code was edited, and nothing else says why"
_PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc")
_BY_FILES: tuple[tuple[Kind, str, Callable[[str], bool]], ...] = (
    (
        Kind.TEST,
        "only test files were edited",
        lambda path: bool(_TEST_FILE.search(path)) and not path.lower().endswith(_PROSE),
    ),
    (Kind.DOCS, "only documents were edited", lambda path: _is_document(path)),
    (Kind.CONFIG, "only configuration was edited", lambda path: bool(_CONFIG_FILE.search(path))),
)


def kind_of_commits(subjects: Iterable[str], asked: KindJudgement) -> KindJudgement:
    """The kind that all commits of a session name (`fix: …`), else the one that was asked for.

    Files of one sort and a command say more."""
    types = {match[1].lower() for line in subjects if (match := _COMMIT_TYPE.match(line))}
    types &= CONVENTIONAL.keys() - {"style"}  # which may be the form of the code or the looks of a page
    kinds = {CONVENTIONAL[name] for name in types}
    if len(kinds) != 1 or asked.kind in kinds or asked.reason.startswith(("only ", "the command ")):
        return asked
    return KindJudgement(kinds.pop(), f"its commits begin with “{min(types)}:”")


def explain_kind(goal: str, edited_paths: Sequence[str], commands: Sequence[str]) -> KindJudgement:
    """Return the kind of a session with this goal, these edited files and these shell commands, and the reason."""
    edited = [
        path.replace("\\", "/") for path in edited_paths if not _SCRATCH.search(path.replace("\\", "/"))
    ]
    command = _SLASH.match(goal)
    if command:
        by_command = _by_command(command[1].lower())
        if by_command:
            return by_command
    lines, complaints = prose_of(goal)
    is_plan = bool(lines) and bool(_PLAN_OPENING.match(lines[0]))
    lines = lines[1:] if is_plan else lines
    judgement = (
        _by_prefix(lines)
        or _by_work(goal, lines, edited, commands, is_plan=is_plan)
        or _by_words(lines, edited, is_plan=is_plan)
    )
    if not judgement and not lines and complaints:
        judgement = _by_files(edited) or KindJudgement(
            Kind.BUGFIX, "an error was pasted and nothing else said"
        )
    return judgement or _by_traces(edited, commands)


def _by_command(name: str) -> KindJudgement | None:
    for part, kind in SLASH_COMMANDS:
        if part in name:
            return KindJudgement(kind, f"the command /{name}")
    return None


def _by_prefix(lines: Sequence[str]) -> KindJudgement | None:
    """Judge by a conventional-commit prefix on the first line or on the title of a plan."""
    for line in lines[:2]:
        match = _PREFIX.match(line)
        kind = CONVENTIONAL.get(match[1].lower()) if match else None
        if match and kind and kind is not Kind.EXPLORATION:
            return KindJudgement(kind, f"begins with “{match[1].lower()}:”")
    return None


def _by_work(
    goal: str, lines: Sequence[str], edited: Sequence[str], commands: Sequence[str], *, is_plan: bool
) -> KindJudgement | None:
    """Judge by what was done, where that says more than the words: nothing, a document's worth of orders, settings."""
    opening = _opening(lines)
    mixed = _mostly(edited)
    if not edited and _HANDS_OFF.search(goal[:_WHOLE_CHARS]):
        if _CHECKS.search(opening) or _CHECKS.search(goal[:_OPENING_CHARS]):
            return KindJudgement(Kind.REVIEW, "asks for a check, and nothing was edited")
        return KindJudgement(Kind.EXPLORATION, "asks for words and no changes")
    only_prose = all(path.lower().endswith(_PROSE) for path in edited)
    if only_prose and not is_plan and _WANTS_A_PLAN.search(opening):
        return KindJudgement(Kind.EXPLORATION, "asks for a plan, and no code was edited")
    if is_plan:
        return _by_title(lines, edited)
    if len(goal) < _LONG or not edited:
        if not edited and _LAST_CHECK.search(goal[:_WHOLE_CHARS]):
            return KindJudgement(Kind.REVIEW, "asks to check what was done")
        return mixed if mixed and mixed.kind is Kind.CONFIG and not _earliest(STRONG, opening) else None
    if named := [path for path in edited if PurePosixPath(path).name in goal]:
        # Where the prompt names the document to work through, ticking it off is no documentation.
        done = [path for path in edited if path not in named]
        if not done and any("test" in check_kinds(command) for command in commands):
            return KindJudgement(Kind.REVIEW, "ran the checks and ticked off a document")
        mixed = _mostly(done or edited)
    strong = _earliest(STRONG, opening)
    if strong and strong.kind in {Kind.REVIEW, Kind.MIGRATION, Kind.REFACTOR, Kind.BUGFIX}:
        return None
    return mixed or (
        KindJudgement(Kind.FEATURE, "a long order, and code was written")
        if any(map(_is_code, edited))
        else None
    )


def _by_title(lines: Sequence[str], edited: Sequence[str]) -> KindJudgement | None:
    """Judge a plan by its title: its first verb, else as a feature if code was written."""
    title = _PLAN_WORD.sub("", lines[0].strip("#*` ")) if lines else ""
    words = title.split()
    if not words or not any(map(_is_code, edited)):
        return None
    first = _earliest((*STRONG, *WEAK), " ".join(words[:3]))
    if first and first.kind in {Kind.REFACTOR, Kind.BUGFIX, Kind.MIGRATION, Kind.CONFIG, Kind.FEATURE}:
        return first
    strong = _earliest(STRONG, title)
    if strong and strong.kind in {Kind.BUGFIX, Kind.CONFIG, Kind.MIGRATION}:
        return None
    return KindJudgement(Kind.FEATURE, "a plan to implement")


def _mostly(edited: Sequence[str]) -> KindJudgement | None:
    """Judge by most of the edited files; documents beside code do not count."""
    if uniform := _by_files(edited):
        return uniform
    work = [path for path in edited if not _is_document(path)] or list(edited)
    if uniform := _by_files(work):  # tests beside code belong to the code
        return KindJudgement(uniform.kind, uniform.reason.replace("only ", "mostly "))
    if 2 * sum(bool(_CONFIG_FILE.search(path)) for path in work) >= len(work) > 0:
        return KindJudgement(Kind.CONFIG, "mostly configuration was edited")
    return None


def _is_source(path: str) -> bool:
    return _is_code(path) and not _CONFIG_FILE.search(path)


def _is_code(path: str) -> bool:
    return not _is_document(path) and not path.lower().endswith(_PROSE)


def _opening(lines: Sequence[str]) -> str:
    """Return the first sentence or two: the request, before its details."""
    sentences = [
        part.strip("#*` ") for line in lines[:6] for part in _SENTENCE_END.split(line) if part.strip("#*` ")
    ]
    opening = ""
    for sentence in sentences:
        if len(opening) > 40:
            break
        opening = f"{opening} {sentence}".strip()
    return POLITE.sub("", opening[:_OPENING_CHARS].replace("*", ""))


def _by_words(lines: Sequence[str], edited: Sequence[str], *, is_plan: bool) -> KindJudgement | None:
    opening = _opening(lines)
    whole = " ".join(lines)[:_WHOLE_CHARS].replace("*", "").rstrip()
    asks = bool(QUESTION.search(opening.replace("`", ""))) or (not edited and whole.endswith("?"))
    uniform = _by_files(edited)
    strong = _earliest(STRONG, opening) or _earliest(_FOREIGN, opening)
    if strong and strong.kind is Kind.EXPLORATION and any(map(_is_code, edited)):
        strong = None  # it was not only looked at
    if strong and strong.kind in {Kind.TEST, Kind.DOCS} and _comes_second(opening):
        return uniform or _wanted(opening)
    if strong:
        return _settled(strong, asks, edited, uniform)
    if OPERATION.search(opening):
        return uniform or KindJudgement(Kind.OTHER, "asks to run something")
    if asks and not edited:
        return KindJudgement(Kind.EXPLORATION, "a question, and nothing was edited")
    weak = _wanted(opening)
    if weak:
        return uniform or weak
    if is_plan:
        return uniform or KindJudgement(Kind.FEATURE, "a plan to implement")
    if _WHY.search(opening) and edited and not (uniform and uniform.kind in {Kind.CONFIG, Kind.DOCS}):
        return KindJudgement(Kind.BUGFIX, "asks why, and the code was changed")
    if asks and uniform:
        return uniform
    return _earliest(STRONG, whole) or _earliest(_FOREIGN, whole) or uniform or _wanted(whole)


def _comes_second(opening: str) -> bool:
    """Whether tests or docs are only the second part of a request: “Add a dark mode and write tests for it”."""
    first, joined, _ = opening.partition(" and ")
    return bool(joined) and not _earliest(STRONG, first) and _wanted(first) is not None


def _wanted(text: str) -> KindJudgement | None:
    """Judge by the requested change; in a question, only by the part that requests one: “or should we make it one?”"""
    text = _QUOTED.sub("it", text)
    if not PURE_QUESTION.search(text):
        return _earliest(WEAK, text)
    request = REQUEST.search(text)
    return _earliest(WEAK, request[0]) if request else None


def _settled(
    strong: KindJudgement, asks: bool, edited: Sequence[str], uniform: KindJudgement | None
) -> KindJudgement:
    """A question about a failure is exploration; a failure repaired in settings is configuration."""
    is_report = strong.reason in {"reports something broken", BUILD}
    if asks and not edited and is_report:
        return KindJudgement(Kind.EXPLORATION, "asks about a failure, and nothing was edited")
    if strong.reason == BUILD and any(map(_is_source, edited)):
        return KindJudgement(Kind.BUGFIX, "a check was repaired in the code")
    if strong.reason == "a test fails" and uniform and uniform.kind is Kind.TEST:
        return uniform
    return uniform if asks and is_report and uniform and uniform.kind is Kind.CONFIG else strong


def _earliest(rules: Sequence[tuple[Kind, str, PrefilteredRegex]], text: str) -> KindJudgement | None:
    best: KindJudgement | None = None
    position = len(text) + 1
    text = text.replace("`", "")
    for kind, reason, pattern in rules:
        match = pattern.search(text)
        if match and match.start() < position:
            best, position = KindJudgement(kind, reason), match.start()
    return best


def _by_files(edited: Sequence[str]) -> KindJudgement | None:
    for kind, reason, belongs in _BY_FILES:
        if edited and all(belongs(path) for path in edited):
            return KindJudgement(kind, reason)
    return None


def _is_document(path: str) -> bool:
    return bool(_DOC_FILE.search(PurePosixPath(path).name)) and not _WORKING_TEXT.search(path)


def _by_traces(edited: Sequence[str], commands: Sequence[str]) -> KindJudgement:
    """Judge by edited files and commands, because the request does not decide."""
    uniform = _by_files(edited)
    if uniform:
        return uniform
    if not edited and any(re.search(r"\bgh pr (?:diff|review)\b", command) for command in commands):
        return KindJudgement(Kind.REVIEW, "read a pull request and edited nothing")
    if not edited:
        return KindJudgement(Kind.OTHER, "nothing asked that has a kind, nothing edited")
    if any(map(_is_code, edited)):
        return KindJudgement(Kind.FEATURE, NOTHING_ELSE)
    return KindJudgement(Kind.OTHER, "files were edited, but what was asked does not say why")
