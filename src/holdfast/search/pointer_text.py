"""File pointers as lines within a budget: full paths, those of one folder under its name where that is shorter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.model.pointer import Pointer
from holdfast.text.tokens import count_tokens

_CONSIDERED = 40  # more than a budget ever holds


def fitting(pointers: Sequence[Pointer], budget: int) -> list[Pointer]:
    """As many as the budget holds when written by `pointer_text`, the likeliest first."""
    folder = _common_folder([pointer.path for pointer in pointers[:_CONSIDERED]])
    left = budget
    taken: list[Pointer] = []
    opened = not folder
    for pointer in pointers:
        inside = bool(folder) and _is_under(pointer.path, folder)
        cost = count_tokens(_line(pointer.path, folder if inside else ""))
        cost += 0 if opened or not inside else count_tokens(_heading(folder))
        if cost <= left:
            left -= cost
            opened |= inside
            taken.append(pointer)
    # Fewer files may share no folder: then they are written out, which must fit as well.
    while taken and count_tokens(pointer_text(taken)) > budget:
        taken.pop()
    return taken


def pointer_text(pointers: Sequence[Pointer]) -> str:
    paths = [pointer.path for pointer in pointers]
    folder = _common_folder(paths)
    inside = [path for path in paths if folder and _is_under(path, folder)]
    outside = [path for path in paths if path not in set(inside)]
    lines = [_line(path, "") for path in outside]
    return "\n".join(
        [*lines, *([_heading(folder)] if inside else []), *(_line(path, folder) for path in inside)]
    )


def _heading(folder: str) -> str:
    return f"in {folder}/"


def _line(path: str, folder: str) -> str:
    return f"- {path[len(folder) + 1 :]}" if folder else f"- {path}"


def _is_under(path: str, folder: str) -> bool:
    """In the folder, and deep enough in it that a folder is left: a bare name could be any file's."""
    return path.startswith(folder + "/") and "/" in path[len(folder) + 1 :]


def _common_folder(paths: Sequence[str]) -> str:
    """The folder whose name, said once, saves most; '' when none saves anything."""
    holding = Counter(folder for path in paths for folder in _folders(path))
    saved = {
        folder: (count_tokens(folder) + 1) * count - count_tokens(_heading(folder))
        for folder, count in holding.items()
    }
    best = max(saved, key=lambda folder: (saved[folder], folder), default="")
    return best if best and saved[best] > 0 else ""


def _folders(path: str) -> Iterator[str]:
    parts = path.split("/")[:-2]
    return ("/".join(parts[: size + 1]) for size in range(len(parts)))
