"""Recognises values that are not secrets though found where one could be: placeholders, references, ids, paths."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from holdfast.core.patterns import lazy_regex
from holdfast.core.words import word_set as words

# Recognises our own marks, so that redacting twice changes nothing.
MARK_PATTERN = lazy_regex(r"\[redacted:[a-z0-9-]{1,40}\]")
# The 230 commonest letter pairs of English prose and source code: first letter, then its followers.
_COMMON_PAIRS = (
    "abcdgiklmnprstuvy baeilosu cacehiklorstu dadeilorsu eacdefglmnpqrstvwx faefiloru gehinrs haeio "
    "iabcdefglmnoprstvxz keis ladeilostuy mabeimopsu nacdefgiklnostuv obcdfgiklmnoprstuvw paeiloprstuy "
    "qu racdegikmnorstuy sacehilopstuy tacehilmoprstuy uabceilmnprst vaei waeior xpt yps ze"
)
_WORDS_HAVE_AT_LEAST = 0.62
# Abbreviations of the field that contain no common letter pair.
_ABBREVIATIONS = words(
    """
    api aws btn cfg cmd ctx css csv db dns ec gcp gh html http https id io ip js json jwt k8s kms mfa mq msg
    mysql npm ns otp pgp pk pwd px py rds rsa s3 sdk sha sk sms sql src ssh ssl sso tls tmp ts ttl txt ui
    url uuid vm vpc www xml yml zsh
    """
)

_SEGMENT_PATTERN = lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")

# A value made only of these names a secret or stands for one; it is never the secret itself.
_STAND_IN_WORDS = words(
    """
    a abc access account actual admin all an and any api app apikey application apply as at auth
    authorization bar basic baz bearer bool boolean bot bytes change changeme changeit char client cluster
    code config const count cred credential credentials creds current custom data database db default demo
    dev development disabled docker dummy e2e email empty enabled encrypted env environment error example
    expired fake false field file foo for from generated get github gitlab global goes google guest hash
    hashed header here hidden host id in incorrect input insert int invalid is it jwt key keys label length
    letmein live load local localhost login lorem main manager masked master me missing mock mongo mongodb
    my mysecret mysql name nil no none not null number obj object of old omitted on one op openai optional
    or otp param part pass passwd passphrase password passwords path pg php placeholder pin plain plaintext
    please postgres postgresql prefix private prod production public put pw pwd qux rabbitmq random read
    real redacted redis ref replace replaceme request required reset root sample secret secretkey secrets
    self send server service session set shared should some somepassword sometoken staging str string stripe
    strong stuff super supersecret test tester testing text the thing this todo token tokens true two type
    undefined unknown unset unused update url user username using val valid value var variable verify was
    web welcome with word write wrong www xyz yes you your
    """
)
# Words that only labels and sentences use; a passphrase has none of them.
COMMON_IN_LABELS = words(
    """
    a an are at be been by can cannot case character characters confirm contain did do does enter first for
    forgot forgotten has have how if in is last least long match matches minimum must new not of on only or
    repeat require reset sensitive short so than that the their to too two type up via was we were when
    which while will with without wrong you your
    """
)
# Stand-ins are short; a long value is judged by its beginning.
_LOOKED_AT = 120
_RUN = 5  # consecutive letters or digits
_PLACEHOLDER = lazy_regex(
    r"example|placeholder|redacted|change[-_]?me|change[-_]?this|replace[-_]|your[-_ ]|x{4,}|\*{3}|"
    r"\.{3}|…|•|"
    r"<[^<>]*>|insert[-_ ]|\bdummy|_here\b|-here\b|\bfoobar|\blorem|\bfake|\bmock|\btodo|\bfixme|"
    r"do[-_]not[-_]use|"
    r"not[-_]?a[-_]?(?:real|secret)|^(?:abc|def|ghi|xyz|foo|bar|123|456|789)+$|deadbeefdeadbeef|s3cr3t[-_]?(?:key|token|pass)"
)
# `magical_password`, `login#forgot_password`: made up for an example.
_NAMES_ITSELF = lazy_regex(r"password|passwd|secret|token|credential|api_?key")
# References to a value stored elsewhere, as written in shells, templates and languages.
_REFERENCE = lazy_regex(
    r"\$\{|\$\(|\{\{|\}\}|#\{|@\{|%\{|<%|%\(\w+\)|\{\w*\}|\$\{\{|"
    r"^(?:id|src|type|env|name|from)=|^[a-z_]+(?::[\w,.]+)?(?:\|[a-z_]+(?::[\w,.]+)?)+$|"
    r"^%[sdrv]|^%\w+%$|^!\w|^\$[A-Z_][A-Z0-9_]*\b|^\$[a-z_]+(?:\b|$)|^\$\d$|^\$[@#?*]|^&\w+$|"
    r"^(?:op|vault|file|secret|ssm|env|ref|keychain|awssm|gcpsm|sm|kv)(?:\+\w+)?:|^ref\+|^arn:aws|"
    r"^(?:process|import\.meta|os|std|System|Deno|Bun|settings|config|cfg|self|this|req|request|ctx|args|"
    r"options|opts|props|env|secrets|vars|inputs|steps|ENV|app|user|params|data|kwargs|event)"
    r"(?:\.|\?\.|\[|::|->)|^@?(?:env|getenv|secret|config|file)\("
)
# An expression rather than a literal: calls, indexing, dotted names, types, arrows.
_CODE = lazy_regex(
    r"^[&*!]?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*(?:\(|\[|<)|"
    r"^\(|^\[|^\{|^\||^=>|^->|^\w+\s*=>|^(?:new|await|lambda|function|async|func|not|if|return|yield)\s"
)
_DOTTED = lazy_regex(r"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$")
_REGEX_SOURCE = lazy_regex(
    r"\[\^?[^\]\s]{0,40}(?:A-Z|a-z|0-9|\\[wdsS])[^\]\s]{0,40}\]|\\\\?[wdsSWDb][+*{)\]]|\{\d{1,4},\d{0,4}\}|\(\?[:=!<iP]|\.[*+]\??(?:$|[)\\'\"])"
)
# Names of things: they grant no access by themselves.
_IDS = lazy_regex(
    r"(?:msg|resp|call|toolu|srvtoolu|req|rs|fc|ws|ig|cmpl|chatcmpl|run|thread|asst|file|batch|evt|cus|pi|"
    r"in|sub|price|prod|acct|ses|sess|session|conv|item|gen|org|proj|user|usr|step|task|job|agent|event|"
    r"prt|part|ord|inv|ch|seti|cs|tr|pm|si|txn|node|doc|wf|exec|trace|span|tool|turn)[_-][A-Za-z0-9_-]{6,}|"
    r"(?:sha\d{1,3}|md5|h1|blake\w{1,3}|crc32)[-:=/~][A-Za-z0-9+/=_-]+(?:\?[\w=-]*)?|"
    r"(?:[\w./:-]{1,120}@)?sha256:[0-9a-f]{6,64}|"
    r"v?\d+(?:\.\d+){1,3}(?:[-+.][\w.+-]*)?(?:/go\.mod)?|"
    # Public by design: keys of browsers and sites, public halves of key pairs, names of packages and resources.
    r"(?:phc|pk_live|pk_test|sb_publishable)_[\w+/=-]+|pk-lf-[0-9a-f-]+|6L[\w-]{38}|pk\.eyJ[\w.-]+|"
    r"AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|GnNrLX|InNrLW)[\w+/=-]*|age1[0-9a-z]{50,}|arn:[\w:/+=,.@*-]*|"
    r"(?:[a-z0-9-]+\.)+[a-z]{2,6}/[\w./@~+-]*|"
    r"\d{4}-\d\d-\d\d(?:[T ][\d:.,Z+-]*)?|"
    r"[+-]?\d+(?:[.,]\d+)*\s?(?:[a-zA-Z%]{1,3}|min|mins|days?|hours?|secs?|chars?|bytes)?|"
    r"#[0-9a-fA-F]{3,8}|0x[0-9a-fA-F]{1,16}|"
    r"[A-Z]{2,8}-?\d{1,4}(?:-[A-Z]{2,6}(?:\d{1,3})?)*|[A-Z]{2,6}-[A-Z]{2,6}\d{0,3}|"
    r"(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\S+)(?:\s.*)?|data:[\w/+.-]+[;,].*|"
    r"(?:[A-Z][A-Za-z]{1,12}):\S+\[\S*|"
    r"[a-z][a-z0-9+.-]{1,20}://[^\s]*|"
    r"[A-Za-z][\w.+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z]{2,12})+",
    re.DOTALL,
)
_PATH = lazy_regex(
    r"(?:~|\.{1,2})?[/\\][\w./\\ @+~-]*|[A-Za-z]:[/\\].*|[\w.@+-]+(?:[/\\][\w.@+-]+)+(?:\.\w{1,6})|"
    r"[a-z][a-z_-]{2,30}/[a-z][a-z_-]{2,30}/[\w.@+/-]*|"
    r"[\w-]+\.(?:pem|key|json|ya?ml|txt|toml|env|py|ts|js|tsx|go|rs|md|crt|cfg|conf|ini|sh|java|rb|xml|html|css|sql)"
)
_HEX = lazy_regex(
    r"(?:0x)?[0-9a-f]{16,}|(?:0x)?[0-9A-F]{16,}|"
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
)

# Removing a block may join its neighbours into another tag; more rounds than this mean an attack.
_MOST_ROUNDS = 10
# As written, as HTML escapes it (also twice), and as JSON escapes it.
_LESS = r"(?:<|&(?:amp;){0,3}(?:lt|#60|#x0*3c);|\\{1,4}u003c)"
_GREATER = r"(?:>|&(?:amp;){0,3}(?:gt|#62|#x0*3e);|\\{1,4}u003e)"


class SecretSpan(NamedTuple):
    """A secret of some kind at `text[start:end]`."""

    kind: str
    start: int
    end: int


def mark_of(kind: str) -> str:
    """Return the mark that replaces a secret."""
    return f"[redacted:{kind}]"


# Tells words and identifiers from random strings, by the letter pairs that words are made of.


@cache
def _pairs() -> frozenset[str]:
    return frozenset(group[0] + follower for group in _COMMON_PAIRS.split() for follower in group[1:])


def segments(value: str) -> list[str]:
    """Split an identifier, or the beginning of a long value, into words: `getUser_id2` gives get, User, id, 2."""
    return _SEGMENT_PATTERN.findall(value[:96])


def likeness(value: str) -> float:
    """Return from 0 (random) to 1 (made of words); a value without letters or digits counts as words."""
    common = _pairs()
    hits = 0.0
    total = 0.0
    for segment in segments(value):
        lowered = segment.lower()
        if lowered[0].isdigit():
            total += 1
        elif lowered in _ABBREVIATIONS:
            hits += 1
            total += 1
        elif len(lowered) == 1:
            total += 1
        else:
            total += len(lowered) - 1
            hits += sum(lowered[i : i + 2] in common for i in range(len(lowered) - 1))
    return hits / total if total else 1.0


def is_wordlike(value: str) -> bool:
    """Whether a person would read this as words, an identifier or a label."""
    return likeness(value) >= _WORDS_HAVE_AT_LEAST


def is_hash_or_uuid(value: str) -> bool:
    """Whether a value is a digest, commit id or uuid: secret only if its name says so."""
    return _HEX.fullmatch(value) is not None


def is_id(value: str) -> bool:
    """Whether a value is an id, labelled digest, version, date, size, colour, URL or mail address."""
    return _IDS.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value is a stand-in that a person is meant to replace, or one that tests and documents use."""
    core = value.strip("\"'`<>[](){}*_-. ")
    if len(set(core.lower())) <= 2 or _PLACEHOLDER.search(value[:_LOOKED_AT].lower()):
        return True
    if _counts_up(core[:_LOOKED_AT].lower()):
        return True
    if (
        _NAMES_ITSELF.search(core[:_LOOKED_AT].lower())
        and not set(core) & set("!@$%^&*+=~?")
        and is_wordlike(core)
    ):
        return True
    return all(word.lower() in _STAND_IN_WORDS or word.isdigit() for word in segments(core))


def _counts_up(core: str) -> bool:
    """Whether a value is mostly sequences, as in `1234567890abcdef`. A real password may contain `12345`."""
    covered = run = 0
    for before, sign in pairwise(core):
        if ord(sign) - ord(before) == 1 or (before, sign) in (("9", "0"), ("0", "a"), ("z", "0"), ("9", "a")):
            run = run + 1 if run else 2
            continue
        covered += run if run >= _RUN else 0
        run = 0
    covered += run if run >= _RUN else 0
    return covered * 2 >= len(core) and covered >= _RUN


def is_reference(value: str) -> bool:
    """Whether a value is a variable, a template or a lookup of a secret stored elsewhere."""
    match = _REFERENCE.search(value[:_LOOKED_AT])
    if not match:
        return False
    # A random password may begin with `$`; a variable's name is made of words or of capitals.
    name = re.match(r"\$(\w+)", value)
    return not name or name[1].isupper() or len(name[1]) < 3 or is_wordlike(name[1])


def is_code(value: str) -> bool:
    """Whether a value is an unquoted expression; call it only for values without quotes."""
    if _CODE.match(value):
        return True
    return _DOTTED.match(value) is not None and (is_wordlike(value) or not any(map(str.isdigit, value)))


def is_path(value: str) -> bool:
    """Whether a value is a path; random base64 may hold slashes too, so the parts must read as words."""
    if not _PATH.fullmatch(value):
        return False
    folders = re.match(r"(?:[a-z][a-z_-]{2,30}/){2}", value)
    return is_wordlike(folders[0] if folders else value)


def is_regex_source(value: str) -> bool:
    """Whether a value is a pattern that describes secrets."""
    return _REGEX_SOURCE.search(value) is not None


def is_common_word(word: str) -> bool:
    """Whether a word is common in labels, messages and names; a passphrase has none of them."""
    return word.lower() in COMMON_IN_LABELS or word.lower() in _STAND_IN_WORDS


def stands_for_nothing(value: str) -> bool:
    """Whether a value is certainly not a secret, in any context."""
    return (
        not value.strip()
        or is_placeholder(value)
        or is_reference(value)
        or is_regex_source(value)
        or is_id(value)
        or is_path(value)
    )


# Removes text that a person marked `<private>…</private>`: it is never stored.


@cache
def _tag() -> re.Pattern[str]:
    """Match an opening or closing tag, with attributes or without; not `<privateKey>` or `x < private`."""
    attributes = r"(?=[\s/>&\\])[^<>]{0,500}?"
    return re.compile(
        rf"{_LESS}(?P<close>\s{{0,8}}/\s{{0,8}})?(?:private{attributes}|\s{{1,8}}private\s{{0,8}})"
        rf"(?P<empty>/\s{{0,4}})?{_GREATER}",
        re.IGNORECASE,
    )


def strip_private(text: str) -> str:
    """Remove the private blocks; a block that is never closed extends to the end of the text."""
    # The pattern also matches these two as an i; searching for the plain word first is far cheaper.
    plain = text if text.isascii() else text.replace("\u0130", "i").replace("\u0131", "i")
    if "private" not in plain.lower():
        return text
    for _ in range(_MOST_ROUNDS):
        stripped = _without_blocks(text)
        if stripped == text:
            return text
        text = stripped
    rest = _tag().search(text)
    return text[: rest.start()] if rest else text


def _without_blocks(text: str) -> str:
    kept: list[str] = []
    depth = 0
    position = 0
    for tag in _tag().finditer(text):
        if tag["empty"] and not tag["close"]:
            continue
        if not tag["close"]:
            if depth == 0:
                kept.append(text[position : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                position = tag.end()
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)
