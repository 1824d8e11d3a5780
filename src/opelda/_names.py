"""Names of what can be chosen, known without importing it; and names made fit for a terminal.

The registries are made from these: importing one of them takes scikit-learn, a second or two.
"""

LEARNERS = (
    "MLOPE", "OnlineOPE", "StreamingOPE", "OnlineVB", "StreamingVB", "OnlineCVB0", "OnlineCGS",
)  # fmt: skip
METHODS = (
    "ope", "em", "exact", "vb", "cvb", "cvb0", "cgs", "fw", "ofw", "cccp", "smm", "tli", "pmd",
    "hamcmc",
)  # fmt: skip
PRESETS = {
    "best": "the best topics that were measured",
    "fast": "good topics in a fraction of the time",
    "paper": "the settings of the paper's experiments",
}
ENGINES = ("cpu", "cuda", "auto", "reference")
# of time, from the finest to the coarsest
UNITS = ("minute", "hour", "day", "week", "month", "quarter", "year")

NAMELESS = "x0, x1, ... are columns without names; name them by model.set_feature_names(names)."


def printable(text: str) -> str:
    r"""Keep a text from moving the cursor: names, labels and words come from anywhere.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
