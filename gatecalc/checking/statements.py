"""Statements of arithmetic in a text: where a chain of equalities stands, and where each of its sides begins and ends.

A statement is reported only when both its ends are known: the edge of a line or of a formula, punctuation, or a plain
word. What is cut by markup, hangs on a symbol, or goes on in another line is no statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from gatecalc.checking.printed import (
    BANG,
    CLOSE,
    EDGE,
    FRACTION,
    NUMBER,
    OPEN,
    OPERATOR,
    OTHER,
    POINT,
    POWER,
    RELATION,
    ROOT,
    UNIT,
    UNITS,
    WORD,
    Expression,
    Token,
    Unreadable,
    function_named,
    is_unit,
    read,
    tokens,
)

WINDOW = 400  # characters to each side of a sign that are looked at in a long line
_LONG = 2_000  # characters, from which a line is looked at in windows

# The signs that state an equality. Each is looked for as it is: that is faster than any pattern.
_SIGNS = ("=", "≈", "≃", "≅", "∼", r"\approx", r"\simeq", "&asymp;", "&approx;")
_BLANK = frozenset(" \t\u00a0\u2009\u202f&")
_DIGITS = frozenset("0123456789")
_ENDS = frozenset(")}!%²³¹⁰⁴⁵⁶⁷⁸⁹$~")  # characters that the left side of one may end in, besides digits
_STARTS = frozenset("0123456789.-−–+~($\\√&({≈<")  # and the right side start with
_ENDS_SO = re.compile(r"(?:\d|[)}])\s?[A-Za-z]{1,9}$|&nbsp;$|</?[a-zA-Z][^<>]{0,20}>$")  # as do a unit, or markup
_STARTS_SO = re.compile(r"sqrt|exp|ln|log|sin|cos|tan|σ|sigmoid|abs|about|around|approx|roughly|circa")


class Side(NamedTuple):
    """One side of an equality: its expression, and where it stands in the text."""

    expression: Expression
    start: int
    end: int
    hedge: bool  # "= about 3", "= ~3"


class Statement(NamedTuple):
    """Two sides that a text says are equal.

    Attributes:
        left: The side before the sign.
        right: The side after it.
        first: The side that the chain of equalities began with, as far as it could be read.
        sign: ``=`` or ``≈``.
        doubts: Finds what about its place makes the reading doubtful; asked for only where the statement does not hold.
        word: The plain word that follows, as a unit would.
    """

    left: Side
    right: Side
    first: Side
    sign: str
    doubts: Callable[[], frozenset[str]]
    word: str


def find(text: str) -> Iterator[Statement]:
    """Yield the statements of a text, in order."""
    for start, end in _windows(text):
        yield from _in_window(text, start, end)


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines, or parts of long lines, in which a sign stands between what may be numbers."""
    done = -1
    for at in _signs(text):
        if at < done:
            continue
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end - start > _LONG:
            start, end = max(start, at - WINDOW, done), min(end, at + WINDOW)
        yield start, end
        done = end


def _signs(text: str) -> list[int]:
    found = []
    length = len(text)
    for sign in _SIGNS:
        if not sign.isascii() and text.isascii():
            continue
        size = len(sign)
        at = text.find(sign)
        while at >= 0:
            before = at - 1
            while before >= 0 and text[before] in _BLANK:
                before -= 1
            after = at + size
            while after < length and text[after] in _BLANK and text[after] != "&":
                after += 1
            if before >= 0 and after < length and _may_begin(text, after) and _may_end(text, before):
                found.append(at)
            at = text.find(sign, at + size)
    found.sort()
    return found


_INSIDE = frozenset((NUMBER, OPERATOR, BANG, POWER, FRACTION, ROOT, UNIT))


def _may_end(text: str, at: int) -> bool:
    """Tell whether the left side of a statement may end in a character."""
    last = text[at]
    if last in _DIGITS:  # of a number, and of no name: x1 = 3
        first = at
        while first >= 0 and (text[first].isalnum() or text[first] == "_"):
            first -= 1
        return text[first + 1] in _DIGITS or text[first] == "\\"
    return last in _ENDS or bool((last.isalpha() or last in ";>") and _ENDS_SO.search(text[max(0, at - 24) : at + 1]))


def _may_begin(text: str, at: int) -> bool:
    """Tell whether the right side of a statement may begin with a character."""
    return text[at] in _STARTS or (text[at].isalpha() and bool(_STARTS_SO.match(text, at)))


def _in_window(text: str, start: int, end: int) -> Iterator[Statement]:
    line = tokens(text, start, end)
    if any(token.kind == RELATION for token in line):
        line = [_markup(line, place) if token.text in _MARKUP else token for place, token in enumerate(line)]
    sides: dict[int, Side | None] = {}  # by the index of the token at which a side starts
    chain_first: Side | None = None
    chain_end = -1
    for place, token in enumerate(line):
        if token.kind != RELATION:
            continue
        if place != chain_end:  # a new chain
            chain_first = _left(text, line, place, start)
            previous = chain_first
        else:
            previous = sides.get(place)
        right, after, word = _right(text, line, place, end)
        chain_end = after
        sides[after] = right
        if previous is not None and right is not None:
            sign = "=" if token.text.endswith("=") and token.text != "~=" else "≈"
            doubts = partial(_doubts, text, line, previous, right)
            yield Statement(previous, right, chain_first or previous, sign, doubts, word)
        if chain_first is None:
            chain_first = right


_MARKUP = ("*", "**", "$")


def _markup(line: list[Token], place: int) -> Token:
    """Return a token, or the edge that it is: a star that is not between two operands is a bullet or an emphasis."""
    token = line[place]
    if token.kind == OPERATOR and token.text in ("*", "**"):
        before = line[place - 1] if place else None
        after = line[place + 1] if place + 1 < len(line) else None
        between = (
            before is not None
            and after is not None
            and (before.kind in (NUMBER, CLOSE, BANG, POWER, UNIT) or before.text in UNITS)
            and after.kind in (NUMBER, OPEN, FRACTION, ROOT, WORD, OPERATOR)
            and token.spaced == after.spaced
        )
        return token if between else token._replace(kind=EDGE)
    sign = place > 1 and line[place - 1].kind in (RELATION, OPERATOR)
    if token.text == "$" and sign and place + 1 < len(line) and line[place + 1].kind == NUMBER:
        return token._replace(kind="currency")
    return token


def _left(text: str, line: list[Token], place: int, start: int) -> Side | None:
    """Return the side before a sign: it is read backwards to where it starts, and then forwards."""
    first, depth = place, 0
    while first > 0:
        token = line[first - 1]
        if token.kind == CLOSE or (token.text == "</sup>"):
            depth += 1
        elif token.kind == OPEN or (token.text == "<sup>"):
            if depth == 0:
                break
            depth -= 1
        elif token.kind == WORD:
            following = line[first]
            applied = following.kind == OPEN and not following.spaced
            unit = first >= 2 and line[first - 2].kind in (NUMBER, CLOSE) and is_unit(token.text)
            if not (applied and function_named(token.text)) and not unit:
                break
        elif token.kind not in _INSIDE and not (depth and token.kind == "currency"):
            break
        first -= 1
    marker = _list_marker(line, first, place)
    first += marker
    if first == place or (depth and marker != 2) or not (marker or _begins(text, line, first, start)):
        return None
    try:
        expression = read(line, first)
    except Unreadable:
        return None
    if expression.end != place or _bare(expression):
        return None
    return Side(expression, line[first].start, line[place - 1].end, False)


def _bare(expression: Expression) -> bool:
    """Tell whether it is one number in brackets, as the argument of a function that markup has cut off: (5) = 0.25."""
    node = expression.node
    return node.op == "group" and node.args[0].op in ("number", "neg")


def _list_marker(line: list[Token], first: int, place: int) -> int:
    """Return how many tokens at the start of a line are a list's marker: ``-``, ``+``, or ``2)``."""
    if first != 0 or place < 3:
        return 0
    if line[0].kind == OPERATOR and line[0].text in ("-", "+", "–", "−") and line[1].spaced:
        return 1
    return 2 if line[0].kind == NUMBER and line[1].text == ")" and not line[1].spaced and line[2].spaced else 0


def _begins(text: str, line: list[Token], first: int, start: int) -> bool:
    """Tell whether a side may begin at a token: nothing before it may be a part of it."""
    token = line[first]
    before = line[first - 1] if first else None
    if token.kind == OPERATOR:
        signed = token.text in ("-", "−", "–", "+", "&minus;") and first + 1 < len(line) and not line[first + 1].spaced
        if not signed or not (token.spaced or before is None or before.kind in (EDGE, OPEN, POINT)):
            return False
    elif token.kind in (POWER, BANG, UNIT):
        return False
    if before is None:
        return start == 0 or text[start - 1] == "\n" or text[start - 1 : start + 1].isspace()
    if before.kind == WORD:
        return token.spaced and len(before.text) > 1 and before.text.replace("’", "").isalpha()
    if before.kind == OTHER or before.kind == RELATION:
        return False
    if before.kind == OPEN and first >= 2 and line[first - 2].kind == WORD and not before.spaced:
        return False  # the argument of something
    if before.kind == POINT:
        if first >= 2 and line[first - 2].kind == NUMBER and before.text in ",:":
            return False
        return token.spaced
    return before.kind == OPEN or (before.kind == EDGE and not (_inline(before.text, "</") and not token.spaced))


_BLOCKS = re.compile(
    r"</?(?:p|div|td|th|tr|li|ul|ol|dl|dd|dt|br|hr|h[1-6]|pre|body|table|section|caption|figcaption|blockquote|title|para"
    r"|item|entry|note|annotation|summary|main|article|header)\b",
    re.IGNORECASE,
)


def _inline(text: str, opening: str) -> bool:
    """Tell whether an edge is a tag within a line of text, which may stand within a formula: its start or its end."""
    sub = text[:5].lower() in ("<sub>", "<sup>")
    return sub or (text.startswith(opening) and (text[1:2] == "/") == (opening == "</") and not _BLOCKS.match(text))


def _right(text: str, line: list[Token], place: int, end: int) -> tuple[Side | None, int, str]:
    """Return the side after a sign, the index of the sign that goes on from it, and the word that follows."""
    at = place + 1
    hedge = False
    while at < len(line) and (
        line[at].text.lower() in ("~", "about", "roughly", "approximately", "approx", r"\sim", "around", "circa")
        or line[at].kind == "currency"
    ):
        hedge = hedge or line[at].kind != "currency"
        at += 1
    if at >= len(line):
        return None, -1, ""
    try:
        expression = read(line, at)
    except (Unreadable, IndexError):
        return None, -1, ""
    after = expression.end
    if _bare(expression):
        return None, -1, ""
    side = Side(expression, line[at].start, line[after - 1].end, hedge)
    following = line[after] if after < len(line) else None
    word = following.text if following is not None and following.kind == WORD and following.spaced else ""
    if not _ends(text, line, after, end):
        return None, after, word
    return side, after if following is not None and following.kind == RELATION else -1, word


def _ends(text: str, line: list[Token], after: int, end: int) -> bool:
    """Tell whether a side may end before a token: nothing after it may be a part of it."""
    if after >= len(line):
        return end == len(text) or text[end] == "\n"
    token = line[after]
    if token.kind == EDGE:
        return token.spaced or not _inline(token.text, "<")
    if token.kind in (RELATION, CLOSE):
        return True
    if token.kind == OPEN:
        return token.spaced and token.text == "("
    if token.kind == WORD:
        return token.spaced and token.text.isalpha() and (len(token.text) > 1 or token.text in "ams")
    if token.kind == POINT:
        following = line[after + 1] if after + 1 < len(line) else None
        if following is not None and not following.spaced and following.kind in (NUMBER, WORD, OPERATOR, OPEN):
            return False
        return not (token.text in ",:" and following is not None and following.kind == NUMBER)
    if token.kind == BANG:
        return after + 1 >= len(line) or line[after + 1].spaced
    return False


_DOUBTFUL_BEFORE = re.compile(
    r"negative|minus|plus|times|over|by|of|half|square|root|squared|cubed|log|modulo?|divided|from|without|point"
    r"|hundred|thousand|million|dozen|not|isn",
    re.IGNORECASE,
)
_DOUBTFUL_AFTER = re.compile(
    r"remainder|r|rem|modulo?|squared|cubed|plus|minus|times|over|point|hundred(?:ths)?|tenths|dozen|by|x|bits|hex"
    r"|binary|octal|base|degrees|through",
    re.IGNORECASE,
)


def _cut(text: str, start: int, end: int) -> frozenset[str]:
    """Return the doubt that a statement goes on in the line before or after."""
    before = text[max(0, start - 80) : start].rstrip(" \t")
    after = text[end : end + 80].lstrip(" \t.,;")
    if before.endswith("\n") and re.search(r"(?:[=+*/^(,−–×·&]|-|\d\.|\\\\)\s*$", before):
        return frozenset(["the line before may go on in it"])
    if after.startswith("\n") and re.match(r"\n[ \t]*(?:[+*/^=×·]\s*\d|[-−–]\d)", after):
        return frozenset(["the next line may go on from it"])
    return frozenset()


def _doubts(text: str, line: list[Token], left: Side, right: Side) -> frozenset[str]:
    """Return what about the words on both sides of a statement makes its reading doubtful."""
    found = set(_cut(text, left.start, right.end))
    first = next((index for index, token in enumerate(line) if token.start == left.start), 0)
    if first and line[first - 1].kind == WORD:
        word = line[first - 1].text
        mixed = word in ("and", "or") and first > 1 and line[first - 2].kind == NUMBER  # 1 and 1/2
        if mixed or _DOUBTFUL_BEFORE.fullmatch(word):
            found.add(f"'{word}' stands before it")
    if first and line[first - 1].kind == POINT and line[first - 1].text == ",":
        found.add("a comma stands before it")
    after = next((index for index, token in enumerate(line) if token.start >= right.end), len(line))
    if after < len(line) and line[after].kind == WORD:
        word = line[after].text
        either = word in ("or", "to", "and") and after + 1 < len(line) and line[after + 1].kind == NUMBER  # 12 or 13
        if either or _DOUBTFUL_AFTER.fullmatch(word):
            found.add(f"'{word}' stands after it")
    return frozenset(found)
