"""The command line of training, the values that it becomes, and what they decide."""

import sys
from pathlib import Path

import pytest

from elmo_keras.training.options import Limits, RunSettings, TextData, TrainingOptions
from elmo_keras.training.progress import Progress
from elmo_keras.util import console
from tests.support.training_runs import parsed

FILES = ["--train", "t", "--valid", "v"]


def test_the_defaults_are_the_published_options():
    _, data, settings, limits = parsed(FILES)
    assert settings == RunSettings(TrainingOptions())
    assert limits == Limits(n_epochs=10)
    assert data == TextData(train=["t"], valid=["v"])


def test_the_example_text_has_defaults_of_its_own():
    found = parsed([])[2].options
    assert found == TrainingOptions(n_epochs=14, batch_size=32, learning_rate=0.1)
    given = parsed(["--batch-size", "5"])[2].options
    assert (given.n_epochs, given.batch_size) == (14, 5)


@pytest.mark.parametrize(
    ("arguments", "n_epochs", "n_steps", "share"),
    [
        ([], 10, None, 0.1),
        (["--zero-state", "0.25"], 10, None, 0.25),
        (["--published-state"], 10, None, 0.0),
        # Steps alone leave the number of epochs open.
        (["--steps", "3"], None, 3, 0.1),
        (["--epochs", "2"], 2, None, 0.1),
        (["--epochs", "2", "--steps", "3"], 2, 3, 0.1),
    ],
)
def test_limits_and_the_share_of_zero_states_are_options(
    arguments, n_epochs, n_steps, share
):
    *_, settings, limits = parsed([*FILES, *arguments])
    assert (limits.n_epochs, limits.n_steps) == (n_epochs, n_steps)
    assert settings.zero_state_share == share


def test_every_option_reaches_the_field_that_it_sets():
    options = """
        --raw-text --vocabulary w --vocabulary-size 9 --vocabulary-text x --min-count
        3 --cut-at character --preset test --max-characters-per-token 8 --warm-up
        0 --unicode-normalization NFC --new-softmax --patience 2 --checkpoint-every 7
        --evaluate-every 11 --seed 5 --unroll-steps 6 --negatives 13
        --full-softmax --dropout 0 --clip-norm 0.5 --optimizer adam --learning-rate
        0.3 --schedule cosine --parts 4 --dtype mixed_bfloat16 --replicas
        2
    """
    _, data, settings, limits = parsed([*FILES, *options.split()])
    assert data == TextData(["t"], ["v"], True, Path("w"), ["x"], 9, 3)
    options = TrainingOptions(10, 128, 6, 13, 0.3, 0.0, 0.5, sample_softmax=False)
    sizes = {"max_characters_per_token": 8, "cut_at": "character"}
    assert settings == RunSettings(
        options=options,
        preset="test",
        changes=sizes | {"unicode_normalization": "NFC"},
        new_softmax=True,
        warm_up=0,
        seed=5,
        optimizer="adam",
        schedule="cosine",
        dtype="mixed_bfloat16",
        replicas=2,
        parts=4,
    )
    assert limits == Limits(10, None, 2, checkpoint_every=7, evaluate_every=11)


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
    ("n_negatives", "sample_softmax", "expected"),
    [(95, True, 95), (96, True, None), (95, False, None)],
)
def test_the_softmax_is_full_for_small_vocabularies(
    n_negatives, sample_softmax, expected
):
    options = TrainingOptions(
        n_negative_samples_batch=n_negatives, sample_softmax=sample_softmax
    )
    assert options.n_negatives(100) == expected


@pytest.mark.parametrize(
    ("limits", "progress", "reached"),
    [
        (Limits(2), Progress(epoch=1, step=99), False),
        (Limits(2), Progress(epoch=2), True),
        (Limits(None, 5), Progress(epoch=9, step=4), False),
        (Limits(None, 5), Progress(step=5), True),
        (Limits(9, patience=2), Progress(not_better=1), False),
        (Limits(9, patience=2), Progress(not_better=2), True),
    ],
)
def test_training_ends_at_the_first_limit(limits, progress, reached):
    assert bool(limits.reached(progress)) == reached


@pytest.mark.parametrize(
    ("limits", "progress", "expected"),
    [
        (Limits(3), None, 21),
        (Limits(3, 20), None, 20),
        (Limits(3, 22), None, 21),
        (Limits(None, 22), None, 22),
        (Limits(None), None, sys.maxsize),
        # The first epoch had one step more.
        (Limits(3), Progress(epoch=1, step=10, epoch_step=2), 8 + 7 + 7),
        (Limits(3, 20), Progress(epoch=1, step=10, epoch_step=2), 20),
    ],
)
def test_the_total_number_of_steps_follows_limits_and_progress(
    limits, progress, expected
):
    assert limits.total_steps(7, progress) == expected
