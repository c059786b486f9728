"""What a source of live context is, and what it may look at."""

from __future__ import annotations

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Value = dict[str, str]
    """What a source found: named texts in its own order. Empty: there is nothing to say."""

REST_S = 300.0
"""How long a source that takes work is left alone after it was loaded, where nobody asked."""
LONGEST_LINE = 300


class Here:
    """The place and the moment that sources are asked about; they read neither the clock nor the environment."""

    __slots__ = ("cwd", "env", "home", "knowledge", "memory", "now", "root")

    def __init__(
        self,
        *,
        cwd: str,
        root: str,
        home: str,
        now: float,
        env: Mapping[str, str],
        memory: str = "",
        knowledge: Callable[[], object] | None = None,
    ) -> None:
        self.cwd = cwd
        self.root = root  # the top of the work tree, or the directory outside git
        self.home = home
        self.now = now
        self.env = env
        self.memory = memory  # the project's memory; '' where nothing was ever kept
        self.knowledge = knowledge  # what is kept as knowledge of the repository, read when it is asked for


class Source:
    """One kind of context. `key` and `load` are its own; the rest has a plain form that a source may better."""

    key = ""
    rest = 0.0
    whole = True
    """Whether the last `load` found all there is. What was not told in time is asked for again, whatever the stamp."""

    def stamp(self, here: Here) -> str:
        """Cheap to get, and another one when `load` would give something else. '' is never the same."""
        return ""

    def load(self, here: Here) -> Value:
        raise NotImplementedError

    def summary(self, value: Value) -> str:
        """One line."""
        return "; ".join(f"{name} {text}" if text else name for name, text in value.items())

    def render(self, value: Value) -> str:
        """All of it."""
        return "\n".join(f"{name}: {text}" for name, text in value.items())

    def render_update(self, old: Value, new: Value) -> str:
        """One line: what is different."""
        return "; ".join(differences(old, new))

    def render_removal(self, old: Value) -> str:
        """One line: what is gone."""
        return f"gone: {self.summary(old)}"


def differences(old: Value, new: Value) -> list[str]:
    """`name: was → is` for each text that differs."""
    found = []
    for name in [*new, *(name for name in old if name not in new)]:
        was, now = old.get(name, ""), new.get(name, "")
        if was != now:
            found.append(f"{name}: {one_line(was, 80) or 'none'} → {one_line(now, 80) or 'none'}")
    return found


def one_line(text: str, limit: int = LONGEST_LINE) -> str:
    flat = " ".join(text[: 4 * limit].split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
