"""Reading and counting at the same time: one thread reads, the others count, in order."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

from scipy import sparse

from opelda._validation import whole
from opelda.corpus._block import Block
from opelda.corpus._block_counting import BlockCounter
from opelda.corpus._counting import Counted
from opelda.corpus.sources import Source

# Blocks in flight for each thread.
AHEAD = 2

Progress = Callable[[int, int | None, int | None], Any]


def limited(
    source: Source,
    block_size: int,
    limit: int | None = None,
    progress: Progress | None = None,
    position: Any = None,
) -> Iterator[Block]:
    """Yield a source's blocks up to so many documents, and say how far reading is."""
    most = whole("limit", limit) if limit is not None else 2**63
    n_docs, ended = 0, False
    while not ended:
        size = min(block_size, most - n_docs)
        ended = True
        for block in source.blocks(size, position):
            position = block.position
            if n_docs + len(block) > most:  # of a source that cannot be asked for fewer
                block = block.first(most - n_docs)
            n_docs += len(block)
            yield block
            if progress is not None:
                done, total = source.progress() or (None, None)
                progress(n_docs, done, total)
            if n_docs == most:
                return
            if most - n_docs < size and source.reopens:
                ended = False
                break


def counted(
    blocks: Iterator[Block], counter: BlockCounter, n_threads: int
) -> Iterator[tuple[Block, Counted | sparse.csr_array]]:
    """Yield each block with its counts, in order; the next ones are being counted meanwhile.

    Without threads no block is read before the one before it was used.
    """
    first = next(blocks, None)
    if first is None:
        return
    counter.settle(first)
    if not n_threads:
        for block in chain([first], blocks):
            yield block, counter.count(block)
        return
    waiting: deque[tuple[Block, Future[Counted | sparse.csr_array]]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            waiting.append((first, pool.submit(counter.count, first)))
            del first
            failure: Exception | None = None
            while True:
                try:
                    following = next(blocks, None)
                except Exception as error:  # what was read before it counts all the same
                    following, failure = None, error
                if following is None:
                    break
                waiting.append((following, pool.submit(counter.count, following)))
                del following
                if len(waiting) > AHEAD * n_threads:
                    done, counts = waiting.popleft()
                    yield done, counts.result()
            while waiting:
                done, counts = waiting.popleft()
                yield done, counts.result()
            if failure is not None:
                raise failure
        finally:
            for _, future in waiting:
                future.cancel()
