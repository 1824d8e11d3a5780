"""Streams learned by sweeps over a window of the last documents.

Early assignments are poor and would never be revised. So sweeps draw all tokens of the window
again; tokens that leave the window keep their topics, and fade. Whenever the window has grown
fourfold, the passes and sweeps of `fit` relearn the topics from all of it. A new theme replaces the
smallest topic, since sweeps do not separate a theme from a topic that took it in.
"""

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from opelda._validation import SMALLEST_COUNT
from opelda.engines.seam import FRACTION_SHIFT, HostWeights, Rows, TokenCounts, Updated, Weights
from opelda.learning._closing_sweeps import HeldCollection, Sweeps, too_small
from opelda.learning._plan import FIRST_WORD_PRIOR, Plan, UpdateBatch
from opelda.learning._seeding import begin
from opelda.learning._seeds import Anchors
from opelda.learning._state import State
from opelda.learning.streaming._watch import TOP_WORDS, Drawn, Watch, log_probabilities, names_of
from opelda.learning.streaming._window import Assignments, Window, count

LEAST_DOCS = 20  # that have a word, and that a theme has

Numbers = NDArray[np.int64]


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
    prevalence, rows = state.prevalence, None
    if prevalence is not None and batch.levels is not None:
        prevalence, rows = prevalence.extended(batch.levels)
    tokens: Any = engine.tokens(documents, plan.n_topics, shift=FRACTION_SHIFT, prior_rows=rows)
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
        alpha = window.alpha
        if prevalence is not None and prevalence.ratios is not None:
            alpha = alpha * prevalence.ratios
        # with a small alpha all tokens would follow a document's first
        alpha = alpha * np.maximum(1.0 / alpha.sum(axis=-1, keepdims=True), 1.0)
        drawn = engine.sweep(weights, tokens, alpha, seed=_seed(state, window))
    kept = Assignments(tokens.rows, tokens.topics, rows)
    if drawn is not None:
        seen = Drawn(engine, weights, kept, drawn, window.alpha, state.vocabulary)
        watch = watch.after(seen, state.n_docs_seen + batch.n_docs)
    with state.lock.writing():
        if drawn is not None:
            pull = plan.pull(state)
            limited = drawn if pull is None else Anchors(pull, tokens).limit(drawn)
            # half of both, twice: the sum
            engine.blend(weights, limited, 0.5)
            weights.shrink(2.0)
        window.take(kept)
        window.n_sweeps += 1
        state.watch, state.prevalence = watch, prevalence
        plan.count(state, batch, 1)
    added = perf_counter()
    # After an interruption the next documents sweep the former window.
    if window.starts:
        state.window = _start(plan, state, replace(window))
        state.watch = watch.restarted(is_settled=state.window.is_settled)
    elif window.is_due:
        state.window = _sweep(plan, state, replace(window))
    if plan.learns_prior:
        state.alpha = state.window.alpha
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
    averaged, prevalence, rows = window.n_averaged, state.prevalence, window.kept.prior_rows
    priors = None if prevalence is None or rows is None else prevalence.priors(rows)
    sweeps = Sweeps(plan, state, held, window.alpha, outside, counts + outside, averaged, priors)
    # Four sweeps, chosen on 1.2 million titles (seed 0) and 100,000 abstracts (benchmarks/streams).
    for last in (False, False, False, True):
        sweeps.sweep(_seed(state, window), find_word_prior=last)
        window.n_sweeps += 1
    sweeps.find_prior()
    if prevalence is not None and priors is not None:
        with state.lock.writing():
            state.prevalence = prevalence.learned(priors, sweeps.alpha)
    return replace(
        window,
        parts=[replace(window.kept, topics=tokens.topics)],
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
    # million titles (seed 0) and 100,000 abstracts (benchmarks/streams).
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
    prevalence, rows, priors = state.prevalence, kept.prior_rows, None
    if prevalence is not None and rows is not None:
        priors = replace(prevalence, ratios=np.ones_like(prevalence.shares)).priors(rows)
    tokens: Any = engine.tokens(documents, plan.n_topics, shift=FRACTION_SHIFT, prior_rows=rows)
    sweeps = Sweeps(plan, made, HeldCollection(engine, tokens), plan.alpha, priors=priors)
    for _ in sweeps.anneal(plan.schedule.n_sweeps):
        pass
    topics, alpha, found = tokens.topics, sweeps.alpha, made.weights.host()
    others: list[int] = []
    if state.n_updates > 1 and np.ndim(prior) < 2:  # (topics of given words have their numbers)
        n_seeded = 0 if plan.seeds is None else len(plan.seeds)
        order, others = _numbers(kept.topics, topics, plan.n_topics, n_seeded)
        topics, alpha = np.argsort(order).astype(np.uint16)[topics], alpha[order]
        if priors is not None:
            priors.ratios = priors.ratios[:, order]
        sums = None if found.sums is None else found.sums[order]
        found = replace(found, rows=np.ascontiguousarray(found.rows[:, order]), sums=sums)
    with state.lock.writing():
        weights.become(engine.weights(found))
        state.update(state.changed("replaced", others))
        if prevalence is not None and priors is not None:
            state.prevalence = prevalence.learned(priors, alpha)
    return replace(
        window,
        parts=[replace(kept, topics=topics)],
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


class Theme(NamedTuple):
    """A theme of the new documents, and the topic to replace."""

    words: Numbers  # bursting, the most frequent first
    tokens: Numbers  # in the window, of the theme's documents
    n_docs: int
    share: float  # of the new documents
    topic: int
    heirs: Numbers  # the other topic with most of each word


def new_theme(kept: Assignments, n_new: int, weights: Weights, n_seeded: int = 0) -> Theme | None:
    """Return the theme of the last documents that gains most, if any; keep `n_seeded` topics."""
    rows, n_old, n_topics = kept.rows, kept.rows.n_docs - n_new, weights.n_topics
    if n_old < n_new or n_topics < 2 or n_seeded == n_topics:
        return None
    words, usual = _bursting(rows, n_old)
    if len(words) < 2:
        return None
    recent = kept.divided(n_old)[1]
    ids = recent.token_words.astype(np.int64)
    sizes, lately = (np.bincount(part.topics, minlength=n_topics) for part in (kept, recent))
    now = sizes * (n_new / rows.n_docs) + lately  # a topic may be new itself
    topic = n_seeded + int(now[n_seeded:].argmin())
    heirs = _heirs(weights.host().rows, topic)
    of_topic = ids[recent.topics == topic]
    lost = log_probabilities(weights, of_topic, np.full(len(of_topic), topic)).sum()
    least = lost - log_probabilities(weights, of_topic, heirs[of_topic]).sum()
    best = None
    for own, documents in _together(recent.rows, words, usual):
        if len(documents) < LEAST_DOCS:
            continue
        tokens = recent.token_numbers(documents)
        seen = np.bincount(ids[tokens], minlength=weights.n_words)
        by_own = xlogy(seen, seen / len(tokens)).sum()
        gain = by_own - log_probabilities(weights, ids[tokens], recent.topics[tokens]).sum()
        if gain > max(least, 0.5 * len(tokens)):  # nats
            order = np.argsort(-seen[own], kind="stable")
            tokens, share = int(kept.ends[n_old]) + tokens, len(documents) / n_new
            best = Theme(own[order], tokens, len(documents), share, topic, heirs)
            least = gain
    return best


def give(theme: Theme, window: Window, weights: HostWeights) -> tuple[Window, HostWeights]:
    """Replace a topic by a theme; the topic's words go to the heirs."""
    rows, topic, heirs = weights.rows.copy(), theme.topic, theme.heirs
    rows[np.arange(len(rows)), heirs] += rows[:, topic]
    kept, cells = window.kept, window.outside.cells
    ids = kept.token_words
    rows[:, topic] = np.bincount(ids[theme.tokens], minlength=len(rows)) / weights.scale
    topics = np.where(kept.topics == topic, heirs[ids].astype(np.uint16), kept.topics)
    topics[theme.tokens] = topic
    owners = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    columns = np.where(cells.indices == topic, heirs[owners], cells.indices)
    outside = sparse.coo_array((cells.data, (owners, columns)), shape=cells.shape)
    return (
        replace(
            window,
            parts=[replace(kept, topics=topics)],
            outside=TokenCounts(sparse.csr_array(outside), window.outside.shift),
        ),
        replace(weights, rows=rows, sums=None),
    )


def _bursting(rows: Rows, n_old: int) -> tuple[Numbers, NDArray[np.float64]]:
    """Return words twice as frequent from document `n_old` on, and their former shares."""
    n_words = int(rows.words.max(initial=-1)) + 1
    parts = np.split(rows.words, [int(rows.indptr[n_old])])
    before, now = (np.bincount(part, minlength=n_words) for part in parts)
    n_new = rows.n_docs - n_old
    expected = (before + now) * (n_new / rows.n_docs)
    # of two Poisson counts against their common rate
    ratio = xlogy(now, now) - xlogy(now, expected)
    ratio += xlogy(before, before) - xlogy(before, before + now - expected)
    often = now * float(n_old) > 2.0 * n_new * before
    words = np.flatnonzero((now >= LEAST_DOCS) & often & (ratio > 20.0))
    words = np.sort(words[np.argsort(-ratio[words], kind="stable")][:500])
    return words, before[words] / max(len(parts[0]), 1)


def _together(
    rows: Rows, words: Numbers, usual: NDArray[np.float64]
) -> list[tuple[Numbers, Numbers]]:
    """Group words that come together; return groups, and documents full of a group's words.

    Two words come together in five documents, five times and four standard deviations above chance.
    """
    numbers = np.full(int(rows.words.max()) + 1, -1)
    numbers[words] = np.arange(len(words))
    sizes = np.diff(rows.indptr)
    columns, documents = numbers[rows.words], np.repeat(np.arange(rows.n_docs), sizes)
    here = columns >= 0
    entries, shape = (documents[here], columns[here]), (rows.n_docs, len(words))
    have = sparse.csr_array(sparse.coo_array((np.ones(here.sum()), entries), shape=shape))
    pairs = (have.T @ have).tocoo()
    times = have.sum(axis=0)
    chance = times[pairs.row] * times[pairs.col] / rows.n_docs
    # frequent words come together if they are nearer to "always" than to chance
    nearer = np.sqrt(chance * np.minimum(times[pairs.row], times[pairs.col]))
    linked = (pairs.data >= 5) & (pairs.data > np.minimum(5.0 * chance, nearer))
    linked &= pairs.data - chance > 4.0 * np.sqrt(chance)
    edges = pairs.row[linked], pairs.col[linked]
    graph = sparse.coo_array((np.ones(linked.sum()), edges), shape=pairs.shape)
    n_groups, group = connected_components(graph, directed=False)
    found = []
    for number in np.flatnonzero(np.bincount(group, minlength=n_groups) > 1):
        own = group == number
        # four times as many of the words as usual, and one more
        full = have @ own.astype(float) > 1.0 + 4.0 * usual[own].sum() * sizes
        found.append((words[own], np.flatnonzero(full)))
    return found


def _heirs(rows: NDArray[np.float32], topic: int) -> Numbers:
    """Return the topic with most of each word, except `topic`."""
    others = rows.copy()
    others[:, topic] = -1.0
    heirs: Numbers = others.argmax(axis=1)
    return heirs
