"""What the name of a variable, field or option says about its value."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from holdfast.guard.wordlike import segments, words

# password: a person's, may be short and wordy. secret: a machine's, looks random. weak: only if very random.
Strength = Literal["password", "secret", "weak"]

_PASSWORD_ENDINGS = ("password", "passwd", "passphrase", "passwort", "kennwort", "passcode")
_PASSWORDS = words(
    """
    pwd pass pw psk contraseña contrasena senha motdepasse mnemonic dbpass dbpwd userpass mypass rootpw
    storepass keypass masterpass adminpass smtppass mailpass wachtwoord haslo lozinka mdp pswd passw
    """
)
_SECRETS = words(
    """
    secret token apikey authtoken accesstoken jwt bearer credential credentials creds cred pat secretkey
    accesskey privatekey authorization apitoken sharedkey accountkey signingkey encryptionkey authkey
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
    key sig salt dsn otp
    """
)
# A last word that does not change what the thing is: FOO_TOKEN_PROD, SECRET_KEY_BASE, api_key_2.
_TAILS = words(
    """
    old new prod dev live test testing staging stage value val str string text raw plain plaintext b default
    primary secondary production development current temp tmp encrypted base data local ci main backup next
    previous prev eu us
    """
)
# Before `token` or `key` these make it a mark in a text, a place in a list, or something public.
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


@cache
def _camel() -> re.Pattern[str]:
    return re.compile(r"[^A-Za-z0-9\u00c0-\u024f]+")


@lru_cache(maxsize=2048)  # the options of commands come again and again
def classify(name: str) -> Strength | None:
    """How strongly this name claims that its value is a secret; None when it does not."""
    parts = [w for part in _camel().split(name[-80:]) if part for w in _words_of(part)]
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
    if before in _HARMLESS_BEFORE or "public" in parts:
        return None
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
    # API_KEY and APIKey both come out as api, key; DBPassword as db, password.
    return [word.lower() for word in segments(part)]


def is_shouted(name: str) -> bool:
    """Written as environment variables are: capitals and underscores."""
    return name.isupper() and len(name) >= 3
