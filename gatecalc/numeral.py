"""How people print numbers: a figure's digits, hedge, sign, unit and relation, and the numbers that it stands for.

A printed decimal stands for every number that rounds to it, so its text is kept: digits and trailing zeros are the
tolerance. ``0.3784`` stands for all within half of 0.0001 of it; ``about 400,000`` for all within half of 100,000, the
last digit that it commits to; ``under 5 percent`` for all below 0.05; ``twice`` for 2.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from gatecalc.errors import GatecalcError, shorten

MAX_HEDGE = Fraction(1, 10)  # a hedged figure is never more than this share away
MAX_DIGITS = 1_000
MAX_EXPONENT = 5_000

_HEDGES = (
    "a little",
    "about",
    "almost",
    "approx.",
    "approx",
    "approximately",
    "around",
    "circa",
    "close to",
    "nearly",
    "practically",
    "roughly",
    "some",
    "~",
    "≈",
    "≃",
    r"\approx",
    r"\sim",
)
_RELATIONS = {
    "less than": "<",
    "fewer than": "<",
    "smaller than": "<",
    "lower than": "<",
    "under": "<",
    "below": "<",
    "just under": "<",
    "more than": ">",
    "greater than": ">",
    "larger than": ">",
    "higher than": ">",
    "over": ">",
    "above": ">",
    "just over": ">",
    "at most": "<=",
    "up to": "<=",
    "no more than": "<=",
    "at least": ">=",
    "no less than": ">=",
    "no fewer than": ">=",
    "<": "<",
    ">": ">",
    "≤": "<=",
    "≥": ">=",
    "<=": "<=",
    ">=": ">=",
}
_STRICT = ("exactly", "precisely")
_PREFIX = re.compile(
    r"(?P<word>"
    + "|".join(sorted((re.escape(word) for word in (*_HEDGES, *_RELATIONS, *_STRICT)), key=len, reverse=True))
    + r")(?=[\s\d.+\-−–~≈]|$)\s*",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*(?:torch\.Size)?\s*(?:\(?\s*\[(?P<square>[^\[\]]*)\]\s*\)?|\((?P<round>[^()\[\]]*)\))\s*$")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SEPARATOR = r"(?:,|\{,\}|[\u2009\u202f\u00a0 _'](?=\d{3}(?!\d)))"
DIGITS = rf"\d{{1,3}}(?:{_SEPARATOR}\d{{3}})+(?!\d)|\d+"
_DECIMAL = re.compile(
    rf"(?P<sign>[+\-−–])?\s?(?P<whole>{DIGITS})?(?P<point>\.(?P<part>\d+)?)?"
    r"(?:[eE](?P<e>[+\-−]?\d+)|\s?(?:×|x|\*|·|⋅|\\times|\\cdot)\s?10(?:\^|\*\*)?\{?(?P<power>[+\-−]?\d+|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)\}?)?"
)
_SCALES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "K": 10**3,
    "k": 10**3,
    "M": 10**6,
    "mil": 10**6,
    "bn": 10**9,
}
# A unit has one reading, or two where people mean either.
_UNITS: dict[str, tuple[tuple[str, Fraction], ...]] = {
    "%": (("percent", Fraction(1, 100)),),
    r"\%": (("percent", Fraction(1, 100)),),
    "percent": (("percent", Fraction(1, 100)),),
    "per cent": (("percent", Fraction(1, 100)),),
}
for _index, (_letter, _word) in enumerate([("k", "kilo"), ("M", "mega"), ("G", "giga"), ("T", "tera")], start=1):
    _both = (("decimal", Fraction(1000**_index)), ("binary", Fraction(1024**_index)))
    _names = (f"{_letter}B", f"{_letter.upper()}B", f"{_word}byte", f"{_word}bytes")
    _UNITS |= dict.fromkeys(_names, _both)
    _UNITS[f"{_letter.upper()}iB"] = _UNITS[f"{_letter}iB"] = (("binary", Fraction(1024**_index)),)
PLAIN = (("", Fraction(1)),)

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
]
_WORDS: dict[str, int] = {word: value for value, word in enumerate([*_ONES, "eighteen", "nineteen"])}
_WORDS |= {
    word: 10 * value
    for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_PARTS = {
    "half": 2,
    "halve": 2,
    "third": 3,
    "quarter": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "hundredth": 100,
    "thousandth": 1000,
    "millionth": 10**6,
    "billionth": 10**9,
}
_MULTIPLES = {"once": 1, "twice": 2, "double": 2, "thrice": 3, "triple": 3, "quadruple": 4}


class Numeral(NamedTuple):
    """A printed figure.

    Attributes:
        text: As printed.
        value: Its digits' value, before its unit.
        step: The value of one unit in the last digit that it commits to; 0 where only the value itself will do, for a
            fraction in words ("a third") and after "exactly".
        readings: What one of its units is, as (name, factor): a percent sign 1/100, MB both 10**6 and 2**20.
        hedged: Whether it says about, roughly, nearly, ...
        relation: One of < > <= >= for under, over, at most, at least, ...; else empty.
        minus: Whether it carries a minus sign, which -0.000 does too.
        plus: Whether it carries a plus sign.
        decimals: How many digits stand after the point.
        exponent: The power of ten that it was printed with, or None.
        unit: The unit as printed, with the space before it.
    """

    text: str
    value: Fraction
    step: Fraction
    readings: tuple[tuple[str, Fraction], ...] = PLAIN
    hedged: bool = False
    relation: str = ""
    minus: bool = False
    plus: bool = False
    decimals: int = 0
    exponent: int | None = None
    unit: str = ""


def read(text: str) -> Numeral:
    """Read a printed figure.

    Raises:
        GatecalcError: When it is not a number as people print them.

    >>> read("about 400,000").step, read("38 percent").readings
    (Fraction(100000, 1), (('percent', Fraction(1, 100)),))
    >>> read("a hundred and forty million").value
    Fraction(140000000, 1)
    """
    rest = text.strip().strip("$").strip()
    hedged, strict, relation = False, False, ""
    while match := _PREFIX.match(rest):
        word = match["word"].lower()
        if word in _RELATIONS:
            relation = _RELATIONS[word]
        elif word in _STRICT:
            strict = True
        else:
            hedged = True
        rest = rest[match.end() :]
    found = _read_digits(text, rest) or _read_words(text, rest)
    if found is None:
        raise GatecalcError(
            f"numeral: '{shorten(text)}' is not a number",
            help="write it as printed, as in '0.3784', 'about 400,000', '38 percent' or 'twice'",
        )
    numeral, rest = found
    unit, readings = _unit(text, rest)
    numeral = numeral._replace(hedged=hedged, relation=relation, readings=readings, unit=unit)
    if strict and not hedged:
        return numeral._replace(step=Fraction(0))
    return numeral._replace(step=_committed(numeral)) if hedged else numeral


def read_all(text: str) -> list[Numeral]:
    """Read a figure, or several: ``[1.0, 0.4]``, ``20 × 3``, ``torch.Size([64, 8])``."""
    match = _LIST.match(text)
    if match:
        inner = (match["square"] or match["round"] or "").strip().rstrip(",")
        if not re.fullmatch(DIGITS, inner):
            return [read(part) for part in re.split(r",\s+|;\s*" if re.search(r",\s|;", inner) else ",", inner)]
    if re.search(r"\d\s*(?:×|\\times)\s*\d", text) and not re.search(r"(?:×|\\times)\s*10\s*[\^⁰¹²³⁴⁵⁶⁷⁸⁹⁻*]", text):
        return [read(part) for part in re.split(r"×|\\times", text)]
    return [read(text)]


def _read_digits(text: str, rest: str) -> tuple[Numeral, str] | None:
    match = _DECIMAL.match(rest)
    if not match or not (match["whole"] or match["part"]):
        return None
    whole = re.sub(r"\D", "", match["whole"] or "")
    part = match["part"] or ""
    power_text = (match["e"] or match["power"] or "0").translate(_SUPERSCRIPTS).replace("−", "-")
    if len(whole) + len(part) > MAX_DIGITS or len(power_text) > 8 or abs(int(power_text)) > MAX_EXPONENT:
        raise GatecalcError(
            f"limit: '{shorten(text)}' has more than {MAX_DIGITS} digits or an exponent beyond {MAX_EXPONENT}",
            help="print it shorter",
        )
    power = int(power_text)
    minus = (match["sign"] or "") in tuple("-−–")
    value = Fraction(int(whole + part)) * Fraction(10) ** (power - len(part)) * (-1 if minus else 1)
    numeral = Numeral(
        text,
        value,
        Fraction(10) ** (power - len(part)),
        minus=minus,
        plus=match["sign"] == "+",
        decimals=len(part),
        exponent=power if match["e"] or match["power"] else None,
    )
    return _scaled(numeral, rest[match.end() :])


def _read_words(text: str, rest: str) -> tuple[Numeral, str] | None:
    """Read number words: two thirds, a hundred and forty million, twenty-five, twice, one in a million."""
    share = re.match(r"\s*(one|a) in (?=an? |[a-z]+)", rest, re.IGNORECASE)
    if share and (of := _read_words(text, rest[share.end() :])) and of[0].value:
        return Numeral(text, 1 / of[0].value, Fraction(0)), of[1]
    words = re.findall(r"[A-Za-z]+|%", rest.replace("-", " "))
    total, group, used = 0, 0, 0
    smallest_scale = 1
    for position, word in enumerate(words):
        lower = word.lower()
        if lower in _MULTIPLES and not used:
            return Numeral(text, Fraction(_MULTIPLES[lower]), Fraction(1)), " ".join(words[position + 1 :])
        part = lower[:-1] if lower.endswith("s") and lower != "halves" else "half" if lower == "halves" else lower
        if part in _PARTS and total == 0 and (used or lower == "half"):
            rest_words = words[position + 1 :]
            while rest_words and rest_words[0].lower() in ("of", "a", "as", "the"):
                rest_words = rest_words[1:]
            return Numeral(text, Fraction(max(group, 1), _PARTS[part]), Fraction(0)), " ".join(rest_words)
        if lower in ("a", "an") and not used:
            group, used = 1, position + 1
        elif lower in _WORDS:
            group, used = (
                (0 if group == 1 and words[0].lower() in ("a", "an") and used == 1 else group) + _WORDS[lower],
                position + 1,
            )
        elif lower == "hundred" and used:
            group, used = group * 100, position + 1
        elif lower in ("thousand", "million", "billion", "trillion") and used:
            total, group, used, smallest_scale = total + group * _SCALES[lower], 0, position + 1, _SCALES[lower]
        elif lower == "and" and used and position + 1 < len(words) and words[position + 1].lower() in _WORDS:
            continue
        else:
            break
    if not used or (used == 1 and words[0].lower() in ("a", "an")):
        return None
    step = Fraction(1 if group else smallest_scale)
    return Numeral(text, Fraction(total + group), step), " ".join(words[used:])


def _scaled(numeral: Numeral, rest: str) -> tuple[Numeral, str]:
    """Apply a scale that follows the digits: 140 million, 400K, 2.5 Mil."""
    match = re.match(r"\s*([A-Za-z]+)\b", rest)
    if match:
        word = match[1] if match[1] in _SCALES else match[1].lower()
        scale = _SCALES.get(word)
        if scale and not (word in ("k", "M", "K") and rest[:1] == " "):
            return numeral._replace(value=numeral.value * scale, step=numeral.step * scale), rest[match.end() :]
    return numeral, rest


def _unit(text: str, rest: str) -> tuple[str, tuple[tuple[str, Fraction], ...]]:
    """Read what follows the number: a percent sign or bytes count; other words only name what is counted."""
    rest = rest.rstrip().rstrip(".,;:").rstrip("$").rstrip()
    first = re.match(r"\s*(\\?%|per ?cent\b|[A-Za-z]+)", rest)
    unit: str = ""
    readings: tuple[tuple[str, Fraction], ...] = PLAIN
    if first and first[1] in _UNITS:
        unit, readings, rest = first[0], _UNITS[first[1]], rest[first.end() :]
    if re.search(r"\d", rest):
        raise GatecalcError(
            f"numeral: '{shorten(text)}' has more than one number",
            help="state one figure, or several as '[1.0, 0.4]' or '20 × 3'",
        )
    return unit, readings


def _committed(numeral: Numeral) -> Fraction:
    """Return the unit of the last digit that a hedged figure commits to: trailing zeros of an integer do not count."""
    if numeral.step == 0 or numeral.decimals or numeral.value == 0:
        return numeral.step
    step = numeral.step
    while numeral.value % (step * 10) == 0:
        step *= 10
    return step


def bounds(numeral: Numeral) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest number that a figure without a relation stands for, before its unit."""
    half = numeral.step / 2
    if numeral.hedged:
        most = abs(numeral.value) * MAX_HEDGE
        half = min(half, most) if numeral.step else most
    low, high = numeral.value - half, numeral.value + half
    if numeral.value == 0:  # -0.000 is a small negative number, +0.000 a small positive one
        low, high = (low, Fraction(0)) if numeral.minus else (Fraction(0), high) if numeral.plus else (low, high)
    return low, high


def write_like(numeral: Numeral, steps: int) -> str:
    """Write a number of steps the way the figure was printed: same digits, separators, exponent, sign and unit."""
    value = steps * numeral.step / Fraction(10) ** (numeral.exponent or 0)
    whole, part = divmod(abs(value), 1)
    grouped = (numeral.unit == "" and whole >= 10**6) or re.search(r"\d(?:,|\{,\})\d{3}", numeral.text)
    text = f"{int(whole):,}" if grouped else f"{int(whole)}"
    if numeral.decimals:
        text += "." + str(int(part * 10**numeral.decimals)).rjust(numeral.decimals, "0")
    sign = "-" if steps < 0 else "+" if numeral.plus else ""
    exponent = f"e{numeral.exponent}" if numeral.exponent is not None else ""
    return f"{sign}{text}{exponent}{numeral.unit}"
