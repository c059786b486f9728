"""Asks the model that the personal configuration names, over HTTP or through a command: once, and within a time limit.

No lock is held by whoever calls this. What goes wrong is one line that holds nothing of the key and nothing of what the
endpoint said: an error page may repeat both.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import IO, Any

import msgspec

from holdfast.app.model_wire import (
    Answer,
    Endpoint,
    Question,
    answer_in,
    body,
    command_answer,
    endpoint_of,
    without_refused,
)
from holdfast.app.settings import Settings
from holdfast.app.wiring import Machine
from holdfast.errors import ModelError, StoreError

MOST_BYTES = 1 << 20
LONGEST_S = 120
_MOST_TRIES = 4  # an endpoint may refuse a field, and then another
_PIECE = 64 * 1024

_STATUS = {
    400: "it does not take the request",
    401: "the key is refused",
    403: "the key is refused",
    404: "no such address or model there",
    408: "it gave up waiting",
    413: "the question is too long for it",
    429: "too many requests, or no credit",
}


class Unmetered(ModelError):
    """The question was taken, and nobody can say what it cost: no answer in time, or none that says so."""

    code = "model-unmetered"


def seconds_of(settings: Settings) -> int:
    return min(max(settings.extractor_seconds, 1), LONGEST_S)


def target_of(machine: Machine, settings: Settings) -> str:
    """Where a question goes, as it may be shown; an error when the configuration names no such place."""
    if settings.extractor == "command":
        _command_of(settings)
        return f"the command {settings.extractor_command[0]}"
    return endpoint_of(settings, machine.env).url


def ask(machine: Machine, settings: Settings, question: Question) -> Answer:
    """The model's answer. Raises ModelError; Unmetered where the question may have cost something all the same."""
    if settings.extractor == "command":
        return _ask_command(machine, settings, question)
    return _ask_endpoint(endpoint_of(settings, machine.env), question, seconds_of(settings))


# --- a command -----------------------------------------------------------------------------------------


def _command_of(settings: Settings) -> tuple[str, ...]:
    if not settings.extractor_command or not settings.extractor_command[0]:
        raise ModelError("extractor_command is not set", fix="Name the command in the personal configuration")
    return settings.extractor_command


def _ask_command(machine: Machine, settings: Settings, question: Question) -> Answer:
    from holdfast.app.running import answer_of

    # An agent that is asked is a session too: its own hooks would ask again at its end, and so on for ever.
    env: Mapping[str, str] = {**machine.env, "HOLDFAST": "off"}
    text = f"{question.instructions}\n\n{question.text}\n"
    # Not in the repository: whatever stands there to be obeyed by agents is not for this one.
    try:
        ran = answer_of(
            _command_of(settings), text.encode(), machine.home, env, seconds_of(settings), MOST_BYTES
        )
    except StoreError as error:
        raise ModelError(error.problem, where="extractor_command", fix="Check its first word") from None
    if ran.exit_code is None:
        raise Unmetered(f"no answer within {seconds_of(settings)} s", where="extractor_command")
    if ran.exit_code != 0:
        raise Unmetered(f"it ended with {ran.exit_code}", where="extractor_command", fix="Run it by hand")
    if len(ran.output) > MOST_BYTES:
        raise Unmetered(f"it printed more than {MOST_BYTES >> 20} MB", where="extractor_command")
    return command_answer(ran.output)


# --- an endpoint ---------------------------------------------------------------------------------------


def _ask_endpoint(endpoint: Endpoint, question: Question, seconds: int) -> Answer:
    sent: dict[str, Any] | None = body(endpoint, question)
    end = time.monotonic() + seconds
    for _ in range(_MOST_TRIES):
        assert sent is not None
        status, kind, data = _post(endpoint, msgspec.json.encode(sent), end, seconds)
        if status == 200:
            if "event-stream" in kind:
                raise Unmetered("it answered with a stream, which was not asked for", where=endpoint.url)
            return _understood(endpoint, data)
        sent = without_refused(sent, data[:4000].decode("utf-8", "replace")) if status == 400 else None
        if sent is None:
            break
    where = _STATUS.get(status) or ("it redirects, which is not followed" if 300 <= status < 400 else "")
    told = f"it answered {status}" + (f": {where}" if where else "")
    raise ModelError(told, where=endpoint.url, fix="Nothing was extracted; lessons by rules are kept")


def _understood(endpoint: Endpoint, data: bytes) -> Answer:
    try:
        answer = answer_in(endpoint.style, data)
    except ModelError as error:
        raise Unmetered(error.problem, where=endpoint.url, fix=error.fix) from None
    return answer


def _post(endpoint: Endpoint, data: bytes, end: float, seconds: int) -> tuple[int, str, bytes]:
    """Status, content type and body of the answer, all of it by `end` and within bounds."""
    # Takes long to load, and most people never ask a model.
    import http.client
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        """What is sent is for the place that was configured, and for no other."""

        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    handlers: list[urllib.request.BaseHandler] = [Stay()]
    if endpoint.loopback:
        handlers.append(urllib.request.ProxyHandler({}))  # this machine is not asked through another one
    opener = urllib.request.build_opener(*handlers)
    request = urllib.request.Request(endpoint.url, data=data, headers=endpoint.headers, method="POST")
    late = Unmetered(f"no answer within {seconds} s", where=endpoint.url)
    left = end - time.monotonic()
    if left <= 0:
        raise late
    try:
        with opener.open(request, timeout=left) as answer:
            return answer.status, answer.headers.get("content-type") or "", _body(answer, end, late)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, "", error.read(_PIECE)
    except TimeoutError:
        raise late from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise late from None
        told = getattr(error.reason, "strerror", None) or type(error.reason).__name__
        raise ModelError(f"it cannot be reached: {told}", where=endpoint.url) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unmetered(f"the connection broke: {type(error).__name__}", where=endpoint.url) from None


def _body(answer: IO[bytes], end: float, late: ModelError) -> bytes:
    """All that was said, read piece by piece: an endpoint that drips is not waited for."""
    read = getattr(answer, "read1", answer.read)
    data = b""
    while piece := read(_PIECE):
        data += piece
        if len(data) > MOST_BYTES:
            raise Unmetered(f"it answered more than {MOST_BYTES >> 20} MB")
        if time.monotonic() > end:
            raise late
    return data
