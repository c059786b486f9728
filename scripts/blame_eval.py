"""Measures `holdfast blame` on a repository whose sessions were recorded by Entire.

    .venv/bin/python scripts/blame_eval.py prepare GIT_DIR FOLDER
    .venv/bin/python scripts/blame_eval.py measure FOLDER [--features FILE]

`prepare` writes a clone without checkpoint refs, the transcripts as the agents' own files, and what Entire says: which
sessions each commit came from. `measure` matches every line of every text file at HEAD and compares. The code under
test sees the clone and the transcripts only, and reads no commit message but its first line.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from holdfast.agents.entire import reader as entire
from holdfast.agents.registry import importers
from holdfast.provenance.confidence import confidence_of
from holdfast.provenance.git_lines import BlamedLine, blamed
from holdfast.provenance.index import edits_in
from holdfast.provenance.match import FileMatcher
from holdfast.provenance.store import EditStore

TRAILER = re.compile(r"^Entire-Checkpoint:\s*(\w+)", re.MULTILINE)
AGENT = re.compile(
    r"co-authored-by:.*(claude|cursor|codex|copilot|gemini|opencode|devin|aider|amp)|generated with \[claude",
    re.I,
)
BOT = re.compile(r"\[bot\]|dependabot|renovate|github-actions", re.I)
MOST_LINES = 20_000


class NoClaims:
    """Each file by itself: copies are told apart when lines are matched."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def repeated(self, key: str) -> bool:
        known = key in self._seen
        self._seen.add(key)
        return known

    def foreign(self, key: str) -> bool:
        return False


DATED = re.compile(r"^\d{4}-\d\d-\d\d-(?=[0-9a-f]{8}-)")


def plain(session: str) -> str:
    """A session's own id: early versions of Entire put a date before it."""
    return DATED.sub("", session)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def prepare(git_dir: Path, folder: Path, branch: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    clone = [
        "git",
        "clone",
        "-q",
        "--single-branch",
        "--branch",
        branch,
        "--no-tags",
        "--no-checkout",
        str(git_dir),
    ]
    subprocess.run([*clone, str(folder / "repo")], check=True)
    subprocess.run(["git", "-C", str(folder / "repo"), "reset", "-q"], check=False)
    # A snapshot may lack large files: the others are checked out all the same.
    subprocess.run(["git", "-C", str(folder / "repo"), "checkout-index", "-a", "-f", "-q"], check=False)
    states = entire._checkpoint_refs(git_dir)
    labels: dict[str, dict[str, float]] = defaultdict(dict)
    for ref in states:
        for blob in entire.blobs(git_dir, ref.target):
            if blob.path.endswith("metadata.json"):
                (text,) = entire.contents(git_dir, [blob.identity])
                about = json.loads(text)
                if "session_id" not in about:
                    continue
                share = (about.get("initial_attribution") or {}).get("agent_percentage")
                name = str(about.get("checkpoint_id"))
                labels[name][plain(about["session_id"])] = -1.0 if share is None else float(share)
    out = folder / "transcripts"
    out.mkdir(exist_ok=True)
    everything = importers()
    for session, kept in entire._by_session(git_dir, states).items():
        reading = entire.CheckpointReading(git_dir, kept, everything, NoClaims())
        for checkpoint in reading._worth_reading(kept.checkpoints):
            name = re.sub(
                r"[^\w.-]", "_", f"{plain(session)}--{len(list(out.glob(plain(session) + '--*')))}.jsonl"
            )
            with open(out / name, "wb") as file:
                for piece in checkpoint.pieces:
                    entire.copy_blob(git_dir, piece.identity, file)
                    file.seek(0, 2)
    (folder / "checkpoints.json").write_text(json.dumps(labels, indent=1), encoding="utf-8")
    log = git(folder / "repo", "log", "--format=%H%x00%an <%ae>%x00%P%x00%B%x01")
    commits = {}
    for entry in log.split("\x01"):
        if entry.strip():
            sha, author, parents, body = entry.strip("\n").split("\0", 3)
            commits[sha] = {
                "author": author,
                "merge": " " in parents,
                "checkpoints": TRAILER.findall(body),
                "agent": bool(AGENT.search(body)),
                "bot": bool(BOT.search(author)),
            }
    (folder / "commits.json").write_text(json.dumps(commits, indent=1), encoding="utf-8")
    print(f"{len(commits)} commits, {len(labels)} checkpoints, {len(list(out.iterdir()))} transcripts")


def index(folder: Path) -> EditStore:
    path = folder / "edits.db"
    store = EditStore(path)
    if store.sessions():
        return store
    everything = [importer for importer in importers() if importer.agent != "entire"]
    read = edits = 0
    parents: dict[str, str] = {}
    with store.transaction():
        for file in sorted((folder / "transcripts").iterdir()):
            head = file.read_bytes()[: 64 * 1024]
            importer = next((one for one in everything if one.recognise(file, head)), None)
            if importer is None:
                print("not recognised:", file.name, file=sys.stderr)
                continue
            for glance in importer.sessions(file, head):
                found = edits_in(importer, file, glance.part)
                if found.parent:
                    parents[file.name.split("--")[0]] = plain(found.parent)
                session = plain(found.parent or file.name.split("--")[0])
                store.put(f"{file}#{glance.part}", (1, 1), session, found, lambda text: text)
                read, edits = read + 1, edits + len(found.edits)
    (folder / "parents.json").write_text(json.dumps(parents), encoding="utf-8")
    print(f"{read} transcripts, {edits} edits, {path.stat().st_size:,} bytes", file=sys.stderr)
    return store


class Truth:
    def __init__(self, folder: Path) -> None:
        self._commits = json.loads((folder / "commits.json").read_text(encoding="utf-8"))
        self._labels = json.loads((folder / "checkpoints.json").read_text(encoding="utf-8"))
        parents = folder / "parents.json"
        self._parents = json.loads(parents.read_text(encoding="utf-8")) if parents.exists() else {}
        self._there = {file.name.split("--")[0] for file in (folder / "transcripts").iterdir()}

    def root_of(self, session: str) -> str:
        """The session that a subagent worked for, else the session itself."""
        return self._parents.get(session, session)

    def of(self, line: BlamedLine) -> tuple[str, set[str]]:
        """The class of a line, and the sessions that may be named for it."""
        commit = self._commits.get(line.commit.sha)
        if commit is None:
            return "outside", set()
        sessions: dict[str, float] = {}
        for name in commit["checkpoints"]:
            sessions |= self._labels.get(name, {})
        if commit["checkpoints"]:
            if not sessions or not set(sessions) & self._there:
                return "unlinked", set()
            if len(commit["checkpoints"]) == 1 and max(sessions.values()) >= 99.5:
                return "agent", set(sessions)
            return "mixed", set(sessions)
        if commit["bot"]:
            return "bot", set()
        return ("other agent", set()) if commit["agent"] else ("person", set())


def measure(folder: Path, features: Path | None, only: str) -> None:
    store, truth = index(folder), Truth(folder)
    repo = folder / "repo"
    counts: Counter[tuple[str, str]] = Counter()
    rows = []
    files = [path for path in git(repo, "ls-files", "-z").split("\0") if path and only in path]
    wrong: Counter[tuple[str, str]] = Counter()
    for path in files:
        data = (repo / path).read_bytes() if (repo / path).is_file() else b"\0"
        if b"\0" in data[:8000] or not data or data.count(b"\n") > MOST_LINES:
            continue
        lines = blamed(repo, path)
        paths = list(dict.fromkeys([path, *(line.path for line in lines)]))
        for line, match in zip(lines, FileMatcher(store, paths).match(lines), strict=True):
            kind, sessions = truth.of(line)
            score = confidence_of(match.evidence) if match else None
            sessions = {truth.root_of(session) for session in sessions}
            named = match is not None and score is not None
            right = named and match.edit.session in sessions
            verdict = "right" if right else "wrong" if named else "unknown"
            counts[kind, verdict] += 1
            if verdict == "wrong":
                wrong[line.commit.sha, kind] += 1
            if features and line.text.strip():
                about = {}
                if match:
                    about = {name: getattr(match.evidence, name) for name in match.evidence.__struct_fields__}
                    about["right"] = match.edit.session in sessions
                    about["session"] = match.edit.session
                rows.append(
                    {"kind": kind, "file": path, "line": line.number, "sha": line.commit.sha[:10], **about}
                )
    if features:
        features.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    report(counts)
    for (sha, kind), number in wrong.most_common(12):
        print(f"  {number:5} wrong in {sha[:10]} ({kind})")


def report(counts: Counter[tuple[str, str]]) -> None:
    kinds = ("agent", "mixed", "other agent", "unlinked", "person", "bot", "outside")
    print(f"{'lines of':<14}{'right':>9}{'wrong':>9}{'unknown':>9}")
    for kind in kinds:
        cells = [counts[kind, verdict] for verdict in ("right", "wrong", "unknown")]
        if any(cells):
            print(f"{kind:<14}" + "".join(f"{cell:>9,}" for cell in cells))
    right, wrong = counts["agent", "right"], counts["agent", "wrong"]
    total = right + wrong + counts["agent", "unknown"]
    mixed = counts["mixed", "right"] + counts["mixed", "wrong"]
    people = sum(
        counts[kind, verdict] for kind in ("person", "bot") for verdict in ("right", "wrong", "unknown")
    )
    named = sum(counts[kind, "wrong"] for kind in ("person", "bot"))
    print(
        f"agent lines: precision {right / max(right + wrong, 1):.4f}, recall {right / max(total, 1):.4f}, n {total}"
    )
    print(f"mixed commits: {counts['mixed', 'right'] / max(mixed, 1):.4f} of {mixed} named lines are right")
    print(f"people and bots: {1 - named / max(people, 1):.4f} unknown, n {people}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("prepare", "measure"))
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--features", type=Path)
    parser.add_argument("--branch", default="main")
    parser.add_argument("--only", default="", help="files whose path has this in it")
    options = parser.parse_args()
    if options.verb == "prepare":
        prepare(options.places[0], options.places[1], options.branch)
    else:
        measure(options.places[0], options.features, options.only)


if __name__ == "__main__":
    main()
