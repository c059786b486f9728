"""`holdfast agents plugin AGENT`: hooks, tools, commands and a skill as a plugin of the agent itself."""

from __future__ import annotations

from pathlib import Path

from holdfast.agents.registry import PLUGINS
from holdfast.flows.plugins import Made, make
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Makes a plugin for an agent, if you prefer that to changed settings: hooks, tools, a skill, and the
commands /holdfast:resume, :ledger, :handoff, :lessons, :why and :wrong. The plugin is for this machine; add it in the
agent with the commands shown. Make it again after upgrading or moving holdfast. Enable memory in each repository with
holdfast init --no-wire. For OpenCode, use holdfast agents install opencode."""
EXAMPLES = """examples:
  holdfast agents plugin claude-code                  make it, and say how to add it
  holdfast agents plugin codex --to ~/plugins/codex   in a folder of your choice
  claude --plugin-dir "$(holdfast agents plugin claude-code --path)/plugins/holdfast"   for one session
"""


OPTIONS = (
    option("agent", metavar="AGENT", help=f"one of: {', '.join(PLUGINS)}"),
    option("--to", type=Path, metavar="DIR", help="where to make it (default: ~/.holdfast/plugins)"),
    flag("--no-mcp", "without tools"),
    flag("--path", "print only the folder, for scripts"),
    flag("--json", "what was made as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    folder = (machine.cwd / options.to.expanduser()).absolute() if options.to else None
    plugin = make(machine, machine.project(), options.agent, folder, tools=not options.no_mcp)
    output.warn_all(plugin.warnings)
    if options.json:
        output.show_json(
            {name: getattr(plugin, name) for name in plugin.__struct_fields__}
            | {"folder": str(plugin.folder)}
        )
    elif options.path:
        output.line(str(plugin.folder))
    else:
        _tell(plugin)


def _tell(made: Made) -> None:
    state = "made" if made.new else "updated" if made.changed else "up to date"
    output.line(f"The plugin for {made.title} is {state}: {output.place(made.folder)}")
    if made.changed and not made.new and made.update:
        output.lines("Update it in the agent:", f"  {made.update}")
        return
    output.lines(
        "Add it to the agent once:",
        f"  {' && '.join(made.commands)}",
        *made.needs,
        "Then enable memory in each repository: holdfast init --no-wire",
    )
