"""What a hook or a client's configuration refuses here, out of the sessions that met it, and how that is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from holdfast.distill.lesson_recurring import Recurring, Seen
from holdfast.distill.lesson_refusals import CLIENT, PERMISSIONS

MOST_NAMED = 3
_HALF = 0.5
_BY = {PERMISSIONS: "by configuration", CLIENT: "at times by the client"}


def refused(group: Sequence[Seen], agents: Collection[str]) -> Recurring:
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
    often = [token for token in named if len(met[token]) >= 2] or named
    tokens = tuple(often[:MOST_NAMED])
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
