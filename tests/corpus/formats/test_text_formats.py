"""Text readers: documents, names and error messages of each format."""

import io
import json
import os

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus._block import Problems
from opelda.corpus.formats import FORMATS, Options
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

BAD = b"caf\xe9"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def read(format, data, skip=False, **options):
    """Read bytes or a path: texts, and with `skip` also names and problems."""
    problems = Problems("skip" if skip else "stop")
    source = Input.of(io.BytesIO(data) if isinstance(data, bytes) else data)
    found, names = [], []
    for block in FORMATS[format].blocks(source, Options(problems=problems, **options), None):
        assert len(block) <= options.get("block_size", 5000)
        found += block.documents.to_list()
        names += block.names or []
    return (found, names or None, problems) if skip else found


@given(lines=st.lists(texts.map(lambda t: t.replace("\n", "").replace("\r", "")), max_size=9))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_lines_are_documents(lines, end, encoding):
    text = end.join([*lines, ""])
    without = len(text) - len(end) if lines and lines[-1] else len(text)
    for content in (text, text[:without]):
        expected = lines
        if lines and lines[0].startswith("\ufeff") and encoding == "gb18030":
            expected = [lines[0][1:], *lines[1:]]  # read as a byte order mark
        if encoding == "utf-8" and lines and lines[0].startswith("\ufeff"):
            expected = [lines[0][1:], *lines[1:]]
        assert read("lines", content.encode(encoding), block_size=2, encoding=encoding) == expected


def test_carriage_return_alone_ends_no_line():
    assert read("lines", b"a\rb\r\nc\r\r\n\r\nd\r") == ["a\rb", "c\r", "", "d\r"]


def test_line_ends_around_a_skipped_line():
    found, _, problems = read("lines", b"a\r\n" + BAD + b"\r\nb\rc\r\nd\r", skip=True)
    assert (found, problems.n_skipped) == (["a", "b\rc", "d\r"], 1)
    assert read("lines", BAD + b"\r\nb\r\n", skip=True)[0] == ["b"]


@cases("block_size", [1, 2, 100])
@cases(
    ("name", "line", "good"),
    [
        ("lines", b"%s", "tea"),
        ("mallet", b"name label %s", "tea"),
        ("jsonl", b'{"text": "%s"}', "tea"),
        ("tsv", b"1\t%s", "tea"),
        ("csv", b'1,"%s"', "tea"),
        ("csv", b'5" disk,%s', "tea"),
    ],
)
def test_undecodable_bytes_name_their_line(name, line, good, block_size):
    rows = [line % (BAD if i in (2, 6) else b"tea") for i in range(9)]
    header = {"csv": b"id,text", "tsv": b"id\ttext"}.get(name)
    rows = rows if header is None else [header, *rows[1:]]
    data = b"\n".join(rows)
    with pytest.raises(InputError) as error:
        read(name, data, block_size=block_size)
    column = line.index(b"%s") + 4
    if name == "csv" and b"disk" in line:
        column = 12
    assert str(error.value).startswith(
        f"the file, line 3 is not valid utf-8 (byte 0xe9 at column {column}); "
        "pass encoding='latin-1' or the encoding of the file"
    )
    found, _, problems = read(name, data, skip=True, block_size=block_size)
    assert found == [good] * (7 if header is None else 6)
    assert problems.n_skipped == 2
    assert [p.split(" is ")[0] for p in problems.first] == ["the file, line 3", "the file, line 7"]
    latin = read(name, data, encoding="latin-1", block_size=block_size)
    assert latin.count("café") == 2


def test_undecodable_bytes_of_other_encodings_name_their_line():
    with pytest.raises(InputError, match=r"line 2 is not valid cp1252; pass encoding="):
        read("lines", b"tea\n\x81\n", encoding="cp1252")
    with pytest.raises(InputError, match=r"line 2 is not valid utf-16"):
        read("lines", "tea\ncup".encode("utf-16") + b"\x00", encoding="utf-16")
    with pytest.raises(InputError, match=r"line 1 is not valid utf-8 \(byte 0xe9 at column 4\)"):
        read("lines", "été ".encode()[:-1] + BAD[-1:])
    with pytest.raises(InputError, match=r"line 1 is not valid utf-8 .* pass encoding='utf-16'"):
        read("lines", "tea".encode("utf-16"))
    for encoding in ("no such", "hex", "rot13", ""):
        with pytest.raises(InputError, match="encoding must be a text encoding"):
            read("lines", b"tea", encoding=encoding)


def test_json_values_are_converted_to_text():
    rows = [
        {"text": "tea", "id": 7},
        {"text": ["tea", "cup"]},
        {"text": None},
        {"text": 3},
        {"text": 2.5, "id": None},
        "tea",
        ["tea", "pot"],
    ]
    data = "\n\n".join(map(json.dumps, rows)).encode() + b"\n \n"
    found, names, problems = read("jsonl", data, skip=True, name_column="id", block_size=3)
    assert found == ["tea", "tea cup", "", "3", "2.5", "tea", "tea pot"]
    assert names == ["7", "", "", "", "", "", ""]
    assert problems.n_skipped == 0


@cases(
    ("line", "message"),
    [
        ('{"text": "tea"', "is not JSON (expecting ',' delimiter at column 15); correct the line"),
        ('{"text": "tea"} x', "is not JSON (extra data at column 17); correct the line"),
        ("tea", "is not JSON (expecting value at column 1); correct the line"),
        ("[" * 10**5, "is not JSON (the nesting is too deep); correct the line"),
        ("1" * 10**4, "is not JSON (a number is too long); correct the line"),
        (
            '{"text": {"a": 1}}',
            "has an object instead of a text; name another key with text_column=",
        ),
        ('{"text": [1]}', "has a list with values that are not strings instead of a text"),
        ('{"text": true}', "has a boolean instead of a text"),
        ('{"body": "tea"}', "has no key 'text'; available: 'body'; pass text_column="),
    ],
)
def test_invalid_json_lines_are_named_or_skipped(line, message):
    data = f'{{"text": "a"}}\n\n{line}\n{{"text": "b"}}'.encode()
    with pytest.raises(InputError) as error:
        read("jsonl", data)
    assert str(error.value).startswith(f"the file, line 3 {message}")
    found, _, problems = read("jsonl", data, skip=True)
    assert (found, problems.n_skipped) == (["a", "b"], 1)


@cases("value", ["null", "7", '["tea", "pot"]', '""'])
def test_first_json_object_chooses_the_text_key(value):
    data = f'{{"id": "x7", "text": {value}}}\n{{"id": "x8", "text": "cup"}}'.encode()
    expected = {"null": "", "7": "7", '""': ""}.get(value, "tea pot")
    assert read("jsonl", data) == [expected, "cup"]


@cases(
    "first", ['{"a": "x", "b": "y"}', '{"n": 1}', "{}", '{"title": {"deep": 1}}', '{"body": true}']
)
def test_skipped_json_objects_do_not_choose_the_text_key(first):
    data = f'{first}\n{{"id": "x8", "text": "cup"}}\n{{"text": "tea"}}'.encode()
    found, _, problems = read("jsonl", data, skip=True)
    assert (found, problems.n_skipped) == (["cup", "tea"], 1)
    assert problems.first[0].startswith("the file, line 1 ")
    with pytest.raises(InputError, match=r"^the file, line 1 .*on_error='skip'\.$"):
        read("jsonl", data)


def test_json_name_key_must_be_in_the_first_object():
    data = b'{"id": 1, "text": "tea"}\n{"text": "cup"}\n'
    with pytest.raises(
        InputError, match=r"^the file, line 1 has no key 'key'; available: 'id', 't"
    ):
        read("jsonl", data, name_column="key")
    assert read("jsonl", data, True, name_column="id")[1] == ["1", ""]
    blocks = FORMATS["jsonl"].blocks
    options = Options(name_column="id", block_size=1)
    place = next(blocks(Input.of(io.BytesIO(data)), options, None)).position
    assert [block.names for block in blocks(Input.of(io.BytesIO(data)), options, place)] == [[""]]


def test_lone_surrogate_is_replaced():
    assert read("jsonl", b'{"text": "a\\ud83d b"}') == ["a\ufffd b"]


@pytest.mark.filterwarnings("ignore:.* the text is read from 'text', not from 'content'")
@cases(
    ("keys", "chosen"),
    [
        (["id", "text"], ["text"]),
        (["Title", "ABSTRACT", "id"], ["Title", "ABSTRACT"]),
        (["content", "text"], ["text"]),
        (["id", "title"], None),
        (["note"], ["note"]),
        (["a", "b"], None),
        (["subject", "body"], ["subject", "body"]),
    ],
)
def test_text_column_is_found_by_name(keys, chosen, tmp_path):
    values = {key: f"{key} tea" for key in keys}
    expected = None if chosen is None else " ".join(values[key] for key in chosen)
    if keys == ["id", "title"]:
        expected = "title tea"
    path = tmp_path / "a.parquet"
    pl.DataFrame({key: [value] for key, value in values.items()}).write_parquet(path)
    table = [*values], [*values.values()]
    for name, data in (
        ("jsonl", json.dumps(values).encode()),
        ("csv", "\n".join(",".join(row) for row in table).encode()),
        ("tsv", "\n".join("\t".join(row) for row in table).encode()),
        ("parquet", path),
    ):
        if expected is None:
            with pytest.raises(
                InputError, match=r"usual name for texts; available: 'a', 'b'; select one"
            ):
                read(name, data)
        else:
            assert read(name, data) == [expected]
        assert read(name, data, text_columns=tuple(keys[::-1])) == [
            " ".join([*values.values()][::-1])
        ]
        with pytest.raises(InputError, match=r"has no (column|key) 'nothing'; available: '"):
            read(name, data, text_columns=("nothing",))


def test_mallet_lines_have_a_name_a_label_and_a_text():
    data = b"a x tea for  two \r\nb\ty\n\n c  z\tcup\nlonely\n"
    found, names, problems = read("mallet", data, skip=True)
    assert (found, names) == (["tea for  two ", "", "cup"], ["a", "b", "c"])
    assert problems.first == ["the file, line 5 has only one field."]


def test_files_of_a_folder_are_read_in_order(tmp_path):
    content = {
        "b.txt": b"\xef\xbb\xbfone\r\ntwo",
        "a/z.txt": b"",
        "a/.hidden": b"no",
        ".git/x": b"no",
        "a.txt": BAD,
    }
    for name, data in content.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to(tmp_path / "nothing")
    found, names, problems = read("files", tmp_path, skip=True)
    assert (names, found) == (["a/z.txt", "b.txt"], ["", "one\r\ntwo"])
    assert problems.first == [f"{tmp_path}/a.txt is not valid utf-8 (byte 0xe9 at column 4)."]
    assert read("files", tmp_path, encoding="latin-1")[0] == "café"
    with pytest.raises(InputError, match="is not a folder"):
        read("files", tmp_path / "b.txt")
