"""Text in any encoding that Python knows, as UTF-8."""

import codecs
import io
from typing import Any

from opelda.errors import InputError

# Stands for bytes that mean nothing in their encoding: it is no valid UTF-8 either, so that
# whoever decodes the line finds it there.
INVALID = "\udcff"
CHUNK = 1 << 18


def codec(encoding: str) -> str:
    """Return an encoding's usual name.

    Raises
    ------
    InputError
        When there is none of that name.

    Examples
    --------
    >>> codec("UTF8"), codec("latin1")
    ('utf-8', 'iso8859-1')
    """
    try:
        found = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.incrementaldecoder is None:
        raise InputError(
            f"There is no text encoding {encoding!r}; give one as 'utf-8', 'latin-1', 'utf-16'."
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return INVALID, error.end


codecs.register_error("opelda.mark", _mark)


class Recoded(io.RawIOBase):
    """A file's text as UTF-8.

    Parameters
    ----------
    file : binary file
    encoding : str
    label : str
        What messages call it.

    Examples
    --------
    >>> Recoded(io.BufferedReader(io.BytesIO(b"caf\\xe9")), "latin-1", "menu").read()
    b'caf\\xc3\\xa9'
    """

    def __init__(self, file: io.BufferedReader, encoding: str, label: str) -> None:
        self._file = file
        self._label = label
        self._decoder = codecs.getincrementaldecoder(encoding)("opelda.mark")
        self._ready = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill some of the buffer; 0 at the end."""
        while not self._ready and not self._ended:
            data = self._file.read1(CHUNK)
            self._ended = not data
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:
                raise InputError(
                    f"{self._label} cannot be decoded ({error}); give the encoding it is "
                    "written in."
                ) from None
            self._ready = memoryview(text.encode("utf-8", "surrogatepass"))
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def close(self) -> None:
        """Close the file as well."""
        self._file.close()
        super().close()
