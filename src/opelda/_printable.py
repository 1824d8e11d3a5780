"""Texts from anywhere, made fit for a terminal."""


def printable(text: str) -> str:
    r"""Keep a text from moving the cursor: names, labels and words come from anywhere.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
