"""`holdfast completion SHELL`: the script that teaches a shell our commands and options."""

from __future__ import annotations

import argparse
import sys

from holdfast.store.machine import Machine

SHELLS = ("bash", "zsh", "fish", "powershell")
DESCRIPTION = "Prints the completion script for your shell."
EXAMPLES = """examples:
  eval "$(holdfast completion bash)"                            for this shell; put it into ~/.bashrc to keep it
  eval "$(holdfast completion zsh)"                             in ~/.zshrc
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=SHELLS, metavar="SHELL", help=f"the shell that you use: {', '.join(SHELLS)}"
    )


def run(options: argparse.Namespace, machine: Machine) -> int:
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["holdfast"], shell=options.shell) + "\n")
    return 0


def complete() -> None:
    """Answers the shell's question for the words typed so far, and ends the process."""
    import argcomplete

    argcomplete.autocomplete(whole_parser())


def whole_parser() -> argparse.ArgumentParser:
    """Every command in one parser: for completion and for the generated reference, never for running."""
    from holdfast.cli.main import COMMANDS
    from holdfast.cli.run import load

    parser = argparse.ArgumentParser(prog="holdfast")
    verbs = parser.add_subparsers(dest="command")
    for name, (module, about) in COMMANDS.items():
        command = load(module)
        command.configure(
            verbs.add_parser(name, help=about, description=getattr(command, "DESCRIPTION", about))
        )
    return parser
