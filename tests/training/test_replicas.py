"""Several replicas, parts and processes give the update that one gives."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf
from conftest import ROOT, prepared_run

import train
from elmo_keras.checkpoint import checkpoints, newest_checkpoint
from elmo_keras.distribution import gather_rows
from elmo_keras.training_run import CHECKPOINTS, batches, compiled_step

N_STEPS = 20
# Bound by which the gradient is clipped at every step.
ARGUMENTS = ["--preset", "test", "--dropout", "0", "--clip-norm", "0.5"]
ARGUMENTS += ["--steps", str(N_STEPS), "--negatives", "100"]
# Sums of floats in another order, over twenty steps.
TOLERANCE = 1e-6


def trained(folder, *arguments):
    """A run after its steps, and the losses and token counts on the way."""
    run = prepared_run([*ARGUMENTS, *arguments, "--output", str(folder / "model")])
    run.reset_state()
    step, seen = compiled_step(run, batches(run).element_spec), []
    for batch, _ in zip(iter(batches(run)), range(N_STEPS)):
        loss, n_predictions, run.state = step(batch, run.state)
        seen.append((float(loss), float(n_predictions)))
    state = tf.nest.flatten(gather_rows(run.strategy, run.state))
    variables = [*run.bilm.trainable_weights, *run.optimizer.variables]
    return np.array(seen), [v.numpy() for v in variables], state


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("alone"), "--batch-size", "8")


@pytest.mark.parametrize(
    "arguments",
    [["--batch-size", "4", "--replicas", "2"], ["--batch-size", "8", "--parts", "2"]],
)
def test_the_update_does_not_depend_on_how_rows_are_divided(alone, arguments, tmp_path):
    divided = trained(tmp_path, *arguments)
    np.testing.assert_allclose(divided[0], alone[0], rtol=1e-6)
    differences = [
        max(np.abs(a - b).max() for a, b in zip(one, other, strict=True))
        for one, other in zip(divided[1:], alone[1:])
    ]
    print(
        f"\n{' '.join(arguments)}, {N_STEPS} steps: largest difference of weights and "
        f"accumulators {differences[0]:.2e}, of LSTM states {differences[1]:.2e}"
    )
    assert max(differences) < TOLERANCE


@pytest.mark.slow
def test_rows_without_text_change_nothing(tmp_path):
    """At the end of an epoch one replica may have nothing left to predict."""
    (tmp_path / "text").write_text("a b c d e f g h i j\n" + "k\n" * 3)
    (tmp_path / "valid").write_text("a b\n")
    files = ["--train", str(tmp_path / "text"), "--valid", str(tmp_path / "valid")]
    files += ["--min-count", "1", "--unroll-steps", "3"]
    runs = [
        trained(
            tmp_path / f"{n}", *files, "--batch-size", f"{4 // n}", "--replicas", f"{n}"
        )
        for n in (1, 2)
    ]
    counts = runs[0][0][:, 1]
    assert counts.min() <= 3 < counts.max()
    for one, other in zip(*(run[1] for run in runs), strict=True):
        np.testing.assert_allclose(one, other, atol=TOLERANCE)


def start_workers(folder, *arguments):
    """Two processes over loopback, the same command in each."""
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("localhost", 0))
            ports.append(s.getsockname()[1])
    cluster = {"worker": [f"localhost:{port}" for port in ports]}
    command = [sys.executable, ROOT / "train.py", *ARGUMENTS, *arguments]
    command += ["--output", folder / "model", "--batch-size", "4"]
    processes = []
    for i in range(2):
        task = {"cluster": cluster, "task": {"type": "worker", "index": i}}
        environment = os.environ | {"TF_CONFIG": json.dumps(task)}
        with (folder / f"worker-{i}.log").open("w") as log:
            processes.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            )
    return processes


def arrays_at_the_end(folder):
    return newest_checkpoint(folder / "model" / CHECKPOINTS)[0]


@pytest.mark.slow
def test_two_processes_train_as_one_and_go_on_when_one_was_killed(tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "killed")]
    for folder in folders:
        folder.mkdir()
    one, two, killed = folders
    alone = [*ARGUMENTS, "--batch-size", "8", "--output", str(one / "model")]
    assert train.main(alone) == 0

    for process in start_workers(two):
        assert process.wait(timeout=300) == 0

    workers = start_workers(killed, "--checkpoint-every", "2")
    while len(checkpoints(killed / "model" / CHECKPOINTS)) < 2:
        assert workers[1].poll() is None
        time.sleep(0.05)
    workers[1].send_signal(signal.SIGKILL)
    workers[1].wait()
    assert workers[0].wait(timeout=300) == 1
    assert "another worker is gone" in (killed / "worker-0.log").read_text()
    for process in start_workers(killed, "--checkpoint-every", "2"):
        assert process.wait(timeout=300) == 0
    assert "Going on from step" in (killed / "worker-0.log").read_text()

    expected = arrays_at_the_end(one)
    for folder in (two, killed):
        found = arrays_at_the_end(folder)
        assert found.keys() == expected.keys()
        difference = max(np.abs(found[k] - expected[k]).max() for k in expected)
        print(f"\n{folder.name}: largest difference to one process {difference:.2e}")
        assert difference < TOLERANCE
