"""What a person and an agent said to each other in a session, in sentences: where statements are read from.

The agent's part is the message that ends each of its turns, what it asked through its host, and its plans; the rest of
what it writes while it works is thinking aloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.language.prose import prose_of, statements

Speaker = Literal["user", "agent", "plan"]

MOST_MESSAGES = 160
MOST_CHARACTERS = 60_000
LONGEST_MESSAGE = 2_400  # characters; what was agreed stands at the beginning or in a list
MOST_SENTENCES = 30  # of one message
LONGEST_SENTENCE = 420
_SHORTEST = 12  # a shorter one belongs to the sentence after it
# The lookbehind follows the blank: a pattern that begins with a character set is several times as fast.
_END = lazy_regex(
    r"\s(?<=[.!?…].)(?<!e\.g\..)(?<!i\.e\..)(?<!vs\..)(?<!etc\..)(?<!approx\..)\s*|(?<=[。！？])"
)
_NOISE = lazy_regex(r"\[(?:image|request interrupted|pasted)[^\]\n]{0,80}\]|<[^<>\n]{1,80}>")


class Message(Struct, gc=False):
    """What one of the two said. `approved` is for a plan: whether the person agreed. `sealed`: its text is clean."""

    by: Speaker
    text: str
    at: float | None = None
    approved: bool | None = None
    sealed: bool = False


class Sentence(Struct, frozen=True, gc=False):
    """A sentence or a list item. `message` is the number of its message, `place` its own number in it, of `of`."""

    text: str
    by: Speaker
    message: int
    place: int
    of: int
    heading: str = ""
    item: bool = False


def add_message(dialogue: list[Message], message: Message) -> None:
    """Adds a message. Of a very long dialogue the first messages and the latest ones are kept."""
    if message.text.strip():
        dialogue.append(message)
        while len(dialogue) > 3 and (len(dialogue) > MOST_MESSAGES or _size(dialogue) > MOST_CHARACTERS):
            del dialogue[2]


def _size(dialogue: Sequence[Message]) -> int:
    return sum(len(message.text) for message in dialogue)


def sentences_of(dialogue: Sequence[Message]) -> Iterator[Sentence]:
    for number, message in enumerate(dialogue):
        lines = list(_lines(message))[:MOST_SENTENCES]
        for place, (heading, text, item) in enumerate(lines):
            yield Sentence(text, message.by, number, place, len(lines), heading, item)


def _lines(message: Message) -> Iterator[tuple[str, str, bool]]:
    text = message.text
    if message.by == "user":
        text = "\n".join(prose_of(text).lines)
    for line in statements(text):
        for sentence in split(line.text):
            if len(sentence) <= LONGEST_SENTENCE:
                yield line.heading, sentence, line.item


def split(text: str) -> list[str]:
    """The sentences of a text. People do not always write capitals; "No." belongs to what follows it."""
    parts: list[str] = []
    held = ""
    for part in _END.split(_NOISE.sub(" ", text)):
        part = f"{held} {part.strip()}".strip()
        if len(part) < _SHORTEST and part.isascii():
            held = part
            continue
        parts.append(part)
        held = ""
    if held:
        if parts and len(parts[-1]) + len(held) < LONGEST_SENTENCE:
            parts[-1] = f"{parts[-1]} {held}"
        else:
            parts.append(held)
    return parts
