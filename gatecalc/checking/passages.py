"""Which parts of a document are its text: of Markdown, LaTeX, HTML, notebooks and plain text.

Code, comments, addresses and attributes are no text. Nothing is moved: a passage is a piece of the file's own text, or
of a notebook's cell, and tells where each of its characters stands in the file.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gatecalc.errors import GatecalcError, Place

_FENCE = re.compile(r"^[ >\t]*(`{3,}|~{3,})[ \t]*\{?[.]?([\w+#-]*)[^\n]*$", re.MULTILINE)
_TEXT_FENCES = ("", "text", "txt", "math", "latex", "tex", "katex", "asciimath", "plain", "plaintext", "markdown", "md")
_TARGET = re.compile(r"\]\([^()\s]{1,2000}(?:\s[^()\n]{0,300})?\)")
_ADDRESS = re.compile(r"://[^\s<>)\]}]{1,2000}")
_ALT = re.compile(r"!\[[^\[\]\n]{0,2000}\]")
_TAG = re.compile(r"<[a-zA-Z/!][^<>]*>")
_DOCTEST = re.compile(r"^[ \t]*(?:>>>|\.\.\. |In \[\d|\$ |% )[^\n]*", re.MULTILINE)
_DIRECTIVE = re.compile(
    r"^([ \t]*)\.\.[ \t]+(?:code-block|code|sourcecode|highlight|ipython|plot|testcode|testoutput)::[^\n]*\n",
    re.MULTILINE,
)
_TEX_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_VERBATIM = ("verbatim", "lstlisting", "minted", "Verbatim", "comment", "filecontents", "tikzpicture")
NOTEBOOK = ".ipynb"
_HTML_SKIPPED = ("script", "style", "code", "samp", "kbd", "svg")


Spans = list[tuple[int, int]]  # places (start, end)


class Passage:
    """A piece of text, the places in it that are none of the document's words, and where its characters stand.

    Attributes:
        text: The text.
        place: The line and column (from 1) of a position of the text.
    """

    def __init__(self, text: str, skipped: Callable[[str], Spans], place: Callable[[int], tuple[int, int]]) -> None:
        self.text = text
        self.place = place
        self._find = skipped
        self._skipped: Spans | None = None

    def reads(self, start: int, end: int) -> bool:
        """Tell whether a part of the text is wholly the document's own words."""
        if self._skipped is None:  # most documents state nothing, and are not looked through
            self._skipped = _merged(self._find(self.text))
        at = bisect_right(self._skipped, (start, len(self.text) + 1))
        return not (at and self._skipped[at - 1][1] > start) and not (
            at < len(self._skipped) and self._skipped[at][0] < end
        )


def passages(path: str, text: str) -> Iterator[Passage]:
    """Yield the passages of a document; its kind is told by the end of its name.

    Raises:
        GatecalcError: For a notebook that cannot be read.
    """
    kind = os.path.splitext(path)[1].lower()
    if kind == NOTEBOOK:
        yield from _cells(path, text)
    else:
        yield Passage(text, KINDS.get(kind, _plain), _places(text))


def _places(text: str) -> Callable[[int], tuple[int, int]]:
    """Return the function from a position to its line and column."""
    starts: list[int] = []

    def place(at: int) -> tuple[int, int]:
        if not starts:
            starts.append(0)
            starts.extend(match.end() for match in re.finditer("\n", text))
        line = bisect_right(starts, at)
        return line, at - starts[line - 1] + 1

    return place


def _merged(spans: Spans) -> Spans:
    """Return places in order, those that overlap put together."""
    found: Spans = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _plain(text: str) -> Spans:
    spans = _tags(text) if "</" in text else []
    if ">>> " in text:
        spans += [match.span() for match in _DOCTEST.finditer(text)]
    return spans + _addresses(text)


def _addresses(text: str) -> Spans:
    """Return the targets of links, and addresses as they are."""
    return _matches(text, "](", _TARGET) + _matches(text, "://", _ADDRESS)


def _matches(text: str, start: str, pattern: re.Pattern[str]) -> Spans:
    """Return where a pattern matches that begins with a string: looking for the string is faster."""
    found = []
    at = text.find(start)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            found.append(match.span())
        at = text.find(start, match.end() if match else at + len(start))
    return found


def _markdown(text: str) -> Spans:
    spans = _addresses(text) + _matches(text, "![", _ALT) + _fences(text)
    spans += [match.span() for match in _DOCTEST.finditer(text)] if ">>>" in text else []
    return spans + _tags(text)


def _fences(text: str) -> Spans:
    """Return the fenced blocks of code in a language."""
    found = []
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif match[1].startswith(opened[1]):
            if opened[2].lower() not in _TEXT_FENCES:
                found.append((opened.start(), match.end()))
            opened = None
    if opened is not None and opened[2].lower() not in _TEXT_FENCES:
        found.append((opened.start(), len(text)))
    return found


def _restructured(text: str) -> Spans:
    spans = [match.span() for match in _DOCTEST.finditer(text)]
    for match in _DIRECTIVE.finditer(text):
        spans.append((match.start(), _indented(text, match.end(), len(match[1].expandtabs()))))
    return spans + _addresses(text)


def _indented(text: str, at: int, indent: int) -> int:
    """Return where a block that is indented deeper ends."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        line = text[at:end]
        if line.strip() and len(line.expandtabs()) - len(line.expandtabs().lstrip()) <= indent:
            return at
        at = end
    return at


def _latex(text: str) -> Spans:
    spans = [match.span() for match in _TEX_COMMENT.finditer(text)]
    for name in _VERBATIM:
        spans += _between(text, f"\\begin{{{name}}}", f"\\end{{{name}}}")
    return spans + _addresses(text)


def _html(text: str) -> Spans:
    return _tags(text) + _addresses(text)


def _tags(text: str) -> Spans:
    """Return tags with their attributes, comments, and elements that hold code."""
    if "<" not in text:
        return []
    spans = [match.span() for match in _TAG.finditer(text) if match.end() - match.start() > 24 or "=" in match[0]]
    spans += _between(text, "<!--", "-->") + _mathml(text)
    lower = text.lower() if "<s" in text or "<c" in text or "<k" in text or "<S" in text or "<C" in text else ""
    if len(lower) == len(text):
        for name in _HTML_SKIPPED:
            spans += _between(lower, f"<{name}", f"</{name}>")
    return spans


def _mathml(text: str) -> Spans:
    """Return the MathML of formulas, whose numbers stand apart, without the LaTeX that they may be annotated with."""
    found = []
    for opening in ("math", "m:math", "mml:math"):
        for start, end in _between(text, f"<{opening}", f"</{opening}>"):
            inside = text.find("<annotation", start, end)
            if inside >= 0:
                inside = text.find(">", inside, end) + 1
                found += [(start, inside), (max(inside, text.find("</annotation", inside, end)), end)]
            else:
                found.append((start, end))
    return found


def _between(text: str, opening: str, closing: str) -> Spans:
    found = []
    at = text.find(opening)
    while at >= 0:
        end = text.find(closing, at + len(opening))
        if end < 0:
            found.append((at, len(text))) if opening[0] == "\\" else None
            break
        found.append((at, end + len(closing)))
        at = text.find(opening, end)
    return found


def _cells(path: str, text: str) -> Iterator[Passage]:
    """Yield the Markdown cells of a Jupyter notebook, each with the places of its lines in the file."""
    import json

    try:
        book = json.loads(text)
        cells = book.get("cells") or [cell for sheet in book.get("worksheets", []) for cell in sheet["cells"]]
        sources = [
            cell["source"] if isinstance(cell["source"], list) else [cell["source"]]
            for cell in cells
            if cell.get("cell_type") in ("markdown", "raw", "heading")
        ]
    except RecursionError:
        raise GatecalcError("limit: the notebook is nested too deeply", Place(path), "save it anew") from None
    except ValueError as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        raise GatecalcError(
            "notebook: it is not JSON", Place(path, line, column), "save it anew, or rename it if it is no notebook"
        ) from None
    except (AttributeError, KeyError, TypeError):
        raise GatecalcError("notebook: it has no cells", Place(path), "rename it if it is no notebook") from None
    where = _places(text)
    at = 0
    for source in sources:
        if not all(isinstance(part, str) for part in source):
            raise GatecalcError("notebook: a cell's source is not text", Place(path), "save it anew")
        parts: list[_Part] = []
        length = 0
        for part in source:
            found, ascii_only = _written(text, part, at)
            at = found + 1 if found >= 0 else at
            parts.append(_Part(length, at, part, ascii_only))
            length += len(part)
        yield Passage("".join(source), _markdown, _in_cell(parts, where))


class _Part(NamedTuple):
    """A string of a cell's source: where it starts in the cell and in the file, and how the file writes it."""

    start: int
    at: int
    text: str
    ascii_only: bool


def _written(text: str, part: str, at: int) -> tuple[int, bool]:
    """Return where a string stands in the text of a JSON file, or -1, and whether it is written in ASCII alone."""
    import json

    for ascii_only in (False, True):
        found = text.find(json.dumps(part, ensure_ascii=ascii_only), at)
        if found >= 0:
            return found, ascii_only
    return -1, False


def _in_cell(parts: list[_Part], where: Callable[[int], tuple[int, int]]) -> Callable[[int], tuple[int, int]]:
    """Return the function from a position in a cell to its line and column in the file."""
    import json

    starts = [part.start for part in parts]

    def place(at: int) -> tuple[int, int]:
        part = parts[max(0, bisect_right(starts, at) - 1)]
        before = json.dumps(part.text[: at - part.start], ensure_ascii=part.ascii_only)
        return where(part.at + len(before) - 2)

    return place


KINDS: dict[str, Callable[[str], Spans]] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".qmd", ".rmd", ".mdx"), _markdown),
    **dict.fromkeys((".rst", ".rest"), _restructured),
    **dict.fromkeys((".tex", ".latex", ".ltx"), _latex),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    NOTEBOOK: _markdown,  # of its cells
    **dict.fromkeys((".txt", ".text", ".adoc", ".asciidoc", ".org"), _plain),
}
