"""The model that says what a credential is: it is the one that the script trains, and it judges what it has not seen."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from array import array
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from tests.guard import secret_samples as samples

from holdfast.guard import credential_model as model
from holdfast.guard.broken_values import find_broken
from holdfast.guard.redact import Redactor

pytestmark = pytest.mark.promise("G1")

SCRIPTS = Path(__file__).parents[2] / "scripts"
UNKNOWN = "zq" + "vo_live_{62:40}"  # no table has this prefix


def script(name: str) -> ModuleType:
    if str(SCRIPTS) not in sys.path:
        sys.path.insert(0, str(SCRIPTS))
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# In a process of its own: what other tests have read is kept in caches that the training would meet.
TRAIN = """
import sys
import train_credentials as training
training.forget_the_model()
sys.stdout.buffer.write(training.store(training.fitted()))
"""


@pytest.mark.slow
def test_the_script_trains_the_model_that_is_shipped() -> None:
    trained = subprocess.run([sys.executable, "-c", TRAIN], cwd=SCRIPTS, stdout=subprocess.PIPE, check=True)
    made, kept = array("h"), array("h")
    made.frombytes(trained.stdout)
    kept.frombytes(script("train_credentials").MODEL.read_bytes())
    assert len(made) == len(kept) == model.SIZE
    # Sums of floating-point numbers differ in their last digits between machines.
    assert max(abs(one - other) for one, other in zip(made, kept, strict=True)) <= 3


def test_fresh_credentials_are_found_and_fresh_look_alikes_are_not() -> None:
    labels = script("credential_labels")
    redactor = Redactor()
    found: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for example in labels.examples(seed=4711, count=700):
        form = "look-alike" if not example.secret else "broken" if example.gap else "whole"
        redacted = redactor.redact(example.text)
        pieces = {piece[i : i + 8] for piece in example.pieces for i in range(len(piece) - 7)}
        count[form] += 1
        found[form] += (
            redacted != example.text if form == "look-alike" else not any(map(redacted.__contains__, pieces))
        )
    shares = {form: found[form] / count[form] for form in count}
    print(shares, count)
    assert shares["whole"] >= 0.85
    assert shares["broken"] >= 0.75
    assert shares["look-alike"] <= 0.15  # most of them stand under a name such as `token`


@pytest.mark.parametrize("text", ["key for it: %s", "connect('%s')", "%s", "it says 401 for %s, why?"])
def test_a_token_of_an_unknown_service_is_found_without_a_name(text: str) -> None:
    token, bodies = samples.fill(random.Random(text), UNKNOWN)
    redacted = Redactor().redact(text % token)
    assert samples.survivors(samples.Sample("", "", "", bodies), redacted) == []
    assert redacted == text % "[redacted:credential]"


@pytest.mark.parametrize(
    "gap",
    [
        '"\nconst part2 = "',
        "</td><td>",
        " and the rest is ",
        "\n[10:12] ann: ",
        '", "',
        "\n-- page 2 --\n",
        "]]><![CDATA[",
    ],
)
def test_pieces_of_a_token_go_whatever_stands_between_them(gap: str) -> None:
    token, (body,) = samples.fill(random.Random(gap), "gh" + "p_{62:36}")
    text = f'token = "{token[:20]}{gap}{token[20:]}"\nThe next line stays.'
    redacted = Redactor().redact(text)
    assert redacted.endswith('"\nThe next line stays.')
    assert not any(body[i : i + 6] in redacted for i in (0, 8, 17, 26))


def test_neighbouring_ids_are_not_put_together() -> None:
    rng = random.Random(5)
    rows = "\n".join(f"{rng.randbytes(20).hex()}  {rng.randbytes(4).hex()}.key.js" for _ in range(30))
    assert list(find_broken(rows)) == []
    assert Redactor().redact(rows) == rows
