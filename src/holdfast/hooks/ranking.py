"""Ranks the files that the work for a prompt will probably touch, by past sessions with similar prompts.

Similarity (BM25 of the prompt, and with less weight of the session's earlier prompts, over the words of past sessions)
times recency times co-change. Hooks and the application both use it. It reads only the rows of the prepared tables that
the words of the prompt lead to.
"""

from __future__ import annotations

import math

from holdfast.core.words import LONGEST_PROMPT, as_written, names_file
from holdfast.hooks.relevance import Match
from holdfast.hooks.start_lines import count_tokens

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from holdfast.hooks.postings import Postings

CHANCE = (
    0.5  # of the files named like this in 22 histories, 68 of 134 were touched (docs/research/benchmarks.md)
)
CONSIDERED = 40  # paths; more than a budget ever holds
_MOST_FOLDERS = 4

# Flat optima: halving or doubling most of these stays within the noise (docs/research/benchmarks.md).
_READ = 0.5  # of an edit
_EVERYWHERE = 0.3  # dampens files that every session touches
_TOGETHER = 0.5  # the gain of a file that always changes with one that is already certain
_SEEDS = 5
_TOP = 5  # sessions that are the most similar
_SATURATION, _LENGTH = 1.2, 0.75  # parameters of BM25
_SESSIONS = 80  # that touched one file
_CANDIDATES = 60
_LIKELIEST = 30  # files by score; the weights were fitted on as many
MOST = 100  # several times what a briefing holds: some of them may not exist any more
# A log-linear model of the evidence for a file, fitted so that the sum is a log-odds (scripts/train_offers.py).
# `likeness`: ln of the score relative to the best file's; `named`: share of the file's name that the prompt contains;
# `rate`: ln of the share of sessions that touched it; `edits`: share of those that edited it; `top`: share of the most
# similar sessions, by similarity, that touched it; `alike`: how much of both is shared with the most similar first
# prompt of a session that touched it, and `alikest` of any session; `told`: ln of 1 + files that the prompt names,
# because then it needs no others; `new`: share of the prompt's new words that is known here; `written`: ln of 1 + BM25
# of the prompt over the names that were written into the file.
FIRST = {"base": -1.88, "likeness": 0.0, "named": 1.02, "rate": 0.664, "edits": 0.554, "top": 1.51, "alike": 1.93,
         "alikest": -0.399, "told": -0.652, "new": 0.0, "written": 0.147}  # fmt: skip
LATER = {"base": -2.59, "likeness": 0.142, "named": 1.03, "rate": 0.704, "edits": 0.535, "top": 1.84, "alike": 0.0,
         "alikest": 0.0, "told": -0.414, "new": 0.409, "written": 0.0}  # fmt: skip


def rank(
    postings: Postings,
    prompt: str,
    earlier: Sequence[Collection[str]] = (),
    touched: Collection[str] = (),
    least: float = 0.0,
    own: int = -1,
    later: bool | None = None,
    branch: str = "",
    named: Collection[str] = (),
) -> list[Pointed]:
    """Files by how likely the work touches them, likeliest first; none when no past session is similar.

    `touched` are files of this session; `Match` describes the others. `later` says that this is not the first prompt,
    even if the earlier ones are unknown.
    """
    match = Match(postings, prompt, earlier, own, branch)
    is_later = bool(earlier) if later is None else later
    return rank_files(match, touched, least, later=is_later, named=named)


def rank_files(
    match: Match,
    touched: Collection[str],
    least: float,
    *,
    later: bool,
    named: Collection[str] = (),
) -> list[Pointed]:
    """The same. `named` are the files that the prompt names (`named_files`): they come before all others.

    `least` is the smallest probability that is worth a line; with 1, only those remain.
    """
    reasons = Reasons(match)
    reasons.named = named
    named_pointers = [Pointed(path, CHANCE, reasons) for path in named if path not in touched]
    if least >= 1 or not match.is_known:
        return named_pointers
    weights = LATER if later else FIRST
    odds = {
        path: weights["base"] + sum(weights[name] * value for name, value in evidence.items())
        for path, evidence in file_evidence(match, touched, weights).items()
        if path not in named
    }
    bar = math.log(least / (1 - least)) if 0 < least < 1 else -math.inf
    likely = [path for path in odds if odds[path] >= bar]
    ranked = sorted(likely, key=lambda path: (-odds[path], path))[:MOST]
    return named_pointers + [
        Pointed(path, round(1 / (1 + math.exp(-odds[path])), 4), reasons) for path in ranked
    ]


def file_evidence(
    match: Match, touched: Collection[str], weights: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """What speaks for each file; what has no weight is not looked at."""
    postings = match.postings
    values = match.similar
    scores = _with_companions(postings, touched, _scores(match, values))
    best = max(scores.values(), default=0.0)
    prompt_paths = {path for path in scores if names_file(match.prompt, path)}
    known, unknown = match.news() if weights["new"] else (0.0, 0.0)
    alike = match.alike if weights["alike"] else {}
    common = {
        "told": math.log1p(len(prompt_paths)),
        "alikest": max(alike.values(), default=0.0),
        "new": known / (known + unknown + 1),
    }
    top = {number: values[number] for number in list(values)[:_TOP]}
    whole = sum(top.values()) or 1.0
    left_out = prompt_paths.union(touched)
    own_words = set(match.said)
    evidence: dict[str, dict[str, float]] = {}
    likeliest = sorted(scores, key=lambda path: (-scores[path], path))
    for path in [path for path in likeliest if scores[path] and path not in left_out][:_LIKELIEST]:
        score = scores[path]
        touches = postings.touches(path)
        name_words = postings.words_of(path)[1]
        evidence[path] = {
            **common,
            "likeness": math.log(score / best + 0.001),
            "named": len(own_words.intersection(name_words)) / (len(name_words) or 1),
            "rate": math.log(len(touches) / (postings.sessions + 1) + 0.01),
            "edits": sum(touches.values()) / (len(touches) or 1),
            "top": sum(value for number, value in top.items() if number in touches) / whole,
            "alike": max((alike.get(number, 0.0) for number in touches), default=0.0),
            "written": 0.0,
        }
    if weights["written"]:
        for path, similarity in _written(postings, match.said, evidence).items():
            evidence[path]["written"] = math.log1p(similarity)
    return evidence


def _scores(match: Match, values: Mapping[int, float]) -> dict[str, float]:
    postings, query = match.postings, match.query
    raw: dict[int, float] = {}
    for number, files in postings.files(list(values)):
        value = values[number]
        for file in files:
            raw[file >> 1] = raw.get(file >> 1, 0.0) + (value if file & 1 else value * _READ)
    scores: dict[str, float] = {}
    best = sorted(raw, key=lambda file: (-raw[file], file))[:_CANDIDATES]
    for file, path in zip(best, postings.paths(best), strict=True):
        name_weight = 0.0
        for word in postings.words_of(path)[0]:
            if word in query:
                name_weight += query[word]
        scores[path] = raw[file] * (1 + name_weight) / (1 + len(postings.marks(path))) ** _EVERYWHERE
    return scores


def _written(postings: Postings, said: Iterable[str], paths: Collection[str]) -> dict[str, float]:
    """BM25 of a prompt over the words that sessions wrote into files; each word counts once per file."""
    scores: dict[str, float] = {}
    numbered = {path: postings.written_into(path) for path in paths}
    for files in postings.writing(set(said)):
        file_count = len(files)
        rarity = math.log(1 + (postings.known_files - file_count + 0.5) / (file_count + 0.5))
        for path, (file, word_count) in numbered.items():
            if file in files:
                longer = 1 - _LENGTH + _LENGTH * word_count / postings.written_average
                scores[path] = scores.get(path, 0.0) + rarity * (_SATURATION + 1) / (1 + _SATURATION * longer)
    return scores


def _with_companions(
    postings: Postings, touched: Collection[str], scores: dict[str, float]
) -> dict[str, float]:
    """Raises the scores of files that change with the likeliest ones, or with those the session already touched."""
    seeds = dict.fromkeys(touched, 1.0)
    best = max(scores.values(), default=0.0)
    for path in sorted(scores, key=lambda path: (-scores[path], path))[:_SEEDS]:
        seeds.setdefault(path, scores[path] / best)
    gains: dict[str, float] = {}
    for seed, path, often in postings.together(seeds):
        gains[path] = max(gains.get(path, 0.0), seeds[seed] * often)
    for seed in sorted(touched):
        for path, often in _touched_with(postings, seed).items():
            gains[path] = max(gains.get(path, 0.0), often)
    joined = dict(scores)
    for path, gain in gains.items():
        joined[path] = scores.get(path, 0.0) * (1 + _TOGETHER * gain) + best * gain * _TOGETHER / 4
    return joined


def _touched_with(postings: Postings, seed: str) -> dict[str, float]:
    """How often sessions that touched one file touched another."""
    numbers = sorted(postings.touches(seed))[-_SESSIONS:]
    counts: dict[int, int] = {}
    for _, files in postings.files(numbers):
        for file in files:
            counts[file >> 1] = counts.get(file >> 1, 0) + 1
    most_frequent = sorted(counts, key=lambda file: (-counts[file], file))[:MOST]
    pairs = zip(most_frequent, postings.paths(most_frequent), strict=True)
    return {path: counts[file] / (1 + len(numbers)) for file, path in pairs if path != seed}


class Reasons:
    """The evidence for files, computed only for those that are shown."""

    def __init__(self, match: Match) -> None:
        self._postings = match.postings
        self._query = match.query
        self._likeness = match.likeness
        self._written = as_written([match.prompt[:LONGEST_PROMPT]], match.postings.empty)
        self.named: Collection[str] = ()

    def speaker(self, path: str) -> int:
        touches = self._postings.touches(path)
        return max(touches, key=lambda number: (self._likeness.get(number, 0.0), number), default=-1)

    def session(self, path: str) -> str:
        """The session with the strongest evidence for a file; '' if only git has any."""
        number = self.speaker(path)
        return "" if number < 0 else self._postings.session(number)

    def why(self, path: str) -> str:
        if path in self.named:
            return "the prompt names it"
        touches = self._postings.touches(path)
        if not touches:
            return "changes together with likely files"
        edits = sum(touches.values())
        did = f"edited in {edits}" if edits else f"read in {len(touches)}"
        shared = ", ".join(self._shared(self.speaker(path)))
        return f"{did} of {self._postings.sessions} sessions" + (f"; {shared}" if shared else "")

    def _shared(self, number: int) -> list[str]:
        """The most distinctive words that a session's prompts share."""
        shared = [word for word in self._query if number in self._postings.holding(word)]
        ranked = sorted(shared, key=lambda word: (-self._query[word] * self._postings.rarity(word), word))
        return [self._written.get(word, word) for word in ranked[:3]]


class Pointed:
    """A file with its probability: how often files with this score were touched in the histories that the weights
    were fitted on."""

    __slots__ = ("_reasons", "chance", "path")

    def __init__(self, path: str, chance: float, reasons: Reasons) -> None:
        self.path = path
        self.chance = chance
        self._reasons = reasons

    @property
    def why(self) -> str:
        return self._reasons.why(self.path)

    @property
    def session(self) -> str:
        return self._reasons.session(self.path)


def fitting(paths: Sequence[str], budget: int) -> list[str]:
    """The first paths that fit the budget when written by `path_lines`."""
    paths = paths[:CONSIDERED]
    folders = _folders(paths)
    remaining = budget
    chosen: list[str] = []
    opened = {""}
    for path in paths:
        folder = folders[path]
        cost = count_tokens(_line(path, folder))
        cost += 0 if folder in opened else count_tokens(_heading(folder))
        if cost <= remaining:
            remaining -= cost
            opened.add(folder)
            chosen.append(path)
    # Fewer files may share no folder: then their full paths must fit too.
    while chosen and sum(count_tokens(line) for line, _ in path_lines(chosen)) > budget:
        chosen.pop()
    return chosen


def path_lines(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Each line with its path; '' for a folder's name, under which its files are listed."""
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
    """For each path the folder that it is listed under, '' for none: the folders that save most tokens.

    The listed part keeps at least one folder: a bare name could be any file's.
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
                # Each time its name and a slash; once `in`, the name and a slash.
                saved = (sizes[folder] + 1) * count - sizes[folder] - 2
                if (saved, folder) > (most, best) and saved > 0:
                    best, most = folder, saved
        if not best:
            break
        inside = [path for path in left if path.startswith(best + "/") and "/" in path[len(best) + 1 :]]
        chosen.update(dict.fromkeys(inside, best))
        left = [path for path in left if not chosen[path]]
    return chosen
