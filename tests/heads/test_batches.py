"""Batches of examples."""

import numpy as np

from elmo_keras.heads.batches import ExampleBatches


def test_batches_are_a_function_of_seed_and_epoch():
    rng = np.random.default_rng(0)
    texts = [rng.choice(["a", "b", "c"], n).tolist() for n in rng.integers(1, 8, 50)]
    examples = [{"tokens": text} for text in texts]
    labels = [np.zeros(1)] * len(examples)
    batches = ExampleBatches(examples, ["tokens"], labels=labels, batch_size=8)

    def order(seed, epoch):
        dataset = batches.shuffled(seed, epoch)
        return [inputs["tokens"].numpy().tolist() for inputs, _ in dataset]

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3) != order(2, 2)
    flat = sorted(b" ".join(row).strip() for rows in order(1, 2) for row in rows)
    assert flat == sorted(" ".join(text).encode() for text in texts)


def test_long_texts_that_are_compared_with_themselves_have_smaller_batches():
    lengths = [9000, 5, 1024, 1025, 3000, 7] + [10] * 40
    examples = [{"context": ["a"] * (n - 1), "question": ["b"]} for n in lengths]
    fields = ["context", "question"]

    def pairs(rows):
        return len(rows) * max(lengths[i] for i in rows) ** 2

    labels = [0] * len(lengths)
    some = ExampleBatches(examples, fields, labels=labels, compares_tokens=True)
    rows = some.by_length()
    assert sorted(i for batch in rows for i in batch) == [*range(len(lengths))]
    assert rows[-1] == [0] and len(rows[0]) == 32
    assert all(pairs(batch) <= 2**25 for batch in rows[:-1])
    sizes = [len(labels) for _, labels in some.shuffled(0, 0)]
    assert sorted(sizes) == sorted(map(len, rows))
    plain = ExampleBatches(examples, fields).by_length()
    assert max(pairs(batch) for batch in plain) > 2**29


def test_labels_and_integers_are_padded():
    examples = [{"words": ["a", "b"], "marks": [0, 1]}, {"words": [], "marks": []}]
    labels = [np.array([[1, 2]]), np.array([[3, 4], [5, 6]])]
    some = ExampleBatches(examples, ["words"], ["marks"], labels=labels)
    inputs = some.inputs([0, 1])
    assert inputs["words"].numpy().tolist() == [[b"a", b"b"], [b"", b""]]
    assert inputs["marks"].numpy().tolist() == [[0, 1], [0, 0]]
    targets = some.targets([0, 1]).numpy()
    assert targets.tolist() == [[[1, 2], [-1, -1]], [[3, 4], [5, 6]]]
    assert [inputs["words"].shape[0] for inputs, _ in some.shuffled(0, 0)] == [2]
