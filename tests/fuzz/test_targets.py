"""The targets of `make fuzz` on their seeds, whole and damaged."""

import random

import pytest

from tests.corpus.formats.test_text_damage import damaged
from tests.fuzz.targets import targets


@pytest.mark.parametrize("name", targets())
def test_seeds_and_damaged_seeds(name, tmp_path):
    rng = random.Random(name)
    target = targets()[name]
    for seed in target.seeds:
        target.run(seed, tmp_path)
    for _ in range(20):
        target.run(damaged(rng, rng.choice(target.seeds)), tmp_path)
