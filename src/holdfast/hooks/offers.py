"""Offers commands and files for a prompt: only what is at least as likely to be used as the bars say.

A first prompt must be about this repository (`hooks/relevance.py`); a later one must move to another topic. What the
prompt names is offered in any case: files, and numbers of changes. A prompt that says nothing specific ("continue",
"review this branch") is offered what its branch changes.
"""

from __future__ import annotations

import os

from holdfast.core.words import command_in, without_addresses
from holdfast.hooks.postings import Postings
from holdfast.hooks.relevance import FLOOR, MOVED, Match, names_in, numbers_in
from holdfast.hooks.start_lines import count_tokens

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from holdfast.hooks.prompt import Heard

    Lines = list[tuple[str, str]]  # text and reason

HEADING = "Likely files:"
BAR = 0.3  # the smallest probability that is worth a line; docs/adr/0018 has the curve
BRANCH_CHANCE = 0.5  # of the files of a branch that changes few, sessions on it touched .47 (docs/adr/0018)
MOST_FILES = 8
COMMANDS_HEADING = "Commands here: "
_BETWEEN = " · "
MOST_COMMAND_TOKENS = 60
MOST_COMMANDS = 6
COMMAND_BAR = 0.2  # of the commands with a chance from here to .3, sessions ran .32 (docs/adr/0018)


class Offers:
    """The commands and files for a prompt. `nothing` says why there are none."""

    def __init__(
        self,
        db: sqlite3.Connection,
        text: str,
        session: str,
        heard: Heard,
        root: str | None,
        earlier: Sequence[Collection[str]] | None,
        branch: str,
        cwd: str,
    ) -> None:
        self._db, self._text, self._heard, self._branch = db, text, heard, branch
        self._postings = Postings(db)
        self._number = self._postings.number(session) if session else -1
        given = self._postings.earlier(session) if earlier is None and session else earlier
        self._earlier = list(given or ())
        self._top = None if root is None else os.path.realpath(root)
        self._folders = [folder for folder in (self._top, cwd) if folder]
        self._commands: list[tuple[float, str, int]] = []
        self._likely: dict[str, str] = {}
        self.files: list[str] = []
        self.nothing = "nothing that past sessions did is likely enough to help with it"
        self._judge()

    @property
    def any(self) -> bool:
        return bool(self._commands or self._likely)

    def lines(self, budget: int, known: str) -> Lines:
        """What fits the budget. `known` is what the prompt and the lines before these say."""
        commands = self._command_lines(budget, known)
        budget -= sum(count_tokens(line) for line, _ in commands)
        return commands + self._file_lines(budget)

    def _judge(self) -> None:
        later = bool(self._earlier) or self._heard.prompted
        asked = without_addresses(self._text)  # "look at https://…/issues/70" does not say what it is about
        match = Match(self._postings, asked, self._earlier, self._number, self._branch)
        named, names = names_in(self._postings, self._text, self._folders)
        near = self._numbered()
        changed = [] if later else self._changed_on_branch()
        is_about = False
        if match.likeness and later:
            is_about, nothing = match.news()[0] >= MOVED, "the prompt goes on with what the session is about"
        elif match.likeness or names:
            names += bool(command_in(self._text))  # which sessions here were given before
            is_about, nothing = match.about(names) >= FLOOR, "the prompt may be about something else"
        else:
            nothing = self.nothing
        self.nothing = self.nothing if is_about else nothing
        if changed and (is_about or match.is_vague):
            near = dict.fromkeys(changed, f"changed on this branch; {BRANCH_CHANCE:.0%} likely") | near
        if is_about and not later:
            self._commands = likely_commands(self._db, match)
        if is_about or named or near:
            self._choose_files(match, named, near, BAR if is_about else 1.0, later=later)

    def _numbered(self) -> dict[str, str]:
        """The files of changes whose numbers the prompt names, with the reason."""
        files: dict[str, str] = {}
        for number in numbers_in(self._text, os.path.basename(self._top or "")):
            rows = self._db.execute("SELECT path FROM numbered WHERE number = ?", (number,)).fetchall()
            files.update((path, f"changed by {number}, which the prompt names") for (path,) in rows)
        return files

    def _changed_on_branch(self) -> list[str]:
        rows = self._db.execute("SELECT path FROM branch_file WHERE branch = ?", (self._branch,)).fetchall()
        return [path for (path,) in rows]

    def _choose_files(
        self, match: Match, named: Sequence[str], near: dict[str, str], bar: float, *, later: bool
    ) -> None:
        """What the prompt names, files of its branch or change, then the likeliest, which a bar of 1 leaves out."""
        from holdfast.hooks.ranking import rank_files

        touched = self._postings.touched_by(self._number) if self._number >= 0 else []
        pointers = rank_files(match, touched, bar, later=later, named=named)
        reasons = [(pointer.path, f"{pointer.why}; {pointer.chance:.0%} likely") for pointer in pointers]
        count = sum(path in named for path, _ in reasons)
        near_reasons = [(path, reason) for path, reason in near.items() if path not in touched]
        folders: dict[str, str] = {}
        for path, reason in [*reasons[:count], *near_reasons, *reasons[count:]]:
            if len(self._likely) == MOST_FILES:
                break
            if path in self._likely or path in self._heard.files or path in self._text or is_ours(path):
                continue
            if self._top is None or is_file(self._top, path, folders):
                self._likely[path] = reason

    def _file_lines(self, budget: int) -> Lines:
        if not self._likely:
            return []
        from holdfast.hooks.ranking import fitting, path_lines

        self.files = fitting(list(self._likely), budget - count_tokens(HEADING))
        lines = [
            (line, self._likely[path] if path else "folder of what is below it")
            for line, path in path_lines(self.files)
        ]
        return [(HEADING, "what the lines below it are"), *lines] if lines else []

    def _command_lines(self, budget: int, known: str) -> Lines:
        """At most one line."""
        remaining = min(budget, MOST_COMMAND_TOKENS) - count_tokens(COMMANDS_HEADING)
        chosen: list[str] = []
        most = 0
        for _, text, runs in self._commands:
            cost = count_tokens(f"`{text}`{_BETWEEN if chosen else ''}")
            if cost <= remaining and len(chosen) < MOST_COMMANDS and not is_mentioned(text, known):
                remaining -= cost
                chosen.append(f"`{text}`")
                most = max(most, runs)
        if not chosen:
            return []
        whole = self._postings.sessions
        reason = f"run in up to {most} of {whole} sessions; recent and similar ones count more"
        return [(COMMANDS_HEADING + _BETWEEN.join(chosen), reason)]


def likely_commands(db: sqlite3.Connection, match: Match) -> list[tuple[float, str, int]]:
    """Minus the chance, the command and how many sessions ran it; the likeliest first."""
    similar = match.similar
    whole = sum(similar.values())
    found = []
    for text, rate, blob in db.execute("SELECT text, rate, sessions FROM command").fetchall():
        sessions = memoryview(blob).cast("I").tolist()
        near = sum(similar.get(number, 0.0) for number in sessions) / whole if whole else rate
        chance = (rate + near) / 2
        if chance >= COMMAND_BAR:
            found.append((-chance, text, len(sessions)))
    return sorted(found)


def is_mentioned(command: str, text: str) -> bool:
    """Whether a text contains a command, alone or with arguments, and not only the beginning of another one."""
    at = text.find(command)
    while at >= 0:
        after = text[at + len(command) : at + len(command) + 1]
        if not (after.isalnum() or after in ("-", ":", "_")):
            return True
        at = text.find(command, at + 1)
    return False


def is_ours(path: str) -> bool:
    """Whether a path is holdfast's own: what is in there is told as lines, if at all."""
    return "/.holdfast/" in f"/{path}"


def is_file(top: str, path: str, folders: dict[str, str] | None = None) -> bool:
    """Whether a path is a file inside the checkout, and not reached through a link that leads out of it.

    `folders` caches the real paths of folders: resolving links checks every folder on the way, for every file.
    """
    try:
        whole = os.path.join(top, path)
        if not os.path.isfile(whole):
            return False
        if folders is None or os.path.islink(whole):
            real = os.path.realpath(whole, strict=True)
        else:
            folder = os.path.dirname(whole)
            if folder not in folders:
                folders[folder] = os.path.realpath(folder, strict=True) + os.sep
            real = folders[folder]
        return real.startswith(top.rstrip(os.sep) + os.sep)
    except (OSError, ValueError):
        return False
