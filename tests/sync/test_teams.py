"""A team: who joins, what is shared, what agents see of it, and what ends when someone leaves."""

from __future__ import annotations

import re

import pytest
from tests.every_byte import files_below, leftovers
from tests.sync.machines import PASSPHRASE, Machines, Person

pytestmark = pytest.mark.promise("T8")

FIVE = "The export client makes at most five attempts"
BANS = "the partner bans clients that hammer"


@pytest.fixture
def pair(machines: Machines) -> tuple[Person, Person]:
    ana, ben = machines.team("Ana", "Ben")
    return ana, ben


def shared(person: Person) -> dict[str, str]:
    return {item["text"]: item["by"] for item in person.json("team", "items")}


def names(person: Person) -> dict[str, str]:
    return {member["name"]: member["role"] for member in person.json("team", "members")["members"]}


@pytest.mark.promise("T6")
def test_an_invited_person_is_a_member_after_the_inviter_synced(pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    assert names(ana) == names(ben) == {"Ana": "owner", "Ben": "member"}


def test_only_what_is_shared_reaches_others(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    chosen = ana.decide(FIVE, BANS)
    ana.decide("The marmosetta client is called every night")
    ana("team", "share", chosen)
    machines.settle(*pair)
    assert shared(ben) == {FIVE: "Ana"}
    assert not any(b"marmosetta" in path.read_bytes() for path in files_below([ben.holdfast_home]))


def test_search_finds_at_once_what_others_share_and_agents_see_it_after_the_question(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    ana("team", "share", ana.decide(FIVE, BANS))
    machines.settle(*pair)
    found = ben("search", "export attempts").stdout
    assert FIVE in found
    assert "Ana" in found
    assert FIVE not in ben("recall", "retry of the export client", check=None).stdout
    assert FIVE not in ben("resume", check=None).stdout
    assert ben.json("team", "members")["members"][0]["asks"] is True
    ben("team", "trust", "Ana", "--yes")
    told = ben.json("recall", "retry of the export client")
    assert FIVE in str(told)
    assert re.search(r"Ana, \d\d-\d\d", ben("recall", "retry of the export client").stdout)
    assert ben.json("team", "members")["members"][0]["asks"] is False
    ben("team", "distrust", "Ana")
    assert FIVE not in ben("recall", "retry of the export client", check=None).stdout
    assert FIVE in ben("search", "export attempts").stdout


def test_facts_and_lessons_can_be_shared(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    ana("fact", "add", "The service listens on 8080", "--evidence", "*:8080", "--command", "ss -ltn")
    ana("lessons", "add", "cents", "--rule", "Prices are integers in cents")
    (fact,) = ana.json("fact")
    ana("team", "share", fact["id"], "cents")
    machines.settle(*pair)
    assert set(shared(ben)) == {"The service listens on 8080", "Prices are integers in cents"}
    ben("team", "trust", "Ana", "--yes")
    for words in ("service port", "price cents"):
        assert ben("search", words).stdout.count("Ana") >= 1


def test_what_is_made_private_again_is_taken_back(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    chosen = ana.decide("The quillfeather client makes five attempts")
    ana("team", "share", chosen)
    machines.settle(*pair)
    ben("team", "trust", "Ana", "--yes")
    assert shared(ben)
    ana("team", "private", chosen)
    machines.settle(*pair)
    assert shared(ben) == {}
    assert "quillfeather" not in ben("search", "quillfeather", check=None).stdout
    assert "quillfeather" in ana("search", "quillfeather").stdout, "it is still in the owner's own memory"


def test_a_changed_statement_changes_for_all(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    ana("team", "share", ana.decide(FIVE, BANS))
    machines.settle(*pair)
    ana.edit(ana.shop / "reference.md", BANS, "the contract counts attempts")
    machines.settle(*pair)
    (item,) = ben.json("team", "items")
    assert item["reason"] == "the contract counts attempts"


def test_a_reworded_statement_stays_shared(machines: Machines, pair: tuple[Person, Person]) -> None:
    """Its id follows from its words."""
    ana, ben = pair
    ana("team", "share", ana.decide(FIVE, BANS))
    machines.settle(*pair)
    ana.edit(ana.shop / "reference.md", "at most five", "at most seven")
    machines.settle(*pair)
    assert shared(ben) == {FIVE.replace("five", "seven"): "Ana"}
    (id,) = (item["id"] for item in ana.json("team", "items"))
    ana("team", "private", id)
    machines.settle(*pair)
    assert shared(ben) == {}


def test_a_statement_that_is_reworded_before_the_first_sync_is_shared_in_its_new_words(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    ana("fact", "add", "The exporter listens on port 8080", "--evidence", "*:8080")
    ana("team", "share", ana.json("fact")[0]["id"])
    ana.edit(ana.shop / "reference.md", "The exporter listens", "The new exporter listens")
    machines.settle(*pair)
    assert shared(ben) == {"The new exporter listens on port 8080": "Ana"}


def test_what_is_made_private_on_another_of_ones_machines_is_taken_back(machines: Machines) -> None:
    ana, ben = machines.team("Ana", "Ben")
    desktop = machines.person("Ana", machine="desktop", like=ana)
    desktop.sync(machines.target, "--yes")
    desktop("team", "join", ana.json("team", "invite")["code"], "--yes")
    chosen = ana.decide(FIVE, BANS)
    ana("team", "share", chosen)
    machines.settle(ana, ben, desktop)
    assert shared(ben) == shared(desktop) == {FIVE: "Ana"}
    desktop("team", "private", chosen)
    machines.settle(desktop, ana, ben)
    assert shared(ben) == shared(ana) == {}
    ana.edit(ana.shop / "reference.md", BANS, "the contract counts attempts")
    machines.settle(ana, desktop, ben)
    assert shared(ben) == {}, "the machine where it was shared knows that it is private now"
    ana("team", "share", chosen)
    machines.settle(ana, desktop, ben)
    assert shared(ben) == {FIVE: "Ana"}


@pytest.mark.promise("M9", "G2")
def test_what_its_author_forgets_is_gone_on_every_members_machine(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    ana("team", "share", ana.decide("The zanzibar client makes five attempts"))
    machines.settle(*pair)
    ben("search", "zanzibar")
    ben("team", "trust", "Ana", "--yes")
    for words in (("search", "zanzibar"), ("resume",), ("context", "--prompt", "the zanzibar client")):
        ben(*words, check=None)  # what is derived from the words is there, too
    said = ana("forget", "--text", "zanzibar", "--yes").stdout
    assert "members of the team" in said
    machines.settle(*pair)
    machines.settle(*pair)
    assert shared(ben) == {}
    assert leftovers([machines.target, ana.holdfast_home, ben.holdfast_home], ["zanzibar"]) == []


@pytest.mark.promise("G5")
@pytest.mark.parametrize("answer", ["trust", "distrust"])
def test_what_a_member_forgets_leaves_what_others_shared_with_them(
    machines: Machines, pair: tuple[Person, Person], answer: str
) -> None:
    ana, ben = pair
    ana("team", "share", ana.decide(FIVE, BANS))
    machines.settle(*pair)
    ben("team", answer, "Ana", *(["--yes"] if answer == "trust" else []))
    ben("search", "export attempts")
    ben("forget", "--text", BANS, "--yes")
    ben.sync()
    assert not any(BANS.encode() in path.read_bytes() for path in files_below([ben.holdfast_home]))
    assert BANS in ana("decide", "--list").stdout, "it is Ana's, and stays with her"


def test_a_new_key_asks_again(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    ana("team", "share", ana.decide(FIVE, BANS))
    machines.settle(*pair)
    ben("team", "trust", "Ana", "--yes")
    before = ana.json("keys")["author"]
    ana("keys", "rotate", "--yes")
    assert ana.json("keys")["author"] != before
    prices = ana.decide("Prices are integers in cents")
    ana("team", "share", prices, check=None)
    machines.settle(*pair)
    assert "integers in cents" not in ben("recall", "prices of the shop", check=None).stdout


def test_what_a_reader_shares_is_refused(machines: Machines) -> None:
    ana, ben = machines.team("Ana", "Ben", roles={"Ben": "reader"})
    assert names(ana)["Ben"] == "reader"
    chosen = ben.decide(FIVE)
    assert "read access" in ben.refused("team", "share", chosen)
    ana("team", "share", ana.decide("Prices are integers in cents"))
    machines.settle(ana, ben)
    assert set(shared(ben)) == {"Prices are integers in cents"}
    assert set(shared(ana)) == {"Prices are integers in cents"}


def test_a_removed_member_reads_nothing_new(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    ana("team", "share", ana.decide(FIVE))
    machines.settle(*pair)
    ana("team", "remove", "Ben", "--yes")
    ana("team", "share", ana.decide("The marmosetta client is called every night"))
    machines.settle(*pair)
    assert names(ana) == {"Ana": "owner"}
    assert ana.json("team", "members")["removed"] == ["Ben"]
    assert not any(b"marmosetta" in path.read_bytes() for path in files_below([ben.holdfast_home]))
    assert FIVE not in str(ben.json("team", "items")), (
        "what was shared with him is not told to his agents any more"
    )
    chosen = ben.decide("Ben still decides")
    ben("team", "share", chosen, check=None)
    ben("sync", check=None)
    ana("sync", check=None)
    assert "Ben still decides" not in str(ana.json("team", "items"))


def test_a_removed_member_is_told_and_learns_nothing_else(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    ana("team", "remove", "Ben", "--yes")
    ana("team", "share", ana.decide("The marmosetta client is called every night"))
    ana.sync()
    done = ben("sync")
    assert "you are no longer in the team Shop" in done.stderr
    assert ben.json("team", "items") == []
    assert not any(b"marmosetta" in path.read_bytes() for path in files_below([ben.holdfast_home]))
    machines.settle(ana, ben)
    assert "no longer in the team" not in ben("sync").stderr, "it is said when it comes"


def test_a_machine_that_has_not_joined_its_owners_team_says_so_in_one_line(machines: Machines) -> None:
    ana, _ben = machines.team("Ana", "Ben")
    ana("team", "share", ana.decide(FIVE))
    ana.sync()
    desktop = machines.person("Ana", machine="desktop", like=ana)
    done = desktop("sync", machines.target, "--yes", "--json")
    whys = {one["why"] for one in done.json()["refused"]}
    assert whys == {"it is a team's that this machine has not joined. Ask for a code: holdfast team invite"}
    desktop("team", "join", ana.json("team", "invite")["code"], "--yes")
    assert desktop.sync()["refused"] == []
    assert FIVE in str(desktop.json("team", "items"))


def test_a_removed_member_cannot_join_with_the_old_code(machines: Machines) -> None:
    ana, ben = machines.person("Ana"), machines.person("Ben")
    ana("team", "create", "Shop")
    code = ana.json("team", "invite")["code"]
    ana.sync(machines.target, "--yes")
    ben("team", "join", code, "--yes")
    ben.sync(machines.target, "--yes")
    machines.settle(ana, ben)
    ana("team", "remove", "Ben", "--yes")
    machines.settle(ana, ben)
    ben("team", "join", code, "--yes", check=None)
    ben("sync", check=None)
    machines.settle(ana)
    assert names(ana) == {"Ana": "owner"}


def test_who_leaves_takes_back_what_they_shared(machines: Machines, pair: tuple[Person, Person]) -> None:
    ana, ben = pair
    ben("team", "share", ben.decide(FIVE))
    ana("team", "share", ana.decide("Prices are integers in cents"))
    machines.settle(*pair)
    assert set(shared(ana)) == {FIVE, "Prices are integers in cents"}
    ben("team", "leave", "--yes")
    machines.settle(ben, ana)
    assert set(shared(ana)) == {"Prices are integers in cents"}
    assert names(ana) == {"Ana": "owner"}
    assert "integers in cents" not in ben("search", "prices cents", check=None).stdout
    assert FIVE in ben("search", "export attempts").stdout, "one's own memory stays"


def test_who_left_can_join_again_or_make_another_team(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    ben("team", "leave", "--yes")
    machines.settle(ben, ana)
    ben("team", "join", ana.json("team", "invite")["code"], "--yes")
    machines.settle(ben, ana)
    assert names(ana) == names(ben) == {"Ana": "owner", "Ben": "member"}
    ben("team", "leave", "--yes")
    machines.settle(ben, ana)
    ben("team", "create", "Another")
    assert names(ben) == {"Ben": "owner"}


def test_an_invitation_is_for_one_person(machines: Machines) -> None:
    ana, ben, cleo = (machines.person(name) for name in ("Ana", "Ben", "Cleo"))
    ana("team", "create", "Shop")
    ana.sync(machines.target, "--yes")
    code = ana.json("team", "invite")["code"]
    for person in (ben, cleo):
        person("team", "join", code, "--yes")
        person.sync(machines.target, "--yes")
        ana.sync()
    assert names(ana) == {"Ana": "owner", "Ben": "member"}
    assert ana.json("team", "members")["requests"] == ["Cleo"]


@pytest.mark.parametrize(
    "words", [("join", "CODE"), ("trust", "Ana"), ("remove", "Ana"), ("create", "X"), ("invite",)]
)
def test_an_agent_may_not_change_who_is_trusted(machines: Machines, words: tuple[str, ...]) -> None:
    ben = machines.person("Ben")
    line = ben.refused(
        "team",
        *words,
        *(["--yes"] if words[0] in ("join", "trust", "remove") else []),
        env={"CLAUDECODE": "1"},
    )
    assert "a person must decide" in line


@pytest.mark.parametrize(
    "words", [("export", "me.key"), ("restore", "me.key"), ("rotate", "--yes"), ("revoke", "--yes")]
)
def test_an_agent_may_not_take_a_key_along(machines: Machines, words: tuple[str, ...]) -> None:
    ben = machines.person("Ben")
    line = ben.refused("keys", *words, env={"CLAUDECODE": "1", "HOLDFAST_PASSPHRASE": PASSPHRASE})
    assert "a person must decide" in line
    assert not (ben.repo / "me.key").exists()


def test_two_people_who_replace_the_same_decision_are_told_of_each_other(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    for person, words in ((ana, "The queue is Redis"), (ben, "The queue is Postgres")):
        person("fact", "add", words, "--evidence", words[-8:], "--command", "make which-queue")
        (fact,) = person.json("fact")
        person("team", "share", fact["id"])
    machines.settle(*pair)
    for person in pair:
        assert person.json("status")["conflicts"] == 1
        said = person("sync", "--conflicts").stdout
        assert "Redis" in said
        assert "Postgres" in said
    (conflict,) = ben.json("sync", "--conflicts")
    kept = next(version for version in conflict["versions"] if "Redis" in version["text"])
    ben("sync", "--keep", kept["version"][:8])
    machines.settle(*pair)
    for person in pair:
        assert person.json("sync", "--conflicts") == []


def test_statements_that_are_not_there_any_more_are_not_shared(
    machines: Machines, pair: tuple[Person, Person]
) -> None:
    ana, ben = pair
    chosen = ana.decide(FIVE)
    ana("team", "share", chosen)
    machines.settle(*pair)
    ana("decide", "retire", chosen)
    path = ana.shop / "reference.md"
    assert FIVE not in path.read_text(encoding="utf-8")
    machines.settle(*pair)
    assert shared(ben) == {}
