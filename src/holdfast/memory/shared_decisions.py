"""Decisions that a team shares through git: `.holdfast/decisions/<id>.md`, one file for each, reviewed like code.

Another person's file has no effect until a person here trusts exactly its content. What is trusted is copied to
`projects/<name>/decisions/shared.md` in the memory, from where it is found and shown like every other decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core import reading
from holdfast.core.patterns import lazy_regex
from holdfast.core.tokens import cut_to
from holdfast.guard.hidden_text import has_hidden
from holdfast.guard.quoted_text import is_hostile
from holdfast.memory.decisions import FOLDER, SHARED, SessionPassages, with_sessions
from holdfast.memory.read import ProjectMemory
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Passage, content_id
from holdfast.store import line_grammar as md
from holdfast.store.gate import gate, pass_file
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.trust import Given, Trust

_NAME = lazy_regex(r"D-[0-9a-z]{6}")
_KEY = lazy_regex(r"(?i)[-*]\s+(by|decided|status|replaces)\s*:\s*(.*)")
_HEADING = lazy_regex(r"(#{1,6})\s+(.*?)\s*#*\s*")
_WHY = ("why", "reason", "because", "rationale")
_NOT = ("not", "rejected", "turned down", "alternatives")
_RETIRED = ("retired", "rejected", "withdrawn", "superseded", "deprecated")
_LARGEST = 20_000  # bytes
_MOST = 2_000  # files
_TITLE_TOKENS = 24
_LONGEST = 1_200  # characters of a decision, its reason, a way turned down
_WORTH, _WORTH_OF_REJECTED = 95, 60


class SharedDecision(Struct, frozen=True, kw_only=True):
    """What one file says. `by` is the person who shared it, `not_` the ways that were turned down."""

    id: str
    text: str
    title: str = ""
    reason: str = ""
    not_: tuple[str, ...] = ()
    by: str = ""
    at: float | None = None
    replaces: str = ""
    holds: bool = True


class SharedFile(Struct, frozen=True):
    """A file in the repository, as it is now. `given` is this user's agreement to exactly this content."""

    decision: SharedDecision
    path: Path
    data: bytes
    given: Given | None = None
    changed: bool = False  # another content of it was trusted
    problem: str = ""  # why nobody may trust it


def trust_name(id: str) -> str:
    return f"{FOLDER}/{id}"


def folder_of(project: Project) -> Path:
    return project.window / FOLDER


def shared_files(machine: Machine, project: Project) -> list[SharedFile]:
    """All files in the order of their names; a link and a file that is too large are passed over."""
    folder = folder_of(project)
    if folder.is_symlink() or not folder.is_dir():
        return []
    trust, found = Trust(machine.home, project), []
    for name in reading.names_in(str(folder), (".md",), _MOST):
        id, path = name.removesuffix(".md"), folder / name
        data = reading.bytes_of(path, _LARGEST + 1, follow=False) if _NAME.fullmatch(id) else None
        if data is None:
            continue
        text = data.decode("utf-8", "replace")
        decision, key = parse_shared(id, text), trust_name(id)
        given = trust.given(key, data)
        found.append(
            SharedFile(
                decision, path, data, given, given is None and trust.ever(key), _problem(decision, text, data)
            )
        )
    return found


def _problem(decision: SharedDecision, text: str, data: bytes) -> str:
    if len(data) > _LARGEST:
        return f"it is larger than {_LARGEST:,} bytes"
    if has_hidden(text):
        return "it has hidden characters"
    said = " ".join((decision.title, decision.text, decision.reason, *decision.not_))
    if is_hostile(said):
        return "it reads like orders to an agent"
    return "" if decision.text else "it says nothing"


# --- the format ------------------------------------------------------------------------------------------


def render_shared(decision: SharedDecision) -> str:
    """The file as `share` writes it: a decision record that people read in a pull request."""
    keys = [f"- By: {_line(decision.by)}"] if decision.by else []
    keys += [f"- Decided: {md.render_minute(decision.at)[:10]}"] if decision.at is not None else []
    keys += [f"- Replaces: {decision.replaces}"] if decision.replaces else []
    title = decision.title or cut_to(decision.text, _TITLE_TOKENS)
    parts = [f"# {_line(title)}", "\n".join(keys)]
    parts += [_line(decision.text)] if _line(decision.text) != _line(title) else []
    parts += [f"## Why\n\n{_line(decision.reason)}"] if decision.reason else []
    if decision.not_:
        parts.append("## Not\n\n" + "\n".join(f"- {_line(text)}" for text in decision.not_))
    return "\n\n".join(filter(None, parts)) + "\n"


def _line(text: str) -> str:
    """A text as one line that cannot be taken for a heading or an item of a list."""
    line = " ".join(text.split())
    return f"\\{line}" if line[:1] in ("#", "-", "*", "\\") else line


def parse_shared(id: str, text: str) -> SharedDecision:
    """What a file says, however a person has edited it: words before the first section are the decision."""
    title, part = "", "text"
    keys: dict[str, str] = {}
    said: dict[str, list[str]] = {"text": [], "why": [], "not": []}
    for line in text.removeprefix("\ufeff").splitlines():
        if heading := _HEADING.fullmatch(line):
            if len(heading[1]) == 1 and not title:
                title = heading[2].removeprefix("\\")
            else:
                part = _part_of(heading[2])
        elif part == "text" and not any(said["text"]) and (key := _KEY.fullmatch(line.strip())):
            keys[key[1].lower()] = key[2].removeprefix("\\").strip()
        elif part in said:
            said[part].append(line.rstrip())
    decided = _joined(said["text"]) or title
    return SharedDecision(
        id=id,
        title=cut_to(title, _TITLE_TOKENS),
        text=decided[:_LONGEST],
        reason=_joined(said["why"])[:_LONGEST],
        not_=tuple(item[:_LONGEST] for item in _items(said["not"])),
        by=keys.get("by", "")[:60],
        at=_day(keys.get("decided", "")),
        replaces=keys.get("replaces", ""),
        holds=not keys.get("status", "").lower().startswith(_RETIRED),
    )


def _part_of(heading: str) -> str:
    name = heading.strip().lower().rstrip(":")
    if name.startswith(_WHY):
        return "why"
    return "not" if name.startswith(_NOT) else "text" if name == "decision" else ""


def _joined(lines: list[str]) -> str:
    """Several lines as one. A line of a list stays a sentence of its own."""
    return " ".join(" ".join(map(_bare, lines)).split())


def _bare(line: str) -> str:
    """A line without the sign of a list, and without the backslash before what only looks like one."""
    line = line.strip()
    line = line if line.startswith("\\") else line.removeprefix("- ")
    return line.removeprefix("\\")


def _items(lines: list[str]) -> Iterator[str]:
    """Each item of a list with the lines that go on with it; without a list each paragraph."""
    has_list = any(line.lstrip().startswith(("- ", "* ")) for line in lines)
    current: list[str] = []
    for line in [*lines, ""]:
        starts = line.lstrip().startswith(("- ", "* ")) if has_list else not line.strip()
        if starts and current:
            yield _joined(current)
            current = []
        if line.strip():
            current.append(line.strip().removeprefix("* "))
    if current:
        yield _joined(current)


def _day(text: str) -> float | None:
    try:
        return md.parse_time(text[:10]) if text else None
    except ValueError:
        return None


# --- the copy in the memory --------------------------------------------------------------------------------


def mirror_shared(machine: Machine, project: Project) -> None:
    """Brings the copy of trusted decisions up to date. What this machine shared itself is in its memory already."""
    store = MemoryStore(project, project.title)
    path = store.decisions_folder / f"{SHARED}.md"
    if not folder_of(project).is_dir() and not path.exists():
        return
    trusted = [one for one in shared_files(machine, project) if is_from_others(one)]
    if not trusted and not path.exists():
        return
    out = store.dismissed() | _settled_here(project)
    replaced = {one.decision.replaces for one in trusted}
    clean = gate(machine, project)
    sections = [
        section
        for one in trusted
        if one.decision.holds and not {one.decision.id, content_id("D", one.decision.text)} & (out | replaced)
        if (section := _section(one, clean)) is not None
    ]
    content = with_sessions(_beginning(project.title), sections, out)
    if path.exists() or sections:
        store.change(path, lambda _: content, "decisions shared by others")


def _settled_here(project: Project) -> set[str]:
    memory = ProjectMemory(project)
    own = {
        passage.id for _, section in memory.passages() if not section.author for passage in section.passages
    }
    return own | {decision.id for _, reference in memory.references() for decision in reference.decisions}


def is_from_others(one: SharedFile) -> bool:
    """Whether a person here trusted the file, and it is not what this machine wrote."""
    return one.given is not None and one.given.by == "trust" and not one.problem


def _section(one: SharedFile, clean: Callable[[str], str]) -> SessionPassages | None:
    decision = parse_shared(one.decision.id, pass_file(one.data.decode("utf-8", "replace"), clean))
    if not decision.text:
        return None
    return SessionPassages(
        session="",
        title=decision.title or decision.text,
        at=decision.at,
        author=decision.by or "the team",
        passages=(
            Passage(text=said_in_full(decision), by="user", worth=_WORTH, written_id=decision.id),
            *(
                Passage(text=text, status="rejected", by="user", worth=_WORTH_OF_REJECTED)
                for text in decision.not_
            ),
        ),
    )


def said_in_full(decision: SharedDecision) -> str:
    return f"{decision.text} (because {decision.reason})" if decision.reason else decision.text


def _beginning(project: str) -> str:
    return (
        f"# Decisions that others shared with {md.encode(project)}\n\n"
        "Copied from .holdfast/decisions/, which git tracks: change them there. A line deleted here stays deleted.\n"
    )
