"""Text to tree: the one reader of formulas, a whitelist over Python's own syntax.

Formulas come from people one does not know. Python's parser only tells the structure; every node that is not on the
whitelist is refused, nothing is ever evaluated here, and size is bounded before and while the tree is built.

A formula becomes a :class:`Tree`. Sums and products are flat (``a - b + c`` is a sum of three terms, one negated), so
that the author's order of terms is kept and a long sum is not a deep tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gatecalc.errors import GatecalcError, Place, shorten
from gatecalc.record import Record

if TYPE_CHECKING:
    from fractions import Fraction

MAX_LENGTH = 100_000  # characters of a formula or a cell file
MAX_DEPTH = 60  # nesting of brackets and operators
MAX_NODES = 50_000  # nodes of one formula; a list of numbers is one node for each
MAX_DIGITS = 1_000  # digits of one literal
MAX_EXPONENT = 5_000  # of a literal such as 1e-12

At = tuple[int, int]  # line from 1, and offset in it in UTF-8 bytes, as Python's parser counts


UNKNOWN = 0  # column of a text that does not stand in its file as it is


class Source(Record):
    """A text to be read, and where it stands in a file: its first character is at (line, column), both from 1."""

    text: str
    path: str = "<formula>"
    line: int | None = None
    column: int = 1

    def place(self, at: At) -> Place:
        """Return the place of a position that the reader gave to a node: it read a formula's lines as one."""
        if self.column == UNKNOWN:
            return Place(self.path, self.line)
        lines = self.text.split("\n")
        number, offset = min(at[0], len(lines)) - 1, at[1]
        while number + 1 < len(lines) and offset > len(lines[number].encode("utf-8", "replace")):
            offset -= len(lines[number].encode("utf-8", "replace")) + 1
            number += 1
        text = lines[number]
        column = len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1
        if self.line is None:
            return Place(self.path, None if len(lines) == 1 else number + 1, column, text)
        if number == 0 and self.column > 1:
            return Place(self.path, self.line, self.column - 1 + column, " " * (self.column - 1) + text)
        return Place(self.path, self.line + number, column, text)


class Tree:
    """A node of a formula: an operator, its arguments, and a value for leaves and names.

    ========== ============================ ==========================================
    op         args                         value
    ========== ============================ ==========================================
    number     none                         an exact int or Fraction
    name       none                         the name
    text       none                         a quoted string
    truth      none                         True, False or None
    +          the terms, two or more       none
    \\*         the factors, two or more     none
    / ** @     left, right                  none
    neg        one                          none
    call       arguments, then keywords     the function's name
    keyword    one                          its name
    list       the items                    none
    attribute  one                          the attribute's name
    index      the object, the index        none
    compare    the operands                 the operators, as ``("<", "<=")``
    and or not the operands                 none
    ========== ============================ ==========================================

    Trees are immutable, hashable, and equal when their structure is, wherever they stand.
    """

    __slots__ = ("_hash", "args", "at", "op", "value")

    op: str
    args: tuple[Tree, ...]
    value: Any
    at: At

    def __init__(self, op: str, args: tuple[Tree, ...] = (), value: Any = None, at: At = (1, 0)) -> None:
        self.op = op
        self.args = args
        self.value = value
        self.at = at
        self._hash = hash((op, args, value))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Tree)
            and self._hash == other._hash
            and self.op == other.op
            and self.value == other.value
            and self.args == other.args
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return to_text(self)

    def __repr__(self) -> str:
        return f"Tree({to_text(self)!r})"

    def walk(self) -> Iterator[Tree]:
        """Yield the node and all below it, from left to right."""
        yield self
        for argument in self.args:
            yield from argument.walk()

    def names(self) -> list[str]:
        """Return the names that the formula reads, in order of first appearance, without function names."""
        return list(dict.fromkeys(node.value for node in self.walk() if node.op == "name"))


def number(value: int | Fraction) -> Tree:
    """Return the tree of a number; a negative one is the negation of its size, as it would be read."""
    return Tree("neg", (Tree("number", (), -value),)) if value < 0 else Tree("number", (), value)


def name(text: str) -> Tree:
    """Return the tree of a name."""
    return Tree("name", (), text)


def add(*terms: Tree) -> Tree:
    """Return the sum of the terms, flat; the sum of none is 0 and of one is itself."""
    flat = tuple(part for term in terms for part in (term.args if term.op == "+" else (term,)))
    return Tree("+", flat) if len(flat) > 1 else flat[0] if flat else number(0)


def multiply(*factors: Tree) -> Tree:
    """Return the product of the factors, flat; the product of none is 1 and of one is itself."""
    flat = tuple(part for factor in factors for part in (factor.args if factor.op == "*" else (factor,)))
    return Tree("*", flat) if len(flat) > 1 else flat[0] if flat else number(1)


def rewrite(tree: Tree, change: Callable[[Tree], Tree | None]) -> Tree:
    """Return the tree with every node for which ``change`` returns another replaced, outermost first."""
    changed = change(tree)
    if changed is not None:
        return changed
    args = tuple(rewrite(argument, change) for argument in tree.args)
    if all(new is old for new, old in zip(args, tree.args, strict=True)):
        return tree
    if tree.op in "+*":  # a sum put in the place of a term stays flat
        return add(*args) if tree.op == "+" else multiply(*args)
    return Tree(tree.op, args, tree.value, tree.at)


def substitute(tree: Tree, values: Mapping[str, Tree]) -> Tree:
    """Return the tree with names replaced by trees."""
    return rewrite(tree, lambda node: values.get(node.value) if node.op == "name" else None)


def parse(source: str | Source) -> Tree:
    """Read one formula.

    Raises:
        GatecalcError: For what is not on the whitelist, too long, too deep or too large; with its place.

    >>> parse("(1 - z)*h_prev + z*n")
    Tree('(1 - z) * h_prev + z * n')
    """
    source = Source(source) if isinstance(source, str) else source
    _check_size(source)
    line = source.text.replace("\r", " ").replace("\n", " ")
    text = line.lstrip()
    indent = len(line[: len(line) - len(text)].encode("utf-8", "replace"))
    return _Reader(source, text, indent).read(_python_syntax(source, text, "eval", indent).body)


def parse_equations(source: Source) -> tuple[str, list[tuple[str, Tree, At]]]:
    """Read a cell file: its documentation string, and its equations as (name, formula, place of the name).

    Raises:
        GatecalcError: For anything but a documentation string followed by lines ``name = formula``.
    """
    source = source._replace(text=source.text.replace("\r\n", "\n").replace("\r", "\n"))
    _check_size(source)
    body = _python_syntax(source, source.text, "exec").body
    title = ""
    if (
        body
        and isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        title = body.pop(0).value.value
    equations = []
    reader = _Reader(source, source.text)
    for statement in body:
        if (
            not isinstance(statement, ast.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            raise GatecalcError(
                "syntax: not an equation",
                source.place((statement.lineno, statement.col_offset)),
                "write one equation a line, as in 'c = f * c_prev + i * g'",
            )
        target = statement.targets[0]
        equations.append((target.id, reader.read(statement.value), (target.lineno, target.col_offset)))
    return title, equations


def _check_size(source: Source) -> None:
    """Refuse text that is too long, binary, or too deeply nested, before Python's parser sees it."""
    text = source.text
    if len(text) > MAX_LENGTH:
        raise GatecalcError(
            f"limit: the formula has {len(text)} characters, {MAX_LENGTH} at most",
            Place(source.path, source.line),
            "name its parts and use the names",
        )
    if text.isascii() and text.replace("\n", "").isprintable() and sum(map(text.count, "([{")) <= MAX_DEPTH:
        return  # as nearly every formula
    for match in re.finditer(_NOT_TEXT, text):
        character = match.group()
        raise GatecalcError(
            f"syntax: the character U+{ord(character):04X} cannot be read here",
            source.place(_at(text, match.start())),
            _REPLACEMENTS.get(character, "write the formula in plain characters"),
        )
    depth = 0
    for match in re.finditer(r"[()\[\]{}]", text):
        depth += 1 if match.group() in "([{" else -1
        if depth > MAX_DEPTH:
            raise GatecalcError(
                f"limit: brackets are nested deeper than {MAX_DEPTH}",
                source.place(_at(text, match.start())),
                "name the inner parts and use the names",
            )


_NOT_TEXT = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u2212\u00d7\u00b7\u22c5\u2299\u2218]"
_REPLACEMENTS = {
    "\u2212": "write '-'",
    "\u00d7": "write '*'",
    "\u00b7": "write '*'",
    "\u22c5": "write '*'",
    "\u2299": "write '*' for the elementwise product",
    "\u2218": "write '*' for the elementwise product",
}


def _at(text: str, offset: int) -> At:
    before = text[:offset]
    return before.count("\n") + 1, len(before.rpartition("\n")[2].encode("utf-8", "replace"))


def _python_syntax(source: Source, text: str, mode: str, indent: int = 0) -> Any:
    """Return Python's own syntax tree of the text; its warnings are nobody's business here."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, "<formula>", mode, ast.PyCF_ONLY_AST | 0x200)  # 0x200: do not look for __future__
    except SyntaxError as error:
        message = (error.msg or "cannot be read").split(" (")[0]
        help = "see 'gatecalc value --list' for what a formula may contain"
        if mode == "exec":
            help = "write one equation a line, as in 'c = f * c_prev + i * g'"
        if "unterminated" in message:
            message, help = "the text in quotes is never closed", "close it with the quotes that open it"
        elif "unexpected indent" in message:
            help = "begin each equation at the beginning of its line"
        elif "was never closed" in message:
            message, help = (
                message.replace("was never", "is never"),
                f"add '{_CLOSING[message[1]]}' before the end of the line",
            )
        elif "Exceeds the limit" in message:
            message, help = f"a number has more than {MAX_DIGITS} digits", "round it, or write it as a power"
        elif not text.strip():
            message, help = "the formula is empty", "write a formula, as in 'sigmoid(3)**20'"
        line = min(error.lineno or 1, text.count("\n") + 1)
        before = (text.split("\n"))[line - 1]
        if message == "invalid syntax" and not error.offset:  # Python's way to say that the formula stops too early
            message = "the formula stops too early"
        else:
            before = before[: max(0, (error.offset or 1) - 1)]
        column = len(before.encode("utf-8", "replace"))
        at = (line, column + (indent if line == 1 else 0))
        raise GatecalcError(f"syntax: {message[0].lower()}{message[1:]}", source.place(at), help) from None
    except (MemoryError, RecursionError, ValueError):
        raise GatecalcError(
            "limit: the formula is nested too deeply to be read",
            Place(source.path, source.line),
            "name its inner parts and use the names",
        ) from None


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_NUMBER = r"(?P<whole>\d*)(?:\.(?P<part>\d*))?(?:[eE](?P<exponent>[+-]?\d+))?"
_COMPARE: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_BINARY: dict[type, str] = {ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}
_INSTEAD: dict[type, str] = {
    ast.BitXor: "'^' is not a power; write '**'",
    ast.Mod: "there is no '%'; write a percentage as a quotient, 25 / 100",
    ast.FloorDiv: "there is no '//'; write 'floor(a / b)'",
}


class _Reader:
    """One pass from Python's syntax tree to ours; refuses what is not on the whitelist."""

    def __init__(self, source: Source, text: str, indent: int = 0) -> None:
        self.source = source
        self.lines = text.split("\n")  # as Python's parser saw them: without the first line's indent
        self.indent = indent
        self.nodes = 0

    def at(self, node: Any) -> At:
        return node.lineno, node.col_offset + (self.indent if node.lineno == 1 else 0)

    def refuse(self, node: Any, message: str, help: str | None = None) -> GatecalcError:
        return GatecalcError(message, self.source.place(self.at(node)), help)

    def read(self, node: Any, depth: int = 0) -> Tree:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            what = f"nested deeper than {MAX_DEPTH}" if depth > MAX_DEPTH else f"larger than {MAX_NODES} parts"
            raise self.refuse(node, f"limit: the formula is {what}", "name its parts and use the names")
        method = getattr(self, "read_" + type(node).__name__, None)
        if method is None:
            kind = _KINDS.get(type(node).__name__, type(node).__name__)
            raise self.refuse(
                node,
                f"syntax: {kind} is not part of a formula",
                "see 'gatecalc value --list' for what a formula may contain",
            )
        tree: Tree = method(node, depth + 1)
        return tree

    def read_Constant(self, node: Any, depth: int) -> Tree:
        if isinstance(node.value, bool) or node.value is None:
            return Tree("truth", (), node.value, self.at(node))
        if isinstance(node.value, str):
            return Tree("text", (), node.value, self.at(node))
        if isinstance(node.value, (int, float)):
            return Tree("number", (), self.literal(node), self.at(node))
        raise self.refuse(
            node,
            f"syntax: {shorten(repr(node.value))} is not part of a formula",
            "write a real number, a name or a quoted text",
        )

    def literal(self, node: Any) -> int | Fraction:
        """Read a number's exact value from its text: Python's parser has already rounded it to a float."""
        line = self.lines[node.lineno - 1].encode("utf-8", "replace")
        text = line[node.col_offset : node.end_col_offset].decode("utf-8").replace("_", "")
        if text.isdecimal() and len(text) <= MAX_DIGITS:
            return int(text)
        match = re.fullmatch(_NUMBER, text)
        if not match:
            raise self.refuse(
                node, f"syntax: the number '{shorten(text)}' cannot be read", "write it in decimal digits"
            )
        whole, part, exponent = match["whole"], match["part"] or "", match["exponent"] or "0"
        if len(whole) + len(part) > MAX_DIGITS:
            raise self.refuse(
                node,
                f"limit: a number has {len(whole) + len(part)} digits, {MAX_DIGITS} at most",
                "round it, or write it as a power",
            )
        if len(exponent) > 10 or abs(int(exponent)) > MAX_EXPONENT:
            raise self.refuse(
                node,
                f"limit: the exponent of '{shorten(text, 40)}' is beyond {MAX_EXPONENT}",
                "write the number as a product of powers",
            )
        power = int(exponent) - len(part)
        digits = int((whole + part) or "0")
        if power >= 0:
            return digits * int(10**power)
        from fractions import Fraction

        value = Fraction(digits, 10 ** abs(power))
        return value.numerator if value.denominator == 1 else value

    def read_Name(self, node: Any, depth: int) -> Tree:
        return Tree("name", (), node.id, self.at(node))

    def read_UnaryOp(self, node: Any, depth: int) -> Tree:
        operand = self.read(node.operand, depth)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(node.op, ast.USub):
            return Tree("neg", (operand,), None, self.at(node))
        if isinstance(node.op, ast.Not):
            return Tree("not", (operand,), None, self.at(node))
        raise self.refuse(node, "syntax: '~' is not part of a formula", "write 1 - z for a complement")

    def read_BinOp(self, node: Any, depth: int) -> Tree:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return self._chain(node, (ast.Add, ast.Sub), "+", depth)
        if isinstance(node.op, ast.Mult):
            return self._chain(node, (ast.Mult,), "*", depth)
        operator = _BINARY.get(type(node.op))
        if operator is None:
            raise self.refuse(
                node, "syntax: this operator is not part of a formula", _INSTEAD.get(type(node.op), "use + - * / ** @")
            )
        return Tree(operator, (self.read(node.left, depth), self.read(node.right, depth)), None, self.at(node))

    def _chain(self, node: Any, operators: tuple[type, ...], op: str, depth: int) -> Tree:
        """Read a - b + c, which Python nests to the left, as one flat sum (likewise a product)."""
        parts = []
        first = node
        while isinstance(first, ast.BinOp) and isinstance(first.op, operators):
            right = self.read(first.right, depth)
            parts.append(Tree("neg", (right,), None, right.at) if isinstance(first.op, ast.Sub) else right)
            first = first.left
        parts.append(self.read(first, depth))
        flat = add(*reversed(parts)) if op == "+" else multiply(*reversed(parts))
        return Tree(op, flat.args, None, self.at(node))

    def read_Call(self, node: Any, depth: int) -> Tree:
        if not isinstance(node.func, ast.Name):
            raise self.refuse(node, "syntax: only a named function can be called", "write 'name(...)'")
        arguments = [self.read(argument, depth) for argument in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(
                    keyword.value,
                    "syntax: '**' before an argument is not part of a formula",
                    "write each argument as 'name=value'",
                )
            arguments.append(Tree("keyword", (self.read(keyword.value, depth),), keyword.arg, self.at(keyword)))
        return Tree("call", tuple(arguments), node.func.id, self.at(node))

    def read_List(self, node: Any, depth: int) -> Tree:
        return Tree("list", tuple(self.read(item, depth) for item in node.elts), None, self.at(node))

    read_Tuple = read_List

    def read_Attribute(self, node: Any, depth: int) -> Tree:
        if node.attr.startswith("_"):
            raise self.refuse(
                node,
                f"name: '{shorten(node.attr)}' is not a name that a formula can use",
                "its names begin with a letter",
            )
        return Tree("attribute", (self.read(node.value, depth),), node.attr, self.at(node))

    def read_Subscript(self, node: Any, depth: int) -> Tree:
        return Tree("index", (self.read(node.value, depth), self.read(node.slice, depth)), None, self.at(node))

    def read_Compare(self, node: Any, depth: int) -> Tree:
        operators = tuple(_COMPARE.get(type(operator), "") for operator in node.ops)
        if "" in operators:
            raise self.refuse(node, "syntax: 'is' and 'in' are not part of a formula", "compare with == != < <= > >=")
        operands = tuple(self.read(operand, depth) for operand in (node.left, *node.comparators))
        return Tree("compare", operands, operators, self.at(node))

    def read_BoolOp(self, node: Any, depth: int) -> Tree:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return Tree(op, tuple(self.read(operand, depth) for operand in node.values), None, self.at(node))


_KINDS = {
    "Lambda": "a lambda",
    "IfExp": "a condition",
    "ListComp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "Dict": "a dictionary",
    "Set": "a set",
    "JoinedStr": "a format string",
    "Slice": "a slice",
    "Starred": "'*' before an argument",
    "NamedExpr": "':='",
    "Await": "'await'",
}

_PRECEDENCE = {"or": 1, "and": 2, "not": 3, "compare": 4, "+": 5, "*": 6, "/": 6, "@": 6, "neg": 7, "**": 8}
_ATOM = 9


def to_text(tree: Tree) -> str:
    """Print a formula so that reading it again gives the same tree.

    >>> to_text(parse("((1-z))*(h_prev) + (z * n)"))
    '(1 - z) * h_prev + z * n'
    """
    return _print(tree)[0]


def _print(tree: Tree) -> tuple[str, int]:
    """Return the text and its precedence."""
    op = tree.op
    if op in _PRECEDENCE:
        return _print_operator(tree), _PRECEDENCE[op]
    if op == "number":
        return decimal_text(tree.value), _ATOM
    if op in ("name", "truth"):
        return str(tree.value), _ATOM
    if op == "text":
        return repr(tree.value), _ATOM
    inner = [_print(argument)[0] for argument in tree.args]
    if op == "keyword":
        return f"{tree.value}={inner[0]}", _ATOM
    if op == "call":
        return f"{tree.value}({', '.join(inner)})", _ATOM
    if op == "list":
        return f"[{', '.join(inner)}]", _ATOM
    if op == "attribute":
        return f"{_wrap(tree.args[0], _ATOM)}.{tree.value}", _ATOM
    return f"{_wrap(tree.args[0], _ATOM)}[{inner[1]}]", _ATOM


def _print_operator(tree: Tree) -> str:
    op, args = tree.op, tree.args
    if op == "+":
        terms = [_wrap(args[0], 6)]
        for term in args[1:]:
            negative = term.op == "neg"
            terms.append((" - " if negative else " + ") + _wrap(term.args[0] if negative else term, 6))
        return "".join(terms)
    if op == "*":  # a quotient may only come first: 'a * (b / c)' is not 'a * b / c'
        return " * ".join([_wrap(args[0], 6), *(_wrap(factor, 7) for factor in args[1:])])
    if op in "/@":
        return f"{_wrap(args[0], 6)} {op} {_wrap(args[1], 7)}"
    if op == "neg":
        return "-" + _wrap(args[0], 7)
    if op == "**":
        return f"{_wrap(args[0], _ATOM)}**{_wrap(args[1], 7)}"
    if op == "compare":
        return _wrap(args[0], 5) + "".join(
            f" {operator} {_wrap(operand, 5)}" for operator, operand in zip(tree.value, args[1:], strict=True)
        )
    if op == "not":
        return "not " + _wrap(args[0], 3)
    return f" {op} ".join(_wrap(operand, _PRECEDENCE[op] + 1) for operand in args)


def _wrap(tree: Tree, precedence: int) -> str:
    text, own = _print(tree)
    return f"({text})" if own < precedence else text


def decimal_text(value: int | Fraction) -> str:
    """Print an exact number: an integer, a decimal that ends, or a quotient in parentheses.

    >>> from fractions import Fraction
    >>> decimal_text(Fraction(-1, 8)), decimal_text(10**30), decimal_text(Fraction(1, 3))
    ('-0.125', '1e30', '(1 / 3)')
    """
    if value < 0:
        return "-" + decimal_text(-value)
    if value == int(value):
        digits = _digits(int(value))
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"{digits[:-zeros]}e{zeros}" if zeros > 20 else digits
    top, bottom = value.numerator, value.denominator
    places, rest = 0, bottom
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        places = max(places, count)
    if rest != 1:
        return f"({_digits(top)} / {_digits(bottom)})"
    digits = _digits(top * 10**places // bottom).rjust(places + 1, "0")
    leading = len(digits) - len(digits.lstrip("0"))
    if leading > 20:
        return f"{digits[leading:]}e-{places}"
    return f"{digits[:-places]}.{digits[-places:]}"


def _digits(value: int) -> str:
    """Write a large integer in pieces: Python itself stops at 4,300 digits."""
    piece = 10**4000
    return str(value) if value < piece else _digits(value // piece) + str(value % piece).rjust(4000, "0")
