"""Adds context to a tool call: the remedy for a command that is known to fail, the earlier answer to a question, or
what was decided about a file (`hooks/file_moment.py`).

The hook never blocks a call.
"""

from __future__ import annotations

import os

from holdfast.core.shell_calls import READERS, Call, calls
from holdfast.hooks import trace
from holdfast.hooks.host_protocol import FILE_TOOLS, READ

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call as HostCall
    from holdfast.hooks.prepared import Prepared

    Line = tuple[str, str]  # text and reason

SHELL, ASK = "Bash", "AskUserQuestion"
MOST_TOKENS = 800  # in a session, at all events together
MOST_LINES = 2  # at one call
MOST_QUESTIONS = 4
LONGEST_QUESTION = 1_000
LONGEST_PATH = 4_096
MOST_FILES = 32  # of one command
PATHS = ("file_path", "filePath", "absolute_path", "path")
NOTED = " · holdfast: answered so before"


def respond(prepared: Prepared, call: HostCall, directories: list[str], found: Place) -> bytes:
    """The answer to the host, to accompany the call's result; nearly always empty."""
    payload = call.payload
    tool, tool_input = payload.get("tool_name"), payload.get("tool_input")
    if not isinstance(tool_input, dict):
        return b""
    changed = None
    if tool == SHELL:
        command, failed = tool_input.get("command"), call.afterwards and call.failed()
        lines = (
            []
            if call.afterwards and not failed
            else _remedies(prepared, command, directories[-1], found.root)
        )
        if not lines and not failed:
            return _at_files(prepared, command, directories[-1], call, found)
    elif isinstance(tool, str) and tool in FILE_TOOLS:
        return _at_files(prepared, tool_input, directories[-1], call, found)
    elif tool == ASK and not payload.get("agent_id"):
        answers = _answers(prepared, tool_input, payload, found)
        lines = [(row["text"], row["reason"]) for _, row in answers]
        changed = None if call.afterwards else _noted(tool_input, answers)
    else:
        return b""
    if not lines:
        return b""
    if not call.heard:
        lines = []
    return _told(lines, changed, tool, call, found)


def _at_files(prepared: Prepared, about: object, cwd: str, call: HostCall, found: Place) -> bytes:
    """What was decided about the file that a call reads or changes; `about` is its command or its arguments."""
    if not call.heard:
        return b""
    paths = _path_in(about, cwd) if isinstance(about, dict) else _read_by(about, cwd)
    if not paths:
        return b""
    from holdfast.hooks import file_moment

    lines = file_moment.lines_for(prepared, paths, call, found)
    if not lines:
        return b""
    return _told(lines, None, READ, call, found, file_moment.room(found.memory, call.text("session_id")))


def _path_in(tool_input: dict[Any, Any], cwd: str) -> list[str]:
    """The file that a call of a host's own tool is about."""
    for name in PATHS:
        path = tool_input.get(name)
        if isinstance(path, str) and 0 < len(path) <= LONGEST_PATH and "\0" not in path:
            return [os.path.join(cwd, os.path.expanduser(path))]
    return []


def _read_by(command: object, cwd: str) -> list[str]:
    """The files that a command prints: some agents have no other way to read one."""
    if not isinstance(command, str) or not command:
        return []
    paths = []
    for call in calls(command):
        if call.words[0] in READERS:
            folder = os.path.join(cwd, os.path.expanduser(call.directory))
            words = [word for word in call.words[1:] if word[:1] != "-" and "." in word]
            paths += [os.path.join(folder, os.path.expanduser(word)) for word in words]
    return paths[:MOST_FILES]


def _remedies(prepared: Prepared, command: object, cwd: str, root: str) -> list[Line]:
    if not isinstance(command, str) or not command:
        return []
    remedies: dict[str, str] = {}
    for call in calls(command):
        for row in prepared.moments(SHELL, call.words[0]):
            if len(remedies) < MOST_LINES and fits(row, call, cwd, root):
                remedies[row["text"]] = row["reason"]
    return list(remedies.items())


def fits(row: dict[str, Any], call: Call, cwd: str, root: str) -> bool:
    """Whether a call is the one that failed. Its program is the row's key already.

    `flag`: an option that the program does not know, wherever it runs. `program`: the program does not exist.
    `word` and `path`: a missing target, module or file, so the directory counts. `whole`: the cause is unknown, so the
    words must be the same.
    """
    rule, token, needs = row["rule"], row["token"], row["needs"]
    if rule == "whole":
        return call.words[1:] == needs and not call.ready and _is_at(row["place"], call, cwd, root)
    if not _in_order(needs, call.words[1:]):
        return False
    if rule == "flag":
        return token in call.words
    if call.ready:
        return False
    if rule == "program":
        return True
    has_token = token in call.words or any(token in word.split(",") for word in call.words if "," in word)
    if not has_token or not _is_at(row["place"], call, cwd, root):
        return False
    return rule == "word" or (rule == "path" and not os.path.lexists(os.path.join(_where(call, cwd), token)))


def _in_order(needed: list[str], words: list[str]) -> bool:
    rest = iter(words)
    return all(word in rest for word in needed)


def _where(call: Call, cwd: str) -> str:
    return os.path.join(cwd, os.path.expanduser(call.directory)) if call.directory else cwd


def _is_at(place: str, call: Call, cwd: str, root: str) -> bool:
    """Whether a call runs in the folder of the project in which it failed."""
    return place_of(_where(call, cwd), root) == place


def place_of(folder: str, root: str) -> str:
    """A folder relative to the project's root: '' is the root itself."""
    folder, root = os.path.realpath(folder), os.path.realpath(root)
    if folder == root:
        return ""
    return folder[len(root) + 1 :] if folder.startswith(root + os.sep) else folder


def _answers(
    prepared: Prepared, given: dict[Any, Any], payload: dict[str, object], found: Place
) -> list[tuple[int, dict[str, Any]]]:
    """The questions of a call that were answered before, by number, each with the row that answers it."""
    questions = given.get("questions")
    if not isinstance(questions, list):
        return []
    answered = []
    for number, question in enumerate(questions[:MOST_QUESTIONS]):
        text = question.get("question") if isinstance(question, dict) else None
        if isinstance(text, str) and 0 < len(text) <= LONGEST_QUESTION:
            session = payload.get("session_id")
            project = prepared.project_of(session if isinstance(session, str) else "", found.branch())
            row = _answer(prepared, text, project)
            if row is not None:
                answered.append((number, row))
    return answered


def _answer(prepared: Prepared, text: str, project: str) -> dict[str, Any] | None:
    exact = prepared.moments(ASK, folded(text), project)
    if exact:
        return exact[0]
    candidates = prepared.moments(ASK, None, project)
    if not candidates:
        return None
    # Imported late: it takes as long to load as all of the above. The call waits for a person, who takes longer.
    from holdfast.core.likeness import Likeness, asks_for, compare_signatures, signature

    wanted, kind = signature(text.rstrip(" ?")), asks_for(text)
    for row in candidates:
        earlier_question = row["needs"][0]
        if asks_for(earlier_question) == kind:
            verdict = compare_signatures(signature(earlier_question.rstrip(" ?")), wanted)
            if verdict.likeness is Likeness.SAME:
                return row
    return None


def folded(text: str) -> str:
    """Folds words for an id like `model/memory.py`."""
    return " ".join(text.casefold().split()).rstrip(".!?;: ")


def _noted(given: dict[Any, Any], answers: list[tuple[int, dict[str, Any]]]) -> dict[Any, Any] | None:
    """The questions with a note beside the choice that was made before; None if no choice matches.

    Context reaches the model after the person has answered; the person sees this before.
    """
    changed = False
    questions = list(given["questions"]) if answers else []
    for number, row in answers:
        options = questions[number].get("options")
        if not isinstance(options, list) or not all(isinstance(option, dict) for option in options):
            continue
        noted = [
            {**option, "description": f"{_text(option.get('description'))}{NOTED} [{row['id']}]"}
            if folded(_text(option.get("label"))) == folded(row["token"])
            else option
            for option in options
        ]
        if noted != options:
            questions[number] = {**questions[number], "options": noted}
            changed = True
    return {**given, "questions": questions} if changed else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _told(
    lines: list[Line],
    changed: dict[Any, Any] | None,
    tool: str,
    call: HostCall,
    found: Place,
    most: int = MOST_TOKENS,
) -> bytes:
    """The answer with the lines that are new to this session, or to the calling subagent, within the budget."""
    from holdfast.hooks.emit import spoken
    from holdfast.hooks.start_lines import Told, fitting
    from holdfast.hooks.trace import entry, is_first

    session, agent = call.text("session_id"), call.text("agent_id")
    heard = trace.heard(found.memory, session, agent=agent)
    new = [line for line in lines if line[0] not in heard]
    if new and os.path.exists(os.path.join(found.memory, "imported.json")):
        from holdfast.hooks.own_reading import unread

        new = unread(new, found.memory, call.host)
    room = max(0, min(most, MOST_TOKENS - trace.spent(found.memory, session)))
    fitted, _ = fitting(new, room) if new else ([], 0)
    if fitted and not is_first(fitted, call, found):
        fitted = []
    if not fitted and changed is None:
        return b""
    context = Told(fitted)
    if fitted:
        trace_entry = {**entry(call, found), "source": "", "tool": tool, "agent": agent}
        # Recorded before it is injected: what cannot be explained is not injected.
        trace.record(found.memory, trace_entry, fitted, context.tokens)
    return spoken(context, call, {"updatedInput": changed} if changed is not None else {})
