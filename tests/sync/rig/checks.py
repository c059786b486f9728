"""What must hold once everybody has synced until nothing moves: the seven invariants of a synced memory."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from tests.every_byte import leftovers
from tests.sync.rig.play import Item, Played
from tests.sync.rig.world import OWNERS, Node, World, names_below

from holdfast.store.phrases import FORGOTTEN
from holdfast.store.sync_journal import SyncJournal
from holdfast.sync.collect import families
from holdfast.sync.entry import Signed
from holdfast.sync.items import Place
from holdfast.sync.keys import Keys, unseal
from holdfast.sync.packs import BadPack, is_sealed, unpack
from holdfast.sync.transport import Transport

_ROUNDS = 8
_QUIET = ("sent", "received", "changed")


class Checks:
    """Each check adds to `problems`."""

    def __init__(self, world: World, played: Played) -> None:
        self.world, self.played = world, played
        self.problems = list(played.problems)
        self.syncs = 0

    def run(self) -> list[str]:
        self.world.heal()
        self._until_quiet()
        self._nothing_moves()
        self._writes_are_everywhere()
        self._same_bytes()
        self._nothing_unseen()
        self._nobody_reads_more()
        self._forgotten_is_gone()
        self._others_are_found_and_not_told()
        return self.problems

    # --- quiet -----------------------------------------------------------------------------------------

    def _sync(self, node: Node) -> dict[str, object]:
        done = self.world.run(node, "sync", "--json")
        self.syncs += 1
        if done.code:
            self.problems.append(f"sync of {node.name} fails at the end: {done.err.strip()[-2000:]}")
            return {}
        for line in done.err.splitlines():
            if "refused" in line and "dan" not in line.casefold():
                key = f"at the end: {re.sub(r'[0-9a-f]{4}(-[0-9a-f]{4})+|[0-9]+', '_', line)[:120]}"
                self.played.refused[key] = self.played.refused.get(key, 0) + 1
        found: dict[str, object] = msgspec.json.decode(done.out)
        return found

    def _until_quiet(self) -> None:
        for _ in range(_ROUNDS):
            moved = False
            for node in self.world.nodes.values():
                found = self._sync(node)
                moved = moved or any(found.get(name) for name in _QUIET)
            if not moved:
                return
        self.problems.append(f"(2) still moving after {_ROUNDS} rounds")

    def _nothing_moves(self) -> None:
        before = self._everything()
        for node in self.world.nodes.values():
            found = self._sync(node)
            if any(found.get(name) for name in _QUIET):
                self.problems.append(f"(2) another sync of {node.name} moves something: {found}")
        after = self._everything()
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                self.problems.append(f"(2) another sync changes {name}")

    def _everything(self) -> dict[str, bytes]:
        found = self.world.target.contents()
        for node in self.world.nodes.values():
            for path in names_below(node.memory):
                if path.suffix in (".md", ".jsonl"):
                    found[str(path)] = path.read_bytes()
        return found

    # --- (1) -------------------------------------------------------------------------------------------

    def _writes_are_everywhere(self) -> None:
        texts = {node.name: memory_text(node) for node in self.world.nodes.values()}
        for item in self.played.items:
            if item.forgotten or not item.words:
                continue
            nodes = [name for name, person in OWNERS.items() if person == item.person]
            for name in nodes:
                if problem := self._missing(item, texts[name]):
                    self.problems.append(f"(1) {name}: {item.kind} {item.id} of {item.person}: {problem}")

    def _missing(self, item: Item, text: str) -> str:
        """What a node lacks of an item; '' if what it has is a state that the writers made."""
        words = [word for _, word in item.words]
        if len(item.touched_by) == 1 and not item.maybe:
            last = words[-1]
            if last is None or last in self.played.forgotten_words:
                return ""
            return "" if last in text else f"{last} is not there (wrote {item.words})"
        possible = {*words, *(word or None for word in item.maybe)}
        if None in possible or self.played.forgotten_words & {word for word in possible if word}:
            return ""
        return (
            ""
            if any(word and word in text for word in possible)
            else f"none of {sorted(map(str, possible))} is there"
        )

    # --- (3) -------------------------------------------------------------------------------------------

    def _same_bytes(self) -> None:
        one, other = self.world.nodes["laptop"], self.world.nodes["desktop"]
        for key, left, right in _unequal(_items(one), _items(other)):
            self.problems.append(f"(3) {key} differs: {left} | {right}")
        first, second = self._managed(one), self._managed(other)
        for name in sorted(first.keys() | second.keys()):
            left, right = first.get(name, ""), second.get(name, "")
            if any(word in left or word in right for word in self.played.prose):
                left, right = self._without_prose(left), self._without_prose(right)
            if left != right:
                self.problems.append(f"(3) {name} differs: {_difference(left, right)}")

    def _without_prose(self, text: str) -> str:
        kept = [line for line in text.split("\n") if not any(word in line for word in self.played.prose)]
        return re.sub(r"\n{2,}", "\n\n", "\n".join(kept)).strip()

    def _managed(self, node: Node) -> dict[str, str]:
        """The files that follow from items."""
        found = {}
        for path in (*names_below(node.memory), node.repo / ".holdfast" / "ledger.md"):
            if not path.is_file() or path.suffix != ".md" or "history" in path.parts:
                continue
            name = path.name if path.name == "ledger.md" else path.relative_to(node.memory).as_posix()
            text = path.read_text("utf-8")
            if name.endswith("team.md"):
                continue  # it follows from what each machine trusts
            if name == "current.md":
                continue  # most of it is worked out on each machine; its to-dos are compared as items
            found[name] = text
        return found

    # --- (4), (5) --------------------------------------------------------------------------------------

    def _packs(self) -> list[bytes]:
        transport = self._transport()
        return [data for _, data in transport.fetch(transport.packs())]

    def _transport(self) -> Transport:
        from holdfast.sync.settings import read_settings
        from holdfast.sync.targets import open_transport

        node = self.world.nodes["cleo"]
        settings = read_settings(node.project)
        return open_transport(node.machine, node.project, settings.default, settings.project)

    def _readable(self, node: Node, packs: Iterable[bytes]) -> Iterator[Signed]:
        keys = Keys(node.machine)
        for data in packs:
            try:
                yield from (one for one in unpack(data, keys.pairs) if isinstance(one, Signed))
            except BadPack as error:
                if error.why != "sealed":
                    self.problems.append(f"a pack of the target cannot be read: {error.why}")

    def _nothing_unseen(self) -> None:
        packs = self._packs()
        for node in self.world.nodes.values():
            if node.name == "dan":
                continue
            with closing(SyncJournal(node.memory)) as journal:
                for signed in self._readable(node, packs):
                    if not journal.knows(signed.id) and not self._is_of_dan(signed):
                        self.problems.append(f"(4) {node.name} has not seen {signed.entry.key}")

    def _is_of_dan(self, signed: Signed) -> bool:
        return signed.entry.author == Keys(self.world.nodes["dan"].machine).author

    def _nobody_reads_more(self) -> None:
        packs = self._packs()
        for data in packs:
            if not is_sealed(data):
                self.problems.append("(5) a pack is not sealed")
        for name in ("laptop", "ben", "cleo", "dan"):
            node = self.world.nodes[name]
            text = b"\n".join(signed.line for signed in self._readable(node, packs)).decode(
                "utf-8", "replace"
            )
            home = "\n".join((memory_text(node), _team_text(node), journal_text(node)))
            for item in self.played.items:
                if item.person == node.person:
                    continue
                for word in {word for _, word in item.words if word} | item.maybe:
                    if word and not item.shared and (word in text or word in home):
                        self.problems.append(f"(5) {name} can read {word} of {item.person}, never shared")
                    is_new = bool(word) and item.shared_late and word not in item.shown
                    if name == "dan" and is_new and (word in text or word in home):
                        self.problems.append(f"(5) dan reads {word} of {item.person} after his removal")
        raw = b"\n".join(self.world.target.contents().values())
        for word in self._all_words():
            if word.encode() in raw:
                self.problems.append(f"(5) {word} is plain in the target")

    def _all_words(self) -> set[str]:
        return {word for item in self.played.items for _, word in item.words if word} | {*self.played.prose}

    # --- (6) -------------------------------------------------------------------------------------------

    def _forgotten_is_gone(self) -> None:
        words = self.played.forgotten_words
        if not words:
            return
        roots = [self.world.target.folder] if self.world.target.folder is not None else []
        roots += [node.folder for node in self.world.nodes.values() if node.name != "dan"]
        self.problems += [f"(6) {problem}" for problem in leftovers(roots, words)]
        for node in self.world.nodes.values():
            for data in self._packs():
                opened = unseal(data, Keys(node.machine).pairs) if is_sealed(data) else data
                if opened is None:
                    continue
                text = zlib.decompress(opened.partition(b"\n")[2])
                for word in words:
                    if word.encode() in text:
                        self.problems.append(f"(6) {word} is in a pack that {node.name} can open")

    # --- (7) -------------------------------------------------------------------------------------------

    def _others_are_found_and_not_told(self) -> None:
        for name in ("laptop", "ben", "cleo"):
            node = self.world.nodes[name]
            told = "\n".join(
                path.read_text("utf-8", "replace")
                for path in names_below(node.memory)
                if path.suffix == ".md"
            )
            team = _team_text(node)
            for item in self.played.items:
                last = item.last if item.words else None
                if item.person == node.person or not item.shared or last is None or item.forgotten:
                    continue
                if (name, item.person) not in self.played.trusted:
                    hot = (
                        leftovers([node.memory / "hot.db"], [last])
                        if (node.memory / "hot.db").exists()
                        else []
                    )
                    if last in told or hot:
                        self.problems.append(f"(7) {name}: {last} of {item.person} reaches agents unasked")
                certain = (
                    len(item.touched_by) == 1
                    and not item.maybe
                    and not item.private
                    and not item.perhaps_shared
                    and item.person != "dan"
                )
                if certain and last not in team and last not in self.played.forgotten_words:
                    self.problems.append(f"(1) {name} lacks {last}, which {item.person} shares ({item.id})")
            self._search(node)

    def _search(self, node: Node) -> None:
        shared = [
            item
            for item in self.played.items
            if item.shared
            and not item.perhaps_shared
            and not item.private
            and not item.forgotten
            and item.person not in (node.person, "dan")
            and len(item.touched_by) == 1
            and not item.maybe
            and item.last
        ]
        for item in shared[:2]:
            done = self.world.run(node, "search", str(item.last), "--json")
            if str(item.last) not in done.out:
                self.problems.append(f"(7) {node.name}: search does not find {item.last} of {item.person}")


def memory_text(node: Node) -> str:
    """All items of a memory, as one text."""
    place = Place(node.machine, node.project)
    return "\n".join(
        msgspec.json.encode(family.read().items).decode("utf-8", "replace") for family in families(place)
    )


def _items(node: Node) -> dict[str, str]:
    place = Place(node.machine, node.project)
    return {
        key: json.dumps(_without_time(key, body), sort_keys=True)
        for family in families(place)
        for key, body in family.read().items.items()
        if not key.startswith("file/") and FORGOTTEN not in str(body)  # what a hole is in says nothing
    }


def _without_time(key: str, body: Any) -> Any:
    """A to-do that a person reworded is a line of theirs, where nobody mends the time of a clock that was ahead."""
    if key.startswith("state/todo/") and isinstance(body, dict):
        return {name: value for name, value in body.items() if name != "at"}
    return body


def _unequal(one: dict[str, str], other: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for key in sorted(one.keys() | other.keys()):
        left, right = one.get(key, "nothing"), other.get(key, "nothing")
        if left != right:
            yield key, left[:300], right[:300]


def journal_text(node: Node) -> str:
    with closing(SyncJournal(node.memory)) as journal:
        return "\n".join(
            row.line.decode("utf-8", "replace") for rows in journal.all_heads() for row in rows if row.line
        )


def _team_text(node: Node) -> str:
    """What others share, in the memory and apart from it."""
    apart = node.home / ".holdfast" / "received"
    paths: list[Path] = [*node.memory.rglob("team.md"), *(apart.rglob("*.md") if apart.is_dir() else ())]
    return "\n".join(path.read_text("utf-8", "replace") for path in paths if "history" not in path.parts)


def _difference(left: str, right: str) -> str:
    one, other = left.split("\n"), right.split("\n")
    only = [f"<{line}" for line in one if line not in other] + [
        f">{line}" for line in other if line not in one
    ]
    return " | ".join(only[:6]) or "the order of lines"
