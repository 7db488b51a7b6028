"""How people print numbers: a figure's digits, hedge, sign, unit and relation, and the numbers that it stands for.

A printed decimal stands for every number that rounds to it, so its text is kept: digits and trailing zeros are the
tolerance. ``0.3784`` stands for all within half of 0.0001 of it; ``about 400,000`` for all within half of 100,000, the
last digit that it commits to; ``under 5 percent`` for all below 0.05; ``twice`` for 2. What is not one number to its
end is refused: a figure that is read as another would accuse a right one.
"""

from __future__ import annotations

import html
import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from gatecalc.errors import GatecalcError, shorten
from gatecalc.numbers.numberwords import NUMBER_WORDS, SCALES, read_part, read_words

MAX_HEDGE = Fraction(1, 10)  # a hedged figure is never more than this share away
MAX_DIGITS = 1_000
MAX_EXPONENT = 5_000
MAX_TEXT = 4_000  # characters of one figure, its hedge and unit included

_HEDGES = (
    "about",
    "almost",
    "approx.",
    "approx",
    "approximately",
    "around",
    "c.",
    "ca.",
    "circa",
    "close to",
    "effectively",
    "essentially",
    "near",
    "nearly",
    "practically",
    "roughly",
    "some",
    "virtually",
    "~",
    "≈",
    "≃",
    "≅",
    "∼",
    r"\approx",
    r"\sim",
    r"\simeq",
)
_RELATIONS = {
    "less than": "<",
    "fewer than": "<",
    "smaller than": "<",
    "lower than": "<",
    "under": "<",
    "below": "<",
    "more than": ">",
    "greater than": ">",
    "larger than": ">",
    "higher than": ">",
    "over": ">",
    "above": ">",
    "exceeding": ">",
    "at most": "<=",
    "up to": "<=",
    "no more than": "<=",
    "not more than": "<=",
    "a maximum of": "<=",
    "at least": ">=",
    "no less than": ">=",
    "not less than": ">=",
    "no fewer than": ">=",
    "a minimum of": ">=",
    "<": "<",
    ">": ">",
    "≤": "<=",
    "≥": ">=",
    "⩽": "<=",
    "⩾": ">=",
    "<=": "<=",
    ">=": ">=",
    r"\lt": "<",
    r"\gt": ">",
    r"\le": "<=",
    r"\ge": ">=",
    r"\leq": "<=",
    r"\geq": ">=",
    r"\leqslant": "<=",
    r"\geqslant": ">=",
}
_STRICT = ("exactly", "precisely")
_NEUTRAL = ("just", "only", "merely", "slightly", "well", "far", "a little", "a bit", "a factor of", "a total of", "=")
_PREFIX = re.compile(
    "(?P<word>"
    + "|".join(
        re.escape(word) + ("(?![A-Za-z])" if word[-1].isalpha() else "")
        for word in sorted((*_HEDGES, *_RELATIONS, *_STRICT, *_NEUTRAL), key=len, reverse=True)
    )
    + r")\s*",
    re.IGNORECASE,
)
_SUFFIXES = (
    (re.compile(r"\s*\+(?!\s*\d)|\s+or (?:more|greater|above|higher|over)\b|\s+at least\b", re.IGNORECASE), ">="),
    (re.compile(r"\s+or (?:less|fewer|below|lower|under)\b|\s+at most\b", re.IGNORECASE), "<="),
)
_OR_SO = re.compile(r"\s+or (?:so|thereabouts)\b|\s+approximately\b|\s+roughly\b", re.IGNORECASE)
_MINUS = re.compile(r"(?:[-−–‐‑]|(?:minus|negative)(?=\s))\s*", re.IGNORECASE)
_PLUS = re.compile(r"(?:\+|plus(?=\s))\s*", re.IGNORECASE)
_LIST = re.compile(r"\s*(?:torch\.Size)?\s*(?:\(?\s*\[(?P<square>[^\[\]]*)\]\s*\)?|\((?P<round>[^()\[\]]*)\))\s*$")
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺"
_SUPERSCRIPTS = str.maketrans(_SUPERSCRIPT + "−", "0123456789-+-")
_SEPARATOR = r"(?:,|\{,\}|[\u2009\u202f\u00a0 _'’](?=\d{3}(?!\d)))"
DIGITS = rf"\d{{1,3}}(?:{_SEPARATOR}\d{{3}})+(?!\d)|\d+"
_POWER = rf"(?:(?:\^|\*\*)\s?\{{?(?P<power>[+\-−]?\d+)\}}?|(?P<super>[{_SUPERSCRIPT}]+))"
_TIMES_TEN = r"\s?(?:×|x|\*|·|⋅|\\times|\\cdot)\s?10"
_DECIMAL = re.compile(
    rf"(?P<whole>{DIGITS})?(?:\.(?P<part>\d+)?)?"
    rf"(?:[eE](?P<e>[+\-−]?\d+)|{_TIMES_TEN}{_POWER})?"
    r"(?P<cut>(?<=\d)(?:\.\.\.|…|\\l?dots\b))?"
)
_FRACTION = re.compile(r"(?:(?P<whole>\d{1,9})\s+)?(?P<top>\d{1,9})\s?[/⁄]\s?(?P<bottom>\d{1,9})(?![\d.,/])")
_POWERS = re.compile(rf"(?P<base>\d{{1,9}}){_POWER}")
_RATIO = re.compile(r"\s+(?:in|out of)\s+(?:every\s+)?(?=\d|an?\s|[a-z])", re.IGNORECASE)
_OF_ONE = re.compile(
    r"^\s+(?:of\s+)?(?:an?|one)\s+(?=per|pct|%|kilo|mega|giga|[kMG]B)", re.IGNORECASE
)  # half a percent
_LETTERS = {"k": 10**3, "K": 10**3, "M": 10**6}  # written to the digits, as in 400K
_SCALES = {"hundred": 10**2, "dozen": 12, **SCALES, "mil": 10**6, "mio": 10**6, "mln": 10**6, "mn": 10**6, "bn": 10**9}

Readings = tuple[tuple[str, Fraction], ...]
PLAIN: Readings = (("", Fraction(1)),)
_PERCENT: Readings = (("percent", Fraction(1, 100)),)
# A unit has one reading, or two where people mean either.
_UNITS: tuple[tuple[re.Pattern[str], Readings], ...] = (
    (re.compile(r"\s*(?:\\?%|(?:per\s*cent(?:age)?|pct)\b(?:[\s-]*points?\b)?|pp\b|p\.p\.)", re.IGNORECASE), _PERCENT),
    (re.compile(r"\s*(?:‰|per\s*mille\b)", re.IGNORECASE), (("per mille", Fraction(1, 1000)),)),
    (re.compile(r"\s*B\b"), (("bytes", Fraction(1)), ("billion", Fraction(10**9)))),
    (re.compile(r"\s*[kK]\b"), (("thousand", Fraction(10**3)), *PLAIN)),
    (re.compile(r"\s*M\b"), (("million", Fraction(10**6)), *PLAIN)),
    (re.compile(r"\s*m\b"), (*PLAIN, ("million", Fraction(10**6)))),
    (re.compile(r"\s*G\b"), (("billion", Fraction(10**9)), *PLAIN)),
    (re.compile(r"\s*T\b"), (("trillion", Fraction(10**12)), *PLAIN)),
)
_BYTES = re.compile(
    r"\s*(?:(?P<letter>[kmgtp])(?P<i>i?)(?:b|bytes?)|(?P<word>kilo|mega|giga|tera|peta|kibi|mebi|gibi|tebi)bytes?)"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
_COUNTED = re.compile(  # GFLOPs, MMACs, Mparams, kbit
    r"\s*(?:(?P<letter>[kKMGTP])(?:FLOPs?|MACs?|OPs?|params?|bits?)|(?P<word>kilo|mega|giga|tera|peta)(?:flops?|bits?))"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
_ORDERS = "kmgtp"


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
        cut: Whether an ellipsis says that more digits follow.
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
    cut: bool = False


def read(text: str) -> Numeral:
    """Read a printed figure.

    Raises:
        GatecalcError: When it is not a number as people print them.

    >>> read("about 400,000").step, read("38 percent").readings
    (Fraction(100000, 1), (('percent', Fraction(1, 100)),))
    >>> read("a hundred and forty million").value
    Fraction(140000000, 1)
    """
    if len(text) > MAX_TEXT:
        raise _too_long(text)
    rest = _plain(text)
    hedged, strict, relation = False, False, ""
    while match := _PREFIX.match(rest):
        word = match["word"].lower()
        relation = _RELATIONS.get(word, relation)
        strict = strict or word in _STRICT
        hedged = hedged or word in _HEDGES
        rest = rest[match.end() :]
    minus, plus = _MINUS.match(rest), _PLUS.match(rest)
    sign = minus or plus
    found = _read_number(text, rest[sign.end() :] if sign else rest)
    if found is None:
        raise GatecalcError(
            f"numeral: '{shorten(text)}' is not a number",
            help="write it as printed, as in '0.3784', 'about 400,000', '38 percent' or 'twice'",
        )
    numeral, rest = found
    if numeral.step == 0:
        rest = _OF_ONE.sub(" ", rest)
    unit, readings, rest = _unit(rest)
    for pattern, meaning in _SUFFIXES:
        if match := pattern.match(rest):
            relation, rest = meaning, rest[match.end() :]
    if match := _OR_SO.match(rest):
        hedged, rest = True, rest[match.end() :]
    _check_rest(text, rest)
    numeral = numeral._replace(hedged=hedged, relation=relation, readings=readings, unit=unit)
    numeral = numeral._replace(value=-numeral.value if minus else numeral.value, minus=bool(minus), plus=bool(plus))
    if strict and not hedged:
        return numeral._replace(step=Fraction(0))
    return numeral._replace(step=_committed(numeral)) if hedged else numeral


def read_all(text: str, separate: bool = False) -> list[Numeral]:
    """Read a figure, or several: ``[1.0, 0.4]``, ``20 × 3``, ``torch.Size([64, 8])``.

    With ``separate``, a comma in brackets always separates: (64,128) may be two figures, or 64128.
    """
    match = _LIST.match(text)
    if match:
        inner = (match["square"] or match["round"] or "").strip().rstrip(",")
        if separate or not re.fullmatch(DIGITS, inner):
            spaced = "" if re.search("[,;]", inner) else r"\s+(?=[-+−.\d])"  # as NumPy prints a vector
            return [
                read(part) for part in re.split(r",\s+|;\s*" if re.search(r",\s|;", inner) else spaced or ",", inner)
            ]
        return [read(inner)]
    plain = _plain(text)
    if re.search(rf"\d\s*{_CROSS}\s*\d", plain) and not re.search(rf"{_CROSS}\s*10\s*[\^{_SUPERSCRIPT}*]", plain):
        return [read(part) for part in re.split(_CROSS, plain)]
    return [read(text)]


_CROSS = r"(?:×|\\times|(?<!\b0)x|\bby\b)"


def _plain(text: str) -> str:
    """Return a figure without what only sets it: dollars, LaTeX spaces and ties, entities; ½ becomes 1⁄2."""
    text = html.unescape(text).replace("$", " ").replace(r"\(", " ").replace(r"\)", " ")
    text = re.sub(r"\\(?:text|textrm|textbf|mathrm|mathbf|rm)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}", " \\1⁄\\2", text)
    text = re.sub(r"\\[,;:! ]|(?<=[\w.])~|\\q?quad\b", "\u2009", text)
    if not text.isascii():
        text = "".join(f" {unicodedata.normalize('NFKC', c)} " if c in _VULGAR else c for c in text)
    return text.strip()


def _read_number(text: str, rest: str) -> tuple[Numeral, str] | None:
    """Read an unsigned number, and what it is one in: one in a million, 3 out of 10."""
    found = _read_fraction(text, rest) or _read_power(text, rest) or _read_digits(text, rest) or _read_words(text, rest)
    if found is None:
        return None
    numeral, rest = found
    if match := _RATIO.match(rest):
        of = _read_digits(text, rest[match.end() :]) or _read_words(text, rest[match.end() :])
        if of is not None:
            whole, rest = of
            if numeral.value.denominator != 1 or whole.value.denominator != 1 or not 0 < numeral.value < whole.value:
                raise _several(text)
            return Numeral(text, numeral.value / whole.value, Fraction(0)), rest
    return numeral, rest


def _read_fraction(text: str, rest: str) -> tuple[Numeral, str] | None:
    """Read 1/3, ¾, 1 1/2."""
    match = _FRACTION.match(rest)
    if not match:
        return None
    if not int(match["bottom"]) or (match["whole"] and not 0 < int(match["top"]) < int(match["bottom"])):
        raise _several(text)
    value = int(match["whole"] or 0) + Fraction(int(match["top"]), int(match["bottom"]))
    return Numeral(text, value, Fraction(0)), rest[match.end() :]


def _read_power(text: str, rest: str) -> tuple[Numeral, str] | None:
    """Read 10^-7, which is 1e-7, and 2^10, which is 1024 and nothing else."""
    match = _POWERS.match(rest)
    if not match:
        return None
    base, power = int(match["base"]), _exponent(text, match)
    if base != 10:
        if abs(power) * len(match["base"]) > MAX_EXPONENT or (base == 0 and power <= 0):
            raise _too_long(text)
        return Numeral(text, Fraction(base) ** power, Fraction(0)), rest[match.end() :]
    value = Fraction(10) ** power
    return _scaled(Numeral(text, value, value, exponent=power), rest[match.end() :])


def _exponent(text: str, match: re.Match[str]) -> int:
    """Return the exponent that a match has found, within its limit."""
    groups = match.groupdict()
    power = (groups.get("e") or groups["power"] or groups["super"] or "0").translate(_SUPERSCRIPTS)
    if not re.fullmatch(r"[+-]?\d{1,8}", power) or abs(int(power)) > MAX_EXPONENT:
        raise _too_long(text)
    return int(power)


def _read_digits(text: str, rest: str) -> tuple[Numeral, str] | None:
    match = _DECIMAL.match(rest)
    if not match or not (match["whole"] or match["part"]):
        return None
    whole = re.sub(r"\D", "", match["whole"] or "")
    part = match["part"] or ""
    if len(whole) + len(part) > MAX_DIGITS:
        raise _too_long(text)
    power = _exponent(text, match)
    step = Fraction(10) ** (power - len(part))
    numeral = Numeral(
        text,
        int(whole + part) * step,
        step,
        decimals=len(part),
        exponent=power if match["e"] or match["power"] or match["super"] else None,
        cut=bool(match["cut"] and part),
    )
    rest = rest[match.end() :]
    if not part and numeral.exponent is None and (more := read_part(rest)):  # 3 and a half, 2 thirds
        value = numeral.value * -more.value if more.value < 0 else numeral.value + more.value
        return Numeral(text, value, Fraction(0)), more.rest
    return _scaled(numeral, rest)


def _read_words(text: str, rest: str) -> tuple[Numeral, str] | None:
    words = read_words(rest)
    if words is None:
        return None
    decimals = len(str(words.step.denominator)) - 1
    return Numeral(text, words.value, words.step, decimals=decimals), words.rest


def _scaled(numeral: Numeral, rest: str) -> tuple[Numeral, str]:
    """Apply the scales that follow the digits: 140 million, 400K, 2.5 Mil."""
    while match := re.match(r"(\s*)([A-Za-z]+)\b", rest):
        word = match[2].lower()
        scale = (
            (None if match[1] else _LETTERS.get(match[2])) or _SCALES.get(word) or _SCALES.get(word.removesuffix("s"))
        )
        if not scale:
            break
        numeral = numeral._replace(value=numeral.value * scale, step=numeral.step * scale)
        rest = rest[match.end() :]
    return numeral, rest


def _unit(rest: str) -> tuple[str, Readings, str]:
    """Read the unit that follows the number, if any: its text, what it may mean, and what follows it."""
    for pattern, readings in _UNITS:
        if match := pattern.match(rest):
            return match[0], readings, rest[match.end() :]
    for pattern in (_BYTES, _COUNTED):
        if match := pattern.match(rest):
            order = _ORDERS.index((match["letter"] or match["word"][0]).lower()) + 1
            decimal, binary = ("decimal", Fraction(1000**order)), ("binary", Fraction(1024**order))
            if pattern is _COUNTED:
                return match[0], (decimal,), rest[match.end() :]
            only_binary = match["i"] or (match["word"] or "").lower().endswith("bi")
            return match[0], (binary,) if only_binary else (decimal, binary), rest[match.end() :]
    return "", PLAIN, rest


_MORE = re.compile(rf"[\d^π{_SUPERSCRIPT}⁄]|" + r"\b(?:" + "|".join(sorted(NUMBER_WORDS)) + r")\b", re.IGNORECASE)


def _check_rest(text: str, rest: str) -> None:
    """Refuse what follows the number when it is or may be part of a number; other words only name what is counted."""
    if _MORE.search(rest):
        raise _several(text)


def _several(text: str) -> GatecalcError:
    return GatecalcError(
        f"numeral: '{shorten(text)}' has more than one number",
        help="write a decimal comma as a point"
        if re.search(r"(?<!\d)\d+,\d", text) and not re.search(r",\s", text)
        else "state one figure, or several as '[1.0, 0.4]' or '20 × 3'",
    )


def _too_long(text: str) -> GatecalcError:
    return GatecalcError(
        f"limit: '{shorten(text)}' has more than {MAX_DIGITS} digits or an exponent beyond {MAX_EXPONENT}",
        help="print it shorter",
    )


def _committed(numeral: Numeral) -> Fraction:
    """Return the unit of the last digit that a hedged figure commits to: trailing zeros of an integer do not count."""
    if numeral.step == 0 or numeral.decimals or numeral.value == 0:
        return numeral.step
    step = numeral.step
    while numeral.value % (step * 10) == 0:
        step *= 10
    return step


def bounds(numeral: Numeral) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest number that a figure stands for, before its unit, its relation aside."""
    half = numeral.step / 2
    if numeral.hedged and numeral.value:  # a share of nothing is nothing: "about 0" is what rounds to 0
        most = abs(numeral.value) * MAX_HEDGE
        half = min(half, most) if numeral.step else most
    low, high = numeral.value - half, numeral.value + half
    if numeral.cut:  # 3.141... goes on: up to 3.142
        low, high = (numeral.value - numeral.step, high) if numeral.minus else (low, numeral.value + numeral.step)
    if numeral.value == 0:  # -0.000 is a small negative number, +0.000 a small positive one
        low, high = (low, Fraction(0)) if numeral.minus else (Fraction(0), high) if numeral.plus else (low, high)
    return low, high


def write_like(numeral: Numeral, steps: int) -> str:
    """Write a number of steps the way the figure was printed: same digits, separators, exponent, sign and unit."""
    value = steps * numeral.step / Fraction(10) ** (numeral.exponent or 0)
    whole, part = divmod(abs(value), 1)
    grouped = (numeral.unit == "" and whole >= 10**6) or re.search(r"\d(?:,|\{,\})\d{3}", numeral.text)
    text = f"{int(whole):,}" if grouped else f"{int(whole)}"
    if numeral.decimals and numeral.step < Fraction(10) ** (numeral.exponent or 0):
        text += "." + str(int(part * 10**numeral.decimals)).rjust(numeral.decimals, "0")
    sign = "-" if steps < 0 else "+" if numeral.plus else ""
    exponent = f"e{numeral.exponent}" if numeral.exponent is not None else ""
    return f"{sign}{text}{exponent}{numeral.unit}"
