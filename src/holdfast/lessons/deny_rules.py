"""A lesson as a rule for an agent's own guard, or as a check before a commit. holdfast itself refuses nothing.

Only what a host can decide by the first words of a command becomes a rule: one simple command that fails here, whose
remedy begins otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from holdfast.core.shell import simple_commands
from holdfast.model.lesson import Lesson, failing_call, failing_command

Target = Literal["claude", "codex", "gemini", "pre-commit"]
TARGETS: tuple[Target, ...] = ("claude", "codex", "gemini", "pre-commit")
PLACES: dict[Target, str] = {
    "claude": ".claude/settings.local.json (or ~/.claude/settings.json)",
    "codex": "~/.codex/rules/holdfast.rules",
    "gemini": "~/.gemini/policies/holdfast.toml",
    "pre-commit": ".pre-commit-config.yaml, below `repos:`",
}
# Files that run commands: scripts, tasks, workflows. Prose may name what does not work.
RUNS_COMMANDS = r"(^|/)([Mm]akefile|GNUmakefile|[Dd]ockerfile|[Jj]ustfile)$|\.(sh|bash|zsh|mk|ps1|ya?ml)$"


class DenyRule(Struct, frozen=True, kw_only=True):
    """Commands that begin with these words, why they are denied, and what to run instead."""

    words: tuple[str, ...]
    reason: str
    instead: str = ""

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def message(self) -> str:
        return f"{self.reason}; use `{self.instead}`" if self.instead else self.reason

    @property
    def pattern(self) -> str:
        """Matches a line of a file that runs it."""
        words = r"\s+".join(re.escape(word) for word in self.words)
        return rf"(^|[\s;&|(`@-]){words}($|[\s;&|)`])"

    def denies(self, command: str) -> bool:
        """Whether a host that denies these words refuses the command: hosts look at each part of a line."""
        return any(part.words[: len(self.words)] == self.words for part in simple_commands(command))


class NoDenyRule(Struct, frozen=True):
    """Why a rule of a lesson cannot be a deny rule."""

    rule: str
    reason: str


def deny_rules(lesson: Lesson) -> tuple[list[DenyRule], list[NoDenyRule]]:
    """The rules of a lesson that a host can enforce by words, and the others with the reason."""
    found: list[DenyRule] = []
    others: list[NoDenyRule] = []
    for rule in lesson.rules:
        made = _deny_rule(rule)
        if isinstance(made, DenyRule):
            found.append(made)
        else:
            others.append(NoDenyRule(rule, made))
    return found, others


def _deny_rule(rule: str) -> DenyRule | str:
    call = failing_call(rule)
    tried, how, instead = call if call is not None else (failing_command(rule), "it fails here", "")
    if not tried:
        return "it names no command that fails here"
    parts = simple_commands(tried)
    if len(parts) != 1 or not parts[0].words or parts[0].directory or parts[0].variables:
        return f"`{tried}` is more than one plain command"
    words = parts[0].words
    new = DenyRule(words=words, reason=f"`{' '.join(words)}` fails here ({how})", instead=instead)
    if instead and new.denies(instead):
        return f"it would deny `{instead}` too, which works"
    return new


def render(rules: Iterable[DenyRule], target: Target) -> str:
    """The rules as the host reads them."""
    rules = list(rules)
    if target == "claude":
        return json.dumps({"permissions": {"deny": [f"Bash({rule.text}:*)" for rule in rules]}}, indent=2)
    return "\n".join(_RENDERED[target](rule) for rule in rules)


def _codex(rule: DenyRule) -> str:
    quoted = ", ".join(json.dumps(word) for word in rule.words)
    return (
        f'prefix_rule(\n    pattern = [{quoted}],\n    decision = "forbidden",\n'
        f"    justification = {json.dumps(rule.message, ensure_ascii=False)},\n)"
    )


def _gemini(rule: DenyRule) -> str:
    return (
        f'[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = {json.dumps(rule.text)}\ndecision = "deny"\n'
        f"priority = 500\ndenyMessage = {json.dumps(rule.message, ensure_ascii=False)}\n"
    )


def _pre_commit(rule: DenyRule) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", rule.text.lower()).strip("-")
    return (
        f"- repo: local\n  hooks:\n    - id: holdfast-{name}\n      name: {_yaml(rule.message)}\n"
        f"      language: pygrep\n      entry: {_yaml(rule.pattern)}\n      files: {_yaml(RUNS_COMMANDS)}\n"
    )


def _yaml(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_RENDERED = {"codex": _codex, "gemini": _gemini, "pre-commit": _pre_commit}
