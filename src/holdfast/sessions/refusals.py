"""Calls that never ran because a hook, or a client's configuration, refused them: what was refused, and in whose words.

A person's own "no" is of the moment and is not among them. A hook's words are a text of the repository: they are kept
short, as words about the call, and none that speaks past it to whoever reads.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import late
from holdfast.core.shell import Simple, names, simple_commands, unquoted
from holdfast.guard.hidden_text import instructs, why_line_refused
from holdfast.model.events import Action, ToolResult
from holdfast.model.lesson import Stumble
from holdfast.sessions.command_words import REST, specific, subject_of
from holdfast.sessions.experience import keep
from holdfast.sessions.harvest_state import Gathered, raw
from holdfast.sessions.remedies import WITH_SUBCOMMANDS

LONGEST = 140  # of a hook's words
MOST_NAMED = 4  # commands of one line that may be what was refused
CLIENT = "client"  # of what the agent's own client refuses, whatever the repository
PERMISSIONS = "permissions"  # the subject of what a client's configuration refuses; a hook's are its words
_HALF = 0.5
_QUICK = ("ook", "locked", "LOCKED", "denied.", "specified a rule", "enied by")
_HOOK = r"(?:\[(?P<by>.{0,600}?)\]: ?)?(?P<why>.*)"
_SHAPES = (
    late(
        rf"(?:Error: )?PreToolUse:(?P<tool>\w+) hook (?:blocking )?error(?: from command: \S+)?: ?{_HOOK}",
        re.S,
    ),
    late(r"(?:Hook )?PreToolUse:(?P<tool>\w+) (?:hook )?denied this tool\.?:?\s*(?P<why>.*)", re.S),
    late(rf"(?P<tool>\w+) operation blocked by hook:\s*(?:- )?{_HOOK}", re.S),
    late(
        r"(?:Command|Tool(?: \w+)?) (?:was )?(?:blocked|denied)(?: by (?:an? )?(?:\w+ )?hook)?: ?(?P<why>.*)",
        re.S,
    ),
    late(r"Denied by preToolUse hook(?: from \"[^\"]*\")?(?: \((?P<by>[^)]*)\))?:?\s*(?P<why>.*)", re.S),
)
_BY_CONFIGURATION = late(
    r"Permission to use (?P<tool>\w+)(?: with command .{1,2000})? has been denied\.?\s*\Z"
    r"|The user has specified a rule which prevents you from using this specific tool call",
    re.S,
)
_IN_ITS_OWN_WORDS = late(
    r"\W{0,4}(?:[\w-]+ ){0,3}(?:blocked|Blocked|BLOCKED)\b(?!.*\buser\b).{10,600}\Z", re.S
)
_BY_CLIENT = late(
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
_ECHOED = late(r"\becho\s+(['\"])(?P<why>[^'\"]{8,300})\1")
_CALL_AGAIN = late(r"\.? Command: .*\Z", re.S)
_SUGGESTED = late(
    r"\s*\b(?:suggested command|suggestion|use instead|run instead|try instead|instead,? (?:run|use)|try)\s*:\s*"
    r"`?(?P<command>[^\n`]{2,600})",
    re.I,
)
_MARKS = late(r"\A(?:[^\w'\"(<]+|(?:BLOCK(?:ED)?|DENIED|ERROR|Error|Blocked)\s*[:—–-]+\s*)+")
_EXAMPLE = late(r"\s*\((?:e\.g\.|i\.e\.|such as)[^()]*\)")
_URL = late(r"https?://[^\s'\"`]+")
_SENTENCE = late(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[a-z]{2,}")
_NO_COMMANDS = names("cd echo printf true false : set export source . sleep")


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
            subject=raw(whose),
            token=raw(token),
            tried=raw(token),
            failed=raw(refused.why),
            instead=raw(instead),
            at=event.at,
        )
        keep(state, made)
        state.refused[made.token] = made.key
    return True


def ran_all_the_same(state: Gathered, command: str) -> None:
    """A call that was not refused: what was refused before is not refused each time."""
    if not any(_begins(command, token) for token in state.refused):
        return
    for part in simple_commands(command):
        if part.words and not part.variables:
            for token in {part.program, _asked(part)} & state.refused.keys():
                key = state.refused.pop(token)  # nothing more is to be known of it
                if key in state.stumbles:
                    state.stumbles[key] = replace(state.stumbles[key], sometimes=True)


def _begins(command: str, token: str) -> bool:
    """Whether one of the commands of a line may begin so: asked first, because taking it apart costs more."""
    return command.startswith(token) or any(
        f"{join}{token}" in command for join in ("&& ", "; ", "| ", "\n", "(")
    )


def refusal_in(event: ToolResult, command: str, *, shell: bool) -> Refusal | None:
    """Whether a call never ran, by what the client says of it: a program that ran has an exit code."""
    head = event.text[:400]
    if event.ok is True or event.exit_code is not None or not any(sign in head for sign in _QUICK):
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
    text = " ".join("<path>" if specific(word) else word for word in text.split())
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
    return "" if not head or len(head) > 3 or specific(text) or instructs(text) else text
