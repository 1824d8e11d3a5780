"""Convert the SGML files of Reuters-21578 to JSON lines.

python examples/reuters_to_jsonl.py reut2-*.sgm > reuters.jsonl
opelda fit reuters.jsonl -k 40 -o reuters.opelda
"""

import html
import json
import re
import sys

STORY = re.compile(r'<REUTERS[^>]*NEWID="(\d+)".*?>(.*?)</REUTERS>', re.S)
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.S)
TEXT = re.compile(r"<TEXT.*?>(.*?)</TEXT>", re.S)

for path in sys.argv[1:]:
    with open(path, encoding="latin-1") as file:
        for number, story in STORY.findall(file.read()):
            text = re.sub(r"</?[A-Z]+>|&#\d+;|Reuter\s*$", " ", TEXT.findall(story)[0])
            topics = re.findall("<D>(.*?)</D>", TOPICS.findall(story)[0])
            print(json.dumps({"id": number, "text": html.unescape(text), "topics": topics}))
