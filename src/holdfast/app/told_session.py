"""A session's text, as `chunking` writes it, taken apart into what can be told of it in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from holdfast.distill.likeness import stem, word_set
from holdfast.model.search import COMMITS, CUT_OFF, FILES, OUTCOME
from holdfast.text.tokens import count_tokens

# "All tests pass, pushed to main" is said of every session, and tells none of them apart.
ROUTINE = frozenset(
    stem(word)
    for word in word_set(
        "all tests test pass passes passing lint linter linting clean green fix fixed fixes error errors warning "
        "warnings issue issues complete completed success successful successfully push pushed commit committed branch "
        "main file files update updated change changes implement implementation implemented done rebase rebased merge "
        "merged build builds check checks finish finished ready pr create created draft new request previous thank "
        "style format formatted formatting"
    )
)
_ENDED = {
    "failed": "Tried before: ",
    "abandoned": "Tried before: ",
    "partial": "Begun before: ",
    "nothing": "Asked before: ",
}
_NOTHING_DONE = ("nothing was asked or done", "talked about, and nothing was done")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|;\s+")
_COMMIT = re.compile(r"^[0-9a-f]{7,40} (?=\S)")
_MERGED = "Merge "
_ADDRESS = re.compile(r"https?://\S+")
_SHORT_ADDRESS = 40  # signs
_FOLDERS = re.compile(r"(?:[\w.@-]+/){2,}(?=[\w.@-])")


class ToldSession(Struct, frozen=True):
    """Of a long session only the beginning and the passage that was found are there."""

    goal: str
    outcome: str
    summary: str
    files: tuple[str, ...]
    commits: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> ToldSession:
        lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
        named = {OUTCOME: "", FILES: "", COMMITS: ""}
        rest = []
        for line in lines:
            name = next((name for name in named if line.startswith(name)), "")
            if name:
                named[name] = line.removeprefix(name)
            else:
                rest.append(line)
        has_goal = bool(rest) and lines[0] == rest[0]
        return cls(
            goal=rest[0] if has_goal else "",
            outcome=named[OUTCOME],
            summary=" ".join(rest[1:] if has_goal else rest),
            files=tuple(named[FILES].split()),
            commits=tuple(filter(None, named[COMMITS].split("; "))),
        )

    @property
    def label(self) -> str:
        return _ENDED.get("nothing" if self.did_nothing else self.outcome.partition(" ")[0], "Done before: ")

    @property
    def did_nothing(self) -> bool:
        return any(sign in self.outcome for sign in _NOTHING_DONE)

    def parts(self) -> Iterator[str]:
        """What it did, in a few words each; a commit says it best. What begins in the middle is left out."""
        for part in (*self.commits, *_SENTENCE.split(self.summary)):
            said = _COMMIT.sub("", part.strip())
            if said and not said.startswith((_MERGED, CUT_OFF)):
                yield said


def shortened(text: str, most: int) -> str:
    """A text that has more tokens than that, without what can be spared: middles of addresses, then folders."""
    if count_tokens(text) > most:
        text = _ADDRESS.sub(_short_address, text)
    return without_folders(text) if count_tokens(text) > most else text


def without_folders(text: str) -> str:
    """A file of a long path by its name alone."""
    return _FOLDERS.sub("…/", text)


def _short_address(found: re.Match[str]) -> str:
    address = found[0]
    if len(address) <= _SHORT_ADDRESS:
        return address
    host, *path = address.partition("://")[2].split("/")
    return f"{host}/…/{'/'.join(path[-2:])}" if len(path) > 2 else address
