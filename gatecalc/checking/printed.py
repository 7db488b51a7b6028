"""Arithmetic as people print it: text to tokens, and tokens to a tree, in plain text, Unicode, LaTeX and HTML alike.

Markup is read as what it sets: ``\\frac{2}{3}``, ``&times;`` and ``<sup>2</sup>`` are a quotient, a product and a
power; ``\\,`` and ``&nbsp;`` are spaces. What may be read in two ways is read in one, and noted as a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_DEPTH = 40  # nesting of brackets
MAX_OPERATIONS = 250  # of one expression

SPACE, NUMBER, WORD, OPERATOR, OPEN, CLOSE, BANG, POWER, RELATION, EDGE, POINT, OTHER, UNIT, FRACTION, ROOT = (
    "space", "number", "word", "operator", "open", "close", "bang", "power", "relation", "edge", "point", "other",
    "unit", "fraction", "root",
)  # fmt: skip

_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
_PLAIN = str.maketrans(_SUPERSCRIPT + "−", "0123456789+--")
_GAP = r"(?:,|\{,\}|\\,|[\u2009\u202f']|&thinsp;)"
_LEXER = re.compile(
    r"(?P<space>(?:[ \t\r\u00a0\u2002-\u200a\u202f]|&nbsp;|&thinsp;|&ensp;|\\[,;:! ]|\{\}"
    r"|\\(?:q?quad|displaystyle|left|right|[bB]igg?[lrm]?|phantom\{[^{}]*\}|hspace\{[^{}]*\})(?![A-Za-z])|\\\$|&(?==))+)"
    r"|(?P<other>\d+(?:\.\d+){2,}|\.{2,}|…|\\[lc]?dots(?:[bcmio])?(?![A-Za-z])|=\?|\?=|==+>?|=>|:=|≠|≡|//+"
    r"|[-+/%&|<>!]=|=~|0[xXbBoO][0-9A-Fa-f]+)"
    rf"|(?P<number>(?:\d{{1,3}}(?:{_GAP}\d{{3}})+(?!\d)(?:\.\d+)?|\d{{1,3}}(?:[ \u00a0]\d{{3}})+(?:,\d+)?(?!\d|[.,]\d)"
    r"|\d+,\d+(?![\d,])|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-−]?\d{1,7}(?![\w.]))?)"
    r"|(?P<relation>=|≈|≃|≅|∼|~=|\\(?:approx|simeq|doteq|thickapprox)(?![A-Za-z])|&(?:asymp|approx|ap|thickapprox|#8776);)"
    r"|(?P<operator>\*\*|[-+*/−–×·⋅∙÷∕⁄]|\\(?:times|cdot|div|ast)(?![A-Za-z])|\\\*"
    r"|&(?:times|middot|sdot|divide|minus|ndash|#215|#8722);|(?<=[\d) ])[xX](?=[\d( ]))"
    r"|(?P<power>\^|[⁰¹²³⁴-⁹⁺⁻]+|&sup[123];|<sup>(?=\s*[-+−]?\d+\s*</sup>))"
    r"|(?P<fraction>\\[dtc]?frac(?![A-Za-z]))|(?P<root>\\sqrt(?![A-Za-z])|√)"
    r"|(?P<unit>\\?%|‰|\\(?:text|mathrm|textrm|mbox|rm)\s*\{\s*\\?[A-Za-z% ]{1,20}\})"
    r"|(?P<edge>\$\$?|\\[()\[\]]|`+|\\\\|<[/!a-zA-Z][^<>]{0,300}>|\\(?:begin|end)\{[^{}]{0,40}\}"
    r"|\\(?:tag|label)\{[^{}]{0,40}\}|[\"“”‘’„«»|—]|\\n|&(?:quot|ldquo|rdquo|lsquo|rsquo|mdash);)"
    r"|(?P<open>[({])|(?P<close>[)}])|(?P<bang>!)|(?P<point>[.,;:?])"
    r"|(?P<word>(?:\\?[A-Za-z_\u0370-\u03ff\u0400-\u04ff\u00c0-\u00ff\u0300-\u036f]+\w*))"
    r"|(?P<rest>.)",
    re.DOTALL,
)

UNITS = {
    "k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9, "G": 10**9, "T": 10**12,
    "thousand": 10**3, "million": 10**6, "mil": 10**6, "mio": 10**6, "mln": 10**6, "bn": 10**9, "billion": 10**9,
    "trillion": 10**12,
}  # fmt: skip
BYTES = re.compile(r"([kKMGTP])(i?)(?:B|bytes?)$|(kilo|mega|giga|tera|peta)bytes?$")
_FUNCTIONS = {
    "sqrt": "sqrt", "exp": "exp", "ln": "log", "log": "log", "log2": "log2", "log10": "log10", "sin": "sin",
    "cos": "cos", "tan": "tan", "tanh": "tanh", "sigmoid": "sigmoid", "σ": "sigmoid", "abs": "abs",
}  # fmt: skip


class Token(NamedTuple):
    """A piece of a line: its kind, its text, where it stands, and whether space goes before it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool


def tokens(text: str, first: int = 0, last: int | None = None) -> list[Token]:
    """Return the tokens of a piece of text, spaces left out."""
    found: list[Token] = []
    spaced = True
    for match in _LEXER.finditer(text, first, len(text) if last is None else last):
        kind = match.lastgroup
        if kind == SPACE:
            spaced = True
            continue
        assert kind is not None
        found.append(Token(OTHER if kind == "rest" else kind, match[0], match.start(), match.end(), spaced))
        spaced = False
    return found


class Node(NamedTuple):
    """A part of a printed expression.

    Attributes:
        op: ``number``, ``+``, ``-``, ``*``, ``/``, ``^``, ``neg``, ``!``, ``group``, or a function's name.
        args: Its operands.
        text: For a number, its text as printed.
    """

    op: str
    args: tuple[Node, ...] = ()
    text: str = ""


class Expression(NamedTuple):
    """What was read: the tree, the index of the token after it, and what about its reading is in doubt."""

    node: Node
    end: int
    doubts: frozenset[str]

    @property
    def numeral(self) -> bool:
        """Whether it is one number, signed or not, and no arithmetic."""
        node = self.node.args[0] if self.node.op == "neg" else self.node
        return node.op == "number" or (node.op == "unit" and node.args[0].op == "number")


class Unreadable(Exception):
    """The tokens are not arithmetic of numbers."""


def read(found: list[Token], start: int) -> Expression:
    """Read the longest expression from a token on.

    Raises:
        Unreadable: When none starts there.
    """
    reader = _Reader(found, start)
    return Expression(reader.sum(), reader.at, frozenset(reader.doubts))


class _Reader:
    def __init__(self, found: list[Token], start: int) -> None:
        self.found = found
        self.at = start
        self.depth = 0
        self.operations = 0
        self.doubts: set[str] = set()

    def peek(self) -> Token | None:
        return self.found[self.at] if self.at < len(self.found) else None

    def sum(self) -> Node:
        left = self.product()
        while True:
            token = self.peek()
            if token is None or token.kind != OPERATOR or token.text not in _SIGNS or not self._operand_follows():
                return left
            if token.text == "–" and not token.spaced:
                self.doubts.add("the dash may be a range")
            self.at += 1
            left = Node("+" if token.text == "+" else "-", (left, self.product()))

    def product(self) -> Node:
        left = self.signed()
        divided = False
        while True:
            token = self.peek()
            if token is None:
                return left
            if token.kind == OPERATOR and token.text in _PRODUCTS and self._operand_follows():
                self.at += 1
                op = _PRODUCTS[token.text]
                if op == "*" and divided:
                    self.doubts.add("a/b*c may be meant as a/(b*c)")
                divided = divided or op == "/"
                left = Node(op, (left, self.signed()))
            elif self._juxtaposed(token):
                if divided:
                    self.doubts.add("a/b(c) may be meant as a/(b(c))")
                before = self.found[self.at - 1]
                if token.kind == FRACTION and before.kind == NUMBER:
                    self.doubts.add("it may be a mixed number")
                if token.kind == NUMBER:
                    self.doubts.add("a power may have lost its mark")
                start = self.at
                right = self.power()
                if before.kind == NUMBER and self.at - start == 3 and self.found[start + 1].text == before.text:
                    self.doubts.add("a number stands twice, as in a text that shows its formulas twice")
                left = Node("*", (left, right))
            else:
                return left

    def _juxtaposed(self, token: Token) -> bool:
        before = self.found[self.at - 1]
        if token.kind == OPEN and token.text == "(":
            return not token.spaced and before.kind in (NUMBER, CLOSE, BANG)
        if token.kind in (FRACTION, ROOT):
            return before.kind in (NUMBER, CLOSE)
        return token.kind == NUMBER and not token.spaced and before.kind == CLOSE and before.text == ")"

    def _operand_follows(self) -> bool:
        """Tell whether what follows an operator can be its operand; else the operator is markup or punctuation."""
        at = self.at + 1
        while at < len(self.found) and self.found[at].kind == OPERATOR and self.found[at].text in _SIGNS:
            at += 1
        return at < len(self.found) and self._starts(self.found[at], at)

    def _starts(self, token: Token, at: int) -> bool:
        return token.kind in (NUMBER, OPEN, FRACTION, ROOT) or (
            token.kind == WORD and function_named(token.text) is not None and self._applied(at)
        )

    def _applied(self, at: int) -> bool:
        return at + 1 < len(self.found) and self.found[at + 1].kind == OPEN and not self.found[at + 1].spaced

    def signed(self) -> Node:
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise Unreadable
        token = self.peek()
        if token is not None and token.kind == OPERATOR and token.text in _SIGNS:
            self._deeper()
            self.at += 1
            inner = self.signed()
            self.depth -= 1
            if inner.op == "^" and token.text != "+":
                self.doubts.add("-a^b may be meant as (-a)^b")
            return inner if token.text == "+" else Node("neg", (inner,))
        return self.power()

    def power(self) -> Node:
        base = self.postfix()
        token = self.peek()
        if token is None or not (token.kind == POWER or (token.kind == OPERATOR and token.text == "**")):
            return base
        self._deeper()
        self.at += 1
        if token.text in ("^", "**"):
            if token.text == "^":
                self.doubts.add("^ may be a bitwise operation")
            elif token.spaced != (self.peek() is not None and self.found[self.at].spaced):
                raise Unreadable
            exponent = self.exponent()
        elif token.text == "<sup>":
            sign = self.signed()
            end = self.peek()
            if end is None or end.text != "</sup>":
                raise Unreadable
            self.at += 1
            exponent = sign
        else:
            digits = token.text.removeprefix("&sup").removesuffix(";").translate(_PLAIN)
            if not re.fullmatch(r"[+-]?\d{1,6}", digits):
                raise Unreadable
            exponent = Node("number", (), digits.lstrip("+-"))
            exponent = Node("neg", (exponent,)) if digits[0] == "-" else exponent
        self.depth -= 1
        return Node("^", (base, exponent))

    def exponent(self) -> Node:
        token = self.peek()
        if token is not None and token.kind == OPERATOR and token.text in _SIGNS:
            self.at += 1
            inner = self.exponent()
            return inner if token.text == "+" else Node("neg", (inner,))
        if token is not None and token.text == "^":
            raise Unreadable
        return self.power()

    def postfix(self) -> Node:
        node = self.primary()
        while True:
            token = self.peek()
            if token is None:
                return node
            if token.kind == BANG and not token.spaced:
                if self._ends_sentence():
                    return node
                self.at += 1
                node = Node("!", (node,))
            elif factor := self._unit(token, node):
                self.at += 1
                node = Node("unit", (node,), factor)
            else:
                return node

    def _ends_sentence(self) -> bool:
        """Tell whether a '!' after a number is more likely the end of a sentence: it ends a chain."""
        before = self.found[self.at - 2] if self.at >= 2 else None
        after = self.found[self.at + 1] if self.at + 1 < len(self.found) else None
        return before is not None and before.kind == RELATION and (after is None or after.kind in (WORD, EDGE))

    def _unit(self, token: Token, node: Node) -> str:
        if token.kind == UNIT:
            text = re.sub(r"^\\[a-z]+\s*\{\s*|\s*\}$", "", token.text).strip().lstrip("\\")
        elif token.kind == WORD:
            text = token.text
        else:
            return ""
        if node.op not in ("number", "group") or (node.op == "group" and text == "x"):
            return ""
        if text in ("%", "percent", "‰") or BYTES.match(text):
            return text
        if text in UNITS and (len(text) > 1 or not token.spaced or node.op == "group" or token.kind == UNIT):
            return text
        return text if text.lower() in UNITS and len(text) > 1 else ""

    def primary(self) -> Node:
        token = self.peek()
        if token is None:
            raise Unreadable
        if token.kind == NUMBER:
            self.at += 1
            self._note(token)
            return Node("number", (), token.text)
        if token.kind == OPEN:
            return self.bracket(token)
        if token.kind == FRACTION:
            self._deeper()
            self.at += 1
            top, bottom = self.argument(), self.argument()
            self.depth -= 1
            return Node("group", (Node("/", (top, bottom)),))
        if token.kind == ROOT:
            self._deeper()
            self.at += 1
            following = self.peek()
            if following is not None and following.text == "[":
                raise Unreadable
            inner = self.argument()
            self.depth -= 1
            return Node("sqrt", (inner,))
        function = function_named(token.text) if token.kind == WORD else None
        if function and self._applied(self.at):
            if token.text in ("σ", "\\sigma"):
                self.doubts.add("σ may be another function than the sigmoid")
            self._deeper()
            self.at += 1
            inner = self.bracket(self.found[self.at])
            self.depth -= 1
            return Node(function, (inner,))
        raise Unreadable

    def _note(self, token: Token) -> None:
        """Note what about a number may be read in another way."""
        text = token.text
        if text[0] == "0" and len(text) > 1 and text[1].isdigit():
            self.doubts.add("a number starts with a zero")
        if "," in text and "{,}" not in text:
            if not re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
                self.doubts.add("a comma may separate or be a decimal comma")
        elif " " in text or "\u00a0" in text:
            self.doubts.add("a space may separate two numbers")

    def argument(self) -> Node:
        """Read what ``\\frac`` and ``\\sqrt`` take: a group in braces, or one digit or token."""
        token = self.peek()
        if token is None:
            raise Unreadable
        if token.text == "{":
            return self.bracket(token)
        if token.kind == NUMBER and len(token.text) == 1:
            return self.primary()
        if token.text == "(" and self.found[self.at - 1].text == "√":
            return self.bracket(token)
        if token.kind == NUMBER and self.found[self.at - 1].text == "√":
            return self.primary()
        raise Unreadable

    def bracket(self, token: Token) -> Node:
        self._deeper()
        self.at += 1
        inner = self.sum()
        end = self.peek()
        if end is None or end.text != (")" if token.text == "(" else "}"):
            raise Unreadable
        self.at += 1
        self.depth -= 1
        return Node("group", (inner,))

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable


_SIGNS = {"+": "+", "-": "-", "−": "-", "–": "-", "&minus;": "-", "&ndash;": "-", "&#8722;": "-"}
_PRODUCTS = dict.fromkeys(
    ("*", "×", "·", "⋅", "∙", "x", "X", r"\times", r"\cdot", r"\ast", r"\*", "&times;", "&middot;", "&sdot;", "&#215;"),
    "*",
) | dict.fromkeys(("/", "÷", "∕", "⁄", r"\div", "&divide;"), "/")


def is_unit(word: str) -> bool:
    """Tell whether a word after a number scales it: K, million, GB, percent."""
    return word in UNITS or word == "percent" or bool(BYTES.match(word))


def function_named(word: str) -> str | None:
    """Return the function that a word names, or None."""
    return _FUNCTIONS.get(word.removeprefix("\\")) if word != r"\sigma" else "sigmoid"


def leaves(node: Node) -> list[Node]:
    """Return the numbers of an expression, as printed, and the units on them."""
    if node.op == "number":
        return [node]
    return [leaf for argument in node.args for leaf in leaves(argument)]


def nodes(node: Node) -> Iterator[Node]:
    """Yield an expression's parts, itself first."""
    yield node
    for argument in node.args:
        yield from nodes(argument)


def operations(node: Node) -> set[str]:
    """Return the operations of an expression, its functions among them."""
    return {each.op for each in nodes(node)}


def plain_number(text: str, comma: bool = False) -> tuple[str, bool, str]:
    """Return a printed number's digits with their point, whether commas group them, and its exponent.

    A comma groups where three digits follow each, and is else a decimal comma, as with ``comma`` every one is.
    """
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    grouped = "," in mantissa
    single = mantissa.count(",") == 1 and "." not in mantissa and "{" not in mantissa
    if single and (comma or not re.fullmatch(r"\d{1,3},\d{3}", mantissa)):
        mantissa, grouped = mantissa.replace(",", "."), False
    return re.sub(r"&thinsp;|[^\d.]", "", mantissa), grouped, exponent.translate(_PLAIN)


def unit_of(node: Node) -> str:
    """Return the unit of a number, signed or not; empty where it has none."""
    node = node.args[0] if node.op == "neg" else node
    return node.text if node.op == "unit" else ""
