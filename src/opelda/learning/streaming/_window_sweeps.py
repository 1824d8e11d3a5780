"""Streams learned by sweeps over a window of the last documents.

Early assignments are poor and would never be revised. So sweeps draw all tokens of the window
again; tokens that leave the window keep their topics, and fade. Whenever the window has grown
fourfold, the passes and sweeps of `fit` relearn the topics from all of it, since topics of few
documents would stay poor.
"""

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import SMALLEST_COUNT
from opelda.engines.seam import FRACTION_SHIFT, Updated
from opelda.learning._closing_sweeps import HeldCollection, Sweeps, too_small
from opelda.learning._plan import FIRST_WORD_PRIOR, Plan, UpdateBatch
from opelda.learning._seeding import begin
from opelda.learning._seeds import Anchors
from opelda.learning._state import State
from opelda.learning.streaming._renewal import give, new_theme
from opelda.learning.streaming._watch import TOP_WORDS, Drawn, Watch, names_of
from opelda.learning.streaming._window import Assignments, Window, count


def learn(plan: Plan, state: State, batch: UpdateBatch) -> Updated | None:
    """Learn from new documents, by sweeps if the schedule has any, else by one update."""
    if not plan.schedule.n_sweeps:
        if plan.seeds is not None and not state.n_updates:
            documents = batch.documents
            if batch.chosen is not None:
                documents = plan.engine.documents(documents.matrix[batch.chosen])
            with state.lock.writing():
                begin(plan, state, documents)
        return plan.update(state, batch)
    engine, weights, started = plan.engine, state.weights, perf_counter()
    X = batch.documents.matrix if batch.chosen is None else batch.documents.matrix[batch.chosen]
    if X.nnz and X.data.max() > 2.0**24:  # larger counts could overflow sums in 64 bits
        X = X.minimum(2.0**24)
    documents = engine.documents(sparse.csr_array(X))
    tokens: Any = engine.tokens(documents, plan.n_topics, shift=FRACTION_SHIFT)
    if not len(tokens.rows.words):
        plan.count(state, batch, 0)
        return None
    counted = X.data[X.data > SMALLEST_COUNT]
    if 2 * np.count_nonzero(counted < 0.5 ** (FRACTION_SHIFT + 1)) > len(counted):
        raise too_small()
    if state.window is None:
        state.window = Window.beside(
            weights, plan.alpha, state.population if state.n_updates else 0
        )
    window = state.window
    drawn, watch = None, state.watch
    if watch is None:
        watch = Watch.of(plan.n_topics, weights.n_words, is_settled=window.is_settled)
    if state.n_updates:
        # with a small alpha all tokens would follow a document's first
        alpha = window.alpha * max(1.0 / window.alpha.sum(), 1.0)
        drawn = engine.sweep(weights, tokens, alpha, seed=_seed(state, window))
    kept = Assignments(tokens.rows, tokens.topics)
    if drawn is not None:
        seen = Drawn(engine, weights, kept, drawn, window.alpha, state.vocabulary)
        watch = watch.after(seen, state.n_docs_seen + batch.n_docs)
    with state.lock.writing():
        if drawn is not None:
            pull = plan.pull(state)
            limited = drawn if pull is None else Anchors.of(pull, tokens).limit(drawn)
            # half of both, twice: the sum
            engine.blend(weights, limited, 0.5)
            weights.shrink(2.0)
        window.take(kept)
        window.n_sweeps += 1
        state.watch = watch
        plan.count(state, batch, 1)
    added = perf_counter()
    # After an interruption the next documents sweep the former window.
    if window.starts:
        state.window = _start(plan, state, replace(window))
        state.watch = watch.restarted(is_settled=state.window.is_settled)
    elif window.is_due:
        state.window = _sweep(plan, state, replace(window))
    share = float(tokens.lengths.sum() / (weights.scale * weights.sums.sum()))
    return Updated(min(share, 1.0), perf_counter() - added, added - started, np.nan)


def _sweep(plan: Plan, state: State, window: Window) -> Window:
    """Sweep all tokens of the window four times."""
    engine, weights = plan.engine, state.weights
    tokens, counts = window.trim(engine, weights)
    renewed = _renew(plan, state, window)
    if renewed is not window:
        window, tokens = renewed, renewed.kept.tokens(engine, weights)
        counts = count(engine, weights, tokens)
    outside, held = window.outside, HeldCollection(engine, tokens)
    averaged = window.n_averaged
    sweeps = Sweeps(plan, state, held, window.alpha, outside, counts + outside, averaged)
    # Four sweeps, chosen on 1.2 million titles (seed 0) and 100,000 abstracts (benchmarks/streams,
    # best.py).
    for last in (False, False, False, True):
        sweeps.sweep(_seed(state, window), find_word_prior=last)
        window.n_sweeps += 1
    sweeps.find_prior()
    return replace(
        window,
        parts=[Assignments(window.kept.rows, tokens.topics)],
        alpha=sweeps.alpha,
        n_new=0,
        n_averaged=sweeps.n_made,
    )


def _renew(plan: Plan, state: State, window: Window) -> Window:
    """Replace the smallest topic by a new theme, if any."""
    weights, watch = state.weights, state.watch
    theme = None
    if np.ndim(weights.prior) < 2:  # else topics that were given words keep them
        n_seeded = 0 if plan.seeds is None else len(plan.seeds)
        theme = new_theme(window.kept, window.n_new, weights, n_seeded)
    if theme is None:
        return window
    window, made = give(theme, window, weights.host())
    if plan.learns_prior:
        alpha = window.alpha.copy()
        alpha[theme.topic] = np.median(alpha)
        window = replace(window, alpha=alpha)
    with state.lock.writing():
        weights.become(plan.engine.weights(made))
        state.update(state.changed("replaced", [theme.topic]))
        if watch is not None:
            numbers = {"documents": float(theme.n_docs), "share": theme.share}
            words = names_of(theme.words[:TOP_WORDS], state.vocabulary)
            state.watch = watch.new_topic(theme.topic, state.n_docs_seen, numbers, words)
    return window


def _start(plan: Plan, state: State, window: Window) -> Window:
    """Relearn the topics from all documents of the window, as `fit` does."""
    engine, weights, kept = plan.engine, state.weights, window.kept
    documents = kept.documents(engine, weights.n_words)
    # Five passes of 80 updates each, of at least 50 documents, until 400,000 visits; chosen on 1.2
    # million titles (seed 0) and 100,000 abstracts (benchmarks/streams, best.py).
    batch_size = min(plan.schedule.batch_size, max(50, documents.n_docs // 80))
    plan = replace(plan, schedule=replace(plan.schedule, batch_size=batch_size, n_passes=5))
    prior = FIRST_WORD_PRIOR if plan.learns_word_prior else weights.host().prior
    made = State(
        engine.random_weights(weights.n_words, plan.n_topics, prior, state.seed),
        state.seed,
        population=documents.n_docs,
        vocabulary=state.vocabulary,
    )
    begin(plan, made, documents)
    for batch in plan.passes(documents):
        plan.update(made, batch)
        if made.n_docs_seen >= 400_000:
            break
    tokens: Any = engine.tokens(documents, plan.n_topics, shift=FRACTION_SHIFT)
    sweeps = Sweeps(plan, made, HeldCollection(engine, tokens), plan.alpha)
    for _ in sweeps.anneal(plan.schedule.n_sweeps):
        pass
    topics, alpha, found = tokens.topics, sweeps.alpha, made.weights.host()
    others: list[int] = []
    if state.n_updates > 1 and np.ndim(prior) < 2:  # (topics of given words have their numbers)
        n_seeded = 0 if plan.seeds is None else len(plan.seeds)
        order, others = _numbers(kept.topics, topics, plan.n_topics, n_seeded)
        topics, alpha = np.argsort(order).astype(np.uint16)[topics], alpha[order]
        sums = None if found.sums is None else found.sums[order]
        found = replace(found, rows=np.ascontiguousarray(found.rows[:, order]), sums=sums)
    with state.lock.writing():
        weights.become(engine.weights(found))
        state.update(state.changed("replaced", others))
    return replace(
        window,
        parts=[Assignments(kept.rows, topics)],
        alpha=alpha,
        n_new=0,
        n_averaged=sweeps.n_made,
        started=window.begun,
    )


def _numbers(
    before: NDArray[np.uint16], now: NDArray[np.uint16], n_topics: int, n_seeded: int = 0
) -> tuple[NDArray[np.int64], list[int]]:
    """Match former and new topics by shared tokens; return the matches and changed topics.

    Pairs with most shared tokens come first. A changed topic shares less than half of its tokens
    with its match. The first `n_seeded` topics have seed words and keep their numbers.
    """
    pairs, shared = np.unique(before.astype(np.int64) * n_topics + now, return_counts=True)
    order = np.argsort(-shared, kind="stable")
    olds, news = np.divmod(pairs[order], n_topics)
    found, stayed = [-1] * n_topics, [0] * n_topics
    found[:n_seeded] = range(n_seeded)
    free = dict.fromkeys(range(n_seeded, n_topics))
    columns: Any = (memoryview(each) for each in (olds, news, shared[order]))
    for old, new, n in zip(*columns, strict=True):
        if found[old] < 0 and new in free:
            found[old], stayed[old] = new, n
            del free[new]
    rest = iter(free)
    found = [next(rest) if new < 0 else new for new in found]
    others = np.flatnonzero(2 * np.array(stayed) < np.bincount(before, minlength=n_topics))
    return np.array(found), others[others >= n_seeded].tolist()


def _seed(state: State, window: Window) -> int:
    """Return the seed of the window's next sweep."""
    return state.seed + ((window.n_sweeps + 1) % 2**32 << 32)
