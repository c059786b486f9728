"""What is disturbed: one command or capture each, on a machine that was prepared for it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.fault_rig.world import Ended, World, command
from scripts.old_home import REPOSITORY, Builder
from scripts.old_home_sessions import Edit, Run, Story, write

DAY_S = 86_400.0
FORGOTTEN = "quagga"
_WRONG = Run("make tests", "make: *** No rule to make target 'tests'.  Stop.", 2)
_RIGHT = Run("make test", "5 passed in 0.31s")
Work = Callable[[], int]


def _nothing(world: World) -> None:
    pass


def _exit_code(world: World, ended: Ended) -> bool:
    return ended.code == 0


def _imported_all(world: World, ended: Ended) -> bool:
    """A transcript that cannot be read is named; the others are imported, and the next import reads it."""
    return ended.code == 0 and "cannot be read" not in ended.err


@dataclass(frozen=True)
class Scenario:
    """`work` is what is disturbed; `again` completes it afterwards. `repeats` says that doing it twice is doing it once.

    `acknowledged` says whether the work was reported as done; `gone` are words that must not be found then. A `whole`
    change leaves the old memory or the new one, nothing between. `place` is where the command runs.
    """

    name: str
    work: Callable[[World], Work]
    prepare: Callable[[World], None] = _nothing
    again: Callable[[World], Work] | None = None
    repeats: bool = True
    whole: bool = False
    gone: tuple[str, ...] = ()
    acknowledged: Callable[[World, Ended], bool] = _exit_code
    machine: str = "today"
    place: str = "repo"
    quiet: bool = False  # says what went wrong in hook.log, and nothing on its streams


def says(*words: str) -> Callable[[World], Work]:
    return lambda world: command(*(word.format(home=world.home, root=world.root) for word in words))


# --- the machine -----------------------------------------------------------------------------------------


def story(
    world: World, agent: str, name: str, days: float, asked: str, *steps: Run | Edit, said: str
) -> Story:
    return Story(agent, name, _midnight() - days * DAY_S, world.repo, asked, steps, said)


def _midnight() -> float:
    now = time.time()
    return now - now % DAY_S


def first_sessions(world: World) -> list[Story]:
    return [
        story(
            world, "claude-code", "refund-rounding", 4, "Fix the rounding of refunds in src/shop/refunds.py",
            _WRONG, _RIGHT, Edit("src/shop/refunds.py"), _RIGHT,
            said="Refunds are rounded in cents now.\n\nDecision: amounts are whole cents because floats drift.\n\n"
            "Next steps:\n- wire the refund endpoint\n- tell support about it",
        ),
        story(
            world, "codex", "cart-total", 3, "Add a discount to the cart total",
            _WRONG, _RIGHT, Edit("src/shop/cart.py"), Edit("tests/test_cart.py"), _RIGHT,
            said="The cart takes a discount.\n\nNext steps:\n- show the discount on the receipt",
        ),
        story(
            world, "codex", "forget-me", 2, f"Look into the {FORGOTTEN} contract",
            Run(f"grep -rn {FORGOTTEN} src", "", 1), said=f"There is no {FORGOTTEN} in the code.",
        ),
    ]  # fmt: skip


def later_sessions(world: World) -> list[Story]:
    return [
        story(
            world, "claude-code", "invoice-number", 1, "Invoice numbers need five digits in services/billing/invoice.py",
            Edit("services/billing/invoice.py"), _RIGHT,
            said="Invoice numbers have five digits.\n\nNext steps:\n- print them on the receipt",
        ),
        story(
            world, "gemini", "rates-table", 0.8, "Move the tax rates into a table",
            Edit("src/shop/rates.py"), _RIGHT,
            said="The rates are a table. Decision: one table for all countries because the tax office publishes one.",
        ),
    ]  # fmt: skip


def _tell(world: World, *stories: Story) -> None:
    for one in stories:
        path = write(one, world.home)
        os.utime(path, (one.end, one.end))


def build_today(world: World) -> None:
    world.home.mkdir()
    for name, text in REPOSITORY.items():
        path = world.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    world.git("init", "--quiet", "--initial-branch=main", "--template=", ".")
    world.git("add", ".")
    world.git("commit", "--quiet", "-m", "A shop")
    world.holdfast("init", "--yes", "--no-wire", "--no-import", "--no-scan")
    _tell(world, *first_sessions(world))
    world.holdfast("import", "--quiet")
    world.holdfast("fact", "add", "The shop listens on port 8080", "--evidence", "listening on :8080")
    world.holdfast(
        "decide",
        "Refunds go through the ledger service",
        "--because",
        "audits need one place",
        "--by",
        "user",
    )
    world.holdfast("ask", "--keep", "Which region do we deploy the shop to?")
    world.holdfast("todo", "add", "Rotate the webhook key", "--owner", "user")
    world.holdfast("lessons", "add", "money", "--rule", "refund amounts are whole cents, never floats")
    world.holdfast("handoff", "Wire the refund endpoint, then delete rates_old.py", "--by", "user")


def use_everything(world: World) -> None:
    """One of each, so that what a process prepares when it first needs it is there."""
    build_today(world)
    _later(world)
    archive = world.root / "used.tar.gz"
    for words in (["import", "--quiet"], ["export", archive], ["restore", archive, "--merge"], ["undo", "--yes"],
                  ["doctor"], ["index"], ["forget", "--text", FORGOTTEN, "--yes"]):  # fmt: skip
        world.holdfast(*words)


def build_0_1_0(world: World) -> None:
    """As 0.1.0 leaves it: see scripts/old_home.py."""
    from datetime import UTC, datetime, timedelta

    noon = (datetime.now(UTC) - timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)
    environment = dict(os.environ)
    try:
        Builder(world.root, noon).build("memory")
    finally:
        os.environ.clear()
        os.environ.update(environment)
    for name in ("python", "before", "clients", "shop.tar.gz", "about.json"):
        path = world.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


MACHINES = {"today": build_today, "0.1.0": build_0_1_0}


# --- the scenarios ---------------------------------------------------------------------------------------


def _ended_session(world: World) -> None:
    """The transcript of a session that has ended, and the envelope that its hook left."""
    from holdfast.hooks import trace

    ended = later_sessions(world)[0]
    path = write(ended, world.home)
    os.utime(path, (ended.end, ended.end))
    envelope = {
        "host": "claude-code", "event": "SessionEnd", "session": ended.session, "transcript": str(path),
        "cwd": str(world.repo), "process": 0,
    }  # fmt: skip
    trace.post(str(world.memory), envelope)


def _capture(world: World) -> Work:
    from holdfast.flows.capture_child import main

    memory, root = str(world.memory), str(world.repo)
    return lambda: main([memory, root])


def _envelope_is_gone(world: World, ended: Ended) -> bool:
    return not list((world.memory / "inbox").rglob("*.json"))


def _archive_of(world: World) -> Path:
    return world.home / "shop.tar.gz"


def _an_archive(world: World) -> None:
    world.holdfast("decide", "Parcels are weighed twice", "--because", "the carrier does", "--by", "user")
    world.holdfast("export", _archive_of(world))
    world.holdfast("undo", "--yes")
    world.holdfast("todo", "add", "Order new boxes")


def _an_archive_and_an_empty_project(world: World) -> None:
    world.holdfast("export", _archive_of(world))
    other = world.root / "other"
    other.mkdir()
    world.git("init", "--quiet", "--initial-branch=main", "--template=", ".", cwd=other)
    # By its first commit it is known after its disk was laid out again, with other inodes.
    world.git("commit", "--quiet", "--allow-empty", "--message", "first", cwd=other)


def _a_decision(world: World) -> None:
    world.holdfast("decide", "Parcels are weighed twice", "--because", "the carrier does", "--by", "user")


def _host_files(world: World) -> None:
    settings = world.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{\n   "includeCoAuthoredBy": false\n}', encoding="utf-8")
    (world.home / ".claude.json").write_text('{"theme": "dark"}\n', encoding="utf-8")


def _installed(world: World) -> None:
    _host_files(world)
    world.holdfast("install", "claude-code", "--yes")


def _old_backups(world: World) -> None:
    _an_archive(world)
    world.holdfast("restore", _archive_of(world), "--replace")
    old = time.time() - 100 * DAY_S
    for path in (world.home / ".holdfast" / "backups").rglob("*"):
        os.utime(path, (old, old))


def _later(world: World) -> None:
    _tell(world, *later_sessions(world))


def session_of(name: str) -> str:
    return Story("codex", name, 0, Path(), "", (), "").session


SCENARIOS = (
    Scenario("capture", _capture, _ended_session, acknowledged=_envelope_is_gone, quiet=True),
    Scenario("import", says("import"), _later, acknowledged=_imported_all),
    Scenario(
        "forget a session", says("forget", "--session", session_of("forget-me"), "--yes"), gone=(FORGOTTEN,)
    ),
    Scenario("forget words", says("forget", "--text", FORGOTTEN, "--yes"), gone=(FORGOTTEN,)),
    Scenario("restore in place", says("restore", "{home}/shop.tar.gz", "--replace"), _an_archive, whole=True),
    Scenario("restore and merge", says("restore", "{home}/shop.tar.gz", "--merge"), _an_archive),
    Scenario(
        "restore elsewhere",
        says("restore", "{home}/shop.tar.gz"),
        _an_archive_and_an_empty_project,
        again=says("restore", "{home}/shop.tar.gz", "--merge"),
        place="other",
    ),
    Scenario("undo", says("undo", "--yes"), _a_decision, repeats=False),
    Scenario("archive", says("archive", "--longest", "20")),
    Scenario(
        "export",
        says("export", "{home}/new.tar.gz"),
        again=says("export", "{home}/new.tar.gz", "--force"),
    ),
    Scenario("upgrade", says("import", "--quiet"), machine="0.1.0", place="shop"),
    Scenario(
        "decide", says("decide", "Parcels are weighed twice", "--because", "the carrier does", "--by", "user")
    ),
    Scenario("handoff", says("handoff", "Print the receipt", "--by", "user")),
    Scenario("fact", says("fact", "add", "The printer is in room 7", "--evidence", "a sign")),
    Scenario("to-do", says("todo", "add", "Order new boxes")),
    Scenario("lesson", says("lessons", "add", "invoices", "--rule", "invoice numbers never have gaps")),
    Scenario("share the ledger", says("ledger", "share")),
    Scenario("install", says("install", "claude-code", "--yes"), _host_files),
    Scenario("uninstall", says("uninstall", "claude-code", "--yes"), _installed),
    Scenario("holdout", says("holdout", "20%", "--yes"), _installed),
    Scenario("prune", says("prune", "--yes"), _old_backups),
    Scenario("index", says("index")),
)
