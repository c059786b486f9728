"""What a shell command writes into files, where its text is certain: here documents, `echo` and `sed -i`.

A script that computes what it writes is not followed: nothing is better than a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import LONGEST, simple_commands, unquoted

_HERE = lazy_regex(
    r"^(?P<before>[^\n]*?)<<-?[ \t]*(?P<quote>['\"]?)(?P<mark>\w+)(?P=quote)(?P<after>[^\n]*)\n"
    r"(?P<body>.*?)^[ \t]*(?P=mark)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_TO_FILE = lazy_regex(r"(?<![0-9&>])>>?[ \t]*(\"[^\"\n]+\"|'[^'\n]+'|[^\s;|&<>()]+)")
_TEE = lazy_regex(r"\btee[ \t]+(?:-a[ \t]+)?(\"[^\"\n]+\"|'[^'\n]+'|[^\s;|&<>()-][^\s;|&<>()]*)")
_CAT = lazy_regex(r"(?:^|[;&|(]|\s)(?:cat|tee)\b")
_CD = lazy_regex(r"(?:^|&&|;|\n)\s*cd[ \t]+(\"[^\"\n]+\"|'[^'\n]+'|[^\s;|&<>()]+)")
_ECHO = lazy_regex(r"""(?:^|&&|;|\n)\s*echo[ \t]+('[^'\n]*'|"[^"\\$`\n]*")[ \t]*>>?[ \t]*([^\s;|&<>()]+)""")
_SUBSTITUTION = lazy_regex(r"s([/|#,@])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1[gIi0-9]*", re.DOTALL)
_EXPANDED = lazy_regex(r"[$`\\]")
MOST_CHARACTERS = 2_000_000


def here_documents(command: str) -> Iterator[tuple[str, str]]:
    """The path and the text of each here document that `cat` or `tee` writes into a file, and of each `echo`."""
    if len(command) > MOST_CHARACTERS or ("<<" not in command and "echo" not in command):
        return
    for match in _HERE.finditer(command) if "<<" in command else ():
        around = f"{match['before']} {match['after']}"
        path = _TO_FILE.search(around) or _TEE.search(around)
        if path is None or not _CAT.search(around):
            continue
        body = match["body"]
        if not match["quote"]:  # the shell expands it: lines without variables stay as they are
            body = "\n".join(line for line in body.split("\n") if not _EXPANDED.search(line))
        if place := _place(command[: match.start("body")], path[1]):
            yield place, body.removesuffix("\n")
    for match in _ECHO.finditer(_HERE.sub("", command) if "<<" in command else command):
        if place := _place(command[: match.start()], match[2]):
            yield place, unquoted(match[1])


def substitutions(command: str) -> Iterator[tuple[str, str]]:
    """The path and the new text of each `sed -i s/old/new/` whose new text is literal."""
    if "sed" not in command or len(command) > LONGEST:
        return
    for part in simple_commands(command):
        if part.program not in ("sed", "gsed") or not any(word.startswith("-i") for word in part.words):
            continue
        words = [unquoted(word) for word in part.words[1:] if word not in ("''", '""')]
        words = [word for word in words if not word.startswith("-")]
        scripts = [word for word in words if _SUBSTITUTION.fullmatch(word)]
        for path in words:
            if path in scripts or not _is_path(path):
                continue
            for script in scripts:
                new = _SUBSTITUTION.fullmatch(script)
                if new and not re.search(r"[&$`]|\\", new[3]):
                    yield _joined(part.directory, path), new[3]


def _place(before: str, word: str) -> str:
    """The path that a redirection names, from the directory into which the command went before."""
    path = unquoted(word)
    if not _is_path(path):
        return ""
    moves = _CD.findall(before)
    return _joined(unquoted(moves[-1]) if moves else "", path)


def _is_path(word: str) -> bool:
    return bool(word) and not word.startswith(("/dev/", "&", "-")) and not re.search(r"[$`*?{}]", word)


def _joined(directory: str, path: str) -> str:
    if not directory or path.startswith("/") or re.search(r"[$`*?]", directory):
        return path
    return f"{directory.rstrip('/')}/{path}"
