"""Binary files: skipped in a folder, rejected as a single source."""

import gzip
import io
import os
import re
import zipfile

import pytest

from opelda.corpus import read, stream
from opelda.errors import InputError
from tests.cases import cases


def zipped(name):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, "tea")
    return archive.getvalue()


NOT_TEXT = {
    "a.docx": zipped("word/document.xml"),
    "b": b"%PDF-1.4\n1 0 obj\n",
    "in/c.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "in/d.bin.gz": gzip.compress(b"tea\0cup"),
}


@cases("encoding", ["utf-8", "latin-1", "utf-16"])
@cases("n_files", range(1, 5))
def test_binary_files_in_a_folder_are_skipped_with_a_warning(n_files, encoding, tmp_path):
    texts = {"a.txt": "Tea, cup\n", "in/b": "", "in/c": "pot of tea é"}
    for name, data in [*NOT_TEXT.items()][:n_files] + [
        (name, text.encode(encoding)) for name, text in texts.items()
    ]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    named = ", ".join([*NOT_TEXT][:n_files]).replace(".docx", ".docx (damaged)")
    message = re.escape(f"{n_files} file{'s' * (n_files > 1)} skipped: {named}.")
    options = {"encoding": encoding, "min_df": 1}
    expected = read([*texts.values()], min_df=1, max_df=1.0)
    with pytest.warns(UserWarning, match=f"^{message}$"):
        found = read(tmp_path, max_df=1.0, **options)
    assert (found.words, found.names) == (expected.words, [*texts])
    assert (found.X != expected.X).nnz == 0
    with pytest.warns(UserWarning, match=f"^{message}$"):
        assert [batch.X.shape[0] for batch in stream(tmp_path, batch_size=2, **options)] == [2, 1]


def test_at_most_ten_skipped_files_are_named(tmp_path):
    for number in range(12):
        (tmp_path / f"{number:02}.bin").write_bytes(b"\0")
    (tmp_path / "a").write_text("tea")
    with pytest.warns(UserWarning, match=r"^12 files skipped: 00\.bin, .* 09\.bin and 2 more\.$"):
        read(tmp_path)


def test_single_binary_file_is_rejected(tmp_path):
    for name, data in NOT_TEXT.items():
        path = tmp_path / os.path.basename(name)
        path.write_bytes(data)
        # a damaged .docx is a document without text, see test_office.py
        if not name.endswith(".docx"):
            with pytest.raises(InputError, match=r"is a binary file of an unsupported format;"):
                read(path)
