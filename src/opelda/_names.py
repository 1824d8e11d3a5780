"""Names of learners, methods, presets and engines, without their slow imports."""

LEARNERS = (
    "MLOPE", "OnlineOPE", "StreamingOPE", "OnlineVB", "StreamingVB", "OnlineCVB0", "OnlineCGS",
)  # fmt: skip
METHODS = (
    "ope", "em", "exact", "vb", "cvb", "cvb0", "cgs", "fw", "ofw", "cccp", "smm", "tli", "pmd",
    "hamcmc",
)  # fmt: skip
PRESETS = {
    "best": "the best topics in the benchmarks",
    "fast": "good topics in a fraction of the time",
    "paper": "the settings of the paper's experiments",
}
ENGINES = ("cpu", "cuda", "auto", "reference")
# of time, from the finest to the coarsest
UNITS = ("minute", "hour", "day", "week", "month", "quarter", "year")

NAMELESS = (
    "x0, x1, ... stand for columns without names; set the names with "
    "model.set_feature_names(names)."
)


def printable(text: str) -> str:
    r"""Escape characters that move a terminal's cursor.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
