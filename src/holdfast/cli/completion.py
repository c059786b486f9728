"""`holdfast completion SHELL`: prints the shell script that completes our commands and options."""

from __future__ import annotations

import sys

from holdfast.terminal.options import Machine, Namespace, option

SHELLS = ("bash", "zsh", "fish", "powershell")
DESCRIPTION = "Prints the completion script for your shell."
EXAMPLES = """examples:
  eval "$(holdfast completion bash)"                            for this shell; put it into ~/.bashrc to keep it
  eval "$(holdfast completion zsh)"                             in ~/.zshrc
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish
"""


OPTIONS = (option("shell", choices=SHELLS, metavar="SHELL", help=f"your shell: {', '.join(SHELLS)}"),)


def run(options: Namespace, machine: Machine) -> None:
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["holdfast"], shell=options.shell) + "\n")
