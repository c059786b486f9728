"""Finds secrets by their position: in addresses, headers and cookies, in a command's arguments, in code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from holdfast.core.patterns import lazy_regex
from holdfast.guard import not_secret
from holdfast.guard.not_secret import SecretSpan, is_wordlike
from holdfast.guard.secret_values import classify, is_secret

# User and password of a URL's authority; a password may hold `@`, so the last one counts.
_USERINFO = lazy_regex(
    r"""(?P<user>[^\s/?\#@:"'`<>\\]{0,200}+)
        (?: : (?P<password>(?:[^\s/?\#"'`<>\\@]{0,200}+@){1,4}+) (?=[\w\[$<{*.-])
          | : (?P<odd>(?!\d{1,5}(?:[/?\#]|\Z))[^\s"'`<>\\]{3,120})@ (?=[\w.-]{1,100}(?:[:/]|\Z|\s))
          | @ (?=[\w\[]))""",
    re.VERBOSE,
)

_PUBLIC_DSN = lazy_regex(r"o\d{1,20}\.ingest\.(?:[a-z]{2}\.)?sentry\.io/")
# The text between the name of the header and the credential.
_SCHEME = lazy_regex(
    r"[\"'\\]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\"'`\\]{0,4}"
    r"(?:basic|bearer|token|digest|apikey|api-key|key|ssws|splunk|bot|pat|negotiate)[ \t:]{1,4}"
    r"(?:[\"'][ \t]{0,4}[+.][ \t]{0,4})?[\"'`\\]{0,2}"
)
_BLANKS = lazy_regex(r"[ \t:]{1,4}[\"'`\\]{0,2}")
_CREDENTIAL = lazy_regex(r"""[^\s"'`<>\\,;)\]}]{6,8000}+""")

_COOKIE_JOINT = lazy_regex(
    r"""["'\\]{0,4}[ \t]{0,4}(?:[:=]|,(?=[ \t]{0,4}["'])|(?=[ \t]["']))[ \t]{0,4}["'\\`]{0,4}"""
)

_COOKIE_PAIR = lazy_regex(r"([^\s;=]{1,80})=([^;]+)")
_COOKIE_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "version", "priority"})

_LONGEST_COMMAND = 2000
_COMMAND = lazy_regex(
    r"\b(?:curl|wget|https?(?= )|xh(?= )|mysql\w{0,8}|mariadb|sshpass|docker|podman|skopeo|buildah|helm|"
    r"az(?= )|redis-cli|mongo\w{0,8}|ldap\w{1,8}|7za?(?= )|zip(?= )|unzip|openssl|htpasswd|smbclient|rpcclient|"
    r"mosquitto_\w{3}|vault login|snyk auth|ngrok|chpasswd|net use|sqlcmd|bcp(?= )|isql|oc login)"
)

_COOKIE_OPTION = lazy_regex(r"""\s(?:-b|--cookie)[ =]?["']?([^\s"'=]{1,80}=[^"'\n]{1,4096})""")

# Searched first, because they are rarer than the names of commands; each begins with a literal, for speed.
_OPTIONS = (
    (" -", r" -(?:[a-zA-Z]{0,6}[uUpPawkb]|-user|-proxy-user|-auth|-cookie|pass(?:in|out)?)(?![\w]{3}[\s=])"),
    (" login ", r" login "),
    ("authtoken ", r"authtoken "),
    ("snyk auth ", r"snyk auth "),
    ("net use", r"net use"),
)

# PrefilteredRegex in lower-cased text. Pairs: the second literal after it is the secret. SQL: the first one is.
_PAIR_OPENERS = (
    "auth=(",
    "auth = (",
    "auth(",
    ".login(",
    "credential(",
    "credentials(",
    "creds = (",
    "add_user(",
)
_SQL_OPENERS = ("identified by ", "identified as ", "password ", "convertto-securestring ")
_SECOND_LITERAL = lazy_regex(
    r"""\s{0,10}[^()"'\n]{0,40}(?:\\{0,4}["'][^"'\n\\]{0,100}\\{0,4}["']|(?<=[(\s,])[\w.]{1,60})\s{0,4},\s{0,40}"""
    r"""(?:\w{1,20}\s?[=:]\s?)?\\{0,4}["'](?P<secret>[^"'\n\\]{4,200})\\{0,4}["']"""
)
_FIRST_LITERAL = lazy_regex(r"""\\{0,4}["'](?P<secret>[^"'\n\\]{4,200})\\{0,4}["']""")

_AWS_ID = lazy_regex(r"(?<![A-Za-z0-9])A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])|\[redacted:aws-key\]")
# A Twilio account or key, and the 32 hex digits that go with it, as the next argument or in quotes.
_TWILIO_ID = lazy_regex(r"AC(?<![A-Za-z0-9]..)[0-9a-f]{32}(?![A-Za-z0-9])")
_TWILIO_SECRET = lazy_regex(r"(?<![A-Za-z0-9/#-])[0-9a-zA-Z]{32}(?![A-Za-z0-9-])(?=[\s\"'`,;)@\\&]|\Z)")
_AWS_SECRET = lazy_regex(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")


def find_in_urls(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and tokens in URLs."""
    for joint in re.finditer("://", text):
        if match := _USERINFO.match(text, joint.end()):
            yield from _of_userinfo(text, match)


def _of_userinfo(text: str, match: re.Match[str]) -> Iterator[SecretSpan]:
    user = match["user"]
    group = "password" if match["password"] else "odd"
    if match[group]:
        end = match.end(group) - (group == "password")
        if _is_url_password(text[match.start(group) : end], user):
            yield SecretSpan("url-password", match.start(group), end)
    if _is_public_key(text, match):
        return
    if len(user) >= 16 and not not_secret.stands_for_nothing(user) and not is_wordlike(user):
        yield SecretSpan("url-token", match.start("user"), match.end("user"))


def _is_public_key(text: str, match: re.Match[str]) -> bool:
    """Whether a URL is a DSN as web pages have it: Sentry's key without its secret only lets one report errors."""
    return _PUBLIC_DSN.match(text, match.end()) is not None and not match["password"] and not match["odd"]


def _is_url_password(password: str, user: str) -> bool:
    if len(password) < 3 or password.lower() == user.lower() or password.startswith("$"):
        return False
    templated = password[0] in "{<[%*(" and password[-1] in "}>]%*s)"
    return not (
        templated
        or not_secret.is_placeholder(password)
        or not_secret.is_reference(password)
        or not_secret.is_regex_source(password)
    )


def find_schemes(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield credentials of the Authorization header, with or without its name."""
    for word, joint in (("authorization", _SCHEME), ("bearer", _BLANKS), ("basic", _BLANKS)):
        position = lowered.find(word)
        while position >= 0:
            link = joint.match(lowered, position + len(word))
            value = _CREDENTIAL.match(text, link.end()) if link else None
            if value and _is_credential(value[0], word):
                yield SecretSpan("authorization", value.start(), value.end())
            position = lowered.find(word, value.end() if value else position + len(word))


def _is_credential(value: str, word: str) -> bool:
    if word == "basic":
        return _is_basic(value)
    return is_secret(value, "secret", "prose" if word == "bearer" else "option")


def _is_basic(value: str) -> bool:
    """Whether a value is base64 of `user:password`: long, mixed, and not a word that follows `basic`."""
    return (
        len(value) >= 8
        and re.fullmatch(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9=])[A-Za-z0-9+/_-]+={0,2}", value) is not None
        and not not_secret.stands_for_nothing(value)
        and not is_wordlike(value)
    )


@cache
def _cookie_pairs() -> re.Pattern[str]:
    name = r"""[^\s"'`<>\\;=,]{1,80}+"""
    return re.compile(
        rf"""{name}=[^\s"'`<>\\;,]{{0,4096}}+(?:;[ \t]?{name}(?:=[^"'`<>\\;\r\n]{{0,4096}}+)?){{0,60}}+"""
    )


def find_cookies(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the values of cookies: they grant access."""
    position = lowered.find("cookie")
    while position >= 0:
        joint = _COOKIE_JOINT.match(text, position + 6)
        pairs = _cookie_pairs().match(text, joint.end()) if joint else None
        if pairs:
            yield from cookie_values(pairs[0], pairs.start())
        position = lowered.find("cookie", pairs.end() if pairs else position + 6)


def cookie_values(pairs: str, offset: int) -> Iterator[SecretSpan]:
    """Yield the values of `name=value; name=value` that may be secret."""
    for pair in _COOKIE_PAIR.finditer(pairs):
        value = pair[2].strip()
        if pair[1].lower() in _COOKIE_ATTRIBUTES or len(value) < 8 or not_secret.stands_for_nothing(value):
            continue
        if not is_wordlike(value):
            yield SecretSpan("cookie", offset + pair.start(2), offset + pair.end(2))


@cache
def _places() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Return pairs of patterns: the command, and the position of the secret in it (the last group)."""
    word = r"""(?:"([^"\n]{3,200})"|'([^'\n]{3,200})'|((?:[^\s"'|&;<>]|&(?=\w)){3,200}))"""
    user = r"""[^\s:"'$]{1,100}:"""
    pair = rf"""(?:"{user}([^"\n]{{3,200}})"|'{user}([^'\n]{{3,200}})'|{user}([^\s"']{{3,200}}))"""
    rules = (
        (r"curl|wget|https?|xh", rf"\s(?:-[a-zA-Z]{{0,6}}[uU]|--user|--proxy-user|-a|--auth)[ =]?{pair}"),
        (r"mysql|mariadb", rf"\s-p(?=[^\s]){word}"),
        (r"sshpass", rf"\s-p\s?{word}"),
        (r"docker|podman|skopeo|buildah|helm|az|oc", rf"\blogin\b[^\n]{{0,300}}?\s-p[ =]?{word}"),
        (r"mongo", rf"\s-p[ =]?{word}"),
        (r"redis-cli", rf"\s-a[ =]?{word}"),
        (r"ldap", rf"\s-w[ =]?{word}"),
        (r"7z", rf"\s-p(?=[^\s]){word}"),
        (r"zip|unzip", rf"\s-P[ =]?{word}"),
        (r"openssl", rf"\s(?:-pass(?:in|out)?\s{{1,4}}[\"']?pass:|-k\s{{1,4}}){word}"),
        (
            r"htpasswd",
            rf"\s-[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}}\s{{1,4}}\S{{1,200}}\s{{1,4}}\S{{1,100}}\s{{1,4}}{word}",
        ),
        (r"smbclient|rpcclient", r"\s-U\s?[\"']?[^\s%\"']{1,80}%([^\s\"']{3,200})"),
        (r"mosquitto|sqlcmd|bcp|isql", rf"\s-P[ =]?{word}"),
        (r"vault login|snyk auth|oc login", rf"(?:login|auth)\s{{1,4}}{word}"),
        (r"ngrok", rf"authtoken\s{{1,4}}{word}"),
        (r"net use", rf"net user?\s{{1,4}}\S{{1,100}}\s{{1,4}}{word}"),
    )
    return tuple((re.compile(command), re.compile(place)) for command, place in rules)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


def find_in_commands(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield secrets in the arguments that commands have for them."""
    for literal, option in _OPTIONS:
        done = 0
        for hit in _compiled(option).finditer(text) if literal in text else ():
            if hit.start() < done:
                continue
            start, done = _line_around(text, hit.start())
            # The first of each name is enough: its arguments are searched to the end of the line.
            first = {
                command[0]: command for command in reversed(list(_COMMAND.finditer(lowered, start, done)))
            }
            for command in first.values():
                yield from _in_command(text[command.start() : done], command[0], command.start())


def _line_around(text: str, position: int) -> tuple[int, int]:
    """Return the span of one command with its continuation lines, up to a reasonable length."""
    first = max(0, position - _LONGEST_COMMAND)
    last = min(len(text), position + _LONGEST_COMMAND)
    start = text.rfind("\n", first, position)
    while start > first and text[start - 1] == "\\":
        start = text.rfind("\n", first, start)
    end = text.find("\n", position, last)
    while end > 0 and text[end - 1] == "\\":
        end = text.find("\n", end + 1, last)
    return max(start, first), end if end >= 0 else last


def _in_command(segment: str, name: str, offset: int) -> Iterator[SecretSpan]:
    for command, place in _places():
        if not command.match(name):
            continue
        for match in place.finditer(segment):
            group = match.lastindex or 1
            if _is_argument_secret(match[group]):
                yield SecretSpan("password", offset + match.start(group), offset + match.end(group))
    if name in {"curl", "wget"}:
        for cookie in _COOKIE_OPTION.finditer(segment):
            yield from cookie_values(cookie[1], offset + cookie.start(1))


def _is_argument_secret(value: str) -> bool:
    if value.startswith(("-", "$", "%")) or not_secret.stands_for_nothing(value) or len(value) < 4:
        return False
    return any(char.isdigit() for char in value) or not value.isalpha() or not is_wordlike(value)


@cache
def _spaced() -> tuple[tuple[str, str], ...]:
    """Return patterns for names separated from their values by a blank; compiled only if their literal occurs."""
    value = r"""[ \t]{1,8}(?:\\{0,4}"([^"\n\\]{3,400})|\\{0,4}'([^'\n\\]{3,400})|([^\s"'`|&;<>\\]{3,4000}))"""
    name = r"[\"']?(?P<name>[\w./:-]{2,80}+)[\"']?"
    return (
        ("--", r"--(?P<name>[A-Za-z][\w-]{2,40}+)" + value),
        (" -", r" -(?P<name>[A-Za-z][\w-]{2,40}+)" + value),
        ("set ", r"set " + name + value),
        ("setx ", r"setx " + name + value),
        ("ENV ", r"ENV " + name + value),
        ("login", r"login[ \t]{1,4}\S{1,80}+\s{1,20}(?P<name>password)" + value),
        ("put", r"put[\w-]{1,20} " + name + value),
        ("#define ", r"#define " + name + value),
        ("requirepass", r"require(?P<name>pass)" + value),
        (
            "echo ",
            r"echo (?=[^\n]{0,300}(?:--password-stdin|--with-token))(?P<name>)"
            + value.replace("{1,8}", "{0,8}"),
        ),
        (
            "secret set ",
            r"(?P<name>secret) set \S{1,80}+ (?:--body|-b)[= ]" + value.replace("{1,8}", "{0,8}"),
        ),
    )


def find_spaced(text: str) -> Iterator[SecretSpan]:
    """`--password X`, `ENV API_TOKEN X`, `aws configure set aws_secret_access_key X`, netrc."""
    for literal, source in _spaced():
        if literal not in text:
            continue
        for match in _compiled(source).finditer(text):
            strength = classify(match["name"] or "token")
            group = next(i for i in range(2, 5) if match[i] is not None)
            if strength and is_secret(match[group], strength, "quoted" if group < 4 else "option"):
                yield SecretSpan("secret", match.start(group), match.end(group))


# Secrets by their position in code: `auth=("user", "…")`, `IDENTIFIED BY '…'`, AWS pairs.


def find_arguments(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the second half of credential pairs in code, and passwords in SQL."""
    for openers, literal in ((_PAIR_OPENERS, _SECOND_LITERAL), (_SQL_OPENERS, _FIRST_LITERAL)):
        for opener in openers:
            for start in re.finditer(re.escape(opener), lowered) if opener in lowered else ():
                match = literal.match(text, start.end())
                if match and is_secret(match["secret"], "password", "call"):
                    yield SecretSpan("password", match.start("secret"), match.end("secret"))


def find_pairs(text: str) -> Iterator[SecretSpan]:
    """Yield the secret half of key pairs. It has no recognisable form, but is next to the id, which has."""
    if "AKIA" in text or "ASIA" in text or "[redacted:aws-key]" in text:
        for value, start, end in _beside(text, _AWS_ID, _AWS_SECRET):
            mixed = re.match(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])", value)
            if mixed and not is_wordlike(value) and not not_secret.is_placeholder(value):
                yield SecretSpan("aws-secret", start, end)
    if "AC" in text:
        for value, start, end in _beside(text, _TWILIO_ID, _TWILIO_SECRET):
            if not not_secret.is_placeholder(value):
                yield SecretSpan("twilio-secret", start, end)


def _beside(text: str, ids: re.Pattern[str], secrets: re.Pattern[str]) -> Iterator[tuple[str, int, int]]:
    done = 0
    for key in ids.finditer(text):
        start = max(done, key.start() - 300)
        done = min(len(text), key.end() + 400)
        yield from ((secret[0], *secret.span()) for secret in secrets.finditer(text, start, done))
