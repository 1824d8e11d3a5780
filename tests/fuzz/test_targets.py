"""The targets of `make fuzz` on their seeds, valid and corrupted."""

import random

import pytest

from tests.corpus.formats.test_text_damage import damaged
from tests.fuzz.targets import targets


@pytest.mark.parametrize("name", targets())
def test_fuzz_targets_accept_seeds_and_corrupted_seeds(name, tmp_path):
    rng = random.Random(name)
    target = targets()[name]
    for seed in target.seeds:
        target.run(seed, tmp_path)
    for _ in range(20):
        target.run(damaged(rng, rng.choice(target.seeds)), tmp_path)
