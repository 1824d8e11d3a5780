"""Files of office programs, web pages and mail: each file's text, title and date.

The libraries read bytes in memory, never a path or an address. Sizes are checked before, as a file
of kilobytes can unpack to gigabytes. Macros are never run: files with macros are not read.
"""

import email
import email.header
import email.utils
import io
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from csv import writer
from itertools import chain
from typing import Any, NamedTuple

import polars as pl

from opelda.corpus._block import Block
from opelda.corpus.formats import Options, csv
from opelda.corpus.formats._compression import read_most, without_suffix
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import LONGEST_LINE
from opelda.corpus.text._markup import without_markup
from opelda.errors import InputError

# bytes of XML: a tree takes up to 30 times more memory; rows of sheets are streamed
MOST_TREE, MOST_SHEETS = 1 << 25, 1 << 28
MOST_TEXT = 1 << 26  # characters of a document, which may refer to one page many times
MOST_MAIL = 1 << 25  # bytes of a message; attachments come behind the text
MOST_FILES = 10_000  # of an archive
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
GENERIC = ("", "Word Document", "PowerPoint Presentation")  # titles that programs set
CHARSET = re.compile(rb"<meta[^<>]*charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
# others, such as punycode, are slow
CHARSETS = re.compile("utf|iso|windows|cp|koi8|big5|gb|euc|shift|ascii|us|latin|mac", re.IGNORECASE)
HIDDEN = [("<!--", "-->"), ("<script", "</script"), ("<style", "</style"), (r"<\?", r"\?>")]
TITLE = re.compile(r"<title[^<>]*>([^<]*)", re.IGNORECASE)

logging.getLogger("pypdf").addHandler(logging.NullHandler())  # suppresses warnings about damage


class Document(NamedTuple):
    """The content of a file; `date` is in ISO 8601."""

    text: str
    title: str = ""
    date: str | None = None


Reader = Callable[[bytes, str], Document]  # of bytes and the encoding of texts


class UnreadableError(Exception):
    """A file has no text for a reason, such as "encrypted"."""


def reader_of(name: str) -> Reader | None:
    """Return the reader for a file's name; None for plain text and unknown files."""
    return READERS.get(without_suffix(name.lower())[0].rpartition(".")[2])


def sheet_blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the rows of the first non-empty sheet, by the rules of CSV."""
    try:
        with _errors_of(input.label):
            with input.open() as opened:
                data = read_most(opened, LONGEST_LINE)
            rows = next(filter(None, map(list, _sheets(data))), [])
    except UnreadableError as error:
        raise InputError(f"{input.label} has no readable table: {error}.") from None
    width, text = max(map(len, rows), default=0), io.StringIO()
    writer(text).writerows([*row, *[""] * (width - len(row))] for row in rows)
    file = io.BytesIO(text.getvalue().encode("utf-8", "replace"))
    yield from csv.blocks(Input(input.label, None, file), options, position, ",")


def document(name: str, reader: Reader, data: bytes, encoding: str) -> Document:
    """Return the content of a file, its title in front; raise UnreadableError without text."""
    if len(data) > LONGEST_LINE:
        raise UnreadableError("too large")
    with _errors_of(name):
        found = reader(data, encoding)
    if not found.text.strip():
        raise UnreadableError("no text")
    title = " ".join(found.title.split())
    text = found.text if title in found.text[:1_000] else f"{title}\n{found.text}"
    return found._replace(text=text, title=title)


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Turn any error of a library into an UnreadableError, a missing one into an InputError."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = {"docx": "python-docx", "pptx": "python-pptx"}.get(str(error.name), error.name)
        raise InputError(
            f"{name} needs {package}, which is not installed; run pip install 'opelda[office]'."
        ) from None
    except (UnreadableError, InputError):
        raise
    except Exception:
        raise UnreadableError("damaged") from None


def _joined(parts: Iterable[str]) -> str:
    """Return texts joined by line ends; raise UnreadableError for too many."""
    found, left = [], MOST_TEXT
    for part in parts:
        found.append(part)
        left -= len(part) + 1
        if left < 0:
            raise UnreadableError("too large")
    return "\n".join(found)


def _unpacked(data: bytes, streamed: tuple[str, ...] = ()) -> io.BytesIO:
    """Return an uncompressed copy of an archive, with its XML files and other files empty.

    Archives may declare wrong sizes, so the limits count unpacked bytes. The library builds no tree
    of `streamed` files.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError("encrypted")
    if data.count(b"PK\1\2") > MOST_FILES:
        raise UnreadableError("too large")
    copy, left = io.BytesIO(), {False: MOST_TREE, True: MOST_SHEETS}
    with zipfile.ZipFile(io.BytesIO(data)) as packed, zipfile.ZipFile(copy, "w") as plain:
        for member in packed.infolist():
            name, content = member.filename.lower(), b""
            if name.endswith((".xml", ".rels")):
                is_streamed = name.startswith(streamed)
                with packed.open(member) as file:
                    content = read_most(file, left[is_streamed] + 1)  # type: ignore[arg-type]
                left[is_streamed] -= len(content)
            if min(left.values()) < 0:
                raise UnreadableError("too large")
            plain.writestr(zipfile.ZipInfo(member.filename), content)
    return copy


def _text(root: Any, kind: str) -> str:
    """Return the text under an XML element, a line for each paragraph."""
    for other in [*root.iter(FALLBACK)]:  # an older form of the same text
        other.getparent().remove(other)
    names = {f"{kind}{name}": sign for name, sign in {"p": "\n", "br": "\n", "tab": "\t"}.items()}
    pieces = (names.get(each.tag) or each.text or "" for each in root.iter(f"{kind}t", *names))
    return "".join(pieces).strip()


def _word(data: bytes, encoding: str) -> Document:
    import docx  # optional, as are all libraries below

    found = docx.Document(_unpacked(data))
    heads = {each.style_id for each in found.styles if each.name in ("Title", "Heading 1")}
    body, title = found.element.body, found.core_properties.title
    if title in GENERIC:
        first = (each for each in body.iter(f"{WORD}p") if each.style in heads)
        title = next((_text(each, WORD) for each in first), "")
    return Document(_text(body, WORD), title)


def _slides(data: bytes, encoding: str) -> Document:
    import pptx

    found = pptx.Presentation(_unpacked(data))
    notes = (slide.notes_slide.element for slide in found.slides if slide.has_notes_slide)
    parts = (_text(each, DRAWING) for each in chain((s.element for s in found.slides), notes))
    titles = (slide.shapes.title for slide in found.slides)
    title = next((each.text_frame.text for each in titles if each is not None), "")
    return Document(_joined(parts), title)


def _workbook(data: bytes, encoding: str) -> Document:
    return Document(_joined(" ".join(row) for rows in _sheets(data) for row in rows))


def _sheets(data: bytes) -> Iterator[Iterator[list[str]]]:
    """Yield the sheets of a file, each as the rows that are not empty, all cells as texts.

    openpyxl streams rows. calamine (fastexcel) fills the rectangle around all cells: two cells in
    opposite corners took 512 GB, and it ended the process.
    """
    import openpyxl

    unpacked = _unpacked(data, ("xl/worksheets/", "xl/sharedstrings.xml"))
    book = openpyxl.load_workbook(unpacked, read_only=True, data_only=True)
    left = LONGEST_LINE  # of cells and characters

    def rows(sheet: Any) -> Iterator[list[str]]:
        nonlocal left
        sheet.reset_dimensions()  # which may be wrong
        for row in sheet.iter_rows(values_only=True):
            cells = ["" if cell is None else str(cell) for cell in row]
            left -= 64 * (1 + len(cells)) + sum(map(len, cells))
            if left < 0:
                raise UnreadableError("too large")
            if any(cells):
                yield cells

    for sheet in book.worksheets:
        yield rows(sheet)


def _pdf(data: bytes, encoding: str) -> Document:
    import pypdf

    found = pypdf.PdfReader(io.BytesIO(data))
    try:
        if found.is_encrypted and not found.decrypt(""):
            raise UnreadableError("encrypted")
        text = _joined(page.extract_text() for page in found.pages)
    except pypdf.errors.DependencyError:  # the cipher needs another package
        raise UnreadableError("encrypted") from None
    text = re.sub(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])", "", text)  # words divided at the ends of lines
    return Document(text, str(found.metadata.title or "") if found.metadata else "")


def _html(data: bytes, encoding: str) -> Document:
    declared = CHARSET.search(data[:4_096])
    return _of_html(_decoded(data, declared[1].decode() if declared else encoding))


def _of_html(text: str) -> Document:
    title = TITLE.search(text)
    for begin, end in HIDDEN:  # in linear time, also where an end is missing
        first, *pieces = re.split(begin, text, flags=re.IGNORECASE)
        parts = (re.split(end, piece, maxsplit=1, flags=re.IGNORECASE) for piece in pieces)
        text = " ".join([first, *(part[-1] for part in parts if len(part) > 1)])
    text = TITLE.sub("", text, count=1)  # `document` puts a title in front that is not in the text
    cleaned = without_markup(pl.Series([text, title[1] if title else ""], dtype=pl.String))
    return Document(*cleaned)


def _mail(data: bytes, encoding: str) -> Document:
    message = email.message_from_bytes(data[:MOST_MAIL])
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    for part in message.walk():
        if (kind := part.get_content_type()) in texts and part.get_filename() is None:
            content: Any = part.get_payload(decode=True)
            texts[kind].append(_decoded(content, part.get_content_charset(encoding)))
    text, page = map("\n".join, texts.values())
    text = text if text.strip() else _of_html(page).text
    subject, date = str(message["Subject"] or "")[:1_000], str(message["Date"])[:100]
    with suppress(LookupError, ValueError, email.errors.HeaderParseError):
        subject = str(email.header.make_header(email.header.decode_header(subject)))
    with suppress(ValueError, TypeError, IndexError):
        return Document(text, subject, email.utils.parsedate_to_datetime(date).isoformat())
    return Document(text, subject)


def _decoded(data: bytes, charset: str) -> str:
    """Return a text in the encoding that it declares, or as browsers read a wrong one."""
    with suppress(LookupError, UnicodeError):
        if CHARSETS.match(charset):
            return data.decode(charset)
    return data.decode("cp1252", "replace")


READERS: dict[str, Reader] = {
    "docx": _word, "pptx": _slides, "xlsx": _workbook, "pdf": _pdf,
    "html": _html, "htm": _html, "eml": _mail,
}  # fmt: skip
