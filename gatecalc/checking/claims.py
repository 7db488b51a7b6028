"""What a pack says: the claims about a document, its named definitions, and what its other numerals are.

A pack is a TOML file beside no document: the text that it speaks of need not be there. Everything that is wrong with a
pack is one error with the line of the pack that it stands on.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from gatecalc.checking.calculator import Scope
from gatecalc.checking.functions import CONSTANTS
from gatecalc.checking.paths import find_files
from gatecalc.checking.tomlplaces import Spot, first_character, places
from gatecalc.errors import GatecalcError, Place, closest, printable, shorten
from gatecalc.files import unreadable
from gatecalc.language import UNKNOWN, Source
from gatecalc.numbers.numeral import Numeral, read_all
from gatecalc.numbers.verdictnames import VERDICTS

MAX_PACK = 4_000_000  # characters
SUFFIX = ".toml"

_KEYS = {
    "": ("document", "sha256", "numerals", "note", "times", "given", "define", "unknown", "claim", "table", "numeral"),
    "claim": ("line", "id", "states", "of", "printed", "formula", "holds", "says", "expect", "note", "times"),
    "table": ("line", "id", "of", "columns", "rows", "row", "expect", "note", "times"),
    "numeral": ("is", "text", "lines", "why"),
}
_TEXT = ("document", "sha256", "note", "id", "states", "of", "printed", "formula", "holds", "says", "expect", "why")
LISTS = ("claim", "table", "numeral")
KINDS = ("given", "label")
NEVER = "never"  # what a document states where there is no such number


class TableCell(NamedTuple):
    """A cell's row and column, both from 1, what its row is called by a formula, and its column's name."""

    row: int
    column: int
    row_name: Source
    column_name: str


class Claim(NamedTuple):
    """One claim: a figure and the value that it is printed for, two formulas that are equal, or a condition.

    Attributes:
        id: Its own, or made from line and order.
        line: Where it stands in the document, from 1; None when the pack does not say.
        states: The figure or formula as printed; of a condition, what the document says, or else the condition.
        numerals: The figures in ``states``; empty for a formula, a condition, and ``never``.
        of: The formula of its value.
        printed: The formula of the operands as the document printed them.
        formula: The formula that the document states.
        holds: The condition.
        expect: The verdict of a known erratum, else None.
        note: Why.
        times: How many times its numerals may stand on the line; the pack's own ``times`` unless it says, or 1.
        place: Where the claim stands in the pack.
        cell: Which cell of a table it is, else None.
    """

    id: str
    line: int | None
    states: str
    numerals: tuple[Numeral, ...]
    of: Source | None
    printed: Source | None
    formula: Source | None
    holds: Source | None
    expect: str | None
    note: str | None
    times: int
    place: Place
    cell: TableCell | None = None


class Declared(NamedTuple):
    """Numerals of the document that nobody computes: givens, labels, years, list numbers, and why they are that.

    ``texts`` are pieces of the document's text in which ``#`` stands for a numeral: ``Figure #``, ``$D=#$``.
    """

    kind: str
    texts: tuple[str, ...]
    lines: tuple[tuple[int, int], ...]
    why: str
    place: Place


class Pack(NamedTuple):
    """The claims about one document; ``unknown`` has candidates for settings that the document leaves unsaid."""

    path: str
    document: str
    sha256: str | None
    numerals: int | None
    scope: Scope
    claims: tuple[Claim, ...]
    declared: tuple[Declared, ...]
    unknown: Mapping[str, tuple[Source, ...]] = {}


def read_pack(path: str) -> Pack:
    """Read a pack, from standard input for ``-``.

    Raises:
        GatecalcError: For what is not a pack, with the place in the file and the remedy.
    """
    return _Reader(path, _text(path)).pack()


def find_packs(paths: Iterable[str]) -> tuple[list[str], list[GatecalcError]]:
    """Return the packs among the paths, as :func:`gatecalc.checking.paths.find_files` does."""
    return find_files(paths, [SUFFIX], "packs", "a pack is a .toml file with [[claim]] tables")


def _text(path: str) -> str:
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_PACK + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_PACK + 1)
    except OSError as error:
        raise unreadable(path, error, "give the path of a pack (.toml), or of a folder that has some") from None
    if len(data) > MAX_PACK:
        raise GatecalcError(f"limit: the file has more than {MAX_PACK:,} bytes", Place(path), "split the pack")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GatecalcError("syntax: it is not text in UTF-8", Place(path, line), "save the pack as UTF-8") from None


def figures(states: str) -> tuple[Numeral, ...]:
    """Read the figures of a statement; "never" has none."""
    return () if states.strip().lower() == NEVER else tuple(read_all(states))


MAX_CLAIMS = 50_000
MAX_PARTS = 50  # of a key with dots: tomllib takes time by their square
_DOTTED = re.compile(rf"(?<![\w\-])(?:[\w\-]++[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}")
_LONG = re.compile(r"(?:\d_?){4301}")  # Python's own limit for an integer
_KEY = re.compile(r"[ \t]*([\w\-.\"']+?)[ \t]*=")


class _Reader:
    """One pack, from TOML to claims."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text.replace("\r\n", "\n")
        self.lines = self.text.split("\n")
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        dotted = _DOTTED.search(self.text)
        if dotted:
            raise GatecalcError(
                f"limit: a key has more than {MAX_PARTS} parts", self.at(dotted.start()), "write plain tables"
            )
        try:
            self.data = tomllib.loads(self.text, parse_float=Decimal)
        except ValueError as error:  # TOML's own, and Python's for an integer of thousands of digits
            raise self.toml_error(str(error)) from None
        except RecursionError:
            raise GatecalcError("limit: it is nested too deeply", Place(path), "write plain tables") from None
        try:
            self.places = places(self.text)
        except (ValueError, IndexError, RecursionError):  # a place is a courtesy: none is better than a wrong one
            self.places = {}
        self.on_line: dict[int | None, int] = {}
        self.ids: set[str] = set()

    def toml_error(self, message: str) -> GatecalcError:
        number = _LONG.search(self.text) if message.startswith("Exceeds the limit") else None
        if number:
            return GatecalcError(
                "limit: the number has more than 4,300 digits", self.at(number.start()), 'write it as "10**5000"'
            )
        match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
        if match:
            line, column = int(match[1]), int(match[2])
            place = Place(self.path, line, column, self.lines[min(line, len(self.lines)) - 1])
            message = message[: match.start()]
            key = _KEY.match(self.lines[line - 1]) if message == "Cannot overwrite a value" else None
            if key:
                place = place._replace(column=key.start(1) + 1)
                return GatecalcError(f"key: '{key[1]}' is given a second time", place, "keep one of them")
        else:
            place = Place(self.path, len(self.lines))
            message = message.split(" (")[0]
        return GatecalcError(
            f"syntax: {message[:1].lower()}{message[1:]}", place, "a pack is TOML: 'key = value' and [[claim]] tables"
        )

    def spot(self, table: str, order: int, *keys: str | int) -> Spot | None:
        """Return where a key stands, or what it belongs to when that is all that is known."""
        inside: tuple[str | int, ...] = (table, order) if table in LISTS else (table,) if table else ()
        path = (*inside, *(key for key in keys if key != ""))
        while path and path not in self.places:
            path = (*path, 0) if (*path, 0) in self.places else path[:-1]
        return self.places.get(path)

    def place(self, table: str, order: int = 0, *keys: str | int) -> Place:
        """Return the line of a key."""
        spot = self.spot(table, order, *keys)
        return self.at(spot.key)._replace(column=None, text=None) if spot else Place(self.path)

    def caret(self, table: str, order: int, *keys: str | int) -> Place:
        """Return the line and column of a key."""
        spot = self.spot(table, order, *keys)
        return self.at(spot.key) if spot else Place(self.path)

    def at(self, offset: int) -> Place:
        line = bisect_right(self.starts, offset) - 1
        return Place(self.path, line + 1, offset - self.starts[line] + 1, self.lines[line])

    def source(self, text: str, table: str, order: int, *keys: str | int) -> Source:
        """Return a formula with its place, down to the column unless the pack writes it with escapes."""
        spot = self.spot(table, order, *keys)
        if spot is None:
            return Source(text, self.path, None, UNKNOWN)
        first = first_character(self.text, spot.value)
        if self.text.startswith(text, first):
            place = self.at(first)
            return Source(text, self.path, place.line, place.column or 1)
        return Source(text, self.path, self.at(spot.key).line, UNKNOWN)

    def pack(self) -> Pack:
        self.check_keys("", self.data, 0)
        for key in LISTS:
            if key in self.data and not _is_list_of_tables(self.data[key]):
                raise GatecalcError(
                    f"type: '{key}' is not a list of tables", self.caret("", 0, key), f"write [[{key}]]"
                )
        if not isinstance(self.data.get("document"), str):
            raise GatecalcError(
                "key: the pack does not name its document", Place(self.path, 1), "begin with 'document = \"its title\"'"
            )
        rows = [table.get("rows") for table in self.data.get("table", ())]
        cells = sum(len(row) for each in rows if isinstance(each, list) for row in each if isinstance(row, list))
        if len(self.data.get("claim", ())) + cells > MAX_CLAIMS:
            raise GatecalcError(
                f"limit: the pack has more than {MAX_CLAIMS:,} claims and cells", Place(self.path), "split the pack"
            )
        scope = self.scope()
        claims = [
            claim
            for order, entry in enumerate(self.data.get("claim", ()))
            for claim in self.claims(entry, order, scope)
        ]
        claims += [
            claim for order, entry in enumerate(self.data.get("table", ())) for claim in self.cells(entry, order, scope)
        ]
        if not claims:
            raise GatecalcError(
                "key: the pack has no claims", Place(self.path), "add a [[claim]] with 'states' and 'of'"
            )
        declared = tuple(self.declared(entry, order) for order, entry in enumerate(self.data.get("numeral", ())))
        return Pack(
            self.path,
            self.data["document"],
            self.data.get("sha256"),
            self.data.get("numerals"),
            scope,
            tuple(claims),
            declared,
            self.unknown(scope),
        )

    def check_keys(self, table: str, entry: Mapping[str, Any], order: int) -> None:
        for key, value in entry.items():
            if key not in _KEYS[table]:
                raise GatecalcError(
                    f"key: unknown key '{shorten(key)}'{closest(key, _KEYS[table])}",
                    self.caret(table, order, key),
                    f"known here: {', '.join(_KEYS[table])}",
                )
            if key in _TEXT and not isinstance(value, str) and (table, key) != ("table", "expect"):
                raise GatecalcError(
                    f"type: '{key}' is {_toml_type(value)}, where a text is needed",
                    self.caret(table, order, key),
                    f'write {key} = "{value}"' if isinstance(value, int | Decimal) else f'write {key} = "a text"',
                )
            if isinstance(value, str) and printable(value) != value:
                raise GatecalcError(
                    f"text: '{key}' has a character that steers a terminal and is no letter",
                    self.caret(table, order, key),
                    "leave it out",
                )
            if key in ("line", "times", "numerals") and (
                not isinstance(value, int) or isinstance(value, bool) or value < 1
            ):
                found = str(value) if type(value) is int else _toml_type(value)
                raise GatecalcError(
                    f"type: '{key}' is {found}, where a number from 1 is needed",
                    self.caret(table, order, key),
                    f"write {key} = 12, or leave it out",
                )
        if table != "table" and entry.get("expect", "wrong") not in VERDICTS:
            raise GatecalcError(
                f"value: unknown verdict '{entry['expect']}'{closest(entry['expect'], VERDICTS)}",
                self.caret(table, order, "expect"),
                f"one of {', '.join(VERDICTS)}",
            )

    def scope(self) -> Scope:
        formulas: dict[str, Source] = {}
        for table in ("given", "define"):
            entries = self.data.get(table, {})
            if not isinstance(entries, dict):
                raise GatecalcError(f"type: '{table}' is not a table", self.caret("", 0, table), f"write [{table}]")
            for name, value in entries.items():
                if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
                    raise GatecalcError(
                        f"name: '{shorten(name)}' is not a name that a formula can use",
                        self.caret(table, 0, name),
                        "write letters, digits and underscores, a letter first",
                    )
                if name in CONSTANTS:
                    raise GatecalcError(
                        f"name: '{name}' has a value already", self.caret(table, 0, name), "give it another name"
                    )
                if name in formulas:
                    raise GatecalcError(
                        f"name: '{name}' is both given and defined", self.caret(table, 0, name), "keep one of them"
                    )
                text = value if isinstance(value, str) else _toml_number(value)
                if text is None:
                    raise GatecalcError(
                        f"type: '{name}' is {_toml_type(value)}, where a number or a formula is needed",
                        self.caret(table, 0, name),
                        f'write {name} = "a formula"',
                    )
                formulas[name] = self.source(text, table, 0, name)
        return Scope(formulas, folder=os.path.dirname(self.path))

    def unknown(self, scope: Scope) -> dict[str, tuple[Source, ...]]:
        """Read the candidates of settings that the document leaves unsaid; each also has a value, the one found."""
        entries = self.data.get("unknown", {})
        if not isinstance(entries, dict):
            raise GatecalcError("type: 'unknown' is not a table", self.caret("", 0, "unknown"), "write [unknown]")
        found = {}
        for name, values in entries.items():
            place = self.caret("unknown", 0, name)
            if name not in scope.formulas:
                raise GatecalcError(
                    f"name: the unknown '{shorten(name)}' has no value{closest(name, scope.formulas)}",
                    place,
                    "give it the one that is found, or any candidate, under [given]",
                )
            texts = (
                [value if isinstance(value, str) else _toml_number(value) for value in values]
                if isinstance(values, list)
                else []
            )
            candidates = [text for text in texts if text is not None]
            if not candidates or len(candidates) < len(texts):
                raise GatecalcError(
                    f"type: '{name}' has no list of candidates",
                    place,
                    f"write {name} = [0.1, 0.5, 1]: numbers or formulas",
                )
            found[name] = tuple(self.source(text, "unknown", 0, name) for text in candidates)
        return found

    def claims(self, entry: Mapping[str, Any], order: int, scope: Scope) -> Iterator[Claim]:
        self.check_keys("claim", entry, order)
        kinds = [key for key in ("states", "formula", "holds") if key in entry]
        if len(kinds) != 1:
            what = f"both '{kinds[0]}' and '{kinds[1]}'" if kinds else "none of 'states', 'formula' and 'holds'"
            raise GatecalcError(
                f"key: the claim has {what}",
                self.caret("claim", order, kinds[1] if kinds else ""),
                "a claim has one of them",
            )
        kind = kinds[0]
        if (kind == "holds") == ("of" in entry):
            what = "'holds' needs no 'of'" if kind == "holds" else f"a claim with '{kind}' needs 'of'"
            raise GatecalcError(f"key: {what}", self.caret("claim", order, kind), "'of' is the formula of the value")
        if "printed" in entry and kind != "states":
            raise GatecalcError(
                "key: 'printed' goes with 'states'", self.caret("claim", order, "printed"), "leave it out"
            )
        if "says" in entry and kind != "holds":
            raise GatecalcError(
                "key: 'says' goes with 'holds'", self.caret("claim", order, "says"), "write it as 'note'"
            )
        yield self.claim(
            entry, order, "claim", entry.get("says", entry[kind]), kind, entry.get("line"), self.place("claim", order)
        )

    def claim(
        self,
        entry: Mapping[str, Any],
        order: int,
        table: str,
        states: str,
        kind: str,
        line: int | None,
        place: Place,
        id: str | None = None,
        cell: TableCell | None = None,
        expect: str | None = None,
    ) -> Claim:
        def formula(key: str) -> Source | None:
            return self.source(entry[key], table, order, key) if key in entry else None

        numerals: tuple[Numeral, ...] = ()
        if kind == "states":
            try:
                numerals = figures(states)
            except GatecalcError as error:
                where = ("states",) if cell is None else ("rows", cell.row - 1, cell.column - 1)
                raise error.at(self.caret(table, order, *where)) from None
        if "id" in entry and table == "claim":
            if entry["id"] in self.ids:
                raise GatecalcError(
                    f"value: two claims have the id '{shorten(entry['id'])}'",
                    self.caret(table, order, "id"),
                    "give each its own",
                )
            self.ids.add(entry["id"])
        self.on_line[line] = self.on_line.get(line, 0) + 1
        made = f"{line}.{self.on_line[line]}" if line else f"claim {self.on_line[line]}"
        return Claim(
            id=id or entry.get("id") or made,
            line=line,
            states=states,
            numerals=numerals,
            of=formula("of"),
            printed=formula("printed"),
            formula=formula("formula"),
            holds=formula("holds"),
            expect=expect or (entry.get("expect") if table == "claim" else None),
            note=entry.get("note"),
            times=entry.get("times", self.data.get("times", 1)),
            place=place,
            cell=cell,
        )

    def cells(self, entry: Mapping[str, Any], order: int, scope: Scope) -> Iterator[Claim]:
        """Yield one claim for each printed cell of a table.

        In its ``of``, ``row`` counts from 1 (or is what ``row`` lists), and ``column`` is the column's name, or its
        value when the name is a number. Without either, ``of`` is an object that has the columns as attributes.
        """
        self.check_keys("table", entry, order)
        for key in ("of", "columns", "rows"):
            if key not in entry:
                raise GatecalcError(
                    f"key: the table has no '{key}'", self.caret("table", order, ""), f"add '{key} = ...'"
                )
        columns, rows = entry["columns"], entry["rows"]
        if not _is_list_of_texts(columns) or not isinstance(rows, list) or not all(map(_is_list_of_texts, rows)):
            raise GatecalcError(
                "type: 'columns' is not a list of texts, or 'rows' not a list of such lists",
                self.caret("table", order, "rows"),
                'write the cells as printed, columns = ["f", "i"], rows = [["0.9526", "0.8808"]]',
            )
        names = entry.get("row", [str(number) for number in range(1, len(rows) + 1)])
        if not _is_list_of_texts(names) or len(names) != len(rows):
            raise GatecalcError(
                f"type: 'row' must list one formula for each of the {len(rows)} rows",
                self.caret("table", order, "row"),
                "leave it out, and the rows are 1, 2, 3, ...",
            )
        expected = self.expected(entry, order)
        first = entry.get("line")
        for number, row in enumerate(rows, start=1):
            if len(row) != len(columns):
                raise GatecalcError(
                    f"shape: row {number} has {len(row)} cells, and there are {len(columns)} columns",
                    self.caret("table", order, "rows", number - 1),
                    'write "" for a cell that was left empty',
                )
            for position, (column, text) in enumerate(zip(columns, row, strict=True), start=1):
                if not text.strip():
                    continue
                line = first + number - 1 if first else None
                name = self.source(names[number - 1], "table", order, "row", number - 1)
                cell = TableCell(number, position, name, column)
                key = f"{number},{column}"
                yield self.claim(
                    entry,
                    order,
                    "table",
                    text,
                    "states",
                    line,
                    self.place("table", order, "rows", number - 1, position - 1),
                    id=f"{entry.get('id') or (f'{first}' if first else f'table {order + 1}')}[{key}]",
                    cell=cell,
                    expect=expected.pop(key, None),
                )
        for key in expected:
            raise GatecalcError(
                f"value: the table has no cell '{key}'",
                self.caret("table", order, "expect"),
                "a cell is named by its row's number and its column, as in '2,h'",
            )

    def expected(self, entry: Mapping[str, Any], order: int) -> dict[str, str]:
        """Read a table's ``expect``: {"2,h" = "wrong"}."""
        expected = entry.get("expect", {})
        if not isinstance(expected, dict) or not all(verdict in VERDICTS for verdict in expected.values()):
            raise GatecalcError(
                "type: a table's 'expect' names cells and their verdicts",
                self.caret("table", order, "expect"),
                'write expect = { "2,h" = "wrong" }',
            )
        return dict(expected)

    def declared(self, entry: Mapping[str, Any], order: int) -> Declared:
        self.check_keys("numeral", entry, order)
        texts = entry.get("text")
        texts = [texts] if isinstance(texts, str) else texts
        if entry.get("is") not in KINDS or not _is_list_of_texts(texts) or not texts or "why" not in entry:
            raise GatecalcError(
                "key: a [[numeral]] has 'is' (\"given\" or \"label\"), 'text' (one or several) and 'why'",
                self.caret("numeral", order, ""),
                'as in is = "label", text = "Figure #", why = "figure number"',
            )
        for text in texts:
            if "#" not in text and not re.search(r"\d", text):
                raise GatecalcError(
                    f"value: '{shorten(text)}' has neither a digit nor '#', which stands for a numeral",
                    self.caret("numeral", order, "text"),
                    'write it as it stands in the document, as in "Figure 3" or "Figure #"',
                )
            if text.strip() == "#" and "lines" not in entry:
                raise GatecalcError(
                    "value: '#' alone would cover every numeral of the document",
                    self.caret("numeral", order, "text"),
                    "say which, with the words around it, or on which 'lines'",
                )
        lines = []
        for part in str(entry.get("lines", "")).split(","):
            match = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", part)
            if not match and part.strip():
                raise GatecalcError(
                    f"value: '{shorten(part)}' is not a line or a range of lines",
                    self.caret("numeral", order, "lines"),
                    'as in lines = "9, 17-65"',
                )
            if match:
                lines.append((int(match[1]), int(match[2] or match[1])))
        return Declared(entry["is"], tuple(texts), tuple(lines), entry["why"], self.place("numeral", order))


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _toml_number(value: Any) -> str | None:
    """Write a number, a truth value or a list of them as a formula; a decimal keeps the digits that the pack has."""
    if isinstance(value, list):
        parts = [_toml_number(item) for item in value]
        return None if None in parts else f"[{', '.join(str(part) for part in parts)}]"
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    return str(value) if isinstance(value, bool | int | Decimal) else None


def _toml_type(value: Any) -> str:
    kinds = {
        bool: "true or false",
        int: "an integer",
        Decimal: "not finite" if isinstance(value, Decimal) and not value.is_finite() else "a decimal",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or time")
