"""The step that the package's models were trained with, beside that of `elmo-keras train`.

    TRITON_INTERPRET=1 python -m pytest -m slow -p triton tests/test_gpu_training.py

PyTorch is not among the requirements of the tests.
"""

import collections
import dataclasses
import sys

import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.training.optimizers import Muon
from elmo_keras.training.step import train_step
from elmo_keras.training.streams import Streams

pytestmark = [
    pytest.mark.slow,  # Triton's interpreter
    pytest.mark.skipif(
        "triton" not in sys.modules, reason="Triton is not loaded before TensorFlow"
    ),
]
STEPS, ROWS, NEGATIVES, RATE = 3, 4, 20, 0.01


def test_losses_and_weights_are_those_of_training():
    import torch

    from tests.benchmarks import gpu_training
    from tests.benchmarks.workers.gpu_step import Trainer

    config = dataclasses.replace(
        ElmoConfig.preset("small"),
        filters=((1, 4), (2, 8), (3, 4)),
        units=16,
        projection_dim=8,
        max_characters_per_token=12,
    )
    rng = np.random.default_rng(0)
    words = [f"w{'o' * (n % 13)}{n}" for n in range(60)]
    corpus = Corpus.from_sentences(
        [list(rng.choice(words, n)) for n in rng.integers(1, 9, 40)]
    )
    vocabulary = Vocabulary.from_counts(collections.Counter(corpus.words[2:]), 50)
    bilm = BidirectionalLanguageModel(config, vocabulary_size=len(vocabulary))
    bilm.build()
    for weight in bilm.trainable_weights:  # clips, gates and biases of some size
        weight.assign(3 * weight + rng.normal(0, 0.1, weight.shape))
    trainer = Trainer(
        {k: torch.tensor(v) for k, v in gpu_training.weights_of(bilm).items()},
        config.filters,
        steps=STEPS,
        rows=ROWS,
        characters=12,
        dtype=torch.float32,
        dropout=0.0,
    )
    streams = Streams(
        corpus,
        vocabulary,
        config,
        n_rows=ROWS,
        unroll_steps=STEPS,
        n_negatives=NEGATIVES,
        zero_state_share=0.5,
    )
    optimizer, state = Muon(RATE), bilm.lstm.zero_state(ROWS)
    for parts in streams.batches(0).take(3):
        expected, _, state = train_step(bilm, optimizer, parts, state, clip_norm=10.0)
        loss = trainer.step(_batch(parts[0], len(vocabulary), torch), RATE)
        assert float(loss) == pytest.approx(float(expected), rel=1e-4)
    trained = gpu_training.weights_of(bilm)
    for name, tensor in trainer.weights.items():
        np.testing.assert_allclose(
            tensor.detach(), trained[name], atol=2e-3, err_msg=name
        )
    copy = BidirectionalLanguageModel(config, vocabulary_size=len(vocabulary))
    copy.build()
    gpu_training.put_weights(copy, trained)
    for weight, other in zip(copy.trainable_weights, bilm.trainable_weights):
        np.testing.assert_array_equal(weight, other)


def _batch(part, n_words, torch):
    """A part of `Streams.batches` as `Trainer.step` takes it."""
    part = {name: tensor.numpy() for name, tensor in part.items()}
    characters = part["characters"] - 1
    ends = 12 - (characters[:, ::-1] != 260).argmax(1)
    order = np.argsort(ends > 6, kind="stable")  # two groups, by length
    n = int((ends <= 6).sum())
    candidates = part["candidates"].astype(np.int64)
    expected = np.zeros((2, n_words), np.float32)
    expected[:, candidates] = part["log_expected"]
    negatives = candidates[part["negatives"]]
    targets = candidates[part["targets"].transpose(0, 2, 1)].reshape(2, -1)
    hits = np.full((2, n_words), NEGATIVES)
    for row, ids in zip(hits, negatives):
        row[ids] = np.arange(NEGATIVES)
    arrays = {
        "words": np.argsort(order)[part["words"].transpose(0, 2, 1)],
        "targets": targets,
        "goes_on": 1 - part["from_zero"].T.astype(np.float32),
        "negatives": negatives,
        "log_expected": expected,
        "hits": np.take_along_axis(hits, targets, 1).astype(np.int32),
    }
    groups = characters[order[:n], : 6 + 3], characters[order[n:]]
    batch = {name: torch.tensor(array) for name, array in arrays.items()}
    return batch | {"characters": [torch.tensor(g).long() for g in groups]}


def test_streams_hold_each_sentence_as_often_as_asked():
    import torch

    from tests.benchmarks import gpu_training

    sentences = ["a bb ccc", "dddddddddddddddddddd", "a"]
    corpus = Corpus.from_sentences(sentences)
    vocabulary = Vocabulary.from_counts({"a": 2, "bb": 1})
    config = ElmoConfig.preset("small")
    streams = gpu_training.Streams(
        corpus,
        np.array([1, 3, 2]),
        vocabulary,
        config,
        lengths=(4, 6),
        rows=2,
        device="cpu",
    )
    characters = streams.characters[streams.forward.long()]
    begins = (streams.forward == streams.begin).nonzero()[:, 0].tolist()
    found = collections.Counter()
    for first, last in zip(begins, [*begins[1:], len(streams.forward)]):
        rows = characters[first + 1 : last].tolist()
        found[" ".join(_word(row) for row in rows)] += 1
        backward = streams.characters[streams.backward[first + 1 : last].long()]
        assert backward.flip(0).tolist() == rows
        assert streams.backward[first] == streams.end
    assert found == dict(zip(sentences, [1, 3, 2]))
    unknown = vocabulary.encode(["ccc"])[0]
    known = streams.in_vocabulary[streams.forward.long()]
    assert int((known == unknown).sum()) == 4
    assert torch.equal(known == 0, streams.forward == streams.begin)


def _word(row):
    return bytes(x for x in row if x < 256).decode()
