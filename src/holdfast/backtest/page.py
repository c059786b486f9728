"""A backtest as one HTML page: no script, no network, nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.backtest.report import BacktestReport, Tally, TestedSession
from holdfast.backtest.words import HOW, cost_line, in_time, name_of, sentences, share, sides
from holdfast.guard.inert import inert

_STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--paper:#fff;--faint:#5b6773;--rule:#dde3ea;--bar:#3a7ca5;--bad:#c2553f}
@media(prefers-color-scheme:dark){
:root{--ink:#e4e9ee;--paper:#14191f;--faint:#9aa6b2;--rule:#333c46;--bar:#5b9fca;--bad:#dd7560}}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:var(--ink);
background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid var(--rule)}.first{font-size:1.15rem}
table{border-collapse:collapse;width:100%;font-size:.9rem;display:block;overflow-x:auto}
td,th{text-align:right;padding:.25rem .6rem;border-bottom:1px solid var(--rule);font-variant-numeric:tabular-nums}
td:first-child,th:first-child{text-align:left;min-width:11rem}
ul{padding-left:1.2rem}li{margin:.25rem 0}.faint,footer{color:var(--faint);font-size:.87rem}
.used{color:var(--bar)}.wrong{color:var(--bad)}details{margin:.3rem 0}summary{cursor:pointer}
"""
_COLUMNS = (
    "",
    "Spoke",
    "Tokens",
    "Lines",
    "Used",
    "Wrong",
    "Failures",
    "Questions",
    "Decisions",
    "Files",
    "Commands",
)
_NEEDS = ("remedy", "question", "decision", "file", "command")


def page(report: BacktestReport) -> str:
    title = f"What memory would have shown in {report.project}"
    parts = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="first">{_text(" ".join(sentences(report)))}</p>',
        f"<p>{_text(cost_line(report))}</p>",
        _table([(name, tally) for name, tally in sides(report)]),
    ]
    if report.stretches:
        named = [(f"Sessions {one.first}–{one.last}", one.tally) for one in report.stretches]
        parts += ["<h2>By session, oldest first</h2>", _table(named)]
    if wrong := report.wrong_lines:
        items = "".join(_wrong(one, line.text, line.why) for one, line in wrong)
        parts += ["<h2>Wrong</h2>", f"<ul>{items}</ul>"]
    parts += ["<h2>Each session</h2>", *_sessions(report.tested)]
    parts += [
        "<h2>How this was counted</h2>",
        f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in HOW)}</ul>",
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>holdfast: {_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n"
        f"<footer>holdfast {_text(report.version)}, {report.seconds:.0f} s</footer>\n</body></html>\n"
    )


def _table(rows: Sequence[tuple[str, Tally]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    return f"<table><tr>{head}</tr>{''.join(_row(name, tally) for name, tally in rows)}</table>"


def _row(name: str, tally: Tally) -> str:
    cells = (
        str(tally.spoke),
        f"{tally.tokens_each or 0:.0f}",
        str(tally.lines),
        share(tally.used, tally.lines),
        str(tally.wrong),
        *(in_time(tally.needs.get(kind)) for kind in _NEEDS),
    )
    return f"<tr><td>{_text(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _wrong(one: TestedSession, text: str, why: str) -> str:
    return f'<li>{_text(text)}<br><span class="faint">{_text(name_of(one))}: {_text(why)}</span></li>'


def _sessions(tested: Sequence[TestedSession]) -> Iterator[str]:
    """The newest first."""
    for one in reversed(tested):
        lines = "".join(
            f'<li><span class="{line.verdict}">{line.verdict}</span> {_text(line.text)}<br>'
            f'<span class="faint">{line.when}; {_text(line.why)}</span></li>'
            for line in one.lines
        )
        needs = "".join(
            f"<li>{'shown' if need.told else 'not shown'}: {need.kind} {_text(need.what)}</li>"
            for need in one.needs
        )
        known = f"<p>Known before and needed:</p><ul>{needs}</ul>" if needs else ""
        told = f"<ul>{lines}</ul>" if lines else "<p>Nothing would have been shown.</p>"
        yield (
            f"<details><summary>{_text(name_of(one))} "
            f'<span class="faint">{one.tokens} tokens</span></summary>{told}{known}</details>'
        )


def _text(text: str) -> str:
    return inert(text, "html")
