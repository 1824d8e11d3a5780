"""The memory that a container, or any control group of Linux's, lets this process have."""

from pathlib import Path, PurePosixPath


def memory_limit(
    groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int | None:
    """Return the bytes of memory that the process may have; None where nothing limits it."""
    found = []
    for group in _groups(own):
        for file in ("memory.max", "memory.limit_in_bytes"):
            try:
                found.append(int((groups / group / file).read_text()))
            except (OSError, ValueError):  # none, or "max"
                continue
    least = min(found, default=2**63)
    return least if least < 2**60 else None  # the older groups have a number for no limit


def _groups(own: Path) -> set[PurePosixPath]:
    """Return the group that the process is in and those that this one is in.

    The path of a group is that of its host where a container has no names of its own; the limit is
    then that of the root.
    """
    found = {PurePosixPath(), PurePosixPath("memory")}
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        _, kinds, path = line.split(":", 2)
        group = PurePosixPath("memory" if kinds else "", path.lstrip("/"))
        if not kinds or "memory" in kinds.split(","):
            found |= {group, *group.parents}
    return found
