"""`opelda stream` on a pipe, killed repeatedly: identical bytes, constant memory."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

WRITER = Path(__file__).with_name("write_lines.py")
LINUX = Path("/proc/self/status").exists()


class Run:
    """A writer piped into `opelda stream`."""

    def __init__(self, folder, n_lines):
        self.writer = subprocess.Popen(
            [sys.executable, WRITER, str(n_lines)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        command = ["stream", "-", "--checkpoint", str(folder), "-k", "10", "--batch-size", "1000"]
        command += ["--max-features", "5000", "--every", "10", "--summary-every", "0", "--quiet"]
        self.reader = subprocess.Popen(
            [sys.executable, "-m", "opelda", *command],
            stdin=self.writer.stdout,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.writer.stdout.close()

    def end(self):
        _, complaints = self.reader.communicate()
        assert self.reader.returncode == 0, complaints
        self.writer.wait()

    def kill(self):
        self.reader.kill()
        self.reader.communicate()
        self.writer.wait()

    def peak(self):
        """Return the peak memory in kB; 0 after the end."""
        status = Path(f"/proc/{self.reader.pid}/status").read_text()
        return int((status.partition("VmHWM:")[2].split() or [0])[0])


def changes(path, run, n):
    """Wait until a checkpoint was written n times, or the run has ended."""
    before, left = None, n
    while left and run.reader.poll() is None:
        now = path.stat().st_mtime_ns if path.exists() else None
        left -= now != before
        before = now
        time.sleep(0.005)


def check(tmp_path, n_lines, n_kills, seed=0):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run = Run(whole, n_lines)
    peaks = []
    while LINUX and run.reader.poll() is None:
        if (whole / "checkpoint.opelda").exists():
            peaks.append(run.peak())
        time.sleep(0.2)
    run.end()
    peaks = [peak for peak in peaks if peak]
    chance = random.Random(seed)
    for _ in range(n_kills):
        run = Run(cut, n_lines)
        changes(cut / "checkpoint.opelda", run, chance.randint(1, max(2, n_lines // 30_000)))
        time.sleep(chance.random() * 0.2)
        run.kill()
    Run(cut, n_lines).end()
    assert (cut / "checkpoint.opelda").read_bytes() == (whole / "checkpoint.opelda").read_bytes()
    return peaks


def test_killed_stream_resumes_with_identical_bytes(tmp_path):
    check(tmp_path, 30_000, 2)


@pytest.mark.heavy
def test_three_million_lines_with_ten_kills(tmp_path):
    peaks = check(tmp_path, 3_000_000, 10)
    if peaks:
        third = peaks[len(peaks) // 3]
        print(f"peak memory {third} kB after a third, {peaks[-1]} kB at the end")
        assert peaks[-1] < 1.1 * third
