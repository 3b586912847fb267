"""How a GPU would run the graphs of training and prediction, checked without a GPU."""

import types

import pytest
import tensorflow as tf

from elmo_keras import ElmoConfig
from elmo_keras.training import cost
from elmo_keras.training.options import RunSettings
from tests.support.graph_memory import of_variables, peak
from tests.support.step_graph import (
    Sizes,
    kernel_of,
    nodes_of,
    prediction,
    training_step,
)

CONFIG = ElmoConfig.preset("test")
# The sizes that differ between batches are left open.
SIZES = {
    "sampled": Sizes(rows=3, vocabulary=19, negatives=7, from_zero=True),
    "full": Sizes(rows=3, vocabulary=19, negatives=None),
}
DTYPES = ["float32", "mixed_bfloat16"]

NO_KERNEL = {"Placeholder"}  # an argument, not an operation
# Distinct words are found as strings, which only the host has.
STRINGS = {"UnicodeEncode", "Reshape of strings", "Size of strings", "UnicodeDecode"}
CARD = 24 * 2**30  # bytes of a GPU's memory
SIZE_DEPENDS_ON_DATA = {"Where", "Unique", "UniqueV2", "UniqueWithCounts", "NonZero"}


@pytest.fixture(
    scope="module",
    params=[
        ("sampled", "float32"),
        ("full", "mixed_bfloat16"),
        pytest.param(("sampled", "mixed_bfloat16"), marks=pytest.mark.slow),
        pytest.param(("full", "float32"), marks=pytest.mark.slow),
    ],
    ids="-".join,
)
def step(request):
    softmax, dtype = request.param
    function, _ = training_step(CONFIG, SIZES[softmax], dtype)
    return nodes_of(function.graph.as_graph_def())


def without_kernel(nodes):
    lacking = [n for n in nodes if "CPU" not in n.device and kernel_of(n) is None]
    strings = tf.string.as_datatype_enum
    return {n.op + " of strings" * (n.attr["T"].type == strings) for n in lacking}


def test_every_operation_of_a_training_step_has_a_kernel_for_gpus(step):
    # Kernels for int32 keep it in host memory, most of them: counts and shapes.
    assert without_kernel(step) <= NO_KERNEL


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_of_prediction_except_on_strings_has_a_kernel_for_gpus(dtype):
    nodes = nodes_of(prediction(CONFIG, dtype).graph.as_graph_def())
    assert without_kernel(nodes) <= NO_KERNEL | STRINGS


def test_in_a_training_step_no_size_depends_on_what_the_gpu_computes(step):
    assert [
        (n.op, n.name)
        for n in step
        # The host has some, for the number of rows of an LSTM at each step.
        if n.op in SIZE_DEPENDS_ON_DATA and "CPU" not in n.device
    ] == []


def test_the_original_model_and_its_vocabulary_fit_on_one_gpu(monkeypatch, capsys):
    """A step of 128 rows of 20 tokens, with 2000 distinct words of 30 characters.

    In real steps on a CPU, with the sizes `small` and `medium`, memory rose by 94 and
    98 % of the result of `peak`.
    """
    words, characters = 2000, 30
    sizes = Sizes(128, 800_000, 8192, words, characters, candidates=16_000)
    function, run = training_step(ElmoConfig.preset("original"), sizes)

    def unknown(x):
        if words in x.shape:
            return characters
        in_convolution = "token_representation" in x.op.name
        return words * characters if in_convolution else 128 * 20

    weights = of_variables(run.bilm.trainable_weights)
    optimizer = of_variables(run.optimizer.variables)
    step, largest = peak(function.graph, unknown)
    total = weights + optimizer + step
    monkeypatch.setattr(cost, "_first_words", lambda *_: (words, characters))
    streams = types.SimpleNamespace(
        config=ElmoConfig.preset("original"),
        n_rows=128,
        unroll_steps=20,
        n_negatives=8192,
        vocabulary_size=800_000,
    )
    memory = cost.estimate(streams, RunSettings()).memory
    estimated = sum(memory.values()) - memory["program"]
    with capsys.disabled():
        print(
            f"\noriginal, batch 128, 800,000 words: weights {gib(weights)}, optimizer "
            f"{gib(optimizer)}, step {gib(step)}, in all {gib(total)}; train.py "
            f"--dry-run prints {gib(estimated)}"
        )
    assert total < CARD, largest[:10]
    assert estimated == pytest.approx(total, rel=0.3)


def gib(n):
    return f"{n / 2**30:.2f} GiB"
