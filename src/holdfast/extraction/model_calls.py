"""Calls the model of the personal configuration, over HTTP or through a command: once, within a time limit.

Callers hold no lock. An error is one line without the key and without text from the endpoint, which may repeat the key.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct

from holdfast.core.bounded_process import run_bounded
from holdfast.core.errors import HoldfastError, ModelError, StoreError
from holdfast.core.hashes import blake2b
from holdfast.core.tokens import count_tokens
from holdfast.extraction.model_wire import (
    Answer,
    Endpoint,
    Question,
    answer_in,
    body,
    command_answer,
    endpoint_of,
    without_refused,
)
from holdfast.ledger.intake import stamped
from holdfast.ledger.markdown import current
from holdfast.ledger.rows import read_ledger
from holdfast.ledger.store import LedgerStore, ProjectLedger
from holdfast.model.events import DistilledSession, Usage, UsageTotal
from holdfast.model.ledger import Kind, LedgerEntry, Outcome, Tokens
from holdfast.sessions.cost import cost_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.settings import Settings

MOST_BYTES = 1 << 20
LONGEST_S = 120
_MOST_TRIES = 4  # an endpoint may refuse a field, and then another
_PIECE = 64 * 1024
AGENT = "holdfast"
UNKNOWN_USD = Decimal("0.01")  # a call of unknown price counts as this much towards the daily limit
T = TypeVar("T")

_STATUS = {
    400: "it does not take the request",
    401: "the key is refused",
    403: "the key is refused",
    404: "no such address or model there",
    408: "it timed out",
    413: "the question is too long for it",
    429: "too many requests, or no credit",
}


class Unmetered(ModelError):
    """The question was taken, and nobody can say what it cost: no answer in time, or none that says so."""

    code = "model-unmetered"


def seconds_of(settings: Settings) -> int:
    return min(max(settings.extractor_seconds, 1), LONGEST_S)


def target_of(machine: Machine, settings: Settings) -> str:
    """Where a question is sent, for display. Raises ModelError if the configuration is incomplete."""
    if settings.extractor == "command":
        _command_of(settings)
        return f"the command {settings.extractor_command[0]}"
    return endpoint_of(settings, machine.env).url


def ask(machine: Machine, settings: Settings, question: Question) -> Answer:
    """The model's answer. Raises ModelError; Unmetered if the failed call may still have cost something."""
    if settings.extractor == "command":
        return _ask_command(machine, settings, question)
    return _ask_endpoint(endpoint_of(settings, machine.env), question, seconds_of(settings))


# --- a command -----------------------------------------------------------------------------------------


def _command_of(settings: Settings) -> tuple[str, ...]:
    if not settings.extractor_command or not settings.extractor_command[0]:
        raise ModelError("extractor_command is not set", fix="Name the command in the personal configuration")
    return settings.extractor_command


def _ask_command(machine: Machine, settings: Settings, question: Question) -> Answer:
    # The command may be an agent whose own hooks would call the model again at its end, in an endless loop.
    env = {**machine.env, "HOLDFAST": "off"}
    text = f"{question.instructions}\n\n{question.text}\n"
    seconds = seconds_of(settings)
    try:  # not in the repository: its agent instructions are not meant for this call
        ran = run_bounded(
            _command_of(settings),
            machine.home,
            env,
            seconds,
            stdin=text.encode(),
            head=MOST_BYTES + 1,
            tail=0,
        )
    except StoreError as error:
        raise ModelError(error.problem, where="extractor_command", fix="Check its first word") from None
    if ran.exit_code is None:
        raise Unmetered(f"no answer within {seconds} s", where="extractor_command")
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
                raise Unmetered("it answered with a stream, which was not requested", where=endpoint.url)
            try:
                return answer_in(endpoint.style, data)
            except ModelError as error:
                raise Unmetered(error.problem, where=endpoint.url, fix=error.fix) from None
        sent = without_refused(sent, data[:4000].decode("utf-8", "replace")) if status == 400 else None
        if sent is None:
            break
    reason = _STATUS.get(status) or (
        "it redirects, and redirects are not followed" if 300 <= status < 400 else ""
    )
    message = f"it answered {status}" + (f": {reason}" if reason else "")
    raise ModelError(message, where=endpoint.url, fix="Nothing was extracted; lessons by rules are kept")


def _post(endpoint: Endpoint, data: bytes, end: float, seconds: int) -> tuple[int, str, bytes]:
    """Status, content type and body of the answer, within the limits of time and size."""
    # Imported here: they load slowly, and most people never use a model.
    import http.client
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        """Follows no redirects: the question is sent to the configured address only."""

        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    handlers: list[urllib.request.BaseHandler] = [Stay()]
    if endpoint.loopback:
        handlers.append(urllib.request.ProxyHandler({}))  # no proxy for loopback addresses
    opener = urllib.request.build_opener(*handlers)
    request = urllib.request.Request(endpoint.url, data=data, headers=endpoint.headers, method="POST")
    late = Unmetered(f"no answer within {seconds} s", where=endpoint.url)
    seconds_left = end - time.monotonic()
    if seconds_left <= 0:
        raise late
    try:
        with opener.open(request, timeout=seconds_left) as answer:
            return answer.status, answer.headers.get("content-type") or "", _body(answer, end, late)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, "", error.read(_PIECE)
    except TimeoutError:
        raise late from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise late from None
        reason = getattr(error.reason, "strerror", None) or type(error.reason).__name__
        raise ModelError(f"it cannot be reached: {reason}", where=endpoint.url) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unmetered(f"the connection broke: {type(error).__name__}", where=endpoint.url) from None


def _body(answer: IO[bytes], end: float, late: ModelError) -> bytes:
    """Reads the answer in pieces, so that a slow endpoint cannot exceed the time limit."""
    read = getattr(answer, "read1", answer.read)
    data = b""
    while piece := read(_PIECE):
        data += piece
        if len(data) > MOST_BYTES:
            raise Unmetered(f"it answered more than {MOST_BYTES >> 20} MB")
        if time.monotonic() > end:
            raise late
    return data


# --- cost: a ledger row for each call, and a daily limit over all projects ---------------------------------


class Meter(Struct, frozen=True):
    """Calls the model for one purpose, which is the goal in the ledger rows of its calls."""

    machine: Machine
    project: Project
    settings: Settings
    goal: tuple[str, ...]

    def ask(
        self, question: Question, read: Callable[[str], T], row_id: Callable[[], str]
    ) -> tuple[T, Decimal | None]:
        """The result of `read` on the answer, and the cost (None if unknown).

        Every call that was sent gets a row, even if its answer is late or useless.
        """
        target_of(self.machine, self.settings)  # a wrong configuration is reported before anything else
        self._check_limit(question)
        answer: Answer | None = None
        try:
            answer = ask(self.machine, self.settings, question)
            value = read(answer.text)
        except ModelError as error:
            if answer is not None or isinstance(error, Unmetered):
                self._record(row_id(), answer, Outcome.FAILED)
            raise
        return value, self._record(row_id(), answer, Outcome.DONE)

    def _check_limit(self, question: Question) -> None:
        """Refuses a call that might exceed the daily limit."""
        limit = Decimal(str(self.settings.extractor_daily_usd))
        tokens = count_tokens(question.instructions) + count_tokens(question.text)
        likely = self._price(Usage(input=tokens, output=question.most_output), None)
        spent = spent_today(self.machine)
        if spent + (UNKNOWN_USD if likely is None else likely) > limit:
            raise ModelError(
                f"the day's limit of ${limit} is reached (${spent:.4f} spent)",
                where="extractor_daily_usd",
                fix="It resets at midnight UTC",
            )

    def _record(self, row_id: str, answer: Answer | None, outcome: Outcome) -> Decimal | None:
        usage = answer.usage if answer is not None else None
        cost = self._price(usage, answer.usd if answer is not None else None)
        now = self.machine.now()
        row = LedgerEntry(
            session=row_id,
            model=self.machine.clean(label_of(self.settings)),
            cost_usd=cost,
            goal=self.goal,
            timestamp=now,
            agent=AGENT,
            provider=self.settings.extractor,
            kind=Kind.OTHER,
            tokens=None
            if usage is None
            else Tokens(usage.input, usage.output, usage.cache_read, usage.cache_write),
            outcome=outcome,
            recorded=now,
        )
        ProjectLedger(self.project).append([stamped(row, self.machine.clock)])
        return cost

    def _price(self, usage: Usage | None, stated: float | None) -> Decimal | None:
        settings = self.settings
        if stated is not None:
            return Decimal(str(round(stated, 6)))
        if usage is None or not settings.extractor_model:
            return None
        vendor = settings.extractor if settings.extractor != "command" and not settings.extractor_url else ""
        total = UsageTotal(settings.extractor_model, 0, usage, 1)
        return cost_of(total, vendor, self.machine.now().timestamp())


def label_of(settings: Settings) -> str:
    """The model's name in evidence and rows: one short word."""
    name = settings.extractor_model or settings.extractor_command[0].replace("\\", "/").rpartition("/")[2]
    return "".join(sign if sign.isalnum() or sign in "._/-" else "-" for sign in name)[:60]


def spent_today(machine: Machine) -> Decimal:
    """The cost of all model calls since midnight UTC, in all projects of this user."""
    day = machine.now().date()
    begins = datetime.combine(day, datetime.min.time(), machine.now().tzinfo).timestamp()
    spent = Decimal(0)
    for path in sorted((machine.home / "projects").glob("*/ledger.md")):
        try:
            if path.stat().st_mtime < begins:
                continue
            entries = LedgerStore(path, path.parent / "locks" / "ledger.lock").read().entries
        except (OSError, HoldfastError):
            continue
        for row in current(entries):
            if row.agent == AGENT and row.timestamp is not None and row.timestamp.date() == day:
                spent += UNKNOWN_USD if row.cost_usd is None else row.cost_usd
    return spent


# --- the ledger row of each call ---------------------------------------------------------------------------


class CallNames(Struct, frozen=True):
    """Names the ledger rows of one kind of call. Released names stay, so that a session is not sent twice."""

    letter: str
    seed: str = ""

    def next(self, project: Project, record: DistilledSession) -> str:
        """A new name for each call: a session may be sent again, on request or after it was resumed."""
        known = {row.session for row in read_ledger(project).entries}
        number = 0
        while (name := self._name(record, number)) in known:
            number += 1
        return name

    def was_sent(self, project: Project, record: DistilledSession) -> bool:
        return self._name(record, 0) in {row.session for row in read_ledger(project).entries}

    def _name(self, record: DistilledSession, number: int) -> str:
        seed = f"{self.seed}{record.session}\n{record.ended}\n{number}".encode("utf-8", "replace")
        return f"{self.letter}-{blake2b(seed, digest_size=6).hexdigest()}"
