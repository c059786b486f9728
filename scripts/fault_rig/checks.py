"""What must hold after a fault, and how a memory is compared with the one of an undisturbed run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from scripts.fault_rig.scenarios import Scenario
from scripts.fault_rig.world import HUNG, Ended, World
from tests.every_byte import leftovers

# What can be made again, is bounded, or differs in any two runs. Everything else is compared.
_DERIVED = re.compile(
    r"(^|/)(locks|inbox|history|\.history|cache|claims|said|seen|hosts|backups|exports|trust)(/|$)"
    r"|\.(db|db-wal|db-shm|db-journal|tmp|lock|cache|words|vec)$|(^|/)(why\.jsonl(\.1)?|hook\.log(\.1)?|resume\.json|index\.json|regex)$"
    r"|(^|/)(stamps|context)-[^/]*\.json$|\.tar\.gz$|(^|/)local$|-(stage|aside)"
)
_TEMPORARY = re.compile(r"\.tmp$|-stage-|-aside$|\.part$|(^|/)\.holdfast-")
_RANDOM = re.compile(r"[0-9a-f]{8}(?=\.tmp|$)|\.\d+(?=\.tmp$)")
_STAMP = r"[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?"


def _moments() -> re.Pattern[str]:
    """Today and tomorrow in every form that files have: the runs of the rig happen now, their sessions earlier."""
    today = datetime.now(UTC)
    days = "|".join(re.escape(f"{today + timedelta(days=n):%Y-%m-%d}") for n in (-1, 0, 1))
    seconds = f"{int(today.timestamp())}"[:4]
    salted = r"\b[0-9a-f]{32}\b"  # in denied.jsonl
    compact = days.replace(r"\-", "")
    clock = rf"({compact})T\d{{6}}\.\d{{3}}-\w+(-[a-z]+)?"  # a stamp: core/stamp.py
    inodes = r'(?<="file:)\d+(?=:)'  # in switches.json
    sums = r"(?<=<!-- holdfast:end )[a-z -]+[0-9a-f ]+(?= -->)"  # of lines that may have a moment in them
    key = r"^[0-9a-f]{64}$"  # machine.key, made by the first export
    return re.compile(
        rf"({days})({_STAMP})?|\b{seconds}\d{{6}}(\.\d+|\d{{9}})?\b|{salted}|{key}|{inodes}|{sums}|{clock}",
        re.MULTILINE,
    )


def normal(text: str, moments: re.Pattern[str]) -> str:
    return moments.sub("<now>", text)


def _memory_files(world: World) -> Iterator[tuple[str, Path]]:
    for base in sorted(world.root.glob("*/.holdfast")):
        for path in sorted(base.rglob("*")):
            name = str(path.relative_to(world.root))
            if (
                path.is_file()
                and not path.is_symlink()
                and not _DERIVED.search(name.split(".holdfast/", 1)[1])
            ):
                yield name, path
    for path in world.home.glob(".claude*"):
        if path.is_file():
            yield str(path.relative_to(world.root)), path
    settings = world.home / ".claude" / "settings.json"
    if settings.is_file():
        yield str(settings.relative_to(world.root)), settings


def view(world: World) -> dict[str, str]:
    """The canonical files by name, without moments."""
    moments = _moments()
    files = {
        name: normal(path.read_bytes().decode("utf-8", "surrogateescape"), moments)
        for name, path in _memory_files(world)
        if not name.endswith("/session.json")  # of a scan, which looks again later
    }
    for name, text in files.items():
        if name.endswith(".jsonl"):  # half a line of a killed process, which `torn` looks at
            files[name] = "".join(line for line in text.splitlines(keepends=True) if _parses(line))
        # A disk that was laid out again has other inodes, which are added.
        if name.endswith("/places"):
            text = re.sub(r"^(\w+) \d+ (<now>|\d+)", r"\1 <file>", text, flags=re.M)
        if name.endswith(("/switches.json", "/places")):
            files[name] = "\n".join(dict.fromkeys(text.splitlines()))
    return files


def names(world: World) -> set[str]:
    """Files that are left lying about, by name."""
    return {
        str(path.relative_to(world.root))
        for path in world.root.rglob("*")
        if _TEMPORARY.search(str(path.relative_to(world.root))) and ".git/" not in str(path)
    }


def state(world: World) -> str:
    """A hash of everything that is there: what was found for a state holds for the same state again."""
    moments, digest = _moments(), hashlib.sha256()
    for folder, folders, files in os.walk(world.root):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.endswith("-shm"):
                continue
            data = os.readlink(path).encode() if os.path.islink(path) else Path(path).read_bytes()
            if b"\0" not in data:
                data = normal(data.decode("utf-8", "surrogateescape"), moments).encode(
                    "utf-8", "surrogateescape"
                )
            shown = _RANDOM.sub("#", os.path.relpath(path, world.root))
            digest.update(f"{shown} {len(data)} ".encode() + data)
        digest.update(f"{_RANDOM.sub('#', os.path.relpath(folder, world.root))}/".encode())
    return digest.hexdigest()


# --- one state -------------------------------------------------------------------------------------------


def torn(world: World, *, tails: bool, halves: bool = False) -> Iterator[str]:
    """Files that are not whole. `tails`: a process died in a write, and an append-only file may end in half a line.

    `halves`: it has been appended to since, and that half is a line of its own.
    """
    for name, path in _memory_files(world):
        data = path.read_bytes()
        if (
            path.name == "machine.key"
        ):  # nothing bears its code before it is on the disk: a torn one is made again
            continue
        if b"\0" in data:
            yield f"{name} has zeros in it"
        try:
            text = data.decode()
        except UnicodeDecodeError:
            if not (tails and name.endswith(("ledger.md", "log.md", ".jsonl"))):
                yield f"{name} is not UTF-8"
            continue
        if name.endswith((".md", ".jsonl")) and text and not text.endswith("\n") and not tails:
            yield f"{name} ends in the middle of a line"
        yield from _unparsed(name, text, tails=tails, halves=halves)
    for path in sorted(world.home.glob(".holdfast/**/*.db")):
        if "-stage-" not in str(path) and (problem := _database_problem(path, world.scratch)):
            yield f"{path.relative_to(world.root)}: {problem}"
    for path in sorted(world.home.glob("*.tar.gz")):
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    if (file := archive.extractfile(member)) is not None:
                        file.read()
        except (tarfile.TarError, OSError, EOFError) as error:
            yield f"{path.relative_to(world.root)} is not a whole archive: {error}"


def _parses(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return "<now>" in line and line.endswith("}\n")  # a number that is a moment
    return True


def _unparsed(name: str, text: str, *, tails: bool, halves: bool) -> Iterator[str]:
    if name.endswith(".json"):
        try:
            json.loads(text)
        except ValueError:
            yield f"{name} is not JSON: {text[:60]!r}"
    elif name.endswith(".jsonl"):
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            try:
                json.loads(line)
            except ValueError:
                if not (halves or (tails and number == len(lines))):
                    yield f"{name}:{number} is not JSON: {line[:60]!r}"
    elif name.endswith("ledger.md"):
        from holdfast.ledger.markdown import parse_ledger

        whole = text if not tails or text.endswith("\n") else text[: text.rfind("\n") + 1]
        for problem in parse_ledger(whole.encode(), name).problems:
            yield f"{name}: {problem}"


def _database_problem(path: Path, scratch: Path) -> str:
    copy = scratch / "copy.db"
    for end in ("", "-wal", "-journal"):
        target = Path(f"{copy}{end}")
        target.unlink(missing_ok=True)
        if Path(f"{path}{end}").exists():
            shutil.copyfile(f"{path}{end}", target)
    Path(f"{copy}-shm").unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(copy)) as database:
            answers = [answer for (answer,) in database.execute("PRAGMA integrity_check")]
    except sqlite3.Error as error:
        return str(error)
    return "" if answers == ["ok"] else "; ".join(answers)


def lost(before: Mapping[str, str], after: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Lines that were there before the work, and are after it, and are nowhere now."""
    kept = _lines(before) & _lines(after)
    for line in sorted(kept - _lines(now)):
        yield f"lost: {line[:120]}"


def _lines(files: Mapping[str, str]) -> set[str]:
    """Lines of text files; a JSON file is compared as a whole elsewhere."""
    return {
        line
        for name, text in files.items()
        if name.endswith((".md", ".jsonl"))
        for line in text.splitlines()
        if len(line.strip()) > 3 and "<now>" not in line and not line.startswith("Updated")
    }


def differing(wanted: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(wanted.keys() | now.keys()):
        one, other = wanted.get(name), now.get(name)
        if one != other:
            yield f"{name} {_difference(one, other)}"


def named_torn(wanted: Mapping[str, str], now: Mapping[str, str], doctor: Iterable[str]) -> set[str]:
    """Files that end in half an entry of a killed process, which doctor names, and that hold all that they should."""
    said = " ".join(line for line in doctor if "the entry breaks off before its end" in line)
    return {
        name
        for name, text in now.items()
        if f"{os.path.basename(name)}:" in said
        and set(wanted.get(name, "").splitlines()) <= set(text.splitlines())
    }


def _difference(wanted: str | None, now: str | None) -> str:
    if wanted is None or now is None:
        return "should not be there" if wanted is None else "is not there"
    ours, theirs = wanted.splitlines(), now.splitlines()
    missing = [line for line in ours if line not in theirs][:2]
    added = [line for line in theirs if line not in ours][:2]
    return (
        f"differs: lacks {missing}, has {added}"
        if missing or added
        else "has its lines in another order or twice"
    )


def told(scenario: Scenario, ended: Ended) -> Iterator[str]:
    """Whether the process ended as a command may end."""
    if ended.code == HUNG:
        yield "it hangs"
    elif ended.code < 0 and not ended.was_killed:
        yield f"it died of signal {-ended.code}"
    for stream in (ended.err, ended.out):
        if "Traceback (most recent call last)" in stream:
            yield f"a traceback: {stream.strip().splitlines()[-1]}"
        if "the output could not be written" in stream:
            yield "a fault of a file is reported as one of the output"
        if "This is a bug in holdfast" in stream:
            yield f"reported as a bug in holdfast: {stream.strip().splitlines()[-1]}"
    if ended.code not in (0, HUNG) and not ended.was_killed and not scenario.quiet:
        lines = [line for line in ended.err.splitlines() if line.strip()]
        if not any(line.startswith("holdfast: ") for line in lines):
            yield f"exit code {ended.code} without a word: {ended.err[-200:]!r}"


def still_there(scenario: Scenario, world: World) -> Iterator[str]:
    """What was to be forgotten and is found in the memory."""
    if scenario.gone:
        roots = list(world.root.glob("*/.holdfast"))
        for where in leftovers(roots, scenario.gone):
            yield f"not forgotten: {where[:160]}"
