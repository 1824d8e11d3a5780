"""What docstrings say in words, without what all of them have."""

import re
from collections import Counter
from collections.abc import Sequence

_WORDS = """
abc accept accepted accepts according accordingly actual actually add added additional adds
alias allow allowed allowing allows apply appropriate arbitrary arg args argument arguments
assume assumed attr attribute attributes automatically available avoid bar base based basic baz
behavior behaviour bool boolean breaking builtin call callable called caller calling calls case
cases change changed changes changing check checks choose class classes code common
compatibility compute computed computes considered construct constructor contain contained
containing contains control convenience convert converted correctly correspond corresponding
corresponds create created creates creating current currently custom data def default defaults
define defined defines deprecated desired details determine determined determines dict different
directly doc docs documentation does doesn don effect either enable enabled ensure entry equal
equivalent etc exactly example examples existing expect expected explicit explicitly extra false
flag following follows foo form func function functionality functions future general generally
generated given gives good guaranteed guide handle handled handling have helper html http https
ignore ignored implement implementation implementations implemented implements implicit
implicitly important include included includes including indicate indicates indicating
individual info information inherit inherited initialize inplace input inputs instance instances
instead int interface internal internally introduced isn just kept keyword kwargs let like list
lists long make makes making manual mean meaning means method methods mode modified moment
multiple name named names necessary need needed needs new non none normal normally note notes
number numbers obj object objects obtain old omitted operation operations option optional
optionally options org original output outputs overridden override own param parameter
parameters params particular pass passed passes passing perform performed performs place point
possible possibly practice present previous print private produce property provide provided
provides providing public purpose python raise raised raises raising reason recommended ref
refer reference references related release remove removed replace represent representation
represented representing represents require required requires respectively result resulting
results return returned returning returns run same second see self set sets setting should
shouldn similar simple simply single slightly small special specific specified specifies specify
specifying standard str string strings subclass subclasses suitable supplied support supported
supports sure syntax take taken takes things time true try tuple type typeerror types typically
underlying unless unstable usage use used useful user users uses using usual usually valid value
valueerror values various version versionadded versionchanged want warning warnings way ways won
work works wrapper www xxx yield yields
"""
# Words that say how a docstring is built, or how any function is used, not what it is about.
STOP_WORDS: tuple[str, ...] = tuple(_WORDS.split())

# A line that so many docstrings share was copied from one to the other.
MOST_COPIES = 5

_CODE = re.compile(r"\s*(>>>|In \[\d+\]:)")
_FENCE = re.compile(r"\s*(```|~~~)")
_UNDERLINE = re.compile(r"\s*([-=~^`*#+\"'])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"\s*(\.\. |:\w+:(\s|$))")
# `name : type` above an indented explanation
_PARAMETER = re.compile(r"\s*\*{0,2}\w+(, ?\*{0,2}\w+)* ?(:|$)")
_HEADING = re.compile(r"\s*\w+( \w+)?:\s*$")
_MARKUP = re.compile(
    r" ?:(?:param|parameter|type|arg|argument|raises?|returns?|rtype|keyword|key|var|ivar|cvar)\b"
    r"[^:\n]{0,80}:"  # :param int size:
    r"| ?:[a-z][a-z:+-]{0,20}:(?=`)"  # :class:`Name`
    r"|[a-z]+://\S+"
    r"|%\(\w+\)s"
)


def prose(text: str) -> str:
    """Return a docstring's sentences: without code, headings, names and types of parameters, links.

    Examples
    --------
    >>> print(prose('''Draw a card.
    ...
    ... Parameters
    ... ----------
    ... deck : list of Card
    ...     The :class:`Card` objects left.
    ...
    ... >>> draw([ace])
    ... ace
    ... '''))
    Draw a card.
    <BLANKLINE>
        The `Card` objects left.
    """
    kept: list[str] = []
    lines = text.expandtabs().splitlines()
    in_code = in_fence = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _FENCE.match(line):
            in_fence = not in_fence
            continue
        in_code = bool(line.strip()) and (in_code or _CODE.match(line) is not None)
        if in_fence or in_code or _DIRECTIVE.match(line):
            continue
        if _UNDERLINE.match(line) or (line.strip() and _UNDERLINE.match(following)):
            continue
        if _HEADING.match(line) or (_PARAMETER.match(line) and _indent(following) > _indent(line)):
            continue
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return _MARKUP.sub(" ", "\n".join(kept)).rstrip()


def without_copies(texts: Sequence[str]) -> list[str]:
    """Leave out lines that more than five texts have, whatever their indentation.

    Examples
    --------
    >>> without_copies(["Draw.\\n  See the guide.", *["See the guide."] * 5])
    ['Draw.', '', '', '', '', '']
    """
    lines = [text.splitlines() for text in texts]
    seen = Counter(line for own in lines for line in {line.strip() for line in own})
    del seen[""]
    return [
        "\n".join(line for line in own if seen[line.strip()] <= MOST_COPIES).strip("\n")
        for own in lines
    ]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0
