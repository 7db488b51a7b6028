"""Numbers in words: a hundred and forty million, two thirds, one and a half, three point five, half a million, twice.

What is a number word is read as one, or the whole text is refused: ``twenty twenty`` is not 40.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten",
    "eleven",
    "twelve",
    *(stem + "teen" for stem in ("thir", "four", "fif", "six", "seven", "eigh", "nine")),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_GROUPS = {"dozen": 12, "hundred": 100, **SCALES}
_MULTIPLES = {"once": 1, "twice": 2, "double": 2, "thrice": 3, "triple": 3, "quadruple": 4}
_WHOLE = {word: value for value, word in enumerate(_DIGITS + _TEENS)} | {
    word: 10 * n for n, word in enumerate(_TENS, 2)
}
_FEW = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}
_FEW |= {"ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "fifteenth": 15, "sixteenth": 16}
_FEW |= {word.removesuffix("y") + "ieth": value for word, value in _WHOLE.items() if word in _TENS}
_MANY = {word + "th": value for word, value in _GROUPS.items() if word != "dozen"}
_PARTS = _FEW | _MANY
_PLURAL = {word + "s": value for word, value in _PARTS.items() if word != "half"} | {"halves": 2}
_ARTICLES = ("a", "an")
NUMBER_WORDS = frozenset([*_WHOLE, *_GROUPS, *(word + "s" for word in _GROUPS), "half", "halves", "quarter"])


class Words(NamedTuple):
    """A number read from words: its value, the value of one unit in its last word (0 for a part), and what follows."""

    value: Fraction
    step: Fraction
    rest: str


def read_words(text: str) -> Words | None:
    """Read the number that a text begins with, or None.

    >>> read_words("a hundred and forty million times")
    Words(value=Fraction(140000000, 1), step=Fraction(1000000, 1), rest=' times')
    >>> read_words("two thirds").value, read_words("one and a half").value, read_words("many")
    (Fraction(2, 3), Fraction(3, 2), None)
    """
    return _Reader(text).number()


def read_part(text: str) -> Words | None:
    """Read what turns digits into a part of one or more: the "and a half" of 3 and a half, the "thirds" of 2 thirds.

    The value is what is to be added to the digits; where they are to be multiplied, it is negative.
    """
    reader = _Reader(text)
    if reader.word() in _PLURAL:
        part = _PLURAL[reader.take()]
        return Words(-Fraction(1, part), Fraction(0), reader.rest())
    part_of_one = reader.and_a_part()
    return Words(part_of_one, Fraction(0), reader.rest()) if part_of_one else None


class _Reader:
    """The words that a text begins with, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[tuple[str, int]] = []  # each with where it ends
        end = 0
        while match := re.compile(r"[\s\-–‐‑]*([A-Za-z]+)").match(text, end):
            end = match.end()
            self.words.append((match[1].lower(), end))
        self.at = 0

    def word(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.words[at][0] if at < len(self.words) else ""

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1][0]

    def rest(self) -> str:
        return self.text[self.words[self.at - 1][1] if self.at else 0 :]

    def number(self) -> Words | None:
        if self.word() in _MULTIPLES:
            return Words(Fraction(_MULTIPLES[self.take()]), Fraction(1), self.rest())
        found = self.fold() or self.part() or self.whole()
        if found is None:
            return None
        value, step = found
        if self.word() == "point" and self.word(1) in _DIGITS:
            value, step = self.decimals(value)
        elif more := self.and_a_part():
            value, step = value + more * (step or 1), Fraction(0)
        value, step = self.scaled(value, step)
        return Words(value, step, self.rest())

    def fold(self) -> tuple[Fraction, Fraction] | None:
        """Read twofold, tenfold, hundredfold."""
        word = self.word().removesuffix("fold")
        if word == self.word() or word not in _WHOLE | _GROUPS:
            return None
        self.take()
        return Fraction((_WHOLE | _GROUPS)[word]), Fraction(1)

    def whole(self) -> tuple[Fraction, Fraction] | None:
        """Read a whole number, and the part of one that it may be a number of: twenty five, two thirds."""
        total, group, scale, begin = 0, -1, 10**15, self.at  # a group of -1 is one that has not begun
        while True:
            word = self.word()
            if self.at == begin and word in _ARTICLES and self.word(1) in _GROUPS:
                group = 1
            elif word in _WHOLE and _may_follow(_WHOLE[word], group):
                group = max(group, 0) + _WHOLE[word]
            elif word == "hundred" and 0 < group < 100:
                group *= 100
            elif word in SCALES and group > 0 and SCALES[word] < scale:
                scale = SCALES[word]
                total, group = total + group * scale, -1
            elif not (word == "and" and self.at > begin and self.word(1) in _WHOLE and not self.part_of(1)):
                break
            self.take()
        if self.at == begin:
            return None
        value = total + max(group, 0)
        word = self.word()
        if word in _PLURAL or (word in _PARTS and (value == 1 or word in _MANY)):
            self.take()  # a hundred thousandth is 1/100,000; five thousandths are 5/1,000
            part = Fraction(value, _PLURAL[word]) if word in _PLURAL else Fraction(1, value * _PARTS[word])
            return part, Fraction(0)
        return Fraction(value), Fraction(scale if group < 0 else 1)

    def part_of(self, ahead: int) -> bool:
        """Tell whether "three quarters" or "a half" stands so many words ahead."""
        count, part = self.word(ahead), self.word(ahead + 1)
        single = count in _ARTICLES or count == "one"
        return (single and part in _PARTS) or (count in _WHOLE and part in _PLURAL)

    def part(self) -> tuple[Fraction, Fraction] | None:
        """Read half, a third, an eighth."""
        if self.word() == "half":
            self.take()
        elif self.word() in _ARTICLES and self.word(1) in _PARTS:
            self.take()
            return Fraction(1, _PARTS[self.take()]), Fraction(0)
        else:
            return None
        return Fraction(1, 2), Fraction(0)

    def and_a_part(self) -> Fraction | None:
        """Read "and a half", "and three quarters"."""
        if self.word() != "and" or not self.part_of(1):
            return None
        self.take()
        count = _WHOLE.get(self.take(), 1)
        return Fraction(count, (_PARTS | _PLURAL)[self.take()])

    def decimals(self, value: Fraction) -> tuple[Fraction, Fraction]:
        """Read "point one four"."""
        self.take()
        step = Fraction(1)
        while self.word() in _DIGITS:
            step /= 10
            value += _WHOLE[self.take()] * step
        return value, step

    def scaled(self, value: Fraction, step: Fraction) -> tuple[Fraction, Fraction]:
        """Read what the number is a number of: half a million, a quarter of a million, two and a half thousand."""
        ahead = 0
        while ahead < 2 and self.word(ahead) in ("of", *_ARTICLES):
            ahead += 1
        word = self.word(ahead)
        if word in _GROUPS and (step == 0 or (ahead == 0 and word != "hundred")):
            self.at += ahead
            scale = _GROUPS[self.take()]
            return value * scale, step * (1 if word == "dozen" else scale)
        return value, step


def _may_follow(value: int, group: int) -> bool:
    """Tell whether twenty and then five are one number (and five and then twenty are not)."""
    if group < 0 or (group >= 100 and group % 100 == 0):
        return value > 0 or group < 0
    return 0 < value < 10 and group % 10 == 0 and group % 100 >= 20
