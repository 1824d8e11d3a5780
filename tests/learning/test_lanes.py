"""Lanes: baseline, false alarm rate and detection delay."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.learning.streaming._cusum import AT_LEAST, LEAST, LevelLanes, ShareLanes
from opelda.learning.streaming._watch import MOST_POINTS, Points

SEEDS = st.integers(0, 2**32 - 1)


def run(lanes, values, weights, limit):
    """Give blocks of (n, lanes) values one by one; return the lanes and all alarms."""
    alarms = []
    for block, (row, weight) in enumerate(zip(values, weights, strict=True)):
        lanes, seen = lanes.see(row, weight, limit)
        alarms += [(block, int(lane), +1) for lane in np.flatnonzero(seen.up)]
        alarms += [(block, int(lane), -1) for lane in np.flatnonzero(seen.down)]
    return lanes, alarms


def counted(rng, shares, n_tokens, clump=1):
    """ShareLanes of multinomial blocks whose tokens come in clumps of a topic."""
    counts = [rng.multinomial(n_tokens // clump, row) * clump for row in shares]
    return np.array(counts) / n_tokens, np.full((len(shares), shares.shape[1]), float(n_tokens))


@given(SEEDS, st.integers(2, LEAST))
def test_lanes_hold_the_mean_and_variance(seed, n_blocks):
    values = np.random.default_rng(seed).normal(5.0, 2.0, (n_blocks, 3))
    lanes, _ = run(LevelLanes.of(3, drop=1.0), values, np.full((n_blocks, 3), 7.0), math.inf)
    blocks, weight, mean, variance = lanes.table[:4]
    assert (blocks == n_blocks).all()
    np.testing.assert_allclose(weight, 7.0 * n_blocks)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(variance, 7.0 * values.var(axis=0))


@given(SEEDS, st.sampled_from([1, 3]))
def test_false_alarm_rate_is_at_most_the_stated_rate(seed, clump):
    rng, n_blocks, n_lanes, between = np.random.default_rng(seed), 300, 100, 1000
    shares = np.tile(rng.dirichlet(np.full(n_lanes, 2.0)), (n_blocks, 1))
    values, weights = counted(rng, shares, 6000, clump)
    levels = rng.normal(-6.0, 1.0 / np.sqrt(20.0), (n_blocks, n_lanes))
    _, moved = run(ShareLanes.of(n_lanes), values, weights, math.log(between))
    _, fell = run(
        LevelLanes.of(n_lanes, drop=0.3), levels, np.full_like(levels, 20.0), math.log(1000)
    )
    # once in 1000 blocks at most: 60 of rises and falls, 30 of falls
    assert len(moved) <= 2 * n_lanes * n_blocks / between
    assert len(fell) <= n_lanes * n_blocks / between


@settings(max_examples=5)
@given(SEEDS, st.sampled_from([1, 3]), st.sampled_from([2.0, 0.4]))
def test_lasting_change_raises_one_early_alarm(seed, clump, times):
    rng, n_lanes, before, after, limit = np.random.default_rng(seed), 20, 60, 40, 12.0
    shares = np.full((before + after, n_lanes), 0.05)
    shares[before:, 0] *= times
    shares[before:, 1:] = (1.0 - shares[before:, :1]) / (n_lanes - 1)
    seen = []
    for _ in range(20):
        _, alarms = run(ShareLanes.of(n_lanes), *counted(rng, shares, 6000, clump), limit)
        ours = [(block, side) for block, lane, side in alarms if lane == 0]
        side = 1 if times > 1 else -1
        # (one block before the change may resemble the blocks after it)
        soon = before + AT_LEAST - 2 <= ours[0][0] < before + 12
        seen.append(len(ours) == 1 and soon and ours[0][1] == side)
    assert sum(seen) >= 16  # in one of 200 there is another alarm


def test_alarms_contain_levels_before_and_after():
    values = np.array([[0.1, 0.9]] * 50 + [[0.3, 0.7]] * 10)
    lanes, found = ShareLanes.of(2), []
    for row in values:
        lanes, alarms = lanes.see(row, np.full(2, 1000.0), 12.0)
        found += [(alarms.before[0], alarms.now[0])] if alarms.up[0] else []
    ((before, now),) = found
    assert before == pytest.approx(0.1)
    assert now == pytest.approx(0.3)
    assert lanes.table[2, 0] == pytest.approx(0.3)  # which is usual from then on


def test_no_alarm_before_enough_blocks():
    values = np.array([[0.01, 0.99]] * (LEAST - 1) + [[0.5, 0.5]])
    _, alarms = run(ShareLanes.of(2), values, np.full((LEAST, 2), 1e6), 1e-3)
    assert not alarms


@given(st.floats(0.0, 1.0), st.integers(LEAST, 60))
def test_single_outlier_block_raises_no_alarm(odd, n_blocks):
    values = np.array([[0.1, 0.9]] * n_blocks + [[odd, 1 - odd]] + [[0.1, 0.9]] * 20)
    _, alarms = run(ShareLanes.of(2), values, np.full((len(values), 2), 6000.0), 12.0)
    assert not alarms


def test_topic_without_tokens_can_rise():
    values = np.array([[0.0, 1.0]] * 40 + [[0.02, 0.98]] * 10)
    _, alarms = run(ShareLanes.of(2), values, np.full((len(values), 2), 6000.0), 12.0)
    assert [(lane, side) for _, lane, side in alarms] == [(0, 1)]


@given(SEEDS)
def test_levels_fall_and_never_rise(seed):
    rng = np.random.default_rng(seed)
    levels = np.full((100, 2), -6.0)
    levels[60:] += [-0.5, 0.5]
    levels += rng.normal(0.0, 0.1, levels.shape)
    _, alarms = run(LevelLanes.of(2, drop=0.25), levels, np.full_like(levels, 200.0), 12.0)
    assert [(lane, side) for _, lane, side in alarms] == [(0, -1)]


def test_blocks_without_tokens_change_no_lane():
    lanes, _ = run(
        LevelLanes.of(1, drop=0.2), np.array([[-6.0], [-5.0]]), np.full((2, 1), 10.0), 12.0
    )
    again, alarms = lanes.see(np.array([-99.0]), np.zeros(1), 12.0)
    np.testing.assert_array_equal(again.table, lanes.table)
    assert not alarms.down.any()


def test_renewed_lanes_restart():
    lanes, _ = run(ShareLanes.of(3), np.full((30, 3), 1 / 3), np.full((30, 3), 100.0), 12.0)
    renewed = lanes.renewed(np.array([1]))
    assert not renewed.table[:, 1].any()
    np.testing.assert_array_equal(renewed.table[:, [0, 2]], lanes.table[:, [0, 2]])


@given(st.integers(1, 500))
def test_history_is_bounded_and_keeps_its_means(n_blocks):
    points, waiting = Points.none(2), []
    for block in range(1, n_blocks + 1):
        waiting.append([block, 1.0])
        if block % points.spacing == 0:
            shares = np.mean(waiting, axis=0)
            points = points.added(block, shares, np.ones(2), np.full((2, 10), block, np.int32))
            waiting = []
        assert len(points) < MOST_POINTS
    if len(points):
        # a point stands for the blocks since the one before
        ends = points.documents
        begins = np.concatenate(([0], ends[:-1]))
        np.testing.assert_allclose(points.shares[:, 0], (begins + 1 + ends) / 2)
        assert n_blocks - ends[-1] < points.spacing
        assert len(points) > MOST_POINTS / 4 or points.spacing == 1
        for document in range(n_blocks + 1):
            before = [at for at, end in enumerate(ends) if end <= document]
            assert points.before(document) == (before[-1] if before else 0)
