"""Arrays that do not fit, and archives, in each layout that publishes them by name."""

import h5py
import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.formats.model_directory import find_model
from tests.formats.conftest import assert_same, filled, replaced, without
from tests.support import hub_modules
from tests.support.tf1_checkpoints import arrays, built, write_model

CELL = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell"
KERNEL = "lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel"
SURPLUS = "which a biLM of these options doesn't have"
SHAPE, SOFTMAX = "should have the shape", "lm/softmax/W"
PROJECTION, BIAS = "CNN_proj/W_proj", "CNN_proj/b_proj"
FINITE = "should hold finite numbers. Found:"


@pytest.fixture(scope="module")
def targets(source):
    """The model that each layout is read into: tests check that none is changed."""
    module_bilm = BidirectionalLanguageModel(source.config)
    module_bilm.build()
    return {"hdf5": built(), "checkpoint": built(), "module": module_bilm}


@pytest.fixture
def changed(request, source, tmp_path):
    """Writes a model in a layout after a change of its arrays; returns its path."""

    def write(layout, change):
        if layout == "hdf5":
            directory = request.getfixturevalue("directory")
            with h5py.File(directory / "weights.hdf5", "a") as file:
                for name in ("char_embed", f"{CELL}/B"):
                    file[name][...] = 7
                change(file)
            return directory
        if layout == "checkpoint":
            values, written = arrays(), write_model
        else:
            values, written = hub_modules.variables(source), hub_modules.write
        change(values)
        return written(tmp_path / layout, values)

    return write


def ones(name, *shape):
    return replaced(name, np.ones(shape, "float32"))


# The changes of arrays and what is said of them.
CHANGES = {
    "hdf5": [
        (without("char_embed"), "should hold `char_embed` of shape"),
        (
            ones(f"{CELL}/W_0", 10, 24),
            rf"`RNN_1.*W_0` {SHAPE} \[10, 28\] .* \[10, 24\]",
        ),
        (ones(CELL.replace("ll1", "ll2") + "/B", 28), f"Cell2.* {SURPLUS}"),
        (
            filled(PROJECTION, (4, 3), np.nan),
            rf"{FINITE} nan at \[4, 3\], and 0 more. G",
        ),
        (replaced(BIAS, np.full(5, 1e39)), rf"`{BIAS}` {FINITE} inf at \[0\]"),
        (replaced(BIAS, np.array([b"a"] * 5)), "hold numbers. Found: .S1"),
    ],
    "checkpoint": [
        (ones(KERNEL, 10, 24), rf"`{KERNEL}` .* \[10, 28\] .* Found: \[10, 24\]"),
        (
            ones(KERNEL.replace("l_1", "l_2"), 10, 28),
            rf"'lm/R.*l_2.*kernel'\], {SURPLUS}",
        ),
        (without("softmax/b"), r"should hold `softmax/b` of shape \[11\]"),
        (without(f"{KERNEL}/Adagrad"), r"`RNN_1.*W_0/Adagrad` of shape \[10, 28\]"),
        (filled(f"{SOFTMAX}/Adagrad", 1, np.inf), f"`{SOFTMAX}/Adagrad` {FINITE}"),
    ],
    "module": [
        (without("char_embed"), "TF 1 Hub module of ELMo, with one variable"),
        (without("RNN_"), "Missing, or of another shape: 'RNN_0/.*Cell0"),
        (without("W_carry"), rf"'bilm/CNN_high_0/W_transform', .* {SURPLUS}"),
        (replaced("aggregation/scaling", np.float32(np.nan)), "a finite `gamma`"),
    ],
}


@pytest.mark.parametrize(
    ("layout", "change", "message"),
    [(layout, *row) for layout, rows in CHANGES.items() for row in rows],
)
def test_arrays_that_do_not_fit_are_refused_and_nothing_is_changed(
    layout, change, message, changed, targets
):
    bilm = targets[layout]
    before, path = [np.copy(w) for w in bilm.get_weights()], changed(layout, change)
    with pytest.raises(ValueError, match=message):
        files = find_model(path)
        files.config, files.adagrad_accumulators(bilm)  # noqa: B018
        files.read_into(bilm, with_softmax=layout == "checkpoint")
    assert_same(before, bilm.get_weights())
