"""Convert Wikinews, Reuters-21578, 20 Newsgroups and Associated Press to one JSON lines file.

python examples/news_to_jsonl.py AA reuters.jsonl 20news-bydate-train 20news-bydate-test \\
    ap/ap.txt > news.jsonl
opelda fit news.jsonl -k 100 -o news.opelda

Each argument is a folder of JSON lines (Wikinews), a file of JSON lines (from reuters_to_jsonl.py),
a folder of folders of posts, or a file of <TEXT> elements. Documents of fewer than 20 words are
skipped.
"""

import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FEWEST_WORDS = 20


def texts(path: Path) -> Iterator[str]:
    """Yield the documents of a path."""
    if path.is_dir():
        for part in sorted(path.iterdir()):
            if part.is_dir():
                yield from (post(file) for file in sorted(part.iterdir()))
            else:
                yield from json_lines(part)
    elif path.suffix == ".jsonl":
        yield from json_lines(path)
    else:
        yield from re.findall("<TEXT>(.*?)</TEXT>", path.read_text(encoding="latin-1"), re.DOTALL)


def json_lines(path: Path) -> Iterator[str]:
    """Yield titles and texts of JSON lines."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            yield f"{document.get('title', '')} {html.unescape(document['text'])}"


def post(path: Path) -> str:
    """Return a post's subject and body."""
    header, _, body = path.read_text(encoding="latin-1").partition("\n\n")
    subject = re.search("^Subject: (?:re: )?(.*)$", header, re.MULTILINE | re.IGNORECASE)
    return f"{subject[1] if subject else ''} {body}"


for name in sys.argv[1:]:
    for text in texts(Path(name)):
        if len(re.findall("[A-Za-z]{3,}", text)) >= FEWEST_WORDS:
            print(json.dumps({"text": text}))
