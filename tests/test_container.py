"""The limits of containers, as files of control groups say them."""

import pytest

from opelda._container import memory_limit

NONE_V1 = 9223372036854771712


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "max"}, None),
        ("0::/\n", {"memory.max": 300}, 300),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": 500}, 500),
        ("0::/a/b\n", {"a/b/memory.max": 400, "a/memory.max": 500, "c/memory.max": 1}, 400),
        ("4:memory:/x\n0::/\n", {"memory/x/memory.limit_in_bytes": 70}, 70),
        ("4:memory:/x\n", {"memory/memory.limit_in_bytes": NONE_V1}, None),
        # a host's path, which the container does not see
        ("4:cpu,memory:/docker/f00\n", {"memory/memory.limit_in_bytes": 80}, 80),
        ("4:cpu:/x\n", {"memory/x/memory.limit_in_bytes": 70}, None),
        ("4:cpu:/x:y\n", {}, None),
        (None, {"memory.max": 300}, 300),
    ],
)
def test_the_least_of_all_groups_counts(tmp_path, own, files, limit):
    for name, value in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    if own is not None:
        (tmp_path / "own").write_text(own)
    assert memory_limit(tmp_path / "groups", tmp_path / "own") == limit
