"""From news to a page about them: read, leave out copies, learn, look, write one HTML file.

    python examples/news_to_page.py articles.jsonl page.html

The file may be anything that opelda reads, best with columns of titles, dates and sections.
"""

import sys

from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.report import top_documents, topic_table, write_report


def main(source: str, page: str) -> None:
    """Learn the topics of a file and write the page."""
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
