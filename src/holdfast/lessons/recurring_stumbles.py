"""Merges the stumbles of several sessions by cause: how often, what helped, and whether it still applies.

The cause is the key, not the wording: the same flag of the same tool is one stumble, whatever else was on the line.
A session in which the failing call worked weakens a stumble; enough of them remove it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.language.command_words import REST
from holdfast.language.remedies import installs_for_good
from holdfast.lessons.contradictions import Recurring, Sighting, Touched, still
from holdfast.lessons.grounds import IN_FOLDER
from holdfast.model.events import Lived
from holdfast.model.lesson import Stumble
from holdfast.sessions.enforced_rules import CLIENT, PERMISSIONS, common_wording

FEWEST_FOR_A_GUESS = 3  # a file that does not exist: two sessions often got its name from the user
FEWEST_FOR_A_RULE = 3  # a linter finding in two sessions of fifty is a slip, not a habit
FEWEST_FOR_A_STAR = 3  # a pattern without matches is often intended
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
    """Stumbles worth a rule, the most frequent first; and former ones, whose failing call works again."""

    held: tuple[Recurring, ...]
    contradicted: tuple[Recurring, ...]


def recurring(lived: Sequence[Lived]) -> Stumbles:
    """Merge the stumbles of these sessions, oldest first, by cause."""
    groups: dict[str, list[Sighting]] = {}
    for session in lived:
        for stumble in session.experience.stumbles:
            sighting = Sighting(session.session, stumble.at or session.started, stumble, session.agent)
            groups.setdefault(key_of(stumble), []).append(sighting)
    touched = Touched(lived)
    groups = _folders(groups, touched)
    agents = {session.agent for session in lived}
    merged = [
        refused(group, agents) if group[0].stumble.cause == "blocked" else _merged(group)
        for group in groups.values()
    ]
    now = [(item, still(item, lived, touched)) for item in merged]
    held = [
        item
        for item in _without_prefix(remaining for _, remaining in now if remaining is not None)
        if _worth(item)
    ]
    held = [item for item in held if not _other_place_works(item, held) and not _said_of_less(item, held)]
    held = _of_one_shell(_of_one_tool(held))
    return Stumbles(
        held=tuple(sorted(held, key=lambda item: (-item.sessions, -(item.at or 0.0), item.key))),
        contradicted=tuple(item for item, remaining in now if remaining is None and _worth(item)),
    )


def key_of(stumble: Stumble) -> str:
    if stumble.cause == "place" and (moved := IN_FOLDER.match(stumble.instead)):
        return f"place|{stumble.subject.partition(' ')[0]}|{moved[1]}"  # whatever the subcommand
    if stumble.cause == "rule" and (part := _PART_OF_A_RULE.match(stumble.failed)):
        return f"rule||{stumble.token} {part[1]}"  # one of many findings under one rule name
    if stumble.cause == "blocked":
        # A hook's message is its rule, whatever the call.
        return f"blocked|{stumble.subject}" + ("" if stumble.failed else f"|{stumble.token}")
    if stumble.cause == "format":
        return f"format|{_formatter(stumble)}|"  # whichever task or tool reported it
    return (
        f"{stumble.cause}||{stumble.token}" if stumble.cause in ("program", "path", "glob") else stumble.key
    )


def _formatter(stumble: Stumble) -> str:
    """Return the folder in which code was not formatted: one formatter is responsible for it."""
    return moved[1] if (moved := IN_FOLDER.match(stumble.instead or stumble.tried)) else ""


def _merged(group: Sequence[Sighting]) -> Recurring:
    """Merge sightings: the remedy of most sessions, the newest on a tie, in the wording of the newest that found it."""
    failed = Counter(text for sighting in group for text in sighting.stumble.vain)
    helped = Counter(sighting.stumble.instead for sighting in group if sighting.stumble.instead)
    # What followed a service's refusal is a remedy only if two sessions did it.
    fewest = 2 if group[0].stumble.cause == "refused" else 1
    # A remedy that failed as often as it helped is luck.
    remedies = {text: count for text, count in helped.items() if count > failed[text] and count >= fewest}
    newest = {sighting.stumble.instead: number for number, sighting in enumerate(group)}
    plainest = group[0].stumble.cause == "flag"  # on a tie, prefer just leaving the flag out
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
    shown = next(
        sighting.stumble for sighting in reversed(group) if sighting.stumble.instead == best or not best
    )
    if shown.cause in ("rule", "format"):
        usual = Counter(sighting.stumble.tried for sighting in group).most_common(1)[0][0]
        shown = next(sighting.stumble for sighting in reversed(group) if sighting.stumble.tried == usual)
    return Recurring(
        cause=shown.cause,
        subject=shown.subject,
        # The subcommands that were run in the wrong folder, the most frequent first.
        tokens=tuple(
            subject for subject, _ in Counter(sighting.stumble.subject for sighting in group).most_common(3)
        )
        if shown.cause == "place"
        else (shown.token,),
        tried=shown.tried,
        failed=common_wording([sighting.stumble.failed for sighting in group])
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
        heeded = {sighting.session for sighting in item.seen if sighting.stumble.instead}
        # If there were always other findings too, the linter had to run again anyway.
        cost_a_run = any(sighting.stumble.alone for sighting in item.seen)
        return cost_a_run and item.sessions >= FEWEST_FOR_A_RULE and 2 * len(heeded) >= item.sessions
    if item.cause in ("program", "tool") and item.sessions == 1 and installs_for_good(item.instead):
        return False  # it was missing only once
    if item.cause == "refused":
        return item.sessions > 1
    if item.cause == "switch":
        agreed = Counter(sighting.stumble.instead for sighting in item.seen if sighting.stumble.instead)
        return agreed.get(item.instead, 0) >= 2
    if item.cause == "path" and not item.instead:
        return item.sessions >= FEWEST_FOR_A_GUESS
    if item.sessions >= 2:
        return bool(item.instead) or item.known.unresolved
    return bool(item.instead) and (item.known.alone or _other_ending(item))


def _doubled(path: str) -> bool:
    """Whether a path from the root was typed inside a folder (`api/api/src`): a slip that does not recur."""
    parts = path.rstrip("/").split("/")
    return any(parts[:size] == parts[size : 2 * size] for size in range(1, len(parts) // 2 + 1))


def _other_place_works(item: Recurring, held: Sequence[Recurring]) -> bool:
    """Whether only one session used this folder, and more sessions found another folder for the same tool."""
    if item.cause != "place" or item.sessions > 1:
        return False
    tool = item.subject.partition(" ")[0]
    return any(
        other.cause == "place" and other.sessions > 1 and other.subject.partition(" ")[0] == tool
        for other in held
    )


def _of_one_tool(held: Sequence[Recurring]) -> list[Recurring]:
    """Merge the stumbles of a tool that runs in several folders and not at the root."""
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
            merged = result[first[tool]]
            result[first[tool]] = replace(
                merged,
                tokens=tuple(dict.fromkeys((*merged.tokens, *item.tokens)))[:3],
                others=(*merged.others, item.instead)[:MOST_PLACES],
                seen=(
                    *merged.seen,
                    *(sighting for sighting in item.seen if sighting.session not in merged.session_ids),
                ),
            )
    return result


def _of_one_shell(held: Sequence[Recurring]) -> list[Recurring]:
    """Merge the stumbles over a star without matches, in the value of an option or not."""
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
    """Whether there is a stumble over the same flag of the same tool without its wrapper."""
    return item.cause in ("flag", "target") and any(
        other.cause == item.cause
        and other.tokens == item.tokens
        and item.subject.endswith(f" {other.subject}")
        for other in held
    )


def _other_ending(item: Recurring) -> bool:
    """Whether the file exists with another extension: this guess recurs, others seldom do."""
    stem = item.tokens[0].rpartition(".")[0]
    return item.cause == "path" and bool(stem) and stem == item.instead.rpartition(".")[0]


def _folders(groups: dict[str, list[Sighting]], touched: Touched) -> dict[str, list[Sighting]]:
    """Merge the stumbles over files in a folder that does not exist."""
    moved: dict[str, list[str]] = {}
    for key, group in groups.items():
        stumble = group[-1].stumble
        if stumble.cause == "path":
            folder = stumble.token.rpartition("/")[0]
            last = touched.number[group[-1].session]
            gone = f"path||{folder}" in groups  # the folder itself was missing too
            if folder and not touched.times(folder, last if gone else -1):
                moved.setdefault(folder, []).append(key)
    result = dict(groups)
    for folder, keys in moved.items():
        folder_key = f"path||{folder}"
        members = [*keys, *([folder_key] if folder_key in groups else [])]
        sightings = [one for key in members for one in groups[key]]
        homes = {
            one.stumble.instead.rpartition("/")[0]
            for one in sightings
            if one.stumble.instead
            and one.stumble.token.rpartition("/")[2] == one.stumble.instead.rpartition("/")[2]
        }
        if len(members) < 2 or len(homes) != 1:
            continue
        for key in members:
            del result[key]
        home = f"{next(iter(homes))}/"
        sightings.sort(key=lambda one: touched.number[one.session])
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
            for one in sightings
        ]
    return result


def _without_prefix(items: Iterable[Recurring]) -> list[Recurring]:
    """Merge the stumbles over a wrapper that lacks commands which work without it."""
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
                seen=tuple(sighting for item in group for sighting in item.seen),
            )
        )
    return result


def refused(group: Sequence[Sighting], agents: Collection[str]) -> Recurring:
    """Merge the refusals with one message of a hook. Names a call only if the message is about it."""
    newest = group[-1].stumble
    sessions = {sighting.session for sighting in group}
    met: dict[str, set[str]] = {}
    places: dict[str, Counter[str]] = {}
    passed: set[str] = set()
    for sighting in group:
        token = sighting.stumble.token
        met.setdefault(token, set()).add(sighting.session)
        if sighting.stumble.instead:
            places.setdefault(token, Counter())[sighting.stumble.instead] += 1
        if sighting.stumble.sometimes:
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
    remedies = [places[token].most_common(1)[0][0] for token in tokens if token in places]
    owners = {sighting.agent for sighting in group}
    return Recurring(
        cause="blocked",
        subject=newest.subject,
        tokens=tokens,
        tried=newest.tried,
        failed=newest.failed,
        instead=remedies[0] if remedies else "",
        others=tuple(remedies[1:]),
        seen=tuple(group),
        only=next(iter(owners)) if len(owners) == 1 and len(set(agents) - {""}) > 1 else "",
    )


def refused_rule(item: Recurring) -> str:
    """Write a refusal on one line: what is refused, by whom, the hook's message, and what it wants instead."""
    by = _BY.get(item.subject.partition(" ")[0], "by a hook")
    where = f"here (in {item.only})" if item.only else "here"
    why = f": {item.failed}" if item.failed else ""
    calls = ", ".join(f"`{token}`" for token in item.tokens)
    instead = ", ".join(f"`{text}`" for text in (item.instead, *item.others) if text)
    then = f" → {instead}" if instead else ""
    if not calls:
        return f"some shell calls are refused {where} {by}{why}{then}"
    return f"{calls} {'are' if len(item.tokens) > 1 else 'is'} refused {where} {by}{why}{then}"
