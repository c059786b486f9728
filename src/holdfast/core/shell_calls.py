"""Splits a shell command into its simple calls, without those that only format output, to recognise a failed call.

Used by the hook, which looks calls up, and by `briefing/moments.py`, which prepares them. It never fails: what it
cannot parse as shell it splits into words.

`core/shell.py` splits lines too, and is separate: it needs `re`, which hooks do not load, and keeps words as written
(quotes, `--name=value`, the body of `for`), because lessons quote them. Of 1,348 lines of real sessions the two split
158 differently, mostly for these reasons. A shared tokenizer with two views may be possible; it was not tried.
"""

from __future__ import annotations

MOST = 4_096  # characters that are read; a longer text is a script, and its beginning is enough
MOST_CALLS = 64

_JOINING = frozenset("|&;\n()")
_BLANK = frozenset(" \t\r\f\v")
_KEYWORDS = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac")
)
_BLOCKS = frozenset(("for", "case", "select", "function"))  # what follows is not a call
_WRAPPERS = {"sudo": "-u", "time": "", "env": "-u", "command": "", "nohup": "", "exec": "", "builtin": "",
             "nice": "-n", "timeout": "-k -s", "stdbuf": "-i -o -e", "doas": "-u"}  # fmt: skip
_READY = frozenset(("source", ".", "activate", "eval", "conda", "nvm", "pyenv", "asdf", "workon", "alias"))
READERS = frozenset(
    ("cat", "sed", "head", "tail", "nl", "less", "bat", "Get-Content", "gc", "type")
)  # print files
_SEARCHED = ("/usr/bin/", "/usr/local/bin/", "/bin/", "/opt/homebrew/bin/")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^~")


class Call:
    """One program with its words. `directory` is the target of an earlier `cd`, else ''; `ready`: an earlier command
    may have changed which programs are found.
    """

    __slots__ = ("directory", "ready", "words")

    def __init__(self, words: list[str], directory: str = "", ready: bool = False) -> None:
        self.words = words
        self.directory = directory
        self.ready = ready


def calls(text: str) -> list[Call]:
    """The calls of a command, in order, without `cd`, variables, wrappers and redirections."""
    simple_calls: list[Call] = []
    directory, ready = "", False
    for words in _rows(text[:MOST].replace("\0", "")):
        bare, alone = _without_wrappers(words)
        if not bare:
            ready = ready or alone
            continue
        program = bare[0]
        if program in ("cd", "pushd"):
            places = [word for word in bare[1:] if word == "-" or not word.startswith("-")]
            directory = places[0] if places else "~"
        elif program in _READY or (program == "export" and _sets_path(bare[1:])):
            ready = True
        elif program not in _BLOCKS and len(simple_calls) < MOST_CALLS:
            simple_calls.append(Call(_words(bare), directory, ready or alone))
    return simple_calls


def normal(text: str) -> str:
    """A normal form: commands that run the same calls have the same."""
    parts = []
    for call in calls(text):
        if call.directory:
            parts.append(f"cd {_quoted(call.directory)}")
        path = "PATH=: " if call.ready else ""
        parts.append(path + " ".join(_quoted(word) for word in call.words))
    return " ; ".join(parts)


def _words(bare: list[str]) -> list[str]:
    """Separates long options from their values."""
    words = bare[:1]
    for word in bare[1:]:
        while word.startswith("--") and "=" in word:
            option, _, word = word.partition("=")
            words.append(option)
        if word:
            words.append(word)
    return words


def _without_wrappers(words: list[str]) -> tuple[list[str], bool]:
    """The call itself, and whether variables before it change where programs are found."""
    ready = False
    at = 0
    while at < len(words):
        word = words[at] = _named(words[at])
        if not word or word in _KEYWORDS:
            at += 1
        elif _is_assignment(word):
            ready = ready or _sets_path([word])
            at += 1
        elif word in _WRAPPERS and not (word == "command" and words[at + 1 : at + 2] in (["-v"], ["-V"])):
            valued = _WRAPPERS[word].split()
            at += 1
            while at < len(words) and words[at].startswith("-"):
                at += 2 if words[at] in valued else 1
            at += word == "timeout"
        else:
            break
    return words[at:], ready


def _named(program: str) -> str:
    """The name of a program, without a standard directory such as /usr/bin."""
    for folder in _SEARCHED * (program[:1] == "/"):
        if program.startswith(folder) and len(program) > len(folder):
            return _named(program[len(folder) :])
    return program


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _sets_path(words: list[str]) -> bool:
    return any(word.startswith(("PATH=", "VIRTUAL_ENV=", "NODE_PATH=", "PYTHONPATH=")) for word in words)


def _rows(text: str) -> list[list[str]]:
    """The words of each simple command, without quotes, redirections and comments."""
    rows: list[list[str]] = [[]]
    word: list[str] | None = None
    documents: list[str] = []
    at, end, skip = 0, len(text), False

    def close() -> None:
        nonlocal word, skip
        if word is not None and not skip:
            rows[-1].append("".join(word))
        if word is not None:
            skip = False
        word = None

    while at < end:
        sign = text[at]
        if sign in _BLANK:
            close()
        elif sign in "<>" or (sign == "&" and text[at + 1 : at + 2] == ">"):
            if word is not None and "".join(word).isdigit():
                word = None
            close()
            at, is_document = _past_arrow(text, at)
            if is_document:
                delimiter, at = _delimiter(text, at)
                documents.append(delimiter)
            else:
                skip = True
            continue
        elif sign in _JOINING:
            close()
            skip = False
            rows.append([])
            if sign == "\n" and documents:
                at = _past_documents(text, at, documents)
                documents = []
                continue
        elif sign == "#" and word is None:
            at = text.find("\n", at)
            if at < 0:
                break
            continue
        else:
            piece, at = _piece(text, at)
            word = (word or []) + [piece]
            continue
        at += 1
    close()
    return rows


def _piece(text: str, at: int) -> tuple[str, int]:
    """A quoted part, an escaped character or a plain one, and where the next begins."""
    sign = text[at]
    if sign == "\\":
        return ("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2]), at + 2
    if sign == "'":
        close = text.find("'", at + 1)
        close = len(text) if close < 0 else close
        return text[at + 1 : close], close + 1
    if sign != '"':
        return sign, at + 1
    at += 1
    part = []
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            at += 1
        part.append(text[at : at + 1])
        at += 1
    return "".join(part), at + 1


def _past_arrow(text: str, at: int) -> tuple[int, bool]:
    """Where the redirection operator ends, and whether a here-document follows."""
    start = at
    while at < len(text) and text[at] in "<>&|" and at - start < 3:
        at += 1
    return at, text[start:at] == "<<"


def _delimiter(text: str, at: int) -> tuple[str, int]:
    while at < len(text) and (text[at] in _BLANK or text[at] == "-"):
        at += 1
    start = at
    while at < len(text) and text[at] not in _BLANK and text[at] not in _JOINING and text[at] not in "<>":
        at += 1
    return text[start:at].strip("'\"\\"), at


def _past_documents(text: str, at: int, delimiters: list[str]) -> int:
    for delimiter in delimiters:
        while at < len(text):
            begin = at + 1
            at = text.find("\n", begin)
            at = len(text) if at < 0 else at
            if text[begin:at].strip() == delimiter:
                break
    return at


def _quoted(word: str) -> str:
    if word and _PLAIN.issuperset(word) and word[0] != "~":
        return word
    return "'" + word.replace("'", "'\\''") + "'"
