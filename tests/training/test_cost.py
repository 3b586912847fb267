"""The estimated memory and disk space of a training run."""

import dataclasses
import types
from typing import get_args, get_type_hints

import pytest

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.training import cost
from elmo_keras.training.options import OPTIMIZERS, RunSettings
from tests.support.sizes import CONFIG

N_WORDS = 11


def estimated(config, *, n_replicas=1, **settings):
    sizes = {"n_rows": 12, "unroll_steps": 5, "n_negatives": 4}
    streams = types.SimpleNamespace(config=config, vocabulary_size=N_WORDS, **sizes)
    return cost.estimate(streams, RunSettings(**settings), n_replicas=n_replicas)


PARAMETERS = {"small": 13_593_296, "medium": 28_027_728, "original": 93_600_848}


@pytest.mark.parametrize("name", PARAMETERS)
def test_presets_have_the_published_number_of_parameters(name):
    assert cost.n_parameters(ElmoConfig.preset(name)) == PARAMETERS[name]


@pytest.mark.parametrize("config", [CONFIG, ElmoConfig.preset("tiny")])
def test_the_number_of_parameters_is_that_of_the_model(config):
    bilm = BidirectionalLanguageModel(config, vocabulary_size=N_WORDS)
    bilm.build()
    assert estimated(config).memory["weights"] == 4 * bilm.count_params()
    config = dataclasses.replace(config, projection_dim=config.n_filters)
    bilm = BidirectionalLanguageModel(config)  # without a projection
    bilm.build()
    assert cost.n_parameters(config) == bilm.count_params()


def test_each_optimizer_has_a_row():
    choice, _ = get_args(get_type_hints(RunSettings)["optimizer"])
    assert {*get_args(choice)} == {*OPTIMIZERS}


def test_memory_follows_optimizer_parts_and_replicas(config):
    one = estimated(config).memory
    adam = estimated(config, optimizer="adam")
    assert adam.memory["optimizer"] == 2 * one["optimizer"] == 2 * one["weights"]
    assert adam.disk == 10 * one["weights"]  # with three checkpoints
    assert one["scores"] == 4 * 12 * 5 * 5 * cost.FLOAT
    for kwargs in ({"parts": 2}, {"n_replicas": 2}):
        divided = estimated(config, **kwargs).memory
        for part in ("scores", "activations"):
            assert divided[part] == one[part] / 2
        assert divided["weights"] == one["weights"]


def test_a_run_that_does_not_fit_is_refused_with_both_sizes(config, tmp_path):
    fits, new = estimated(config), tmp_path / "new"
    huge = fits._replace(memory=fits.memory | {"weights": 2**50})
    with pytest.raises(ValueError, match="alone take 1048576.00 GiB, and this machine"):
        cost.check_fits(huge, 1, new)
    with pytest.raises(ValueError, match="has room for .* take 1048576.00 GiB"):
        cost.check_fits(fits._replace(disk=2**50), 1, new)
    cost.check_fits(fits, 1, new)
