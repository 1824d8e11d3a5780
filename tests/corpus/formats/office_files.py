"""Files of office programs, built by other libraries or by hand; also hostile ones."""

import io
import zipfile
from email.message import EmailMessage

import docx
import pptx
import pypdf
import xlsxwriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
)

SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def saved(thing, method="save"):
    file = io.BytesIO()
    getattr(thing, method)(file)
    return file.getvalue()


def word(text="tea cup", title=None, heading=None):
    document = docx.Document()
    document.core_properties.title = title or ""
    if heading:
        document.add_heading(heading, 1)
    document.add_paragraph(text)
    document.add_table(1, 2).cell(0, 1).text = "pot"
    return saved(document)


def slides(text="tea cup", title=None, notes=""):
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = title or ""
    slide.placeholders[1].text = text
    slide.notes_slide.notes_text_frame.text = notes
    return saved(presentation)


def workbook(*sheets):
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"default_date_format": "yyyy-mm-dd"}) as book:
        for rows in sheets:
            sheet = book.add_worksheet()
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return file.getvalue()


def pdf(text="tea cup", title=None, password=None, pages=1, operations=None):
    file = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    content = DecodedStreamObject()
    lines = " ".join(f"({line}) Tj 0 -12 Td" for line in text.split("\n"))
    content.set_data(operations or f"BT /F1 12 Tf 10 80 Td {lines} ET".encode("latin-1"))
    reference = file._add_object(content.flate_encode())
    for _ in range(pages):
        page = file.add_blank_page(500, 100)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = reference
    if title:
        file.add_metadata({"/Title": title})
    if password is not None:
        file.encrypt(password, algorithm="RC4-128")
    return saved(file, "write")


def nested_pdf(depth, times):
    """Return a page whose form draws a form `times`, which draws a form, and so on."""
    file = pypdf.PdfWriter()
    page = file.add_blank_page(100, 100)

    def drawing(data, inner):
        stream = DecodedStreamObject()
        stream.set_data(data)
        forms = DictionaryObject({} if inner is None else {NameObject("/F"): inner})
        stream[NameObject("/Type")] = NameObject("/XObject")
        stream[NameObject("/Subtype")] = NameObject("/Form")
        stream[NameObject("/BBox")] = ArrayObject([NumberObject(0)] * 4)
        stream[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): forms})
        return file._add_object(stream)

    form = drawing(b"BT (x) Tj ET", None)
    for _ in range(depth):
        form = drawing(b"/F Do " * times, form)
    forms = DictionaryObject({NameObject("/F"): form})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): forms})
    page[NameObject("/Contents")] = drawing(b"/F Do", None)
    return saved(file, "write")


def web_page(text="tea cup", title="", charset="utf-8"):
    head = f'<html><head><meta charset="{charset}"><title>{title}</title></head>'
    return f"{head}<script>var x</script><body><p>{text}</p></body></html>".encode(charset)


def mail(text="tea cup", title="", html=None, date="Thu, 26 Feb 1987 10:00:00 +0100", files=()):
    message = EmailMessage()
    message["Subject"], message["Date"] = title, date
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    for name, data in files:
        message.add_attachment(data, maintype="text", subtype="plain", filename=name)
    return message.as_bytes()


def changed(data, part, content):
    """Return an archive with another content of a part, or one more part."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", 8) as new:
        for name in old.namelist():
            if name != part:
                new.writestr(name, old.read(name))
        new.writestr(part, content)
    return file.getvalue()


def sheet(cells):
    """Return a workbook whose sheet has the given XML of rows."""
    data = workbook([["tea"]])
    content = f"<worksheet {SHEET}><sheetData>{cells}</sheetData></worksheet>"
    return changed(data, "xl/worksheets/sheet1.xml", content)


def with_sizes(data, size):
    """Return an archive that declares another size of its first file."""
    out = bytearray(data)
    central = out.index(b"PK\1\2")
    for place in (22, central + 24):
        out[place : place + 4] = size.to_bytes(4, "little")
    return bytes(out)
