"""Replicas, parts, processes and the step of XLA compute the same update as a plain one."""

import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import loops
from elmo_keras.training.checkpoint import newest_checkpoint
from elmo_keras.training.distribution import gather_rows
from elmo_keras.training.run import CHECKPOINTS
from tests.support.commands import command
from tests.support.paths import ROOT
from tests.support.sizes import OPTIONS_FILE
from tests.support.training_runs import DYING_PROGRAM, Losses, prepared

train = command("train")

N_STEPS = 6
SIZES = ["--preset", OPTIONS_FILE, "--negatives", "20", "--unroll-steps", "3"]
# The gradient is clipped at every step by this bound.
ARGUMENTS = [*SIZES, "--dropout", "0", "--clip-norm", "0.5", "--steps", str(N_STEPS)]
# Sums of floats in another order.
TOLERANCE = 1e-6


def fitted(folder, arguments, n_steps):
    """The losses of all steps, and the run."""
    run, losses = prepared([*arguments, "--output", folder]), Losses(n_steps)
    run.model.fit(run.streams, epochs=99, callbacks=[losses])
    assert len(losses.values) == n_steps
    return losses.values, run


def trained(folder, *arguments):
    """The losses of all steps; then variables and LSTM states."""
    losses, prepared_run = fitted(folder, [*arguments, *ARGUMENTS], N_STEPS)
    run = prepared_run.model.run
    state = tf.nest.flatten(gather_rows(run.strategy, run.state))
    return losses, [v.numpy() for v in prepared_run.variables()], state


@pytest.mark.journey
def test_rows_may_be_divided_in_any_way(small_text, tmp_path):
    divided = "--batch-size 4 --replicas 2 --parts 2".split()
    alone = trained(tmp_path / "alone", *small_text, "--batch-size", "8")
    divided = trained(tmp_path / "divided", *small_text, *divided)
    np.testing.assert_allclose(divided[0], alone[0], rtol=1e-6)
    for one, other in zip(divided[1:], alone[1:]):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE)


@pytest.mark.journey
def test_rows_without_text_change_nothing(tmp_path):
    """At the end of an epoch one replica may have nothing left to predict."""
    (tmp_path / "text").write_text("a b c d e f g h i j\n" + "k\n" * 3)
    (tmp_path / "valid").write_text("a b\n")
    files = ["--train", str(tmp_path / "text"), "--valid", str(tmp_path / "valid")]
    files += ["--min-count", "1"]
    one = trained(tmp_path / "1", *files, "--batch-size", "4")[1]
    two = trained(tmp_path / "2", *files, "--batch-size", "2", "--replicas", "2")[1]
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, atol=TOLERANCE)


@pytest.mark.journey
@pytest.mark.parametrize(
    ("arguments", "tolerance"),
    [
        ("--batch-size 4 --replicas 2 --parts 2", 1e-5),  # sums in another order
        ("--batch-size 8 --full-softmax", 1e-5),
        # XLA rounds to the 8 bits of bfloat16 less often: 0.0015 of 3 nats.
        ("--batch-size 8 --arithmetic mixed_bfloat16", 0.005),
    ],
)
def test_compiled_steps_have_the_plain_losses(
    arguments, tolerance, small_text, tmp_path, capsys
):
    both = []
    for name in ("no-jit-compile", "jit-compile"):
        options = [*small_text, *SIZES, *arguments.split(), f"--{name}"]
        losses, run = fitted(tmp_path / name, options, n_steps=20)
        assert run.model.run.steps.jit_compile == (name == "jit-compile")
        both.append([losses, *run.variables()])
    for plain, compiled in zip(*both, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=tolerance)
    compiled = capsys.readouterr().out.count("Compiling the training step for ")
    assert 1 <= compiled <= 4


@pytest.fixture
def without_xla(monkeypatch):
    """XLA refuses all functions, as on a GPU without the libraries that it needs."""
    function = tf.function

    def refusing(python_function, *, jit_compile=None, **options):
        def with_strings(*args, **more):  # XLA doesn't have it
            first, *rest = tf.nest.flatten(results := python_function(*args, **more))
            first += 0 * tf.strings.to_number(tf.strings.as_string(first))
            return tf.nest.pack_sequence_as(results, [first, *rest])

        chosen = with_strings if jit_compile else python_function
        return function(chosen, jit_compile=jit_compile, **options)

    def forget():
        for cached in loops.has_xla, loops.compiled:
            cached.cache_clear()

    monkeypatch.setattr(tf, "function", refusing)
    forget()
    yield
    forget()


@pytest.mark.journey
@pytest.mark.usefixtures("without_xla")
def test_where_xla_fails_the_plain_step_trains(small_text, tmp_path, capsys):
    arguments = [*small_text, *SIZES, "--batch-size", "4", "--jit-compile"]
    losses, run = fitted(tmp_path / "model", arguments, n_steps=3)
    assert not run.model.run.steps.jit_compile and np.isfinite(losses).all()
    assert capsys.readouterr().out.count("XLA can't compile the training step") == 1


def start_workers(folder, arguments, *, dying_step=None):
    """Two processes over loopback, the same command in each; the second may die."""
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("localhost", 0))
            ports.append(s.getsockname()[1])
    cluster = {"worker": [f"localhost:{port}" for port in ports]}
    programs = [["train.py"]] * 2
    if dying_step:
        programs = [["train.py"], ["-c", DYING_PROGRAM, str(dying_step)]]
    processes = []
    for i, program in enumerate(programs):
        command = [sys.executable, *program, *arguments, *ARGUMENTS]
        command += ["--output", folder / "model", "--batch-size", "4"]
        task = {"cluster": cluster, "task": {"type": "worker", "index": i}}
        environment = os.environ | {"TF_CONFIG": json.dumps(task)}
        with (folder / f"worker-{i}.log").open("w") as log:
            where = {"env": environment, "cwd": ROOT, "stdout": log, "stderr": log}
            processes.append(subprocess.Popen(command, **where))
    return processes


@pytest.mark.journey
def test_two_processes_train_as_one_and_resume_after_a_kill(small_text, tmp_path):
    one = tmp_path / "one"
    alone = [*small_text, *ARGUMENTS, "--batch-size", "8"]
    assert train([*alone, "--output", str(one)]) == 0

    often = [*small_text, "--checkpoint-every", "2"]
    workers = start_workers(tmp_path, often, dying_step=4)
    assert workers[1].wait(timeout=300) == -signal.SIGKILL
    assert workers[0].wait(timeout=300) == 1
    assert "another worker is gone" in (tmp_path / "worker-0.log").read_text()
    for process in start_workers(tmp_path, often):
        assert process.wait(timeout=300) == 0
    assert "Resuming from step 2" in (tmp_path / "worker-0.log").read_text()

    expected = newest_checkpoint(one / CHECKPOINTS)[0]
    actual = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)[0]
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, rtol=0, atol=TOLERANCE)
