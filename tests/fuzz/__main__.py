"""Coverage-guided fuzzing by Atheris (libFuzzer) of every target: `make fuzz`, or

python -m tests.fuzz [--cases N] [--replay] [TARGET ...]

A case may take 1 s of processor time and 2 GB of memory. Findings are saved in build/fuzz, with
the cases from which the next run starts.
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path("build/fuzz")
MOST_SECONDS, MOST_MEGABYTES = 1.0, 2048
# per 1,000 cases: cheap targets have more
SHARES = {"model": 250, "request": 150, "uci": 100, "ldac": 100, "mm": 100, "vocabulary": 80}
SHARES |= {"npz": 60, "jsonl": 40, "lines": 30, "parquet": 30, "tsv": 15, "csv": 15, "file": 12}
SHARES |= {"mallet": 10, "words": 5}


def main() -> int:
    """Fuzz some targets, each in its own process, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", choices=[*SHARES, []], metavar="TARGET")
    parser.add_argument("--cases", type=int, default=1_000_000, help="of all targets together")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--replay", action="store_true", help="run the cases that earlier runs kept"
    )
    asked = parser.parse_args()
    names = asked.targets or list(SHARES)
    if asked.replay:
        return replay(names)
    if asked.one:
        fuzz(names[0], asked.cases)
    whole, failed = sum(SHARES[name] for name in names), []
    print(f"{'target':<12}{'cases':>10}{'kept':>7}{'longest s':>11}{'peak MB':>9}{'minutes':>9}")
    for name in names:
        n_cases = max(1, asked.cases * SHARES[name] // whole)
        command = [sys.executable, "-m", "tests.fuzz", name, "--one", "--cases", str(n_cases)]
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        with open(FOLDER / f"{name}.log", "wb") as log:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log)
        if done.returncode:
            failed.append(name)
            print(f"{name:<12}failed: see {FOLDER / name}.log", flush=True)
            continue
        facts = json.loads(done.stdout.splitlines()[-1])
        print("{name:<12}{cases:>10,}{kept:>7,}{longest:>11.3f}{peak:>9,}{minutes:>9.1f}"
              .format(name=name, **facts), flush=True)  # fmt: skip
    return len(failed)


def replay(names: list[str]) -> int:
    """Run targets on the kept cases without a fuzzer, for example under a sanitizer."""
    from tests.fuzz.targets import targets

    for name in names:
        cases = sorted((FOLDER / name).iterdir()) if (FOLDER / name).is_dir() else []
        with tempfile.TemporaryDirectory() as folder:
            for case in cases:
                print(case, file=sys.stderr, flush=True)  # the last case ended the process
                targets()[name].run(case.read_bytes(), Path(folder))
        print(f"{name:<12}{len(cases):>10,} kept cases replayed", flush=True)
    return 0


def fuzz(name: str, n_cases: int) -> None:
    """Fuzz one target and end the process."""
    import atheris

    with atheris.instrument_imports(include=["opelda"]):
        from opelda._store import read as read_model
        from tests.fuzz.targets import targets

        if "_trace_branch" not in read_model.__code__.co_names:
            sys.exit("Atheris sees no coverage of opelda: install it as `make fuzz` does.")
        target = targets()[name]
        place, seeds = FOLDER / f"{name}.files", FOLDER / f"{name}.seeds"
        for folder in (place, seeds):
            folder.mkdir(exist_ok=True)
        for number, seed in enumerate(target.seeds):
            (seeds / str(number)).write_bytes(seed)
            target.run(seed, place)  # so that lazy imports happen here
    n_done, longest, begun = 0, 0.0, time.monotonic()

    def one(data: bytes) -> None:
        nonlocal n_done, longest
        before = time.process_time()
        target.run(data, place)
        seconds = time.process_time() - before
        n_done, longest = n_done + 1, max(longest, seconds)
        if seconds > MOST_SECONDS:
            raise TimeoutError(f"This case took {seconds:.1f} s of processor time.")
        if n_done >= n_cases:
            facts = {
                "cases": n_done,
                "kept": len(os.listdir(FOLDER / name)),
                "longest": longest,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "minutes": (time.monotonic() - begun) / 60,
            }
            print(json.dumps(facts), flush=True)
            os._exit(0)  # the fuzzer would continue

    flags = [
        f"-rss_limit_mb={MOST_MEGABYTES}",
        "-timeout=300",
        f"-artifact_prefix={FOLDER}/{name}-",
    ]
    atheris.Setup([name, *flags, "-max_len=20000", str(FOLDER / name), str(seeds)], one)
    count_native_blocks()
    atheris.Fuzz()


def count_native_blocks() -> None:
    """Register the coverage counters of an OPELDA_COVERAGE build."""
    from atheris import core_with_libfuzzer

    from opelda import _text

    try:
        counters = (ctypes.c_uint8 * 2**14).in_dll(ctypes.CDLL(_text.__file__), "opelda_blocks")
    except ValueError:
        print("This build has no counters: the fuzzer sees Python only.", file=sys.stderr)
        return
    fuzzer = ctypes.CDLL(core_with_libfuzzer.__file__)
    start = ctypes.addressof(counters)
    # one artificial address per counter, as the fuzzer requires
    table = (ctypes.c_uint64 * 2**15)(*(value for i in range(2**14) for value in (start + i, 0)))
    count_native_blocks.kept = table
    for function, array in (("8bit_counters", counters), ("pcs", table)):
        first = ctypes.addressof(array)
        ends = ctypes.c_void_p(first), ctypes.c_void_p(first + ctypes.sizeof(array))
        getattr(fuzzer, f"__sanitizer_cov_{function}_init")(*ends)


if __name__ == "__main__":
    sys.exit(main())
