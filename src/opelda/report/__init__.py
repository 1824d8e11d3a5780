"""Looking at a model: how much each topic weighs, which words stand for it, what to call it.

>>> from opelda import StreamingOPE
>>> from opelda.corpus import Vocabulary
>>> from opelda.report import topic_table
>>> texts = ["cats chase dogs", "dogs chase cats", "bonds rise", "bonds fall"] * 20
>>> model = StreamingOPE(2, batch_size=20, random_state=0)
>>> table = topic_table(model.fit_stream(texts, vocabulary=Vocabulary(growing=True)), n_words=3)
>>> sorted(sorted(row.words) for row in table)
[['bonds', 'fall', 'rise'], ['cats', 'chase', 'dogs']]
"""

from opelda.metrics._labels import label_topics
from opelda.report._ranking import rank_words, topic_weights
from opelda.report._table import TopicRow, topic_table

__all__ = ["TopicRow", "label_topics", "rank_words", "topic_table", "topic_weights"]
