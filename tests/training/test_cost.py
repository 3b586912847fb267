"""The estimated cost of a training run."""

import dataclasses
import types

import pytest

from elmo_keras import BidirectionalLanguageModel, ElmoConfig, Vocabulary
from elmo_keras.text.corpus import Corpus
from elmo_keras.training import cost
from elmo_keras.training.options import RunSettings
from elmo_keras.training.streams import Streams

SENTENCES = [list("abcdefgh")] * 60
CORPUS = Corpus.from_sentences(SENTENCES)
VOCABULARY = Vocabulary.count(SENTENCES)


def estimated(config, n_negatives=4, *, n_replicas=1, n_steps=1, **settings):
    streams = Streams(
        CORPUS, VOCABULARY, config, n_rows=12, unroll_steps=5, n_negatives=n_negatives
    )
    settings = RunSettings(**settings)
    return cost.estimate(streams, settings, n_replicas=n_replicas, n_steps=n_steps)


@pytest.mark.parametrize("name", ["test", "tiny", "small", "original"])
def test_the_number_of_parameters_is_that_of_the_model(name):
    config = ElmoConfig.preset(name)
    published = {"small": 13_593_296, "original": 93_600_848}
    if name in published:
        assert cost.n_parameters(config) == published[name]
        return
    bilm = BidirectionalLanguageModel(config, vocabulary_size=len(VOCABULARY))
    bilm.build()
    assert estimated(config).memory["weights"] == 4 * bilm.count_params()
    config = dataclasses.replace(config, projection_dim=config.n_filters)
    bilm = BidirectionalLanguageModel(config)  # without a projection
    bilm.build()
    assert cost.n_parameters(config) == bilm.count_params()


def test_the_original_model_and_its_vocabulary_fit_on_a_small_gpu(monkeypatch):
    monkeypatch.setattr(cost, "_first_words", lambda *_: (2000, 30))
    streams = types.SimpleNamespace(
        config=ElmoConfig.preset("original"),
        n_rows=128,
        unroll_steps=20,
        n_negatives=8192,
        vocabulary_size=800_000,
    )
    memory = cost.estimate(streams, RunSettings()).memory
    assert sum(memory.values()) / 2**30 == pytest.approx(7.15, abs=0.01)  # GiB


def test_memory_follows_optimizer_parts_and_replicas(config):
    one = estimated(config).memory
    assert estimated(config, optimizer="adam").memory["optimizer"] == (
        2 * one["optimizer"]
    )
    for kwargs in ({"parts": 2}, {"n_replicas": 2}):
        divided = estimated(config, **kwargs).memory
        assert divided["scores"] == one["scores"] / 2
        assert divided["weights"] == one["weights"]


def test_time_follows_the_steps_and_the_work(config, monkeypatch):
    one = estimated(config)
    larger = dataclasses.replace(config, units=2 * config.units)
    assert one.step_flops < estimated(larger).step_flops < 2 * one.step_flops
    monkeypatch.setattr(cost, "_gemm_speed", lambda dtype: 1e9)
    half_an_hour = round(0.5 * 3600 * cost.EFFICIENCY * 1e9 / one.step_flops)
    assert "about 0.5 hours here" in str(one._replace(n_steps=half_an_hour))
    assert estimated(config, n_negatives=None).step_flops > one.step_flops


def test_a_run_that_does_not_fit_is_refused_with_both_sizes(config, tmp_path):
    huge = estimated(config)._replace(
        memory={"weights": 2**50, "optimizer": 0, "scores": 0}
    )
    with pytest.raises(ValueError, match="alone take 1048576.00 GiB, and this machine"):
        cost.check_fits(huge, 1, tmp_path)
    with pytest.raises(ValueError, match="take 1048576.00 GiB, and .* has room for"):
        cost.check_fits(estimated(config)._replace(disk=2**50), 1, tmp_path / "new")
    cost.check_fits(estimated(config), 1, tmp_path / "new")
