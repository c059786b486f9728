"""Secrets among the arguments of commands: `curl -u user:…`, `mysql -p…`, `--token …`, netrc lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from holdfast.guard import not_secret
from holdfast.guard.finding import Finding
from holdfast.guard.secret_names import classify
from holdfast.guard.secret_values import is_secret
from holdfast.guard.urls_and_headers import cookie_values
from holdfast.guard.wordlike import is_wordlike

_LONGEST_COMMAND = 2000


@cache
def _command() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:curl|wget|https?(?= )|xh(?= )|mysql\w{0,8}|mariadb|sshpass|docker|podman|skopeo|buildah|helm|"
        r"az(?= )|redis-cli|mongo\w{0,8}|ldap\w{1,8}|7za?(?= )|zip(?= )|unzip|openssl|htpasswd|smbclient|rpcclient|"
        r"mosquitto_\w{3}|vault login|snyk auth|ngrok|chpasswd|net use|sqlcmd|bcp(?= )|isql|oc login)"
    )


@cache
def _places() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Which command, and where in it the secret stands (the last group)."""
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
def _cookie_option() -> re.Pattern[str]:
    return re.compile(r"""\s(?:-b|--cookie)[ =]?["']?([^\s"'=]{1,80}=[^"'\n]{1,4096})""")


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


# Looked for first, being rarer than the commands' names; each begins with a literal, to be quick.
_OPTIONS = (
    (" -", r" -(?:[a-zA-Z]{0,6}[uUpPawkb]|-user|-proxy-user|-auth|-cookie|pass(?:in|out)?)(?![\w]{3}[\s=])"),
    (" login ", r" login "),
    ("authtoken ", r"authtoken "),
    ("snyk auth ", r"snyk auth "),
    ("net use", r"net use"),
)


def find_in_commands(text: str, lowered: str) -> Iterator[Finding]:
    """Secrets in the places that commands have for them."""
    for literal, option in _OPTIONS:
        done = 0
        for hit in _compiled(option).finditer(text) if literal in text else ():
            if hit.start() < done:
                continue
            start, done = _line_around(text, hit.start())
            # The first of each name speaks for all of them: its arguments are sought to the end of the line.
            first = {
                command[0]: command for command in reversed(list(_command().finditer(lowered, start, done)))
            }
            for command in first.values():
                yield from _in_command(text[command.start() : done], command[0], command.start())


def _line_around(text: str, position: int) -> tuple[int, int]:
    """One command with its continuation lines, as far as a command reasonably goes."""
    first = max(0, position - _LONGEST_COMMAND)
    last = min(len(text), position + _LONGEST_COMMAND)
    start = text.rfind("\n", first, position)
    while start > first and text[start - 1] == "\\":
        start = text.rfind("\n", first, start)
    end = text.find("\n", position, last)
    while end > 0 and text[end - 1] == "\\":
        end = text.find("\n", end + 1, last)
    return max(start, first), end if end >= 0 else last


def _in_command(segment: str, name: str, offset: int) -> Iterator[Finding]:
    for command, place in _places():
        if not command.match(name):
            continue
        for match in place.finditer(segment):
            group = match.lastindex or 1
            if _is_argument_secret(match[group]):
                yield Finding("password", offset + match.start(group), offset + match.end(group))
    if name in {"curl", "wget"}:
        for cookie in _cookie_option().finditer(segment):
            yield from cookie_values(cookie[1], offset + cookie.start(1))


def _is_argument_secret(value: str) -> bool:
    if value.startswith(("-", "$", "%")) or not_secret.stands_for_nothing(value) or len(value) < 4:
        return False
    return any(char.isdigit() for char in value) or not value.isalpha() or not is_wordlike(value)


@cache
def _spaced() -> tuple[tuple[str, str], ...]:
    """Names that only a blank parts from their values; each begins with a literal, and is compiled where that is."""
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


def find_spaced(text: str) -> Iterator[Finding]:
    """`--password X`, `ENV API_TOKEN X`, `aws configure set aws_secret_access_key X`, netrc."""
    for literal, source in _spaced():
        if literal not in text:
            continue
        for match in _compiled(source).finditer(text):
            strength = classify(match["name"] or "token")
            group = next(i for i in range(2, 5) if match[i] is not None)
            if strength and is_secret(match[group], strength, "quoted" if group < 4 else "option"):
                yield Finding("secret", match.start(group), match.end(group))
