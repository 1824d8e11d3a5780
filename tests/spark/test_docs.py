"""The documentation pages on Spark run and print their comments."""

import contextlib
import io

import pytest

from tests.test_docs_blocks import PRINTED, blocks


@pytest.mark.parametrize("page", ["howto/spark.md", "spark.md"])
def test_documentation_blocks_run_and_print_their_comments(page, spark, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"__name__": "page"}
    for block in blocks(page):
        assert len(PRINTED.findall(block)) == block.count("print(") > 0, block
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), names)
        assert printed.getvalue().splitlines() == PRINTED.findall(block), block
