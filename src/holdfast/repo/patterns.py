"""Structures that recur in the code: from the signs that files show, with the files that show them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from holdfast.model.knowledge import SCAN, Pattern
from holdfast.repo.checkout import printable
from holdfast.repo.source import Seen

_MOST_FILES = 12


class Shape(Struct, frozen=True):
    """A structure: which signs show it (all groups are needed, one sign of each), in tests or in the program."""

    name: str
    description: str
    signs: tuple[str, ...]
    with_: tuple[str, ...] = ()  # also needed somewhere in the repository
    tests: bool | None = None
    least: int = 2
    path: str = ""  # or shown by the file's name
    share: float = 0.01  # of the files: a word here and there is chance


_SHAPES = (
    Shape("handler-middleware", "HTTP handlers use middleware chains", ("middleware", "filter", "before_action"), ("handler", "route", "controller"), False, 2),
    Shape("route-handlers", "Requests are routed to handlers that are declared beside their routes", ("route", "controller", "handler"), (), False, 2),
    Shape("repository", "Storage is behind repositories or stores", ("repository",), (), False, 3, r"(?i)(?:repository|_repo|_store|Store)\.\w+$"),
    Shape("service-layer", "Logic lives in services", ("service",), (), False, 3, r"(?:[a-z]Service|_service|[.-]service)s?\.\w+$", 0.03),
    Shape("command-registration", "Each command is declared and registered with the command line's parser", ("command", "clap", "command_table"), (), False, 2),
    Shape("plugin-registry", "Parts register themselves in a registry and are looked up there", ("registry",), ("registry_type",), False, 3, "", 0.02),
    Shape("table-driven-tests", "Tests run a table of cases", ("table_test", "parametrize", "each", "rstest", "parameterized"), (), True, 3, "", 0.08),
    Shape("fixtures", "Tests get what they need from shared fixtures", ("fixture", "let", "before", "factory"), (), True, 2, "", 0.1),
    Shape("mocked-collaborators", "Tests replace collaborators by mocks", ("mock",), (), True, 3, "", 0.1),
    Shape("snapshot-tests", "Results are compared with stored snapshots", ("snapshot",), (), True, 2),
    Shape("dependency-injection", "Collaborators are handed in, by constructor or container", ("depends", "injectable", "injected_constructor", "autowired_field"), (), False, 3),
    Shape("functional-options", "Constructors take functional options", ("options",), (), False, 2),
    Shape("builder", "Values are put together by builders", ("builder",), (), False, 3),
    Shape("state-machine", "States are an enumeration, and code switches on it", ("state", "reducer"), (), False, 3, "", 0.03),
    Shape("interfaces", "Collaborators are described by interfaces or protocols", ("protocol", "interface", "trait_objects"), (), False, 3),
    Shape("data-models", "Data is declared as typed models", ("base_model", "dataclass", "struct", "entity", "model"), (), False, 4),
    Shape("custom-errors", "Errors are types of the project's own", ("own_errors", "sentinel", "error_derive"), (), False, 2),
    Shape("hooks-and-components", "The interface is made of components, shared logic of hooks", ("hook",), ("component",), False, 2),
    Shape("concerns", "Shared behaviour of models and controllers is in concerns", ("concern",), (), False, 2),
    Shape("call-objects", "Operations are objects with one call method", ("callable",), (), False, 3, "", 0.05),
)  # fmt: skip


def find_patterns(seen: Mapping[str, Seen]) -> list[Pattern]:
    present = {sign for one in seen.values() for sign in one.signs}
    program = sum(not one.is_test for one in seen.values())
    tests = len(seen) - program
    found: list[Pattern] = []
    for shape in _SHAPES:
        if shape.with_ and not present.intersection(shape.with_):
            continue
        expression = re.compile(shape.path) if shape.path else None
        weights = {
            path: sum(one.signs.get(sign, 0) for sign in shape.signs)
            for path, one in seen.items()
            if (shape.tests is None or one.is_test == shape.tests)
            and (
                any(sign in one.signs for sign in shape.signs)
                or (expression is not None and expression.search(path) is not None)
            )
        }
        among = tests if shape.tests else program
        if len(weights) < max(shape.least, shape.share * among):
            continue
        files = sorted((path for path in weights if printable(path)), key=lambda path: (-weights[path], path))
        repeated = sum(weights.values()) / len(weights)
        confidence = min(0.95, 0.5 + 0.04 * min(len(weights), 8) + 0.05 * min(repeated, 3))
        found.append(
            Pattern(
                name=shape.name,
                description=shape.description,
                files=tuple(files[:_MOST_FILES]),
                count=len(weights),
                confidence=round(confidence, 2),
                by=SCAN,
            )
        )
    return sorted(found, key=lambda pattern: -pattern.confidence)
