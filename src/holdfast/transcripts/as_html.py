"""A session as one HTML file to share: no script, no request, readable in light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.guard.inert import inert
from holdfast.transcripts.as_text import changed, clock, duration, failed_how, flat, spent
from holdfast.transcripts.story import Answer, Call, Edit, Note, Prompt, Scene, Sum, Told

_MARKS = {True: "✓", False: "✗", None: "·"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--faint:#5b6773;--paper:#fff;--soft:#f4f7fa;--line:#dfe5eb;--accent:#1f5f8b;
--good:#1a6b3c;--bad:#b3261e;--memory:#6b3fa0}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf0;--faint:#9aa7b4;--paper:#12171d;--soft:#1a2129;--line:#2b3641;
--accent:#7fb8e0;--good:#7ccf9b;--bad:#ff9c93;--memory:#c3a4ef}}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .3rem}.about,.sum,.at{color:var(--faint);font-size:.9rem}
section{border-top:1px solid var(--line);margin-top:2rem;padding-top:1rem}
h2{font-size:1rem;color:var(--accent);margin:0 0 .5rem}
.prompt{background:var(--soft);border-left:3px solid var(--accent);padding:.6rem .9rem;
white-space:pre-wrap;overflow-wrap:anywhere}
.answer{white-space:pre-wrap;overflow-wrap:anywhere;margin:.9rem 0}
.call,.edit,summary{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
.call{margin:.15rem 0}.ok{color:var(--good)}.bad{color:var(--bad)}.memory{color:var(--memory)}
pre{font:13px/1.45 ui-monospace,monospace;background:var(--soft);padding:.6rem .9rem;overflow-x:auto;
margin:.3rem 0 .8rem}
.added{color:var(--good)}.removed{color:var(--bad)}.margin{color:var(--faint);float:right;padding-left:1rem}
"""


def html(heading: Sequence[str], scenes: Iterable[Scene]) -> Iterator[str]:
    title = _text(heading[0]) if heading else "A session"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body><main>"
    yield f"<h1>{title}</h1>"
    for line in heading[1:]:
        yield f'<p class="about">{_text(line)}</p>'
    opened = False
    for scene in scenes:
        if isinstance(scene, Prompt):
            if opened:
                yield "</section>"
            opened = True
            yield f'<section id="prompt-{scene.number}">'
        yield from _lines(scene)
    if opened:
        yield "</section>"
    yield '<footer class="about"><p>Made by holdfast show. Secrets are redacted.</p></footer></main></body></html>'


def _lines(scene: Scene) -> Iterator[str]:
    if isinstance(scene, Prompt):
        yield f'<h2>{scene.number} {_text(scene.command)} <span class="at">{_text(clock(scene.at))}</span></h2>'
        if scene.text.strip():
            yield f'<div class="prompt">{_text(scene.text)}</div>'
    elif isinstance(scene, Answer):
        yield f'<div class="answer">{_text(scene.text)}</div>'
    elif isinstance(scene, Call):
        yield from _call(scene)
    elif isinstance(scene, Edit):
        yield from _edit(scene)
    elif isinstance(scene, Told):
        count = f"{len(scene.lines)} lines, {scene.tokens} tokens"
        yield f'<details open class="memory"><summary>◆ memory showed it {count}</summary>'
        yield f"<pre>{_text(chr(10).join(scene.lines))}</pre></details>"
    elif isinstance(scene, Note):
        yield f'<p class="call{" bad" if scene.failure else ""}">— {_text(flat(scene.text))}</p>'
    elif isinstance(scene, Sum):
        yield f'<p class="sum">{_text(spent(scene))}</p>'


def _call(call: Call) -> Iterator[str]:
    name = "$" if call.action == "shell" else call.action if call.action != "other" else call.tool
    margin = "  ".join(filter(None, (duration(call.seconds), failed_how(call))))
    kind = {True: "ok", False: "bad", None: ""}[call.ok]
    said = _text(f"{name} {flat(call.target)}".rstrip())
    mark = f'<span class="{kind}">{_MARKS[call.ok]}</span>'
    line = f'<span class="margin">{_text(margin)}</span>{mark} {said}'
    if call.ok is False and call.result:
        yield f"<details><summary>{line}</summary><pre>{_text(call.result)}</pre></details>"
    else:
        yield f'<div class="call">{line}</div>'


def _edit(edit: Edit) -> Iterator[str]:
    kind, mark = ("bad", "✗") if edit.ok is False else ("ok", "✎")
    line = f'<span class="{kind}">{mark}</span> {_text(flat(edit.path))}{_text(changed(edit))}'
    if not edit.diff and not edit.result:
        yield f'<div class="edit">{line}</div>'
        return
    yield f"<details><summary>{line}</summary><pre>"
    for text in edit.diff or (edit.result,):
        style = {"+": "added", "-": "removed"}.get(text[:1], "") if edit.diff else ""
        yield f'<span class="{style}">{_text(text)}</span>' if style else _text(text)
    if edit.left_out:
        yield f"… {edit.left_out} more lines"
    yield "</pre></details>"


def _text(text: str) -> str:
    return inert(text, "html")
