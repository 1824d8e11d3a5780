"""Looking at a model: weights, words and labels of topics, typical documents, figures.

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
from opelda.report._effects import EffectRow, estimate_effect
from opelda.report._labels import TopicToLabel, label_topics
from opelda.report._map import map_positions
from opelda.report._pyldavis import to_pyldavis
from opelda.report._rows import Table
from opelda.report._search import FoundRow, nearest, search
from opelda.report._shares import ShareRow, topics_by, topics_over_time
from opelda.report._similar import SimilarRow, similar_topics
from opelda.report._table import TopicRow, topic_table
from opelda.report._tree import MergeRow, TopicTree, topic_tree
from opelda.report._typical_documents import DocumentRow, top_documents
from opelda.report.page import write_report
from opelda.report.plots import (
    STYLE,
    plot_effect,
    plot_groups,
    plot_history,
    plot_learning,
    plot_map,
    plot_over_time,
    plot_topics,
    plot_tree,
    tidy,
)

__all__ = [
    "STYLE",
    "DocumentRow",
    "EffectRow",
    "FoundRow",
    "MergeRow",
    "ShareRow",
    "SimilarRow",
    "Table",
    "TopicRow",
    "TopicToLabel",
    "TopicTree",
    "estimate_effect",
    "label_topics",
    "map_positions",
    "nearest",
    "plot_effect",
    "plot_groups",
    "plot_history",
    "plot_learning",
    "plot_map",
    "plot_over_time",
    "plot_topics",
    "plot_tree",
    "rank_words",
    "search",
    "similar_topics",
    "tidy",
    "to_pyldavis",
    "top_documents",
    "topic_table",
    "topic_tree",
    "topic_weights",
    "topics_by",
    "topics_over_time",
    "write_report",
]
