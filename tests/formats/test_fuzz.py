"""Ten thousand damaged files: each is loaded, or refused in one line."""

import collections
import concurrent.futures
import os
import subprocess
import sys

import pytest

from tests.support.fuzz_worker import make_seeds
from tests.support.paths import ROOT

FILES = 10_000
PROCESSES = 2


def outcomes(seeds, start):
    """Yields (number, kind, outcome) for every PROCESSES-th file."""
    command = [sys.executable, "-m", "tests.support.fuzz_worker", str(seeds)]
    env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    settings = {"stdout": subprocess.PIPE, "text": True, "cwd": ROOT, "env": env}
    while start < FILES:
        numbers = map(str, (start, FILES, PROCESSES))
        with subprocess.Popen([*command, *numbers], **settings) as process:
            kind = None
            while started := process.stdout.readline():
                number, kind = started.split()
                start = int(number) + PROCESSES
                found = process.stdout.readline().strip()
                yield int(number), kind, found or "failed: the process died or hangs"
        assert kind, "A worker doesn't start."


@pytest.mark.slow  # 10,000 files take minutes
def test_damaged_files_are_loaded_or_refused_in_one_line(tmp_path):
    make_seeds(tmp_path)
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        shares = pool.map(lambda n: list(outcomes(tmp_path, n)), range(PROCESSES))
        found = [outcome for share in shares for outcome in share]
    assert sorted(number for number, _, _ in found) == list(range(FILES))
    assert [outcome for outcome in found if outcome[2].startswith("failed")] == []
    counts = collections.Counter((kind, result) for _, kind, result in found)
    for (kind, result), n in sorted(counts.items()):
        print(f"{kind:12} {result:8} {n:6,}")
    for kind in {kind for kind, _ in counts}:
        assert counts[kind, "refused"] > 0
