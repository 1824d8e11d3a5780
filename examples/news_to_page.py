"""Write an HTML report on the topics of a news file.

    python examples/news_to_page.py articles.jsonl page.html

Any format that opelda reads will do; titles, dates and sections improve the report.
"""

import sys

from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.report import top_documents, topic_table, write_report


def main(source: str, page: str) -> None:
    """Train on a file and write the report."""
    corpus = read(source, tokenizer=Tokenizer(phrases=True), metadata="auto")
    n_topics = max(5, min(50, corpus.X.shape[0] // 50))
    model = TopicModel(n_topics, random_state=0).fit(corpus)
    for row in list(topic_table(model, n_words=6))[:5]:
        [typical] = top_documents(model, corpus, n=1, topics=[row.topic])
        print(f"{row.weight:.1%}  {row.label}: {typical.name}")
    write_report(model, source, page, title=f"Topics of {source}")
    print(f"All {n_topics} topics are on {page}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
