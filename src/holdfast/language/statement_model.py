"""A small model that says of each sentence of a dialogue whether a later session should know it.

It is linear over hashed features: the words and who said them, where the sentence stands, what was said before it and
what the other one answered. `scripts/train_statements.py` trains it from labels and writes `statement_model.bin`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import stem_of
from holdfast.language.dialogue import Message, Sentence
from holdfast.model.memory import PassageKind, PassageStatus

BITS = 13
SIZE = 1 << BITS
SCALE = 2048.0  # weights are stored as whole numbers
KINDS: tuple[PassageKind, ...] = (
    "decision",
    "rule",
    "cause",
    "measurement",
    "answer",
    "dead_end",
    "next_step",
)
STATUSES: tuple[PassageStatus, ...] = ("agreed", "proposed", "rejected", "superseded")
HEADS = ("carries", *KINDS, *STATUSES)
_FILE = "statement_model.bin"
_TOKEN = lazy_regex(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\d.,:%]*|[?!→✓✔✅❌⚠]|\S")
_PATH = lazy_regex(
    r"[\w.-]*/[\w./-]+|\b\w+\.(?:py|go|ts|tsx|js|rs|md|json|ya?ml|toml|sh|kt|java|rb|c|h|css|html)\b"
)
_LENGTHS = (2, 5, 10, 18, 30)
_MANY = 40  # words of a sentence that are looked at
_ECHOED = 0.34  # share of an agent's words that the person said before
_ASSENT = 8  # words of a reply that only agrees
_REPORT = 12  # sentences from which on an agent's message reports its work: "go on" agrees to none of them
_BEGINNING = crc32(b"^ ")  # stands before the first word
_stem = lru_cache(maxsize=20_000)(stem_of)


class Words(Struct, frozen=True, gc=False):
    """A sentence or a message, taken apart once."""

    tokens: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]


@lru_cache(maxsize=20_000)  # bounded: the whole history of a repository is judged too
def taken_apart(text: str) -> Words:
    tokens = tuple(_TOKEN.findall(text.lower()))
    numbers = frozenset(token.rstrip(".,:%") for token in tokens if token[0].isdigit())
    words = (token for token in tokens if token[0].isalpha() and len(token) > 2 and token not in ENGLISH)
    return Words(tokens, frozenset(map(_stem, words)) | numbers, numbers)


class Scene:
    """A dialogue, prepared so that each of its sentences can be judged with what stands around it."""

    def __init__(self, dialogue: Sequence[Message], *, worked: bool = False) -> None:
        """`worked`: the agent used tools. Then most of what is said orders or reports the work."""
        self._messages = dialogue
        self._worked = worked
        self._last = len(dialogue) - 1
        self._words = [taken_apart(message.text) for message in dialogue]
        self._asked = [message.text.rstrip(" )*_`\"'").endswith(("?", "？")) for message in dialogue]
        by_user = [number for number, message in enumerate(dialogue) if message.by == "user"]
        self._reply = [next((n for n in by_user if n > number), -1) for number in range(len(dialogue))]
        self._before = [
            next((n for n in reversed(by_user) if n < number), -1) for number in range(len(dialogue))
        ]
        self._said: list[frozenset[str]] = []  # by the person, before each message
        said: frozenset[str] = frozenset()
        for message, words in zip(dialogue, self._words, strict=True):
            self._said.append(said)
            if message.by == "user":
                said |= words.content
        self._later: list[frozenset[str]] = [frozenset()] * len(dialogue)
        later: frozenset[str] = frozenset()
        for number in range(self._last, -1, -1):
            self._later[number] = later
            if dialogue[number].by != "user":
                later |= self._words[number].content

    def is_confirmed(self, sentence: Sentence) -> bool:
        """Whether a person said this or agreed in a few words, or the agent repeats what the person said."""
        if sentence.by == "user" or self._messages[sentence.message].approved:
            return True
        if self._worked and sentence.of > _REPORT:
            return False
        words = taken_apart(sentence.text)
        said = self._said[sentence.message]
        if words.content and len(words.content & said) >= _ECHOED * len(words.content):
            return True
        reply = self._reply[sentence.message]
        if reply < 0:
            return False
        answer = self._messages[reply].text
        return len(answer.split()) <= _ASSENT and not self._asked[reply]

    def features(self, sentence: Sentence) -> set[int]:
        """The features of a sentence, hashed. Each is a short text, such as `uw` and a word that the user says."""
        by = sentence.by[0]
        words = taken_apart(sentence.text)
        tokens = [_token(token) for token in words.tokens[:_MANY]]
        found = {_hash(feature) for feature in self._texts(by, sentence, words)}
        said, begin = crc32(f"{by}w".encode()), crc32(f"{by}f".encode())
        after = _BEGINNING
        for token in tokens:
            found.add(crc32(token.text, said))
            found.add(token.said)
            found.add(crc32(token.text, after))
            after = token.after
        for token in tokens[:2]:
            found.add(crc32(token.text, begin))
        found.add(crc32(tokens[-1].text if tokens else b"", crc32(f"{by}e".encode())))
        return {feature & (SIZE - 1) for feature in found}

    def _texts(self, by: str, sentence: Sentence, words: Words) -> Iterator[str]:
        """The features other than words."""
        yield "bias"
        yield by
        if self._worked:
            yield f"{by}worked"
        for token in sentence.heading.split()[:6]:
            yield f"h{token}"
        if sentence.heading:
            yield f"{by}heading"
        if sentence.item:
            yield f"{by}item"
        yield from self._form(by, sentence, words)
        yield from self._place(by, sentence)
        yield from self._around(by, sentence.message, words)

    def _form(self, by: str, sentence: Sentence, words: Words) -> Iterator[str]:
        yield f"{by}length{sum(len(words.tokens) > limit for limit in _LENGTHS)}"
        yield f"{by}content{min(len(words.content), 8) // 2}"
        yield f"{by}numbers{min(len(words.numbers), 3)}"
        if "`" in sentence.text:
            yield f"{by}code"
        if _PATH.search(sentence.text):
            yield f"{by}path"
        if sentence.text.endswith(("?", "？")):
            yield f"{by}asks"

    def _place(self, by: str, sentence: Sentence) -> Iterator[str]:
        number = sentence.message
        yield f"{by}start{min(number, 6) // 2}"
        yield f"{by}end{min(self._last - number, 8) // 2}"
        yield f"messages{min(self._last, 30) // 6}"
        yield f"{by}of{min(sentence.of, 12) // 3}"
        place = "only" if sentence.of == 1 else "first" if not sentence.place else "last"
        yield f"{by}{place if sentence.place in (0, sentence.of - 1) else 'inside'}"

    def _around(self, by: str, number: int, words: Words) -> Iterator[str]:
        if number and self._asked[number - 1]:
            yield f"{by}after question"
        if self._asked[number]:
            yield f"{by}asking message"
        before = self._before[number]
        if by != "u" and before >= 0:
            said = self._words[before]
            yield f"{by}echo{_level(words.content, said.content)}"
            if words.numbers:
                yield f"{by}echoed numbers{_level(words.numbers, said.numbers)}"
            yield f"{by}to length{sum(len(said.tokens) > limit for limit in _LENGTHS)}"
        if by == "u":
            yield f"{by}restated{_level(words.content, self._later[number])}"
        reply = self._reply[number]
        if reply < 0:
            yield f"{by}no reply"
        else:
            answer = self._words[reply]
            for token in answer.tokens[:4]:
                yield f"{by}reply {_folded(token)}"
            yield f"{by}reply length{sum(len(answer.tokens) > limit for limit in _LENGTHS)}"
            if by != "u":
                yield f"{by}taken up{_level(words.content, answer.content)}"
                if words.numbers:
                    other = bool(answer.numbers - words.numbers)
                    yield f"{by}numbers taken up{_level(words.numbers, answer.numbers)}{other}"
                yield f"{by}reply {' '.join(map(_folded, answer.tokens[:2]))}"
        if self._messages[number].by == "plan":
            yield f"plan approved {self._messages[number].approved}"


class Token(Struct, frozen=True, gc=False):
    """A word as it is hashed, alone and before another one."""

    text: bytes
    said: int
    after: int


@lru_cache(maxsize=20_000)
def _token(token: str) -> Token:
    text = _folded(token).encode("utf-8", "replace")
    return Token(text, crc32(text, crc32(b"w")), crc32(text + b" "))


@lru_cache(maxsize=20_000)
def _hash(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace"))


@lru_cache(maxsize=20_000)
def _folded(token: str) -> str:
    if token[0].isdigit():
        return f"0{min(len(token), 4)}"
    return _stem(token) if len(token) > 3 else token


def _level(some: frozenset[str], others: frozenset[str]) -> int:
    if not some:
        return -1
    share = len(some & others) / len(some)
    return 0 if not share else 1 if share < 0.34 else 2 if share < 0.67 else 3


class Model:
    """The trained weights: for each head a row of SIZE."""

    def __init__(self, weights: array[int]) -> None:
        self._rows = {head: weights[at * SIZE : (at + 1) * SIZE] for at, head in enumerate(HEADS)}

    @classmethod
    def read(cls, path: Path) -> Model:
        weights = array("h")
        weights.frombytes(path.read_bytes())
        if len(weights) != SIZE * len(HEADS):
            raise ValueError(f"{path} has {len(weights)} weights, not {SIZE * len(HEADS)}")
        return cls(weights)

    def worth(self, features: set[int]) -> float:
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, self._sum("carries", features)))))

    def kind(self, features: set[int]) -> PassageKind:
        return max(KINDS, key=lambda head: self._sum(head, features))

    def status(self, features: set[int]) -> tuple[PassageStatus, float]:
        """The likeliest status, and the probability of `agreed`."""
        sums = {head: self._sum(head, features) for head in STATUSES}
        total = sum(math.exp(min(value, 50.0)) for value in sums.values())
        return max(STATUSES, key=lambda head: sums[head]), math.exp(min(sums["agreed"], 50.0)) / total

    def _sum(self, head: str, features: set[int]) -> float:
        weights: tuple[int, ...] = itemgetter(*features)(self._rows[head])
        return sum(weights) / SCALE


@cache
def shipped() -> Model:
    return Model.read(Path(__file__).with_name(_FILE))
