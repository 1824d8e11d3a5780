"""Encodings of texts."""

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

from opelda.errors import InputError

# Stands for bytes that mean nothing in their encoding: it is no valid UTF-8 either, so that
# whoever decodes the line finds it there.
INVALID = "\udcff"


def codec(encoding: str) -> str:
    """Return an encoding's usual name, "utf-8" for UTF8; refuse what is no encoding of text."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.incrementaldecoder is None:
        raise InputError(
            f"There is no text encoding {encoding!r}; give one as 'utf-8', 'latin-1', 'utf-16'."
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name


def as_utf8(pieces: Iterable[bytes], encoding: str, label: str) -> Iterator[bytes]:
    """Yield a text as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("opelda.mark")
    for data in chain(pieces, [b""]):
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeError as error:
            why = f"{label} cannot be decoded ({error})"
            raise InputError(f"{why}; give the encoding it is written in.") from None
        yield text.encode("utf-8", "surrogatepass")


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return INVALID, error.end


codecs.register_error("opelda.mark", _mark)
