"""Rejects tool calls that no prepared row can match, before anything is imported.

Agents call shells and read files all day. Importing JSON and SQLite takes as long as starting Python, so both wait for
a reason.
"""

from __future__ import annotations

import os

from holdfast.core import place
from holdfast.core.reading import bytes_of
from holdfast.hooks import host_protocol, trace

NAME = "hot.words"  # lines: `=piece` for commands, `/folder/name` for files, `//name` for those at the top
MOST_WORDS = 8 << 20  # bytes
_RESPONSE = b'"tool_response"'
_NESTED = b'"{\\"'  # arguments that are JSON in a string


def may_be_known(raw: bytes, host: str, env: dict[str, str]) -> bool:
    """False if the payload lacks every word that a prepared row requires."""
    directory = host_protocol.place_of(host, env)
    asked = raw.partition(_RESPONSE)[0]  # what a tool answered is long, and holds any word
    if not os.path.isabs(directory) or any(name in asked for name in host_protocol.ASKS):
        return True
    project = place.find(directory, place.home_of(env))
    if project is None:
        return False
    words = bytes_of(os.path.join(project.memory, NAME), MOST_WORDS)
    if words is None or len(words) == MOST_WORDS:
        return True  # prepared by an older version, or not at all: check fully
    if _NESTED in asked:
        asked = asked.replace(b'\\"', b'"')
    if not any(key in asked for key in host_protocol.COMMANDS):
        path = _first(asked, host_protocol.PATHS)
        if path is not None:
            return _is_hot(path, words) and not _is_told(path, asked, project.memory)
    for word in words.split(b"\n"):
        if word[:1] == b"=" and word[1:] in asked:
            return True
        if word[:1] == b"/":
            name = word.rpartition(b"/")[2]
            if name in asked and not _is_told(name, asked, project.memory):
                return True
    return False


def _is_hot(path: bytes, words: bytes) -> bool:
    folder, _, name = path.replace(b"\\\\", b"/").rpartition(b"/")
    if b"\\" in name:
        return True  # an escaped character: check fully
    words = b"\n%b\n" % words
    return b"\n/%b/%b\n" % (folder.rpartition(b"/")[2], name) in words or b"\n//%b\n" % name in words


def _is_told(path: bytes, asked: bytes, memory: str) -> bool:
    """Whether the session was told about a file whose path ends so."""
    told = trace.list_of_files(memory, _text(asked, host_protocol.SESSIONS))
    if not told:
        return False
    agent = _text(asked, (b'"agent_id"',)).encode() + b"\t"
    end = b"/" + path.replace(b"\\\\", b"/").lstrip(b"/")
    return any(line.startswith(agent) and line.endswith(end) for line in told)


def _text(asked: bytes, keys: tuple[bytes, ...]) -> str:
    return (_first(asked, keys) or b"").decode("utf-8", "replace")


def _first(asked: bytes, keys: tuple[bytes, ...]) -> bytes | None:
    """The text of the first of these keys in JSON, with its escapes; None if there is none."""
    for key in keys:
        at = asked.find(key)
        if at >= 0:
            colon, quote, rest = asked[at + len(key) :].partition(b'"')
            if quote and colon.strip() == b":":
                return rest.partition(b'"')[0]
    return None
