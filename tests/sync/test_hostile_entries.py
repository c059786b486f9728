"""Whoever can write to a target can put anything there: what its author did not sign is refused, and that is said."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.sync.machines import Machines, Person, below

from holdfast.core.stamp import Stamp
from holdfast.sync.entry import Entry, Signed, encode
from holdfast.sync.items import key_of
from holdfast.sync.keys import Keys, Signer
from holdfast.sync.packs import pack, unpack
from holdfast.sync.transport import name_of

pytestmark = [pytest.mark.promise("T6"), pytest.mark.promise("T8")]

FIVE = "The export client makes at most five attempts"
EVIL = "Every release is signed with the key on the pastebin"


class Intruder:
    """Writes packs into the folder where everybody syncs. Has a key, and is in no team."""

    def __init__(self, machines: Machines, person: Person) -> None:
        self._target = machines.target
        self.keys = Keys(person.machine)
        self.keys.own  # noqa: B018 - makes the key

    def put(self, *entries: Signed) -> Path:
        """A pack in the clear, which everybody can read."""
        data = pack(entries, ())
        (project,) = (self._target / "holdfast").iterdir()
        folder = project / self.keys.author / "evil"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name_of(data)}.pack"
        path.write_bytes(data)
        return path

    def says(self, model: Entry, **changed: Any) -> Signed:
        entry = replace(model, **changed)
        line = encode(entry)
        return Signed(line, Signer(self.keys.own).sign(line), entry)


@pytest.fixture
def team(machines: Machines) -> tuple[Person, Person, Intruder]:
    ana, ben = machines.team("Ana", "Ben")
    ana("team", "share", ana.decide(FIVE))
    machines.settle(ana, ben)
    return ana, ben, Intruder(machines, machines.person("Mallory"))


def entries_of(machines: Machines, person: Person, *, scope: str = "team") -> list[Signed]:
    """What lies at the target and this person can read."""
    pairs = Keys(person.machine).pairs
    found: list[Signed] = []
    for path in sorted(machines.target.rglob("*.pack")):
        try:
            found += [one for one in unpack(path.read_bytes(), pairs) if isinstance(one, Signed)]
        except Exception:
            continue
    return [one for one in found if one.entry.scope == scope]


def shared_by(machines: Machines, person: Person) -> Signed:
    return next(one for one in entries_of(machines, person) if one.entry.key.startswith("team/"))


def later(entry: Entry) -> str:
    return str(Stamp(entry.order.wall + 60_000, 0, "evil"))


def refused(person: Person) -> list[str]:
    """Why things were refused; each is said on the terminal, too."""
    done = person("sync", "--json")
    found = [one["why"] for one in done.json()["refused"]]
    for why in found:
        assert f"refused: {why}" in done.stderr
    return found


def items(person: Person) -> set[str]:
    return {item["text"] for item in person.json("team", "items")}


def test_what_a_stranger_says_is_refused(machines: Machines, team: tuple[Person, Person, Intruder]) -> None:
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    body = {**model.body, "text": EVIL, "id": "D-evil00"}
    changed = {"author": mallory.keys.author, "by": "Ana", "stamp": later(model), "body": body}
    for scope, key in (
        ("team", key_of("team", "decision", "D-evil00")),
        ("own", key_of("register", "", "D-evil00")),
    ):
        mallory.put(mallory.says(model, scope=scope, key=key, parents=(), **changed))
    assert refused(ben) == ["its author is not in the team"]
    assert items(ben) == {FIVE}
    assert EVIL not in ben("search", "release signed pastebin", check=None).stdout
    assert refused(ben) == [], "it is said once"


def test_what_is_signed_with_anothers_key_is_refused(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    mallory.put(mallory.says(model, stamp=later(model), body={**model.body, "text": EVIL}))
    assert refused(ben) == ["its signature is not its author's"]
    assert refused(ana) == ["its signature is not its author's"]
    assert items(ana) == items(ben) == {FIVE}


def test_what_was_changed_on_the_way_is_refused(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    real = shared_by(machines, ana)
    line = encode(replace(real.entry, body={**real.entry.body, "text": EVIL}))
    mallory.put(Signed(line, real.signature, real.entry))
    assert refused(ben) == ["its signature is not its author's"]
    assert items(ben) == {FIVE}


def test_an_entry_that_was_forgotten_and_is_sent_again_is_refused(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    kept = shared_by(machines, ana)
    ana("forget", "--text", "five attempts", "--yes")
    machines.settle(ana, ben)
    machines.settle(ana, ben)
    assert items(ben) == set()
    mallory.put(kept)
    assert refused(ben) == ["it was withdrawn or forgotten, and sent again"]
    assert refused(ana) == ["it was withdrawn or forgotten, and sent again"]
    machines.settle(ana, ben)
    for person in (ana, ben):
        assert items(person) == set()
        assert FIVE not in person("search", "export attempts", check=None).stdout


def test_a_real_entry_that_is_sent_twice_changes_nothing(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    mallory.put(*entries_of(machines, ana))
    done = ben.sync()
    assert (done["received"], done["sent"], done["refused"]) == (0, 0, [])
    assert items(ben) == {FIVE}


def test_an_entry_of_another_project_is_refused(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    signer = Signer(Keys(ana.machine).own)
    line = encode(replace(model, project="0123456789abcdef", stamp=later(model), parents=()))
    mallory.put(Signed(line, signer.sign(line), model))
    assert refused(ben) == ["it belongs to another project"]


def test_who_is_no_owner_makes_nobody_a_member(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    public = mallory.keys.public
    body = {"verify": public.verify, "seal": public.seal, "name": "Mallory", "role": "owner"}
    entry = replace(
        model,
        author=Keys(ben.machine).author,
        stamp=later(model),
        key=f"roster/member/{public.author}",
        body=body,
        parents=(),
    )
    line = encode(entry)
    mallory.put(Signed(line, Signer(Keys(ben.machine).own).sign(line), entry))
    assert refused(ana) == ["only an owner may change who is in the team"]
    for person in (ana, ben):
        person.sync()
        assert {one["name"] for one in person.json("team", "members")["members"]} == {"Ana", "Ben"}


@pytest.mark.parametrize("names_parents", [False, True])
def test_a_member_takes_nothing_back_that_another_shared(
    names_parents: bool, machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    """Ben may take back what is his own."""
    ana, ben, mallory = team
    ben("team", "share", ben.decide("The invoice number starts at 4000"))
    machines.settle(ana, ben)
    for one in entries_of(machines, ana):
        if not one.entry.key.startswith("team/"):
            continue
        entry = replace(
            one.entry,
            author=Keys(ben.machine).author,
            stamp=later(one.entry),
            body=None,
            parents=(one.id,) if names_parents else (),
        )
        line = encode(entry)
        mallory.put(Signed(line, Signer(Keys(ben.machine).own).sign(line), entry))
    for person in (ana, ben):
        person.sync()
        assert items(person) == {FIVE}, "what Ben took back is his own alone"
        assert person.json("sync", "--conflicts") == []


@pytest.mark.parametrize(
    "key", ["register//D-evil00", "file/style.md", "line/denied.jsonl/evil", "passage//s/1"]
)
def test_a_member_writes_nothing_into_anothers_own_memory(
    key: str, machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    before = below(ana.memory, but=lambda path: not path.suffix.startswith((".md", ".json")))
    body = {"text": EVIL, "at": 1.0, "by": "user", "id": "D-evil00"}
    model = replace(shared_by(machines, ana).entry, author=Keys(ben.machine).author, key=key, body=body)
    entry = replace(model, stamp=later(model), parents=())
    line = encode(entry)
    mallory.put(Signed(line, Signer(Keys(ben.machine).own).sign(line), entry))
    assert refused(ana) == ["it is about what is not the team's"]
    assert below(ana.memory, but=lambda path: not path.suffix.startswith((".md", ".json"))) == before


def test_files_of_one_machine_under_anothers_name_are_only_copies(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    """A place at the target is a name, and proves nothing."""
    ana, ben, mallory = team
    (project,) = (machines.target / "holdfast").iterdir()
    shutil.copytree(project / Keys(ana.machine).author, project / mallory.keys.author, dirs_exist_ok=True)
    before = items(ben)
    assert refused(ben) == []
    assert items(ben) == before == {FIVE}
