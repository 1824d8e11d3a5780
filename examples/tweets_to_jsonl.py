"""Daily JSON arrays of tweets as JSON lines, without links and names of accounts.

python examples/tweets_to_jsonl.py 2017-07-*.json > tweets.jsonl
opelda fit tweets.jsonl -k 50 -o tweets.opelda
"""

import html
import json
import re
import sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for tweet in json.load(file):
            text = re.sub(r"https?://\S+|@\w+|\bRT\b", " ", html.unescape(tweet["text"]))
            print(json.dumps({"id": tweet["id"], "text": text, "account": tweet["screen_name"]}))
