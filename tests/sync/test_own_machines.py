"""One person on two machines: everything that is stored travels, edits and deletions too, and nothing is lost."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.agents import samples, samples_files, samples_stores
from tests.agents.samples import SAMPLES
from tests.every_byte import files_below, leftovers
from tests.sync.machines import Machines, Person, below

pytestmark = pytest.mark.promise("T5")

AGENTS = ("claude-code", "codex", "gemini", "opencode", "copilot", "qwen", "pi", "goose")
VIEWS = (
    ("ledger", "list"),
    ("ledger", "stats"),
    ("log",),
    ("search", "exporter"),
    ("search", "pytest"),
    ("recall", "make the export client retry"),
    ("questions",),
    ("todo",),
    ("lessons", "list"),
    ("fact",),
    ("decide", "--list"),
    ("resume",),
    ("cost",),
)


def fill(person: Person, patch: pytest.MonkeyPatch, folder: Path) -> str:
    """Something of every kind, by sessions of several agents and by hand. Returns the id of a decision."""
    for module in (samples, samples_files, samples_stores):
        if hasattr(module, "CWD"):
            patch.setattr(module, "CWD", str(person.repo))
    for agent in AGENTS:
        person("import", SAMPLES[agent](folder / agent))
    person("fact", "add", "The service listens on 8080", "--evidence", "*:8080", "--command", "ss -ltn")
    person("todo", "add", "tidy up the exporter")
    person("ask", "Who owns the exporter?")
    person("answer", "Which port is it?", "8080")
    person("lessons", "add", "cents", "--rule", "Prices are integers in cents")
    person("handoff", "go on with the exporter")
    person("decide", "Prices are integers in cents", "--because", "floats lost a cent")
    return person.decide(
        "The export client makes at most five attempts", "the partner bans clients that hammer"
    )


def view(person: Person, *words: str) -> str:
    """What a command says, without the places of this machine."""
    said = re.sub(r'"score": [0-9.]+', "", person(*words, "--json", check=None).stdout)
    for path in (person.memory, person.holdfast_home, person.repo):
        said = said.replace(json.dumps(str(path))[1:-1], "HERE")
    return said


def test_all_that_is_stored_travels_without_loss(
    machines: Machines, two: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    laptop, desktop = two
    fill(laptop, monkeypatch, tmp_path / "agents")
    sent = laptop.sync(machines.target, "--yes")["sent"]
    came = desktop.sync(machines.target, "--yes")
    assert came["received"] == sent > 20
    assert came["sent"] == 0, "what came is not sent back"
    for words in VIEWS:
        assert view(laptop, *words) == view(desktop, *words), words
    managed = (
        "ledger.md",
        "log.md",
        "reference.md",
        "open-questions.md",
        "/decisions/",
        "current.md",
        "lessons/",
    )
    here, there = below(laptop.memory), below(desktop.memory)
    for name in here.keys() | there.keys():
        if any(part in f"/{name}" for part in managed) and name.endswith(".md") and "history/" not in name:
            if name == "current.md":  # sessions that ended in one minute stand as the machine met them
                assert lines_of(here[name]) == lines_of(there[name])
            else:
                assert here.get(name) == there.get(name), name


def lines_of(data: bytes) -> list[str]:
    return sorted(line for line in data.decode().split("\n") if "holdfast:end" not in line)


def test_a_second_sync_moves_nothing(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, desktop = two
    laptop.decide("Prices are integers in cents")
    machines.settle(*two)
    before = below(machines.target)
    for person in (laptop, desktop, laptop):
        done = person("sync").stdout
        assert done == f"{machines.target}: nothing new.\n"
    assert below(machines.target) == before


def test_what_is_used_is_not_sent(machines: Machines, two: tuple[Person, Person]) -> None:
    """Looking at memory changes counts and caches, which are no one else's business."""
    laptop, _ = two
    laptop.decide("Prices are integers in cents")
    machines.settle(*two)
    for words in (
        ("search", "prices"),
        ("recall", "prices of the shop"),
        ("resume",),
        ("doctor",),
        ("index",),
    ):
        laptop(*words, check=None)
    assert laptop.sync()["sent"] == 0


def test_an_edit_by_hand_arrives_and_is_not_overwritten(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("The export client makes at most five attempts")
    machines.settle(*two)
    laptop.edit(laptop.shop / "reference.md", "at most five attempts", "at most six attempts")
    desktop.decide("Prices are integers in cents")
    machines.settle(*two)
    for person in two:
        text = (person.shop / "reference.md").read_text(encoding="utf-8")
        assert "at most six attempts" in text
        assert "five" not in text
        assert "integers in cents" in text
    assert laptop.sync()["conflicts"] == 0


def test_edits_of_one_decision_on_two_machines_are_a_conflict_until_a_person_settles_it(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("The export client makes at most five attempts", "the partner bans clients")
    machines.settle(*two)
    laptop.edit(laptop.shop / "reference.md", "the partner bans clients", "the contract counts attempts")
    desktop.edit(desktop.shop / "reference.md", "the partner bans clients", "the gateway is slow")
    laptop.sync()
    assert desktop.sync()["conflicts"] == 1
    machines.settle(*two)
    for person in two:
        (conflict,) = person.json("sync", "--conflicts")
        assert {version["text"].split("because ")[1] for version in conflict["versions"]} == {
            "the contract counts attempts)",
            "the gateway is slow)",
        }
        shown = person("sync", "--conflicts").stdout
        assert "contract counts attempts" in shown
        assert "gateway is slow" in shown
        assert "1 conflict" in person("status").stdout
        assert person.json("status")["conflicts"] == 1
        assert conflict["id"] in person("questions").stdout
    chosen = next(v["version"] for v in conflict["versions"] if "contract" in v["text"])
    laptop("sync", "--keep", chosen[:8])
    machines.settle(*two)
    for person in two:
        assert person.json("sync", "--conflicts") == []
        assert "the contract counts attempts" in (person.shop / "reference.md").read_text(encoding="utf-8")
        assert person.json("status")["conflicts"] == 0


def test_keeping_the_version_that_does_not_count_yet_writes_it(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("The export client makes at most five attempts", "the partner bans clients")
    machines.settle(*two)
    laptop.edit(laptop.shop / "reference.md", "the partner bans clients", "the contract counts attempts")
    desktop.edit(desktop.shop / "reference.md", "the partner bans clients", "the gateway is slow")
    machines.settle(*two)
    (conflict,) = desktop.json("sync", "--conflicts")
    loser = next(version for version in conflict["versions"] if not version["counts"])
    desktop("sync", "--keep", loser["version"][:8])
    machines.settle(*two)
    words = loser["text"].split("because ")[1].rstrip(")")
    for person in two:
        assert words in (person.shop / "reference.md").read_text(encoding="utf-8")
        assert person.json("sync", "--conflicts") == []


def test_what_is_deleted_by_hand_goes_everywhere_and_does_not_come_back(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("The export client makes at most five attempts")
    laptop.decide("Prices are integers in cents")
    machines.settle(*two)
    path = desktop.shop / "reference.md"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "five attempts" not in line), encoding="utf-8")
    machines.settle(desktop, laptop)
    machines.settle(*two)
    for person in two:
        text = (person.shop / "reference.md").read_text(encoding="utf-8")
        assert "five attempts" not in text
        assert "integers in cents" in text


def test_a_file_that_is_gone_is_written_again(machines: Machines, two: tuple[Person, Person]) -> None:
    """A deleted file is an accident until somebody deletes what is in it."""
    laptop, _ = two
    laptop.decide("The export client makes at most five attempts")
    machines.settle(*two)
    (laptop.shop / "reference.md").unlink()
    machines.settle(*two)
    for person in two:
        assert "five attempts" in (person.shop / "reference.md").read_text(encoding="utf-8")


def test_a_persons_own_prose_stays_on_its_machine(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, desktop = two
    laptop.decide("The export client makes at most five attempts")
    laptop("todo", "add", "count the boxes")
    machines.settle(*two)
    path = laptop.shop / "reference.md"
    path.write_text(f"{path.read_text(encoding='utf-8')}\nMy own zanzibar notes.\n", encoding="utf-8")
    current = laptop.memory / "current.md"
    current.write_text(
        f"{current.read_text(encoding='utf-8')}\nRemember the zanzibar trip.\n", encoding="utf-8"
    )
    laptop.decide("Prices are integers in cents")
    machines.settle(*two)
    desktop.decide("Keep the shop small")
    machines.settle(*two)
    assert "My own zanzibar notes." in path.read_text(encoding="utf-8")
    assert "Remember the zanzibar trip." in current.read_text(encoding="utf-8")
    assert not any(b"zanzibar" in file.read_bytes() for file in files_below([desktop.holdfast_home]))


def test_an_undo_after_a_sync_travels(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, desktop = two
    laptop.decide("The export client makes at most five attempts")
    machines.settle(*two)
    laptop.decide("Prices are integers in cents")
    machines.settle(*two)
    laptop("undo", "--yes", check=None)
    machines.settle(*two)
    for person in two:
        text = (person.shop / "reference.md").read_text(encoding="utf-8")
        assert "five attempts" in text
    assert (laptop.shop / "reference.md").read_bytes() == (desktop.shop / "reference.md").read_bytes()


def test_an_undo_of_what_a_sync_brought_is_a_change_like_any_other(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    laptop.decide("The export client makes at most five attempts")
    machines.settle(*two)
    desktop("undo", "--yes", check=None)
    machines.settle(desktop, laptop)
    assert (laptop.shop / "reference.md").read_bytes() == (desktop.shop / "reference.md").read_bytes()


def test_two_machines_with_the_same_letters_lose_nothing(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    """As if a copied home were not known as one: both write at the same place of the target."""
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    other = desktop.holdfast_home / "machine"
    text = other.read_text(encoding="utf-8")  # written in place: it is known by its inode
    other.write_text(
        text.replace(desktop.machine.clock.letters, laptop.machine.clock.letters), encoding="utf-8"
    )
    assert laptop.machine.clock.letters == desktop.machine.clock.letters
    said = {"Keep the shop small"}
    for number in range(3):
        for person in two:
            said.add(f"{person.home.parent.name} decides on {number} boxes")
            person.decide(f"{person.home.parent.name} decides on {number} boxes")
        machines.settle(*two)
    for person in two:
        assert {one["text"] for one in person.json("decide", "--list")} == said
        assert person.json("sync", "--conflicts") == []


def test_a_sync_after_an_old_backup_was_restored_loses_nothing(
    machines: Machines, two: tuple[Person, Person], tmp_path: Path
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    backup = tmp_path / "backup.tar.gz"
    laptop("export", backup)
    laptop.decide("The export client makes at most five attempts")
    machines.settle(*two)
    desktop.decide("Prices are integers in cents")
    machines.settle(*two)
    laptop("restore", backup, "--replace")
    machines.settle(*two)
    for person in two:
        text = (person.shop / "reference.md").read_text(encoding="utf-8")
        for words in ("Keep the shop small", "five attempts", "integers in cents"):
            assert words in text, f"{person.home}: {words}"


def test_machines_that_were_apart_for_weeks_agree_again(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    for number, word in enumerate(("apples", "pears", "plums", "figs")):
        laptop.decide(f"Boxes of {word} hold {number + 3} kilos")
        laptop.sync()
        desktop("todo", "add", f"count the {word}")
        desktop("fact", "add", f"{word} are on shelf {number}", "--evidence", f"shelf {number}: {word}")
    machines.settle(*two)
    for words in (("decide", "--list"), ("todo",), ("fact",)):
        assert view(laptop, *words) == view(desktop, *words)
    assert len(desktop.json("decide", "--list")) == 5


def test_a_machine_that_only_reads_loses_nothing_when_the_target_is_emptied(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, _ = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    shutil.rmtree(machines.target)
    machines.target.mkdir()
    machines.settle(*two)
    third = machines.person("Ana", machine="tablet", like=laptop)
    third.sync(machines.target, "--yes")
    assert "Keep the shop small" in (third.shop / "reference.md").read_text(encoding="utf-8")


def test_a_lost_journal_is_made_again(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    (desktop.memory / "sync.db").unlink()
    desktop.decide("Prices are integers in cents")
    machines.settle(*two)
    assert len(laptop.json("decide", "--list")) == len(desktop.json("decide", "--list")) == 2
    assert laptop.json("sync", "--conflicts") == []


def test_what_sync_writes_is_for_its_user_alone(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, _ = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    paths = [
        laptop.holdfast_home / "keys" / "author.json",
        laptop.memory / "sync.db",
        laptop.memory / "sync.json",
        *machines.target.rglob("*.pack"),
    ]
    assert len(paths) > 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert stat.S_IMODE((laptop.holdfast_home / "keys").stat().st_mode) == 0o700


def test_what_lies_at_the_target_is_sealed(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, _ = two
    laptop.decide("The quillfeather export makes five attempts")
    machines.settle(*two)
    data = b"".join(path.read_bytes() for path in machines.target.rglob("*.pack"))
    assert data.startswith(b"age-encryption.org/")
    assert b"quillfeather" not in data
    assert b"Ana" not in data
    assert not any(
        "shop" in part or "Ana" in part
        for path in machines.target.rglob("*")
        for part in path.relative_to(machines.target).parts
    )


def test_a_machine_that_never_syncs_has_nothing_of_it(machines: Machines) -> None:
    ana = machines.person("Ana")
    ana.decide("Keep the shop small")
    ana("status")
    ana("questions")
    ana("doctor", check=None)
    assert not (ana.holdfast_home / "keys").exists()
    assert not (ana.memory / "sync.db").exists()
    assert not (ana.memory / "sync.json").exists()
    assert not (ana.memory / "locks" / "sync.lock").exists()


def test_a_dry_run_says_what_would_move_and_changes_nothing(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    done = laptop.sync(machines.target, "--dry-run")
    assert done["sent"] == 1
    assert done["done"] is False
    assert list(machines.target.iterdir()) == []
    machines.settle(laptop)
    assert desktop.sync(machines.target, "--dry-run")["received"] == 1
    memory = next((desktop.holdfast_home / "projects").iterdir(), None)
    assert memory is None or not (memory / "memory").exists()


# --- forgetting --------------------------------------------------------------------------------------------


def everywhere(machines: Machines, word: bytes, *people: Person) -> list[str]:
    """Files of these machines and of the target that still hold a word, opened with every key where they are sealed."""
    from holdfast.sync.keys import Keys
    from holdfast.sync.packs import BadPack, unpack

    found = [
        str(path)
        for person in people
        for path in files_below([person.holdfast_home])
        if word in path.read_bytes().lower()
    ]
    for person in people:
        pairs = Keys(person.machine).pairs
        for path in machines.target.rglob("*.pack"):
            try:
                lines = [one.line for one in unpack(path.read_bytes(), pairs) if not isinstance(one, str)]
            except BadPack:
                continue
            found += [str(path) for line in lines if word in line.lower()]
        for path in person.holdfast_home.rglob("sync.db"):
            with sqlite3.connect(path) as db:
                found += [
                    str(path)
                    for (line,) in db.execute("SELECT line FROM entry")
                    if word in bytes(line).lower()
                ]
    return found


@pytest.mark.promise("M9", "G2")
@pytest.mark.parametrize("how", ["text", "id"])
def test_what_one_machine_forgets_is_gone_on_all_that_sync_and_at_the_target(
    how: str, machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    gone = laptop.decide("The zanzibar client makes at most five attempts")
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    assert everywhere(machines, b"zanzibar", desktop)
    for words in (
        ("search", "zanzibar"),
        ("resume",),
        ("context", "--prompt", "the zanzibar client"),
        ("status",),
    ):
        desktop(*words, check=None)  # what is derived from the words is there, too
    done = laptop("forget", *(["--text", "zanzibar"] if how == "text" else ["--fact", gone]), "--yes")
    said = done.stdout
    assert str(machines.target) in said
    assert "other machines" in said
    machines.settle(*two)
    machines.settle(*two)
    assert everywhere(machines, b"zanzibar", *two) == []
    assert leftovers([machines.target, *(person.holdfast_home for person in two)], ["zanzibar"]) == []
    for person in two:
        assert "Keep the shop small" in (person.shop / "reference.md").read_text(encoding="utf-8")


@pytest.mark.promise("M9")
def test_the_earlier_words_of_a_statement_that_was_changed_leave_the_target_too(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    id = laptop.decide("The zanzibar client makes at most five attempts")
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    laptop("note", "decision", "change", id, "The client makes at most five attempts")
    machines.settle(*two)
    packs = {path for path in everywhere(machines, b"zanzibar", laptop) if path.endswith(".pack")}
    assert packs, "the earlier words travelled"
    laptop("forget", "--text", "zanzibar", "--yes")
    machines.settle(*two)
    machines.settle(*two)
    assert everywhere(machines, b"zanzibar", *two) == []
    assert "Keep the shop small" in (desktop.shop / "reference.md").read_text(encoding="utf-8")
    assert laptop.sync()["sent"] == 0


@pytest.mark.promise("M9")
def test_a_forgotten_session_is_gone_everywhere(
    machines: Machines, two: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    laptop, desktop = two
    for module in (samples, samples_files, samples_stores):
        if hasattr(module, "CWD"):
            monkeypatch.setattr(module, "CWD", str(laptop.repo))
    monkeypatch.setattr(samples, "PROMPT", "make the zanzibar tests pass")
    laptop("import", SAMPLES["codex"](tmp_path / "codex"))
    session = laptop.json("ledger", "list")[0]["session"]
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    assert everywhere(machines, b"zanzibar", desktop)
    laptop("forget", "--session", session, "--yes")
    machines.settle(*two)
    assert everywhere(machines, b"zanzibar", *two) == []
    machines.settle(*two)
    assert [row["session"] for row in desktop.json("ledger", "list")] == [
        row["session"] for row in laptop.json("ledger", "list")
    ]


def test_a_todo_that_was_reworded_by_hand_travels_also_after_another_command_wrote_the_file(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop("todo", "add", "Tidy the engine room")
    laptop.sync(machines.target, "--yes")
    desktop.sync(machines.target, "--yes")
    desktop.edit(desktop.memory / "current.md", "engine room", "boiler room")
    desktop("todo", "add", "Paint it")  # writes current.md before the edit was seen by a sync
    machines.settle(laptop, desktop)
    for machine in two:
        texts = sorted(todo["text"] for todo in machine.json("todo", "list"))
        assert texts == ["Paint it", "Tidy the boiler room"]
    (reworded,) = (todo["id"] for todo in laptop.json("todo", "list") if "boiler" in todo["text"])
    laptop("todo", "done", reworded)
    machines.settle(laptop, desktop)
    for machine in two:
        assert [todo["text"] for todo in machine.json("todo", "list")] == ["Paint it"]


@pytest.mark.promise("M9")
def test_a_session_that_is_forgotten_after_another_one_is_in_no_version_of_the_log(
    machines: Machines, two: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What says on the other machine that the first is gone must not keep the log as it was before."""
    laptop, _desktop = two
    for module in (samples, samples_files, samples_stores):
        if hasattr(module, "CWD"):
            monkeypatch.setattr(module, "CWD", str(laptop.repo))
    laptop("import", SAMPLES["codex"](tmp_path / "codex"))
    first = laptop.json("ledger", "list")[0]["session"]
    monkeypatch.setattr(samples, "PROMPT", "make the zanzibar tests pass")
    laptop("import", SAMPLES["claude-code"](tmp_path / "claude"))
    (second,) = {row["session"] for row in laptop.json("ledger", "list")} - {first}
    machines.settle(*two)
    for session in (first, second):
        laptop("forget", "--session", session, "--yes")
        machines.settle(*two)
        machines.settle(*two)
    assert leftovers([machines.target, *(person.holdfast_home for person in two)], ["zanzibar"]) == []


@pytest.mark.promise("M9")
def test_a_pack_of_a_sync_that_died_before_it_noted_it_goes_when_something_in_it_is_forgotten(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, _ = two
    laptop.sync(machines.target, "--yes")
    journal = (laptop.memory / "sync.db").read_bytes()
    gone = laptop.decide("The zanzibar client makes at most five attempts")
    laptop.sync()
    (laptop.memory / "sync.db").write_bytes(journal)  # as before: published, and not noted
    machines.settle(laptop)
    laptop("forget", "--fact", gone, "--yes")
    machines.settle(laptop)
    machines.settle(laptop)
    assert everywhere(machines, b"zanzibar", laptop) == []
