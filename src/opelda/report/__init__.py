"""Looking at a model: weights, words and labels of topics, typical documents, figures.

Tables are of rows of `opelda.report.rows`; figures are drawn by `opelda.report.plots`.

Examples
--------
>>> from opelda import StreamingOPE
>>> from opelda.corpus import Vocabulary
>>> from opelda.report import topic_table
>>> texts = ["cats chase dogs", "dogs chase cats", "bonds rise", "bonds fall"] * 20
>>> model = StreamingOPE(2, batch_size=20, random_state=0)
>>> table = topic_table(model.fit_stream(texts, vocabulary=Vocabulary(growing=True)), n_words=3)
>>> sorted(sorted(row.words) for row in table)
[['bonds', 'fall', 'rise'], ['cats', 'chase', 'dogs']]
"""

from opelda.metrics._ranking import rank_words, topic_weights
from opelda.report import plots, rows
from opelda.report._effects import estimate_effect
from opelda.report._retrieval import nearest, search, top_documents
from opelda.report._shares import topics_by, topics_over_time
from opelda.report._topic_map import map_positions
from opelda.report._topic_table import label_topics, to_pyldavis, topic_table
from opelda.report._topic_tree import similar_topics, topic_tree
from opelda.report.page._write import write_report

__all__ = [
    "estimate_effect",
    "label_topics",
    "map_positions",
    "nearest",
    "plots",
    "rank_words",
    "rows",
    "search",
    "similar_topics",
    "to_pyldavis",
    "top_documents",
    "topic_table",
    "topic_tree",
    "topic_weights",
    "topics_by",
    "topics_over_time",
    "write_report",
]
