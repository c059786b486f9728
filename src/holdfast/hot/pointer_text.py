"""Paths as lines within a budget: in full, and those of one folder under its name where that is shorter."""

from __future__ import annotations

from holdfast.hot.telling import count_tokens

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Sequence

CONSIDERED = 40  # more than a budget ever holds
_MOST_FOLDERS = 4


def fitting(paths: Sequence[str], budget: int) -> list[str]:
    """As many as the budget holds when written by `path_lines`, the first ones first."""
    paths = paths[:CONSIDERED]
    folders = _folders(paths)
    left = budget
    taken: list[str] = []
    opened = {""}
    for path in paths:
        folder = folders[path]
        cost = count_tokens(_line(path, folder))
        cost += 0 if folder in opened else count_tokens(_heading(folder))
        if cost <= left:
            left -= cost
            opened.add(folder)
            taken.append(path)
    # Fewer files may share no folder: then they are written out, which must fit as well.
    while taken and sum(count_tokens(line) for line, _ in path_lines(taken)) > budget:
        taken.pop()
    return taken


def path_lines(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Each line with the path that it stands for; '' for a folder's name, under which its files are listed."""
    folders = _folders(paths)
    lines: list[tuple[str, str]] = []
    for folder in sorted(set(folders.values())):
        if folder:
            lines.append((_heading(folder), ""))
        lines += [(_line(path, folder), path) for path in paths if folders[path] == folder]
    return lines


def _heading(folder: str) -> str:
    return f"in {folder}/"


def _line(path: str, folder: str) -> str:
    return f"  {path[len(folder) + 1 :]}" if folder else path


def _folders(paths: Sequence[str]) -> dict[str, str]:
    """For each path the folder that it is listed under, '' for none: those whose names, said once, save most.

    A folder is left in what is listed: a bare name could be any file's.
    """
    chosen = dict.fromkeys(paths, "")
    left = list(chosen)
    sizes: dict[str, int] = {}
    for _ in range(_MOST_FOLDERS):
        holding: dict[str, int] = {}
        for path in left:
            end = path.find("/")
            last = path.rfind("/")
            while 0 <= end < last:
                folder = path[:end]
                holding[folder] = holding.get(folder, 0) + 1
                end = path.find("/", end + 1)
        best, most = "", 0
        for folder, count in holding.items():
            if count > 1:
                if folder not in sizes:
                    sizes[folder] = count_tokens(folder)
                # Its name and a stroke each time; `in`, name and stroke once.
                saved = (sizes[folder] + 1) * count - sizes[folder] - 2
                if (saved, folder) > (most, best) and saved > 0:
                    best, most = folder, saved
        if not best:
            break
        inside = [path for path in left if path.startswith(best + "/") and "/" in path[len(best) + 1 :]]
        chosen.update(dict.fromkeys(inside, best))
        left = [path for path in left if not chosen[path]]
    return chosen
