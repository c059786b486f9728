"""Measures holdfast and what a user would pick instead on the same history, and writes docs/research/peers.md.

python -m bench.peers [--demo] [--only NAME,…] [--page FILE]     scripts/install_peers.sh installs the others
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.peers import programs
from bench.peers.material import Material, Question, demo, id_of, shared
from bench.peers.measured import Failed
from bench.peers.programs import Program

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "research" / "peers.md"
MARK = "<!-- Below: written by `make bench-peers`. -->"
Row = Sequence[object]


class Tables:
    """What was measured, and why something was not."""

    def __init__(self) -> None:
        self.reading: list[Row] = []
        self.bills: list[Row] = []
        self.sessions: list[Row] = []
        self.sets: list[Row] = []
        self.missing: list[Row] = []

    def measure(self, program: Program, material: Material) -> None:
        """Everything that a program answers; what fails is a row that says so, and the rest goes on."""
        if why := program.missing():
            self.missing.append((program.name, program.version, why))
            return
        transcripts = programs.material_for(program, material)
        try:
            self._try(program, "reading", lambda: self._read(program, transcripts))
            self._try(program, "cost", lambda: self._bill(program))
            for kind in ("prompt", "keywords") if material.questions else ():
                self._try(program, f"search by {kind}", lambda kind=kind: self._find(program, material, kind))  # type: ignore[misc]
            for found in material.sets:
                self._try(program, found.name, lambda found=found: self._set(program, found))  # type: ignore[misc]
        finally:
            program.close()

    def _try(self, program: Program, what: str, work: Callable[[], None]) -> None:
        try:
            work()
            print(f"{program.name}: {what}", file=sys.stderr, flush=True)
        except NotImplementedError:
            pass  # it is not for this
        except (Failed, OSError, ValueError, KeyError) as error:
            self.missing.append((program.name, program.version, f"{what}: {error}"))

    def _read(self, program: Program, transcripts: Path) -> None:
        cost = program.read(transcripts)
        disk = programs.disk_of(program)
        self.reading.append((program.name, _s(cost.cpu), _s(cost.wall), f"{cost.peak_mb:.0f}", f"{disk:.1f}"))

    def _bill(self, program: Program) -> None:
        cost, bill = program.bill()
        numbers = (bill.input, bill.output, bill.cache_write, bill.cache_read)
        self.bills.append(
            (program.name, _s(cost.cpu), *(f"{number:,}" for number in numbers), f"{bill.usd:.2f}")
        )

    def _find(self, program: Program, material: Material, kind: str) -> None:
        found: list[tuple[Question, Sequence[str]]] = []
        cpu, refused = 0.0, 0
        for question in material.questions:
            try:
                cost, ranked = program.find(question.keywords if kind == "keywords" else question.prompt)
            except Failed:
                refused += 1
                found.append((question, ()))
                continue
            cpu += cost.cpu
            found.append((question, list(dict.fromkeys(map(id_of, ranked)))))
        if refused:
            self.missing.append(
                (program.name, program.version, f"{refused} of {len(found)} searches by {kind}: an error")
            )
        right, nothing = programs.quality_of_sessions(found)
        each = 1000 * cpu / max(len(found) - refused, 1)
        self.sessions.append(
            (program.name, kind, len(found), f"{right:.2f}", f"{nothing:.2f}", f"{each:.0f} ms")
        )

    def _set(self, program: Program, found: programs.RetrievalSet) -> None:
        taken, asking, given = program.answers(found)
        first, second = programs.quality_of_set(found, given)
        quality = f"any@5 {first:.2f}" if second is None else f"precision {first:.2f}, recall {second:.2f}"
        each = 1000 * asking.cpu / len(found.questions)
        n = f"{len(found.texts)} / {len(found.questions)}"
        self.sets.append((program.name, found.name, n, quality, _s(taken.cpu), f"{each:.0f} ms"))

    def page(self, material: Material, versions: Sequence[str]) -> str:
        return "\n".join(
            [
                MARK,
                "",
                f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}; "
                f"{', '.join(versions)}. CPU is user and system time.",
                "",
                f"## Reading {material.sessions} transcripts of {material.name}, {material.megabytes} MB",
                "",
                *_table("program | CPU | wall | memory, MB | disk, MB", self.reading),
                "## Tokens and cost of that history",
                "",
                *_table("program | CPU | input | output | cache write | cache read | USD", self.bills),
                "## Finding earlier sessions that changed the same files",
                "",
                *_table("program | asked by | questions | any@5 | nothing found | CPU each", self.sessions),
                "## Retrieval sets",
                "",
                *_table(
                    "program | set | texts / questions | quality | CPU to take in | CPU each question",
                    self.sets,
                ),
                "## Not measured",
                "",
                *_table("program | version | why", self.missing),
            ]
        )


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"


def _table(head: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["Nothing.", ""]
    lines = [f"| {head} |", "|" + "---|" * len(head.split("|"))]
    return [*lines, *(f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows), ""]


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--demo", action="store_true", help="the bundled demonstration: small, and no figure"
    )
    options.add_argument("--only", default="", help="programs, with commas")
    options.add_argument("--page", type=Path, default=PAGE, help="whose part below the mark is replaced")
    chosen = options.parse_args(arguments)
    material = demo() if chosen.demo else shared()
    tables, versions = Tables(), []
    with tempfile.TemporaryDirectory(prefix="holdfast-peers-") as scratch:
        for make in programs.PROGRAMS:
            program = make(Path(scratch, make.__name__))  # type: ignore[attr-defined]
            if not chosen.only or program.name in chosen.only.split(","):
                versions.append(f"{program.name} {program.version}")
                tables.measure(program, material)
    before = chosen.page.read_text(encoding="utf-8").partition(MARK)[0] if chosen.page.exists() else ""
    text = tables.page(material, versions)
    chosen.page.write_text(f"{before}{text.rstrip()}\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
