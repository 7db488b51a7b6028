"""Packs: what they say, what is refused, and what `check` finds."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gatecalc import check
from gatecalc.checking.check import value
from gatecalc.checking.claims import read_pack
from gatecalc.checking.tomlplaces import first_character, places
from gatecalc.errors import GatecalcError

HEAD = 'document = "A test"\n'


def pack(tmp_path: Path, text: str, name: str = "test.toml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def verdicts(tmp_path: Path, text: str) -> list[str]:
    report = check(pack(tmp_path, HEAD + text))
    assert not report.errors, str(report.errors[0])
    return [finding.verdict for finding in report.claims]


def test_a_pack_that_is_given_twice_is_checked_once(tmp_path: Path) -> None:
    """As a folder and as a file in it."""
    path = pack(tmp_path, HEAD + "[[claim]]\nstates = '1'\nof = '1'\n")
    assert run("check", str(tmp_path), path, path).stdout == "1 claim in 1 pack: 1 exact\n"


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (".".join("a" * 20_000) + " = 1\n", ":2:1: limit: a key has more than 50 parts", "write plain tables"),
        (
            "[[table]]\nof = 'x'\ncolumns = ['c']\nrows = [" + "['1']," * 50_001 + "]\n",
            ": limit: the pack has more than 50,000 claims and cells",
            "split the pack",
        ),
        (
            "[given]\nD = " + "9" * 5000 + "\n",
            ":3:5: limit: the number has more than 4,300 digits",
            'write it as "10**5000"',
        ),
        ("[[clam]]\n", ":2:1: key: unknown key 'clam'; did you mean 'claim'?", "known here: document, "),
        ("[given]\nD = 1\n D = 2\n", ":4:2: key: 'D' is given a second time", "keep one of them"),
        ("[[claim]]\nline = -5\n", ":3:1: type: 'line' is -5, where a number from 1", "write line = 12, or"),
    ],
    ids=["dots", "rows", "digits", "table", "twice", "line"],
)
def test_what_is_wrong_with_a_pack_has_its_place_and_a_remedy_at_once(
    text: str, message: str, remedy: str, tmp_path: Path
) -> None:
    """A key of 20,000 parts would keep a reader of TOML busy for minutes."""
    pack = tmp_path / "pack.toml"
    pack.write_text('document = "x"\n' + text, encoding="utf-8")
    start = time.process_time()
    result = run("check", str(pack))
    assert (result.exit_code, result.stderr[: len(str(pack) + message)]) == (2, str(pack) + message)
    assert f"help: {remedy}" in result.stderr
    assert time.process_time() - start < 20  # a hang, not a measure of speed


def test_definitions_are_named_once_and_evaluated_only_when_needed(tmp_path: Path) -> None:
    """A definition that nobody uses may even be impossible; one that is used may use others."""
    text = """
[given]
D = 3
[define]
never = "1 / 0"
four = "D + 1"
product = "D * four"
[[claim]]
states = "12"
of = "product"
"""
    assert verdicts(tmp_path, text) == ["exact"]


def test_decimals_of_a_pack_are_exact(tmp_path: Path) -> None:
    """0.1 + 0.2 is 0.3, and a float says otherwise."""
    assert verdicts(tmp_path, '[given]\na = 0.1\nb = 0.2\n[[claim]]\nholds = "a + b == 0.3"\n') == ["exact"]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ('states = "180"\nof = "parameters(\'lstm\', 3, 5)"', "exact"),
        ('states = "0.0174"\nof = "sigmoid(-4) * tanh(2)"\nprinted = "0.0180 * 0.9640"', "chained"),
        ('states = "[1.0, 0.4]"\nof = "[0.9, 0.2] * [1, 0.5] + [0.1, 0.3]"', "exact"),
        ('states = "[0.457, 0.304]"\nof = "[0.6, 0.8] * tanh([1, 0.4])"', "rounded"),
        ('states = "[0.457, 0.305]"\nof = "[0.6, 0.8] * tanh([1, 0.4])"', "wrong"),
        ('states = "(64,128)"\nof = "[64, 128]"', "exact"),
        ('states = "(64,128)"\nof = "64128"', "exact"),
        ('states = "torch.Size([64])"\nof = "[64]"', "exact"),
        ("formula = \"3*H*(H + 4)\"\nof = \"parameters('gru', 3, symbol('H'))\"", "exact"),
        ("formula = \"3*H*(H + 5)\"\nof = \"parameters('gru', 3, symbol('H'))\"", "wrong"),
        ('formula = "1 - sigmoid(a)"\nof = "sigmoid(-symbol(\'a\'))"', "exact"),
        ('holds = "sigmoid(3)**20 > 0.37 and not sigmoid(3)**20 > 0.38"', "exact"),
        ("holds = \"fair_width('rnn', 180, 3).exact\"", "wrong"),
        ('states = "0.7339"\nof = "trace(\'lstm\', x=[1, 0, 0, 0], W_i=4, b_i=-2, W_g=2, b_f=3).c[4]"', "rounded"),
        ('states = "1"\nof = "repeat(1, 10**9)"', "undecided"),
        ('states = "1"\nof = "exp(exp(exp(100)))"', "undecided"),
        ('states = "0"\nof = "0 * (1 / (sqrt(2)**2 - 2))"', "undecided"),
        ('states = "1"\nof = "log(sqrt(2)**2 - 2)**0"', "undecided"),
        ('states = "1"\nof = "sum(repeat(repeat(1, 10**4), 10**4))"', "undecided"),
        ('states = "1"\nof = "sum([repeat(1, 10**5), repeat(1, 10**5)])"', "undecided"),
        ('states = "2"\nof = "floor(sqrt(2)**2)"', "exact"),
        ('states = "0"\nof = "step(sqrt(2)**2 - 2)"', "exact"),
        ("formula = \"floor(H) - H\"\nof = \"floor(symbol('H')) - symbol('H')\"", "exact"),
        ('formula = "1"\nof = "sum(repeat(symbol(\'H\'), 10**4))"', "wrong"),
    ],
)
def test_each_kind_of_claim_has_its_verdict(tmp_path: Path, claim: str, verdict: str) -> None:
    """Figures, vectors, formulas and conditions."""
    assert verdicts(tmp_path, f"[[claim]]\n{claim}\n") == [verdict]


def test_the_names_of_a_formula_are_symbols_never_the_givens(tmp_path: Path) -> None:
    """H is 5 in the pack, and yet 45 is not H*(H + 4)."""
    text = "[given]\nH = 5\n[[claim]]\nformula = \"45\"\nof = \"symbol('H') * (symbol('H') + 4)\"\n"
    assert verdicts(tmp_path, text) == ["wrong"]


def test_each_cell_of_a_table_is_a_claim(tmp_path: Path) -> None:
    """Columns of a trace by name, empty cells left out, lines counted from the first row's."""
    text = """
[define]
belt = "trace('lstm', x=[1, 0], W_i=4, b_i=-2, W_g=2, b_f=3)"
[[table]]
line = 112
of = "belt"
columns = ["f", "i", "c", "h"]
rows = [["0.9526", "0.8808", "0.8491", "0.3453"], ["0.9526", "", "0.8088", "0.3346"]]
expect = { "2,h" = "wrong" }
"""
    report = check(pack(tmp_path, HEAD + text))
    assert [(f.line, f.verdict) for f in report.claims] == [(112, "rounded")] * 4 + [(113, "rounded")] * 2 + [
        (113, "wrong")
    ]
    assert report.failures() == []
    assert report.summary["errata"] == 1


def test_a_table_may_be_a_formula_in_row_and_column(tmp_path: Path) -> None:
    """Backward factors after so many steps."""
    text = """
[[table]]
of = "row ** column"
row = ["1/2", "sigmoid(1)"]
columns = ["10", "20"]
rows = [["0.00098", "0.00000095"], ["0.0436", "0.0019"]]
"""
    assert verdicts(tmp_path, text) == ["rounded"] * 4


def test_an_erratum_is_no_failure_until_it_becomes_right(tmp_path: Path) -> None:
    """It is counted apart; when the figure is right, the pack must be looked at."""
    wrong = pack(tmp_path, HEAD + '[[claim]]\nstates = "40"\nof = "41.08"\nexpect = "wrong"\n')
    right = pack(tmp_path, HEAD + '[[claim]]\nstates = "41"\nof = "41.08"\nexpect = "wrong"\n', "right.toml")
    report = check(wrong)
    assert (report.summary["errata"], report.summary["wrong"], report.failures()) == (1, 0, [])
    report = check(right)
    assert (report.summary["errata"], report.summary["rounded"], len(report.failures())) == (0, 1, 1)


def test_what_a_value_is_shown_with_more_digits_than_were_printed(tmp_path: Path) -> None:
    """And what should stand in a wrong figure's place, with exactly as many."""
    finding = check(pack(tmp_path, HEAD + '[[claim]]\nline = 7\nstates = "0.3785"\nof = "sigmoid(3)**20"\n')).claims[0]
    assert (finding.value, finding.should, finding.line, finding.id) == ("0.3784213463", "0.3784", 7, "7.1")


def test_packs_are_checked_side_by_side_with_the_same_result(tmp_path: Path) -> None:
    """-j changes the time and nothing else."""
    for number in range(3):
        pack(tmp_path, HEAD + f'[[claim]]\nstates = "{number}"\nof = "1"\n', f"{number}.toml")
    one, two = check(str(tmp_path)), check(str(tmp_path), jobs=2)
    assert one.claims == two.claims
    assert [finding.verdict for finding in two.claims] == ["wrong", "exact", "wrong"]


def test_a_broken_pack_does_not_keep_the_others_from_being_checked(tmp_path: Path) -> None:
    """The rest are checked, and the status is 2."""
    pack(tmp_path, "document = 3\n", "a.toml")
    pack(tmp_path, HEAD + '[[claim]]\nstates = "1"\nof = "1"\n', "b.toml")
    result = run("check", str(tmp_path))
    assert result.exit_code == 2
    assert "a.toml:1:1: type: 'document' is an integer, where a text is needed" in result.stderr
    assert "1 claim in 1 pack: 1 exact, 1 not checked" in result.stdout


CLAIM = '[[claim]]\nstates = "1"\nof = "1"\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (HEAD + "[[claim]]\nstate = '1'\nof = '1'\n", "3:1: key: unknown key 'state'; did you mean 'states'?"),
        (HEAD + "[defin]\na = 1\n" + CLAIM, "2:1: key: unknown key 'defin'; did you mean 'define'?"),
        (
            HEAD + "[[claim]]\nstates = '1'\nof = 'sigmod(1)'\n",
            "4:7: name: unknown function 'sigmod'; did you mean 'sigmoid'?",
        ),
        (HEAD + "[[claim]]\nstates = '1'\nof = '2 + lstm_cout'\n", "4:11: name: unknown name 'lstm_cout'"),
        (
            HEAD + "[define]\na = 'b'\nb = 'a'\n[[claim]]\nstates = '1'\nof = 'a'\n",
            "name: 'a' is defined through itself: a -> b -> a",
        ),
        (HEAD, "key: the pack has no claims"),
        ("", "1: key: the pack does not name its document"),
        (HEAD + "[[claim]\n", "2:8: syntax: expected ']]' at the end of an array declaration"),
        (HEAD + "[[claim]]\nstates = 'many'\nof = '1'\n", "3:1: numeral: 'many' is not a number"),
        (HEAD + "[[claim]]\nstates = 1\nof = '1'\n", "3:1: type: 'states' is an integer, where a text is needed"),
        (HEAD + "[[claim]]\nstates = '1'\n", "3:1: key: a claim with 'states' needs 'of'"),
        (HEAD + "[[claim]]\nof = '1'\n", "2:1: key: the claim has none of 'states', 'formula' and 'holds'"),
        (
            HEAD + "[[claim]]\nstates = '1'\nholds = '1'\nof = '1'\n",
            "4:1: key: the claim has both 'states' and 'holds'",
        ),
        (HEAD + "[[claim]]\nline = 0\nstates = '1'\nof = '1'\n", "3:1: type: 'line' is 0"),
        (
            HEAD + "[[claim]]\nstates = '1'\nof = '1'\nexpect = 'wrog'\n",
            "5:1: value: unknown verdict 'wrog'; did you mean 'wrong'?",
        ),
        (HEAD + "[[claim]]\nstates = '1'\nof = '1 +'\n", "4:10: syntax: the formula stops too early"),
        (
            HEAD + "[[claim]]\nstates = '1'\nof = '9**9**9**9'\n",
            "limit: the power 9**387420489 has more than 3,000,000 digits",
        ),
        (HEAD + "[[claim]]\nstates = '1'\nof = '1e30000000'\n", "limit: the exponent of '1e30000000' is beyond 5000"),
        (
            HEAD + "[[claim]]\nstates = '1e30000000'\nof = '1'\n",
            "limit: '1e30000000' has more than 1000 digits or an exponent",
        ),
        (HEAD + f"[[claim]]\nstates = '1'\nof = '{'(' * 10_000}'\n", "limit: brackets are nested deeper than 60"),
        (HEAD + "[[claim]]\nstates = '1'\nof = '1 / 0'\n", "4:7: value: division by zero"),
        (HEAD + "[[claim]]\nholds = '3'\n", "value: 3 is neither true nor false"),
        (HEAD + "[[claim]]\nstates = '1, 2'\nof = '1'\n", "numeral: '1, 2' has more than one number"),
        (HEAD + "[[claim]]\nstates = '[1, 2]'\nof = '1'\n", "2: shape: '[1, 2]' has 2 figures for a value that has 1"),
        (HEAD + "[given]\na = 1979-05-27\n" + CLAIM, "3:1: type: 'a' is a date or time"),
        (
            HEAD + "[[table]]\nof = '1'\ncolumns = ['a']\nrows = [['1', '2']]\n",
            "shape: row 1 has 2 cells, and there are 1 columns",
        ),
        (HEAD + "[[numeral]]\nis = 'label'\ntext = '#'\nwhy = 'x'\n" + CLAIM, "'#' alone would cover every numeral"),
        (HEAD + "claim = 3\n", "type: 'claim' is not a list of tables"),
        (HEAD + "a = " + "9" * 5000 + "\n" + CLAIM, "2:5: limit: the number has more than 4,300 digits"),
        (HEAD + "a = " + "[" * 5000 + "\n" + CLAIM, ""),
    ],
    ids=lambda text: text[-40:].replace("\n", " ") if isinstance(text, str) else None,
)
def test_a_pack_that_cannot_be_used_is_one_error_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    """File, line, what is wrong; status 2; at once."""
    path = pack(tmp_path, text)
    start = time.process_time()
    result = run("check", path)
    assert time.process_time() - start < 5  # a guard against a hang, not a benchmark
    assert result.exit_code == 2
    first = result.stderr.splitlines()[0]
    assert first.startswith(path)
    assert error in first


@pytest.mark.parametrize("data", [bytes(range(256)), b"\xff\xfe\x00", b"\x00" * 1000])
def test_binary_rubbish_is_refused(tmp_path: Path, data: bytes) -> None:
    """Not text, not a pack."""
    path = tmp_path / "rubbish.toml"
    path.write_bytes(data)
    result = run("check", str(path))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}:")


def test_a_missing_file_and_a_folder_without_packs_are_refused(tmp_path: Path) -> None:
    """Each with the remedy."""
    result = run("check", str(tmp_path / "none.toml"))
    assert (result.exit_code, "no such file" in result.stderr) == (2, True)
    result = run("check", str(tmp_path))
    assert (result.exit_code, "no packs in this folder" in result.stderr) == (2, True)


TRICKS = [
    "__import__('os').system('touch {mark}')",
    "().__class__.__bases__[0].__subclasses__()",
    "open('{mark}', 'w')",
    'exec(\'open("{mark}", "w")\')',
    "eval('1')",
    "(lambda: open('{mark}', 'w'))()",
    "[open(a, 'w') for a in ['{mark}']]",
    "'{{0.__class__}}'.format(1)",
    'f\'{{open("{mark}", "w")}}\'',
    "symbol.__globals__['__builtins__']",
    "symbol('H').__class__",
    "symbol('__import__(\"os\")')",
    "parameters('{mark}', 1, 2)",
    "trace('lstm', x=[1]).__dict__",
    "trace('lstm', x=[1])._steps",
    "getattr(1, 'real')",
    "globals()",
    "breakpoint()",
    "sum.call",
]


@pytest.mark.parametrize("trick", TRICKS)
def test_nothing_in_a_pack_runs_python(tmp_path: Path, trick: str) -> None:
    """The well-known tricks are refused by the reader or by name, and leave no trace."""
    mark = tmp_path / "mark"
    formula = trick.format(mark=mark)
    path = pack(
        tmp_path,
        HEAD + f"[[claim]]\nstates = '1'\nof = '''{formula}'''\n[[claim]]\nformula = '''{formula}'''\nof = '1'\n",
    )
    result = run("check", path)
    assert result.exit_code == 2, result.stdout
    assert not mark.exists()


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Run the command line in this process, as `main` does."""
    import gatecalc.cli as cli

    def main() -> None:
        cli.main(list(arguments))

    import click

    return CliRunner().invoke(click.Command("gatecalc", callback=main), [], input=stdin)


def test_the_json_of_check_has_all_its_keys(tmp_path: Path) -> None:
    """Every key always, null where there is nothing."""
    path = pack(
        tmp_path, HEAD + '[[claim]]\nstates = "1"\nof = "1"\n[[claim]]\nstates = "1"\nof = "repeat(0, 10**9)"\n'
    )
    result = run("check", path, "--format", "json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    keys = {"pack", "id", "line", "states", "verdict", "value", "how", "expect", "note"}
    assert all(keys <= set(claim) for claim in data["claims"])
    assert data["claims"][0]["pack"] == path
    assert data["claims"][1]["value"] is None
    assert data["summary"] == {
        "claims": 2,
        "exact": 1,
        "rounded": 0,
        "chained": 0,
        "truncated": 0,
        "wrong": 0,
        "undecided": 1,
        "errata": 0,
    }
    assert run("check", path, "--allow-undecided").exit_code == 0


def test_a_failure_is_one_line_that_says_all(tmp_path: Path) -> None:
    """Place in the pack, verdict, place in the document, printed figure, right one, and from what."""
    path = pack(
        tmp_path, HEAD + '\n[[claim]]\nline = 88\nstates = "288"\nof = "parameters(\'gru_reset_after\', 2, 8)"\n'
    )
    assert run("check", path).stdout.splitlines()[0] == (
        f"{path}:3: wrong: line 88 prints 288 for parameters('gru_reset_after', 2, 8); it is 272"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "output"),
    [
        (("value", "sigmoid(3)**20", "--states", "0.3784"), 0, "0.3784: rounded"),
        (("value", "sigmoid(3)**20", "--states", "0.3785"), 1, "0.3785: wrong; it should be 0.3784"),
        (("value", "sigmoid(3)**20", "--digits", "20"), 0, "0.37842134627077972085"),
        (("value", "2 + 2"), 0, "4  (exact arithmetic)"),
        (("value", "3 * symbol('H') + 1"), 0, "3 * H + 1  (algebra)"),
        (("value", "1 < 2"), 0, "true  (exact arithmetic)"),
        (("value", "-sigmoid(3)", "--states", "-0.95"), 0, "-0.95: rounded"),
        (("value", "-1/4"), 0, "-0.25  (exact arithmetic)"),
        (("value", "exp(exp(20))", "--states", "5"), 1, "5: wrong"),
        (("value", "exp(exp(exp(100)))"), 1, "undecided: it is too large to enclose"),
        (("value", "--list"), 0, "parameters('lstm', 3, 5, bias='single') = 180"),
    ],
)
def test_the_calculator_answers_in_one_command(arguments: tuple[str, ...], status: int, output: str) -> None:
    """Digits, verdicts, and the list of functions."""
    result = run(*arguments)
    assert result.exit_code == status
    assert output in result.stdout


def test_every_function_of_the_table_gives_its_example() -> None:
    """A row's example is evaluated, and its value is what the row says."""
    from gatecalc.checking.calculator import calculate
    from gatecalc.checking.check import show
    from gatecalc.checking.functions import FUNCTIONS
    from gatecalc.numbers.precise import Real

    for row in FUNCTIONS.values():
        assert row.title.endswith("."), row.name
        found = calculate(row.example)
        if isinstance(found, Real) and not found.symbols:
            assert value(row.example, row.value).verdict in ("exact", "rounded"), row.name
        else:
            assert show(found, 6) == row.value, row.name


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            'claim = [\n  {states = "1", of = "1"},\n  {states = "2", of = "o + 1"},\n]\n',
            "4:24: name: unknown name 'o'",
        ),
        ('claim = [{states = "1", of = "1"}, {states = "2", off = "1"}]\n', "2:51: key: unknown key 'off'"),
        ('given.D = 3\ngiven.e = "f + 1"\n[[claim]]\nstates = "1"\nof = "e"\n', "3:12: name: unknown name 'f'"),
        ('\r\n[[claim]]\r\nstates = "1"\r\nof = "o"\r\n', "5:7: name: unknown name 'o'"),
        ('[[claim]]\nholds = """1 == 1 and\n  2 == 2 and\n  two == 2"""\n', "5:3: name: unknown name 'two'"),
        ("[[claim]]\nholds = '''\n1 == 1 and\n  2 == (2 and\n  two == 2'''\n", "5:8: syntax: '(' is never closed"),
        ('[[claim]]\nholds = """1 == 1 and \\\n  two == 2"""\n', "3: name: unknown name 'two'"),
        ('[[claim]]\nstates = "1"\nof = "a\\u0020+ 1"\n', "4: name: unknown name 'a'"),
        ('[[claim]]\nstates = "1"\nof = "\u00e9 + \u00e9" # "\n', "4:7: name: unknown name '\u00e9'"),
        ('[[claim]]\nstates = "1"\n"of" = "o#"\n', "4:9: name: unknown name 'o'"),
        ("note = \"it's ''' a\"\n# \"\"\"\n[[claim]]\nstates = '1'\nof = 'o'\n", "6:7: name: unknown name 'o'"),
        ('[[claim]]\nstates = "1"\nof = "1"\n[claim.more]\na = 1\n', "5:1: key: unknown key 'more'"),
        (
            '[[table]]\nof = "row"\ncolumns = ["claim"]\nrows = [\n["1"],\n["claim"]\n]\n' + CLAIM,
            "7:2: numeral: 'claim' is not a number",
        ),
        (
            '[[table]]\nof = "row"\nrow = ["1",\n  "x"]\ncolumns = ["a"]\nrows = [["1"], ["1"]]\n',
            "5:4: name: unknown name 'x'",
        ),
        ("[given]\nc = inf\n[[claim]]\nstates = '1'\nof = 'c'\n", "3:1: type: 'c' is not finite"),
        ("[given]\npi = 3\n[[claim]]\nstates = '3'\nof = 'pi'\n", "3:1: name: 'pi' has a value already"),
        ("[given]\nlambda = 3\n[[claim]]\nstates = '3'\nof = '3'\n", "3:1: name: 'lambda' is not a name"),
        (
            "[[claim]]\nid = 'a'\nstates = '3'\nof = '3'\n[[claim]]\nid = 'a'\nstates = '3'\nof = '3'\n",
            "7:1: value: two claims have the id 'a'",
        ),
        (
            "[[table]]\nof = '[[1]]'\ncolumns = ['a']\nrows = [['1']]\nexpect = {'1,a' = ['wrong']}\n",
            "6:1: type: a table's 'expect' names cells and their verdicts",
        ),
        ("[[table]]\nof = '[[1]]'\ncolumns = ['a']\nrows = [['1'], ['1']]\n", "5: shape: the value has no row 2"),
        (
            "[[table]]\nof = '[1, 1]'\ncolumns = ['a', 'b']\nrows = [['1', '1'], ['1', '1']]\n",
            "5: shape: the value has no",
        ),
    ],
)
def test_places_in_a_pack_are_right_or_not_given(tmp_path: Path, text: str, error: str) -> None:
    """In inline tables, dotted keys, multi-line texts, with escapes, comments and other line ends."""
    path = tmp_path / "test.toml"
    path.write_bytes((HEAD + text).encode())
    assert run("check", str(path)).stderr.splitlines()[0].startswith(f"{path}:{error}")


@pytest.mark.parametrize("path", sorted(Path("worked_examples").glob("*.toml")), ids=lambda path: path.stem)
def test_every_place_in_a_pack_is_that_of_what_was_read(path: Path) -> None:
    """The scan for places and tomllib agree on all that there is."""
    text = path.read_text(encoding="utf-8")
    found = places(text)

    def compare(value: object, at: tuple[str | int, ...]) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if (*at, key) in found:  # a list of tables has a place for each
                    assert key in text[found[(*at, key)].key :][: len(key) + 3]
                compare(item, (*at, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                compare(item, (*at, index))
        elif isinstance(value, str) and "\\" not in value:
            assert text.startswith(value, first_character(text, found[at].value)) or "\\" in text

    compare(tomllib.loads(text), ())


def test_lines_of_a_pack_are_found_in_any_layout(tmp_path: Path) -> None:
    """Multi-line texts, dotted keys, comments and inline tables do not shift the places."""
    text = HEAD + 'note = """\n[[claim]]\nstates = 3\n"""\n# [[claim]]\n[[claim]] # the first\nstates="1"\nof="1"\n'
    text += "claim2 = 3\n"
    with pytest.raises(GatecalcError) as caught:
        read_pack(pack(tmp_path, text))
    assert str(caught.value).splitlines()[0].endswith(":10:1: key: unknown key 'claim2'")


@pytest.mark.parametrize(
    "holds, how",
    [
        ("1/3 < 0.34", "exact"),
        ("sigmoid(1) < 0.74", "enclosure"),
        ("2 * symbol('H') == symbol('H') + symbol('H')", "algebra"),
        ("not run.h[1][0] > 0", "float32"),
        ("increasing(run.norm) or sigmoid(1) < 0.74", "float32"),
    ],
)
def test_a_condition_says_how_it_is_known(tmp_path: Path, holds: str, how: str) -> None:
    """By the weakest of the numbers that it looks at."""
    pack = tmp_path / "pack.toml"
    pack.write_text(
        "document = 'a text'\n[define]\nrun = \"simulate('rnn', x=[1, 0], H=2, draws='W | U')\"\n"
        f'[[claim]]\nholds = "{holds}"\n'
    )
    (finding,) = check(str(pack)).claims
    assert (finding.verdict, finding.how) == ("exact", how)


def test_a_pack_may_come_from_standard_input() -> None:
    """`-` is a path."""
    result = run("check", "-", stdin=HEAD + CLAIM)
    assert (result.exit_code, result.stdout) == (0, "1 claim in 1 pack: 1 exact\n")


def test_one_claim_can_be_checked_alone(tmp_path: Path) -> None:
    """By its id, and an unknown one is refused with the closest."""
    path = pack(tmp_path, HEAD + CLAIM + '[[claim]]\nid = "second"\nstates = "2"\nof = "3"\n')
    result = run("check", path, "--only", "second")
    assert (result.exit_code, "1 claim in 1 pack: 1 wrong" in result.stdout) == (1, True)
    result = run("check", path, "--only", "secnd")
    assert (result.exit_code, "no claim 'secnd'; did you mean 'second'?" in result.stderr) == (2, True)


def test_errata_are_printed_for_the_author(tmp_path: Path) -> None:
    """Place, what it says, what it should say, why, and the command that shows it."""
    text = (
        'numerals = 3\n[[claim]]\nline = 165\nstates = "roughly 40"\nof = "4.8"\nexpect = "wrong"\nnote = "it is not"\n'
    )
    path = pack(tmp_path, HEAD + text)
    assert run("check", path, "--errata").stdout == (
        "# Errata\n\n"
        "| document | numerals | claims | exact | rounded | chained | truncated | wrong |\n"
        "|---|---|---|---|---|---|---|---|\n"
        "| A test | 3 | 1 | 0 | 0 | 0 | 0 | 1 |\n\n"
        "## A test\n\n"
        "**Line 165** prints `roughly 40`; it should be `5` (the value is 4.8). It is not.\n\n"
        f"    gatecalc check {path} --only '165.1'\n"
    )


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ('[[claim]]\nholds = "1 < 2"\n', "exact"),
        ('[[claim]]\nholds = "sigmoid(3)**20 > 0.37 and 1 < 2"\n', "enclosure"),
        ('[[claim]]\nholds = "sqrt(2)**2 == 2"\n', "algebra"),
        ('[[claim]]\nholds = "[1, exp(1)] != [1, exp(1) + 1]"\n', "enclosure"),
        ('[define]\na = "exp(1) > 2"\n[[claim]]\nholds = "a"\n[[claim]]\nholds = "a"\n', "enclosure"),
        ('[define]\na = "exp(1) > 2"\nb = "a and 1 < 2"\n[[claim]]\nholds = "not not b"\n', "enclosure"),
    ],
)
def test_a_condition_counts_the_definitions_that_it_uses(tmp_path: Path, text: str, how: str) -> None:
    """By the weakest of its comparisons, those of the definitions that it uses included."""
    assert {finding.how for finding in check(pack(tmp_path, HEAD + text)).claims} == {how}


@pytest.mark.parametrize(
    ("states", "of", "verdict", "should"),
    [
        ("never", "train('remember-first', 'rnn', 20, W=0.5, U=0.5, V=0.5, rate=0.5, passes=9).learned", "exact", None),
        ("9", "train('remember-first', 'rnn', 20, W=0.5, U=0.5, V=0.5, rate=0.5, passes=9).learned", "wrong", "never"),
        ("never", "train('remember-first', 'rnn', 5, W=0.5, U=0.5, V=0.5, rate=0.5).learned", "wrong", "8"),
        ("8", "train('remember-first', 'rnn', 5, W=0.5, U=0.5, V=0.5, rate=0.5).learned", "exact", None),
        ("never", "fair_width('rnn', 180, 3).width", "exact", None),
        ("11", "fair_width('rnn', 180, 3).width", "wrong", "never"),
    ],
)
def test_never_is_a_claim_that_there_is_no_such_number(
    tmp_path: Path, states: str, of: str, verdict: str, should: str | None
) -> None:
    """In a pack and in the calculator; and a number where there is none is wrong."""
    finding = check(pack(tmp_path, HEAD + f'[[claim]]\nstates = "{states}"\nof = "{of}"\n')).claims[0]
    assert (finding.verdict, finding.should) == (verdict, should)
    assert finding.how == ("exact" if of.startswith("fair") else "float64")
    assert value(of, states).verdict == verdict


def test_of_several_paths_a_folder_without_packs_is_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    """As any other path that cannot be checked."""
    (tmp_path / "empty").mkdir()
    good = pack(tmp_path, HEAD + '[[claim]]\nstates = "2"\nof = "1 + 1"\n')
    result = run("check", str(tmp_path / "empty"), good)
    assert result.exit_code == 2
    assert result.stdout == "1 claim in 1 pack: 1 exact, 1 not checked\n"
    assert result.stderr.startswith(f"{tmp_path / 'empty'}: file: no packs in this folder\nhelp: ")
