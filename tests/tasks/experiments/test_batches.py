"""Batches of examples."""

import numpy as np

from elmo_keras.tasks.experiments.batches import Batches


def test_batches_are_a_function_of_seed_and_epoch():
    rng = np.random.default_rng(0)
    texts = [rng.choice(["a", "b", "c"], n).tolist() for n in rng.integers(1, 8, 50)]
    examples = [{"tokens": text} for text in texts]
    batches = Batches(
        examples, ["tokens"], labels=[np.zeros(1)] * len(examples), batch_size=8
    )

    def order(seed, epoch):
        dataset = batches.shuffled(seed, epoch)
        return [inputs["tokens"].numpy().tolist() for inputs, _ in dataset]

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3) != order(2, 2)
    flat = sorted(b" ".join(row).strip() for rows in order(1, 2) for row in rows)
    assert flat == sorted(" ".join(text).encode() for text in texts)


def test_long_texts_that_are_compared_with_themselves_have_smaller_batches():
    """The memory of attention grows with the square of the length."""
    lengths = [9000, 5, 1024, 1025, 3000, 7] + [10] * 40
    examples = [{"context": ["a"] * (n - 1), "question": ["b"]} for n in lengths]
    fields = ["context", "question"]

    def pairs(rows):
        return len(rows) * max(lengths[i] for i in rows) ** 2

    labels = [0] * len(lengths)
    some = Batches(examples, fields, labels=labels, compares_tokens=True)
    rows = some.by_length()
    assert sorted(i for batch in rows for i in batch) == [*range(len(lengths))]
    assert rows[-1] == [0] and len(rows[0]) == 32
    assert all(pairs(batch) <= 2**25 for batch in rows[:-1])
    sizes = [len(labels) for _, labels in some.shuffled(0, 0)]
    assert sorted(sizes) == sorted(map(len, rows))
    plain = Batches(examples, fields).by_length()
    assert max(pairs(batch) for batch in plain) > 2**29


def test_labels_and_numbers_are_padded():
    made = [
        {"words": ["a", "b"], "weights": [[1.0], [2.0]]},
        {"words": [], "weights": [[3.0, 4.0]]},
    ]
    labels = [{"span": np.array([1, 2]), "kind": 5}, {"span": np.array([3]), "kind": 6}]
    some = Batches(made, ["words"], ["weights", "missing"], labels=labels)
    inputs = some.inputs([0, 1])
    assert inputs["words"].numpy().tolist() == [[b"a", b"b"], [b"", b""]]
    assert inputs["weights"].numpy().tolist() == [[[1, 0], [2, 0]], [[3, 4], [0, 0]]]
    assert list(inputs) == ["words", "weights"]
    targets = some.targets([0, 1])
    assert targets["span"].numpy().tolist() == [[1, 2], [3, -1]]
    assert targets["kind"].numpy().tolist() == [5, 6]
    assert [inputs["words"].shape[0] for inputs, _ in some.shuffled(0, 0)] == [2]


def test_cached_layers_become_an_input():
    class Lengths:
        """Gives the number of tokens in place of layers: (batch, 1, 1, 1)."""

        shape = None, 1, None, 1

        def __call__(self, texts):
            return np.float32([[[[len(text)]]] for text in texts])

    made = [{"words": ["a", "b"]}, {"words": ["c"]}]
    batches = Batches(made, ["words"], labels=[0, 1], cache=Lengths())
    assert batches.inputs([1, 0])["words_layers"].numpy().ravel().tolist() == [1, 2]
    ((inputs, labels),) = batches.shuffled(0, 0)
    order = labels.numpy().tolist()
    assert inputs["words_layers"].numpy().ravel().tolist() == [2 - i for i in order]
