"""The step that XLA compiles, beside the plain one."""

import re

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.training import step
from tests.support.training_runs import Losses, parsed, prepared

N_STEPS = 50
ARGUMENTS = ["--preset", "test", "--negatives", "20", "--unroll-steps", "3"]


def trained(folder, *arguments, n_steps=N_STEPS):
    run = prepared([*arguments, *ARGUMENTS, "--output", folder])
    losses = Losses(n_steps)
    run.model.fit(run.streams, epochs=99, callbacks=[losses])
    return losses.values, run


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--batch-size", "8", "--parts", "2"],
        ["--batch-size", "4", "--replicas", "2", "--full-softmax"],
    ],
    ids=["one device", "two replicas"],
)
def test_50_steps_have_the_losses_of_the_plain_step(
    arguments, small_text, tmp_path, capsys
):
    both = []
    for name in ("no-jit-compile", "jit-compile"):
        losses, run = trained(tmp_path / name, *small_text, *arguments, f"--{name}")
        assert run.model.run.jit_compile == (name == "jit-compile")
        both.append([losses, *run.variables()])
    for plain, compiled in zip(*both, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-5)  # another order
    compiled = re.findall(
        "Compiling the training step for (.*)", capsys.readouterr().out
    )
    assert 1 <= len(compiled) <= 4


def test_where_xla_fails_the_plain_step_trains(
    small_text, tmp_path, monkeypatch, capsys
):
    plain = step.stream_losses

    def losses_with_strings(*args, **kwargs):  # which XLA doesn't have
        losses, state = plain(*args, **kwargs)
        return losses + 0 * tf.strings.to_number(tf.strings.as_string(losses)), state

    monkeypatch.setattr(step, "stream_losses", losses_with_strings)
    arguments = [*small_text, "--batch-size", "4", "--jit-compile"]
    losses, run = trained(tmp_path / "model", *arguments, n_steps=3)
    assert len(losses) == 3 and not run.model.run.jit_compile
    assert capsys.readouterr().out.count("XLA can't compile the training step") == 1


def test_the_option_is_off_on_cpus_unless_it_is_given():
    found = [
        parsed(o)[2].jit_compile for o in ([], ["--jit-compile"], ["--no-jit-compile"])
    ]
    assert found == [None, True, False]
