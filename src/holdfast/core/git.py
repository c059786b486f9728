"""The only code that runs git: bounded in time and output, and without running programs that a repository configures.

A repository may be untrusted, and the caller may be a git hook of another one. So the variables that redirect git are
not passed on, and the repository's hooks, file watcher, pager, diff program, filters and remotes are disabled. Only
`git_complaint`, which changes a repository for its owner, lets git run their hooks, and only `reach_with_git` lets it
talk to other machines: from a repository of ours, with the user's credentials.
Light enough for hooks: `subprocess`, whose import takes longer than git itself, is imported where it is needed.
"""

from __future__ import annotations

import os
import time

from holdfast.core.place import find_checkout
from holdfast.core.reading import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from subprocess import Popen
    from threading import Timer
    from typing import IO

MOST_BYTES = 1_000_000
_MOST_CONFIG_BYTES = 1_000_000
_MOST_TEXT_BYTES = 100_000_000
_MOST_COMPLAINT_BYTES = 10_000
_TEXT_SECONDS = 20.0
_SIGKILL = 9
_PIPE_AND_SIZE = (13, 25)  # SIGPIPE and SIGXFSZ: Python ignores them, the hooks that git runs must not
_SAFE = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "log.showSignature=false", "-c", "protocol.allow=never"),
)
_SAFE_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # overrides the configuration: nothing is fetched, not even missing objects
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# The committer and the user's own configuration file: nothing that a repository could have set.
_PASSED_ON = (
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
# How this user reaches other machines.
_ONLINE = ("GIT_SSH", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_SSL_", "GIT_HTTP_")
_ONLINE_PROTOCOLS = "https:ssh:git:file"  # not ext, which runs what an address says
_MOST_ANSWERED = 4_000_000
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")
_NO_SUBMODULES = ("--ignore-submodules=all",)  # git would run in them with their configuration
_OPTIONS = {
    "blame": ("--no-textconv",),
    "diff": (*_PLAIN_DIFF, *_NO_SUBMODULES),
    "log": _PLAIN_DIFF,
    "show": _PLAIN_DIFF,
    "status": _NO_SUBMODULES,
}
_FILTERING = (
    "blame",
    "diff",
    "status",
)  # these pass files of the work tree through the filters of .gitattributes


class Answer:
    """The output of git. `code` is None when git could not be run or was stopped: `late`, or `cut` at the limit."""

    __slots__ = ("code", "complaint", "cut", "data", "late")

    def __init__(self, data: bytes, complaint: bytes, code: int | None, *, late: bool, cut: bool) -> None:
        self.data = data
        self.complaint = complaint.decode("utf-8", "replace").strip().partition("\n")[0]
        self.code = code
        self.late = late
        self.cut = cut

    @property
    def whole(self) -> bool:
        return self.code == 0

    @property
    def usable(self) -> bool:
        """Whether git succeeded, or was cut off because it printed more than requested."""
        return self.cut or self.code == 0


def run_git(
    root: str | os.PathLike[str],
    *arguments: str,
    seconds: float,
    most_bytes: int = MOST_BYTES,
    env: Mapping[str, str] = os.environ,
    is_git_dir: bool = False,
) -> Answer:
    """Runs a read-only git command; `root` is a work tree, or a git directory."""
    command, variables = _command(os.fspath(root), arguments, is_git_dir), _environment(env)
    if arguments[0] in _FILTERING:
        filters = _filters_of(os.fspath(root), variables, seconds)
        if filters is None:
            return Answer(
                b"", b"the filters of this repository cannot be listed", None, late=False, cut=False
            )
        variables |= filters
    return _answer(command, variables, seconds, most_bytes)


def ask_git(
    root: str | os.PathLike[str],
    arguments: tuple[str, ...],
    env: Mapping[str, str],
    limit: float,
    most_bytes: int = MOST_BYTES,
) -> bytes | None:
    """The output of git; None when it could not be run, failed or took too long."""
    answer = run_git(root, *arguments, seconds=limit, most_bytes=most_bytes, env=env)
    return answer.data if answer.usable else None


def git_text(root: str | os.PathLike[str], *arguments: str) -> str:
    """The output of git as text; '' without git, a repository or a commit."""
    answer = run_git(root, *arguments, seconds=_TEXT_SECONDS, most_bytes=_MOST_TEXT_BYTES)
    text = answer.data.decode("utf-8", "replace") if answer.whole else ""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def git_complaint(root: str | os.PathLike[str], *arguments: str) -> str:
    """Runs git for its effect, with the owner's hooks and filters; returns '' on success, else git's message."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(root), *arguments]
    answer = _answer(command, _passed_on(os.environ), _TEXT_SECONDS, _MOST_TEXT_BYTES)
    if answer.code is None:
        return "git cannot be run"
    return "" if answer.code == 0 else answer.complaint or f"exit code {answer.code}"


def start_git(
    git_dir: str | os.PathLike[str], *arguments: str, stdin: int, stdout: int | IO[bytes]
) -> Popen[bytes]:
    """Starts a git process to communicate with, or one that writes its output to a file."""
    import subprocess

    command = _command(os.fspath(git_dir), arguments, is_git_dir=True)
    return subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, env=_environment(os.environ)
    )


def reach_with_git(
    git_dir: str | os.PathLike[str],
    *arguments: str,
    env: Mapping[str, str],
    quiet_seconds: float,
    may_ask: bool = False,
) -> Answer:
    """Runs a git command that talks to another machine, from a bare repository of ours: its configuration is ours.

    It is stopped when nothing happens for `quiet_seconds`. `complaint` is the end of what it printed, with all lines.
    """
    online = {name: value for name, value in env.items() if name.startswith(_ONLINE)}
    variables = _environment(env) | online | {"GIT_ALLOW_PROTOCOL": _ONLINE_PROTOCOLS}
    if may_ask:
        del variables["GIT_TERMINAL_PROMPT"]
    else:  # no window may open for a password either
        variables |= {"SSH_ASKPASS_REQUIRE": "never", "GIT_ASKPASS": "", "GCM_INTERACTIVE": "never"}
        variables.pop("SSH_ASKPASS", None)
    return _conversed(os.fspath(git_dir), arguments, variables, quiet_seconds, may_ask, ())


def feed_git(
    git_dir: str | os.PathLike[str], *arguments: str, stdin: Iterable[bytes], quiet_seconds: float
) -> Answer:
    """Runs a git command of any length on a bare repository of ours, with input."""
    variables = _environment(os.environ)
    return _conversed(os.fspath(git_dir), arguments, variables, quiet_seconds, False, stdin)


def _conversed(
    git_dir: str,
    arguments: tuple[str, ...],
    variables: dict[str, str],
    quiet_seconds: float,
    may_ask: bool,
    stdin: Iterable[bytes],
) -> Answer:
    from holdfast.core.remote_process import RemoteProcess

    command = _command(git_dir, arguments, is_git_dir=True)
    data = bytearray()
    try:
        with RemoteProcess(command, variables, quiet_seconds, may_ask=may_ask, stdin=stdin) as process:
            while (part := process.read()) and len(data) <= _MOST_ANSWERED:
                data += part
            cut = len(data) > _MOST_ANSWERED
            code = None if cut else process.wait()
            complaint, late = process.complaint, process.late
    except OSError as error:
        complaint, code, late, cut = str(error), None, False, False
    answer = Answer(bytes(data), b"", code, late=late, cut=cut)
    answer.complaint = complaint
    return answer


class GitStream:
    """The output of a long git command, piece by piece. `whole` is True once all of it was read and git succeeded.

    Git is stopped once it says nothing for `seconds`: a history of any length may take its time, a stuck disk may not.
    """

    def __init__(
        self, git_dir: str | os.PathLike[str], *arguments: str, seconds: float, stdin: bytes = b""
    ) -> None:
        self._git_dir = git_dir
        self._arguments = arguments
        self._seconds = seconds
        self._stdin = stdin
        self.whole = False

    def __iter__(self) -> Iterator[bytes]:
        import subprocess
        from threading import Thread

        where = subprocess.PIPE if self._stdin else subprocess.DEVNULL
        try:
            process = start_git(self._git_dir, *self._arguments, stdin=where, stdout=subprocess.PIPE)
        except (OSError, ValueError):
            return
        assert process.stdout is not None
        if process.stdin is not None:  # by a thread: git answers before it has read everything
            Thread(target=_write_all, args=(process.stdin, self._stdin), daemon=True).start()
        deadline = _timer(self._seconds, process.kill)  # portable: not every platform can wait for a pipe
        try:
            with process.stdout:
                while part := os.read(process.stdout.fileno(), 262_144):
                    deadline.cancel()
                    yield part
                    deadline = _timer(self._seconds, process.kill)
            self.whole = process.wait() == 0
        finally:
            deadline.cancel()
            if process.poll() is None:
                process.kill()
            process.wait()


def _timer(seconds: float, action: Callable[[], None]) -> Timer:
    from threading import Timer

    timer = Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    try:
        with pipe:
            pipe.write(data)
    except OSError:  # git ended before it had read all
        pass


def _command(root: str, arguments: tuple[str, ...], is_git_dir: bool) -> list[str]:
    place = ("--no-replace-objects", f"--git-dir={root}") if is_git_dir else ("-C", root)
    return ["git", *_SAFE, *place, arguments[0], *_OPTIONS.get(arguments[0], ()), *arguments[1:]]


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    return _passed_on(env) | _SAFE_ENVIRONMENT


def _passed_on(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in env.items()
        if not name.startswith("GIT_") or name.startswith(_PASSED_ON)
    }


def _filters_of(root: str, env: dict[str, str], seconds: float) -> dict[str, str] | None:
    """Variables that disable the filters of the repository's own configuration; None when they cannot be listed.

    Filters in the user's own configuration, such as Git LFS, stay: without them their files would count as changed.
    """
    checkout = find_checkout(root)
    files = ((checkout.common, "config"), (checkout.private, "config.worktree")) if checkout else ()
    texts = ((text_of(os.path.join(*file), _MOST_CONFIG_BYTES) or "").lower() for file in files)
    if not any("filter" in text or "include" in text for text in texts):
        return {}
    question = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    answer = _answer(_command(root, question, is_git_dir=False), env, seconds, _MOST_CONFIG_BYTES)
    if answer.code not in (0, 1):
        return None
    words = os.fsdecode(answer.data).split("\0")
    filters = {
        name.rpartition(".")[0]
        for scope, name in zip(words[::2], words[1::2], strict=False)
        if scope in ("local", "worktree")
    }
    values = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    variables = [(f"{name}.{key}", value) for name in sorted(filters) for key, value in values]
    off = {"GIT_CONFIG_COUNT": str(len(variables))}
    for at, (key, value) in enumerate(variables):
        off |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return off


def _answer(command: list[str], env: dict[str, str], seconds: float, most_bytes: int) -> Answer:
    try:
        run = _spawned if hasattr(os, "posix_spawnp") else _run
        return run(command, env, seconds, most_bytes)
    except (OSError, ValueError) as error:
        return Answer(b"", str(error).encode(), None, late=False, cut=False)


def _run(command: list[str], env: dict[str, str], seconds: float, most_bytes: int) -> Answer:
    import subprocess

    try:
        done = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        return Answer((error.stdout or b"")[:most_bytes], b"took too long", None, late=True, cut=False)
    return Answer(
        done.stdout[:most_bytes], done.stderr, done.returncode, late=False, cut=len(done.stdout) > most_bytes
    )


def _spawned(command: list[str], env: dict[str, str], seconds: float, most_bytes: int) -> Answer:
    """The same without `subprocess`, and stopped as soon as enough has been read."""
    import select

    pipes = [os.pipe(), os.pipe()]
    output, complaints = pipes[0][0], pipes[1][0]
    read = {output: bytearray(), complaints: bytearray()}
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, pipes[0][1], 1),
            (os.POSIX_SPAWN_DUP2, pipes[1][1], 2),
        ]
        process = os.posix_spawnp(command[0], command, env, file_actions=actions, setsigdef=_PIPE_AND_SIZE)
    except BaseException:
        os.close(output)
        os.close(complaints)
        raise
    finally:
        os.close(pipes[0][1])
        os.close(pipes[1][1])
    deadline = time.monotonic() + seconds
    waiting, late, cut = list(read), False, False
    try:
        while waiting and not cut:
            left = deadline - time.monotonic()
            ready = select.select(waiting, [], [], left)[0] if left > 0 else []
            if late := not ready:
                break
            for pipe in ready:
                if not (part := os.read(pipe, 65_536)):
                    waiting.remove(pipe)
                elif pipe == output or len(read[pipe]) < _MOST_COMPLAINT_BYTES:
                    read[pipe] += part
            cut = len(read[output]) > most_bytes
    finally:
        os.close(output)
        os.close(complaints)
        if waiting:
            os.kill(process, _SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    data, complaint = bytes(read[output][:most_bytes]), bytes(read[complaints])
    return Answer(data, complaint, None if waiting else code, late=late, cut=cut)
