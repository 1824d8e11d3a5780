"""Messages for Python's users in the words of the command line."""

import re

# names that are nothing but parameters
PARAMETERS = {
    "text_column": "--text-column",
    "name_column": "--name-column",
    "column_words": "--column-words",
    "on_error": "--on-error",
    "min_df": "--min-df",
    "max_df": "--max-df",
    "max_features": "--max-features",
    "first_id": "--first-id",
    "stop_words": "--stop-words",
    "n_components": "the number of topics",
    "doc_topic_prior": "--alpha",
    "topic_word_prior": "--eta",
    "learning_decay": "--learning-decay",
    "learning_offset": "--learning-offset",
    "batch_size": "--batch-size",
    "n_sweeps": "--sweeps",
    "n_iter": "--n-iter",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "n_test": "--test-docs",
    "held_out": "--held-out",
    "n_words": "--words",
}
# words like any other, unless they are used as parameters are
WORDS = ("encoding", "format", "limit", "pattern", "stem", "ngrams")

_VALUE = r"""(?P<value>'[^']*'|"[^"]*"|\d+(?:\.\d+)?)?"""
_WORDS = "|".join(WORDS)
_SAID = re.compile(
    # what is quoted is the user's own: a name, a word
    r"""(?<![\w=])(?P<quoted>'[^']*'|"[^"]*")(?!\w)"""
    # a name in a sentence, which neither begins nor ends within a path or another name
    rf"""|(?<![^\s(])(?:(?P<given>{"|".join(PARAMETERS)}|{_WORDS})={_VALUE}(?![\w=/\\'"-]|\.\w)"""
    rf"""|(?P<alone>{"|".join(PARAMETERS)}|^(?:{_WORDS})(?=\ must\ ))(?![^\s,;:.)]|[.:,]\S))"""
)


def with_options(text: str) -> str:
    """Call parameters by the options that set them, and leave everything else as it is.

    >>> with_options("a.csv is not utf-8; give encoding='latin-1', or a column with text_column=.")
    'a.csv is not utf-8; give --encoding latin-1, or a column with --text-column.'
    >>> with_options("min_df must be positive in min_df_data.txt and 'the min_df'.")
    "--min-df must be positive in min_df_data.txt and 'the min_df'."
    """
    return _SAID.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    if match["quoted"]:
        return match[0]
    name = match["given"] or match["alone"]
    option = PARAMETERS.get(name, f"--{name}")
    value = (match["value"] or "").strip("'\"")
    return f"{option} {value}" if value else option
