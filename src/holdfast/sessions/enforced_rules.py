"""Rules that something enforces here: a linter that fails, a hook or a client's configuration that refuses a call.

Of a linter, conventions that sessions discover one by one: what a compiler refuses, and what is merely unused, is the
work of the moment. Of refusals, calls that never ran: a person's own "no" is of the moment and is not among them. A
hook's words are a text of the repository: they are kept short, as words about the call; words that instruct the
reader are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.core.shell import Simple, masks, names, simple_commands, unquoted
from holdfast.guard.hidden_text import instructs, why_line_refused
from holdfast.model.events import Action, ToolResult
from holdfast.model.lesson import Stumble
from holdfast.sessions.command_words import REST, is_session_specific, job_text, purpose_of, subject_of
from holdfast.sessions.digest import Gathered, cut_raw_line
from holdfast.sessions.failing_calls import keep_stumble
from holdfast.sessions.prose import contains_any, without_escapes
from holdfast.sessions.remedies import WITH_SUBCOMMANDS

_FOUND = tuple(
    lazy_regex(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:\[[\w:.-]+\] )?\S+?:\d+(?::\d+)?: (?P<message>[^\n]{4,200}?) \((?P<rule>[a-z][\w-]+)\)$"
        r"(?:\n(?:\[[\w:.-]+\] )?[ \t]+(?P<code>\S[^\n]*)\n(?:\[[\w:.-]+\] )?\s*\^)?",
        r"^\s*\d+:\d+\s+(?:error|warning)\s+(?P<message>\S[^\n]{4,160}?)\s{2,}(?P<rule>[@\w/-]+)$",
        r"^\S+?:\d+:\d+: (?P<rule>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?P<message>[^\n]{4,160})$",
        r"^(?P<rule>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?P<message>[A-Z`][^\n]{4,160})$",
        r"\b(?P<rule>SC\d{4})\b[^:\n]{0,12}: (?P<message>[^\n]{4,160})$",
        r"\blint/(?P<rule>\w+/\w+)\b(?P<message>)",
        r"^\S+?:\d+(?::\d+)? (?:error )?(?P<rule>MD\d{3})/[\w/-]+ (?P<message>[^\n\[]{4,160}?)(?: \[[^\n]*)?$",
        r"^\s*[x×✖⚠!] (?P<rule>[a-z][\w-]+\([\w/@-]+\)): (?P<message>[^\n]{4,160})$",
        r"#\[(?:warn|deny)\((?P<rule>clippy::\w+)\)\](?P<message>)",
    )
)
_NO_CONVENTION = PrefilteredRegex(
    r"typecheck|unused|noUndeclared|gofmt|gofumpt|goimports|\bgci\b|prettier|deadcode|unparam|dupl|no-undef|import/no-unresolved|^F\d+|^E9\d\d|^E1\d\d\d|^TS\d+|syntax|parse",
    re.IGNORECASE,
)
_QUOTED = lazy_regex(r"[`'\"][^`'\"\n]{1,80}[`'\"]")
_DETAIL = lazy_regex(r"\(line \d+\) |: sig: .*|, such as .*|; consider .*|\s+in \S+\(\)$")
_CODE = lazy_regex(r"([A-Z]+\d+): ")
_NUMBER = lazy_regex(r"\b\d+(?:\.\d+)?\b")
_SOME = "\0"  # a number, while messages are compared
_DANGLING = frozenset(
    ["of", "in", "from", "by", "to", "with", "for", "is", "a", "the", "and", "or", "as", "be"]
)
_COUNTED = lazy_regex(r"^(?:\[[\w:.-]+\] )?\* (?P<rule>[a-z][\w-]+): \d+$", re.MULTILINE)  # the closing count
MOST_FINDINGS = 12
MOST_READ = 4000  # of a linter's output
LONGEST = 140
GAP = "…"
_CODE_LENGTH = range(12, 71)  # shorter says nothing (`return err`), longer costs more than it tells

HEEDED = "heeded"  # the finding was gone when the linter ran again
_COMMITS = "git commit"
_LINTING = frozenset(["lint", "format", "check"])
_LINTS = lazy_regex(r"(?:^|[\s:/-])(?:lint|check|fix|clippy|eslint|oxlint|biome|ruff|markdownlint)\b")
_FINDINGS = lazy_regex(
    r"\d:\d+[: ]|:\d+ (?:error )?MD\d|\blint/\w|\b[A-Z]{1,4}\d{3,4}\b|clippy::|^\s*[x×✖⚠!] [a-z][\w-]+\(",
    re.MULTILINE,
)
_CLEAN = lazy_regex(
    r"(?i)\b(?:0|no) (?:\w+ )?(?:issues?|errors?|problems?|warnings?)\b|all checks passed|\bclean\b"
)

MOST_NAMED = 4  # commands of one line that may be what was refused
CLIENT = "client"  # of what the agent's own client refuses, whatever the repository
PERMISSIONS = "permissions"  # the subject of what a client's configuration refuses; a hook's are its words
_HALF = 0.5
_QUICK = ("ook", "locked", "LOCKED", "denied.", "specified a rule", "enied by")
_HOOK = r"(?:\[(?P<by>.{0,600}?)\]: ?)?(?P<why>.*)"
_SHAPES = (
    lazy_regex(
        rf"(?:Error: )?PreToolUse:(?P<tool>\w+) hook (?:blocking )?error(?: from command: \S+)?: ?{_HOOK}",
        re.S,
    ),
    lazy_regex(r"(?:Hook )?PreToolUse:(?P<tool>\w+) (?:hook )?denied this tool\.?:?\s*(?P<why>.*)", re.S),
    lazy_regex(rf"(?P<tool>\w+) operation blocked by hook:\s*(?:- )?{_HOOK}", re.S),
    lazy_regex(
        r"(?:Command|Tool(?: \w+)?) (?:was )?(?:blocked|denied)(?: by (?:an? )?(?:\w+ )?hook)?: ?(?P<why>.*)",
        re.S,
    ),
    lazy_regex(
        r"Denied by preToolUse hook(?: from \"[^\"]*\")?(?: \((?P<by>[^)]*)\))?:?\s*(?P<why>.*)", re.S
    ),
)
_BY_CONFIGURATION = lazy_regex(
    r"Permission to use (?P<tool>\w+)(?: with command .{1,2000})? has been denied\.?\s*\Z"
    r"|The user has specified a rule which prevents you from using this specific tool call",
    re.S,
)
_IN_ITS_OWN_WORDS = lazy_regex(
    r"\W{0,4}(?:[\w-]+ ){0,3}(?:blocked|Blocked|BLOCKED)\b(?!.*\buser\b).{10,600}\Z", re.S
)
_BY_CLIENT = lazy_regex(
    r"(?:<tool_use_error>)?Blocked: (?:standalone )?(?P<what>\w+)\b.*?\.\s+(?P<why>(?:To|Run|Use) .*?)"
    r"(?:</tool_use_error>|\Z)",
    re.S,
)
_ERRED = (
    "errored",
    "Failed with non-blocking",
    "timed out",
    "command not found",
    "No such file",
    "Traceback",
)
_SILENT = "No stderr output"
_JOINS = ("&& ", "; ", "| ", "\n", "(")
_ECHOED = lazy_regex(r"\becho\s+(['\"])(?P<why>[^'\"]{8,300})\1")
_CALL_AGAIN = lazy_regex(r"\.? Command: .*\Z", re.S)
_SUGGESTED = lazy_regex(
    r"\s*\b(?:suggested command|suggestion|use instead|run instead|try instead|instead,? (?:run|use)|try)\s*:\s*"
    r"`?(?P<command>[^\n`]{2,600})",
    re.I,
)
_MARKS = lazy_regex(r"\A(?:[^\w'\"(<]+|(?:BLOCK(?:ED)?|DENIED|ERROR|Error|Blocked)\s*[:—–-]+\s*)+")
_EXAMPLE = lazy_regex(r"\s*\((?:e\.g\.|i\.e\.|such as)[^()]*\)")
_URL = lazy_regex(r"https?://[^\s'\"`]+")
_SENTENCE = lazy_regex(r"(?<=[.!?])\s+")
_WORD = lazy_regex(r"[a-z]{2,}")
_NO_COMMANDS = names("cd echo printf true false : set export source . sleep")


class LintFinding(NamedTuple):
    """A rule, what it says, and the line that it was found in where the linter shows one."""

    rule: str
    message: str
    code: str


class LintFindings(NamedTuple):
    """Each rule once, told of no particular place; `alone` when the linter had nothing else to say."""

    found: list[LintFinding]
    alone: bool


def findings_in(output: str) -> LintFindings:
    """What a linter's output names, without what is no convention: that only keeps the others from being alone."""
    found: dict[str, LintFinding] = {}
    output = without_escapes(output) if "\x1b" in output else output
    named = {match["rule"] for match in _COUNTED.finditer(output[-MOST_READ:])}
    whole = len(output) <= MOST_READ or bool(named)  # the count names what was not read
    if len(output) > MOST_READ:
        output = output[:MOST_READ].rpartition("\n")[0]
    for pattern in _FOUND:
        for match in pattern.finditer(output):
            rule, message = match["rule"], match["message"]
            named.add(rule)
            if code := _CODE.match(message):  # one linter with many rules, each with its own code
                rule, message = f"{rule} {code[1]}", message[code.end() :]
            if (
                rule in found
                or _NO_CONVENTION.search(f"{rule} {message[:40]}")
                or len(found) >= MOST_FINDINGS
            ):
                continue
            found[rule] = LintFinding(rule, _general(message), _shown(match.groupdict().get("code") or ""))
    return LintFindings(list(found.values()), whole and len(named) == 1)


def _general(message: str) -> str:
    if instructs(message):
        return ""
    text = _QUOTED.sub(GAP, _DETAIL.sub("", message))
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + GAP


def _shown(code: str) -> str:
    code = code.strip()
    return code if len(code) in _CODE_LENGTH and "`" not in code and not instructs(code) else ""


def common_wording(messages: Sequence[str]) -> str:
    """What a rule says: the words that all its messages share, with gaps, else the message of most; '' for none.

    Numbers are said as far as they reach: they show where the limit is.
    """
    shapes = [_NUMBER.sub(_SOME, message) for message in messages]
    distinct = list(dict.fromkeys(shapes))
    usual, times = Counter(shapes).most_common(1)[0]
    words = distinct[0].split()
    for shape in distinct[1:]:
        words = _shared(words, shape.split())
    text = _trimmed(words) or (_trimmed(usual.split()) if 2 * times > len(messages) else "")
    return _with_numbers(text, messages)


def _with_numbers(text: str, messages: Sequence[str]) -> str:
    """The text with from where to where each number went, in the messages that have as many of them."""
    gaps = text.count(_SOME)
    known = [numbers for numbers in map(_NUMBER.findall, messages) if len(numbers) == gaps]
    for place in range(gaps):
        some = sorted({numbers[place] for numbers in known}, key=float)
        reach = "n" if not some else some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}"
        text = text.replace(_SOME, reach, 1)
    return text


def _trimmed(words: list[str]) -> str:
    """Without what leads nowhere at either end; '' when too little is left to say something."""
    least = 2
    while words and (words[-1] in _DANGLING or words[-1].endswith((":", "…", "("))):
        words.pop()
        least = 4  # what is left of a sentence says something only when it is long
    while words and words[0] == GAP:
        words.pop(0)
    return " ".join(words).strip(" ,;(") if sum(word != GAP for word in words) >= least else ""


def _shared(some: list[str], other: list[str]) -> list[str]:
    """The runs of two words or more that two messages have in the same order."""
    result: list[str] = []
    for run in SequenceMatcher(None, some, other, autojunk=False).get_matching_blocks():
        if run.size > 1:
            result += [*([GAP] if result or run.a else []), *some[run.a : run.a + run.size]]
    return result


# A linter's findings, and whether the session fixed them: findings that stay were there before.


def may_lint(command: str) -> bool:
    return contains_any(command, ("lint", "check", "fix", "clippy", "commit"))


def shows_findings(output: str) -> bool:
    """Whether an output may be a linter's that found something: it names places, or rules by their codes."""
    return bool(_FINDINGS.search(output[:MOST_READ]))


def watch_rules(state: Gathered, command: str, output: str, at: float | None, *, ok: bool | None) -> None:
    """Takes a call that may lint: by itself, or because a commit does. A pipe may hide that it did not pass."""
    hidden = ok is not False and masks(command)
    parts = simple_commands(command)
    found: set[str] = set()
    if (ok is False or hidden) and (named := _linter(parts)):
        findings, alone = findings_in(output)
        for rule, message, code in findings:
            found.add(rule)
            state.ruled = True
            made = Stumble(
                cause="rule",
                subject="",
                token=rule,
                tried=named,
                failed=cut_raw_line(message),
                at=at,
                alone=alone,
                example=code,
            )
            keep_stumble(state, made)
            if alone and not (known := state.stumbles.get(made.key, made)).alone:
                state.stumbles[made.key] = replace(known, alone=True)
    seen_whole = not masks(command)
    if (found and seen_whole) or (ok and (seen_whole or _CLEAN.search(output))):
        _heed(state, parts, found)


def _linter(parts: tuple[Simple, ...]) -> str:
    """The command of a line that lints, as a rule names it: a linter before what formats or commits beside it."""
    doing = [part for part in parts if part.words and not part.shapes]
    named = sorted(doing, key=lambda part: purpose_of(part) != "lint")
    return next((text for part in named if (text := _linter_name(part))), "")


def _linter_name(part: Simple) -> str:
    if part.words[:2] == ("git", "commit"):
        return _COMMITS
    return job_text(part) if purpose_of(part) in _LINTING or _LINTS.search(part.text) else ""


def _heed(state: Gathered, parts: tuple[Simple, ...], found: set[str]) -> None:
    """Findings that a linter had and has no more."""
    known = [item for item in state.stumbles.values() if item.cause == "rule" and not item.instead]
    if not known:
        return
    ran = {subject_of(part) for part in parts if part.words}
    for item in known:
        linter = simple_commands(item.tried)
        if item.token not in found and linter and subject_of(linter[-1]) in ran:
            state.stumbles[item.key] = replace(item, instead=HEEDED)


class Refusal(Struct, frozen=True):
    """What was refused, by whom, and why: `tool` where no command line is."""

    tool: str
    why: str
    suggested: str = ""
    configured: bool = False
    client: bool = False


def watch_refusal(state: Gathered, action: Action, command: str, event: ToolResult) -> bool:
    """Takes a call that may have been refused; whether it was. Later calls tell whether it is refused each time."""
    refused = refusal_in(event, command, shell=action == "shell")
    if refused is None:
        return False
    by = PERMISSIONS if refused.configured else CLIENT if refused.client else "hook"
    whose = f"{by} {' '.join(_WORD.findall(refused.why.lower())[:14])}".strip()
    for token, instead in _named(refused, command if action == "shell" else ""):
        made = Stumble(
            cause="blocked",
            subject=cut_raw_line(whose),
            token=cut_raw_line(token),
            tried=cut_raw_line(token),
            failed=cut_raw_line(refused.why),
            instead=cut_raw_line(instead),
            at=event.at,
        )
        keep_stumble(state, made)
        state.refused[made.token] = made.key
    return True


def clear_refusals(state: Gathered, command: str) -> None:
    """A call that was not refused: what was refused before is not refused each time."""
    # Whether one of its commands may begin so is asked first, because taking it apart costs more.
    if not any(
        command.startswith(token) or contains_any(command, [f"{join}{token}" for join in _JOINS])
        for token in state.refused
    ):
        return
    for part in simple_commands(command):
        if part.words and not part.variables:
            for token in {part.program, _asked(part)} & state.refused.keys():
                key = state.refused.pop(token)  # nothing more is to be known of it
                if key in state.stumbles:
                    state.stumbles[key] = replace(state.stumbles[key], sometimes=True)


def refusal_in(event: ToolResult, command: str, *, shell: bool) -> Refusal | None:
    """Whether a call never ran, by what the client says of it: a program that ran has an exit code."""
    head = event.text[:400]
    if event.ok is True or event.exit_code is not None or not contains_any(head, _QUICK):
        return None
    text = event.text.strip()
    for shape in _SHAPES:
        if match := shape.match(text):
            said = match.groupdict()
            by, why = said.get("by") or "", said["why"].strip()
            if any(sign in by or sign in why[:200] for sign in _ERRED):
                return None  # the hook itself failed
            if not why or why.startswith(_SILENT):
                echoed = _ECHOED.search(by)
                why = echoed["why"] if echoed else ""
            return _read(said.get("tool") or "", why, command, shell=shell)
    if (
        shell
        and (match := _BY_CLIENT.match(text))
        and any(match["what"] in part.words[:1] for part in simple_commands(command))
    ):
        return Refusal(match["what"], _words(match["why"], command), client=True)
    if (match := _BY_CONFIGURATION.match(text)) and shell:
        return Refusal("", "", configured=True)
    if shell and event.ok is False and not event.rejected and _IN_ITS_OWN_WORDS.match(text):
        return _read("", text, command, shell=shell)
    return None


def _read(tool: str, why: str, command: str, *, shell: bool) -> Refusal | None:
    if not shell and not tool:
        return None
    why = _CALL_AGAIN.sub("", why)
    suggested = _SUGGESTED.search(why)
    if suggested:
        why = why[: suggested.start()]
    return Refusal("" if shell else tool, _words(why, command), suggested["command"] if suggested else "")


def _words(why: str, command: str) -> str:
    """The first sentences of a hook's words, without places of one machine; none that speaks past the call."""
    text = " ".join(why.partition("\n\n")[0].split())
    if why_line_refused(text):
        return ""
    text = _EXAMPLE.sub("", text)
    text = _URL.sub("<url>", text.replace("`", "'").replace("→", "->"))
    text = " ".join("<path>" if is_session_specific(word) else word for word in text.split())
    said = set(command.split())
    result = ""
    for sentence in _SENTENCE.split(_MARKS.sub("", text)):
        foreign = " ".join(word for word in sentence.split() if word.strip("'\".,:;()") not in said)
        if instructs(foreign):
            continue
        longer = f"{result} {sentence}".strip()
        if result and len(longer) > LONGEST:
            break
        result = longer
    if len(result) > LONGEST:
        result = result[:LONGEST].rpartition(" ")[0] + REST
    return result.rstrip(".:;, ")


# --- what of a line was refused ---


def _named(refused: Refusal, command: str) -> list[tuple[str, str]]:
    """What was refused, each with what the hook says to call in its place ('' where it says nothing)."""
    if refused.tool:
        return [(refused.tool, "")]
    parts = [part for part in simple_commands(command) if part.words and part.program not in _NO_COMMANDS]
    if refused.suggested and (pairs := _in_its_place(parts, refused.suggested)):
        return pairs
    asked = list(dict.fromkeys(_asked(part) for part in parts))
    spoken = set(_WORD.findall(refused.why.lower()))
    spoken_of = [token for token in asked if token.split()[-1].lower() in spoken]
    return [(token, "") for token in (spoken_of or asked)[:MOST_NAMED]]


def _asked(part: Simple) -> str:
    """The program with its subcommand: what a hook may refuse of it."""
    return " ".join(subject_of(part).split()[:2]) if part.program in WITH_SUBCOMMANDS else part.program


def _in_its_place(parts: list[Simple], suggested: str) -> list[tuple[str, str]]:
    """The programs that a suggested line calls in another way; a line that is another call says nothing of this one."""
    wanted = [part for part in simple_commands(suggested) if part.words and part.program not in _NO_COMMANDS]
    if len(wanted) != len(parts):
        return []
    pairs = []
    for part, other in zip(parts, wanted, strict=True):
        old, new = ([unquoted(word) for word in one.words] for one in (part, other))
        kept = len(set(old) & set(new)) / len(set(old))
        if old != new and (kept >= _HALF or old[1:] == new[1:]) and (text := _head(old, new)):
            pairs.append((part.program, text))
    return pairs


def _head(old: list[str], new: list[str]) -> str:
    """How a call begins that ends like another, up to its program."""
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    head = new[: len(new) - same]
    if same >= len(old):
        head = [*head, old[0]]  # something stands before the same call
    elif same < len(old) - 1:
        return ""  # more than its beginning is another
    text = " ".join(head)
    return "" if not head or len(head) > 3 or is_session_specific(text) or instructs(text) else text
