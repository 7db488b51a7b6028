"""Numbers with a guarantee: exact rationals first, then enclosures of growing precision, then algebra.

A :class:`Real` is a number as it was built: a graph of sums, products, quotients, powers and primitive functions over
exact rationals. As long as everything in it is rational, it is computed exactly. Otherwise arb (python-flint) encloses
it in a ball that provably contains it, at any precision that is asked for. Nothing is decided in floating point.

A question such as "is it larger than 3/2?" doubles the precision until the ball answers. Where two numbers are equal
no ball can tell, so at 1024 bits SymPy is asked once whether the difference is zero. The limit is counted work, so that
an answer never depends on the machine's load; past it the question is :class:`~gatecalc.errors.Undecided`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import flint

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, Undecided, shorten
from gatecalc.language import Tree, add, multiply, number, parse
from gatecalc.language import name as name_tree

MAX_BITS = 2**14  # of working precision, about 4,900 digits
MAX_WORK = 2**31  # operations times bits, for one question
MAX_EXACT = 2**17  # bits of an exact rational; beyond, it is enclosed
MAX_MAGNITUDE = 10**7  # bits of a power's size; beyond, it is refused
ASK_ALGEBRA = 1024  # bits at which two numbers are equal or closer than any accident
MAX_ALGEBRA = 400  # nodes of a formula that is shown to SymPy

EXACT, ENCLOSURE, ALGEBRA, FLOAT64, FLOAT32 = "exact", "enclosure", "algebra", "float64", "float32"
_WEAKEST = (EXACT, ALGEBRA, ENCLOSURE, FLOAT64, FLOAT32)


def weakest(*hows: str) -> str:
    """Return the least certain of some ways of knowing, from exact arithmetic to a float32 program."""
    return max(hows, key=_WEAKEST.index, default=EXACT)


PRIMITIVES: dict[str, Callable[[Any], Any]] = {
    "exp": lambda ball: ball.exp(),
    "log": lambda ball: ball.log(),
    "sqrt": lambda ball: ball.sqrt(),
    "tanh": lambda ball: ball.tanh(),
    "sin": lambda ball: ball.sin(),
    "cos": lambda ball: ball.cos(),
    "atan": lambda ball: ball.atan(),
    "erf": lambda ball: ball.erf(),
    "abs": abs,
}

JUMPS = ("step", "floor")  # no ball gets narrow at a jump: their values are integers, found when they are made

# Where a primitive of a rational is rational.
_AT_ZERO = {"exp": 1, "tanh": 0, "sin": 0, "cos": 1, "atan": 0, "erf": 0}


class Real:
    """A real number, known exactly or by enclosures of any precision; with symbols, a formula in them.

    Attributes:
        op: ``number``, ``symbol``, ``pi``, ``enclosed``, ``+``, ``*``, ``/``, ``**``, or a primitive function's name.
        args: What it was built from.
        exact: Its value, when it is a rational that exact arithmetic has found; else None.
        how: ``float64`` or ``float32`` when it comes out of a floating-point program, else ``exact``.
    """

    how: str
    __slots__ = ("_ball", "_bits", "args", "exact", "how", "op", "symbols", "value")

    def __init__(self, op: str, args: tuple[Real, ...] = (), value: Any = None, exact: Any = None) -> None:
        self.op = op
        self.args = args
        self.value = value
        self.exact = exact
        self.how = weakest(*(argument.how for argument in args))
        self.symbols: frozenset[str] = frozenset().union(*(argument.symbols for argument in args))
        self._ball: Any = None
        self._bits = 0

    @staticmethod
    def number(value: int | Fraction) -> Real:
        """Return an exact number."""
        return _rational(flint.fmpq(value.numerator, value.denominator))

    @staticmethod
    def floating(how: str, value: float) -> Real:
        """Return the exact value of a number that a floating-point program computed (``float64`` or ``float32``)."""
        if not math.isfinite(value):
            raise Undecided(f"the {how} run gave {value}, which is not a number to compare with")
        real = Real.number(Fraction(value))
        real.how = how
        return real

    @staticmethod
    def enclosed(enclosure: Callable[[int], Any]) -> Real:
        """Return a number known by a function from a precision in bits to a ball (``flint.arb``) that contains it."""
        return Real("enclosed", value=enclosure)

    @staticmethod
    def symbol(name: str) -> Real:
        """Return a symbol, for formulas that hold for every value of it."""
        real = Real("symbol", value=name)
        real.symbols = frozenset([name])
        return real

    def __add__(self, other: Real | int) -> Real:
        return _sum((self, _real(other)))

    def __mul__(self, other: Real | int) -> Real:
        return _product((self, _real(other)))

    def __radd__(self, other: int) -> Real:
        return _real(other) + self

    def __rmul__(self, other: int) -> Real:
        return _real(other) * self

    def __neg__(self) -> Real:
        return _product((Real.number(-1), self))

    def __sub__(self, other: Real | int) -> Real:
        return self + -_real(other)

    def __rsub__(self, other: int) -> Real:
        return _real(other) - self

    def __truediv__(self, other: Real | int) -> Real:
        return _quotient(self, _real(other))

    def __rtruediv__(self, other: int) -> Real:
        return _quotient(_real(other), self)

    def __pow__(self, other: Real | int) -> Real:
        return _power(self, _real(other))

    def __repr__(self) -> str:
        return f"Real({shorten(self.text())})"

    @property
    def integer(self) -> int | None:
        """The value, when it is known to be an integer."""
        return int(self.exact.p) if self.exact is not None and self.exact.q == 1 else None

    @property
    def fraction(self) -> Fraction | None:
        """The value, when it is known to be rational."""
        return None if self.exact is None else Fraction(int(self.exact.p), int(self.exact.q))

    def enclose(self, bits: int) -> Any:
        """Return a ball (``flint.arb``) that contains the number, computed with that many bits."""
        if self._bits < bits:
            _enclose(self, bits)
        return self._ball

    def decimal(self, digits: int) -> str:
        """Return the number in decimal, correctly rounded to that many digits after the point (ties to even).

        >>> evaluate(parse("sigmoid(3)**20")).decimal(6)
        '0.378421'
        """
        return _fixed(_rounded(self, digits), digits)

    def scientific(self, digits: int) -> str:
        """Return the number with that many significant digits, correctly rounded, as ``9.5367e-7``."""
        exponent = magnitude(self)
        if exponent is None:
            return "0"
        if abs(exponent) > MAX_MAGNITUDE // 4:
            raise GatecalcError(
                f"limit: its digits cannot be written out: it is about 10**{exponent}", help="ask for its logarithm"
            )
        scaled = _rounded(self * Real.number(10) ** -(exponent - digits + 1), 0)
        if abs(scaled) == 10**digits:  # 9.9996 to three digits is 10.0, so 1.00e1
            scaled, exponent = scaled // 10, exponent + 1
        text = _fixed(scaled, digits - 1)
        return f"{text}e{exponent}"

    def display(self, digits: int = 6) -> str:
        """Return it as a person would read it: exact if that is short, else with that many digits.

        Numbers below 0.001 or from 10**21 have that many significant digits; the others, digits after the point.
        """
        value = self.fraction
        if value is not None:
            places = _decimal_places(value.denominator)
            if places is not None and places <= digits and abs(value) < 10**21:
                return _fixed(int(value * 10**places), places)
        ball = abs(self.enclose(64)) if self.exact is None and not self.symbols else None
        if ball is not None and ball > 0.0011 and ball < 1e20:  # its exponent does not matter then
            return self.decimal(digits)
        exponent = magnitude(self)
        if exponent is None or -3 <= exponent < 21:
            return self.decimal(digits)
        return self.scientific(max(digits, 1))

    def text(self) -> str:
        """Return it as a formula, or say that it is too long for one."""
        if _written_size(self, {}) > MAX_ALGEBRA:
            return f"a formula of more than {MAX_ALGEBRA} parts"
        try:
            return str(self.tree())
        except RecursionError:
            return "a formula that is nested very deeply"

    def tree(self) -> Tree:
        """Return the number as a formula; shared parts are written out, so it can be long."""
        if self.exact is not None:
            value = Fraction(int(self.exact.p), int(self.exact.q))
            if value.denominator == 1 or _decimal_places(value.denominator) is not None:
                return number(value)
            return Tree("/", (number(value.numerator), number(value.denominator)))
        args = [argument.tree() for argument in self.args]
        if self.op == "symbol":
            return name_tree(self.value)
        if self.op == "pi":
            return name_tree("pi")
        if self.op == "+":
            return add(*args)
        if self.op == "*":
            return Tree("neg", (multiply(*args[1:]),)) if self.args[0].exact == -1 else multiply(*args)
        if self.op in ("/", "**"):
            return Tree(self.op, tuple(args))
        return Tree("call", tuple(args), self.op)


def _real(value: Real | int | Fraction) -> Real:
    return value if isinstance(value, Real) else Real.number(value)


def _rational(value: Any) -> Real:
    return Real("number", exact=value)


def _bits(value: Any) -> int:
    return int(value.p).bit_length() + int(value.q).bit_length()


def _all_exact(args: Iterable[Real]) -> bool:
    return all(argument.exact is not None for argument in args)


def _fold(op: str, args: tuple[Real, ...], exact: Any) -> Real:
    """Return an exact result, or, where it would grow too long, the operation as a node to enclose."""
    if _bits(exact) > MAX_EXACT:
        return Real(op, args)
    real = _rational(exact)
    real.how = weakest(*(argument.how for argument in args))
    return real


def _sum(args: tuple[Real, ...]) -> Real:
    if _all_exact(args):
        return _fold("+", args, sum((argument.exact for argument in args), flint.fmpq(0)))
    args = tuple(argument for argument in args if argument.exact != 0)
    return Real("+", args) if len(args) > 1 else args[0]


def _product(args: tuple[Real, ...]) -> Real:
    if _all_exact(args):
        return _fold("*", args, math.prod((argument.exact for argument in args), start=flint.fmpq(1)))
    if any(argument.exact == 0 for argument in args) and all(map(_is_finite, args)):
        return _fold("*", args, flint.fmpq(0))
    args = tuple(argument for argument in args if argument.exact != 1)
    return Real("*", args) if len(args) > 1 else args[0]


def _is_finite(real: Real) -> bool:
    """Tell whether a number is known to be one: zero times what may be 1 / 0 is not zero."""
    return real.exact is not None or bool(real.symbols) or real.enclose(64).is_finite()


def _quotient(top: Real, bottom: Real) -> Real:
    if bottom.exact == 0:
        raise GatecalcError("value: division by zero", help="check the denominator")
    if top.exact is not None and bottom.exact is not None:
        return _fold("/", (top, bottom), top.exact / bottom.exact)
    return top if bottom.exact == 1 else Real("/", (top, bottom))


def _power(base: Real, exponent: Real) -> Real:
    power = exponent.integer
    if power is not None and base.exact is not None:
        if base.exact == 0 and power < 0:
            raise GatecalcError("value: division by zero: 0 to a negative power", help="check the exponent")
        if abs(base.exact) in (0, 1):
            return _fold("**", (base, exponent), base.exact ** (abs(power) % 2 + 2 * (power != 0)))
        size = abs(power) * abs(math.log2(abs(int(base.exact.p))) - math.log2(int(base.exact.q)))
        if size > MAX_MAGNITUDE:
            raise GatecalcError(
                f"limit: the power {shorten(base.text(), 30)}**{shorten(str(power), 30)} has more than"
                f" {MAX_MAGNITUDE * 3 // 10:,} digits",
                help="write a smaller power, or its logarithm",
            )
        if abs(power) * _bits(base.exact) <= MAX_EXACT:
            return _fold("**", (base, exponent), base.exact**power)
    if power is None and base.exact is not None and base.exact < 0:
        raise GatecalcError("value: a negative number to a power that is not an integer", help="check the base")
    if power == 1:
        return base
    if power == 0:
        if not _is_finite(base):
            raise Undecided("the base of a power may not be a number")
        return Real.number(1)
    if exponent.exact is not None and exponent.exact == flint.fmpq(1, 2):
        return primitive("sqrt", base)
    return Real("**", (base, exponent))


def primitive(function: str, argument: Real) -> Real:
    """Return a primitive function of a number, exactly where its value is rational by a well-known rule."""
    exact = argument.exact
    if exact is not None:
        if exact == 0 and function in _AT_ZERO:
            return _fold(function, (argument,), flint.fmpq(_AT_ZERO[function]))
        if function == "log" and exact == 1:
            return _fold(function, (argument,), flint.fmpq(0))
        if function == "abs":
            return _fold(function, (argument,), abs(exact))
        if function in JUMPS:
            return _at_a_jump(function, argument)
        if (function == "log" and exact <= 0) or (function == "sqrt" and exact < 0):
            raise GatecalcError(
                f"value: {function} of {shorten(argument.text(), 30)} is not a real number",
                help="check its argument",
            )
        if function == "sqrt":
            roots = math.isqrt(int(exact.p)), math.isqrt(int(exact.q))
            if roots[0] ** 2 == exact.p and roots[1] ** 2 == exact.q:
                return _fold(function, (argument,), flint.fmpq(*roots))
    elif function in JUMPS and not argument.symbols:
        return _at_a_jump(function, argument)
    return Real(function, (argument,))


def _at_a_jump(function: str, argument: Real) -> Real:
    """Return step (1 above zero, else 0) or floor of a number: on which side of a jump it is is settled at once."""
    nearest = round_to_integer(argument) if function == "floor" else 0
    side, how = compare(argument, nearest)
    real = Real.number(nearest - (side < 0) if function == "floor" else int(side > 0))
    real.how = weakest(argument.how, how)
    return real


PI = Real("pi")


@cache
def _definition(function: str) -> Tree:
    text = ELEMENTWISE[function].definition
    assert text is not None
    return parse(text)


def apply(function: str, argument: Real) -> Real:
    """Return an elementwise function of a number.

    >>> apply("sigmoid", Real.number(0)).fraction
    Fraction(1, 2)
    """
    if function in PRIMITIVES or function in JUMPS:
        return primitive(function, argument)
    return evaluate(_definition(function), {"a": argument})


def evaluate(tree: Tree, values: Mapping[str, Real] | None = None) -> Real:
    """Return the value of a scalar formula: arithmetic and elementwise functions over named numbers.

    Raises:
        GatecalcError: For a name without a value, and for what is not arithmetic.
    """
    values = values or {}
    op = tree.op
    if op == "number":
        return Real.number(tree.value)
    if op == "name":
        if tree.value in values:
            return values[tree.value]
        if tree.value == "pi":
            return PI
        raise GatecalcError(
            f"name: '{tree.value}' has no value", help="known are pi and " + (", ".join(values) or "no other")
        )
    args = tuple(evaluate(argument, values) for argument in tree.args)
    if op == "call" and (tree.value in ELEMENTWISE or tree.value in JUMPS) and len(args) == 1:
        return apply(tree.value, args[0])
    return arithmetic(op, args)


def arithmetic(op: str, args: tuple[Real, ...]) -> Real:
    """Return the result of an operator of the language: + * / ** neg."""
    if op == "+":
        return _sum(args)
    if op == "*":
        return _product(args)
    if op == "neg":
        return -args[0]
    if op == "/":
        return _quotient(*args)
    if op == "**":
        return _power(*args)
    raise GatecalcError(f"syntax: '{op}' is not arithmetic", help="write it with + - * / **")


def substitute(formula: Real, values: Mapping[str, Real]) -> Real:
    """Return a formula with its symbols replaced by numbers; parts that are shared stay shared."""
    done: dict[int, Real] = {}
    stack = [formula]
    while stack:
        node = stack[-1]
        waiting = [argument for argument in node.args if id(argument) not in done]
        if id(node) in done or not waiting:
            stack.pop()
        else:
            stack.extend(waiting)
            continue
        if id(node) not in done:
            args = tuple(done[id(argument)] for argument in node.args)
            if node.op == "symbol":
                done[id(node)] = values.get(node.value, node)
            elif not args or not node.symbols:
                done[id(node)] = node
            else:
                function = node.op in PRIMITIVES or node.op in JUMPS
                done[id(node)] = primitive(node.op, *args) if function else arithmetic(node.op, args)
    return done[id(formula)]


def _enclose(real: Real, bits: int) -> int:
    """Enclose a number and all that it is built from, deepest first; return how many operations it took."""
    work = 0
    with flint.ctx.workprec(bits):
        stack = [real]
        while stack:
            node = stack[-1]
            if node._bits >= bits:
                stack.pop()
                continue
            waiting = [argument for argument in node.args if argument._bits < bits] if node.exact is None else []
            if waiting:
                stack.extend(waiting)
                continue
            node._ball = _ball(node)
            node._bits = bits
            work += 1
            stack.pop()
    return work


def _ball(node: Real) -> Any:
    if node.exact is not None:
        return flint.arb(node.exact)
    balls = [argument._ball for argument in node.args]
    if node.op == "+":
        return sum(balls[1:], balls[0])
    if node.op == "*":
        return math.prod(balls[1:], start=balls[0])
    if node.op == "/":
        return balls[0] / balls[1]
    if node.op == "**":
        power = node.args[1].integer
        return balls[0] ** (balls[1] if power is None else power)
    if node.op == "pi":
        return flint.arb.pi()
    if node.op == "symbol":
        raise Undecided(f"it depends on the symbol '{node.value}'")
    if node.op == "enclosed":
        return node.value(flint.ctx.prec)
    return PRIMITIVES[node.op](balls[0])


def sign(real: Real) -> tuple[int, str]:
    """Return -1, 0 or 1, and how that is known: ``exact``, ``enclosure`` or ``algebra``.

    Raises:
        Undecided: When neither enclosures up to the limit nor algebra can tell.

    >>> sign(evaluate(parse("tanh(1) - 0.7615941")))
    (1, 'enclosure')
    >>> sign(evaluate(parse("sqrt(2)**2 - 2")))
    (0, 'algebra')
    """
    if real.exact is not None:
        return (real.exact > 0) - (real.exact < 0), EXACT
    if real.symbols:
        if _is_zero(real):
            return 0, ALGEBRA
        raise Undecided(f"it depends on {', '.join(sorted(real.symbols))}")
    work, bits = 0, 64
    while bits <= MAX_BITS:
        work += _enclose(real, bits) * bits
        ball = real._ball
        if ball > 0:
            return 1, ENCLOSURE
        if ball < 0:
            return -1, ENCLOSURE
        if bits == ASK_ALGEBRA and _is_zero(real):
            return 0, ALGEBRA
        if work > MAX_WORK:
            break
        bits *= 2
    reason = "is not finite" if not real._ball.is_finite() else f"lies in {real._ball.str(5)}"
    raise Undecided(f"the difference {reason} at {min(bits, MAX_BITS)} bits, the limit, and algebra does not settle it")


def _is_zero(real: Real) -> bool:
    """Ask SymPy whether a number, or a formula in symbols, is zero; False also where it cannot tell."""
    if _written_size(real, {}) > MAX_ALGEBRA or not _is_moderate(real):  # too long, or not written at all
        return False
    from gatecalc.numbers.algebra import is_zero

    try:
        return is_zero(real.tree())
    except RecursionError:
        return False


def _is_moderate(real: Real) -> bool:
    """Tell whether every part that has been enclosed is of a size that SymPy's own arithmetic can bear."""
    stack = [real]
    while stack:
        node = stack.pop()
        ball = node._ball
        if ball is not None and not (ball.is_finite() and abs(ball) < flint.arb(2) ** 4096):
            return False
        if ball is not None and ball != 0 and abs(ball) < flint.arb(2) ** -4096:
            return False
        stack.extend(node.args)
    return True


def _written_size(real: Real, known: dict[int, int]) -> int:
    """Count the nodes of the formula with its shared parts written out; stops growing past the limit."""
    stack = [real]
    while stack:
        node = stack[-1]
        if id(node) in known:
            stack.pop()
            continue
        waiting = [argument for argument in node.args if id(argument) not in known]
        if waiting and len(known) <= MAX_ALGEBRA:
            stack.extend(waiting)
            continue
        own = MAX_ALGEBRA + 1 if node.op == "enclosed" else 1
        known[id(node)] = min(
            MAX_ALGEBRA + 1, own + sum(known.get(id(argument), MAX_ALGEBRA) for argument in node.args)
        )
        stack.pop()
    return known[id(real)]


def compare(real: Real, other: Real | int | Fraction) -> tuple[int, str]:
    """Return the sign of ``real - other``, and how it is known."""
    return sign(real - _real(other))


def magnitude(real: Real) -> int | None:
    """Return the exponent of the leading decimal digit: 2 for 123, -3 for 0.0012, None for zero."""
    if real.exact is not None:
        if real.exact == 0:
            return None
        size = abs(real.exact)
        guess = len(str(size.p)) - len(str(size.q))  # flint writes integers of any length, Python's str() does not
        return guess if size >= flint.fmpq(10) ** guess else guess - 1
    for bits in (64, 256, 1024, 4096, MAX_BITS):
        ball = abs(real.enclose(bits))
        if ball > 0 and ball.is_finite():
            with flint.ctx.workprec(bits):
                logarithm = ball.log() / flint.arb(10).log()
                low, high = (int(end.floor().unique_fmpz()) for end in (logarithm.lower(), logarithm.upper()))
            if low == high:
                return low
            if high == low + 1 and bits >= ASK_ALGEBRA:  # a power of ten, or very close to one
                side, _ = compare(primitive("abs", real), Real.number(10) ** high)
                return high if side >= 0 else low
        elif bits == ASK_ALGEBRA and _is_zero(real):
            return None
    raise Undecided(
        "its size could not be found: it may be zero"
        if ball.is_finite()
        else "it is too large to enclose, or not a number"
    )


def round_to_integer(real: Real) -> int:
    """Return the nearest integer, proved (ties to even)."""
    return _rounded(real, 0)


def _rounded(real: Real, digits: int) -> int:
    """Return the number times 10**digits, correctly rounded to an integer (ties to even)."""
    scale = Fraction(10) ** digits
    if real.exact is not None:
        return round(Fraction(int(real.exact.p), int(real.exact.q)) * scale)
    if real.symbols:
        raise Undecided(f"it depends on {', '.join(sorted(real.symbols))}")
    scaled = real * Real.number(scale)
    bits = max(64, int(digits * 3.33) + 64)
    limit = 8 * max(MAX_BITS, bits)
    while bits <= limit:
        ball = scaled.enclose(bits)
        if abs(ball) < 0.25:
            return 0
        if ball.is_finite():
            if abs(ball) > flint.arb(2) ** MAX_MAGNITUDE:
                raise GatecalcError("limit: the number is too large to be written out", help="ask for its logarithm")
            with flint.ctx.workprec(bits + 32):
                low, high = (round(_dyadic(end)) for end in (ball.lower(), ball.upper()))
            if low == high:
                return low
            if high == low + 1 and bits >= ASK_ALGEBRA:
                side, _ = compare(scaled, Fraction(2 * low + 1, 2))
                return low if side < 0 else high if side > 0 else low + low % 2
        bits *= 2
    raise Undecided(f"its digits could not be settled at {limit} bits, the limit")


def _dyadic(ball: Any) -> Fraction:
    """Return the exact value of a ball of radius zero."""
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _fixed(scaled: int, digits: int) -> str:
    """Write scaled / 10**digits as a decimal."""
    text = str(flint.fmpz(abs(scaled)))  # Python's own conversion stops at 4,300 digits
    minus = "-" if scaled < 0 else ""
    if digits <= 0:
        return minus + text + ("0" * -digits if scaled else "")
    text = text.rjust(digits + 1, "0")
    return f"{minus}{text[:-digits]}.{text[-digits:]}"


def _decimal_places(denominator: int) -> int | None:
    """Return how many decimals a fraction needs, or None if it never ends."""
    places = 0
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator //= prime
            count += 1
        places = max(places, count)
    return places if denominator == 1 else None
