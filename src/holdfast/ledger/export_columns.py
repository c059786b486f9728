"""The columns of an export: their stable names and types, and a row with them."""

from __future__ import annotations

from typing import Any

from holdfast.model.ledger import LedgerEntry

# name, type (as Parquet will have it), what it says. Only ever added to; docs/contributing/ledger-format.md has them.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("session", "string", "the agent's own id of the session"),
    ("timestamp", "timestamp", "when it began, UTC"),
    ("recorded", "timestamp", "when the row was written, UTC"),
    ("agent", "string", "the coding agent"),
    ("provider", "string", "who served the model"),
    ("model", "string", "the model that did the work"),
    ("kind", "string", "the sort of work: feature, bugfix, refactor, …"),
    ("complexity", "string", "trivial, simple, moderate or complex"),
    ("project_type", "string", "the project's main language"),
    ("framework", "string", "what the project is built with"),
    ("goal", "list", "keywords of what it was about"),
    ("tasks", "integer", "tasks in all"),
    ("failed", "integer", "tasks that failed"),
    ("skipped", "integer", "tasks left open"),
    ("failures", "list", "a reason for each failed task"),
    ("outcome", "string", "how it ended"),
    ("commits", "integer", "commits made"),
    ("cost_usd", "number", "dollars; empty is unknown"),
    ("duration_s", "integer", "seconds of work"),
    ("input_tokens", "integer", "input tokens that were not cached"),
    ("output_tokens", "integer", "tokens written by the model"),
    ("cache_read_tokens", "integer", "tokens read from the cache"),
    ("cache_write_tokens", "integer", "tokens written to the cache"),
    ("usage", "string", "incomplete or missing where the transcript shows it: cost and tokens are too low"),
    ("clock", "string", "the stamp that orders the rows of a session"),
)
NAMES = tuple(name for name, _, _ in COLUMNS)


def flat(entry: LedgerEntry) -> dict[str, Any]:
    """One row with the stable column names; None is unknown, and so is a count that no other program could hold."""
    return {name: portable(value) for name, value in _values(entry).items()}


def portable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [portable(word) for word in value]
    return None if isinstance(value, int) and not -(2**63) < value < 2**63 else value


def _values(entry: LedgerEntry) -> dict[str, Any]:
    tokens = entry.tokens
    return {
        "session": entry.session,
        "timestamp": entry.timestamp,
        "recorded": entry.recorded,
        "agent": entry.agent,
        "provider": entry.provider,
        "model": entry.model,
        "kind": entry.kind,
        "complexity": entry.complexity,
        "project_type": entry.project_type,
        "framework": entry.framework,
        "goal": list(entry.goal),
        "tasks": entry.tasks,
        "failed": entry.failed,
        "skipped": entry.skipped,
        "failures": list(entry.failures),
        "outcome": entry.outcome,
        "commits": entry.commits,
        "cost_usd": None if entry.cost_usd is None else float(entry.cost_usd),
        "duration_s": entry.duration_s,
        "input_tokens": tokens.input if tokens else None,
        "output_tokens": tokens.output if tokens else None,
        "cache_read_tokens": tokens.cache_read if tokens else None,
        "cache_write_tokens": tokens.cache_write if tokens else None,
        "usage": entry.usage,
        "clock": entry.clock,
    }
