"""TF 1 Hub modules of ELMo: google/elmo, and those made with bilm-tf's code."""

import numpy as np

from elmo_keras import Elmo
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from tests.formats.conftest import TOKENS, assert_same, tarred
from tests.support import hub_modules
from tests.support.hub_modules import BILM_TF_MIX, GAMMA, SCALARS


def test_a_module_has_the_weights_and_sizes_of_its_variables_and_no_softmax(
    source, module
):
    files = find_model(module, prefer_checkpoint=True)
    bilm = files.bilm()
    assert files.config == source.config and not files.has_softmax
    assert files.adagrad_accumulators(bilm) is None
    assert_same(source.weights, bilm.weights)


def test_its_mix_is_the_mix_of_the_layer_also_when_converted(module, tmp_path, eagerly):
    elmo = Elmo.from_pretrained(module, num_representations=2)
    for mix in elmo.mixes:
        np.testing.assert_array_equal(mix.scalars, np.float32(SCALARS))
        assert float(mix.gamma) == GAMMA
    layers = elmo.all_layers(TOKENS)
    shares = np.exp(SCALARS) / np.exp(SCALARS).sum()
    expected = GAMMA * np.einsum("bltd,l->btd", layers, shares)
    np.testing.assert_allclose(elmo(TOKENS)[0], expected, atol=1e-6)
    average = Elmo.from_pretrained(module, layers="average")(TOKENS)
    np.testing.assert_allclose(average, np.mean(layers, axis=1), atol=1e-6)
    given = Elmo.from_pretrained(module, mix=[1.0, 2.0, 3.0]).mixes[0]
    assert given.scalars.numpy().tolist() == [1, 2, 3] and float(given.gamma) == 1
    save_model(tmp_path / "english", elmo.bilm, mix=elmo.mixes[0])
    same = Elmo.from_pretrained(tmp_path / "english")
    np.testing.assert_array_equal(same(TOKENS), elmo(TOKENS)[0])


def test_names_of_bilm_tf_in_an_archive_under_any_scope(source, tmp_path):
    values = hub_modules.variables(source, BILM_TF_MIX)
    scoped = {f"module/{name}": value for name, value in values.items()}
    directory = hub_modules.write(tmp_path / "module", scoped)
    tarred(tmp_path / "elmo_ru.tar.gz", directory, ".")
    assert_same(source.weights, load_bilm(tmp_path / "elmo_ru.tar.gz").weights)
    mix = find_model(tmp_path / "elmo_ru.tar.gz").mix
    assert mix == (tuple(SCALARS), GAMMA)
