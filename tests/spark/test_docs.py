"""The page on Spark runs from top to bottom and prints what its comments say."""

import contextlib
import io

from tests.test_docs_blocks import PRINTED, blocks


def test_blocks_run_in_order_and_print_what_their_comments_say(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"__name__": "page"}
    for block in blocks("spark.md"):
        assert len(PRINTED.findall(block)) == block.count("print(") > 0, block
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "spark.md", "exec"), names)
        assert printed.getvalue().splitlines() == PRINTED.findall(block), block
