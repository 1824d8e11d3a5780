"""Hypothesis profiles: a short run everywhere, a long one behind `make test-heavy`."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn leaves out one of its checks

from hypothesis import HealthCheck, settings

for name, examples in (("short", 25), ("heavy", 1000)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,  # the machine may be busy
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
