"""Finds secrets by their names: `api_key = "…"`, `FOO_TOKEN=…`, `--password …`, in any notation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from holdfast.core.patterns import lazy_regex
from holdfast.core.words import word_set as words
from holdfast.guard.not_secret import SecretSpan, is_wordlike
from holdfast.guard.secret_values import Strength, Style, classify, is_secret, is_shouted, without_scheme

_LONGEST_NAME = 80
_LONGEST_VALUE = 20_000
_JUDGED = 200

# PrefilteredRegex in lower-cased text: the parts that secrets' names have in common.
# Literals only: a set among the alternatives makes the sweep three times slower.
_NAME_PART = lazy_regex(
    "pass|pwd|secret|token|key|auth|cred|psk|jwt|bearer|mnemonic|phrase|kennwort|contrase|senha|"
    "connectionstring|connection_string|signature|sessid|sessionid|connect.sid|wachtwoord|_pat|-pat|_pw|-pw|_sas|?sig|&sig|parola|sandi|haslo|sifre|clave".replace(
        "?", r"\?"
    )
)
# "Password" where it is not written in ASCII: Chinese, Hindi, Arabic, Bengali, Russian, Urdu, Japanese and others.
_WORDS_ABROAD = (
    "密码|密碼|口令|暗号|パスワード|비밀번호|암호|पासवर्ड|पासवर्ड|كلمة المرور|كلمة السر|كلمة سر|পাসওয়ার্ড|পাসওয়ার্ড|"
    "парол|پاس ورڈ|پاسورڈ|رمز عبور|ật khẩu|รหัสผ่าน|סיסמה|סיסמא|κωδικό|令牌|密钥|密鑰|トークン|토큰|токен|пасворд"
)
# None begins with an ASCII letter: in other texts this is searched fast.
_NAME_PART_ABROAD = lazy_regex(f"{_WORDS_ABROAD}|şifre")
_ABROAD = lazy_regex(_WORDS_ABROAD)
_ASCII_RUN = lazy_regex(r"[!#-&(-;=?-_a-z|~]{6,200}+")
_REACH_ABROAD = 90
_SYMBOLS = frozenset("!#$%&*+?@^~")

# From the end of a name to the beginning of its value; group 1 is the rest of the name.
_AFTER_NAME = lazy_regex(
    r"""
        ([\w-]{0,40}+)
        (?P<close>(?:\\{0,8}+["'`*\])]){0,4}+)
        (?:
            # the type, as in password: str = / var token string = / token?: string =
            (?:[ \t]{1,8}[&*\[\]\w]{1,12}(?=[ \t]{1,4}=[ \t]))?
            [ \t]{0,20}+ (?:\??:[ \t]{0,4}[\w.\[\]|&?<>', \t]{1,40}?(?==[^=\s]|=[ \t]{1,4}\S))?
            (?P<assign>:=|=>|={1,3}(?!>)|!==?|->|\?\?=|\|\|=|\?=|\+=|<-|:(?!:)) \*{0,2}+
          | ,? \s{0,60}+ (?P<pair>\\{0,4}["']?(?:value|Value|VALUE)\\{0,4}["']?[ \t]{0,8}[:=])
          | [ \t]{0,8} (?P<fallback>\|\||\?\?|or\b) (?=[ \t]{0,4}["'`])
          | [ \t]{0,8}+ (?P<comma>,) (?=\s|\\{0,4}["'`])
          | (?P<call>\()
          | (?P<element>>|</\w{1,20}>\s{0,40}<\w{1,20}>)
          | [ \t]{1,40}+ (?P<cell>\|) (?=[ \t])
          | (?P<column>[|,;\t]) (?=[^\s|,;\t])
        )
        """,
    re.VERBOSE,
)
# Blanks, a line break before a quote, the mark of a block scalar, a wrapping call, and the opening quote.
_BEFORE_VALUE = lazy_regex(
    r"""
        (?:[ \t]{0,20}+(?:\\{0,4}(?:\r?\n|\\n)[ \t]{0,40}(?=\\{0,8}["'`]))?)
        (?:[|>][+-]?\d?[ \t]*\r?\n[ \t]{1,40})?
        (?P<wrapper>\(\s{0,20}|(?:new\s)?[A-Za-z_][\w.:]{0,40}\((?:\w{1,20}\s?[=:]\s?)?(?=\\{0,8}["'`]))?
        (?P<prefix>[fFrRbBuU@&]{1,2}(?=["']))?
        (?P<quote>\\{0,8}(?:\"\"\"|'''|["'`]))?
        """,
    re.VERBOSE,
)
# An unquoted value: up to the next blank, quote or angle bracket.
# Or the next ideograph: in Chinese, Japanese and Korean no blank follows it.
_RUN = lazy_regex(
    r"""(?:[^\s"'`<>\\\x00\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]++|\\(?![nrtu"'\\])){1,2000}+"""
)
# Where an unquoted value ends within its run: at the next name, or at a closing bracket.
_CUT = lazy_regex(
    r"""[,;&](?=$|[,;&)\]}]|[\w.$-]{1,40}[=:]|[{\[(])|(?<![)\]}])[)\]}]++(?=[.,;:]{0,8}$|[.,;:]{1,8}\w)"""
)
# A value that is itself a name with a value, and is judged separately.
_CELL = lazy_regex(r"[|,;]")
_NAME_FIRST = lazy_regex(r"([A-Za-z_-]{3,40}+)[=:]")
# The beginning of the name, read backwards from the part that identifies it.
_NAME_TAIL = lazy_regex(r"[\w.-]{0,80}+")

_SETTERS = words(
    "password passwd pwd passphrase token apikey secret apitoken accesstoken bearertoken bearerauth authtoken "
    "secretkey clientsecret credentials"
)

_LOOK_BACK = 160
_SUBJECT = lazy_regex(
    r"(?<!\w)(?<!etc/)(?:(?:pass(?:word|phrase|code|wd|wort)|(?<=mot de )passe|pwd|kennwort|contrase[ñn]a|"
    r"senha|clave|wachtwoord|parola|(?<=kata )sandi(?:nya)?|[sş]ifre(?:si|niz|m)?|has[lł]o|lösenord(?:et)?)s?|"
    r"(?P<machine>key|token|secret|cred(?:ential)?s?))\b"
)
# The words between the subject and the value: `… for the admin account is now: "`.
_PREDICATE = lazy_regex(
    r"""[)"'`*]{0,3}
        (?P<whom>[ \t]{1,3}(?:\([^()\n]{1,30}\)(?=[ \t:])
           |(?:for|of|to|on|in|at|from|we|you|i|that|which|provided|given|used|supplied
           |für|fuer|von|vom|zu|zum|zur|beim|im|am|der|des|de|del|da|do|du|pour|para|por|per|di|dla|untuk|til|voor|van)\b
           [^\n.:;=|"'`]{0,60}?))?
        (?:[ \t]{1,3}
           (?P<verb>(?:is|was|are|will\ be|should\ be|(?:changed|set)\ to|became|ist|lautet|war|wurde\ auf|est|es|era
                   |será|sera|é|è|adalah|ialah|jest|olarak|är)\b
                   |[-–—](?=\ ))
           (?:[ \t]{1,3}(?:now|still|currently|simply|just|(?:set|changed)\ to|as\ follows|actually))?
          |(?(whom)(?=:)|(?=[ \t]{1,3}["'`(]?[^\s])))
        [ \t]{0,3}[:=]?[ \t\n]{0,4}[*]{0,2}["'`“‘«(]?""",
    re.VERBOSE,
)
_WORD = lazy_regex(r"""[^\s"'`“”‘’«»<>\\]{5,400}+""")
_BETWEEN = lazy_regex(
    r"(?:(?:the|your|my|our|an?|its|their|das|mein|unser|le|mon|notre|la|el|mi|il|o|a)[ \t]+)?"
    r"(?:[\w-]{1,30}[ \t]+){0,2}"
)
_JOINTS = (
    " is ",
    " as ",
    " for ",
    " ist ",
    " als ",
    " est ",
    " comme ",
    " es ",
    " como ",
    " é ",
    " è ",
    " come ",
)
# Which keys are secrets: many are not.
_KEY_OF = lazy_regex(r"(?:api|access|secret|private|encryption|signing|license|auth|admin|master)[ _-]?\Z")

# `password user=bob`: the next word is another assignment.
_ANOTHER_NAME = lazy_regex(r"[\w.-]{1,40}=[^=]")


def find_names(lowered: str) -> list[re.Match[str]]:
    """Return all possible positions of a secret's name; one sweep serves several rules."""
    names = list(_NAME_PART.finditer(lowered))
    abroad = [] if lowered.isascii() else list(_NAME_PART_ABROAD.finditer(lowered))
    return sorted(names + abroad, key=lambda name: name.start()) if abroad else names


class _Runs:
    """Unquoted values of one text. Names inside one long run share its end instead of searching it again."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0

    def at(self, start: int) -> tuple[int, int] | None:
        if start >= self._end:
            run = _RUN.match(self._text, start)
            self._end = run.end() if run else 0
        return (start, self._end) if self._end > start else None


def find_assignments(text: str, names: list[re.Match[str]]) -> Iterator[SecretSpan]:
    """Yield every value whose name says secret and that looks like one."""
    runs = _Runs(text)
    done = 0
    last_value = -1
    for hit in names:
        link = _AFTER_NAME.match(text, hit.end()) if hit.start() >= done else None
        opening = _BEFORE_VALUE.match(text, link.end()) if link else None
        if not link or not opening or opening.end() == last_value:
            continue
        name = _full_name(text, hit.start(), link.end(1))
        strength = None if _is_part_of_name(text, link.end(1) - len(name)) else classify(name)
        if not strength:
            continue
        last_value = opening.end()
        style = _notation(text, hit.start(), name, link, opening)
        span = _quoted(text, opening) if opening["quote"] else None
        span = span or runs.at(opening.end())
        finding = _judge(text, span, strength, style) if span and style else None
        if finding:
            yield finding
            done = finding.end


def _is_part_of_name(text: str, start: int) -> bool:
    """`AWS::IAM::AccessKey` names a type, `arn:aws:…:secret:…` a resource, `checksum/secret` a digest."""
    if text.endswith(("::", "checksum/"), 0, start):
        return True
    resource = text.rfind("arn:", max(0, start - _LOOK_BACK), start) if text.endswith(":", 0, start) else -1
    return resource >= 0 and not any(char.isspace() or char in "\"'" for char in text[resource:start])


def _full_name(text: str, telling: int, end: int) -> str:
    head = text[max(0, telling - _LONGEST_NAME) : telling][::-1]
    match = _NAME_TAIL.match(head)
    name = (match[0][::-1] if match else "") + text[telling:end]
    if name.lower() != "key":
        return name
    # Alone it is vague; in prose and tables the word before it says which key it is.
    qualifier = re.search(r"[A-Za-z]{3,12} \Z", text[max(0, telling - 13) : telling])
    return (qualifier[0] if qualifier else "") + name


def _notation(
    text: str, telling: int, name: str, link: re.Match[str], opening: re.Match[str]
) -> Style | None:
    """Return the notation that joins name and value. It decides how random the value must look."""
    style: Style = "quoted" if opening["quote"] else "bare"
    if style == "quoted" and opening["wrapper"] and opening["wrapper"][0] != "(":
        style = "call"
    if link["assign"]:
        if style == "bare" and link["assign"] in {"=", ":"}:
            flagged = text[max(0, telling - len(name)) : telling].startswith("--")
            tight = link["assign"] == "=" and text[link.end() : link.end() + 1] not in {" ", "\t"}
            if tight and is_shouted(name.lstrip("-.")):
                return "env"
            return "option" if tight or flagged or link["assign"] == ":" else "bare"
        if style == "bare" and link["assign"] in {"==", "===", "!=", "!==", "->", "=>", "<-"}:
            return None
        return style
    if link["comma"]:
        return (
            "call" if style != "bare" and _is_argument(text, link.end(1) - len(name), link, opening) else None
        )
    if link["call"]:
        return "call" if style != "bare" and _is_setter(name) else None
    if link["fallback"]:
        return "call" if style != "bare" else None
    if link["column"]:
        return "env" if style == "bare" and _is_column(text, link.end(1) - len(name), name) else None
    if link["element"]:
        return ("option" if style == "bare" else style) if link["close"] in {"", '"', "'"} else None
    # A report's column says PASS; only longer names head a secret.
    return None if link["cell"] and len(name) < 6 else style


def _is_argument(text: str, start: int, link: re.Match[str], opening: re.Match[str]) -> bool:
    """`define("DB_PASSWORD", "…")`, `["--token", "…"]`; but not two neighbours in a list of words."""
    if not link["close"] or "\n" in opening[0]:
        return False
    before = text[max(0, start - 12) : start].rstrip("\\\"'` \t")
    return before.endswith("(") or text.startswith("-", start)


def _is_column(text: str, start: int, name: str) -> bool:
    """`|DB_PASSWORD|…|prod|`, a row of CSV, a table with tabs: a variable's name, right after a separator."""
    before = text[start - 1 : start]
    return is_shouted(name) and "_" in name and (not before or before in "|,;\t\n\"'")


def _is_setter(name: str) -> bool:
    """`setPassword("…")`, `.token("…")`; but not `splitpasswd("…")` or `should_pass("…")`."""
    method = name.rsplit(".", 1)[-1].lower().replace("_", "")
    return method.startswith(("set", "with", "use", "add")) or method in _SETTERS


def _quoted(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    """Return the span inside the quotes; None without a closing quote where one is expected."""
    quote = opening["quote"]
    start = opening.end()
    limit = min(len(text), start + _LONGEST_VALUE)
    end = text.find(quote, start, limit)
    if len(quote) == 1:
        while end > start and text[end - 1] == "\\" and not text.endswith("\\\\", start, end):
            end = text.find(quote, end + 1, limit)
    if end < 0:
        return None
    several_lines = text.find("\n", start, end) >= 0
    if several_lines and len(quote) < 3 and not _is_dense(text[start:end]):
        return None
    return start, end


def _is_dense(value: str) -> bool:
    """Whether a value is a secret over several lines: no blanks inside, and only the last line may be short."""
    lines = value.split("\n")
    whole = all(len(line.split()) <= 1 for line in lines)
    return whole and all(len(line.strip()) >= 16 for line in lines[:-1])


def _judge(text: str, span: tuple[int, int], strength: Strength, style: Style) -> SecretSpan | None:
    """Judge a value by its beginning only: a long run with many names in it is judged for each of them."""
    start, end = span
    start += without_scheme(text[start : min(end, start + 20)])
    trimmed = style in {"bare", "option"}
    end = _end_of_cell(text, start, end) if style == "env" else end
    if trimmed and (another := _NAME_FIRST.match(text, start, end)) and classify(another[1]):
        return None
    window_end = min(end, start + _JUDGED)
    value_end = _trimmed(text, start, window_end) if trimmed else window_end
    if not is_secret(text[start:value_end], strength, style):
        return None
    if value_end == window_end:
        value_end = _trimmed(text, start, end) if trimmed else end
    return SecretSpan("password" if strength == "password" else "secret", start, value_end)


def _end_of_cell(text: str, start: int, end: int) -> int:
    """Where a value ends that stands in a row: `|NAME|value|`, `NAME,value,2026-01-01`."""
    separator = _CELL.search(text, max(0, start - 1), start)
    after = text.find(separator[0], start, end) if separator else -1
    return after if after > start else end


def _trimmed(text: str, start: int, end: int) -> int:
    """Cut off the code around a value: `f(password=abc, x)`, `?token=abc&user=x`, `Password=abc;Database=x`."""
    cut = _CUT.search(text[start:end])
    if cut:
        end = start + cut.start()
    while end > start and text[end - 1] in ",;":
        end -= 1
    return end


# Secrets in plain sentences: `the password is …`, `use … as the token`.


def find_in_sentences(text: str, lowered: str, names: list[re.Match[str]]) -> Iterator[SecretSpan]:
    """Yield passwords and tokens in plain sentences, before or after the word for them."""
    done = 0
    for name in names:
        start = name.start()
        if start >= done and not name[0].isascii() and _ABROAD.match(lowered, start):
            if spoken := _spoken_abroad(text, name.end()):
                yield SecretSpan("password", *spoken)
                done = spoken[1]
            continue
        subject = _SUBJECT.match(lowered, start) if start >= done else None
        if not subject or (subject[0] == "key" and not _KEY_OF.search(lowered[max(0, start - 12) : start])):
            continue
        is_spoken: Callable[[str], bool] = _is_spoken_token if subject["machine"] else _is_spoken_password
        kind = "secret" if subject["machine"] else "password"
        before = _value_before(text, start, is_spoken)
        if before:
            yield SecretSpan(kind, *before)
        predicate = _PREDICATE.match(text, subject.end())
        value = _WORD.match(text, predicate.end()) if predicate else None
        if not predicate or not value:
            continue
        if is_spoken(value[0]) and (predicate["verb"] or _is_spoken_token(value[0], 8)):
            yield SecretSpan(kind, value.start(), value.end())
            done = value.end()


def _spoken_abroad(text: str, position: int) -> tuple[int, int] | None:
    """Return the first run of ASCII that looks like a password in what the sentence goes on to say.

    In these scripts words are not ASCII, so that the sentence need not be understood.
    """
    end = text.find("\n", position, position + _REACH_ABROAD)
    for run in _ASCII_RUN.finditer(
        text, position, end if end >= 0 else min(len(text), position + _REACH_ABROAD)
    ):
        value = run[0].strip("\"'`<>(),.;:=*[]")
        start = text.index(value, run.start()) if value else run.start()
        if "=" not in value and _is_mixed(value) and _is_spoken_password(value):
            return start, start + len(value)
    return None


def _is_mixed(value: str) -> bool:
    """Whether a value has what passwords have and names of files, algorithms and versions have not."""
    tests: tuple[Callable[[str], bool], ...] = (str.islower, str.isupper, str.isdigit, _SYMBOLS.__contains__)
    kinds = sum(any(map(test, value)) for test in tests)
    return kinds > 2 or (
        value.isalnum() and kinds > 1 and sum(map(str.isdigit, value)) > 1 and not is_wordlike(value)
    )


def _is_spoken_password(value: str) -> bool:
    return not _ANOTHER_NAME.match(value) and is_secret(value, "password", "prose")


def _is_spoken_token(value: str, fewest: int = 12) -> bool:
    return len(value) >= fewest and not _ANOTHER_NAME.match(value) and is_secret(value, "secret", "option")


def _value_before(text: str, position: int, is_told: Callable[[str], bool]) -> tuple[int, int] | None:
    start = max(0, position - _LOOK_BACK)
    ahead = text[start:position]
    joint = max(map(ahead.rfind, _JOINTS))
    if joint < 6:
        return None
    rest = ahead[joint + 1 :].partition(" ")[2]
    if not _BETWEEN.fullmatch(rest):
        return None
    words = ahead[:joint].split()
    value = words[-1].strip("\"'`“”‘’«»<>(),") if words else ""
    constant = value.isupper() and "_" in value
    if len(value) < 6 or constant or not any(char.isdigit() for char in value) or not is_told(value):
        return None
    index = start + ahead.rindex(value, 0, joint)
    return index, index + len(value)
