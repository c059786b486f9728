"""Endpoints, account ids and other names that commands returned or answered to, each with its command.

A value counts if its key names a lasting thing (an account, a tenant, a host), or if later commands use it. What is new
at each call is no fact: ids of sessions, messages, requests, tool calls, processes and jobs, and temporary paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.patterns import PrefilteredRegex, lazy_regex
from holdfast.model.memory import FactCategory
from holdfast.sessions.digest import MOST_WATCHED, Gathered, Mention, cut_raw_line

LOOK_AT = 6_000  # characters of an output
LONGEST_LABEL = 30
LONGEST_VALUE = 120
MOST_OF_AN_OUTPUT = 3
KEPT = 2  # uses from which a value is a fact

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID = lazy_regex(rf"(?<![\w/\\-]){_UUID}(?![\w-])")
_PAIR = lazy_regex(r"[\"']?([A-Za-z][\w .-]{1,40}?)[\"']?\s*[:=]\s*[\"']?([^\s\"',;|]{4,120})")
_LASTING = lazy_regex(
    r"(?:account|tenant|organi[sz]ation|org|subscription|client|project|app(?:lication)?|workspace|zone|cluster|vpc"
    r"|registry|pool|directory)(?: (?:id|number|arn|uuid|key))?|(?:\w+ )?arn"
    r"|(?:\w+ ){0,2}(?:url|uri|endpoint|host(?:name)?|local|network|address|dsn)"
)
_VALUE = lazy_regex(
    rf"{_UUID}|arn:[\w-]+:[^\s]+|\d{{8,16}}|[a-z]{{2,8}}[_-][A-Za-z0-9]{{6,40}}"
    r"|(?:https?|wss?|postgres(?:ql)?|redis|mysql|amqp|mongodb)://[^\s]+"
)
# What an id in a command belongs to: `--session ID`, `resume ID`.
_OF_A_MOMENT = lazy_regex(
    r"(?:session|resume|continue|request|req|trace|span|message|msg|thread|conversation|turn|call|run|job|task|process"
    r"|pid|checkpoint|event|correlation|invocation|execution)[\w-]*[\s=:\"']*\Z",
    re.IGNORECASE,
)
_WORDS = lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# Programs that show files or the shell's own state: what they print was not returned by anything.
_SHOWS_FILES = lazy_regex(
    r"\s*(?:cat|nl|bat|for|if|while|source|bash|sh|zsh|sleep|gh|glab|head|tail|less|more|grep|egrep|rg|ag|sed|awk|find|fd|ls|tree|diff|git|jq|sort|echo|printf|env|cd|ps"
    r"|python3?|node|bun|deno|ruby|cargo|go|pytest|npx|tsc|rm|mv|cp|mkdir|touch|wc|xxd|strings|export|set|sqlite3)\b"
)
_SEVERAL = lazy_regex(
    r"&&|\|\||;|\$\(|\n|<<|\|(?!\s*(?:jq|head|tail)\b)"
)  # it is unclear which of them returned it
_SERVES = lazy_regex(r"\b(?:dev|serve|start|preview|up|runserver|watch|server)\b")

_CALLS = lazy_regex(r"(?:^|[\s;&|(])(?:curl|wget|http|https|xh|grpcurl|psql|redis-cli)\s")
_URL = lazy_regex(r"\b(?:https?|postgres(?:ql)?|redis|wss?)://[^\s\"'`\\|;)>$]+")
_HOST = lazy_regex(r"\w+://(?:[^@/\s]*@)?(\[[0-9a-f:]+\]|[^:/?#\s]+)")
_OF_THIS_NETWORK = lazy_regex(
    r"localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+"
    r"|[\w-]+|[\w.-]+\.(?:local|internal|lan|test|localhost)"
)
_AN_INTERFACE = lazy_regex(r"://(?:[\w-]+\.)*api[\w-]*\.|/(?:api|graphql|rpc|v\d+)(?:/|$)")
_EVERYBODYS = lazy_regex(
    r"(?:[\w-]+\.)*(?:github\.com|githubusercontent\.com|gitlab\.com|bitbucket\.org|npmjs\.(?:org|com)|pypi\.org"
    r"|crates\.io|golang\.org|docker\.(?:io|com)|googleapis\.com|anthropic\.com|openai\.com|huggingface\.co|example\.\w+)"
)
_A_FILE = lazy_regex(
    r"\.(?:m?js|css|md|html?|png|jpe?g|svg|gif|ico|xml|txt|sh|zip|gz|tgz|pdf|woff2?|map|ya?ml)\Z"
)
_REFUSED = PrefilteredRegex(
    r"failed to connect|could ?n[o']t (?:connect|resolve)|connection refused|no matches found|not found|bad gateway"
    r"|http/\S+ [45]\d\d|\berror\b|timed? ?out|unauthori[sz]ed|forbidden",
    re.IGNORECASE,
)
_ANSWER = lazy_regex(
    r"[\[{].*|HTTP/\S+ [23]\d\d.*|<!doctype html.*|<html.*|ok|pong|healthy|\d{3}", re.IGNORECASE
)


def watch_values(state: Gathered, command: str, output: str, at: float | None) -> None:
    """Record what a command that worked was answered by, and what it returned."""
    if "://" in command and _CALLS.search(command):
        _answered(state, command, output, at)
    elif command.count("-") >= 4 and (match := _ID.search(command)):
        if not _OF_A_MOMENT.search(command[: match.start()]):
            _used(state, match[0], command, output, at)
    elif output and not _SEVERAL.search(command) and not _SHOWS_FILES.match(command):
        _returned(state, command, output, at)


def _answered(state: Gathered, command: str, output: str, at: float | None) -> None:
    match = _URL.search(command)
    if match is None or "\n" in command:
        return
    # Query parameters vary: `?lat=37&limit=5` and `?limit=2` are the same endpoint.
    name = match[0].partition("?")[0].rstrip(".,/")
    if is_worth_keeping(name) and (line := _answer_in(output)):
        note_mention(state, name, FactCategory.ENDPOINT, command, line, at)


def is_worth_keeping(url: str) -> bool:
    """Whether an address is of this project: a host of this network, or an interface that is not everybody's."""
    host = _HOST.match(url)
    if host is None or _A_FILE.search(url) or _ID.search(url):
        return False
    if _OF_THIS_NETWORK.fullmatch(host[1]):
        return True
    return bool(_AN_INTERFACE.search(url)) and not _EVERYBODYS.fullmatch(host[1])


def _answer_in(output: str) -> str:
    """Return the line that shows an answer; '' if the call was refused or only its progress is shown."""
    head = output[:LOOK_AT]
    if _REFUSED.search(head[:400]):
        return ""
    return next((line for line in map(str.strip, head.splitlines()) if _ANSWER.fullmatch(line)), "")


def _used(state: Gathered, value: str, command: str, output: str, at: float | None) -> None:
    """A UUID in a command: it counts if the command shows it too, or an earlier one returned it."""
    known = state.mentions.get(value)
    if known is not None:
        known.times += command != known.command
    elif value in output and (line := _line_with(output, value)):
        note_mention(state, value, FactCategory.ID, command, line, at)


def _returned(state: Gathered, command: str, output: str, at: float | None) -> None:
    serves = _SERVES.search(command) is not None
    for number, (label, value, line) in enumerate(_pairs(output[:LOOK_AT])):
        if number >= MOST_OF_AN_OUTPUT:
            return
        address = "://" in value
        if address and not (is_worth_keeping(value) and (serves or "url" in label or "endpoint" in label)):
            continue
        name = f"{label} {value.rstrip('/.')}"
        category = FactCategory.ENDPOINT if address else FactCategory.ID
        note_mention(state, name, category, command, line, at, times=KEPT)


def _pairs(output: str) -> Iterator[tuple[str, str, str]]:
    """The lasting values in an output: the words of the key, the value, and the line."""
    if ":" not in output and "=" not in output:
        return
    for line in output.splitlines():
        if len(line) > 400 or (":" not in line and "=" not in line):
            continue
        for key, value in _PAIR.findall(line):
            label = " ".join(_WORDS.findall(key)).casefold()
            if (
                len(label) <= LONGEST_LABEL
                and _LASTING.fullmatch(label)
                and _VALUE.fullmatch(value.rstrip("/."))
            ):
                yield label, value, " ".join(line.split())


def _line_with(output: str, value: str) -> str:
    place = output.find(value)
    start = output.rfind("\n", 0, place) + 1
    return " ".join(output[start : output.find("\n", place) if "\n" in output[place:] else None].split())[
        :300
    ]


def note_mention(
    state: Gathered, name: str, category: str, command: str, line: str, at: float | None, *, times: int = 1
) -> None:
    known = state.mentions.get(name)
    if known is not None:
        known.times += command != known.command
    elif len(state.mentions) < MOST_WATCHED and len(name) <= LONGEST_LABEL + LONGEST_VALUE:
        state.mentions[cut_raw_line(name)] = Mention(
            category, cut_raw_line(command), cut_raw_line(line), at, times
        )
