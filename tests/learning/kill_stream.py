"""A stream with checkpoints, made to be killed: python kill_stream.py FOLDER EVERY."""

import sys

from opelda import OnlineOPE
from opelda.corpus import Vocabulary, generate_stream


def main(folder: str, every: int) -> None:
    source = generate_stream(30_000, batch_size=200, n_words=3000, new_words_per_batch=500)
    words = Vocabulary(growing=True, max_features=2500)
    model = OnlineOPE(20, n_iter=20, random_state=0)
    model.fit_stream(source, vocabulary=words, checkpoint=folder, every=every)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
