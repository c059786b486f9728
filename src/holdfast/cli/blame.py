"""`holdfast blame`: which session, request and decision is behind the lines of a file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby

from holdfast.cli.import_ import import_progress
from holdfast.core.session_id import short_session
from holdfast.flows.blame import blame
from holdfast.language.title import named_plan
from holdfast.provenance.git_lines import BlamedCommit
from holdfast.provenance.origins import FileBlame, SpanOrigin, in_words
from holdfast.provenance.target import target_from
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, cut, flat, text_width
from holdfast.views.ledger import day

DESCRIPTION = """Shows which session wrote the lines of a file, what you had asked for, the decision behind it, and
the commit. Recorded edits are matched to git history by content, file and time. Lines without a matching edit are
`unknown`."""
EXAMPLES = """examples:
  holdfast blame src/rate.py              the whole file
  holdfast blame src/rate.py:42           one line
  holdfast blame src/rate.py:40-60        some lines
  holdfast blame src/rate.py --json       for programs
  holdfast blame 'notes:3' --lines 1-9    a file whose name looks like file:line"""
OPTIONS = (
    option("file", metavar="FILE[:LINE[-LINE]]", help="a file in this repository, and lines in it"),
    option("--lines", default="", metavar="LINE[-LINE]", help="the lines; FILE is then taken literally"),
    flag("--json", "a JSON array of spans"),
)
_LONGEST_PROMPT = 200
_MOST_AUTHORS = 3


def run(options: Namespace, machine: Machine) -> None:
    target = target_from(options.file, machine.cwd, options.lines)
    with import_progress(show=not options.json) as progress:
        found = blame(machine, machine.project(), target, progress)
    output.warn_all(found.problems)
    if found.shallow:
        output.warn(
            "this is a shallow clone: older lines are unknown. git fetch --unshallow brings the rest."
        )
    output.answer(options, [origin.as_json() for origin in found.spans], lambda: _show(found))


def _show(found: FileBlame) -> None:
    if not found.spans:
        return output.line(f"{found.target.path} is empty.")
    groups = [list(group) for _, group in groupby(found.spans, key=lambda origin: origin.session or "")]
    parts = [
        part
        for group in groups
        for part in ([group] if group[0].session is None else [[one] for one in group])
    ]
    rows = [_unknown(part) if part[0].session is None else _known(part[0]) for part in parts]
    widths = [max(text_width(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    said: set[tuple[str, str]] = set()
    for part, row in zip(parts, rows, strict=True):
        cells = [
            _filled(text, width, right=place == 0)
            for place, (text, width) in enumerate(zip(row, widths, strict=False))
        ]
        output.line(f"{'  '.join(cells)}  {row[-1]}".rstrip(), under=sum(widths) + 2 * len(widths))
        _show_reasons(part[0], widths[0] + 2, said)
    output.line()
    output.line(_summary(found))


def _show_reasons(origin: SpanOrigin, indent: int, said: set[tuple[str, str]]) -> None:
    """What was asked and decided: once for each request, and not what the title says already."""
    request = (origin.session or "", origin.span.prompt)
    prompt = flat(named_plan(origin.span.prompt))
    if prompt and request not in said and not prompt.startswith(flat(origin.title).rstrip("…")[:60] or "\0"):
        output.aside(f"asked: {cut(prompt, _LONGEST_PROMPT)}", indent)
    said.add(request)
    if origin.decision:
        output.aside(
            f"decided: {cut(flat(origin.decision[1]), _LONGEST_PROMPT)} ({origin.decision[0]})", indent
        )


def _known(origin: SpanOrigin) -> tuple[str, ...]:
    """Lines, date, commit, who, how sure, and what it is about."""
    span, commit = origin.span, origin.span.commit
    assert span.edit is not None and span.confidence is not None and origin.session is not None
    return (
        origin.lines,
        _date(span.edit.at if commit.uncommitted else commit.authored),
        _short(commit),
        f"{origin.agent} {short_session(origin.session)}",
        in_words(span.confidence),
        flat(origin.title) or "(no title)",
    )


def _unknown(spans: Sequence[SpanOrigin]) -> tuple[str, ...]:
    """The same for neighbouring lines whose session is not known, in one row."""
    first, last = spans[0].span.start, spans[-1].span.end
    commits = list({origin.span.commit.sha: origin.span.commit for origin in spans}.values())
    newest = max(commits, key=lambda commit: commit.authored)
    if len(commits) == 1:
        about = "" if newest.uncommitted else f"{newest.author}: {newest.subject}"
        shown = _short(newest)
    else:
        authors = list(dict.fromkeys(commit.author for commit in commits if not commit.uncommitted))
        more = f" and {len(authors) - _MOST_AUTHORS} more" if len(authors) > _MOST_AUTHORS else ""
        about, shown = ", ".join(authors[:_MOST_AUTHORS]) + more, f"{len(commits)} commits"
    lines = str(first) if first == last else f"{first}-{last}"
    return lines, _date(newest.authored), shown, "unknown", "", flat(about)


def _date(at: float) -> str:
    return day(datetime.fromtimestamp(at, UTC))[:10] if at else ""


def _short(commit: BlamedCommit) -> str:
    return "uncommitted" if commit.uncommitted else commit.sha[:8]


def _filled(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - text_width(text))
    return blanks + text if right else text + blanks


def _summary(found: FileBlame) -> str:
    total = sum(origin.size for origin in found.spans)
    known = [origin for origin in found.spans if origin.session is not None]
    written = sum(origin.size for origin in known)
    sessions = len({origin.session for origin in known})
    if not known:
        return f"No recorded session wrote {'this line' if total == 1 else 'these lines'}."
    return f"{written} of {counted(total, 'line')} from {counted(sessions, 'recorded session')}."
