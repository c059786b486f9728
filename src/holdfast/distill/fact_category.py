"""A guess at a fact's category from its words; a person who says it themselves is right."""

from __future__ import annotations

import re

from holdfast.model.memory import FactCategory

# In this order: what names a thing outright goes before what merely talks about one.
_SIGNS: tuple[tuple[FactCategory, re.Pattern[str]], ...] = tuple(
    (category, re.compile(pattern, re.IGNORECASE))
    for category, pattern in (
        (FactCategory.DECISION, r"\b(?:was|were|is|has been) decided\b|\bpolicy\b"),
        (FactCategory.RESULT, r"\b(?:benchmark|measured|throughput|latency|p9\d|took \d|accuracy|recall@)"),
        (FactCategory.TESTING, r"\b(?:tests?|pytest|jest|vitest|coverage|fixtures?|go test|cargo test)\b"),
        (FactCategory.BUILD, r"\b(?:builds?|compil\w+|bundles?|linter|lints?|type.?checks?)\b"),
        (FactCategory.ENDPOINT, r"\w+://|\b(?:endpoint|port \d+|localhost|(?:GET|POST|PUT|DELETE) /)"),
        (
            FactCategory.ID,
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:id|account|tenant|project)"
            r" (?:\w+ ){0,3}is \S*\d|\b(?:arn:|[a-z]{2,5}_[A-Za-z0-9]*\d)",
        ),
        (FactCategory.DEPENDENCY, r"\b(?:depend\w*|librar(?:y|ies)|packages?|lock ?file|pinned)\b"),
        (
            FactCategory.ENVIRONMENT,
            r"\b(?:environment|env var\w*|[A-Z]+_[A-Z_]+|python|node|java|docker|kernel|version)\b",
        ),
        (FactCategory.COMMAND, r"^`|\b(?:make|npm run|pnpm|just|run) \S+"),
    )
)


def guess_category(text: str) -> FactCategory:
    return next((category for category, sign in _SIGNS if sign.search(text)), FactCategory.OTHER)
