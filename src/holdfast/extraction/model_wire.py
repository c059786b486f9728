"""The two wire formats of model endpoints: builds a request, and parses the response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from holdfast.core.errors import ModelError
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Usage
from holdfast.store.settings import Settings

MOST_TOKENS = 10_000_000  # of one answer: a larger number is an error
_VENDORS = {
    "openai": ("https://api.openai.com/v1", "/chat/completions", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "/messages", "ANTHROPIC_API_KEY"),
}
_LOOPBACK = lazy_regex(r"localhost|127(?:\.\d{1,3}){3}|::1")
_WHERE = "extractor_url"
_LEFT_OUT = ("temperature", "thinking", "reasoning_effort")


class Question(Struct, frozen=True):
    """What a model is asked, and how long its answer may be."""

    instructions: str
    text: str
    most_output: int


class Answer(Struct, frozen=True):
    """A model's answer. `usage` is None if the response has none; `usd` is the cost if the response states it."""

    text: str
    usage: Usage | None = None
    usd: float | None = None


class Endpoint(Struct, frozen=True):
    """Where a question is sent, and with which key. `key` is never displayed."""

    style: str
    url: str
    model: str
    key: str
    loopback: bool

    @property
    def headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "holdfast"}
        if self.style == "anthropic":
            headers["anthropic-version"] = "2023-06-01"
        if self.key:
            headers |= (
                {"x-api-key": self.key}
                if self.style == "anthropic"
                else {"authorization": f"Bearer {self.key}"}
            )
        return headers


def endpoint_of(settings: Settings, env: Mapping[str, str]) -> Endpoint:
    """The configured endpoint with its key. Raises ModelError if the configuration is incomplete or unsafe."""
    style = settings.extractor
    base, path, variable = _VENDORS[style]
    if not settings.extractor_model:
        raise ModelError("extractor_model is not set", fix="Name the model in the personal configuration")
    parts = _address(settings.extractor_url or base)
    loopback = _LOOPBACK.fullmatch(parts.hostname or "") is not None
    if parts.scheme == "http" and not loopback:
        raise ModelError("http is only allowed for this machine", where=_WHERE, fix="Use https")
    # A vendor's key from the environment is only sent to that vendor.
    key_variable = settings.extractor_key_env or (variable if not settings.extractor_url else "")
    key = env.get(key_variable, "").strip() if key_variable else ""
    if key_variable and not key:
        # Without the variable's name: it may be a key that was pasted there by mistake.
        variable_shown = (
            "the variable that extractor_key_env names" if settings.extractor_key_env else variable
        )
        raise ModelError(
            f"{variable_shown} is not set", fix="Export the key in the shell that starts your agent"
        )
    if not key.isascii() or not key.isprintable():
        raise ModelError("the key contains characters that a header cannot hold", fix="Export it again")
    trimmed = parts.geturl().rstrip("/")
    # The URL may be given with or without the end of its path.
    url = trimmed if trimmed.endswith(path) else f"{trimmed}{path}"
    if style == "anthropic" and settings.extractor_url and parts.path in ("", "/"):
        url = f"{trimmed}/v1{path}"
    return Endpoint(style, url, settings.extractor_model, key, loopback)


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - says whether it is a number
    except ValueError:
        raise ModelError("it is not a valid address", where=_WHERE, fix="Use https://host/v1") from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not url.isascii()
        or not url.isprintable()
    ):
        raise ModelError("it is not a valid address", where=_WHERE, fix="Use https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ModelError(
            "it contains more than an address", where=_WHERE, fix="Put the key into a variable and name it"
        )
    return parts


def body(endpoint: Endpoint, question: Question) -> dict[str, Any]:
    """The request: no streaming, no thinking if the model allows that, temperature 0."""
    user = {"role": "user", "content": question.text}
    if endpoint.style == "anthropic":
        return {
            "model": endpoint.model,
            "max_tokens": question.most_output,
            "temperature": 0,
            "thinking": {"type": "disabled"},
            "system": question.instructions,
            "messages": [user],
        }
    request: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [{"role": "system", "content": question.instructions}, user],
        "stream": False,
    }
    if effort := _least_effort(endpoint.model):
        return {**request, "max_completion_tokens": question.most_output, "reasoning_effort": effort}
    return {**request, "max_tokens": question.most_output, "temperature": 0}


def _least_effort(model: str) -> str:
    """The lowest effort setting of a reasoning model; '' for other models, which do not have the field."""
    name = model.rpartition("/")[2]
    if re.match(r"gpt-5\.\d", name):
        return "none"
    if re.match(r"gpt-5(?!-chat)", name):
        return "minimal"
    return "low" if re.match(r"o\d", name) else ""


def without_refused(sent: dict[str, Any], complaint: str) -> dict[str, Any] | None:
    """The request without the field that an endpoint refused; None if the error is about something else.

    Which model accepts which field changes with every generation, so the error message decides.
    """
    if "max_completion_tokens" in complaint and "max_tokens" in sent:
        rest = {key: value for key, value in sent.items() if key != "max_tokens"}
        return {**rest, "max_completion_tokens": sent["max_tokens"]}
    refused = next((field for field in _LEFT_OUT if field in sent and field in complaint), "")
    return {key: value for key, value in sent.items() if key != refused} if refused else None


def answer_in(style: str, data: bytes) -> Answer:
    """The text and the usage of an endpoint's answer."""
    try:
        response = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ModelError("the endpoint's answer is not JSON", fix="Check extractor_url") from None
    if style == "openai":
        text = _dig(response, "choices", 0, "message", "content")
        return Answer(text if isinstance(text, str) else "", usage_in(_dig(response, "usage")))
    content = _dig(response, "content")
    texts = [
        block["text"]
        for block in (content if isinstance(content, list) else [])
        if _dig(block, "type") == "text" and isinstance(_dig(block, "text"), str)
    ]
    return Answer("".join(texts), usage_in(_dig(response, "usage")))


def _dig(value: Any, *path: str | int) -> Any:
    """The nested value at these keys; None if one of them is missing."""
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return None
    return value


def usage_in(value: Any) -> Usage | None:
    """The token counts of either format; None if they are missing or impossible."""
    is_openai = _dig(value, "prompt_tokens") is not None
    names = ("prompt_tokens", "completion_tokens") if is_openai else ("input_tokens", "output_tokens")
    prompt, output = (_count(_dig(value, name)) for name in names)
    if prompt is None or output is None:
        return None
    if is_openai:
        cached = _count(_dig(value, "prompt_tokens_details", "cached_tokens")) or 0
        return Usage(input=max(prompt - cached, 0), output=output, cache_read=min(cached, prompt))
    return Usage(
        input=prompt,
        output=output,
        cache_read=_count(value.get("cache_read_input_tokens")) or 0,
        cache_write=_count(value.get("cache_creation_input_tokens")) or 0,
    )


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None


def command_answer(data: bytes) -> Answer:
    """What a command printed: the JSON itself, or a headless agent's envelope (`result`, `usage`, `total_cost_usd`)."""
    text = data.decode("utf-8", "replace").strip()
    try:
        response = msgspec.json.decode(text.encode("utf-8"))
    except (msgspec.MsgspecError, RecursionError):
        return Answer(text)
    if not isinstance(response, dict):
        return Answer(text)
    if isinstance(response.get("response"), str) and "session_id" in response:  # Gemini CLI and Qwen Code
        return Answer(response["response"])
    if not isinstance(response.get("result"), str):
        return Answer(text)
    stated = response.get("total_cost_usd")
    usd = float(stated) if isinstance(stated, int | float) and not isinstance(stated, bool) else None
    return Answer(
        response["result"],
        usage_in(response.get("usage")),
        usd if usd is not None and 0 <= usd < 1e6 else None,
    )
