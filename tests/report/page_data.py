"""Read the data of a page, as its script does."""

import base64
import gzip
import json
import re

import numpy as np


def element(text, name):
    """Return the text of a data element."""
    return re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', text, re.DOTALL)[1]


def unpacked(text):
    """Return the header and the arrays of a container."""
    data = gzip.decompress(base64.b64decode(text))
    end = data.index(b"\n") + 1
    header, arrays, at = json.loads(data[:end]), {}, end
    assert at % 8 == 0
    for name, dtype, length in header["arrays"]:
        dtype = np.dtype(dtype).newbyteorder("<")
        arrays[name] = np.frombuffer(data, dtype, length, at)
        at += -(-length * dtype.itemsize // 8) * 8
    assert at == len(data)
    return header, arrays


def texts(array, separator):
    """Return the texts that were joined."""
    return bytes(array).decode().split(separator)


def dense(header, arrays):
    """Return the topics (K, V) that a page infers with."""
    n_words, n_topics = header["n_words"], header["n_topics"]
    found = np.tile(arrays["rest"].astype(np.float64), (n_topics, 1))
    word = np.repeat(np.arange(n_words), np.diff(arrays["offsets"].astype(np.int64)))
    found[arrays["topic"], word] = np.exp(header["low"] + header["step"] * arrays["value"])
    return found
