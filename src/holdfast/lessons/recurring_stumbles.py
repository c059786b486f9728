"""What several sessions stumbled over, by cause: how often, what helped, and whether it still holds.

The cause is the key, not the wording: the same flag of the same tool is one stumble, whatever else was on the line.
A session in which the failing call worked weakens it; enough of them, and it is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.lessons.contradictions import Recurring, Sighting, Touched, still
from holdfast.lessons.grounds import IN_FOLDER
from holdfast.model.events import Lived
from holdfast.model.lesson import Stumble
from holdfast.sessions.command_words import REST
from holdfast.sessions.enforced_rules import CLIENT, PERMISSIONS, common_wording
from holdfast.sessions.remedies import installs_for_good

FEWEST_FOR_A_GUESS = 3  # a file that is nowhere: what two sessions looked for was often named to them
FEWEST_FOR_A_RULE = 3  # what a linter finds is a slip until it is usual; two sessions in fifty are not
FEWEST_FOR_A_STAR = 3  # a pattern that matches nothing is often meant to
FEWEST_FOR_A_REFUSAL = 2
MOST_PLACES = 2  # beside the first
_ORDER = 6  # tokens of one rule
_TASK = lazy_regex(
    r"(?:mise run|make|just|task|rake|(?:npm|pnpm|yarn|bun)(?: run)?(?! (?:exec|dlx|x)\b)) [\w:.-]+\Z"
)
_PART_OF_A_RULE = lazy_regex(r"([a-z]\w*(?:-\w+)*): ")
MOST_NAMED = 3
_HALF = 0.5
_BY = {PERMISSIONS: "by configuration", CLIENT: "at times by the client"}


class Stumbles(Struct, frozen=True):
    """Those worth a rule, the most frequent first; and those that were, until the failing call worked again."""

    held: tuple[Recurring, ...]
    contradicted: tuple[Recurring, ...]


def recurring(lived: Sequence[Lived]) -> Stumbles:
    """Merges the stumbles of these sessions, oldest first, by cause."""
    groups: dict[str, list[Sighting]] = {}
    for session in lived:
        for stumble in session.experience.stumbles:
            seen = Sighting(session.session, stumble.at or session.started, stumble, session.agent)
            groups.setdefault(_key(stumble), []).append(seen)
    touched = Touched(lived)
    groups = _folders(groups, touched)
    agents = {session.agent for session in lived}
    merged = [
        refused(group, agents) if group[0].stumble.cause == "blocked" else _merged(group)
        for group in groups.values()
    ]
    now = [(item, still(item, lived, touched)) for item in merged]
    held = [item for item in _without_prefix(left for _, left in now if left is not None) if _worth(item)]
    held = [item for item in held if not _other_place_works(item, held) and not _said_of_less(item, held)]
    held = _of_one_shell(_of_one_tool(held))
    return Stumbles(
        held=tuple(sorted(held, key=lambda item: (-item.sessions, -(item.at or 0.0), item.key))),
        contradicted=tuple(item for item, left in now if left is None and _worth(item)),
    )


def _key(stumble: Stumble) -> str:
    if stumble.cause == "place" and (moved := IN_FOLDER.match(stumble.instead)):
        return (
            f"place|{stumble.subject.partition(' ')[0]}|{moved[1]}"  # whatever the tool was asked to do there
        )
    if stumble.cause == "rule" and (part := _PART_OF_A_RULE.match(stumble.failed)):
        return f"rule||{stumble.token} {part[1]}"  # one of the many things that a linter calls by one name
    if stumble.cause == "blocked":
        # A hook's words are its rule, whatever call it was.
        return f"blocked|{stumble.subject}" + ("" if stumble.failed else f"|{stumble.token}")
    if stumble.cause == "format":
        return f"format|{_formatter(stumble)}|"  # whatever task or tool it was that said so
    return (
        f"{stumble.cause}||{stumble.token}" if stumble.cause in ("program", "path", "glob") else stumble.key
    )


def _formatter(stumble: Stumble) -> str:
    """The folder in which code was not formatted: one formatter looks after it."""
    return moved[1] if (moved := IN_FOLDER.match(stumble.instead or stumble.tried)) else ""


def _merged(group: Sequence[Sighting]) -> Recurring:
    """The remedy that most sessions found, the newest of equals; the wording of the newest that found it."""
    failed = Counter(text for one in group for text in one.stumble.vain)
    helped = Counter(one.stumble.instead for one in group if one.stumble.instead)
    # What was done where a service refuses is the way only where another did so too.
    fewest = 2 if group[0].stumble.cause == "refused" else 1
    # What helped one session and failed in another helps by luck.
    remedies = {text: count for text, count in helped.items() if count > failed[text] and count >= fewest}
    newest = {one.stumble.instead: number for number, one in enumerate(group)}
    plainest = group[0].stumble.cause == "flag"  # of what helped as often: just leaving the flag out
    best = max(
        remedies,
        key=lambda text: (
            remedies[text],
            bool(_TASK.match(text)),
            REST not in text,
            -len(text) * plainest,
            newest[text],
        ),
        default="",
    )
    shown = next(one.stumble for one in reversed(group) if one.stumble.instead == best or not best)
    if shown.cause in ("rule", "format"):
        usual = Counter(one.stumble.tried for one in group).most_common(1)[0][0]
        shown = next(one.stumble for one in reversed(group) if one.stumble.tried == usual)
    return Recurring(
        cause=shown.cause,
        subject=shown.subject,
        # What a tool was asked to do in the wrong place, the most frequent first.
        tokens=tuple(subject for subject, _ in Counter(one.stumble.subject for one in group).most_common(3))
        if shown.cause == "place"
        else (shown.token,),
        tried=shown.tried,
        failed=common_wording([one.stumble.failed for one in group])
        if shown.cause == "rule"
        else shown.failed,
        instead=best,
        seen=tuple(group),
    )


def _worth(item: Recurring) -> bool:
    if item.cause in ("path", "folder") and _doubled(item.tokens[0]):
        return False
    if item.cause == "glob" and item.tokens[0] == "*":
        return item.sessions >= FEWEST_FOR_A_STAR
    if item.cause == "blocked":
        return item.sessions >= FEWEST_FOR_A_REFUSAL and bool(item.failed or item.tokens)
    if item.cause == "rule":
        heeded = {one.session for one in item.seen if one.stumble.instead}
        # Where other findings stood beside it every time, the linter would have had to run again all the same.
        cost_a_run = any(one.stumble.alone for one in item.seen)
        return cost_a_run and item.sessions >= FEWEST_FOR_A_RULE and 2 * len(heeded) >= item.sessions
    if item.cause in ("program", "tool") and item.sessions == 1 and installs_for_good(item.instead):
        return False  # it was missing once
    if item.cause == "refused":
        return item.sessions > 1
    if item.cause == "switch":
        agreed = Counter(one.stumble.instead for one in item.seen if one.stumble.instead)
        return agreed.get(item.instead, 0) >= 2
    if item.cause == "path" and not item.instead:
        return item.sessions >= FEWEST_FOR_A_GUESS
    if item.sessions >= 2:
        return bool(item.instead) or item.known.unresolved
    return bool(item.instead) and (item.known.alone or _other_ending(item))


def _doubled(path: str) -> bool:
    """A path from the top that was typed inside a folder (`api/api/src`): a slip, which does not recur."""
    parts = path.rstrip("/").split("/")
    return any(parts[:size] == parts[size : 2 * size] for size in range(1, len(parts) // 2 + 1))


def _other_place_works(item: Recurring, held: Sequence[Recurring]) -> bool:
    """Whether one session went to this place, and more sessions found another place for the same tool."""
    if item.cause != "place" or item.sessions > 1:
        return False
    tool = item.subject.partition(" ")[0]
    return any(
        other.cause == "place" and other.sessions > 1 and other.subject.partition(" ")[0] == tool
        for other in held
    )


def _of_one_tool(held: Sequence[Recurring]) -> list[Recurring]:
    """Makes one rule of a tool that runs in several folders and not at the top."""
    result: list[Recurring] = []
    first: dict[str, int] = {}
    for item in sorted(held, key=lambda item: -item.sessions):
        tool = item.subject.partition(" ")[0]
        if item.cause != "place" or not IN_FOLDER.match(item.instead) or IN_FOLDER.match(item.tried):
            result.append(item)
        elif tool not in first:
            first[tool] = len(result)
            result.append(item)
        else:
            known = result[first[tool]]
            result[first[tool]] = replace(
                known,
                tokens=tuple(dict.fromkeys((*known.tokens, *item.tokens)))[:3],
                others=(*known.others, item.instead)[:MOST_PLACES],
                seen=(*known.seen, *(one for one in item.seen if one.session not in known.session_ids)),
            )
    return result


def _of_one_shell(held: Sequence[Recurring]) -> list[Recurring]:
    """Makes one rule of a star that matches nothing, in the value of an option or not."""
    stars = [item for item in held if item.cause == "glob" and item.tokens[0] == "*"]
    options = [item for item in held if item.cause == "glob" and item.tokens[0].startswith("-")]
    if not stars or not options:
        return list(held)
    met = stars[0].session_ids
    more = {one.session: one for item in options for one in item.seen if one.session not in met}
    seen = sorted((*stars[0].seen, *more.values()), key=lambda one: one.at or 0.0)
    whole = replace(stars[0], seen=tuple(seen))
    return [whole if item is stars[0] else item for item in held if item not in options]


def _said_of_less(item: Recurring, held: Sequence[Recurring]) -> bool:
    """Whether the same flag is known of the same tool without its wrapper."""
    return item.cause in ("flag", "target") and any(
        other.cause == item.cause
        and other.tokens == item.tokens
        and item.subject.endswith(f" {other.subject}")
        for other in held
    )


def _other_ending(item: Recurring) -> bool:
    """Whether the file exists with another ending: such a guess is made again, other guesses seldom are."""
    stem = item.tokens[0].rpartition(".")[0]
    return item.cause == "path" and bool(stem) and stem == item.instead.rpartition(".")[0]


def _folders(groups: dict[str, list[Sighting]], touched: Touched) -> dict[str, list[Sighting]]:
    """Makes one rule of the files that were looked for in a folder that does not exist."""
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
    """Makes one rule of a wrapper that does not know commands which work without it."""
    result: list[Recurring] = []
    wrapped: dict[str, list[Recurring]] = {}
    for item in items:
        if item.cause == "command" and item.instead and item.instead.split()[0] == item.tokens[0]:
            wrapped.setdefault(item.subject, []).append(item)
        else:
            result.append(item)
    for subject, group in wrapped.items():
        group.sort(key=lambda item: -item.sessions)
        result.append(
            replace(
                group[0],
                cause="prefix",
                subject=subject,
                tokens=tuple(item.tokens[0] for item in group[:_ORDER]),
                seen=tuple(one for item in group for one in item.seen),
            )
        )
    return result


def refused(group: Sequence[Sighting], agents: Collection[str]) -> Recurring:
    """One rule for each hook's words; it names a call only where that call is what the words are about."""
    newest = group[-1].stumble
    sessions = {one.session for one in group}
    met: dict[str, set[str]] = {}
    places: dict[str, Counter[str]] = {}
    passed: set[str] = set()
    for one in group:
        token = one.stumble.token
        met.setdefault(token, set()).add(one.session)
        if one.stumble.instead:
            places.setdefault(token, Counter())[one.stumble.instead] += 1
        if one.stumble.sometimes:
            passed.add(token)
    spoken = newest.failed.lower().split()
    named = [
        token
        for token, where in sorted(met.items(), key=lambda item: (-len(item[1]), item[0]))
        if token in places
        or newest.subject.startswith(CLIENT)
        or any(word.strip("'\".,:;()") == token.split()[-1].lower() for word in spoken)
        or (token not in passed and len(where) >= max(2, _HALF * len(sessions)))
    ]
    tokens = tuple(([token for token in named if len(met[token]) >= 2] or named)[:MOST_NAMED])
    found = [places[token].most_common(1)[0][0] for token in tokens if token in places]
    whose = {one.agent for one in group}
    return Recurring(
        cause="blocked",
        subject=newest.subject,
        tokens=tokens,
        tried=newest.tried,
        failed=newest.failed,
        instead=found[0] if found else "",
        others=tuple(found[1:]),
        seen=tuple(group),
        only=next(iter(whose)) if len(whose) == 1 and len(set(agents) - {""}) > 1 else "",
    )


def refused_rule(item: Recurring) -> str:
    """The refusal on one line: what is refused, by whom, in the hook's words, and what it wants instead."""
    by = _BY.get(item.subject.partition(" ")[0], "by a hook")
    where = f"here (in {item.only})" if item.only else "here"
    why = f": {item.failed}" if item.failed else ""
    calls = ", ".join(f"`{token}`" for token in item.tokens)
    instead = ", ".join(f"`{text}`" for text in (item.instead, *item.others) if text)
    then = f" → {instead}" if instead else ""
    if not calls:
        return f"some shell calls are refused {where} {by}{why}{then}"
    return f"{calls} {'are' if len(item.tokens) > 1 else 'is'} refused {where} {by}{why}{then}"
