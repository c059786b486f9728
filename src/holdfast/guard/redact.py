"""Removes secrets from a text before it is stored: by shape, by context, by exact value, by an installed scanner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from holdfast.core.fence import strip_fences
from holdfast.core.patterns import lazy_regex
from holdfast.guard import not_secret
from holdfast.guard.not_secret import MARK_PATTERN, SecretSpan, is_wordlike, mark_of, strip_private

# Removing one secret can reveal another; each round removes at least one, few texts need three.
_MOST_ROUNDS = 12

_SHORTEST = 6
_TELLING_NAME = lazy_regex(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSWORT|PWD$|_PASS$|^PASS$|_PW$|CREDENTIAL|CREDS?$|AUTH|DSN|"
    r"_PAT$|JWT|BEARER|COOKIE|CONNECTION_?STRING|WEBHOOK|DATABASE_URL|REDIS_URL|MONGO\w*_UR[IL]|_SAS$|PRIVATE",
)
_HARMLESS_NAME = lazy_regex(
    r"AUTHOR|KEYBOARD|KEYMAP|MONKEY|KEYRING|_SOCK$|_FILE$|_PATH$|_DIR$|_HOST$|_PORT$|_NAME$|_USER$|_TYPE$|"
    r"_METHOD$|_ENABLED$|_ID$|_TTL$|_LIMIT$|_TOKENS$|PUBLIC_KEY|^OLDPWD$|^PWD$|KEYSERVER|KEY_BINDINGS|COUNT$",
)

_SHORTEST_HIT = 12
_BASE64_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_DIGEST_LABEL = lazy_regex(
    r"(?:sha\d{1,3}|md5|h1|integrity|checksum|digest|commit|base64)[\"']?[-:=,/ @]{1,3}[\"']?\Z"
)
# A run that is not a word, number, hash or path: letters of both cases and digits, or similar, close together.
_UNEXPLAINED = lazy_regex(
    r"(?<![\w/.+-])(?=[\w+/=.~-]{0,80}\d)(?=[\w+/=.~-]{0,80}[A-Z])(?=[\w+/=.~-]{0,80}[a-z])[\w+/=~-]{16,}(?![\w/])"
    r"|(?i:secret|token|passw|api.?key|credential)[\w\"'\])]*\s*[:=]"
)


class Scanner(Protocol):
    """Any other detector of secrets, used as a second pass."""

    def scan(self, text: str) -> Iterable[SecretSpan]:
        """Return the spans in `text` that hold a secret."""


class Redactor:
    """Finds and replaces secrets. The caller passes the secrets of the environment as values."""

    def __init__(self, secrets: Iterable[str] = (), scanner: Scanner | None = None) -> None:
        self._forms = sorted(
            {form for secret in secrets if secret for form in forms_of(secret)}, key=len, reverse=True
        )
        self._scanner = scanner

    def redact(self, text: str) -> str:
        """Replace every secret with `[redacted:<kind>]`; redacting twice changes nothing."""
        for _ in range(_MOST_ROUNDS):
            findings = self.findings(text)
            if not findings:
                break
            text = _replaced(text, findings)
        return text

    def findings(self, text: str) -> list[SecretSpan]:
        """Return all secrets of the text in order, without overlaps, and none inside a redaction mark."""
        candidates = [finding for finding in self._candidates(text) if finding.end > finding.start]
        candidates += self._behind_encodings(text)
        return _outside_marks(_merged(candidates), text) if candidates else []

    def _behind_encodings(self, text: str) -> Iterator[SecretSpan]:
        """Apply the same rules to the text as it reads once decoded."""
        from holdfast.guard.held_values import find_held
        from holdfast.guard.views import views

        for view in views(text):
            source = text if view.source is None else view.source.text
            for kind, low, high in find_held((held, source, at, to) for held, at, to in view.pieces()):
                yield from (SecretSpan(kind, *origin) for origin in view.before_it(low, high))
            for kind, start, far in self._by_rules(view.text, joined=view.is_joined):
                end = view.end_of(start, far)
                if end > start:
                    yield from (SecretSpan(kind, *origin) for origin in view.origin(start, end))

    def _candidates(self, text: str) -> Iterator[SecretSpan]:
        yield from self._by_rules(text)
        if self._scanner:
            yield from self._scanner.scan(text)

    def _by_rules(self, text: str, joined: bool = False) -> Iterator[SecretSpan]:
        # Imported on first use: a process that redacts nothing does not pay for the rules.
        from holdfast.guard.broken_values import find_broken
        from holdfast.guard.credential_model import find_credentials
        from holdfast.guard.named_secrets import find_assignments, find_in_sentences, find_names
        from holdfast.guard.placed_secrets import (
            find_arguments,
            find_cookies,
            find_in_commands,
            find_in_urls,
            find_pairs,
            find_schemes,
            find_spaced,
        )
        from holdfast.guard.private_keys import find_private_keys
        from holdfast.guard.token_search import find_glued_tokens, find_tokens

        yield from self._exact(text)
        for rule in (
            find_private_keys,
            find_tokens,
            find_glued_tokens,
            find_in_urls,
            find_spaced,
            find_pairs,
        ):
            yield from rule(text)
        # What was put together by how it looks may reach too far for a model that asks how a run looks.
        if not joined:
            yield from find_credentials(text)
            yield from find_broken(text)
        # Lower case of the same length: İ is the one letter whose lower case is longer.
        lowered = text.replace("\u0130", "I").lower()
        names = find_names(lowered)
        yield from find_assignments(text, names)
        yield from find_in_sentences(text, lowered, names)
        for folded_rule in (find_schemes, find_cookies, find_in_commands, find_arguments):
            yield from folded_rule(text, lowered)

    def _exact(self, text: str) -> Iterator[SecretSpan]:
        for form in self._forms:
            position = text.find(form)
            while position >= 0:
                yield SecretSpan("environment", position, position + len(form))
                position = text.find(form, position + len(form))


def _merged(findings: list[SecretSpan]) -> list[SecretSpan]:
    """Merge overlapping findings; the one that starts first, or the longest of those, names the kind."""
    merged: list[SecretSpan] = []
    for finding in sorted(findings, key=lambda f: (f.start, -f.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = SecretSpan(last.kind, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return merged


def _outside_marks(findings: list[SecretSpan], text: str) -> list[SecretSpan]:
    marks = [match.span() for match in MARK_PATTERN.finditer(text)]
    if not marks:
        return findings
    outside: list[SecretSpan] = []
    i = 0
    for kind, start, end in findings:
        while i < len(marks) and marks[i][1] <= start:
            i += 1
        j = i
        while j < len(marks) and marks[j][0] < end:
            if start < marks[j][0]:
                outside.append(SecretSpan(kind, start, marks[j][0]))
            start = max(start, marks[j][1])
            j += 1
        if start < end:
            outside.append(SecretSpan(kind, start, end))
    return outside


def _replaced(text: str, findings: list[SecretSpan]) -> str:
    pieces: list[str] = []
    position = 0
    for finding in findings:
        pieces += (text[position : finding.start], mark_of(finding.kind))
        position = finding.end
    pieces.append(text[position:])
    return "".join(pieces)


# The secrets in a process's environment: exact values, and their encodings inside other text.


def secrets_of(environ: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose names say secret, unless they obviously are not; longest first."""
    values = {
        value.strip()
        for name, value in environ.items()
        if _TELLING_NAME.search(name.upper())
        and not _HARMLESS_NAME.search(name.upper())
        and _is_worth_hiding(value.strip())
    }
    return sorted(values, key=lambda value: (-len(value), value))


def _is_worth_hiding(value: str) -> bool:
    if len(value) < _SHORTEST or value.isdigit() or not_secret.is_path(value):
        return False
    if not_secret.is_placeholder(value) and not any(char.isdigit() for char in value):
        return False  # `changeme` is not a secret; `my-secret-93ab` may be real, and this is its exact value
    if "://" in value:
        # Only an address that holds something private, such as a password or the id of a webhook.
        return "@" in value or len(value) > 60
    return not (
        value.isalpha() and len(value) < 12 and (value.islower() or value.istitle() or value.isupper())
    )


def forms_of(secret: str) -> Iterable[str]:
    """Return the secret as it is, and as URLs, JSON, HTML and base64 encode it."""
    from base64 import b64encode
    from html import escape
    from json import dumps
    from urllib.parse import quote, quote_plus

    raw = secret.encode("utf-8", "surrogatepass")
    forms = {secret, escape(secret), dumps(secret)[1:-1], dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {quote(raw, safe=""), quote(raw), quote_plus(raw), b64encode(raw).decode().rstrip("=")}
    forms |= {dumps(form)[1:-1] for form in list(forms)}
    return sorted((form for form in forms if len(form) >= _SHORTEST), key=lambda form: (-len(form), form))


def cleaner(redactor: Redactor) -> Callable[[str], str]:
    """Return the function that makes a text safe to store: it removes injected blocks, private parts and secrets."""
    return lambda text: redactor.redact(strip_private(strip_fences(text)))


# A maintained scanner as a second pass, if it is installed; its hits pass our own filter first.


def load_scanner(cache_dir: str | None = None) -> Scanner | None:
    """Load Kingfisher into this process; return None if it is missing or broken.

    Its rules take seconds to compile; `cache_dir` keeps them between runs. Without one nothing is written.
    """
    try:
        from kingfisher_sdk import Rules
        from kingfisher_sdk import Scanner as Kingfisher

        rules = Rules(cache_dir=cache_dir) if cache_dir else Rules(cache=False)
        return _Filtered(Kingfisher(rules, base64=False))
    # Third-party native code: whatever it raises, redaction continues with our own rules.
    except Exception:
        return None


class OnDemand:
    """A scanner that is loaded for the first text that may need it: most texts do not."""

    def __init__(self, load: Callable[[], Scanner | None]) -> None:
        self._loaded = cache(load)

    def scan(self, text: str) -> Iterable[SecretSpan]:
        scanner = self._loaded() if _UNEXPLAINED.search(text) else None
        return scanner.scan(text) if scanner else ()


class _Filtered:
    """Converts the scanner's hits to spans of our text, and drops those that are known not to be secrets."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def scan(self, text: str) -> Iterable[SecretSpan]:
        data = text.encode("utf-8", "replace")
        try:
            hits = self._native.scan(data)
            spans = sorted(
                {(h.location["start_offset"], h.location["end_offset"]) for h in hits if h.visible}
            )
        except Exception:
            return []
        return [
            SecretSpan("scanner", start, end)
            for start, end in _in_characters(data, spans)
            if _is_credible(text, start, end)
        ]


def _in_characters(data: bytes, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Convert UTF-8 byte offsets to positions in the text, counting on from one span to the next."""
    at_byte = at_char = 0
    for start, end in spans:
        at_char += len(data[at_byte:start].decode("utf-8", "ignore"))
        at_byte = start
        yield at_char, at_char + len(data[start:end].decode("utf-8", "ignore"))


def _is_credible(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    core = value.strip("\"'` ")
    if len(core) < _SHORTEST_HIT or any(char.isspace() for char in core):
        return False
    if not_secret.stands_for_nothing(core) or not_secret.is_hash_or_uuid(core) or not_secret.is_code(core):
        return False
    if is_wordlike(core) or not any(char.isdigit() for char in core):
        return False
    return not _is_part_of_data(text, start, end)


def _is_part_of_data(text: str, start: int, end: int) -> bool:
    """Whether a hit is a coincidence: inside a longer run of base64, or in a labelled digest."""
    ahead = text[max(0, start - 80) : start]
    glued = not _BASE64_SIGNS.isdisjoint((ahead[-1:], text[end : end + 1]))
    return glued or bool(_DIGEST_LABEL.search(ahead))
