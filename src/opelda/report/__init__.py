"""Tables, figures and pages of a model: topics, words, labels, documents, shares.

Tables have rows of `opelda.report.rows`; `opelda.report.plots` draws figures.
"""

from opelda.metrics._top_words import rank_words as rank_words
from opelda.metrics._top_words import topic_weights as topic_weights
from opelda.report import plots as plots
from opelda.report import rows as rows
from opelda.report._effects import estimate_effect
from opelda.report._proxann import export_proxann
from opelda.report._retrieval import nearest, search, top_documents
from opelda.report._shares import topics_by, topics_over_time
from opelda.report._topic_map import map_positions
from opelda.report._topic_table import label_topics, to_pyldavis, topic_table, words_by_group
from opelda.report._topic_tree import similar_topics, topic_tree
from opelda.report.page._write import write_report

__all__ = [
    "estimate_effect",
    "export_proxann",
    "label_topics",
    "map_positions",
    "nearest",
    "search",
    "similar_topics",
    "to_pyldavis",
    "top_documents",
    "topic_table",
    "topic_tree",
    "topics_by",
    "topics_over_time",
    "words_by_group",
    "write_report",
]
