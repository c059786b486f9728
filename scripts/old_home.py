"""Builds homes as holdfast 0.1.0 leaves them, with the code of 0.1.0 itself: what every later version must open.

    python scripts/old_home.py DEST [--kind all|memory|hosts|installation]

DEST holds afterwards

    python/     an environment in which 0.1.0 is installed as pip would; replace python/…/site-packages/holdfast to upgrade
    home/       a home directory: agents' sessions and settings, ~/.holdfast with the memory
    shop/       a repository with memory, a shared ledger and lessons; shop-hotfix/ is a worktree of it
    notes/      a folder outside git with memory; clients/ is excluded by the personal configuration
    before/     the agents' files of home/ as they were before `holdfast install`
    shop.tar.gz what `holdfast export` wrote
    about.json  what is in all this, for those who look

Everything is dated by --day (default: yesterday) and not by the clock, as far as 0.1.0 lets itself be told the time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # run as a script
    sys.path.append(str(ROOT))

from scripts.old_home_sessions import Edit, Run, Story, write  # noqa: E402

VERSION_0_1_0 = "4d89c621bdb2823c733270765ec1c61778271b73"  # the one place that names it
HOSTS = ("claude-code", "codex", "copilot", "gemini", "opencode", "qwen", "cursor")
KINDS = {
    "all": "memory of every kind, and all hosts installed",
    "memory": "memory of every kind, no host installed",
    "hosts": "all hosts installed in a repository with one session",
    "installation": "only the environment with 0.1.0 in it",
}
LEFT_OUT = re.compile(r"_*(editable|holdfast|kingfisher)|.*\.pth$|__pycache__$")
# Read before a test has a home of its own.
CACHE = Path(os.environ.get("HOLDFAST_OLD_HOME") or Path.home() / ".cache" / "holdfast-old-home")


class NoHistory(Exception):
    """The commit cannot be had from this checkout."""


# --- the old code ----------------------------------------------------------------------------------------


def missing_history(cache: Path = CACHE, commit: str = VERSION_0_1_0) -> str:
    """Why the old code cannot be had here, in a line; '' where it can."""
    if _exported(cache, commit).is_dir():
        return ""
    if shutil.which("git") is None:
        return "git is not here, and the code of 0.1.0 comes out of the history"
    asked = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        return (
            f"history is too shallow: fetch it with `git fetch --unshallow`, or `git fetch origin {commit}`"
        )
    return ""


def _exported(cache: Path, commit: str) -> Path:
    return cache / f"{commit[:12]}-{sys.implementation.cache_tag}" / "holdfast"


def old_package(cache: Path = CACHE, commit: str = VERSION_0_1_0) -> Path:
    """The folder `holdfast` of that commit, exported and compiled once; whoever comes first makes it."""
    made = _exported(cache, commit)
    if made.is_dir():
        return made
    if problem := missing_history(cache, commit):
        raise NoHistory(problem)
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "src/holdfast"],
        capture_output=True,
        check=True,
    ).stdout
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(scratch, filter="data")
        package = Path(scratch, "src", "holdfast")
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(package)], check=True)
        whole = Path(scratch, "whole")
        whole.mkdir()
        package.rename(whole / "holdfast")
        with contextlib.suppress(OSError):  # another was faster
            whole.rename(made.parent)
    return made


class Installation:
    """An interpreter of its own with holdfast in its packages, as `pip install` leaves it: hooks name its files.

    What holdfast depends on comes from the interpreter that runs this script.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages")
        return found

    @property
    def package(self) -> Path:
        return self.packages / "holdfast"

    @classmethod
    def make(cls, folder: Path, package: Path) -> Self:
        import venv

        venv.EnvBuilder(symlinks=os.name != "nt", with_pip=False).create(folder)
        made = cls(folder)
        made._depend()
        made.put(package)
        return made

    def _depend(self) -> None:
        """Lets it see what else is installed here, without holdfast itself and the scanner, which is an extra."""
        theirs = list(dict.fromkeys(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")))
        if (
            os.name == "nt"
        ):  # a folder named in a .pth is searched after our own, and the .pth files in it are not read
            (self.packages / "dependencies.pth").write_text(
                "\n".join(map(str, theirs)) + "\n", encoding="utf-8"
            )
            return
        for path in (path for folder in theirs for path in folder.iterdir()):
            link = self.packages / path.name
            if not LEFT_OUT.match(path.name) and not link.exists():
                link.symlink_to(path)

    def put(self, package: Path) -> None:
        """Replaces what is installed, in its place: an upgrade."""
        if self.package.exists():
            shutil.rmtree(self.package)
        shutil.copytree(package, self.package)


# --- running it ------------------------------------------------------------------------------------------


def environment(home: Path) -> dict[str, str]:
    """What a process sees in such a home, and nothing of the machine that builds it."""
    env = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    env |= {"HOME": str(home), "USERPROFILE": str(home), "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONUTF8": "1"}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "Ada Example", f"GIT_{role}_EMAIL": "ada@example.org"}
    return env


# Loads the program once, and forks for each command: a command sees nothing of those before it but their files.
_DRIVER = """\
import importlib, json, os, pkgutil, sys, tempfile
from datetime import datetime
from holdfast.cli import main
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
if not json.loads(sys.argv[1]):
    import holdfast
    for found in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if not any(part in ("__main__", "mcp", "hook_entry") for part in found.name.split(".")):
            try:
                importlib.import_module(found.name)
            except ImportError:
                pass  # what an extra would be needed for
for line in sys.stdin:
    asked = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            code = 70
            try:
                for number, stream in ((1, out), (2, err)):
                    os.dup2(stream.fileno(), number)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.chdir(asked["cwd"])
                if asked["now"]:
                    from holdfast.app.wiring import Machine

                    now = datetime.fromisoformat(asked["now"])
                    Machine.now = staticmethod(lambda: now)
                try:
                    code = main.main(asked["words"])
                except SystemExit as end:
                    code = end.code or 0
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read().decode())
    print(json.dumps([code, *said]), flush=True)
"""
# What most commands load.
_LOADED = (
    "holdfast.app.importing",
    "holdfast.app.indexing",
    "holdfast.app.learning",
    "holdfast.app.preparing",
    "holdfast.app.searching",
    "holdfast.app.knowing",
    "holdfast.app.status",
    "holdfast.app.hosting",
    "holdfast.cli.lessons",
    "holdfast.cli.ledger",
    "holdfast.cli.memory_views",
)


class CommandFailed(Exception):
    """A command ended badly: the home cannot be built."""


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """The command line of the installed version. Where processes cannot be forked, each command is one of its own."""

    def __init__(
        self, installation: Installation, env: Mapping[str, str], cwd: Path, load: Sequence[str] = ()
    ) -> None:
        """`load` are modules that are loaded once for all commands; without any, all are."""
        self.installation, self.env, self.cwd, self.load = installation, dict(env), cwd, tuple(load)
        self.now: datetime | None = None
        self._driver: subprocess.Popen[str] | None = None

    def __call__(self, *words: str | Path, cwd: Path | None = None, check: bool = True) -> Said:
        said = self._ask([str(word) for word in words], cwd or self.cwd)
        if self.now is not None:
            self.now += timedelta(minutes=1)
        if check and said.code:
            raise CommandFailed(
                f"holdfast {' '.join(map(str, words))} ended with {said.code}: {said.err or said.out}"
            )
        return said

    def _ask(self, words: list[str], cwd: Path) -> Said:
        python = [str(self.installation.python), "-E", "-P"]
        if not hasattr(os, "fork"):
            done = subprocess.run(
                [*python, "-m", "holdfast", *words],
                cwd=cwd,
                env=self.env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            return Said(done.returncode, done.stdout, done.stderr)
        if self._driver is None:
            self._driver = subprocess.Popen(
                [*python, "-c", _DRIVER, json.dumps(self.load)],
                cwd=os.sep,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        assert self._driver.stdin is not None and self._driver.stdout is not None
        now = self.now.isoformat() if self.now else ""
        self._driver.stdin.write(json.dumps({"words": words, "cwd": str(cwd), "now": now}) + "\n")
        self._driver.stdin.flush()
        answer = self._driver.stdout.readline()
        if not answer:
            raise CommandFailed("the program does not start: see the lines above")
        return Said(*json.loads(answer))

    @property
    def process(self) -> int:
        """Of the program that waits for commands; 0 where there is none."""
        return self._driver.pid if self._driver is not None else 0

    def close(self) -> None:
        if self._driver is not None:
            self._driver.communicate()
            self._driver = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- what is built ---------------------------------------------------------------------------------------

NO_TARGET = "make: *** No rule to make target 'tests'.  Stop."
PASSED = "5 passed in 0.31s"
FORGOTTEN_WORD = "quagga"

REPOSITORY = {
    "README.md": "# Shop\n\nSells things. `make test` runs the tests.\n",
    "AGENTS.md": "# For agents\n\n- Keep functions short.\n",
    "Makefile": "test:\n\t@echo 5 passed\n\nlint:\n\t@echo fine\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "0.3"\ndependencies = ["flask"]\n',
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "def total(prices: list[int]) -> int:\n    return sum(prices)\n",
    "src/shop/refunds.py": "def refund(cents: int) -> int:\n    return -cents\n",
    "src/shop/rates.py": "def rate(country: str) -> float:\n    return 0.19\n",
    "services/billing/invoice.py": "def number(count: int) -> str:\n    return f'R-{count:05d}'\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total() -> None:\n    assert total([1, 2]) == 3\n",
    "tests/test_refunds.py": "from shop.refunds import refund\n\n\ndef test_refund() -> None:\n    assert refund(5) == -5\n",
}

# What a person wrote into files of the memory: it must be there, to the byte, after whatever comes.
HAND_EDITS = {
    "current.md": "\n## Thoughts of my own\n\nThe refund page needs a designer;  two blanks, and a tab:\there.\n",
    "reference.md": "\n## Kept by hand\n\n- The staging database is wiped on Sundays (ask Bela)\n",
    "log.md": "\n<!-- by hand: the week of the fair; nothing was released -->\n",
    "style.md": "\n- Answer in short sentences\n- No emoji — ever\n",
    "lesson": "\nBy hand: this one cost us a day, see the post-mortem.\n",
}

# As people have them before: comments, odd indents, hooks of others, no newline at the end.
HOST_FILES = {
    ".claude/settings.json": '{\n   "includeCoAuthoredBy": false,\n   "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}\n}',
    ".claude.json": '{"hasCompletedOnboarding": true, "theme": "dark"}\n',
    ".codex/config.toml": '# mine\nmodel = "gpt-5.5"   # the new one\n\n[tui]\nnotifications = true\n',
    ".copilot/mcp-config.json": '{\n\t"mcpServers": {"github": {"command": "gh-mcp", "args": []}}\n}\n',
    ".gemini/settings.json": '// mine\n{\n  // at night\n  "ui": {"theme": "Default"},\n  "security": {"folderTrust": {"enabled": false}}\n}\n',
    ".config/opencode/opencode.jsonc": '{\n  // which one\n  "model": "anthropic/claude-sonnet-4-5",\n}\n',
    ".qwen/settings.json": '{"ui": {"theme": "Ayu"}}',
    ".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": {"stop": [{"command": "true"}]}\n}\n',
    ".cursor/mcp.json": '{"mcpServers": {}}\n',
}
HOST_FOLDERS = (".claude", ".codex", ".copilot", ".gemini", ".config", ".qwen", ".cursor")


@dataclass
class OldHome:
    """The places of a home that was built here. `about` is what was put into it."""

    folder: Path
    about: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> Self:
        made = cls(folder)
        made.about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        return made

    @property
    def installation(self) -> Installation:
        return Installation(self.folder / "python")

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def repo(self) -> Path:
        return self.folder / "shop"

    @property
    def worktree(self) -> Path:
        return self.folder / "shop-hotfix"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def before(self) -> Path:
        return self.folder / "before"

    @property
    def archive(self) -> Path:
        return self.folder / "shop.tar.gz"

    @property
    def memory(self) -> Path:
        """Of the repository."""
        identity = (self.repo / ".git" / "holdfast-id").read_text(encoding="utf-8").strip()
        return self.home / ".holdfast" / "projects" / identity

    @property
    def env(self) -> dict[str, str]:
        return environment(self.home)

    def old(self) -> CommandLine:
        return CommandLine(self.installation, self.env, self.repo, _LOADED)


class Builder:
    """Builds one home, step by step; `tell` is told what is being done."""

    def __init__(self, folder: Path, noon: datetime, tell: Any = lambda _: None) -> None:
        self.made = OldHome(folder)
        self.noon, self.tell = noon, tell
        self.old = self.made.old()
        self.old.now = noon

    def build(self, kind: str) -> OldHome:
        made = self.made
        self.tell("installing 0.1.0")
        Installation.make(made.folder / "python", old_package())
        if kind != "installation":
            try:
                self._build(kind)
            finally:
                self.old.close()
        made.about["kind"] = kind
        made.about["commit"] = VERSION_0_1_0
        made.about["day"] = f"{self.noon:%Y-%m-%d}"
        text = json.dumps(made.about, indent=2, sort_keys=True)
        (made.folder / "about.json").write_text(text + "\n", encoding="utf-8")
        return made

    def _build(self, kind: str) -> None:
        self.tell("a repository")
        self._repository()
        self._host_files()
        if kind == "hosts":
            self._import(self.stories()[:1])
        else:
            self.tell("sessions of seven agents")
            self._import(self.stories())
            self._demo_sessions()
            self.tell("notes by hand")
            self._notes()
            self.tell("lessons")
            self._lessons()
            self.tell("a shared ledger, projects, a worktree")
            self._shared()
            self._projects()
            self.tell("a session is forgotten, files are edited by hand")
            self._forget()
            self._edit_by_hand()
            self._after_the_edits()
            self._switches()
        if kind != "memory":
            self.tell("seven hosts")
            self._hosts()
            self.tell("hooks")
            self._hooks()
        self.tell("an archive")
        self.old("know", "scan")
        self.old("index")
        self.old("export", self.made.archive)

    # --- the parts ---------------------------------------------------------------------------------------

    def stories(self) -> list[Story]:
        """Dated one after the other, the last one an hour before noon."""
        repo, hotfix = self.made.repo, self.made.worktree
        wrong, right = Run("make tests", NO_TARGET, 2), Run("make test", PASSED)
        told = [
            ("claude-code", "refund-rounding", repo, "main", "Fix the rounding of refunds in src/shop/refunds.py",
             (wrong, right, Edit("src/shop/refunds.py"), right),
             "Refunds are rounded in cents now.\n\nDecision: amounts are whole cents because floats drift.\n\n"
             "Next steps:\n- wire the refund endpoint\n- tell support about it"),
            ("codex", "cart-total", repo, "main", "Add a discount to the cart total",
             (wrong, right, Edit("src/shop/cart.py"), Edit("tests/test_cart.py"), right),
             "The cart takes a discount.\n\nNext steps:\n- show the discount on the receipt"),
            ("gemini", "rates-table", repo, "main", "Move the tax rates into a table",
             (Edit("src/shop/rates.py"), Run("python -m shop.rates", "ModuleNotFoundError: No module named 'shop'", 1),
              Run("PYTHONPATH=src python -m shop.rates", "19 rates"), right),
             "The rates are a table. Always run it with PYTHONPATH=src."),
            ("qwen", "invoice-number", repo, "main", "Invoice numbers need five digits in services/billing/invoice.py",
             (Edit("services/billing/invoice.py"), right), "Invoice numbers have five digits."),
            ("copilot", "refund-tests", repo, "payments", "Write tests for refunds of partial amounts",
             (Edit("tests/test_refunds.py"), Run("make test", "1 failed, 4 passed", 2), Edit("tests/test_refunds.py"), right),
             "The refund tests cover partial amounts.\n\nNext steps:\n- test refunds of zero"),
            ("opencode", "lint", repo, "main", "From now on always run make lint before you commit. Tidy the cart up.",
             (Edit("src/shop/cart.py"), Run("make lint", "fine")), "The cart is tidy."),
            ("cursor", "readme", repo, "main", "Never commit files under build/. Describe the refund endpoint in the README",
             (Edit("README.md"),), "The README describes it."),
            ("codex", "forget-me", repo, "main", f"Look into the {FORGOTTEN_WORD} contract",
             (Run(f"grep -rn {FORGOTTEN_WORD} src", "", 1),), f"There is no {FORGOTTEN_WORD} in the code."),
            ("claude-code", "hotfix", hotfix, "hotfix", "The export of invoices loses the last line",
             (Edit("services/billing/invoice.py"), right),
             "The last line is exported.\n\nNext steps:\n- merge the hotfix into main"),
        ]  # fmt: skip
        first = self.noon.timestamp() - 3600 * (len(told) + 1)
        return [
            Story(agent, name, first + 3600 * number, cwd, asked, steps, said, branch)
            for number, (agent, name, cwd, branch, asked, steps, said) in enumerate(told)
        ]

    def _git(self, *words: str, cwd: Path | None = None) -> None:
        date = f"{self.noon - timedelta(days=2):%Y-%m-%dT%H:%M:%S}+00:00"
        env = self.made.env | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        subprocess.run(
            ["git", *words], cwd=cwd or self.made.repo, env=env, check=True, stdout=subprocess.DEVNULL
        )

    def _repository(self) -> None:
        made = self.made
        made.home.mkdir(parents=True)
        for name, text in REPOSITORY.items():
            _write(made.repo / name, text)
        self._git("init", "--quiet", "--initial-branch=main", "--template=", ".")
        self._git("add", ".")
        self._git("commit", "--quiet", "-m", "A shop")
        self._git("branch", "payments")
        self._git("worktree", "add", "--quiet", "-b", "hotfix", str(made.worktree))
        _write(made.notes / "todo.txt", "buy paper\n")
        (made.folder / "clients" / "acme").mkdir(parents=True)
        _write(
            made.home / ".holdfast" / "config.toml",
            f'# mine\nexclude = ["{(made.folder / "clients").as_posix()}/**"]\n\n'
            '[projects]\n"services/billing/**" = "billing"\n',
        )

    def _import(self, stories: Sequence[Story]) -> None:
        for story in stories:
            path = write(story, self.made.home)
            os.utime(path, (story.end, story.end))
        self.old("import", "--quiet")
        self.made.about["sessions"] = {story.name: story.session for story in stories}

    def _demo_sessions(self) -> None:
        """Those of `holdfast demo`, moved to the week before."""
        source = self.made.installation.package / "demo_sessions"
        target = self.made.home / "demo"
        days = (self.noon - datetime(2026, 11, 12, 12, tzinfo=UTC)).days - 1

        def moved(found: re.Match[str]) -> str:
            return f"{datetime.fromisoformat(found[0]) + timedelta(days=days):%Y-%m-%dT%H:%M:%S}"

        for path in sorted(source.rglob("*.jsonl")):
            text = path.read_text(encoding="utf-8")
            _write(target / path.relative_to(source), re.sub(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d", moved, text))
        self.old("import", "--quiet", target)

    def _notes(self) -> None:
        old = self.old
        port = old(
            "fact", "add", "The shop listens on port 8080", "--evidence", "listening on :8080", "--json"
        )
        old("fact", "add", "Invoices are kept ten years", "--evidence", "section 147", "--command", "cat LAW")
        gone = old("fact", "add", "The staging host is stage-2", "--evidence", "ssh stage-2", "--json").json()
        old("fact", "change", _id(port.json()), "The shop listens on port 9090", "--evidence", "on :9090")
        old("fact", "retire", _id(gone), "--because", "it was sold")
        old(
            "decide", "Refunds go through the ledger service", "--because", "audits need one place", "--by", "user"
        )  # fmt: skip
        npm = old("decide", "Use npm for the web shop", "--because", "habit", "--by", "user", "--json").json()
        old("decide", "retire", _id(npm))
        old("ask", "Which region do we deploy the shop to?")
        old("answer", "Which region do we deploy the shop to?", "eu-west-1", "--by", "user")
        old("ask", "Who signs the contract with the carrier?")
        old(
            "todo", "add", "Rotate the webhook key", "--priority", "high", "--owner", "user",
            "--because", "it leaked",
        )  # fmt: skip
        old("todo", "add", "Order new boxes")
        paid = old("todo", "add", "Pay the domain", "--json").json()
        old("todo", "done", _id(paid))
        old("handoff", "Wire the refund endpoint, then delete rates_old.py", "--by", "user")
        old("fact", "add", "The printer is in room 7", "--evidence", "a sign", cwd=self.made.notes)
        old("todo", "add", "Water the plants", cwd=self.made.notes)

    def _lessons(self) -> None:
        old, about = self.old, self.made.about
        add = ("lessons", "add")
        old(
            *add,
            "money",
            "--rule",
            "refund amounts are whole cents, never floats",
            "--fingerprint",
            "src/shop/refunds.py",
        )
        old(*add, "tests", "--rule", "run `make test`, never pytest itself", "--fingerprint", "Makefile")
        old(*add, "noisy", "--rule", "the first run of `make lint` is slow")
        old(*add, "manners", "--rule", "write commit messages that say why", "--personal")
        old(*add, "unwanted", "--rule", "use tabs everywhere")
        old(*add, "invoices", "--rule", "invoice numbers never have gaps")
        old("lessons", "mute", "noisy")
        old("lessons", "reject", "unwanted")
        old("lessons", "share", "tests")
        _write(
            self.made.repo / ".holdfast" / "lessons" / "theirs.md",
            "---\nname: theirs\ndescription: Somebody else's\n---\n- deploy on Fridays only\n",
        )
        learned = [
            one["name"] for one in _items(old("lessons", "list", "--state", "candidate", "--json").json())
        ]
        about["candidates"] = learned
        for verb, name in zip(("promote", "reject"), learned, strict=False):
            old("lessons", verb, name)
            about[f"{verb}d" if verb == "promote" else "rejected"] = name

    def _shared(self) -> None:
        self.old("ledger", "add", "--session", "by-hand-1", "--goal", "negotiate with the carrier", "--outcome", "done",
                 "--time", f"{self.noon - timedelta(days=3):%Y-%m-%dT%H:%M:%S}+00:00")  # fmt: skip
        self.old("ledger", "share")
        self._git("add", ".holdfast")
        self._git("commit", "--quiet", "-m", "Share the ledger and a lesson")

    def _projects(self) -> None:
        self.old("project", "use", "payments", "--branch", "payments")
        self.old("handoff", "Finish the payments form", "--branch", "payments", "--by", "user")
        self.old("todo", "add", "Tell Bela about the hotfix", cwd=self.made.worktree)

    def _forget(self) -> None:
        self.old("forget", "--session", self.made.about["sessions"]["forget-me"], "--yes")
        self.old("forget", "--text", "section 147", "--yes")

    def _edit_by_hand(self) -> None:
        memory = self.made.memory
        place = {
            "current.md": memory / "current.md",
            "style.md": memory / "style.md",
            "reference.md": memory / "projects" / "shop" / "reference.md",
            "log.md": memory / "projects" / "shop" / "log.md",
            "lesson": memory / "lessons" / "money.md",
        }
        for name, path in place.items():
            with path.open("a", encoding="utf-8", newline="") as file:
                file.write(HAND_EDITS[name])
        self.made.about["edited"] = {
            name: path.relative_to(memory).as_posix() for name, path in place.items()
        }

    def _after_the_edits(self) -> None:
        """Changes on top of a person's words: what `undo` takes back, and what it must leave."""
        self.old("todo", "add", "Send the parcel scales back")
        self.old("decide", "Parcels are weighed twice", "--because", "the carrier does", "--by", "user")

    def _switches(self) -> None:
        quiet = self.made.repo / "experiments"
        quiet.mkdir()
        self.old("init", "--yes", "--no-wire", "--no-import", "--no-scan")
        self.old("off", cwd=quiet)

    def _host_files(self) -> None:
        for name, text in HOST_FILES.items():
            _write(self.made.home / name, text)

    def _hosts(self) -> None:
        made = self.made
        shutil.copytree(made.home, made.before, ignore=shutil.ignore_patterns(".holdfast"), symlinks=True)
        self.old("install", *HOSTS, "--yes", "--status-line", "--commands")
        for host in ("claude-code", "gemini"):
            self.old("plugin", host)

    def _hooks(self) -> None:
        """A session that was told something by 0.1.0, and left no transcript."""
        settings = json.loads((self.made.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        payload = {"session_id": "0e1d0000-0000-4000-8000-000000000001", "cwd": str(self.made.repo),
                   "transcript_path": str(self.made.home / "none.jsonl"), "source": "startup",
                   "prompt": "Implement the refund endpoint: refunds go through the ledger service"}  # fmt: skip
        for event in ("SessionStart", "UserPromptSubmit"):
            (command,) = [
                hook["command"]
                for group in settings["hooks"][event]
                for hook in group["hooks"]
                if "holdfast" in hook["command"]
            ]
            subprocess.run(
                command, shell=True, cwd=self.made.repo, env=self.made.env, check=True,
                input=json.dumps({**payload, "hook_event_name": event}).encode(), stdout=subprocess.DEVNULL,
            )  # fmt: skip
        for letter in (
            self.made.memory / "inbox"
        ).iterdir():  # whether it goes on would depend on who built this
            letter.unlink()


def _items(value: Any) -> list[dict[str, Any]]:
    """The list in an answer, whatever it is wrapped in."""
    if isinstance(value, dict):
        value = next(part for part in value.values() if isinstance(part, list))
    return list(value)


def _id(value: Any) -> str:
    """The first id in an answer."""
    found = re.search(r'"id": ?"([A-Z]-[a-z0-9]+)"', json.dumps(value))
    assert found is not None, value
    return found[1]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def build(folder: Path, kind: str = "all", day: str = "", tell: Any = lambda _: None) -> OldHome:
    """Builds a home of this kind in a folder that is not there yet, or is empty."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.fromisoformat(day) if day else datetime.now(UTC) - timedelta(days=1)
    noon = datetime(date.year, date.month, date.day, 12, tzinfo=UTC)
    return Builder(folder.resolve(), noon, tell).build(kind)


@contextlib.contextmanager
def progress() -> Iterator[Any]:
    began = datetime.now(UTC)

    def tell(what: str) -> None:
        passed = (datetime.now(UTC) - began).total_seconds()
        print(f"{passed:5.1f} s  {what} …", file=sys.stderr, flush=True)

    yield tell


def main() -> int:
    kinds = "\n".join(f"  {name:<14}{about}" for name, about in KINDS.items())
    parser = argparse.ArgumentParser(
        description=f"Builds a home as holdfast 0.1.0 leaves it, with the code of {VERSION_0_1_0[:7]}.",
        epilog=f"kinds:\n{kinds}\n\nThe code of 0.1.0 is exported once into {CACHE} (HOLDFAST_OLD_HOME moves it).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dest", metavar="DEST", type=Path, help="a folder that is not there yet, or is empty")
    parser.add_argument("--kind", choices=KINDS, default="all", help="what is built (default: all)")
    parser.add_argument("--day", default="", help="the day it is dated by, YYYY-MM-DD (default: yesterday)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    given = parser.parse_args()
    try:
        with progress() as tell:
            made = build(given.dest, given.kind, given.day, (lambda _: None) if given.quiet else tell)
    except (NoHistory, FileExistsError, CommandFailed, ValueError) as error:
        print(f"old_home: {error}", file=sys.stderr)
        return 1
    print(made.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
