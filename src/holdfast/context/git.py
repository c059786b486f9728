"""Where the repository stands: branch, last commit, how many files are changed, what is half done."""

from __future__ import annotations

import os

from holdfast.context.checkout import Checkout, find_checkout
from holdfast.context.contract import Source, counted, differences
from holdfast.context.git_call import MOST_BYTES, ask_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.contract import Here, Value

_LIMIT_S = 3.0  # all calls together stay below what a source is given
_LOG_LIMIT_S = 1.0
_STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-ahead-behind",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=all",
)
_UNDER_WAY = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_SHORT_ID = 9
NOT_COUNTED = "not counted"


class GitSource(Source):
    key = "core/git"

    def __init__(self) -> None:
        self._asked: tuple[Here, Value] | None = None

    def stamp(self, here: Here) -> str:
        checkout = find_checkout(here.root)
        standing = _standing(here, checkout) if checkout else {}
        self._asked = (here, standing)  # `load` follows at once where this stamp is new
        return "|".join(standing.values()) or "no git"

    def load(self, here: Here) -> Value:
        if self._asked is None or self._asked[0] is not here:
            self.stamp(here)
        asked, self._asked = self._asked, None
        standing = asked[1] if asked else {}
        self.whole = True
        if not standing.get("commit"):
            return {name: text for name, text in standing.items() if text}
        log = ("log", "-1", "--no-decorate", "--format=%cs%x00%s", standing["commit"], "--")
        told = ask_git(here.root, log, here.env, _LOG_LIMIT_S)
        self.whole = told is not None
        date, _, subject = (told or b"").decode("utf-8", "replace").strip("\n").partition("\0")
        standing["commit"] = standing["commit"][:_SHORT_ID]
        return {name: text for name, text in {**standing, "date": date, "subject": subject}.items() if text}

    def summary(self, value: Value) -> str:
        parts = [value.get("branch") or "no branch"]
        if commit := value.get("commit"):
            when = f" of {value['date']}" if value.get("date") else ""
            parts[0] += f" at {commit}{when}" + (f": {value['subject']}" if value.get("subject") else "")
        elif value.get("changed") != NOT_COUNTED:
            parts[0] += ", no commit yet"
        parts += [f"{value['under way']} under way"] if value.get("under way") else []
        return " · ".join([*parts, _changed(value)])

    def render_update(self, old: Value, new: Value) -> str:
        parts = []
        if old.get("branch") != new.get("branch"):
            parts.append(f"{old.get('branch') or 'no branch'} → {new.get('branch') or 'no branch'}")
        if old.get("commit") != new.get("commit") and new.get("commit"):
            parts.append(f"now at {new['commit']}: {new.get('subject', '')}")
        if old.get("under way") != new.get("under way"):
            done = f"{old.get('under way')} ended"
            parts.append(f"{new['under way']} under way" if new.get("under way") else done)
        if old.get("changed") != new.get("changed"):
            parts.append(f"{_changed(new)} (was {old.get('changed', 'unknown')})")
        return "; ".join(parts or differences(old, new))

    def render_removal(self, old: Value) -> str:
        return f"no longer a git repository (was on {old.get('branch') or 'no branch'})"


def _changed(value: Value) -> str:
    number = value.get("changed", NOT_COUNTED)
    if number == "0":
        return "clean"
    return f"{counted(int(number), 'file')} changed" if number.isdigit() else f"changed files: {number}"


def _standing(here: Here, checkout: Checkout) -> Value:
    """One call of git; what it cannot tell in time is had more cheaply, or left unknown."""
    branch, commit = checkout.head()
    changed = NOT_COUNTED
    told = ask_git(here.root, _STATUS, here.env, _LIMIT_S)
    if told is not None:
        number = 0
        for line in told.split(b"\0"):
            if line.startswith(b"# branch.oid "):
                commit = line[13:].decode("ascii", "replace")
            elif line.startswith((b"1 ", b"u ", b"? ")):
                number += 1
        commit = "" if commit == "(initial)" else commit
        changed = str(number) if len(told) < MOST_BYTES else f"{number} or more"
    elif not commit:  # a very large work tree, or a slow disk
        found = ask_git(here.root, ("rev-parse", "--verify", "-q", "HEAD"), here.env, _LOG_LIMIT_S / 2)
        commit = (found or b"").decode("ascii", "replace").strip()
    under_way = [word for name, word in _UNDER_WAY if os.path.lexists(os.path.join(checkout.private, name))]
    return {
        "branch": branch,
        "commit": commit,
        "changed": changed,
        "under way": under_way[0] if under_way else "",
    }
