"""Removes secrets from a text before it is stored: by shape, by context, by exact value, by an installed scanner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from holdfast.core.fence import strip_fences
from holdfast.core.patterns import lazy_regex
from holdfast.guard import not_secret
from holdfast.guard.not_secret import MARK_PATTERN, SecretSpan, is_wordlike, mark_of, strip_private

# Taking one secret out can bring another to light; each round takes at least one, few texts need three.
_COLOUR = lazy_regex(r"(\x1b\[[0-9;]*[A-Za-z])")
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
# A run that no word, number, hash or path makes: letters of both cases and digits, or the like, close together.
_UNEXPLAINED = lazy_regex(
    r"(?<![\w/.+-])(?=[\w+/=.~-]{0,80}\d)(?=[\w+/=.~-]{0,80}[A-Z])(?=[\w+/=.~-]{0,80}[a-z])[\w+/=~-]{16,}(?![\w/])"
    r"|(?i:secret|token|passw|api.?key|credential)[\w\"'\])]*\s*[:=]"
)


class Scanner(Protocol):
    """A second pair of eyes: any other detector of secrets."""

    def scan(self, text: str) -> Iterable[SecretSpan]:
        """Places in `text` that hold a secret."""


class Redactor:
    """Finds and replaces secrets; the environment's own secrets are handed in as values."""

    def __init__(self, secrets: Iterable[str] = (), scanner: Scanner | None = None) -> None:
        self._forms = sorted(
            {form for secret in secrets if secret for form in forms_of(secret)}, key=len, reverse=True
        )
        self._scanner = scanner

    def redact(self, text: str) -> str:
        """The text with `[redacted:<kind>]` in place of every secret; doing it again changes nothing."""
        if "\x1b" in text:
            # A colour ends with a letter, which would hide where a token begins.
            pieces = _COLOUR.split(text)  # text, colour, text …
            pieces[::2] = map(self._redacted, pieces[::2])
            return "".join(pieces)
        return self._redacted(text)

    def _redacted(self, text: str) -> str:
        for _ in range(_MOST_ROUNDS):
            found = self.findings(text)
            if not found:
                break
            text = _replaced(text, found)
        return text

    def findings(self, text: str) -> list[SecretSpan]:
        """All secrets of the text in order, none overlapping, none inside a mark of ours."""
        candidates = [finding for finding in self._candidates(text) if finding.end > finding.start]
        return _outside_marks(_merged(candidates), text) if candidates else []

    def _candidates(self, text: str) -> Iterator[SecretSpan]:
        # Imported on first use: a process that redacts nothing pays for none of the rules.
        from holdfast.guard.named_secrets import find_assignments, find_in_sentences, find_names
        from holdfast.guard.placed_secrets import (
            find_arguments,
            find_aws_pairs,
            find_cookies,
            find_in_commands,
            find_in_urls,
            find_schemes,
            find_spaced,
        )
        from holdfast.guard.token_shapes import find_private_keys, find_tokens

        yield from self._exact(text)
        for rule in (find_private_keys, find_tokens, find_in_urls, find_spaced, find_aws_pairs):
            yield from rule(text)
        # Lower case of the same length: İ is the one letter whose lower case is longer.
        lowered = text.replace("\u0130", "I").lower()
        names = find_names(lowered)
        yield from find_assignments(text, names)
        yield from find_in_sentences(text, lowered, names)
        for folded_rule in (find_schemes, find_cookies, find_in_commands, find_arguments):
            yield from folded_rule(text, lowered)
        if self._scanner:
            yield from self._scanner.scan(text)

    def _exact(self, text: str) -> Iterator[SecretSpan]:
        for form in self._forms:
            position = text.find(form)
            while position >= 0:
                yield SecretSpan("environment", position, position + len(form))
                position = text.find(form, position + len(form))


def _merged(findings: list[SecretSpan]) -> list[SecretSpan]:
    """Overlapping findings become one; the first to begin, or the longest of those, names it."""
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


# The secrets a process was started with: exact values, and the forms they take inside other text.


def secrets_of(environ: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say secret, unless the value plainly is none; longest first."""
    found = {
        value.strip()
        for name, value in environ.items()
        if _TELLING_NAME.search(name.upper())
        and not _HARMLESS_NAME.search(name.upper())
        and _is_worth_hiding(value.strip())
    }
    return sorted(found, key=lambda value: (-len(value), value))


def _is_worth_hiding(value: str) -> bool:
    if len(value) < _SHORTEST or value.isdigit() or not_secret.is_path(value):
        return False
    if not_secret.is_placeholder(value) and not any(char.isdigit() for char in value):
        return False  # `changeme` is none; `my-secret-93ab` may be real, and this is its exact value
    if "://" in value:
        # Only an address that carries something private, such as a password or a hook's id.
        return "@" in value or len(value) > 60
    return not (
        value.isalpha() and len(value) < 12 and (value.islower() or value.istitle() or value.isupper())
    )


def forms_of(secret: str) -> Iterable[str]:
    """The secret as it is, and as URLs, JSON, HTML and base64 write it."""
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
    """The one way to a text that may be stored: without our own injected blocks, private parts and secrets."""
    return lambda text: redactor.redact(strip_private(strip_fences(text)))


# A maintained scanner as second pass, where it is installed; its hits pass our own filter first.


def load_scanner(cache_dir: str | None = None) -> Scanner | None:
    """Kingfisher in process, or None where it is missing or broken.

    Its rules take seconds to compile; `cache_dir` keeps them between runs. Without one nothing is written.
    """
    try:
        from kingfisher_sdk import Rules
        from kingfisher_sdk import Scanner as Kingfisher

        rules = Rules(cache_dir=cache_dir) if cache_dir else Rules(cache=False)
        return _Filtered(Kingfisher(rules, base64=False))
    # Native code of others: whatever it raises, redaction goes on with our own rules.
    except Exception:
        return None


class OnDemand:
    """A scanner that is loaded when the first text gives reason to: most texts hold nothing it could object to."""

    def __init__(self, load: Callable[[], Scanner | None]) -> None:
        self._loaded = cache(load)

    def scan(self, text: str) -> Iterable[SecretSpan]:
        scanner = self._loaded() if _UNEXPLAINED.search(text) else None
        return scanner.scan(text) if scanner else ()


class _Filtered:
    """The scanner's hits as places in our text, without those that are known to be no secrets."""

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
    """Byte offsets of UTF-8 as positions in the text, counted on from one span to the next."""
    at_byte = at_char = 0
    for first, last in spans:
        at_char += len(data[at_byte:first].decode("utf-8", "ignore"))
        at_byte = first
        yield at_char, at_char + len(data[first:last].decode("utf-8", "ignore"))


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
    """A hit in the middle of a longer run of base64 is chance; so is one in a labelled digest."""
    ahead = text[max(0, start - 80) : start]
    glued = not _BASE64_SIGNS.isdisjoint((ahead[-1:], text[end : end + 1]))
    return glued or bool(_DIGEST_LABEL.search(ahead))
