"""Which tests concern a file: enough to notice a change, few enough to be run hundreds of times."""

import re
from pathlib import Path

NATIVE = ("native/**/*.?pp",)
PYTHON = ("src/opelda/learning/*.py", "src/opelda/engines/*.py", "src/opelda/inference/*.py")

_INFERENCE = "infer infer_mistakes certificates accuracy every_iterative_method extremes history"
_ENGINES = "cpu cpu_tables cpu_updates gathering handles infer statistics updates"
_SWEEPS = "counts draws kept_tokens order sweeps"
_LEARNING = "learners updates determinism streams robustness seed_words"

# the first pattern that is found in a file's name, and the tests by folder
_MAP = [
    (r"text/(words|scan|word_table|rows|arrow)", {
        "corpus/text": "words_native split tokenizer unicode unspaced count_vectorizer",
        "corpus": "few_texts kinds",
    }),
    (r"text/merging", {"corpus": "merging_native read stream"}),
    (r"native/text/", {
        "corpus/formats": "counts_formats counts_formats_chunks counts_formats_errors "
        "counts_formats_fuzz counts_formats_matrices counts_formats_parsing",
    }),
    (r"native/(ope|picks|coarse)", {
        "inference": "ope certificates accuracy", "engines": "cpu infer updates statistics",
    }),
    (r"native/(exact|certificate)", {
        "inference": "exact accuracy certificates extremes", "engines": "infer",
    }),
    (r"native/em", {"inference": "em infer extremes", "engines": "cpu infer updates"}),
    (r"native/(vb|cvb0|cvb|cgs|fw)\.", {
        "inference": r"\1 infer every_iterative_method extremes", "engines": "cpu infer",
    }),
    (r"native/(sweep|slot|prior_draws|module_(sweeps|counts))", {
        "engines": _SWEEPS, "learning": "sweeps",
    }),
    (r"native/(learning|module_(learning|batches))", {"engines": _ENGINES}),
    (r"native/(threads|module_sampling)", {
        "engines": "interrupts draws gathering infer order sweeps", "learning": "seeding start",
    }),
    (r"native/", {"engines": f"{_ENGINES} {_SWEEPS}", "inference": "exact vb cvb cgs"}),
    (r"inference/(\w+?)\.", {"inference": rf"\1 {_INFERENCE}", "engines": "infer updates"}),
    (r"engines/_(tokens|cpu_sweeps|keys)", {
        "engines": f"{_SWEEPS} handles langevin", "learning": "sweeps kept",
    }),
    (r"engines/", {"engines": f"{_ENGINES} {_SWEEPS} langevin", "inference": "infer accuracy"}),
    (r"learning/_(stream_sweeps|window|renewal|kept|forgetting)", {
        "learning": "window renewal kept forgetting events",
    }),
    (r"learning/_(watch|lanes|drawn|event|points|times)\.", {
        "learning": "watching lanes drawn events renewal",
    }),
    (r"learning/_(sweeps|seeds|seeding|collection)", {
        "learning": "sweeps seed_weights seed_words seeding start presets order",
    }),
    (r"learning/_(edit|editing|splitting|labels|shown)", {
        "learning": "editing labels learners texts seed_words", "": "model_file",
    }),
    (r"learning/_(saving|loading|state)", {
        "learning": "checkpoints checkpoint_folders editing labels threads window sgrld_scvb0",
        "": "model_file model_file_damage",
    }),
    (r"learning/_checkpoint", {
        "learning": "checkpoints checkpoint_folders slow_streams streams watching", "": "follow",
    }),
    (r"learning/(_listeners|callbacks|_measurements|_curve|_line)", {
        "learning": "callbacks displays reports measurements coherence_and_curve watching runs",
    }),
    (r"learning/(_runs|topic_model|learners|_plan|_learner|_schedule)", {
        "learning": f"runs presets priors own_rule start sweeps {_LEARNING}",
    }),
    (r"learning/(_transform|_as_counts)", {"learning": f"transform_method texts {_LEARNING}"}),
    (r"learning/_rules", {
        "learning": f"sgrld_scvb0 own_rule growing forgetting {_LEARNING}",
        "engines": "updates langevin statistics",
    }),
    (r"learning/", {
        "learning": f"growing checkpoints checkpoint_folders slow_streams texts {_LEARNING}",
    }),
]  # fmt: skip


def concerned_tests(root: Path, file: str) -> tuple[str, ...]:
    """The test files for a source file."""
    found, folders = next(
        (found, folders) for pattern, folders in _MAP if (found := re.search(pattern, file))
    )
    paths = [
        Path("tests") / folder / f"test_{name}.py"
        for folder, names in folders.items()
        for name in found.expand(names).split()
    ]
    return tuple(str(path) for path in dict.fromkeys(paths) if (root / path).exists())
