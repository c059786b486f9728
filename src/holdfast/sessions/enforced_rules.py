"""Reads enforced rules from results: linter findings, and calls refused by a hook or by a client's configuration.

Linter findings count if they are conventions; compiler errors and unused code belong to the current task. Refusals
count if the call never ran because of a rule; a person's own "no" is not one. A hook's message is text of the
repository: it is kept short, as a remark about the call, and sentences that instruct the reader are dropped."""

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
from holdfast.language.command_words import REST, is_session_specific, job_text, purpose_of, subject_of
from holdfast.language.prose import contains_any, without_escapes
from holdfast.language.remedies import WITH_SUBCOMMANDS
from holdfast.model.events import Action, ToolResult
from holdfast.model.lesson import Stumble
from holdfast.sessions.digest import Gathered, cut_raw_line
from holdfast.sessions.failing_calls import keep_stumble

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
_SOME = "\0"  # stands for a number while messages are compared
_DANGLING = frozenset(
    ["of", "in", "from", "by", "to", "with", "for", "is", "a", "the", "and", "or", "as", "be"]
)
_COUNTED = lazy_regex(r"^(?:\[[\w:.-]+\] )?\* (?P<rule>[a-z][\w-]+): \d+$", re.MULTILINE)  # the closing count
MOST_FINDINGS = 12
MOST_READ = 4000  # of a linter's output
LONGEST = 140
GAP = "…"
_CODE_LENGTH = range(12, 71)  # shorter says nothing (`return err`), longer is not worth its tokens

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
CLIENT = "client"  # refused by the agent's own client, in any repository
PERMISSIONS = "permissions"  # the subject if a client's configuration refused; for a hook it is the message
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
    """A rule, its message, and the line of code if the linter shows it."""

    rule: str
    message: str
    code: str


class LintFindings(NamedTuple):
    """Each rule once, without its location; `alone` if the linter reported nothing else."""

    found: list[LintFinding]
    alone: bool


def findings_in(output: str) -> LintFindings:
    """Return the conventions that a linter's output names. Other findings only make `alone` false."""
    findings: dict[str, LintFinding] = {}
    output = without_escapes(output) if "\x1b" in output else output
    named = {match["rule"] for match in _COUNTED.finditer(output[-MOST_READ:])}
    # The closing count names the rules in the part that was not read.
    whole = len(output) <= MOST_READ or bool(named)
    if len(output) > MOST_READ:
        output = output[:MOST_READ].rpartition("\n")[0]
    for pattern in _FOUND:
        for match in pattern.finditer(output):
            rule, message = match["rule"], match["message"]
            named.add(rule)
            if code := _CODE.match(message):  # a linter with many rules, each with its own code
                rule, message = f"{rule} {code[1]}", message[code.end() :]
            if (
                rule in findings
                or _NO_CONVENTION.search(f"{rule} {message[:40]}")
                or len(findings) >= MOST_FINDINGS
            ):
                continue
            findings[rule] = LintFinding(rule, _general(message), _shown(match.groupdict().get("code") or ""))
    return LintFindings(list(findings.values()), whole and len(named) == 1)


def _general(message: str) -> str:
    if instructs(message):
        return ""
    text = _QUOTED.sub(GAP, _DETAIL.sub("", message))
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + GAP


def _shown(code: str) -> str:
    code = code.strip()
    return code if len(code) in _CODE_LENGTH and "`" not in code and not instructs(code) else ""


def common_wording(messages: Sequence[str]) -> str:
    """Return the words that all messages of a rule share, with gaps, or the most common message; '' for neither.

    Numbers become a range: it shows where the limit is.
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
    """Replace each number placeholder with its range in the messages that have as many numbers."""
    gaps = text.count(_SOME)
    matching = [numbers for numbers in map(_NUMBER.findall, messages) if len(numbers) == gaps]
    for index in range(gaps):
        values = sorted({numbers[index] for numbers in matching}, key=float)
        span = "n" if not values else values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
        text = text.replace(_SOME, span, 1)
    return text


def _trimmed(words: list[str]) -> str:
    """Drop dangling words at both ends; return '' if too few words remain."""
    least = 2
    while words and (words[-1] in _DANGLING or words[-1].endswith((":", "…", "("))):
        words.pop()
        least = 4  # a shortened sentence needs more words to make sense
    while words and words[0] == GAP:
        words.pop(0)
    return " ".join(words).strip(" ,;(") if sum(word != GAP for word in words) >= least else ""


def _shared(some: list[str], other: list[str]) -> list[str]:
    """Return the runs of two or more words that two messages share, in order."""
    result: list[str] = []
    for run in SequenceMatcher(None, some, other, autojunk=False).get_matching_blocks():
        if run.size > 1:
            result += [*([GAP] if result or run.a else []), *some[run.a : run.a + run.size]]
    return result


# Linter findings, and whether the session fixed them: findings that stay were there before.


def may_lint(command: str) -> bool:
    return contains_any(command, ("lint", "check", "fix", "clippy", "commit"))


def shows_findings(output: str) -> bool:
    """Whether an output may hold linter findings: it names places, or rules by their codes."""
    return bool(_FINDINGS.search(output[:MOST_READ]))


def watch_rules(state: Gathered, command: str, output: str, at: float | None, *, ok: bool | None) -> None:
    """Process a call that may lint, itself or in a commit hook. A pipe may hide that it failed."""
    hidden = ok is not False and masks(command)
    parts = simple_commands(command)
    rules: set[str] = set()
    if (ok is False or hidden) and (linter := _linter(parts)):
        findings, alone = findings_in(output)
        for rule, message, code in findings:
            rules.add(rule)
            state.ruled = True
            stumble = Stumble(
                cause="rule",
                subject="",
                token=rule,
                tried=linter,
                failed=cut_raw_line(message),
                at=at,
                alone=alone,
                example=code,
            )
            keep_stumble(state, stumble)
            if alone and not (existing := state.stumbles.get(stumble.key, stumble)).alone:
                state.stumbles[stumble.key] = replace(existing, alone=True)
    seen_whole = not masks(command)
    if (rules and seen_whole) or (ok and (seen_whole or _CLEAN.search(output))):
        _heed(state, parts, rules)


def _linter(parts: tuple[Simple, ...]) -> str:
    """Return the linting command of a line as a rule names it: a linter rather than a formatter or a commit."""
    candidates = [part for part in parts if part.words and not part.shapes]
    ranked = sorted(candidates, key=lambda part: purpose_of(part) != "lint")
    return next((text for part in ranked if (text := _linter_name(part))), "")


def _linter_name(part: Simple) -> str:
    if part.words[:2] == ("git", "commit"):
        return _COMMITS
    return job_text(part) if purpose_of(part) in _LINTING or _LINTS.search(part.text) else ""


def _heed(state: Gathered, parts: tuple[Simple, ...], found: set[str]) -> None:
    """Mark the findings that a linter no longer reports."""
    stumbles = [
        stumble for stumble in state.stumbles.values() if stumble.cause == "rule" and not stumble.instead
    ]
    if not stumbles:
        return
    ran = {subject_of(part) for part in parts if part.words}
    for stumble in stumbles:
        linter = simple_commands(stumble.tried)
        if stumble.token not in found and linter and subject_of(linter[-1]) in ran:
            state.stumbles[stumble.key] = replace(stumble, instead=HEEDED)


class Refusal(Struct, frozen=True):
    """What was refused, by whom, and why. `tool` is set if there is no command line."""

    tool: str
    why: str
    suggested: str = ""
    configured: bool = False
    client: bool = False


def watch_refusal(state: Gathered, action: Action, command: str, event: ToolResult) -> bool:
    """Process a call that may have been refused; return whether it was. Later calls show whether it always is."""
    refused = refusal_in(event, command, shell=action == "shell")
    if refused is None:
        return False
    by = PERMISSIONS if refused.configured else CLIENT if refused.client else "hook"
    subject = f"{by} {' '.join(_WORD.findall(refused.why.lower())[:14])}".strip()
    for token, instead in _named(refused, command if action == "shell" else ""):
        stumble = Stumble(
            cause="blocked",
            subject=cut_raw_line(subject),
            token=cut_raw_line(token),
            tried=cut_raw_line(token),
            failed=cut_raw_line(refused.why),
            instead=cut_raw_line(instead),
            at=event.at,
        )
        keep_stumble(state, stumble)
        state.refused[stumble.token] = stumble.key
    return True


def clear_refusals(state: Gathered, command: str) -> None:
    """Process a call that was not refused: a command in it that was refused before is not always refused."""
    # A text search comes first, because parsing the command costs more.
    if not any(
        command.startswith(token) or contains_any(command, [f"{join}{token}" for join in _JOINS])
        for token in state.refused
    ):
        return
    for part in simple_commands(command):
        if part.words and not part.variables:
            for token in {part.program, _asked(part)} & state.refused.keys():
                key = state.refused.pop(token)  # its answer is final
                if key in state.stumbles:
                    state.stumbles[key] = replace(state.stumbles[key], sometimes=True)


def refusal_in(event: ToolResult, command: str, *, shell: bool) -> Refusal | None:
    """Tell from the client's message whether a call never ran. A program that ran has an exit code."""
    head = event.text[:400]
    if event.ok is True or event.exit_code is not None or not contains_any(head, _QUICK):
        return None
    text = event.text.strip()
    for shape in _SHAPES:
        if match := shape.match(text):
            groups = match.groupdict()
            by, why = groups.get("by") or "", groups["why"].strip()
            if any(sign in by or sign in why[:200] for sign in _ERRED):
                return None  # the hook itself failed
            if not why or why.startswith(_SILENT):
                echoed = _ECHOED.search(by)
                why = echoed["why"] if echoed else ""
            return _read(groups.get("tool") or "", why, command, shell=shell)
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
    """Return the first sentences of a hook's message, without machine-specific paths and without instructions."""
    text = " ".join(why.partition("\n\n")[0].split())
    if why_line_refused(text):
        return ""
    text = _EXAMPLE.sub("", text)
    text = _URL.sub("<url>", text.replace("`", "'").replace("→", "->"))
    text = " ".join("<path>" if is_session_specific(word) else word for word in text.split())
    called = set(command.split())
    result = ""
    for sentence in _SENTENCE.split(_MARKS.sub("", text)):
        uncalled = " ".join(word for word in sentence.split() if word.strip("'\".,:;()") not in called)
        if instructs(uncalled):
            continue
        longer = f"{result} {sentence}".strip()
        if result and len(longer) > LONGEST:
            break
        result = longer
    if len(result) > LONGEST:
        result = result[:LONGEST].rpartition(" ")[0] + REST
    return result.rstrip(".:;, ")


# --- which part of a line was refused ---


def _named(refused: Refusal, command: str) -> list[tuple[str, str]]:
    """Return the refused commands, each with the replacement that the hook suggests, or ''."""
    if refused.tool:
        return [(refused.tool, "")]
    parts = [part for part in simple_commands(command) if part.words and part.program not in _NO_COMMANDS]
    if refused.suggested and (pairs := _in_its_place(parts, refused.suggested)):
        return pairs
    tokens = list(dict.fromkeys(_asked(part) for part in parts))
    mentioned = set(_WORD.findall(refused.why.lower()))
    matching = [token for token in tokens if token.split()[-1].lower() in mentioned]
    return [(token, "") for token in (matching or tokens)[:MOST_NAMED]]


def _asked(part: Simple) -> str:
    """Return the program with its subcommand, which is what hooks match."""
    return " ".join(subject_of(part).split()[:2]) if part.program in WITH_SUBCOMMANDS else part.program


def _in_its_place(parts: list[Simple], suggested: str) -> list[tuple[str, str]]:
    """Return the programs that the suggested line calls differently; nothing if it is an unrelated call."""
    wanted = [part for part in simple_commands(suggested) if part.words and part.program not in _NO_COMMANDS]
    if len(wanted) != len(parts):
        return []
    pairs = []
    for part, replacement in zip(parts, wanted, strict=True):
        old, new = ([unquoted(word) for word in call.words] for call in (part, replacement))
        kept = len(set(old) & set(new)) / len(set(old))
        if old != new and (kept >= _HALF or old[1:] == new[1:]) and (text := _head(old, new)):
            pairs.append((part.program, text))
    return pairs


def _head(old: list[str], new: list[str]) -> str:
    """Return the new beginning of a call that ends like the old one, up to its program."""
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    head = new[: len(new) - same]
    if same >= len(old):
        head = [*head, old[0]]  # a prefix before the same call
    elif same < len(old) - 1:
        return ""  # more than the beginning differs
    text = " ".join(head)
    return "" if not head or len(head) > 3 or is_session_specific(text) or instructs(text) else text
