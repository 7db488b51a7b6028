"""What there is to learn: inputs, targets, and the loss; one row for each task and each loss."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gatecalc.errors import GatecalcError, Place, closest, shorten, text
from gatecalc.files import unreadable
from gatecalc.networks import saved
from gatecalc.networks.layer import Array
from gatecalc.networks.network import checked_lengths, finite

MAX_INPUT = 2**26  # numbers of one task's input


class Data(NamedTuple):
    """What one pass is about.

    Attributes:
        x: The input, (D, T, N).
        target: (outputs, N) at the last step, or (outputs, T, N) at every step; None where the loss needs none.
        every: Whether every step is read out, or only the last.
        lengths: Of each sequence, or None.
    """

    x: Array
    target: Array | None
    every: bool
    lengths: Array | None = None


class Loss(NamedTuple):
    """A loss: the mean over sequences (and steps) of a number, and its gradient with respect to the outputs.

    Attributes:
        name: How it is called.
        value: (outputs, target) to the value of each position: (S, O, ...) and (O, ...) to (S, ...).
        gradient: The same to the gradient of that value, (S, O, ...).
    """

    name: str
    value: Callable[[Array, Any], Array]
    gradient: Callable[[Array, Any], Array]


def _softmax(y: Array) -> Array:
    exponentials = np.exp(y - y.max(axis=1, keepdims=True))
    result: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return result


def _cross_entropy(y: Array, target: Array) -> Array:
    top = y.max(axis=1, keepdims=True)
    result: Array = (top[:, 0] + np.log(np.exp(y - top).sum(axis=1))) - (y * target).sum(axis=1)
    return result


def _norm(y: Array, target: Any) -> Array:
    result: Array = np.sqrt((y * y).sum(axis=1))
    return result


_LOSSES = (
    Loss("half-square", lambda y, t: ((y - t) ** 2).sum(axis=1) / 2, lambda y, t: y - t),
    Loss("square", lambda y, t: ((y - t) ** 2).sum(axis=1), lambda y, t: 2 * (y - t)),
    Loss("cross-entropy", _cross_entropy, lambda y, t: _softmax(y) - t),
    Loss("logistic", lambda y, t: (np.logaddexp(0, y) - y * t).sum(axis=1), lambda y, t: 1 / (1 + np.exp(-y)) - t),
    Loss("norm", _norm, lambda y, t: y / np.maximum(_norm(y, t), np.finfo(y.dtype).tiny)[:, None]),
)
LOSSES = {row.name: row for row in _LOSSES}


class Task(NamedTuple):
    """A task.

    Attributes:
        name: How it is called.
        title: What it is, one line.
        source: Where it comes from.
        draw: (length, generator, text) to the data of a pass.
        loss: Its loss.
        fresh: Whether each pass draws new data.
        readout: Whether the outputs are read out by weights V; if not, the loss is of the state itself.
        passes: The passes that are made unless said.
        sized: Whether its length is asked for; if not, the data have a length of their own.
    """

    name: str
    title: str
    source: str
    draw: Callable[[int, np.random.Generator, str], Data]
    loss: str
    fresh: bool = False
    readout: bool = True
    passes: int = 3000
    sized: bool = True

    @property
    def goal(self) -> bool:
        """Whether there is something to learn; if not, its loss is a measure."""
        return self.readout


def _remember_first(length: int, generator: np.random.Generator, text: str) -> Data:
    x = np.zeros((1, length, 2))
    x[0, 0] = 1, -1
    return Data(x, np.array([[1.0, -1.0]]), False)


def _information(length: int, generator: np.random.Generator, text: str) -> Data:
    x = np.zeros((1, length, 1))
    x[0, 0] = 1
    return Data(x, None, False)


def _count_bits(length: int, generator: np.random.Generator, text: str) -> Data:
    """Every sequence of bits up to length 8, else 256 of them; the target is the share of ones."""
    if length <= 8:
        bits = np.array(list(itertools.product((0.0, 1.0), repeat=length))).T
    else:
        bits = generator.integers(0, 2, (length, 256)).astype(float)
    return Data(bits[None], bits.mean(axis=0)[None], False)


def _next_character(length: int, generator: np.random.Generator, text: str) -> Data:
    if len(text) < 2:
        raise GatecalcError("value: the text has fewer than two characters", help="give one, as in --text hello")
    letters = sorted(set(text))
    one_hot = np.eye(len(letters))[[letters.index(letter) for letter in text]].T
    return Data(one_hot[:, :-1, None], one_hot[:, 1:, None], True)


def _adding(length: int, generator: np.random.Generator, text: str) -> Data:
    """Two numbers of a sequence are marked, one in each half; the target is their sum."""
    if length < 2:
        raise GatecalcError("value: the adding problem needs two steps", help="give a --length of 2 or more")
    sequences = 64
    x = np.zeros((2, length, sequences))
    x[0] = generator.random((length, sequences))
    half, columns = length // 2, np.arange(sequences)
    marked = generator.integers(0, half, sequences), generator.integers(half, length, sequences)
    for steps in marked:
        x[1, steps, columns] = 1
    return Data(x, (x[0] * x[1]).sum(axis=0)[None], False)


def _copying(length: int, generator: np.random.Generator, text: str) -> Data:
    """Ten symbols of eight, ``length`` blanks, a delimiter; then the ten are to be given back."""
    symbols, count, sequences = 8, 10, 32
    steps = length + 2 * count
    drawn = generator.integers(0, symbols, (count, sequences))
    given = np.full((steps, sequences), symbols)
    wanted = given.copy()
    given[:count] = drawn
    given[length + count - 1] = symbols + 1
    wanted[-count:] = drawn
    one_hot = np.eye(symbols + 2)
    return Data(
        one_hot[given].transpose(2, 0, 1).copy(),
        one_hot[: symbols + 2, : symbols + 1][wanted].transpose(2, 0, 1).copy(),
        True,
    )


_ROWS = (
    Task(
        "remember-first",
        "a sign, then zeros; the sign is wanted at the end",
        "two examples, +1 and -1; the read-out is V h",
        _remember_first,
        "half-square",
    ),
    Task(
        "information",
        "a one, then zeros; the norm of the last state",
        "a measure, one pass; nothing is learned",
        _information,
        "norm",
        readout=False,
        passes=1,
    ),
    Task(
        "count-bits",
        "bits; the share of ones is wanted at the end",
        "every sequence up to length 8, else 256 drawn ones",
        _count_bits,
        "half-square",
    ),
    Task(
        "next-character",
        "a text; each next character is wanted",
        "one sequence, one-hot",
        _next_character,
        "cross-entropy",
        sized=False,
    ),
    Task(
        "adding",
        "numbers, two of them marked; their sum is wanted at the end",
        "S. Hochreiter, J. Schmidhuber (1997), section 5.4, as in Q. V. Le and others, arXiv 1504.00941, section 4.1",
        _adding,
        "square",
        fresh=True,
    ),
    Task(
        "copying",
        "ten symbols, blanks; the symbols are wanted back",
        "M. Arjovsky, A. Shah, Y. Bengio, arXiv 1511.06464 (2016), section 5.1",
        _copying,
        "cross-entropy",
        fresh=True,
    ),
)

TASKS: dict[str, Task] = {}
for _row in _ROWS:
    if _row.name in TASKS:
        raise ValueError(f"task '{_row.name}' is defined twice")
    TASKS[_row.name] = _row


def task(name: str, loss: str | None = None) -> Task:
    """Return a task by its name, or one's own by the path of an ``.npz`` file.

    Raises:
        GatecalcError: For an unknown task or loss, with the closest, and a file that does not fit.
    """
    found = _own(name) if name.endswith(".npz") else TASKS.get(name)
    if found is None:
        raise GatecalcError(
            f"name: unknown task '{shorten(name)}'{closest(name, TASKS)}",
            help="known are " + ", ".join(TASKS) + ", and the path of an .npz file",
        )
    if loss is None:
        return found
    if text(loss, "the loss") not in LOSSES:
        raise GatecalcError(
            f"name: unknown loss '{shorten(loss)}'{closest(loss, LOSSES)}", help="known are " + ", ".join(LOSSES)
        )
    if not found.goal and loss != found.loss:
        raise GatecalcError(f"option: '{found.name}' has no target for the loss '{loss}'", help="leave --loss out")
    return found._replace(loss=loss)


def _own(path: str) -> Task:
    """Return the task of a file: ``x`` (T, N, D), ``y`` (N, outputs) or (T, N, outputs), perhaps ``lengths``."""
    try:
        arrays = saved.load(path)
    except OSError as error:
        raise unreadable(path, error, "give the path of an .npz file") from None
    except saved.DAMAGE:
        raise GatecalcError(
            "file: it is not an .npz file of numbers", Place(path), "write it with numpy.savez(path, x=..., y=...)"
        ) from None
    for key in ("x", "y"):
        if key not in arrays:
            raise GatecalcError(
                f"file: it has no array '{key}'{closest(key, arrays)}",
                Place(path),
                "write it with numpy.savez(path, x=..., y=...)",
            )
    x, y = finite(arrays["x"], f"'x' of {path}"), finite(arrays["y"], f"'y' of {path}")
    if x.ndim != 3 or x.size == 0 or y.ndim not in (2, 3) or y.shape[:-1] != x.shape[:2][3 - y.ndim :]:
        raise GatecalcError(
            f"shape: x is {x.shape} and y is {y.shape}",
            Place(path),
            "x is (T, N, D), y is (N, outputs) or (T, N, outputs)",
        )
    lengths = arrays.get("lengths")
    if lengths is not None:
        checked_lengths(lengths, x.shape[0], x.shape[1])
        lengths = lengths.astype(np.int64)  # unsigned ones cannot be subtracted from
    every = y.ndim == 3
    data = Data(x.transpose(2, 0, 1), y.transpose(2, 0, 1) if every else y.T, every, lengths)
    return Task(path, "data of one's own", path, lambda length, generator, text: data, "half-square", sized=False)


def draw(found: Task, length: int, generator: np.random.Generator, text: str) -> Data:
    """Return the data of a pass, its size checked."""
    if length < 1:
        raise GatecalcError(f"value: the length is {length}", help="give a whole number from 1")
    if length > MAX_INPUT // 256:
        raise GatecalcError(f"limit: the length is {length}, {MAX_INPUT // 256} at most", help="take a shorter one")
    return found.draw(length, generator, text)
