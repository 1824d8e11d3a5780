"""Convert daily JSON arrays of tweets to JSON lines.

python examples/tweets_to_jsonl.py 2017-07-*.json > tweets.jsonl
opelda fit tweets.jsonl -k 50 -o tweets.opelda
"""

import json
import sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for tweet in json.load(file):
            print(json.dumps({"id": tweet["id"], "text": tweet["text"], "time": tweet["time"]}))
