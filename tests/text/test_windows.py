"""Windows of a text, the tokens of its rows in one step, against plain Python."""

import itertools

import numpy as np
import pytest

from elmo_keras.text.corpus import Corpus
from elmo_keras.text.windows import Plan, window

# The long sentence makes rows of very unequal length.
SENTENCES = [
    list("abcdefg"),
    list("hi"),
    ["j"],
    list("abc"),
    list("ab") * 9,
    ["k", "l"],
]
CORPUS = Corpus.from_sentences(SENTENCES)
N_ROWS = [1, 2, 3, 7, 12]
UNROLL_STEPS = [1, 4, 5, 100]


def rows_of(plan, n_rows):
    """Sentences of each row: a row starts with the first sentence after its share."""
    order = [SENTENCES[i] for i in plan.order]
    total = sum(len(s) + 1 for s in order)
    rows, place = [[] for _ in range(n_rows)], 0
    for sentence in order:
        row = max(r for r in range(n_rows) if r * total // n_rows <= place)
        rows[row].append(sentence)
        place += len(sentence) + 1
    return rows


def stream(sentences, backward):
    """Words to read and words to predict for sentences one after another."""
    inputs, targets = [], []
    for sentence in sentences:
        tokens = ["<S>", *sentence, "</S>"]
        reading = tokens[::-1] if backward else tokens
        inputs += reading[:-1]
        targets += reading[1:]
    return inputs, targets


@pytest.mark.parametrize("n_rows", N_ROWS)
@pytest.mark.parametrize("unroll_steps", UNROLL_STEPS)
def test_windows_are_cut_out_of_sentences_one_after_another(n_rows, unroll_steps):
    plan = Plan.in_random_order(CORPUS, n_rows, seed=1, epoch=2, zero_state_share=0.5)
    assert sorted(plan.order) == list(range(len(SENTENCES)))
    assert 0 < plan.from_zero.sum() < len(SENTENCES)
    windows = [
        window(CORPUS, plan, step, unroll_steps=unroll_steps)
        for step in range(plan.n_steps(unroll_steps))
    ]
    real = np.concatenate([w.real for w in windows], axis=1)
    rows = rows_of(plan, n_rows)
    assert real.sum() == CORPUS.n_predictions
    for name, part in (("inputs", 0), ("targets", 1)):
        values = np.concatenate([getattr(w, name) for w in windows], axis=2)
        assert values.shape == (2, n_rows, len(windows) * unroll_steps)
        for direction in range(2):
            for r, row in enumerate(rows):
                actual = [CORPUS.words[i] for i in values[direction, r][real[r]]]
                assert actual == stream(row, direction)[part]
                # Places that are not real come after the text, never in it.
                assert real[r, : len(actual)].all()
    assert windows[-1].real.any()
    from_zero = np.concatenate([w.from_zero for w in windows], axis=1)
    expected = np.zeros(CORPUS.n_predictions, bool)
    expected[plan.starts[:-1]] = plan.from_zero
    for r, (start, end) in enumerate(zip(plan.rows, plan.rows[1:])):
        np.testing.assert_array_equal(from_zero[r, real[r]], expected[start:end])
        assert not from_zero[r, ~real[r]].any()
    some = window(CORPUS, plan, 0, unroll_steps=unroll_steps, rows=slice(1, None, 2))
    for part, whole in zip(some, windows[0], strict=True):
        np.testing.assert_array_equal(part, whole[..., 1::2, :])


def test_the_order_is_a_function_of_seed_and_epoch():
    corpus = Corpus.from_sentences([[str(i)] for i in range(30)])

    def order(n_rows, seed, epoch):
        return tuple(
            Plan.in_random_order(corpus, n_rows, seed=seed, epoch=epoch).order.tolist()
        )

    orders = [order(2, *of) for of in itertools.product(range(3), repeat=2)]
    assert len(set(orders)) == 9 and order(5, 2, 2) == orders[-1]


def test_a_share_of_the_sentences_starts_from_the_zero_state():
    corpus = Corpus.from_sentences([["a"]] * 10_000)

    def chosen(n_rows, seed, epoch, share=0.1):
        kwargs = {"seed": seed, "epoch": epoch, "zero_state_share": share}
        from_zero = Plan.in_random_order(corpus, n_rows, **kwargs).from_zero
        # The standard deviation of the share is 0.003.
        assert from_zero.mean() == pytest.approx(share, abs=0.012 * (0 < share < 1))
        return tuple(np.flatnonzero(from_zero))

    assert chosen(2, 0, 0) == chosen(7, 0, 0)
    assert len({chosen(2, 0, 0), chosen(2, 0, 1), chosen(2, 1, 0)}) == 3
    for share in (0, 1):
        chosen(2, 0, 0, share)
