"""The rows of the score: what is measured, in which unit, which direction is better and where the bound is."""

from __future__ import annotations

from typing import NamedTuple

HIGHER, LOWER = "higher", "lower"
# Identical code against itself gave .97 and 1.08 (import), .97 to .99 (session end) while other jobs kept the load at 5 to 15.
SAME = 1.1
YARDSTICK = 'x python -I -S -c "import json, sqlite3"'


class Spec(NamedTuple):
    """A row before it is measured."""

    id: str
    part: str
    name: str
    unit: str
    better: str
    bound: float | None = None


class Measured(NamedTuple):
    """What a part found for a row. Without a value, the note says why. A bound of the run replaces the fixed one."""

    value: float | None
    n: int | None = None
    note: str = ""
    bound: float | None = None


Found = dict[str, Measured]

BOUND_BY_THE_RUN = {
    "replay",
    "retrieval",
}  # by a baseline of the same run; the bounds of other parts are in the table

TITLES = {
    "told": "What reaches the agent",
    "replay": "Replay of real histories",
    "retrieval": "Search and recall",
    "verdicts": "Verdicts on sessions and prompts",
    "hooks": "CPU of hooks",
    "import": "CPU of an import",
    "session_end": "One session end",
    "size": "Size of src/holdfast",
    "suite": "Test suite",
}

ROWS = (
    Spec("told_chat_words", "told", "Words of a decision from a chat that reach the prompt", "share", HIGHER),
    Spec("told_amended_words", "told", "Words of an amended decision that reach the prompt", "share", HIGHER),
    Spec("told_commit_words", "told", "Words of a decision in a commit that reach the prompt", "share", HIGHER),
    Spec("told_right", "told", "Injected lines from the right item", "share", HIGHER),
    Spec("told_silent", "told", "Prompts of the set that get nothing", "share", LOWER),
    Spec("told_tokens", "told", "Tokens injected per prompt of the set", "tokens", LOWER, 250),
    Spec("told_stale", "told", "Amended items whose old decision is shown as current", "share", LOWER, 0),
    Spec("told_unrelated", "told", "Unrelated prompts that get a line", "share", LOWER, 0.1),
    Spec("replay_coverage", "replay", "Coverage, entireio-cli, prompt hook", "share of cost", HIGHER),
    Spec("replay_later", "replay", "Later files, entireio-cli, prompt hook", "share of cost", HIGHER),
    Spec("replay_precision", "replay", "Precision, entireio-cli, prompt hook", "share", HIGHER),
    Spec("replay_whole_coverage", "replay", "Coverage, entireio-cli, start and prompt", "share of cost", HIGHER),
    Spec("replay_whole_precision", "replay", "Precision, entireio-cli, start and prompt", "share", HIGHER),
    Spec("replay_agentv_later", "replay", "Later files, agentv, prompt hook", "share of cost", HIGHER),
    Spec("replay_agentv_precision", "replay", "Precision, agentv, prompt hook", "share", HIGHER),
    Spec("longmemeval_any5", "retrieval", "LongMemEval, user turns, any@5", "share", HIGHER),
    Spec("longmemeval_whole_any5", "retrieval", "LongMemEval, whole text, any@5", "share", HIGHER),
    Spec("coding_any5", "retrieval", "Coding prompts, any@5", "share", HIGHER),
    Spec("coding_ndcg10", "retrieval", "Coding prompts, nDCG@10", "mean", HIGHER),
    Spec("pmb_search_precision", "retrieval", "PrecisionMemBench, search, precision", "share", HIGHER),
    Spec("pmb_search_recall", "retrieval", "PrecisionMemBench, search, recall", "share", HIGHER),
    Spec("pmb_recall_precision", "retrieval", "PrecisionMemBench, recall, precision", "share", HIGHER),
    Spec("pmb_recall_recall", "retrieval", "PrecisionMemBench, recall, recall", "share", HIGHER),
    Spec("verdict_outcome", "verdicts", "Outcome agrees with the label", "share", HIGHER, 0.9),
    Spec("verdict_negative", "verdicts", "Negative verdicts that are right", "share", HIGHER, 0.85),
    Spec("verdict_kind", "verdicts", "Kind of task agrees with the label", "share", HIGHER, 0.85),
    Spec("verdict_tasks", "verdicts", "Tasks counted as a reader would", "share", HIGHER, 0.9),
    Spec("classifier_accuracy", "verdicts", "Prompt class agrees with the label", "share", HIGHER),
    Spec("classifier_precision", "verdicts", "Prompts classed as code-gen that are", "share", HIGHER),
    Spec("classifier_recall", "verdicts", "Code-gen prompts classed as such", "share", HIGHER),
    Spec("hook_start", "hooks", "Start hook", YARDSTICK, LOWER, 1.6),
    Spec("hook_prompt", "hooks", "Prompt hook that injects", YARDSTICK, LOWER, 1.6),
    Spec("hook_tool_silent", "hooks", "Tool hook that stays silent", YARDSTICK, LOWER, 0.6),
    Spec("hook_tool_told", "hooks", "Tool hook that injects", YARDSTICK, LOWER, 1.6),
    Spec("import_orjson", "import", "Import of real transcripts", "x orjson parsing them", LOWER, 8),
    Spec("import_base", "import", "Import of real transcripts against 0.1.0", "x 0.1.0", LOWER, SAME),
    Spec("end_cpu", "session_end", "Hook and capture of one session end", YARDSTICK, LOWER),
    Spec("end_base", "session_end", "Hook and capture of one session end against 0.1.0", "x 0.1.0", LOWER, SAME),
    Spec("end_opens", "session_end", "Most opens of one file in a session end", "opens", LOWER),
    Spec("lines", "size", "Lines", "lines", LOWER),
    Spec("statements", "size", "Statements", "statements", LOWER),
    Spec("modules", "size", "Modules", "modules", ""),
    Spec("largest_module", "size", "Largest module", "lines", LOWER, 500),
    Spec("largest_room", "size", "Largest room", "lines", LOWER),
    Spec("duplicates", "size", "Pairs of duplicates", "pairs", LOWER),
    Spec("suite_cpu", "suite", "CPU of the test suite", "s", LOWER),
)  # fmt: skip


def rows_of(part: str) -> list[Spec]:
    return [spec for spec in ROWS if spec.part == part]
