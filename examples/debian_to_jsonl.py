"""Convert Debian's package descriptions (Translation-en, RFC 822 stanzas) to JSON lines.

python examples/debian_to_jsonl.py Translation-en.xz > debian.jsonl
opelda fit debian.jsonl -k 60 -o debian.opelda
"""

import json
import lzma
import sys

with lzma.open(sys.argv[1], "rt", encoding="utf-8") as file:
    for stanza in file.read().split("\n\n"):
        lines = stanza.splitlines()
        if lines:
            package = lines[0].removeprefix("Package: ")
            begin = next(i for i, line in enumerate(lines) if line.startswith("Description-en:"))
            text = " ".join(line.strip() for line in lines[begin:])
            print(json.dumps({"id": package, "text": text.removeprefix("Description-en: ")}))
