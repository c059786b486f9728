"""Which names a session wrote into its files: identifiers of several words, in the order in which they came.

A prompt often means a file by what is in it ("the attribution is wrong after a removal"). Single words are left out:
they stand everywhere. So is what could be a secret: anything with digits, in quotes or right behind a sign that
assigns, and all of a file that holds settings.
"""

from __future__ import annotations

import re

from holdfast.distill.bounds import Clean

MOST_NAMES = 40  # of one file
MOST_NAMED = 1_000  # of one session
_NAME = re.compile(r"(?<![\w\"'`=$@/\\%-])_{0,2}[A-Za-z][A-Za-z_]{5,49}(?![\w\"'`$@\\%-])")
_SETTINGS = (
    ".env",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".cfg",
    ".conf",
    ".properties",
    ".tfvars",
    ".pem",
    ".key",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".csv",
    ".lock",
    ".txt",
    ".log",
)


def note_names(names: dict[str, list[str]], path: str, text: str) -> None:
    """Adds what is new in a text that was written into a file."""
    if not text or _is_settings(path):
        return
    known = names.get(path) or []
    room = min(MOST_NAMES - len(known), MOST_NAMED - sum(map(len, names.values())))
    if room <= 0:
        return
    fresh = [
        name for name in dict.fromkeys(_NAME.findall(text)) if _has_several_words(name) and name not in known
    ]
    if fresh:
        names[path] = [*known, *fresh[:room]]


def clean_names(names: dict[str, list[str]], clean: Clean) -> dict[str, list[str]]:
    """What may be stored: a name that the cleaning touches is gone."""
    kept = {}
    for path, found in names.items():
        cleaned = set(clean(" ".join(found)).split())
        if left := [name for name in found if name in cleaned]:
            kept[clean(path)] = left
    return kept


def _has_several_words(name: str) -> bool:
    plain = name.strip("_")
    return "_" in plain or not (plain.islower() or plain.isupper() or plain[1:].islower())


def _is_settings(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith(_SETTINGS) or name.startswith(".env") or "secret" in name or "credential" in name
