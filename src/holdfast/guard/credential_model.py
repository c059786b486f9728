"""A small model that says whether a run of characters is a credential, whatever service it is for.

It is linear over hashed features: what the run consists of (alphabet, length, parts, how much it reads as words), the
words and signs beside it. `scripts/train_credentials.py` trains it and writes `credential_model.bin`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from holdfast.core.patterns import lazy_regex
from holdfast.core.words import word_set
from holdfast.guard import not_secret
from holdfast.guard.not_secret import segments
from holdfast.guard.secret_values import classify

BITS = 15
SIZE = 1 << BITS
SCALE = 2048.0  # weights are stored as whole numbers
BAR = 0.5  # log-odds from which on a run is a credential
BROKEN_BAR = 1.5  # the same for a value in pieces
LEAST = -2.7  # log-odds of a run by itself below which nothing beside it makes it one
_FILE = "credential_model.bin"

_LOOKED_AT = 200
BEFORE, AFTER = 72, 24  # characters beside a run that are looked at
_MOST_WORDS = 6
_SHORTEST_PART = 6
# Lengths that tokens and digests have exactly, and those between them.
_LENGTHS = (
    8,
    10,
    12,
    14,
    16,
    18,
    20,
    21,
    22,
    24,
    25,
    27,
    28,
    30,
    32,
    33,
    36,
    37,
    40,
    41,
    43,
    44,
    48,
    49,
    56,
    64,
    65,
    80,
    100,
    128,
)
_ALPHABETS = (
    ("digits", lazy_regex(r"[0-9]+")),
    ("hex", lazy_regex(r"[0-9a-f]+")),
    ("HEX", lazy_regex(r"[0-9A-F]+")),
    ("base32", lazy_regex(r"[A-Z2-7]+")),
    ("upper", lazy_regex(r"[A-Z0-9]+")),
    ("lower", lazy_regex(r"[a-z0-9]+")),
    ("base62", lazy_regex(r"[A-Za-z0-9]+")),
)
_CLASS = lazy_regex(r"A-Z|a-z|0-9[A-Za-z_]|a-f0")  # what a pattern allows
_PARTS = lazy_regex(r"[A-Za-z0-9]+|[^A-Za-z0-9]+")
_CHANGES = lazy_regex(r"(?<=[a-z])[A-Z0-9]|(?<=[0-9])[A-Za-z]|(?<=[A-Z])[0-9]|(?<=[A-Z]{2})[a-z]")
_NAME = lazy_regex(
    r"([\w.-]{2,60})[\"'`\])]{0,3}\s{0,3}(?::=|=>|[:=]{1,3})\s{0,3}[\"'`(\[]{0,3}(?:[A-Za-z]{2,8} )?\Z"
)
_WORDS_BESIDE = lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LEAD = lazy_regex(r"[A-Za-z][A-Za-z0-9]{1,11}[_.-]")
_JOINT = lazy_regex(r"[^A-Za-z]*\Z")
_CREDENTIAL_WORDS = word_set(
    "key keys token tokens secret secrets password passwd passphrase pass pwd auth authorization credential "
    "credentials cred creds apikey bearer login pin otp totp mfa seed license licence signing webhook pat psk "
    "access private community unseal recovery backup cookie private passcode unlock activation basic "
    "oauth jwt sas connection dsn invite magic reset join passwort contrasena senha clave"
)
_DIGEST_WORDS = word_set(
    """
    sha md5 hash hashes digest checksum commit integrity etag id ids uuid guid rev revision node build cache
    fingerprint trace span request blob tree parent object sum crc ref version image layer container nonce
    block tx transaction address session conversation signature challenge verification tracking order release
    public pub certificate cert thumbprint serial cursor offset
    """
)


likeness = lru_cache(maxsize=8192)(not_secret.likeness)  # words repeat


class Run(NamedTuple):
    """A run of characters as the model sees it, apart from what stands beside it."""

    features: tuple[int, ...]
    cross: str
    prior: float


def _bucket(length: int) -> int:
    return next((size for size in _LENGTHS if length <= size), 200)


def _hash(feature: str) -> int:
    return crc32(feature.encode("utf-8", "surrogatepass")) & (SIZE - 1)


def _alphabet(part: str) -> str:
    for name, pattern in _ALPHABETS:
        if pattern.fullmatch(part):
            return name
    return "other"


@lru_cache(maxsize=8192)  # ids and digests repeat
def run_of(value: str) -> Run | None:
    """Return what a run consists of; None if it certainly is no credential."""
    seen = value[:_LOOKED_AT]
    if (
        not_secret.is_id(seen) or not_secret.is_path(seen) or not_secret.is_reference(seen)
    ):  # the cheapest tests, and most runs
        return None
    if not any(map(str.isalnum, seen)) or _CLASS.search(seen) or not_secret.is_placeholder(seen):
        return None
    texts = tuple(_texts_of(seen, len(value)))
    found = tuple({_hash(text) for text in texts[1:]})
    return Run(found, texts[0], sum(map(weights().__getitem__, found)) / SCALE)


def _texts_of(value: str, length: int) -> Iterator[str]:
    """Yield the cross first: alphabet and length of the random part, which other features are combined with."""
    parts = list(_PARTS.findall(value.rstrip("=")))
    words = [part for part in parts if part[0].isalnum()]
    longest = max(words, key=len)
    # What follows the words that a token begins with: `acme_live_` and then the random part.
    lead = 0
    while (
        lead < len(words) - 1
        and words[lead].isalpha()
        and len(words[lead]) <= 12
        and likeness(words[lead]) > 0.3
    ):
        lead += 1
    body = longest
    alphabet, reads = _alphabet(body), int(likeness(body) * 8)
    signs = "".join(sorted({sign for part in parts if not part[0].isalnum() for sign in part}))
    size = _bucket(len(body))
    broad = (
        0 if len(body) < 12 else 1 if len(body) < 20 else 2 if len(body) < 30 else 3 if len(body) < 50 else 4
    )
    cross = f"{alphabet}{broad}"
    yield cross
    whole = int(likeness(value) * 8)
    digits = sum(map(str.isdigit, body))
    upper = sum(map(str.isupper, body))
    changes = len(_CHANGES.findall(body))
    yield f"body {alphabet} {size}"
    yield f"reads {alphabet} {reads}"
    yield f"reads {reads} {broad}"
    yield f"whole {whole}"
    yield f"length {_bucket(length)}"
    yield f"signs {signs}"
    yield f"signs {signs} {cross}"
    yield f"parts {min(len(words), 6)}"
    yield f"parts {min(len(words), 6)} {cross}"
    yield f"digits {digits * 8 // len(body)} {alphabet}"
    yield f"upper {upper * 8 // len(body)} {alphabet}"
    yield f"changes {changes * 8 // len(body)} {alphabet}"
    yield f"changes {changes * 8 // len(body)} {broad}"
    yield f"distinct {len(set(body)) * 8 // len(body)} {broad}"
    yield f"share {len(body) * 6 // len(value)}"
    yield f"pad {len(value) - len(value.rstrip('='))} {alphabet}"
    sizes = " ".join(str(min(len(word), 12)) for word in words[:6])
    yield f"sizes {sizes}"
    yield f"lead {min(lead, 3)}"
    yield f"lead {min(lead, 3)} {cross}"
    if lead:
        yield f"first {words[0].lower()}"
        yield f"sign {parts[1]} {cross}"
        yield f"short {len(words[0]) < 5} {lead} {cross}"
        for word in words[:lead]:
            yield f"in {word.lower()}"
            if word.lower() in _CREDENTIAL_WORDS:
                yield f"in secret {cross}"
            if word.lower() in _DIGEST_WORDS:
                yield f"in digest {cross}"
    else:
        yield f"begins {value[:2]}"
        yield f"begins {value[:3]}"
    if len(words) > 1:
        yield f"last {words[-1].lower()[:6]}" if words[-1].isalpha() else f"last {_alphabet(words[-1])}"
    yield f"case {value[0].isupper()} {value[0].isdigit()} {value[-1].isdigit()}"


@lru_cache(maxsize=8192)
def _beside(before: str, after: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The features of what stands beside a run, and those that are combined with what it consists of."""
    line = before.rpartition("\n")[2]
    near = line if any(map(str.isalpha, line)) else before
    words = [word.lower() for word in _WORDS_BESIDE.findall(near)[-_MOST_WORDS:]]
    joint = _JOINT.search(near)
    signs = "".join("0" if c.isdigit() else " " if c.isspace() else c for c in (joint[0] if joint else ""))[
        -5:
    ]
    last = words[-1] if words else ""
    named = _NAME.search(before)
    strength = (classify(named[1]) or "none") if named else "unnamed"
    texts = [f"w1 {last}", f"joint {signs}", f"joint {signs[-2:]}", f"name {strength}", f"after {after[:1]}"]
    texts += [f"w {word}" for word in words]
    texts += [f"w2 {' '.join(words[-2:])}"]
    if named:
        texts += [f"named {word.lower()}" for word in segments(named[1])]
        texts += [f"namelast {(segments(named[1]) or [''])[-1].lower()}"]
    following = _WORDS_BESIDE.findall(after)[:2]
    texts += [f"then {word.lower()}" for word in following]
    secret = [
        word
        for word in words
        if word in _CREDENTIAL_WORDS or word.endswith(("key", "token", "secret", "password"))
    ]
    digest = [word for word in words if word in _DIGEST_WORDS]
    kind = f"{len(secret[:2])}{len(digest[:2])}"
    ends = "s" if last in _CREDENTIAL_WORDS else "d" if last in _DIGEST_WORDS else "n" if last else "-"
    texts += [f"kinds {kind}", f"ends {ends}", f"kinds {kind} {strength}", f"empty {not words} {before[-1:]}"]
    crossed = (
        f"x {strength} ",
        f"k {kind} ",
        f"e {ends} ",
        f"b {before[-1:]} {after[:1]} ",
        f"j {signs[-2:]} ",
    )
    return tuple({_hash(text) for text in texts}), crossed


def features(
    value: str, before: str, after: str, values: Sequence[str] = (), gaps: Sequence[str] = ()
) -> list[int] | None:
    """Return the features of a run in its place, hashed; None if it certainly is no credential.

    A broken value is the whole, with its pieces and what lies between them.
    """
    run = run_of(value)
    if run is None:
        return None
    beside, crossed = _beside(before[-BEFORE:], after[:AFTER])
    texts = [text + run.cross for text in crossed]
    if gaps:
        texts += _of_pieces(values, gaps)
    return sorted({*run.features, *beside, *map(_hash, texts)})


def _of_pieces(values: Sequence[str], gaps: Sequence[str]) -> Iterator[str]:
    sizes = sorted(map(len, values))
    kinds = [_alphabet("".join(filter(str.isalnum, piece))) for piece in values]
    alike = len(set(kinds)) == 1
    level = "same" if sizes[0] == sizes[-1] else "close" if sizes[-1] - sizes[0] < 5 else "apart"
    yield f"broken {len(values)}"
    yield f"broken {len(values)} {level} {alike}"
    yield f"broken {kinds[0]} {level} {alike}"
    yield f"least {min(sizes[0], 24)} {level}"
    yield f"most {_bucket(sizes[-1])}"
    yield f"first {min(len(values[0]), 24)} {kinds[0]}"
    yield f"lead {_LEAD.match(values[0]) is not None} {any(_LEAD.match(piece) for piece in values[1:])} {alike}"
    yield f"reads {max(int(likeness(piece) * 8) for piece in values)}"
    for gap in gaps[:3]:
        words = len(_WORDS_BESIDE.findall(gap))
        signs = "".join(sorted({sign for sign in gap if not sign.isalnum() and not sign.isspace()}))
        yield f"gap {signs[:8]} {chr(10) in gap}"
        yield f"gap {bool(signs)} {min(words, 5)} {chr(10) in gap} {level}"
        yield f"gap words {min(words, 6)} {alike}"
        yield f"gap long {len(gap) // 12} {alike}"
        yield from (f"gap {sign}" for sign in signs[:8])
        yield from (f"gap {word.lower()}" for word in _WORDS_BESIDE.findall(gap)[:4])


@cache
def weights() -> array[int]:
    """Return the weights that are shipped."""
    kept = array("h")
    kept.frombytes((Path(__file__).parent / _FILE).read_bytes())
    return kept


def score(value: str, before: str, after: str) -> float:
    """Return the log-odds that a run is a credential."""
    return _sum(features(value, before, after))


def score_broken(whole: str, before: str, after: str, values: Sequence[str], gaps: Sequence[str]) -> float:
    """Return the log-odds that the pieces are one credential."""
    run = run_of(whole)
    if run is None or run.prior < LEAST:
        return -99.0
    return _sum(features(whole, before, after, values, gaps))


def _sum(found: list[int] | None) -> float:
    return -99.0 if found is None else sum(map(weights().__getitem__, found)) / SCALE


# Runs that may be credentials, in a text. A digit beside a letter is found fast, and most runs have none.
_SPOT = lazy_regex(r"[0-9](?:(?<=[A-Za-z].)|(?=[A-Za-z]))")
_RUN = lazy_regex(r"[A-Za-z0-9_+/.~-]{1,8000}+={0,2}")
_BACKWARDS = lazy_regex(r"[A-Za-z0-9_+/.~-]{0,200}+")
# Letters and digits side by side in a part of some length, or short groups of both.
_MIXED = lazy_regex(
    r"(?:[A-Za-z][0-9]|[0-9][A-Za-z])[A-Za-z0-9]{4}|[A-Za-z0-9]{4}(?:[A-Za-z][0-9]|[0-9][A-Za-z])"
    r"|(?:[A-Za-z]{0,8}[0-9]+[A-Za-z0-9]{1,8}[-_.]){2}"
)
_EDGES = "./-~+_"
_PUBLIC_DSN = lazy_regex(
    r"@o\d{1,20}\.ingest\."
)  # Sentry's, made for web pages; `W/"` begins a version's tag
_SHORTEST = 10


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where runs begin and end that are worth a judgement: not words, not numbers."""
    for start, end in spots(text):
        value = text[start:end]
        start += len(value) - len(value.lstrip(_EDGES))
        end -= len(value) - len(value.rstrip(_EDGES))
        if end - start >= _SHORTEST and _is_worth(text[start:end]):
            yield start, end


@lru_cache(maxsize=1)  # asked for by two rules, one after the other
def spots(text: str) -> tuple[tuple[int, int], ...]:
    """Return where runs begin and end in which a digit stands beside a letter."""
    found = []
    done = 0
    for spot in _SPOT.finditer(text):
        at = spot.start()
        if at < done:
            continue
        back = _BACKWARDS.match(text[max(done, at - 200) : at][::-1])
        start = at - (back.end() if back else 0)
        run = _RUN.match(text, start)
        done = run.end() if run else at + 1
        found.append((start, done))
    return tuple(found)


@lru_cache(maxsize=16384)
def _is_worth(value: str) -> bool:
    if _MIXED.search(value) is None:
        return False
    if not_secret.is_wordlike(value) and max(map(len, _PARTS.findall(value[:_LOOKED_AT]))) < _SHORTEST:
        return False
    run = run_of(value)
    return run is not None and run.prior >= LEAST


def find_credentials(text: str) -> Iterator[not_secret.SecretSpan]:
    """Yield every run that the model takes for a credential."""
    for start, end in runs(text):
        if _PUBLIC_DSN.match(text, end) or text.startswith('W/"', start - 3):
            continue
        if text[start - 1 : start] == "|" == text[end : end + 1]:  # one of a pattern's alternatives
            continue
        if score(text[start:end], text[max(0, start - BEFORE) : start], text[end : end + AFTER]) >= BAR:
            yield not_secret.SecretSpan("credential", start, end)
