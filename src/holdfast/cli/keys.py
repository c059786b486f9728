"""`holdfast keys`: the key by which this person signs and seals what is synced."""

from __future__ import annotations

import getpass
from pathlib import Path

from holdfast.core import files
from holdfast.core.errors import NotFound, StoreError, UsageError
from holdfast.sync import service
from holdfast.sync.keys import Keys, fingerprint
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person, terminal
from holdfast.terminal.options import Machine, Namespace, Verb, flag, option

DESCRIPTION = """Shows your key, and exports it for your other machines. The first sync creates it, and it stays on
this machine unless you export it. Anyone who has it can read your synced memory and write in your name."""
EXAMPLES = """examples:
  holdfast keys                          your name and your key's fingerprint
  holdfast keys export me.key            the key in a file, encrypted with a passphrase
  holdfast keys restore me.key           on the other machine
  holdfast keys rotate                   a new key from now on
  holdfast keys revoke                   after it was stolen: refuse what it signs from now on
  holdfast keys name "Ana Example"       the name that others see
"""
_ENV = "HOLDFAST_PASSPHRASE"
_YES = flag("--yes", "do not ask")
_JSON = flag("--json", "key fingerprint and name as JSON")
VERBS = {
    "show": Verb("show your name and your key's fingerprint", (_JSON,)),
    "export": Verb(
        f"write the key to a file, encrypted with a passphrase ({_ENV}, or asked for)",
        (option("file", metavar="FILE", help="the file to write; it must not exist"), _JSON),
    ),
    "restore": Verb(
        "use the key of another machine here",
        (
            option("file", metavar="FILE", help="the file that export wrote"),
            flag("--replace", "use it instead of the key that is here"),
            _JSON,
        ),
    ),
    "rotate": Verb("create a new key; the old one can still read what it wrote", (_YES, _JSON)),
    "revoke": Verb("create a new key, and refuse what the old one signs from now on", (_YES, _JSON)),
    "name": Verb("set the name others see", (option("name", metavar="NAME", help="your name"), _JSON)),
}
OPTIONS = (flag("--json", "key fingerprint and name as JSON"),)


def run(options: Namespace, machine: Machine) -> None:
    keys = Keys(machine)
    if not keys.exists:
        output.answer(options, {"author": None}, "No key yet. The first sync creates one.")
        return
    _show(options, keys, f"{keys.name}, key {fingerprint(keys.author)}")


run_show = run


def _show(options: Namespace, keys: Keys, said: str) -> None:
    value = {
        "author": keys.author,
        "fingerprint": fingerprint(keys.author),
        "name": keys.name,
        "verify": keys.own.verify,
        "before": [pair.author for pair in keys.pairs[1:]],
    }
    output.answer(options, value, said)


def run_export(options: Namespace, machine: Machine) -> None:
    require_person(machine)
    path = machine.cwd / Path(options.file).expanduser()
    if path.exists():
        raise StoreError("the file already exists", where=str(path), fix="Choose another name")
    keys = Keys(machine)
    data = keys.export(_passphrase(machine, again=True))
    with files.explained(path, "write"), files.open_new(path, 0o600) as file:
        file.write(data)
        files.finish(file)
    _show(
        options,
        keys,
        f"Written to {path}. On the other machine: holdfast keys restore {path.name}, then delete the file.",
    )


def run_restore(options: Namespace, machine: Machine) -> None:
    require_person(machine)
    path = machine.cwd / Path(options.file).expanduser()
    data = files.read(path)
    if data is None:
        raise NotFound("there is no such file", where=str(path), fix="holdfast keys export FILE creates one")
    keys = Keys(machine)
    author = keys.restore(data, _passphrase(machine), str(path), instead=options.replace)
    service.keys_changed(machine)
    _show(
        options, keys, f"You are {keys.name} here too, key {fingerprint(author)}. Run holdfast sync TARGET."
    )


def run_rotate(options: Namespace, machine: Machine) -> int | None:
    return _renew(options, machine, revoke=False)


def run_revoke(options: Namespace, machine: Machine) -> int | None:
    return _renew(options, machine, revoke=True)


def _renew(options: Namespace, machine: Machine, *, revoke: bool) -> int | None:
    require_person(machine)
    question = "Create a new key? You must then export it to your other machines, and be invited to your teams again."
    if not options.yes and not agreed(question, fix="Add --yes to go ahead"):
        output.line("Nothing was changed.")
        return 1
    keys = Keys(machine)
    keys.rotate(revoke=revoke)
    said = f"Your key is {fingerprint(keys.author)} now. The old one can still read what it wrote."
    if revoke:
        said += (
            " Nothing else that it signed is accepted here. Take the new key to your other machines: they sign their "
            "entries again with it. An owner of each team removes the old key: holdfast team remove."
        )
    service.keys_changed(machine)
    _show(options, keys, said)
    return None


def run_name(options: Namespace, machine: Machine) -> None:
    keys = Keys(machine)
    keys.rename(options.name)
    _show(options, keys, f"Others see you as {keys.name}.")


def _passphrase(machine: Machine, *, again: bool = False) -> str:
    if given := machine.env.get(_ENV):
        return given
    if not terminal():
        raise UsageError("no terminal: cannot ask for the passphrase", fix=f"Set {_ENV}")
    first = getpass.getpass("Passphrase: ")
    if again and getpass.getpass("Repeat it: ") != first:
        raise UsageError("the passphrases differ", fix="Try again")
    return first
