"""What five nodes do at random, and what must come of it.

Every write carries a word of its own. `Item` remembers which words its writers acknowledged, and in which order.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from msgspec import Struct, field
from tests.agents.builders import ClaudeFile
from tests.sync.rig.targets import fares
from tests.sync.rig.world import Done, Kill, Node, World

_NOUNS = [
    "anchor",
    "basket",
    "candle",
    "dragon",
    "engine",
    "falcon",
    "garden",
    "hammer",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "magnet",
    "needle",
    "orchid",
    "pillow",
    "quartz",
    "rocket",
    "saddle",
    "temple",
    "urchin",
    "velvet",
    "walnut",
    "yogurt",
    "zipper",
    "bridge",
    "copper",
    "desert",
    "ember",
    "fabric",
    "glacier",
    "harbor",
    "indigo",
    "jungle",
    "kernel",
    "lantern",
    "meadow",
    "nickel",
    "oyster",
    "parcel",
    "quiver",
    "ribbon",
    "signal",
    "tunnel",
    "umbrella",
    "violin",
    "window",
    "yonder",
    "bishop",
    "cactus",
    "dollar",
    "eleven",
    "forest",
    "goblet",
    "helmet",
    "insect",
    "jigsaw",
    "kitten",
    "locker",
    "marble",
]
_LETTERS = "bcdfghjklmnpqrstvwxz"
KINDS = ("decide", "fact", "todo", "ask", "lesson", "import")
_DAYS = (-4.0, -0.1, 0.0, 0.0, 0.2, 3.0)


class Item(Struct):
    """One thing that a person wrote. `words` are what its texts carry, each with the node that wrote it.

    `maybe` are words whose writer was killed; None among the words says that it was taken out.
    """

    kind: str
    person: str
    id: str = ""
    name: str = ""
    words: list[tuple[str, str | None]] = field(default_factory=list)
    maybe: set[str] = field(default_factory=set)
    forgotten: bool = False
    shared: bool = False
    perhaps_shared: bool = (
        False  # the command that shared it was killed: others may read it, and may never get it
    )
    shared_late: bool = False
    private: bool = False
    shown: set[str] = field(default_factory=set)
    """Words that had been shared before: who was removed later keeps what he had received."""

    @property
    def touched_by(self) -> set[str]:
        return {node for node, _ in self.words}

    @property
    def last(self) -> str | None:
        return self.words[-1][1]


class Played(Struct):
    """What happened, for the checks and the figures."""

    items: list[Item] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)
    killed: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    forgotten_words: set[str] = field(default_factory=set)
    prose: dict[str, str] = field(default_factory=dict)  # word -> node
    trusted: set[tuple[str, str]] = field(default_factory=set)
    line: dict[str, int] = field(default_factory=dict)
    removed: bool = False
    told_of_removal: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)


class Play:
    """One run: `run` does the operations, and the checks read `played`."""

    def __init__(self, world: World, dice: random.Random, operations: int) -> None:
        self.world, self.dice, self.operations = world, dice, operations
        self.played = Played()
        self._points: dict[str, int] = {}
        self._used: set[str] = set()
        self._away = dice.choice(["desktop", "ben"])
        self._is_away = False
        self._moves: list[tuple[int, str, Callable[[Node], None]]] = [
            (14, "decide", self._decide),
            (12, "fact", self._fact),
            (10, "todo", self._todo),
            (6, "ask", self._ask),
            (6, "answer", self._answer),
            (5, "lesson", self._lesson),
            (12, "edit", self._edit),
            (4, "prose", self._prose),
            (4, "import", self._import),
            (4, "forget", self._forget),
            (9, "share", self._share),
            (3, "private", self._private),
            (4, "done", self._finish_one),
            (2, "trust", self._trust),
            (26, "sync", self._sync),
            (3, "two syncs", self._two_syncs),
            (3, "half a copy", self._half_a_copy),
            (1, "server dies", self._server_dies),
            (1, "clock", self._clock),
        ]

    # --- the run ---------------------------------------------------------------------------------------

    def set_up(self) -> None:
        nodes, words_for = self.world.nodes, self.world.target.words
        cleo, laptop, desktop = nodes["cleo"], nodes["laptop"], nodes["desktop"]
        for node in nodes.values():
            self._must(node, "init", "--yes", "--no-wire", "--no-import", "--no-scan")
        self._must(laptop, "sync", words_for(laptop), "--yes")
        self.world.copy_key(laptop, desktop)
        for node in nodes.values():
            if node is not laptop:
                self._must(node, "sync", words_for(node), "--yes")
        self._must(cleo, "team", "create", "Shop")
        for name in ("laptop", "ben", "dan"):
            role = "reader" if name == "dan" else "member"
            code = json.loads(self._must(cleo, "team", "invite", "--role", role, "--json").out)["code"]
            self._must(nodes[name], "team", "join", code, "--yes")
            if name == "laptop":
                self._must(desktop, "team", "join", code, "--yes")
            self._must(nodes[name], "sync")
        self._must(cleo, "sync")
        for node in nodes.values():
            self._must(node, "sync")

    def run(self) -> Played:
        self.set_up()
        for node in self.world.nodes.values():
            node.offset = timedelta(days=self.dice.choice(_DAYS))
        weights = [weight for weight, _, _ in self._moves]
        for number in range(self.operations):
            if number == self.operations // 2:
                self._remove_dan()
            _, name, move = self.dice.choices(self._moves, weights)[0]
            node = self._node(number)
            self.played.operations[name] = self.played.operations.get(name, 0) + 1
            move(node)
        return self.played

    def _node(self, number: int) -> Node:
        self._is_away = self.operations // 4 < number < 3 * self.operations // 4
        names = ["laptop", "laptop", "desktop", "desktop", "ben", "cleo", "dan"]
        return self.world.nodes[self.dice.choice(names)]

    def _must(self, node: Node, *words: str) -> Done:
        self.world.heal()
        done = self.world.run(node, *words)
        if done.code:
            raise AssertionError(
                f"{node.name}: holdfast {' '.join(words)}: {done.code}\n{done.out}{done.err}"
            )
        return done

    def _do(self, node: Node, name: str, *words: str, may_kill: bool = True) -> Done:
        """A command, which may be killed. What it says of an error is counted, a crash is a problem."""
        kill = None
        if may_kill and self.dice.random() < 0.15:
            points = self._points.get(name, 400)
            kill = (
                Kill(at_event=self.dice.randint(1, points))
                if self.dice.random() < 0.6
                else Kill(after_s=self.dice.random() * 0.25)
            )
        done = self.world.run(node, *words, kill=kill)
        self._note(node, name, done)
        return done

    def _note(self, node: Node, name: str, done: Done) -> None:
        played = self.played
        if done.events:
            self._points[name] = done.events
        played.log.append(f"{node.name}: {' '.join(done.words)[:150]} -> {done.code}")
        if done.code == -9:
            played.killed[name] = played.killed.get(name, 0) + 1
        elif done.crashed or done.code in (70, 139):
            played.problems.append(f"crash: {node.name}: holdfast {' '.join(done.words)}\n{done.err[-3000:]}")
        elif done.code:
            said = re.sub(
                r"[A-Z]-[0-9a-z]{4,}|[0-9a-f]{8,}|zq[a-z]{6}|/\S+|'[^']*'|\d+", "_", done.err.strip()
            )
            key = f"{name}: {said.splitlines()[-1][:110] if said else '(nothing)'}"
            played.refused[key] = played.refused.get(key, 0) + 1

    def _word(self) -> str:
        while True:
            word = "zq" + "".join(self.dice.choices(_LETTERS, k=6))
            if word not in self._used:
                self._used.add(word)
                return word

    def _text(self, word: str, beginning: str) -> str:
        a, b, c, d = self.dice.sample(_NOUNS, 4)
        return f"{beginning} {a} {b} {word} {c} {d}"

    # --- writes ----------------------------------------------------------------------------------------

    def _keep(self, node: Node, kind: str, word: str, done: Done, name: str = "") -> Item | None:
        if done.code not in (0, -9):
            return None
        item = Item(kind, node.person, name=name)
        if done.code == 0:
            item.words.append((node.name, word))
            match = re.search(r"\b([A-Z]-[0-9a-z]{6,})", done.out)
            item.id = match[1] if match else name
        else:
            item.maybe.add(word)
        self.played.items.append(item)
        return item

    def _decide(self, node: Node) -> None:
        word = self._word()
        a, b = self.dice.sample(_NOUNS, 2)
        done = self._do(node, "decide", "decide", self._text(word, "Build"), "--because", f"{a} breaks {b}")
        self._keep(node, "decide", word, done)

    def _fact(self, node: Node) -> None:
        word = self._word()
        text = self._text(word, f"Port {self.dice.randint(1, 9999)} serves")
        done = self._do(
            node, "fact", "fact", "add", text, "--evidence", f"seen {word}", "--command", f"make {word}"
        )
        self._keep(node, "fact", word, done)

    def _todo(self, node: Node) -> None:
        word = self._word()
        self._keep(node, "todo", word, self._do(node, "todo", "todo", "add", self._text(word, "Tidy")))

    def _ask(self, node: Node) -> None:
        word = self._word()
        done = self._do(node, "ask", "ask", f"{self._text(word, 'Which')}?")
        if "Kept as" in done.out or done.code == -9:
            self._keep(node, "ask", word, done)

    def _answer(self, node: Node) -> None:
        item = self._own(node, "ask")
        if item is None:
            return
        word = self._word()
        done = self._do(node, "answer", "answer", item.id, self._text(word, "It is"))
        if done.code == 0:
            item.words.append((node.name, word))
        elif done.code == -9:
            item.maybe.add(word)

    def _lesson(self, node: Node) -> None:
        word = self._word()
        name = f"rule-{word}"
        done = self._do(node, "lesson", "lessons", "add", name, "--rule", self._text(word, "Always run"))
        self._keep(node, "lesson", word, done, name=name)

    def _import(self, node: Node) -> None:
        word = self._word()
        number = self.dice.getrandbits(48)
        session = f"0f0e7c1a-58a4-4c4e-9b53-{number:012x}"
        file = ClaudeFile(session, str(node.repo), prefix=word)  # else it is a copy of the session before
        file.user(0, f"{self._text(word, 'Fix the')} and keep it in {word} files, not in a table.")
        file.assistant(5, f"I decided to keep {word} in files because tables are slow.")
        file.run(10, f"make {word}", "FAILED", exit_code=2)
        file.edit(20, f"{node.repo}/{word}.py")
        file.run(30, f"make {word}", "ok")
        file.assistant(40, f"Done: {word} works now.")
        path = file.save(node.folder / "sessions" / f"{session}.jsonl")
        done = self._do(node, "import", "import", "-q", str(path))
        item = self._keep(node, "import", word, done, name=session)
        if item is not None:
            item.id = session
        if done.code == -9 and item is not None:  # a person does it again
            again = self._do(node, "import", "import", "-q", str(path), may_kill=False)
            if again.code == 0:
                item.words.append((node.name, word))
        path.unlink()  # else a forgotten word would be found in it

    # --- by hand ---------------------------------------------------------------------------------------

    def _own(self, node: Node, *kinds: str) -> Item | None:
        """An item of this person that this node knows, and that nobody has taken out."""
        known = [
            item
            for item in self.played.items
            if item.person == node.person
            and item.kind in kinds
            and item.id
            and item.words
            and item.last is not None
            and not item.forgotten
        ]
        self.dice.shuffle(known)
        for item in known[:6]:
            word = item.last
            if word and any(word in path.read_text("utf-8", "replace") for path in _files(node)):
                return item
        return None

    def _edit(self, node: Node) -> None:
        """Changes a word of a line, or takes the line out."""
        item = self._own(node, "decide", "fact", "todo")
        if item is None or item.last is None:
            return
        for path in _files(node):
            lines = path.read_text("utf-8").split("\n")
            places = [
                number
                for number, line in enumerate(lines)
                if item.last in line and line.startswith("- ") and item.id in line
            ]
            if len(places) != 1:
                continue
            (at,) = places
            if self.dice.random() < 0.25:
                end = at + 1
                while end < len(lines) and lines[end].startswith("  - "):
                    end += 1
                del lines[at:end]
                item.words.append((node.name, None))
                what = "deleted"
            else:
                word = self._word()
                lines[at] = lines[at].replace(item.last, word, 1)
                item.words.append((node.name, word))
                what = f"changed to {word}"
            _save(path, "\n".join(lines))
            self.played.log.append(f"{node.name}: {path.name}: {item.id} {what}")
            return

    def _prose(self, node: Node) -> None:
        """A person's own words below everything: they stay, and never travel."""
        paths = [path for path in _files(node) if path.name in ("reference.md", "open-questions.md")]
        if not paths:
            return
        word = self._word()
        path = self.dice.choice(paths)
        text = path.read_text("utf-8")
        _save(path, f"{text.rstrip()}\n\nMy own words {word} about it.\n")
        self.played.prose[word] = node.name
        self.played.log.append(f"{node.name}: own words {word} in {path.name}")

    def _finish_one(self, node: Node) -> None:
        item = self._own(node, "todo", "decide")
        if item is None:
            return
        words = ("todo", "done") if item.kind == "todo" else ("decide", "retire")
        done = self._do(node, "done", *words, item.id)
        if done.code == 0:
            item.words.append((node.name, None))
        elif done.code == -9:
            item.maybe.add("")  # it may be gone

    # --- what goes -------------------------------------------------------------------------------------

    def _forget(self, node: Node) -> None:
        item = self._own(node, "decide", "fact", "ask", "import", "todo")
        if item is None:
            return
        if item.kind == "import":
            words = ("--session", item.id)
        elif self.dice.random() < 0.5:
            words = ("--fact", item.id)
        else:
            words = ("--text", str(item.last))
        done = self._do(node, "forget", "forget", *words, "--yes")
        if done.code == -9:  # a person who saw it die does it again
            done = self._do(node, "forget", "forget", *words, "--yes", may_kill=False)
            if done.code == 1 and ("nothing here" in done.err or "known here" in done.err):
                item.maybe.add("")  # killed before it began: a word that was reworded has another id by now
        if done.code == 0:
            item.forgotten = True
            if words[0] == "--text":
                self.played.forgotten_words.add(str(item.last))
            else:
                self.played.forgotten_words.update(word for _, word in item.words[-1:] if word)

    # --- the team --------------------------------------------------------------------------------------

    def _share(self, node: Node) -> None:
        item = self._own(node, "decide", "fact")
        if item is None:
            return
        done = self._do(node, "share", "team", "share", item.id)
        if done.code in (0, -9):
            if item.shared and not item.private:
                item.perhaps_shared &= done.code == -9
                return  # it was shared before
            if item.shared:
                item.shown.update(word for _, word in item.words if word)
            item.perhaps_shared = done.code == -9
            item.shared, item.private = True, False
            if self.played.removed and node.name in self.played.told_of_removal:
                item.shared_late = True
            else:
                item.shared_late = False

    def _private(self, node: Node) -> None:
        mine = [one for one in self.played.items if one.shared and one.id and one.person == node.person]
        if not mine:
            return
        item = self.dice.choice(mine)
        done = self._do(node, "private", "team", "private", item.id)
        if done.code == 0:
            item.private = True

    def _trust(self, node: Node) -> None:
        name = self.dice.choice(["Ana", "Ben", "Cleo"])
        if name.casefold() == node.person or node.person == "dan":
            return
        if (node.name, name.casefold()) in self.played.trusted:
            return
        done = self._do(node, "trust", "team", "trust", name, "--yes")
        if done.code in (0, -9):
            self.played.trusted.add((node.name, name.casefold()))

    def _remove_dan(self) -> None:
        cleo = self.world.nodes["cleo"]
        self._must(cleo, "sync")
        self._must(cleo, "team", "remove", "Dan", "--yes")
        self.played.removed = True
        self.played.told_of_removal.add("cleo")
        self._must(cleo, "sync")

    # --- syncs -----------------------------------------------------------------------------------------

    def _synced(self, node: Node, done: Done) -> None:
        if done.code == 0 and self.played.removed:
            self.played.told_of_removal.add(node.name)

    def _reaches(self, node: Node) -> bool:
        return not (self._is_away and node.name == self._away)

    def _sync(self, node: Node) -> None:
        if not self._reaches(node):
            return
        self._draw_line()
        self._synced(node, self._do(node, "sync", "sync"))

    def _draw_line(self) -> None:
        if self.world.target.line is not None:
            fares_so = fares(self.dice)
            self.world.target.line.set(**fares_so)
            for name in fares_so:
                self.played.line[name] = self.played.line.get(name, 0) + 1

    def _server_dies(self, node: Node) -> None:
        """The server is killed while one node syncs, and comes back."""
        running = self.world.start(node, "sync")
        time.sleep(self.dice.random() * 0.4)
        if self.world.target.crash():
            self.played.killed["server"] = self.played.killed.get("server", 0) + 1
        done = self.world.finish(running)
        self._note(node, "sync", done)
        self._synced(node, done)

    def _two_syncs(self, node: Node) -> None:
        pair = [one for one in self.dice.sample(list(self.world.nodes.values()), 2) if self._reaches(one)]
        self._draw_line()
        running = [(one, self.world.start(one, "sync")) for one in pair]
        for one, process in running:
            done = self.world.finish(process)
            self._note(one, "sync", done)
            self._synced(one, done)

    def _half_a_copy(self, node: Node) -> None:
        """A pack that another program has copied in part when a node looks."""
        folder = self.world.target.folder
        packs = sorted(folder.rglob("*.pack")) if folder is not None else []
        if not packs:
            self._sync(node)
            return
        path = self.dice.choice(packs)
        whole = path.read_bytes()
        path.write_bytes(whole[: self.dice.randrange(len(whole))])
        self._sync(node)
        if path.exists():
            path.write_bytes(whole)

    def _clock(self, node: Node) -> None:
        node.offset = timedelta(days=self.dice.choice(_DAYS))


def _files(node: Node) -> list[Path]:
    memory = node.memory
    return sorted(
        path
        for path in memory.rglob("*.md")
        if "history" not in path.parts and path.is_file() and not path.is_symlink()
    )


def _save(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.mine")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
