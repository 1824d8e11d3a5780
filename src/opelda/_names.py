"""Names of what can be chosen, known without importing it: for options, their help and the shell.

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
