"""Jobs on a real Ray cluster of this machine: processes that are killed, and memory."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from elmo_keras import Elmo, embed_corpus
from elmo_keras.embed.parts import folder_of
from tests.support import embedding_runs as runs
from tests.support.paths import ROOT
from tests.support.processes import descendants, peak_megabytes, title
from tests.support.waiting import wait_until

pytest.importorskip("ray", reason="needs Ray: pip install 'elmo-keras[ray]'")
pytestmark = pytest.mark.slow

OPTIONS = ["--layers", "average", "--pooling", "mean", "--part-kilobytes", "4"]
OPTIONS += ["--engine", "ray", "--workers", "2"]
AT_WORK = "ray::write_part"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Sentences of different lengths, in many small parts."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(runs.text_of(60_000, seed=1)))
    return path


@pytest.fixture(scope="module")
def expected(text, model_directory, tmp_path_factory):
    """The rows that the file command writes, without an interruption."""
    path = tmp_path_factory.mktemp("expected") / "out.parquet"
    elmo = Elmo.from_pretrained(model_directory)
    embed_corpus(elmo, text, path, layers="average", pooling="mean")
    return pq.read_table(path)


def check(output, expected):
    found = pq.read_table(output)
    assert found.schema.equals(expected.schema)
    assert found["id"].equals(expected["id"]) and found["text"].equals(expected["text"])
    vectors = (np.stack(table["vector"].to_numpy()) for table in (found, expected))
    np.testing.assert_allclose(*vectors, atol=1e-6)
    assert not folder_of(output).exists()


def test_ten_killed_workers_change_no_row(text, expected, model_directory, tmp_path):
    rng, output, killed = random.Random(0), tmp_path / "out", []

    with runs.start(text, output, model_directory, *OPTIONS) as process:
        while len(killed) < 10:
            runs.wait_for_parts(process, output, runs.n_parts(output) + 1)
            assert process.poll() is None, "the job should outlast the kills"
            time.sleep(rng.random() / 5)
            below = descendants(process.pid)
            if found := [pid for pid in below if AT_WORK in title(pid)]:
                killed.append(rng.choice(found))
                os.kill(killed[-1], signal.SIGKILL)
        _, error = process.communicate()
    assert process.returncode == 0, error
    check(output, expected)


def test_ten_killed_drivers_change_no_row(text, expected, model_directory, tmp_path):
    rng, output = random.Random(0), tmp_path / "out"
    for _ in range(10):
        before = runs.n_parts(output)
        with runs.start(text, output, model_directory, *OPTIONS) as process:
            runs.wait_for_parts(process, output, before + 1)
            time.sleep(rng.random() / 2)
            below = descendants(process.pid)
            process.kill()
        wait_until(lambda pids=below: not any(AT_WORK in title(pid) for pid in pids))
        assert process.returncode == -signal.SIGKILL, "killed while it worked"
        assert runs.n_parts(output) > before
    runs.run_whole(text, output, model_directory, *OPTIONS)
    check(output, expected)


def test_after_ctrl_c_the_same_command_resumes(
    text, expected, model_directory, tmp_path
):
    output = tmp_path / "out"
    with runs.start(text, output, model_directory, *OPTIONS) as process:
        runs.wait_for_parts(process, output, 4)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
    assert process.returncode == 130 and "The same command resumes" in error
    assert runs.n_parts(output) > 3
    runs.run_whole(text, output, model_directory, *OPTIONS)
    check(output, expected)


def peaks(folder, model, n_lines):
    """The highest peak of the driver and of a worker, in MB."""
    text, output = folder / "text.txt", folder / f"out-{n_lines}"
    text.write_text("".join(f"w{i % 999} and\n" for i in range(n_lines)))
    command = [sys.executable, "-c", runs.CONSOLE, "embed", text, output]
    command += ["--model", model]
    command += ["--engine", "ray", "--layers", "average", "--pooling", "mean"]
    highest = {"driver": 0, "worker": 0}
    with subprocess.Popen([*command, "--workers", "1"], cwd=ROOT) as process:
        while process.poll() is None:
            workers = [p for p in descendants(process.pid) if AT_WORK in title(p)]
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
