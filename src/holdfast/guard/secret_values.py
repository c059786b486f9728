"""Judges whether a value under a secret's name is the secret itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from holdfast.core.patterns import lazy_regex
from holdfast.core.words import word_set as words
from holdfast.guard import not_secret
from holdfast.guard.not_secret import is_wordlike, segments

# password: chosen by a person, may be short and wordy. secret: generated, looks random. weak: only if very random.
Strength = Literal["password", "secret", "weak"]

_PASSWORD_ENDINGS = ("password", "passwd", "passphrase", "passwort", "kennwort", "passcode")
_PASSWORDS = words(
    """
    pwd pass pw psk contraseña contrasena senha motdepasse mnemonic dbpass dbpwd userpass mypass rootpw
    storepass keypass masterpass adminpass smtppass mailpass wachtwoord haslo lozinka mdp pswd passw
    parola sandi sifre şifre hasło salasana lösenord пароль 密码 密碼 口令 パスワード 비밀번호
    """
)
_SECRETS = words(
    """
    secret token apikey authtoken accesstoken jwt bearer credential credentials creds cred pat secretkey
    accesskey privatekey authorization apitoken sharedkey accountkey encryptionkey authkey
    clientsecret appsecret connectionstring apisecret refreshtoken idtoken bottoken sas keydata licensekey
    sharedaccesskey usertoken personaltoken auth
    """
)
_SECRET_PAIRS = words(
    """
    api access secret private auth encryption signing master account shared app service license storage
    admin deploy client consumer application subscription decryption crypto cipher aes hmac jwt webhook rsa
    ssh gpg wallet integration ingest instance restapi rest server function host functions openai anthropic
    stripe sendgrid mailgun algolia datadog dd cloudflare cf heroku aws azure gcp google github gitlab
    twilio mapbox maps firebase pinecone cohere mistral groq deepseek gemini replicate openrouter airtable
    linear notion newrelic honeycomb rollbar bugsnag amplitude segment mixpanel intercom zendesk
    """
)
_WEAK = words(
    """
    key sig salt dsn otp signingkey
    """
)
# A last word that does not change the meaning: FOO_TOKEN_PROD, SECRET_KEY_BASE, api_key_2.
_TAILS = words(
    """
    old new prod dev live test testing staging stage value val str string text raw plain plaintext b default
    primary secondary production development current temp tmp encrypted base data local ci main backup next
    previous prev eu us
    """
)
_PUBLIC = frozenset({"public", "publishable", "site"})
# Before `token` or `key` these make it a mark in a text, a position in a list, or something public.
_HARMLESS_BEFORE = words(
    """
    public pub primary foreign sort partition cache max min num total input output prompt completion page
    next continuation pagination cursor sync eos bos pad unk mask cls sep stop special start end first last
    object dict map hot shortcut query row column unique composite lookup group order i18n translation
    message routing idempotency dedupe event press arrow enter escape tab up down left right home delete
    backspace natural surrogate config react list item sub route state design color theme css lexer parser
    current prev previous word dedup hash index distribution range known vocab syntax json keyboard registry
    """
)

_CAMEL = lazy_regex(r"[^A-Za-z0-9\u00c0-\u024f]+")

# quoted: a literal. env: a shell variable's whole word. option: a word after `--name` or `name:`.
# bare: unquoted, may be code. call: an argument. prose: a word of a sentence.
Style = Literal["quoted", "env", "option", "bare", "call", "prose"]
_UNQUOTED = frozenset({"option", "bare", "prose"})
_SENTENCE_END = ".,;:!?)]}'\"`*"
_PROOF_LENGTH = 8
_WEAK_LENGTH = 20
_SEED_LENGTH = 16

_ESCAPE = lazy_regex(r"\\+(?:[nrtabfv0]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")
_APP_PASSWORD = lazy_regex(r"[a-z]{4}(?: [a-z]{4}){3}")

_SCHEME = lazy_regex(
    r"(?:bearer|basic|token|apikey|api-key|key|digest|ssws|splunk|bot|flyv1|pat)[ :]+", re.IGNORECASE
)


@lru_cache(maxsize=2048)  # the options of commands repeat
def classify(name: str) -> Strength | None:
    """Return how strongly a name claims that its value is a secret; None if it does not."""
    parts = [word for part in _CAMEL.split(name[-80:]) if part for word in _words_of(part)]
    if parts[-2:] == ["connection", "string"]:
        return "secret"
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _TAILS):
        parts.pop()
    if not parts:
        return None
    last = parts[-1]
    before = parts[-2] if len(parts) > 1 else ""
    if last.endswith(_PASSWORD_ENDINGS) or last in _PASSWORDS:
        # `pass` alone is also a verb and a step of a compiler: its value has to look random.
        return "secret" if last in {"pass", "pw"} and not before else "password"
    if before in _HARMLESS_BEFORE or "websocket" in "".join(parts[-3:]) or not _PUBLIC.isdisjoint(parts):
        return None
    if last == "signature":
        return "secret" if "amz" in parts or "goog" in parts else None
    if last in {"sessionid", "phpsessid", "jsessionid", "sessid", "sid"}:
        return "weak"
    if last == "key":
        return "secret" if before in _SECRET_PAIRS else "weak"
    if last in {"phrase", "words"}:
        return "password" if before in {"seed", "recovery", "pass", "mnemonic"} else None
    if last == "auth" and before not in {"", "npm", "basic"}:
        return "weak"
    if last in _SECRETS or last.endswith(
        ("secret", "token", "apikey", "accesskey", "secretkey", "privatekey")
    ):
        return "secret"
    return "weak" if last in _WEAK else None


def _words_of(part: str) -> list[str]:
    if not part.isascii():
        return [part.lower()]
    # API_KEY and APIKey both become api, key; DBPassword becomes db, password.
    return [word.lower() for word in segments(part)]


def is_shouted(name: str) -> bool:
    """Whether a name is written as environment variables are: capitals and underscores."""
    return name.isupper() and len(name) >= 3


class _Makeup:
    """Counts of the kinds of characters in a value."""

    __slots__ = ("digits", "letters", "lower", "symbols", "upper")

    def __init__(self, value: str) -> None:
        signs = value[:400]
        self.digits = sum(map(str.isdigit, signs))
        self.lower = sum(map(str.islower, signs))
        self.upper = sum(map(str.isupper, signs))
        self.letters = self.lower + self.upper
        self.symbols = len(signs) - self.digits - self.letters - sum(map(signs.count, " _-."))


def is_secret(value: str, strength: Strength, style: Style) -> bool:
    """Judge one value: the weaker its name and notation, the more random it must be."""
    core = value.rstrip(_SENTENCE_END) if style in _UNQUOTED else value
    if "\\" in core:
        core = _ESCAPE.sub(" ", core).strip()
    if strength == "weak" and (len(core) < _WEAK_LENGTH or not any(map(str.isdigit, core))):
        return False
    if len(core) < 5 or (style in _UNQUOTED and not_secret.is_code(core)):
        return False
    if not_secret.stands_for_nothing(core):
        return False
    if any(char.isspace() for char in core.strip()):
        return _is_secret_with_spaces(core.strip(), strength)
    if core.isalpha() and not core.isascii():
        return False  # a word of another language
    if strength == "weak":
        return _is_very_random(core)
    if strength == "password":
        return _is_password(core, style)
    return _is_machine_secret(core, style)


def _is_very_random(value: str) -> bool:
    makeup = _Makeup(value)
    return (
        len(value) >= _WEAK_LENGTH
        and makeup.digits > 0
        and makeup.letters > 0
        and not not_secret.is_hash_or_uuid(value)
        and not is_wordlike(value)
        and not _is_listy(value)
        and not not_secret.is_hash_or_uuid(max(re.split(r"[-_.:/]", value), key=len))
    )


def _is_listy(value: str) -> bool:
    """Whether a value is a composite key or an address: several short readable parts joined by a separator."""
    parts = re.split(r"[:/|@.#-]", value)
    return len(parts) > 2 and max(len(part) for part in parts) < _WEAK_LENGTH - 4


def _is_password(value: str, style: Style) -> bool:
    makeup = _Makeup(value)
    if style == "prose":
        return _is_password_in_prose(value, makeup)
    if not makeup.letters:
        return len(value) >= 6 and (makeup.symbols > 0 or style in {"quoted", "env"})
    if makeup.digits:
        return len(value) >= 6 and not (style in {"bare", "call"} and _is_numbered_name(value))
    if makeup.symbols:
        return len(value) >= 6 and (style in {"quoted", "env"} or not is_wordlike(value))
    if not is_wordlike(value):
        return len(value) >= _PROOF_LENGTH
    return _is_passphrase(value) or (style == "env" and value.isalpha() and len(value) >= _PROOF_LENGTH)


def _is_password_in_prose(value: str, makeup: _Makeup) -> bool:
    if makeup.digits and makeup.letters:
        kinds = (makeup.lower > 0) + (makeup.upper > 0) + (makeup.symbols > 0)
        return len(value) >= 6 and (kinds > 1 or not _is_numbered_name(value) or "-" not in value)
    if makeup.symbols and makeup.letters:
        return len(value) >= 8 and not is_wordlike(value)
    return (len(value) >= 12 and not is_wordlike(value)) or _is_passphrase(value, fewest=4)


def _is_numbered_name(value: str) -> bool:
    """Whether a value is an identifier with a number: `arg1`, `sha256`, `user_v2`."""
    return (
        value.isidentifier()
        and is_wordlike(value)
        and len(re.findall(r"\d+", value)) == 1
        and value[-1].isdigit()
    )


def _is_passphrase(value: str, fewest: int = 3) -> bool:
    words = re.split(r"[-_.]", value)
    return (
        len(words) >= fewest
        and all(len(word) >= 3 and word.isalpha() for word in words)
        and not any(not_secret.is_common_word(word) for word in words)
        and "-" in value
    )


def _is_machine_secret(value: str, style: Style) -> bool:
    if not_secret.is_hash_or_uuid(value):
        return True
    makeup = _Makeup(value)
    if (
        not makeup.lower
        and makeup.digits > 1
        and len(value) >= _SEED_LENGTH
        and value.isalnum()
        and makeup.letters
    ):
        return True  # base32, as the seeds of one-time passwords are: capitals read as words too often
    if not makeup.letters or is_wordlike(value):
        return False
    if style in _UNQUOTED and not makeup.digits and not (makeup.upper and makeup.lower and len(value) >= 16):
        return False
    if makeup.digits:
        fewest = {"quoted": 8, "env": 8, "call": 10, "option": 8, "bare": 10, "prose": 12}[style]
        return len(value) >= fewest
    return len(value) >= (12 if style in {"quoted", "env"} else 20)


def _is_secret_with_spaces(value: str, strength: Strength) -> bool:
    """Judge a value with spaces: mostly a label or a message, but app passwords and seed phrases have spaces too."""
    words = value.split()
    if strength == "weak" or len(words) > 30:
        return False
    if _APP_PASSWORD.fullmatch(value) and not is_wordlike(value):
        return True
    if any(word.lower() in not_secret.COMMON_IN_LABELS for word in words):
        return False
    if strength == "password" and len(words) in {12, 15, 18, 21, 24}:
        return all(word.isalpha() and word.islower() for word in words)
    longest = max(words, key=len)
    return len(longest) >= 12 and _is_very_random(longest + longest)


def without_scheme(value: str) -> int:
    """Return how many characters of `Bearer abc…` come before the secret."""
    match = _SCHEME.match(value)
    return match.end() if match else 0
