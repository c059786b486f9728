"""What several sessions stumbled over, by cause: how often, what helped, and whether it still holds.

The cause is the key, not the wording: the same flag of the same tool is one stumble, whatever else was on the line.
A session in which the failing call worked weakens it; enough of them, and it is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.distill.lesson_words import subject_of
from holdfast.distill.shell_line import name_of, simple_commands, unquoted
from holdfast.model.experience import Stumble
from holdfast.model.session import Lived

ALONE = frozenset(  # causes that one session is proof enough of, once a remedy is known
    "program task command target place variable managed untrusted flag format prefix folder".split()  # noqa: SIM905
)
UNRESOLVED = frozenset(["path", "program", "tool", "slow", "flaky", "large", "flag", "glob", "task"])
_CONTRADICTED_BY_USE = frozenset(["program", "flag", "task", "command"])
FEWEST_FOR_A_RULE = 3  # what a linter finds is somebody's slip until it is everybody's
_ORDER = 6  # tokens of one rule
_MOVED = re.compile(r"cd (\S+) && ")


class Seen(Struct, frozen=True):
    """One stumble in one session."""

    session: str
    at: float | None
    stumble: Stumble


class Recurring(Struct, frozen=True, kw_only=True):
    """A cause, every session that met it (oldest first), and the remedy that most of them found."""

    cause: str
    subject: str
    tokens: tuple[str, ...]
    tried: str
    failed: str
    instead: str
    seen: tuple[Seen, ...]

    @property
    def sessions(self) -> int:
        return len({one.session for one in self.seen})

    @property
    def at(self) -> float | None:
        return max((one.at for one in self.seen if one.at is not None), default=None)

    @property
    def key(self) -> str:
        return f"{self.cause}|{self.subject}|{','.join(self.tokens)}"


class Stumbles(Struct, frozen=True):
    """Those worth a rule, the most frequent first; and those that were, until the failing call worked again."""

    held: tuple[Recurring, ...]
    contradicted: tuple[Recurring, ...]


def recurring(lived: Sequence[Lived]) -> Stumbles:
    """What these sessions (oldest first) stumbled over, by cause."""
    groups: dict[str, list[Seen]] = {}
    for session in lived:
        for stumble in session.experience.stumbles:
            seen = Seen(session.session, stumble.at or session.started, stumble)
            groups.setdefault(_key(stumble), []).append(seen)
    touched = _Touched(lived)
    groups = _folders(groups, touched)
    merged = [_merged(group) for group in groups.values()]
    now = [(item, _still(item, lived, touched)) for item in merged]
    held = [item for item in _without_prefix(left for _, left in now if left is not None) if _worth(item)]
    held = [item for item in held if not _other_place_works(item, held)]
    return Stumbles(
        held=tuple(sorted(held, key=lambda item: (-item.sessions, -(item.at or 0.0), item.key))),
        contradicted=tuple(item for item, left in now if left is None and _worth(item)),
    )


def _key(stumble: Stumble) -> str:
    if stumble.cause == "place" and (moved := _MOVED.match(stumble.instead)):
        return (
            f"place|{stumble.subject.partition(' ')[0]}|{moved[1]}"  # whatever the tool was asked to do there
        )
    return (
        f"{stumble.cause}||{stumble.token}" if stumble.cause in ("program", "path", "glob") else stumble.key
    )


def _merged(group: Sequence[Seen]) -> Recurring:
    """The remedy that most sessions found, the newest of equals; the wording of the newest that found it."""
    remedies: Counter[str] = Counter()
    for one in group:
        if one.stumble.instead:
            remedies[one.stumble.instead] += 1
    newest = {one.stumble.instead: number for number, one in enumerate(group)}
    plainest = group[0].stumble.cause == "flag"  # of what helped as often: just leaving the flag out
    best = max(remedies, key=lambda text: (remedies[text], -len(text) * plainest, newest[text]), default="")
    shown = next(one.stumble for one in reversed(group) if one.stumble.instead == best or not best)
    if shown.cause == "rule":
        usual = Counter(one.stumble.tried for one in group).most_common(1)[0][0]
        shown = next(one.stumble for one in reversed(group) if one.stumble.tried == usual)
    return Recurring(
        cause=shown.cause,
        subject=shown.subject,
        tokens=_named(group) if shown.cause == "place" else (shown.token,),
        tried=shown.tried,
        failed=shown.failed,
        instead=best,
        seen=tuple(group),
    )


def _named(group: Sequence[Seen]) -> tuple[str, ...]:
    """What a tool was asked to do in the wrong place, the most frequent first."""
    return tuple(subject for subject, _ in Counter(one.stumble.subject for one in group).most_common(3))


def _worth(item: Recurring) -> bool:
    if item.cause == "rule":
        return item.sessions >= FEWEST_FOR_A_RULE
    if item.cause == "switch":
        agreed = Counter(one.stumble.instead for one in item.seen if one.stumble.instead)
        return agreed.get(item.instead, 0) >= 2
    if item.sessions >= 2:
        return bool(item.instead) or item.cause in UNRESOLVED
    return bool(item.instead) and (item.cause in ALONE or _other_ending(item))


def _other_place_works(item: Recurring, held: Sequence[Recurring]) -> bool:
    """A place that one session went to, where more sessions found another for the same tool: it is the other's part."""
    if item.cause != "place" or item.sessions > 1:
        return False
    tool = item.subject.partition(" ")[0]
    return any(
        other.cause == "place" and other.sessions > 1 and other.subject.partition(" ")[0] == tool
        for other in held
    )


def _other_ending(item: Recurring) -> bool:
    """A file that is there with another ending: the same guess is made again; other guesses seldom are."""
    return item.cause == "path" and item.tokens[0].rpartition(".")[0] == item.instead.rpartition(".")[0]


# --- whether it still holds ---


class _Touched:
    """Which files sessions read or wrote, and when they last did."""

    def __init__(self, lived: Sequence[Lived]) -> None:
        self._paths: dict[str, list[int]] = {}
        self.number = {session.session: number for number, session in enumerate(lived)}
        for number, session in enumerate(lived):
            for touch in session.files:
                self._paths.setdefault(touch.path, []).append(number)
                folder = touch.path.rpartition("/")[0]
                while folder:
                    known = self._paths.setdefault(f"{folder}/", [])
                    if not known or known[-1] != number:
                        known.append(number)
                    folder = folder.rpartition("/")[0]

    def times(self, path: str, after: int) -> int:
        """In how many sessions after that one the path, or something in it, was there."""
        found = {*self._paths.get(path, ()), *self._paths.get(f"{path}/", ())}
        return sum(1 for number in found if number > after)


def _still(item: Recurring, lived: Sequence[Lived], touched: _Touched) -> Recurring | None:
    """The stumble as strong as it is after sessions in which the failing call worked."""
    met = {one.session for one in item.seen}
    last = max(touched.number[session] for session in met)
    if item.cause in ("path", "folder"):
        against = touched.times(item.tokens[0].rstrip("/"), last)
    elif item.cause in _CONTRADICTED_BY_USE:
        against = sum(1 for session in lived[last + 1 :] if _uses(session, item))
    else:
        against = 0
    against += sum(
        1
        for session in lived[last + 1 :]
        if item.instead and any(other.tried == item.instead for other in session.experience.stumbles)
    )
    left = len(met) - against
    if left <= 0:
        return None
    if not against:
        return item
    kept = sorted(met, key=lambda session: touched.number[session])[-left:]
    return replace(item, seen=tuple(one for one in item.seen if one.session in kept))


def _uses(session: Lived, item: Recurring) -> bool:
    token = item.tokens[0]
    for command in session.commands:
        if token not in command:
            continue
        for part in simple_commands(command):
            if not part.words:
                continue
            if item.cause == "program":
                if name_of(part.words[0]) == token:
                    return True
            elif any(_is(word, token) for word in part.words[1:]) and subject_of(part, token) == item.subject:
                return True
    return False


def _is(word: str, token: str) -> bool:
    text = unquoted(word)
    return text == token or text.partition("=")[0] == token or token in text.split(",")


# --- rules about more than one name ---


def _folders(groups: dict[str, list[Seen]], touched: _Touched) -> dict[str, list[Seen]]:
    """Files that were looked for in a folder that is not there: one rule for the folder."""
    moved: dict[str, list[str]] = {}
    for key, group in groups.items():
        stumble = group[-1].stumble
        if stumble.cause == "path":
            folder = stumble.token.rpartition("/")[0]
            last = touched.number[group[-1].session]
            gone = f"path||{folder}" in groups  # it was looked for itself, and was not there
            if folder and not touched.times(folder, last if gone else -1):
                moved.setdefault(folder, []).append(key)
    result = dict(groups)
    for folder, keys in moved.items():
        own = f"path||{folder}"
        members = [*keys, *([own] if own in groups else [])]
        found = [one for key in members for one in groups[key]]
        homes = {
            one.stumble.instead.rpartition("/")[0]
            for one in found
            if one.stumble.instead
            and one.stumble.token.rpartition("/")[2] == one.stumble.instead.rpartition("/")[2]
        }
        if len(members) < 2 or len(homes) != 1:
            continue
        for key in members:
            del result[key]
        home = f"{next(iter(homes))}/"
        found.sort(key=lambda one: touched.number[one.session])
        result[f"folder||{folder}"] = [
            replace(
                one,
                stumble=replace(
                    one.stumble,
                    cause="folder",
                    subject="",
                    token=f"{folder}/",
                    tried=f"{folder}/",
                    instead=home,
                ),
            )
            for one in found
        ]
    return result


def _without_prefix(items: Iterable[Recurring]) -> list[Recurring]:
    """A wrapper that does not know several commands which work without it: one rule for the wrapper."""
    result: list[Recurring] = []
    wrapped: dict[str, list[Recurring]] = {}
    for item in items:
        if item.cause == "command" and item.instead and item.instead.split()[0] == item.tokens[0]:
            wrapped.setdefault(item.subject, []).append(item)
        else:
            result.append(item)
    for subject, group in wrapped.items():
        group.sort(key=lambda item: -item.sessions)
        first = group[0]
        result.append(
            replace(
                first,
                cause="prefix",
                subject=subject,
                tokens=tuple(item.tokens[0] for item in group[:_ORDER]),
                seen=tuple(one for item in group for one in item.seen),
            )
        )
    return result
