"""Linear classifiers on the layers of a biLM."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.analyses import probe
from elmo_keras.analyses.layer_probes import LayerProbes
from tests.support.commands import command

main = command("probe")


def made_up(n, seed):
    """ "run" is a verb after "they" and a noun after "the"."""
    rng = np.random.default_rng(seed)
    kinds = ([("they", "PRON"), ("run", "VERB")], [("the", "DET"), ("run", "NOUN")])
    return [kinds[i] for i in rng.integers(2, size=n)]


@pytest.fixture
def files(conllu):
    names = enumerate(("train.conllu", "dev.conllu"))
    return [conllu(name, made_up(40, seed=i)) for i, name in names]


@pytest.fixture
def command(files, model_directory):
    train, dev = files
    options = "--train", train, "--dev", dev, "--model", model_directory
    return list(map(str, options))


@pytest.fixture
def scored(cells, capsys):
    """Runs the command; gives the score in each row, and all that was printed."""

    def run(command, more):
        assert main([*command, *more.split()]) == 0
        output = capsys.readouterr().out
        rows = cells(output)[2:]
        return {name: float(score.split()[0]) for name, score in rows}, output

    return run


def test_contextual_layers_distinguish_tags_that_the_word_alone_does_not(
    files, command, scored
):
    more = "--learning-rate 0.2 --batch-size 5 --seeds 1 2 --epochs 3"
    found, output = scored(command, more)
    verbs = files[1].read_text().count("VERB") / 40
    likely = 100 * (1 + max(verbs, 1 - verbs)) / 2
    assert found["layer 0"] <= likely + 0.01 < 80
    assert found["each word's most frequent tag"] <= likely + 0.01
    assert found["layer 1"] > 95 and found["layer 2"] > 95
    assert "80 tokens; seeds: 2" in output and "±" in output


def test_texts_are_classified_by_their_mean_vectors(tmp_path, model, scored):
    lines = ["__label__good they run\n"] * 24 + ["__label__bad the run\n"] * 16
    path = tmp_path / "texts.txt"
    path.write_text("".join(lines), encoding="utf-8")
    command = ["--train", str(path), "--dev", str(path), "--model", model]
    more = "--format fasttext --learning-rate 0.2 --batch-size 5 --epochs 3"
    found, output = scored(command, more)
    assert found["most frequent label"] == 60
    assert min(found[f"layer {i}"] for i in range(3)) > 95
    assert "40 texts; seeds: 1" in output


def test_a_sentence_is_the_mean_of_its_tokens():
    layers = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype("float32")
    tokens = tf.constant([["a", "b", "", ""], ["", "", "", ""]])
    probes = LayerProbes(3, 2, of_texts=True)
    found = probes({"tokens": tokens, "tokens_layers": tf.constant(layers)})
    mean = layers[0, :, :2].mean(axis=1)
    expected = np.einsum("li,lio->lo", mean, probes.dense.kernel)
    np.testing.assert_allclose(found[0, :, 0], expected, atol=1e-6)
    np.testing.assert_array_equal(found[1], np.zeros((3, 1, 2)))


def test_probes_train_side_by_side_as_if_alone():
    rng = np.random.default_rng(0)
    layers = rng.normal(size=(4, 2, 3, 5)).astype("float32")
    labels = rng.integers(3, size=(4, 3)).astype("int32")
    labels[0, 2] = -1
    tokens = tf.constant([["a", "b", ""], *[["a", "b", "c"]] * 3])

    def trained(layers):
        probes = LayerProbes(layers.shape[1], 3)
        probes.compile(keras.optimizers.Adam(0.1), jit_compile=False)
        inputs = {"tokens": tokens, "tokens_layers": tf.constant(layers)}
        probes(inputs)
        for weight in probes.weights:
            weight.assign(tf.zeros_like(weight))
        data = tf.data.Dataset.from_tensors((inputs, labels))
        probes.fit(data.repeat(3), shuffle=False, verbose=0)
        return probes, probes.predict_on_batch(inputs)

    both, predicted = trained(layers)
    assert (predicted[0, :, 2] == -1).all() and (predicted[:, :, :2] >= 0).all()
    for i in range(2):
        alone, _ = trained(layers[:, i : i + 1])
        for together, single in zip(both.weights, alone.weights):
            np.testing.assert_allclose(together[i], single[0], atol=1e-6)


def test_a_tag_that_training_lacks_is_never_right():
    examples = [{"tokens": ["they"], "tags": ["X"]}]
    (number,) = probe.tag_ids(examples[0], ["NOUN", "PRON"])
    assert number not in (-1, 0, 1)  # what probes answer
    assert probe.majority([{"tokens": ["they"], "tags": ["PRON"]}], examples) == 0
