r"""Mark-up taken out of texts: URLs, e-mail addresses, @names, HTML tags and entities, wiki debris.

A text is decoded (`&eacute;` is a letter of its word), then a space replaces each match of a
regular expression. Rust and JavaScript read the patterns alike: the report page uses `SPELLED`.
Groups would make Rust five times slower.
"""

import re
from html.entities import name2codepoint
from typing import TYPE_CHECKING

from opelda.corpus._forks import contains, evaluate

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

FEW = 64  # texts up to which Python is faster: polars takes 80 us for a call
LONG = 2_000  # characters beyond which Python, which may try a pattern at every place, is not asked
# "&", escaped any number of times
AMPERSAND = r"&(?:(?:amp|AMP|#0*38|#[xX]0*26);)+"
REFERENCE = r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,7});|\\u[0-9A-Fa-f]{4}"
ENTITIES = {name: chr(point) for name, point in name2codepoint.items()} | {"apos": "'"}

# No letter, digit or underscore of ASCII before, or after.
BEGINS, ENDS = r"(?-u:\b{start-half})", r"(?-u:\b{end-half})"
_S = r"[ \t\r\n\f]"
_LETTER = r"A-Z_a-z\u00c0-\u0dff"  # of scripts that put spaces between words
_NAME = rf"@[{_LETTER}][0-9{_LETTER}]*(?:@[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)+)?"
_URL = r"[!#-;=?-~\u00a1-\u0dff]"
_TOP = (
    "com|org|net|edu|gov|mil|int|info|biz|io|co|ly|gl|gd|me|tv|us|uk|de|fr|es|it|nl|eu|ru|jp|cn|"
    "ca|au|be|ch|at|br|in|pl|se|no|dk|fi|ie|nz|kr|mx|tw|to|fm|am|ms|news|app|dev|blog"
)
_TAGS = (
    r"<!--[\s\S]*?-->",
    rf"<(?:script|SCRIPT)(?:{_S}[^<>]*)?>[\s\S]*?</(?:script|SCRIPT){_S}*>",
    rf"<(?:style|STYLE)(?:{_S}[^<>]*)?>[\s\S]*?</(?:style|STYLE){_S}*>",
    r"<\?[A-Za-z][\s\S]*?\?>",
    r"<!\[CDATA\[|<![A-Za-z][^<>]*>",
    # what follows the name is an attribute: "a <b and c> d" holds no tag
    rf"</?[A-Za-z][0-9A-Za-z:._-]*(?:{_S}+(?:(?:nowrap|noshade|async|defer|disabled|checked|"
    rf"selected|hidden|compact){ENDS}|[0-9A-Za-z:._-]+{_S}*=)[^<>]*)?{_S}*/?>",
    rf"&(?:amp|nbsp|quot|lt|gt){ENDS}",
)
_ADDRESSES = (
    r"(?:mailto:)?[0-9A-Za-z_](?:[0-9A-Za-z_.%+-]*[0-9A-Za-z_+-])?@[0-9A-Za-z-]+"
    r"(?:\.[0-9A-Za-z-]+)+",
    rf"(?:{BEGINS}[RQ]T:?{_S}+)?{BEGINS}{_NAME}",
    rf"[Hh][Tt][Tt][Pp][Ss]?:\\?/\\?/{_URL}*",
    rf"[Ff][Tt][Pp]://{_URL}*",
    r"https?:?/?/?\u2026",  # cut off
    rf"(?:www|WWW|Www)\.[0-9A-Za-z]{_URL}*",
    rf"(?:[0-9A-Za-z-]+\.)+(?:{_TOP})/{_URL}*",
)
_SPANS = "colspan|rowspan|align|valign|bgcolor|cellpadding|cellspacing"
_ATTRIBUTES = rf"(?:style|class|width|height|border|scope|href|src|rel|target|{_SPANS}) ?= ?"
_QUOTED = r'(?:"[^"\n<>|]*"|' + r"'[^'\n<>|]*')"
_DEBRIS = (
    rf"{BEGINS}(?:{_ATTRIBUTES}{_QUOTED}|(?:{_SPANS})=[0-9A-Za-z#%]+)",
    r"\[\[(?:[Cc]ategory:|(?:[Ff]ile|[Ii]mage):[^\[\]|]*(?:\|(?:thumb(?:nail)?|frame(?:d|less)?|"
    r"border|left|right|center|none|upright(?:=[0-9.]+)?|[0-9]*x?[0-9]+ ?px))*)",
    r"\{\{[Cc]ite [^{}]*\}\}",
    r"(?:\\[nrt]){2,}",
)
REMOVED = "|".join((*_TAGS, *_ADDRESSES, *_DEBRIS))
# Without such a sign a text stays: most texts are scanned once.
SIGNS = r"[<&@=\\]|//|(?:www|WWW|Www)\.|\.[a-z]{2,4}/|\[\[|\{\{|https?:?/?\u2026"
# Every text with a sign has one of these, which are found in a quarter of the time.
PLAIN_SIGNS = ("<", "&", "@", "=", "\\", "/", "ww.", "WW.", "[[", "{{", "\u2026")


PATTERNS = {
    "ampersand": AMPERSAND,
    "reference": REFERENCE,
    "removed": REMOVED.replace(BEGINS, "(?<![0-9A-Z_a-z])").replace(ENDS, "(?![0-9A-Z_a-z])"),
}  # as Python and JavaScript spell them
SPELLED = PATTERNS | {"entities": ENTITIES}  # for the page's script
_ampersand, _reference, _removed = map(re.compile, PATTERNS.values())


def without_markup(texts: "pl.Series") -> "pl.Series":
    """Return texts with a space instead of each piece of mark-up."""
    if len(texts) <= FEW:
        import polars as pl

        return pl.Series(few_without_markup(texts.to_list()), dtype=pl.String)
    marked = contains(texts, SIGNS)
    if not marked.any():
        return texts
    cleaned = _cleaned(texts.filter(marked))
    return cleaned if len(cleaned) == len(texts) else texts.scatter(marked.arg_true(), cleaned)


def few_without_markup(texts: list[str]) -> list[str]:
    """Return the same of few texts."""
    cleaned = []
    for text in texts:
        if not any(sign in text for sign in PLAIN_SIGNS):
            cleaned.append(text)
        elif len(text) > LONG:
            import polars as pl

            cleaned += _cleaned(pl.Series([text])).to_list()
        else:
            text = _ampersand.sub("&", text)
            text = _reference.sub(lambda found: _character(found[0]) or found[0], text)
            cleaned.append(_removed.sub(" ", text))
    return cleaned


def _cleaned(texts: "pl.Series") -> "pl.Series":
    texts = evaluate(texts, lambda text: text.str.replace_all(AMPERSAND, "&"))
    found = evaluate(texts, lambda text: text.str.extract_all(REFERENCE)).explode()
    names = found.drop_nulls().unique(maintain_order=True)
    known = {name: character for name in names if (character := _character(name)) is not None}
    if known:
        texts = evaluate(texts, lambda text: text.str.replace_many(known))
    return evaluate(texts, lambda text: text.str.replace_all(REMOVED, " "))


def _character(reference: str) -> str | None:
    """Return a reference's character; a space for an invalid number, None for an unknown name."""
    if reference[:2] in ("&#", "\\u"):
        digits = reference[2:].rstrip(";")
        point = int(digits.lstrip("xX"), 10 if digits.isdecimal() and reference[0] == "&" else 16)
        is_character = 0 < point < 0x110000 and not 0xD800 <= point < 0xE000
        return chr(point) if is_character else " "
    return ENTITIES.get(reference[1:-1])
