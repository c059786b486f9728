"""Paths as lines within a budget: in full, and those of one folder under its name where that is shorter."""

from __future__ import annotations

from holdfast.hot.telling import count_tokens

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Sequence

CONSIDERED = 40  # more than a budget ever holds


def fitting(paths: Sequence[str], budget: int) -> list[str]:
    """As many as the budget holds when written by `path_lines`, the first ones first."""
    paths = paths[:CONSIDERED]
    folder = _common_folder(paths)
    left = budget
    taken: list[str] = []
    opened = not folder
    for path in paths:
        inside = bool(folder) and _is_under(path, folder)
        cost = count_tokens(_line(path, folder if inside else ""))
        cost += 0 if opened or not inside else count_tokens(_heading(folder))
        if cost <= left:
            left -= cost
            opened |= inside
            taken.append(path)
    # Fewer files may share no folder: then they are written out, which must fit as well.
    while taken and sum(count_tokens(line) for line, _ in path_lines(taken)) > budget:
        taken.pop()
    return taken


def path_lines(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Each line with the path that it stands for; '' for a folder's name, under which the rest is listed."""
    folder = _common_folder(paths)
    inside = [path for path in paths if folder and _is_under(path, folder)]
    within = set(inside)
    lines = [(_line(path, ""), path) for path in paths if path not in within]
    return [
        *lines,
        *([(_heading(folder), "")] if inside else []),
        *((_line(path, folder), path) for path in inside),
    ]


def _heading(folder: str) -> str:
    return f"in {folder}/"


def _line(path: str, folder: str) -> str:
    return f"- {path[len(folder) + 1 :]}" if folder else f"- {path}"


def _is_under(path: str, folder: str) -> bool:
    """In the folder, and deep enough in it that a folder is left: a bare name could be any file's."""
    return path.startswith(folder + "/") and "/" in path[len(folder) + 1 :]


def _common_folder(paths: Sequence[str]) -> str:
    """The folder whose name, said once, saves most; '' when none saves anything."""
    holding: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")[:-2]
        for size in range(len(parts)):
            folder = "/".join(parts[: size + 1])
            holding[folder] = holding.get(folder, 0) + 1
    shared = [folder for folder, count in holding.items() if count > 1]
    saved = {
        folder: (count_tokens(folder) + 1) * holding[folder] - count_tokens(_heading(folder))
        for folder in shared
    }
    best = max(saved, key=lambda folder: (saved[folder], folder), default="")
    return best if best and saved[best] > 0 else ""
