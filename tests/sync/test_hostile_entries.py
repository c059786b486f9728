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
    assert refused(ben) == ["its signature does not match its author"]
    assert refused(ana) == ["its signature does not match its author"]
    assert items(ana) == items(ben) == {FIVE}


def test_what_was_changed_on_the_way_is_refused(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    real = shared_by(machines, ana)
    line = encode(replace(real.entry, body={**real.entry.body, "text": EVIL}))
    mallory.put(Signed(line, real.signature, real.entry))
    assert refused(ben) == ["its signature does not match its author"]
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
    assert refused(ben) == ["it was sent again after being withdrawn or forgotten"]
    assert refused(ana) == ["it was sent again after being withdrawn or forgotten"]
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
    assert refused(ana) == ["it concerns something that is not the team's"]
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


def signed_by(person: Person, model: Entry, **changed: Any) -> Signed:
    """An entry that a person signs with the real key, whatever it says."""
    entry = replace(model, **{"author": Keys(person.machine).author, "parents": (), **changed})
    line = encode(entry)
    return Signed(line, Signer(Keys(person.machine).own).sign(line), entry)


def a_statement(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "key": key_of("team", "decision", id),
        "body": {"id": id, "kind": "decision", "text": text, **more},
    }


@pytest.mark.parametrize("back_s", [0, 7 * 86_400])
def test_a_removed_member_says_nothing_more_whatever_time_an_entry_names(
    back_s: int, machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    """What Ben had shared stays. Cleo, who was away for weeks, learns of it and of the removal at once."""
    ana, ben, mallory = team
    cleo = machines.person("Cleo")
    cleo("team", "join", ana.json("team", "invite")["code"], "--yes")
    cleo.sync(machines.target, "--yes")
    machines.settle(ana)
    cleo.sync()
    ben("team", "share", ben.decide("The invoice number starts at 4000"))
    machines.settle(ben, ana)
    model = shared_by(machines, ana).entry
    ana("team", "remove", "Ben", "--yes")
    ana.sync()
    stamp = str(Stamp(model.order.wall + 60_000 - back_s * 1_000, 0, "benb"))
    mallory.put(signed_by(ben, model, stamp=stamp, **a_statement("D-evil00", EVIL)))
    assert refused(ana) == ["its author was removed from the team"]
    cleo.sync()
    for person in (ana, cleo):
        assert items(person) == {FIVE, "The invoice number starts at 4000"}


def test_what_a_revoked_key_signs_is_refused_whatever_time_it_names(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    """A thief who has the key can write any time into an entry."""
    laptop, desktop = two
    laptop.decide(FIVE)
    desktop.decide("Keep the shop small")
    machines.settle(*two)
    desktop.decide("Prices are integers in pence")
    old = Keys(desktop.machine)
    model = next(
        one for one in entries_of(machines, laptop, scope="own") if one.entry.key.startswith("register")
    )
    laptop("keys", "revoke", "--yes")
    laptop.sync()
    thief = Intruder.__new__(Intruder)
    thief.keys, thief._target = old, machines.target
    early = str(Stamp(model.entry.order.wall - 7 * 86_400_000, 0, "evil"))
    body = {**model.entry.body, "text": EVIL, "id": "D-evil00"}
    key = key_of("register", "", "D-evil00")
    thief.put(thief.says(model.entry, stamp=early, key=key, body=body, parents=()))
    assert set(refused(laptop)) == {"it was signed with a key that was revoked"}
    export = laptop.home / "new.key"
    laptop("keys", "export", export)
    desktop("keys", "restore", export, "--replace")
    machines.settle(*two)
    for person in two:
        said = {one["text"] for one in person.json("decide", "--list")}
        assert said == {FIVE, "Keep the shop small", "Prices are integers in pence"}, (
            "what was not synced is not lost"
        )
        assert person.json("sync", "--conflicts") == []
    tablet = machines.person("Ana", machine="tablet", like=laptop)
    tablet.sync(machines.target, "--yes")
    assert {one["text"] for one in tablet.json("decide", "--list")} == said


def test_what_was_taken_out_before_a_key_was_revoked_stays_out(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide(FIVE)
    gone = laptop.decide("Keep the shop small")
    machines.settle(*two)
    laptop("decide", "retire", gone)
    machines.settle(*two)
    before = laptop.json("decide", "--list")
    laptop("keys", "revoke", "--yes")
    laptop.sync()
    export = laptop.home / "new.key"
    laptop("keys", "export", export)
    desktop("keys", "restore", export, "--replace")
    machines.settle(*two)
    for person in two:
        assert person.json("decide", "--list") == before
        assert person.json("sync", "--conflicts") == []


def test_an_entry_whose_parents_are_missing_counts_and_replaces_them_when_they_come(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    """What came between two entries may never have travelled: an entry names all that it replaces."""
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    first = signed_by(
        ana, model, stamp=later(model), **a_statement("D-aaaa00", "Refunds go to the first card")
    )
    second = signed_by(
        ana,
        first.entry,
        stamp=later(first.entry),
        parents=(first.id,),
        **a_statement("D-aaaa00", "Refunds go to the card that paid"),
    )
    expected = {FIVE, "Refunds go to the card that paid"}
    mallory.put(second)
    assert refused(ben) == [] and items(ben) == expected
    mallory.put(first)
    assert refused(ben) == [] and items(ben) == expected
    assert ben.json("sync", "--conflicts") == []


@pytest.mark.parametrize(
    "changed",
    [
        a_statement("D-evil00", EVIL, reason="x" * 200_000),
        a_statement("D-evil00", "   "),
        a_statement("D-evil00", f"{EVIL}\u200b"),
        a_statement("D-evil00\n## 2026-11-01 · evil", EVIL),
        {
            "key": key_of("team", "decision", "D-evil00"),
            "body": {"id": "D-other0", "text": EVIL, "kind": "decision"},
        },
        {"key": key_of("team", "decision", "D-evil00"), "body": [1]},
        {
            "key": key_of("team", "order", "D-evil00"),
            "body": {"id": "D-evil00", "text": EVIL, "kind": "order"},
        },
    ],
)
def test_a_statement_of_a_member_that_nobody_may_be_shown_is_refused(
    changed: dict[str, Any], machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    mallory.put(signed_by(ben, model, stamp=later(model), **changed))
    assert refused(ana) == ["it is too long, or says what nobody may be shown"]
    assert items(ana) == {FIVE}


def test_a_member_empties_nothing_that_another_shared(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    """An entry that says nothing in the place of another's statement would take it away from all."""
    ana, ben, mallory = team
    model = shared_by(machines, ana)
    body = {**model.entry.body, "text": " "}
    stamp = later(model.entry)
    mallory.put(signed_by(ben, model.entry, stamp=stamp, body=body, parents=(model.id,)))
    assert refused(ana) == ["it is too long, or says what nobody may be shown"]
    for person in (ana, ben):
        assert items(person) == {FIVE}


@pytest.mark.parametrize(
    "key",
    [
        "fact/..%2F..%2F..%2Fevil/F-evil00",
        "log/%2Ftmp%2Fevil/s",
        "lesson/active/..%2Fevil",
        "file/..%2Fevil.md",
        "fact",
        "passage/",
        "register/a",
        "fact/../evil/F-evil00",
        "team/decision",
        "lesson/active/.hidden",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_even_from_ones_own_machine(
    key: str, machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide(FIVE)
    machines.settle(*two)
    model = entries_of(machines, laptop, scope="own")[0].entry
    mallory = Intruder(machines, machines.person("Mallory"))
    before = below(
        laptop.home.parent, but=lambda path: path.suffix in (".db", ".lock") or "sync" in path.name
    )
    mallory.put(signed_by(laptop, model, stamp=later(model), key=key, body={"text": EVIL, "at": 1.0}))
    assert refused(desktop) == refused(laptop) == ["its name is not one of an item"]
    after = below(laptop.home.parent, but=lambda path: path.suffix in (".db", ".lock") or "sync" in path.name)
    assert {name for name in after if after[name] != before.get(name)} <= {"home/.holdfast/clock"}
    assert desktop.sync()["refused"] == []


def test_an_entry_of_a_future_format_is_refused_and_read_after_an_upgrade(
    machines: Machines, team: tuple[Person, Person, Intruder], monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, ben, mallory = team
    model = shared_by(machines, ana).entry
    new = signed_by(
        ana, model, v=2, stamp=later(model), **a_statement("D-aaaa00", "Refunds go to the first card")
    )
    mallory.put(new)
    assert refused(ben) == ["a newer holdfast made it. Upgrade holdfast"]
    assert items(ben) == {FIVE}
    monkeypatch.setattr("holdfast.sync.packs.VERSION", 2)
    for module in ("run", "quick"):
        monkeypatch.setattr(f"holdfast.sync.{module}.READS", "1 2")
    assert refused(ben) == []
    assert items(ben) == {FIVE, "Refunds go to the first card"}


def test_a_pack_that_unpacks_to_more_than_any_memory_is_not_unpacked(
    machines: Machines, team: tuple[Person, Person, Intruder]
) -> None:
    import tracemalloc
    import zlib

    _ana, ben, mallory = team
    packer = zlib.compressobj(9)
    parts = [packer.compress(b"x" * 1_000_000) for _ in range(1_000)]
    data = b"holdfast-pack 1\n" + b"".join((*parts, packer.flush()))
    assert len(data) < 2_000_000
    path = mallory.put()
    path.with_name(f"{name_of(data)}.pack").write_bytes(data)
    tracemalloc.start()
    try:
        said = refused(ben)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert said == ["it is damaged"]
    assert most < 400_000_000
    assert items(ben) == {FIVE}
