"""Fields of a row of a table in text form, as RFC 4180 has them."""

import re
from functools import cache

# Possessive throughout: nothing is tried twice, so that a row takes time linear in its length.
QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
PLAIN = r"[^D\r\n]*+(?:\r(?!\n)[^D\r\n]*+)*+"  # a return that ends no line is a letter
END = r"(?:\r?\n|\Z)"
OPEN = re.compile(QUOTED[:-1] + r"\Z")  # a quote that is never closed


def fields_of(text: str, at: int, delimiter: str, quoted: bool) -> tuple[list[str], int]:
    """Return a row's fields and its end; of a malformed one none, and where a bad field begins."""
    fields: list[str] = []
    pattern = _pattern(delimiter, quoted)
    while found := pattern.match(text, at):
        field_text, at = found[1], found.end()
        in_quotes = quoted and field_text[:1] == '"'
        fields.append(field_text[1:-1].replace('""', '"') if in_quotes else field_text)
        if found[2] is None:
            return fields, at
    return [], at


@cache
def _pattern(delimiter: str, quoted: bool) -> re.Pattern[str]:
    """Match a field and, unless it is its row's last one, the delimiter."""
    plain = PLAIN.replace("D", re.escape(delimiter))
    field = f'{QUOTED}|(?!"){plain}' if quoted else plain
    return re.compile(rf"({field})(?:({re.escape(delimiter)})|{END})")
