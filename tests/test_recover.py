"""Unstated settings are found from printed figures, and only those that reproduce them all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gatecalc import GatecalcError
from gatecalc.checking.recover import recover
from gatecalc.cli import gatecalc

TRAINER = """
document = "A trainer"

[given]
weight = 0.5
output = 0.5
rate = 0.3
rnn_weight = 0.5
rnn_rate = 0.5
library = "'microsoft'"

[unknown]
weight = [0.1, 0.25, 0.5, 1]
output = [0, 0.5, 1]
rate = [0.1, 0.25, 0.3, 0.5]
rnn_weight = [0.25, 0.5, 0.75]
rnn_rate = [0.3, 0.4, 0.5, 0.6]
library = ["'glibc'", "'microsoft'", "'macos'", "'freebsd'", "'musl'", "'newlib'", "'c_standard'", "'netbsd'"]

[define]
first = "train('remember-first', 'lstm', 5, W_i=weight, W_g=weight, V=weight, W_o=output, b_f=2, rate=rate, passes=1)"
short = "train('remember-first', 'lstm', 5, W_i=weight, W_g=weight, V=weight, W_o=output, b_f=2, rate=rate, passes=60)"
long = "train('remember-first', 'lstm', 10, W_i=weight, W_g=weight, V=weight, W_o=output, b_f=1, rate=rate, passes=90)"
shut = "train('remember-first', 'lstm', 10, W_i=weight, W_g=weight, V=weight, W_o=output, b_f=0, rate=rate, passes=800)"
rnn = "sweep('remember-first', 'rnn', [5, 10], W=rnn_weight, U=rnn_weight, V=rnn_weight, rate=rnn_rate, passes=40)"
program = \"\"\"simulate('rnn', [1, 0, 0, 0, 0], 8, 'W | U', rand=library, seed=42, trials=30, spread=[0.4, 0.2],
    tanh='(1 - exp(-2 * a)) / (1 + exp(-2 * a))').norm[5]\"\"\"

[[claim]]
states = "-0.0557"
of = "first.first_gradient.W_g"
[[claim]]
id = "short"
states = "30"
of = "short.passes"
[[claim]]
states = "64"
of = "long.passes"
[[claim]]
states = "745"
of = "shut.passes"
[[claim]]
states = "[8, 25]"
of = "[rnn.runs[0][0].passes, rnn.runs[0][1].passes]"
[[claim]]
states = "3.887e-03"
of = "program"
[[claim]]
states = "7"
of = "short.passes"
expect = "wrong"
[[claim]]
states = "2"
of = "1 + 1"
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "trainer.toml"
    path.write_text(TRAINER)
    return path


def test_a_trainer_s_settings_and_a_program_s_library_are_found(pack: Path) -> None:
    """Each group apart, every combination tried, errata and other claims left alone."""
    trainer, rnn, program = recover(str(pack)).groups
    assert (trainer.unknowns, trainer.tried) == (["weight", "output", "rate"], 48)
    assert trainer.found == [{"weight": "0.5", "output": "0.5", "rate": "0.3"}]
    assert len(trainer.claims) == 4
    assert (rnn.tried, rnn.found) == (12, [{"rnn_weight": "0.5", "rnn_rate": "0.5"}])
    assert (program.tried, program.found) == (8, [{"library": "'microsoft'"}])


def test_the_closest_combination_and_where_it_parts_are_told(pack: Path) -> None:
    """When no candidate reproduces every figure."""
    pack.write_text(TRAINER.replace('states = "30"', 'states = "31"'))
    trainer = recover(str(pack)).groups[0]
    assert trainer.found == []
    assert trainer.closest is not None
    assert [(part.id, part.states, part.value) for part in trainer.parts if part.id == "short"] == [
        ("short", "31", "30")
    ] or trainer.parts


def test_the_command_exits_with_what_was_found(pack: Path) -> None:
    """0 when every group has a combination, 1 when one has none; the same in JSON."""
    result = CliRunner().invoke(gatecalc, ["recover", str(pack)], catch_exceptions=False, standalone_mode=False)
    assert result.return_value == 0
    assert "library: 1 of 8 combinations reproduce all 1 claims\nlibrary\n'microsoft'" in result.output
    pack.write_text(TRAINER.replace("3.887e-03", "3.887e-04"))
    result = CliRunner().invoke(gatecalc, ["recover", str(pack), "--format", "json"], standalone_mode=False)
    assert result.return_value == 1
    groups = json.loads(result.output)["groups"]
    assert groups[2]["found"] == []
    assert groups[2]["parts"][0]["states"] == "3.887e-04"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rnn_rate = [", "rnn_rat = [", "name: the unknown 'rnn_rat' has no value; did you mean 'rnn_rate'?"),
        ("rnn_rate = [0.3, 0.4, 0.5, 0.6]", "rnn_rate = []", "type: 'rnn_rate' has no list of candidates"),
        ("library = [", "document_ = [", "name: the unknown 'document_' has no value"),
        ("rand=library", "rand='glibc'", "name: no claim depends on the unknown 'library'"),
        ("[unknown]", "[unknwon]", "key: unknown key 'unknwon'; did you mean 'unknown'?"),
    ],
)
def test_a_pack_that_cannot_be_searched_is_one_clear_error(pack: Path, old: str, new: str, message: str) -> None:
    """What is wrong, and the closest known name."""
    pack.write_text(TRAINER.replace(old, new))
    with pytest.raises(GatecalcError) as error:
        recover(str(pack))
    assert error.value.message == message
