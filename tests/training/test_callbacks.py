"""When training ends, what it keeps, what it shows and records."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.perplexity import HeldOutPerplexity, Perplexity
from elmo_keras.training import loop, validation
from elmo_keras.training.options import Limits
from elmo_keras.training.run import LOGS


@pytest.mark.parametrize(
    ("chosen_by", "patience", "kept"), [("zero", 2, [0, 2, 4]), ("carried", 1, [0, 2])]
)
def test_training_ends_when_the_perplexity_stops_falling(
    reused, tmp_path, monkeypatch, chosen_by, patience, kept
):
    """The published procedure is judged with the state carried over."""
    both = (99, 99), (9, 1), (8, 2), (8.5, 0.5), (8, 0.5), (1, 1)  # zero, carried over
    results = [HeldOutPerplexity(Perplexity(z, z), Perplexity(c, c)) for z, c in both]
    when, model, streams = [], reused.model, reused.streams
    perplexity = mock.Mock(side_effect=results)
    monkeypatch.setattr(validation.Validation, "perplexity", perplexity)
    keep = lambda self, bilm: when.append(model.run.progress.step)
    monkeypatch.setattr(validation.Validation, "write_model", keep)
    limits = Limits(epochs=50, patience=patience, evaluate_every=2)
    monkeypatch.setattr(reused, "limits", limits)
    if chosen_by == "carried":
        monkeypatch.setattr(streams, "zero_state_share", 0)
        monkeypatch.setattr(model, "run", None)  # a batch has other arrays then
    assert reused.attempt(tmp_path)
    n, progress = kept[-1] // 2 + patience, model.run.progress
    assert progress.step == 2 * n and progress.not_better == patience
    assert when == kept and progress.evaluations() == results[: n + 1]


def test_a_perplexity_that_is_not_finite_ends_training(reused, tmp_path, monkeypatch):
    sums = np.full((2, 2), -1e9)
    monkeypatch.setattr(validation, "log_probability_sums", lambda *_, **__: sums)
    with pytest.raises(FloatingPointError, match="diverged: the loss is inf nats"):
        reused.attempt(tmp_path)


def test_what_is_shown_and_logged_of_a_run(reused, tmp_path, capsys):
    assert reused.attempt(tmp_path)
    shown, n = capsys.readouterr().out, reused.streams.n_steps(0)
    for line in ("Evaluating before", "Epoch 1\n", f"Step {n}: sampled loss "):
        assert line in shown
    (path,) = (tmp_path / LOGS).iterdir()
    values = {}
    for record in tf.data.TFRecordDataset(str(path)):
        event = tf.compat.v1.Event.FromString(record.numpy())
        for value in event.summary.value:
            values.setdefault(value.tag, []).append(event.step)
    assert values["sampled_loss"] == values["tokens/s"] == [10]
    assert values["held-out perplexity, state zero"] == [0, 5, n, 10, 12]


def test_only_steps_count_as_time_of_the_steps(reused, tmp_path, monkeypatch):
    now = [0.0]

    def let_pass(seconds):
        now[0] += seconds

    def evaluate(self, bilm, strategy):
        let_pass(1000)
        return HeldOutPerplexity(Perplexity(2.0, 2.0), Perplexity(2.0, 2.0))

    monkeypatch.setattr(validation.Validation, "perplexity", evaluate)
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(loop, "time", clock)
    assert reused.attempt(tmp_path, before_step=lambda: let_pass(2))
    assert reused.model.run.progress.seconds in (24, 22)  # without one that is traced
