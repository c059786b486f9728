"""Whether a session had to find the command that does a job: only then would knowing it have saved a call."""

from __future__ import annotations

from holdfast.distill.harvest_prose import mentions
from holdfast.distill.harvest_state import Gathered
from holdfast.distill.lesson_words import purpose_of
from holdfast.distill.shell_line import Simple, simple_commands
from holdfast.model.guides import may_be_guide
from holdfast.text.sought import Sought

# Called in a wrong way; what fails on formatting, or for want of a module, was the right command.
_MISCALLED = frozenset(["program", "task", "command", "target", "flag", "place", "usage"])
RECENT = 4  # calls between a look and the command that it was for
_DEFINED_IN = Sought(
    r"(?:^|[\s/\"'])(?:package\.json|[Mm]akefile|GNUmakefile|\.?mise(?:\.local)?\.toml|mise-tasks|\.?[Jj]ustfile"
    r"|[Tt]askfile\.ya?ml|[Rr]akefile|composer\.json|deno\.jsonc?|turbo\.json|nx\.json|noxfile\.py|tox\.ini"
    r"|pyproject\.toml|CONTRIBUTING\.\w+|README\.\w+|\.github/workflows|lefthook\.ya?ml|hk\.pkl)(?=$|[\s\"'/:])",
    words="package.json|akefile|mise|ustfile|askfile.y|composer.json|deno.json|turbo.json|nx.json|noxfile.py|tox.ini"
    "|pyproject.toml|CONTRIBUTING.|README.|.github/workflows|lefthook.y|hk.pkl",
)
_LISTS = Sought(
    r"\bmise (?:tasks|run\s*(?:$|[|&;2])|ls)|\b(?:npm|bun|pnpm|yarn) run\s*(?:$|[|&;2])|\bmake (?:-n|help)\b"
    r"|\bjust (?:--list|-l)\b|\btask (?:--list|-l|-a)\b|\brake -T\b|(?:^|\s)--help\b",
    words="mise tasks|mise run|mise ls|npm run|bun run|yarn run|make -n|make help|just -|task -|rake -T|--help",
)
_READING = ("cat ", "head ", "tail ", "sed ", "grep ", "rg ", "jq ", "less ", "bat ")


def looks_up(action: str, target: str) -> bool:
    """Whether a call looks where commands are defined. A guide is no such place: what it says is known."""
    if action == "read":
        return bool(_DEFINED_IN.search(target)) and not may_be_guide(target)
    if action != "shell" or len(target) > 600:
        return False
    return bool(_LISTS.search(target)) or (
        any(sign in target for sign in (".", "akefile", "ustfile", "mise-tasks"))
        and _reads_definition(target)
    )


def _reads_definition(command: str) -> bool:
    return mentions(command, _READING) and bool(_DEFINED_IN.search(command))


def was_sought(state: Gathered, command: str, purpose: str) -> bool:
    """Whether this session looked for what does a job just now, or called something else for it in vain."""
    if state.looked_at and state.calls - state.looked_at <= RECENT:
        return True
    for slip in state.slips:
        if slip.cause in _MISCALLED and slip.part is not None and _is_another(slip.part, command, purpose):
            return True
    for item in state.stumbles.values():
        if item.cause in _MISCALLED and item.instead and not _holds(item.tried, command):
            parts = simple_commands(item.tried)
            if item.instead == command or any(_is_another(part, command, purpose) for part in parts):
                return True
    return False


def _is_another(part: Simple, command: str, purpose: str) -> bool:
    """Whether a call was for the same job by another name; the command itself behind a wrapper was known."""
    return bool(part.words) and not _holds(part.text, command) and purpose_of(part) == purpose


def _holds(text: str, command: str) -> bool:
    return f" {command} " in f" {text} "
