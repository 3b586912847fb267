"""The command line of training, the values that it becomes, and what they decide."""

import sys

import pytest

from elmo_keras.training.options import Limits, RunSettings, TextData
from elmo_keras.training.progress import Progress
from elmo_keras.util import console
from tests.support.training_runs import parsed

FILES = ["--train", "t", "--valid", "v"]
PUBLISHED = {
    "unroll_steps": 20,
    "n_negative_samples_batch": 8192,
    "learning_rate": 0.2,
    "dropout": 0.1,
    "all_clip_norm_val": 10.0,
    "sample_softmax": True,
}


def test_the_defaults_are_the_published_options():
    _, data, settings, limits = parsed(FILES)
    assert (settings.published(), settings.n_rows) == (PUBLISHED, 128)
    assert (settings, limits) == (RunSettings(), Limits(epochs=10))
    assert data == TextData(train=["t"], valid=["v"])


def test_the_example_text_has_defaults_of_its_own():
    _, data, settings, limits = parsed([])
    assert settings == RunSettings(batch_size=32, learning_rate=0.1)
    assert (data, limits) == (TextData(), Limits(epochs=14))
    *_, settings, limits = parsed(["--batch-size", "5", "--steps", "3"])
    assert (settings.n_rows, settings.rate) == (5, 0.1)
    assert limits == Limits(steps=3)  # alone they leave the number of epochs open


@pytest.mark.parametrize(
    ("arguments", "share"),
    [([], 0.1), (["--zero-state", "0.25"], 0.25), (["--published-state"], 0.0)],
)
def test_the_share_of_zero_states_is_an_option(arguments, share):
    assert parsed([*FILES, *arguments])[2].zero_state_share == share


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train", "x"], "--train and --valid should be given together"),
        (["--valid", "x"], "--train and --valid should be given together"),
        (["--evaluate"], "--evaluate needs the text of --valid"),
        (["--options", "o"], "--options and --weights should be given together"),
        (["--weights", "w"], "--options and --weights should be given together"),
        (["--init", "m", "--preset", "tiny"], "Leave out --preset"),
        (["--init", "m", "--cut-at", "byte"], "Leave out --cut-at"),
        (["--batch-size", "3", "--parts", "2"], "should be a multiple of --parts"),
        (["--epochs", "0"], 'Invalid value "0" for --epochs. Must be >= 1'),
        (["--learning-rate", "nan"], 'Invalid value "nan" for --learning-rate'),
        (["--zero-state", "0"], 'Invalid value "0.0" for --zero-state. Must be > 0'),
        (["--seed", "-1"], 'Invalid value "-1" for --seed. Must be >= 0'),
        (["--zero-state", "1", "--published-state"], "--zero-state or --published-"),
        (["--init", "m", *"--options o --weights w".split()], "either --init, or"),
    ],
)
def test_a_value_out_of_its_range_or_beside_another_is_refused(
    arguments, message, capsys
):
    assert console.main(["train", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("negatives", "full_softmax", "expected"),
    [(95, False, 95), (96, False, None), (95, True, None)],
)
def test_the_softmax_is_full_for_small_vocabularies(negatives, full_softmax, expected):
    settings = RunSettings(negatives=negatives, full_softmax=full_softmax)
    assert settings.n_negatives(100) == expected


@pytest.mark.parametrize(
    ("limits", "progress", "reached"),
    [
        ({"epochs": 2}, {"epoch": 1, "step": 99}, False),
        ({"epochs": 2}, {"epoch": 2}, True),
        ({"steps": 5}, {"epoch": 9, "step": 4}, False),
        ({"steps": 5}, {"step": 5}, True),
        ({"epochs": 9, "patience": 2}, {"not_better": 1}, False),
        ({"epochs": 9, "patience": 2}, {"not_better": 2}, True),
    ],
)
def test_training_ends_at_the_first_limit(limits, progress, reached):
    assert bool(Limits(**limits).reached(Progress(**progress))) == reached


# The first epoch had one step more.
SECOND_EPOCH = Progress(epoch=1, step=10, epoch_step=2)


@pytest.mark.parametrize(
    ("epochs", "steps", "progress", "expected"),
    [
        (3, None, None, 21),
        (3, 20, None, 20),
        (3, 22, None, 21),
        (None, 22, None, 22),
        (None, None, None, sys.maxsize),
        (3, None, SECOND_EPOCH, 8 + 7 + 7),
        (3, 20, SECOND_EPOCH, 20),
    ],
)
def test_the_total_number_of_steps_follows_limits_and_progress(
    epochs, steps, progress, expected
):
    assert Limits(epochs=epochs, steps=steps).total_steps(7, progress) == expected
