"""A passage of a session has an id: it is found, opened, retired, brought back, forgotten and checked by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.decided import DOCK, KEPT, PRINTER, REDIS, SECTIONS, THREE, Decided, spooler_chat
from tests.hooks.enabled import Enabled

from holdfast.briefing.index import update_index
from holdfast.briefing.prepare import prepare
from holdfast.briefing.told_sources import update_told
from holdfast.flows.import_sessions import import_into
from holdfast.hooks.telling import opened
from holdfast.model.memory import Passage
from holdfast.store.machine import Machine

ID = Passage(text=KEPT).id


@pytest.fixture
def decided(repo: Path) -> Decided:
    return Decided(repo)


def ids_found(holdfast: Holdfast, query: str) -> list[str]:
    return [hit["id"] for hit in holdfast("search", query, "--kind", "decision", "--json", check=0).json()]


@pytest.mark.promise("R4")
def test_a_passage_is_found_with_its_place_session_and_date(decided: Decided, holdfast: Holdfast) -> None:
    hit = holdfast("search", "where are print jobs kept, SQLite or Redis", "--json", check=0).json()[0]
    assert (hit["id"], hit["kind"], hit["session"], hit["date"][:10]) == (
        ID,
        "decision",
        PRINTER,
        "2026-03-02",
    )
    path = decided.project.memory / hit["path"].removeprefix(".holdfast/local/")
    assert KEPT in path.read_text(encoding="utf-8").split("\n")[hit["line"] - 1]
    assert holdfast("search", ID, "--json", check=0).json()[0]["id"] == ID


def test_what_was_turned_down_or_replaced_is_found_as_such(decided: Decided, holdfast: Holdfast) -> None:
    march = next(path for path in decided.store.months() if path.stem == "2026-03")
    text = march.read_text(encoding="utf-8").replace(f"- {THREE} ·", f"- {THREE} · status: superseded ·")
    march.write_text(text, encoding="utf-8")
    hits = holdfast("search", "spooler retry", "-k", "9", "--json", check=0).json()
    texts = {hit["id"]: hit["text"] for hit in hits}
    assert texts[Passage(text=REDIS).id] == f"not: {REDIS}"
    assert texts[Passage(text=THREE).id] == f"was: {THREE}"


def test_a_retired_passage_is_gone_for_good_and_undo_brings_it_back(
    decided: Decided, holdfast: Holdfast
) -> None:
    assert ID in ids_found(holdfast, "SQLite print jobs")
    said = holdfast("decide", "retire", ID[:5], "--json", check=0).json()
    assert (said["status"], said["id"], said["text"]) == ("retired", ID, KEPT)
    assert KEPT not in decided.months["2026-03"] and ID not in ids_found(holdfast, "SQLite print jobs")
    decided.store.record_passages(SECTIONS)
    assert KEPT not in decided.months["2026-03"], "its session was captured again"
    assert holdfast("decide", "retire", "D-zzzzzz", check=None).returncode != 0


def test_undo_takes_a_retirement_back(decided: Decided, holdfast: Holdfast) -> None:
    holdfast("decide", "retire", ID, check=0)
    holdfast("undo", "--yes", check=0)
    assert KEPT in decided.months["2026-03"] and ID in ids_found(holdfast, "SQLite print jobs")


def test_doctor_names_the_line_of_a_decision_that_cannot_be_read(
    decided: Decided, holdfast: Holdfast
) -> None:
    assert "decisions/" not in holdfast("doctor", check=None).stdout
    march = next(path for path in decided.store.months() if path.stem == "2026-03")
    text = march.read_text(encoding="utf-8").replace("status: rejected", "status: unsure")
    march.write_text(text, encoding="utf-8")
    number = next(number for number, line in enumerate(text.split("\n"), 1) if "unsure" in line)
    said = holdfast("doctor", check=1).stdout
    assert f"projects/shop/decisions/2026-03.md:{number}: no decision that can be read" in said


def test_ask_offers_a_passage_and_never_one_that_was_turned_down(
    decided: Decided, holdfast: Holdfast
) -> None:
    update_told(decided.machine, decided.project)
    said = holdfast(
        "ask", "--keep", "Where are the print jobs of the spooler kept?", "--json", check=None
    ).json()
    offered = {near["id"] for near in said["perhaps"]}
    assert Passage(text=REDIS).id not in offered and Passage(text=THREE).id not in offered


@pytest.mark.promise("G5")
def test_a_forgotten_passage_is_in_no_file_no_index_and_not_told(
    repo: Path, home: Path, holdfast: Holdfast
) -> None:
    enabled = Enabled(repo)
    path = spooler_chat(repo).save(home / ".claude" / "projects" / "-shop" / f"{PRINTER}.jsonl")
    import_into(Machine(cwd=repo), enabled.project, ())
    prompt = "Pickers want a parked print job to be printed by itself after a restart of the spooler."
    decided = enabled.memory / "projects" / "shop" / "decisions"
    lines = [line for file in decided.glob("*.md") for line in file.read_text(encoding="utf-8").split("\n")]
    line = next(line for line in lines if line.startswith("- ") and "a picker has to release it" in line)
    id = line[line.index(" · D-") + 3 :][:8]
    machine = Machine(cwd=repo)
    update_index(machine, enabled.project)
    prepare(machine, enabled.project)
    assert {"index.db", "told.db", "projects/shop/decisions/2026-03.md"} <= {*holding(enabled.memory, id)}
    assert "capture.db" in holding(enabled.memory, "a picker has to release it")
    assert told_ids(enabled) >= {id}

    holdfast("forget", "--fact", id, "--yes", check=0)
    update_index(machine, enabled.project)
    assert holding(enabled.memory, "a picker has to release it") == []
    assert [name for name in holding(enabled.memory, id) if Path(name).name != "denied.jsonl"] == []
    assert id not in told_ids(enabled)
    assert "picker has to release" not in enabled.hook("UserPromptSubmit", prompt=prompt).context
    assert "picker has to release" not in holdfast("recall", prompt, check=0).stdout
    assert (
        "picker has to release"
        not in holdfast("search", "picker release parked job", "--all", check=0).stdout
    )

    path.write_bytes(path.read_bytes())  # the transcript is as it was: an import must not bring it back
    import_into(Machine(cwd=repo), enabled.project, (path,))
    assert [name for name in holding(enabled.memory, id) if Path(name).name != "denied.jsonl"] == []


def holding(memory: Path, text: str) -> list[str]:
    """The files of a memory that hold a text."""
    paths = (path for path in memory.rglob("*") if path.is_file())
    return [str(path.relative_to(memory)) for path in paths if text.encode() in path.read_bytes()]


def told_ids(enabled: Enabled) -> set[str]:
    db = opened(str(enabled.memory))
    assert db is not None
    try:
        return {id for (id,) in db.execute("SELECT id FROM line").fetchall()}
    finally:
        db.close()


@pytest.mark.promise("G5")
def test_a_forgotten_session_leaves_no_section(
    decided: Decided, holdfast: Holdfast, repo: Path, home: Path
) -> None:
    path = spooler_chat(repo).save(home / ".claude" / "projects" / "-shop" / f"{PRINTER}.jsonl")
    import_into(Machine(cwd=repo), decided.project, (path,))
    holdfast("forget", "--session", PRINTER, "--yes", check=0)
    march = decided.months["2026-03"]
    assert PRINTER not in march and "spooler survive" not in march and KEPT not in march
    assert DOCK in march


def test_an_archive_adds_its_passages_to_the_same_month(
    decided: Decided, holdfast: Holdfast, make_repo: Callable[[str], Path], tmp_path: Path
) -> None:
    archive = tmp_path / "memory.tar.gz"
    holdfast("export", archive, check=0)
    other = make_repo("annex")
    annex = Decided(other, SECTIONS[1:2])
    holdfast("decide", "retire", Passage(text=SECTIONS[1].passages[0].text).id, cwd=other, check=0)
    said = holdfast("restore", archive, "--merge", "--json", cwd=other, check=0).json()
    march = annex.months["2026-03"]
    assert KEPT in march and PRINTER in march
    assert march.count(DOCK) == 1 and SECTIONS[1].passages[0].text not in march, (
        "what was retired here stays out"
    )
    assert said["added"]["decisions"] == sum(len(section.passages) for section in SECTIONS) - 2
    again = holdfast("restore", archive, "--merge", "--json", cwd=other, check=0).json()
    assert again["added"]["decisions"] == 0 and annex.months["2026-03"] == march
