"""Pasted summaries of models: tables of Keras' ``model.summary()`` and of torchinfo, row by row, held to the counts.

A row gives a kind of layer, the shape of its output and its number of parameters, not its input width or its options.
So a count is right when some options of that kind give it, with the input width that the row above hands on where that
is told; it is wrong when no options and no input width do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from gatecalc.counts.architecture import architecture, count
from gatecalc.counts.quadratic import coefficients
from gatecalc.errors import GatecalcError, Place
from gatecalc.record import Record

MAX_ROWS = 100_000
MAX_LAYERS = 8  # of a PyTorch layer, tried one after the other


class Row(Record):
    """A row of a table: ``verdict`` is ``exact``, ``wrong`` or ``undecided``; ``value`` is what should stand there."""

    line: int
    name: str
    layer: str
    output: list[int | None]
    printed: int
    value: int | None
    verdict: str
    note: str


class Option(Record):
    """One way in which a layer of a kind may be made."""

    cell: str
    bias: str
    words: str


_KERAS = {
    "SimpleRNN": [Option("rnn", "single", ""), Option("rnn", "none", "use_bias=False")],
    "LSTM": [Option("lstm", "single", ""), Option("lstm", "none", "use_bias=False")],
    "GRU": [
        Option("gru_reset_after", "double", ""),
        Option("gru_cho", "single", "reset_after=False"),
        Option("gru_cho", "none", "use_bias=False"),
    ],
}
_KERAS["Bidirectional"] = [option for options in _KERAS.values() for option in options]
_PYTORCH = {
    kind: [Option(cell, "double", ""), Option(cell, "none", "bias=False")]
    for kind, cell in (("RNN", "rnn"), ("LSTM", "lstm"), ("GRU", "gru_reset_after"))
}

_KERAS_ROW = re.compile(
    r"(?P<name>\S+)\s+\((?P<kind>\w+)\)\s+(?P<shape>[(\[][^)\]]*[)\]])\S*\s+(?P<count>[\d,]+)(?:\s.*)?"
)
_KERAS_SPLIT = re.compile(r"(?P<name>\S+)\s+(?P<rest>[(\[][^)\]]*[)\]]\S*\s+[\d,]+.*)")
_TORCHINFO_ROW = re.compile(
    r"(?P<kind>\w+)(?: \((?P<name>[^)]*)\))?: (?P<place>[\d-]+)\s+(?P<shape>\[.*?\])\s+(?P<count>[\d,]+)(?:\s.*)?"
)
_TOTAL = re.compile(r"Total params:\s*(?P<count>[\d,]+)")
_OPTIMIZER = re.compile(r"Optimizer params:\s*(?P<count>[\d,]+)")
_BOX = re.compile("[\u2500-\u257f|]")


def rows(text: str, path: str = "<table>") -> list[Row]:
    """Read a table and judge its rows.

    Raises:
        GatecalcError: For text in which there is no such table.
    """
    found: list[Row] = []
    width: int | None = None
    total = 0
    for number, line in enumerate(_lines(text), 1):
        if number > MAX_ROWS:
            raise GatecalcError(
                f"limit: the table has more than {MAX_ROWS:,} lines", Place(path), "paste the table alone"
            )
        keras, torch = _KERAS_ROW.fullmatch(line), _TORCHINFO_ROW.fullmatch(line)
        match = keras or torch
        if match is None:
            closing = _TOTAL.search(line)
            if closing and total:
                found.append(_sum(number, int(closing["count"].replace(",", "")), total, text))
                total, width = 0, None
            continue
        output = [
            int(extent) if extent.strip().isdigit() else None
            for extent in match["shape"].strip("()[]").split(",")
            if extent.strip()
        ]
        printed = int(match["count"].replace(",", ""))
        name = match["name"] or f"{match['kind']} {match.groupdict().get('place', '')}".strip()
        total += printed
        value, verdict, note = _judged(match["kind"], bool(keras), output, printed, width)
        if verdict:
            found.append(Row(number, name, match["kind"], output, printed, value, verdict, note))
        width = (output[-1] if output else None) or width
    if not found:
        raise GatecalcError(
            "table: no row of a summary is in it",
            Place(path),
            "paste the output of model.summary() or of torchinfo.summary(model)",
        )
    return found


def _lines(text: str) -> Iterator[str]:
    """Yield the lines without their frames; a kind that was broken off to the next line stands with its name."""
    lines = [_BOX.sub(" ", line).strip() for line in text.splitlines()]
    for line, after in zip(lines, [*lines[1:], ""]):
        broken = _KERAS_SPLIT.fullmatch(line)
        if broken and re.fullmatch(r"\(\w+\)", after) and not _KERAS_ROW.fullmatch(line):
            yield f"{broken['name']} {after} {broken['rest']}"
        else:
            yield line


def _sum(line: int, printed: int, total: int, text: str) -> Row:
    """Judge the total; Keras counts an optimizer's numbers in, and torchinfo leaves out what lies deeper."""
    optimizer = _OPTIMIZER.search(text)
    beside = int(optimizer["count"].replace(",", "")) if optimizer else 0
    if printed in (total, total + beside):
        note = "the rows add up to it" + (", with the optimizer's numbers" if printed != total else "")
        return Row(line, "Total params", "", [], printed, printed, "exact", note)
    if ": 1-" in text:
        return Row(line, "Total params", "", [], printed, total, "undecided", f"the rows shown have {total}")
    return Row(line, "Total params", "", [], printed, total, "wrong", f"the rows have {total}")


def _judged(
    kind: str, keras: bool, output: list[int | None], printed: int, width: int | None
) -> tuple[int | None, str, str]:
    """Return what should stand there, the verdict and the reason; no verdict for a kind that is not counted here."""
    last = output[-1] if output else None
    if kind in ("Dense", "Linear") and last and width:
        options = {last * width + last: "with a bias", last * width: "without a bias"}
        if printed in options:
            return printed, "exact", f"{width} inputs, {options[printed]}"
        return last * width + last, "undecided", f"it is {last * width + last} for the {width} inputs of the row above"
    options_of = (_KERAS if keras else _PYTORCH).get(kind.removesuffix("Cell"), [])
    if not options_of or not last or not printed:
        return None, "", ""
    candidates = list(_candidates(kind, keras, options_of, last))
    for option, hidden, layers, both in candidates if width else ():
        if count(option.cell, width, hidden, option.bias, layers, both).parameters == printed:
            return printed, "exact", _words(option, width or 0, hidden, layers, both)
    projected = _projected(last, printed, width) if kind == "LSTM" and not keras and width else ""
    for option, hidden, layers, both in candidates:
        inputs = _inputs(option, hidden, layers, both, printed)
        if inputs is not None:
            words = _words(option, inputs, hidden, layers, both)
            if width is None:
                return printed, "exact", words
            words = projected or f"{words}; the row above has {width} outputs"
            return _usual(candidates, width), "undecided", f"right for {words}"
    if width is None:
        if kind == "LSTM" and not keras:
            return None, "undecided", "no input width gives it without a projection, which the table does not tell"
        return None, "wrong", f"no input width and no option of {kind} gives it"
    value = _usual(candidates, width)
    if projected:
        return value, "undecided", f"right for {projected}"
    return value, "wrong", f"no option of {kind} gives it; it is {value} for {width} inputs"


def _candidates(kind: str, keras: bool, options: list[Option], last: int) -> Iterator[tuple[Option, int, int, bool]]:
    """Yield (option, H, layers, both directions), the simplest first."""
    if keras:
        if kind == "Bidirectional":
            halves = [last // 2] if last % 2 == 0 else []
            yield from ((option, hidden, 1, True) for hidden in [*halves, last] for option in options)
        else:
            yield from ((option, last, 1, False) for option in options)
        return
    for layers in range(1, 2 if kind.endswith("Cell") else MAX_LAYERS + 1):
        for both in (False, True):
            if not both or (last % 2 == 0 and not kind.endswith("Cell")):
                yield from ((option, last // 2 if both else last, layers, both) for option in options)


def _inputs(option: Option, hidden: int, layers: int, both: bool, printed: int) -> int | None:
    """Return the input width that gives a count, if one does."""
    formula = architecture(option.cell, option.bias, layers, both).parameters()
    given = {"H": hidden, "L": layers}
    constant, slope, _ = coefficients(formula.at(**{name: given[name] for name in formula.names if name in given}), "D")
    inputs, rest = divmod(printed - constant, slope)
    return inputs if rest == 0 and inputs >= 1 else None


def _projected(last: int, printed: int, width: int) -> str:
    """Describe the LSTMs with a projection that have a count, the first three; a table does not tell which it is."""
    found = []
    for layers, both, bias in itertools.product(range(1, MAX_LAYERS + 1), (False, True), ("double", "none")):
        formula = architecture("lstm_projected", bias, layers, both).parameters()
        given = {"D": width, "L": layers, "P": last // (1 + both)}
        at = formula.at(**{name: given[name] for name in formula.names if name in given})
        constant, slope, _ = coefficients(at, "H")
        hidden, rest = divmod(printed - constant, slope)
        if last % (1 + both) == rest == 0 and hidden > given["P"]:
            stack = f"{f', {layers} layers' if layers > 1 else ''}{', two directions' if both else ''}"
            found.append(f"H = {hidden}, P = {given['P']}{stack}, bias rule '{bias}'")
    more = f"; or {len(found) - 3} more" if len(found) > 3 else ""
    return f"lstm_projected, D = {width}: {'; or '.join(found[:3])}{more}" if found else ""


def _usual(candidates: list[tuple[Option, int, int, bool]], width: int) -> int | None:
    option, hidden, layers, both = candidates[0]
    return count(option.cell, width, hidden, option.bias, layers, both).parameters


def _words(option: Option, inputs: int, hidden: int, layers: int, both: bool) -> str:
    parts = [f"{option.cell}, D = {inputs}, H = {hidden}"]
    parts += [f"{layers} layers"] if layers > 1 else []
    parts += ["two directions"] if both else []
    parts += [option.words] if option.words else []
    return ", ".join([*parts, f"bias rule '{option.bias}'"])
