"""The memory that a job on Ray takes, in the driver and in the workers."""

import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from tests.support.paths import ROOT
from tests.support.processes import descendants, peak_megabytes, title

pytest.importorskip("ray", reason="needs Ray: pip install 'elmo-keras[ray]'")
pytestmark = pytest.mark.slow


def peaks(folder, model, n_lines):
    """The highest peak of the driver and of a worker, in MB."""
    text, output = folder / "text.txt", folder / f"out-{n_lines}"
    text.write_text("".join(f"w{i % 999} and\n" for i in range(n_lines)))
    command = [sys.executable, "-m", "elmo_keras.embed", text, output, "--model", model]
    command += ["--engine", "ray", "--layers", "average", "--pooling", "mean"]
    highest = {"driver": 0, "worker": 0}
    with subprocess.Popen([*command, "--workers", "1"], cwd=ROOT) as process:
        while process.poll() is None:
            workers = [p for p in descendants(process.pid) if "PieceWorker" in title(p)]
            found = {"driver": [process.pid], "worker": workers}
            for name, pids in found.items():
                highest[name] = max([highest[name], *map(peak_megabytes, pids)])
            time.sleep(0.1)
    assert process.returncode == 0
    n_rows = sum(pq.read_metadata(path).num_rows for path in output.iterdir())
    assert n_rows == n_lines
    return highest


def test_memory_does_not_grow_with_the_corpus(model_directory, tmp_path, capsys):
    short = peaks(tmp_path, model_directory, 10_000)
    long = peaks(tmp_path, model_directory, 1_000_000)
    with capsys.disabled():
        print(f"\n10,000 lines: {short} MB; 1,000,000 lines: {long} MB")
    for name in short:
        assert long[name] < 1.1 * short[name] + 50, name  # a piece is not full before
