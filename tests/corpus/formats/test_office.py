"""Folders with files of office programs, web pages and mail, also hostile ones."""

import re
import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import read, stream
from opelda.corpus.formats import office
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.formats import office_files as files

ALL = {"min_df": 1, "max_df": 1.0}
MOST_MEMORY = 1 << 30  # bytes, without the imports
WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
LAUGHS = f'<!DOCTYPE l [<!ENTITY a0 "lol">{LAUGHS}]>'


def word_xml(text, head=""):
    text = f'{head}<w:document xmlns:w="{WORDS}"><w:body><w:p><w:r><w:t>{text}'
    text += "</w:t></w:r></w:p></w:body></w:document>"
    return files.changed(files.word(), "word/document.xml", text)


def sheet_xml(text, head=""):
    cell = f'<row r="1"><c r="A1" t="inlineStr"><is><t>{text}</t></is></c></row>'
    content = f"{head}<worksheet {files.SHEET}><sheetData>{cell}</sheetData></worksheet>"
    return files.changed(files.workbook([["tea"]]), "xl/worksheets/sheet1.xml", content)


def shared(n_cells, n_letters):
    cells = '<row><c t="s"><v>0</v></c></row>' * n_cells
    table = f"<sst {files.SHEET}><si><t>{'x' * n_letters}</t></si></sst>"
    return files.changed(files.sheet(cells), "xl/sharedStrings.xml", table)


BOX = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
EMPTY = "</w:t></w:r></w:p>{}<w:p><w:r><w:t>"
HOSTILE = {
    "laughs.docx": lambda: word_xml("&a9;", LAUGHS),
    "bomb.docx": lambda: word_xml("x" * 100_000_000),
    "lie.docx": lambda: files.with_sizes(word_xml("x" * 100_000_000), 100),
    "deep.docx": lambda: word_xml(EMPTY.format("<w:p>" * 99_999 + "</w:p>" * 99_999)),
    "laughs.xlsx": lambda: sheet_xml("&a9;", LAUGHS),
    "laughs-styles.xlsx": lambda: files.changed(
        files.workbook([["tea"]]), "xl/styles.xml", f"{LAUGHS}<styleSheet>&a9;</styleSheet>"
    ),
    "box.xlsx": lambda: files.sheet(BOX),
    "row.xlsx": lambda: files.sheet(
        '<row r="999999999999"><c r="A999999999999"><v>1</v></c></row>'
    ),
    "wide.xlsx": lambda: files.sheet(
        "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 10_000))
    ),
    "shared.xlsx": lambda: shared(100_000, 1_000_000),
    "forms.pdf": lambda: files.nested_pdf(9, 10),
    "bomb.pdf": lambda: files.pdf(operations=b"q Q " * 40_000_000),
    "deep.html": lambda: b"<div>" * 300_000 + b"tea",
    "comments.html": lambda: b"<!--<b><script><style><?x" * 50_000,
    "attachment.eml": lambda: files.mail(files=[("a.txt", b"x" * 50_000_000)]),
    "subject.eml": lambda: b"Subject: " + b"=?utf-8?q?a?= " * 500_000 + b"\n\ntea",
    "type.eml": lambda: b"Content-Type: text/plain; " + b'a="' * 500_000 + b"\n\ntea",
    "charset.eml": lambda: b"Content-Type: text/plain; charset=punycode\n\n" + b"ab-c9" * 500_000,
    "nested.eml": lambda: b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(3_000)
    ),
    "base64.eml": lambda: b"Content-Transfer-Encoding: base64\n\n" + b"@@@" * 99_999,
}


def test_every_format_gives_its_text_title_and_date(tmp_path):
    text, title = "größer tea", "Ämter Title"
    made = {
        "a.docx": files.word(text, title),
        "b.docx": files.word(text, heading=title),
        "c.pptx": files.slides(text, title, notes="pot"),
        "d.pdf": files.pdf(text, title),
        "e.html": files.web_page(text, title, "latin-1"),
        "f.htm": files.web_page(text, "&Auml;mter\nTitle"),
        "g.eml": files.mail(text, title, files=[("x.txt", b"attachment")]),
        "h.eml": files.mail("", title, html=f"<p>{text}</p><script>cup</script>"),
        "i.xlsx": files.workbook([[1, "größer"]], [[], ["tea", title]]),
        "j.txt": f"{text}\n{title}".encode(),
        "k.md": f"# {title}\n{text}".encode(),
    }
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    with warnings.catch_warnings(action="error"):
        corpus = read(tmp_path, metadata=["title", "date"], **ALL)
    assert corpus.names == [title] * 8 + [*made][8:]
    counts = dict(zip(corpus.words, corpus.X.toarray().T, strict=True))
    for expected in ("größer", "tea", "ämter", "title"):
        assert (counts[expected] > 0).all(), expected
    assert (counts["ämter"] == 1).all()  # a title counts once, also if it is a heading
    assert corpus.metadata["title"].to_list() == [title] * 8 + [None] * 3
    assert [each and each[:10] for each in corpus.metadata["date"]] == [
        "1987-02-26" if name.endswith(".eml") else None for name in made
    ]
    assert {*counts} - {"größer", "tea", "ämter", "title"} == {"pot"}
    assert read(tmp_path, name_column="path", **ALL).names == [*made]
    usual = read(tmp_path, metadata="auto", **ALL).metadata
    assert (usual.columns, usual["path"].to_list()) == (["date", "path"], [*made])
    assert read(tmp_path, metadata="*", **ALL).metadata.equals(usual)
    batches = [*stream(tmp_path, batch_size=4, vocabulary=corpus.vocabulary)]
    assert [name for batch in batches for name in batch.names] == corpus.names
    with pytest.raises(
        InputError, match=r"no column 'author'; available: 'title', 'date', 'path'\.$"
    ):
        read(tmp_path, metadata="author")


def test_lines_of_a_page_that_end_in_a_hyphen_are_joined(tmp_path):
    (tmp_path / "a.pdf").write_bytes(files.pdf("informa-\ntion of Anglo-\nSaxon kings"))
    assert read(tmp_path / "a.pdf", **ALL).words == ("anglo", "information", "kings", "saxon")


def test_files_without_text_are_named_in_one_line(tmp_path):
    made = {
        "a.jpg": b"\xff\xd8\0",
        "b.zip": files.changed(files.word(), "x", ""),
        "c.pdf": files.pdf(password="secret"),
        "d.pdf": files.pdf(password="tea")[:200],
        "e.docx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0",
        "f.docm": files.word(),
        "g.pdf": files.pdf(""),
        "h.xlsx": files.workbook([]),
        "i.eml": b"",
    }
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "j.pdf").write_bytes(files.pdf("tea", password=""))
    reasons = dict.fromkeys("ce", " (encrypted)") | dict.fromkeys("d", " (damaged)")
    reasons |= dict.fromkeys("ghi", " (no text)")
    named = ", ".join(f"{name}{reasons.get(name[0], '')}" for name in made)
    with pytest.warns(UserWarning, match=f"^{re.escape(f'9 files skipped: {named}.')}$"):
        assert read(tmp_path, **ALL).names == ["j.pdf"]


def test_single_files_and_patterns_are_documents(tmp_path):
    for name, data in {"a.docx": files.word(), "b.pdf": files.pdf("tea")}.items():
        (tmp_path / name).write_bytes(data)
    assert read(f"{tmp_path}/*", **ALL).names == ["a.docx", "b.pdf"]
    (tmp_path / "c.pdf").write_bytes(b"%PDF-")
    with (
        pytest.raises(InputError, match=r"c\.pdf has no documents; "),
        pytest.warns(UserWarning, match=r"^1 file skipped: c\.pdf \(damaged\)\.$"),
    ):
        read(tmp_path / "c.pdf")
    with pytest.raises(InputError, match=r"There is no file .*d\.pdf; "):
        read(tmp_path / "d.pdf")
    with pytest.raises(InputError, match=r"text_column has no effect on .*a\.docx"):
        read(tmp_path / "a.docx", text_column="text")


CELLS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=9)


@given(st.lists(st.tuples(CELLS, st.integers(-(10**9), 10**9), CELLS), min_size=1, max_size=9))
def test_a_sheet_is_read_as_the_same_table_in_text_form(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("sheet")
    header = ("Body", "Year", "Country")
    (folder / "a.xlsx").write_bytes(files.workbook([[], header, *rows], [["other"]]))
    quoted = "".join(
        ",".join('"{}"'.format(str(cell).replace('"', '""')) for cell in row) + "\n"
        for row in [header, *rows]
    )
    (folder / "a.csv").write_text(quoted)
    try:
        table = read(folder / "a.csv", metadata="auto", **ALL)
    except InputError:  # no words
        return
    sheet = read(folder / "a.xlsx", metadata="auto", **ALL)
    assert (sheet.words, sheet.X.toarray().tolist()) == (table.words, table.X.toarray().tolist())
    assert sheet.metadata.equals(table.metadata)


def test_sheets_with_dates_and_missing_cells(tmp_path):
    rows = [("Title", "Text", "Date"), ("a", "tea", date(1987, 2, 26)), ("b", None, None), ("c",)]
    (tmp_path / "a.xlsx").write_bytes(files.workbook(rows))
    corpus = read(tmp_path / "a.xlsx", metadata="auto", **ALL)
    assert corpus.names == ["a", "b", "c"]
    assert corpus.metadata["Date"].to_list() == ["1987-02-26 00:00:00", None, None]
    (tmp_path / "b.xlsx").write_bytes(b"PK\3\4")
    with pytest.raises(InputError, match=r"b\.xlsx has no readable table: damaged\.$"):
        read(tmp_path / "b.xlsx")


MEASURED = """
import resource, sys
from pathlib import Path
from opelda.corpus.formats import office
import docx, openpyxl, pptx, pypdf
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        found = office.document(path.name, office.reader_of(path.name), path.read_bytes(), "utf-8")
        print(path.name, "read")
    except office.UnreadableError as error:
        print(path.name, error)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def test_memory_of_hostile_files_is_bounded(tmp_path):
    for name, make in HOSTILE.items():
        (tmp_path / name).write_bytes(make())
    command = [sys.executable, "-c", MEASURED, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    *lines, memory = run.stdout.splitlines()
    outcomes = dict(line.split(" ", 1) for line in lines)
    assert outcomes.keys() == HOSTILE.keys()
    assert {*outcomes.values()} == {"read", "damaged", "too large", "no text"}
    for name in ("bomb.docx", "row.xlsx", "wide.xlsx", "shared.xlsx"):
        assert outcomes[name] == "too large"
    for name in ("deep.html", "attachment.eml", "subject.eml", "type.eml"):
        assert outcomes[name] in ("read", "no text")
    assert int(memory) < MOST_MEMORY


@cases("kind", ["docx", "xlsx"])
def test_external_entities_are_not_read(kind, tmp_path, monkeypatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("secretive")
    head = (
        f'<!DOCTYPE l [<!ENTITY e SYSTEM "{secret.as_uri()}">'
        f'<!ENTITY % p SYSTEM "{secret.as_uri()}">%p;]>'
    )
    data = (word_xml if kind == "docx" else sheet_xml)("tea &e; cup", head)
    opened = []
    sys.addaudithook(lambda event, given: opened.append((event, str(given))))
    try:
        text = office.document("a", office.READERS[kind], data, "utf-8").text
    except office.UnreadableError:
        text = ""
    assert "secretive" not in text
    assert not [each for each in opened if "secret.txt" in each[1] or "socket" in each[0]]


@cases("package", ["docx", "pptx", "pypdf", "openpyxl"])
def test_missing_package_is_one_sentence(package, tmp_path, monkeypatch):
    name = {"docx": "a.docx", "pptx": "a.pptx", "pypdf": "a.pdf", "openpyxl": "a.xlsx"}[package]
    (tmp_path / name).write_bytes({"a.xlsx": files.workbook([["text"], ["tea"]])}.get(name, b""))
    (tmp_path / "b.txt").write_text("tea")
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"{name} needs [\w-]+, which is not installed; run pip install 'opelda\[office\]'\.$"
    for source in (tmp_path, tmp_path / name):
        with pytest.raises(InputError, match=message):
            read(source)


WHOLE = {
    "docx": files.word(), "pptx": files.slides(), "pdf": files.pdf(), "eml": files.mail(),
    "xlsx": files.workbook([["tea"]]), "html": files.web_page(), "htm": files.web_page(),
}  # fmt: skip


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_damaged_files_are_read_or_skipped(kind, data):
    damaged = bytearray(WHOLE[kind])
    for _ in range(data.draw(st.integers(1, 20))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        found = office.document("a", office.READERS[kind], bytes(damaged), "utf-8")
        assert found.text.strip()
    except office.UnreadableError as error:
        assert str(error)  # noqa: PT017


def test_text_of_forms_and_tracked_changes_is_read():
    inner = "".join(
        f"<w:{tag}><w:r><w:{name}>{tag}</w:{name}></w:r></w:{tag}>"
        for tag, name in (("ins", "t"), ("del", "delText"), ("smartTag", "t"))
    )
    text = office.document(
        "a", office.READERS["docx"], word_xml(f"tea</w:t></w:r>{inner}<w:r><w:t>"), "utf-8"
    ).text
    assert text == "teainssmartTag"


def test_own_word_files_are_documents(tmp_path):
    document = docx.Document()
    for text in ("tea", "cup"):
        document.add_paragraph(text)
    document.save(Path(tmp_path, "a.docx"))
    assert read(tmp_path, **ALL).words == ("cup", "tea")
