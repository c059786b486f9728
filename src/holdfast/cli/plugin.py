"""`holdfast agents plugin AGENT`: hooks, tools, commands and a skill as a plugin of the agent itself."""

from __future__ import annotations

from pathlib import Path

from holdfast.agents.registry import PLUGINS
from holdfast.flows.plugins import Made, make
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Makes a plugin for an agent, for those who would rather add a plugin than have their settings changed:
hooks, tools, the commands /holdfast:resume, :ledger, :handoff, :lessons, :why and :wrong, and a skill that tells the
agent when to use the tools. It is made for this machine in ~/.holdfast/plugins, and you add it in the agent with the
commands that are shown. Run it again after holdfast was moved or upgraded. Memory is enabled in each repository by
holdfast init --no-wire. OpenCode gets its plugin by holdfast agents install opencode."""
EXAMPLES = """examples:
  holdfast agents plugin claude-code                  make it, and say how to add it
  holdfast agents plugin codex --to ~/plugins/codex   in a folder of your choice
  claude --plugin-dir "$(holdfast agents plugin claude-code --path)/plugins/holdfast"   for one session
"""


OPTIONS = (
    option("agent", metavar="AGENT", help=f"one of: {', '.join(PLUGINS)}"),
    option("--to", type=Path, metavar="DIR", help="make it there (default: ~/.holdfast/plugins)"),
    flag("--no-mcp", "without tools"),
    flag("--path", "print nothing but the folder, for scripts"),
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
    state = "made" if made.new else "made anew" if made.changed else "up to date"
    output.line(f"The plugin for {made.title} is {state}: {output.place(made.folder)}")
    if made.changed and not made.new and made.update:
        output.lines("Take it over in the agent:", f"  {made.update}")
        return
    output.lines(
        "Add it in the agent, once:",
        f"  {' && '.join(made.commands)}",
        *made.needs,
        "Then enable memory in each repository where you want it: holdfast init --no-wire",
    )
