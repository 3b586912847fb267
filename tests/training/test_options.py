"""The options of training: their defaults, what they decide, what is refused."""

import pytest

from elmo_keras.commands import console
from elmo_keras.training.options import OPTIMIZERS, TUNING_EPOCHS, Limits, RunSettings
from tests.support.training_runs import parsed

FILES = ["--train", "t", "--valid", "v"]


def test_the_defaults_are_the_published_options_and_those_of_the_example():
    _, _, settings, limits = parsed(FILES)
    assert (settings.rate, settings.optimizer_name) == (0.2, "adagrad")
    assert (settings.n_rows, settings.zero_state_share, limits.epochs) == (128, 0.1, 10)
    assert settings.jit_compile is None  # where there is a GPU
    *_, settings, limits = parsed(["--batch-size", "5", "--steps", "3"])
    assert settings.n_rows == 5
    assert (settings.rate, settings.optimizer_name) == (0.005, "muon")
    assert limits == Limits(steps=3)  # alone they leave the number of epochs open


@pytest.mark.parametrize("files", [[], FILES])
def test_fine_tuning_has_defaults_of_its_own(files):
    *_, settings, limits = parsed([*files, "--init", "en"])
    updates = settings.optimizer_name, settings.rate, settings.schedule_name
    assert updates == ("adam", OPTIMIZERS["adam"].tuning_rate, "cosine")
    assert (settings.n_rows, limits.epochs) == (32, TUNING_EPOCHS)
    *_, settings, limits = parsed([*files, "--init", "en", "--optimizer", "adagrad"])
    assert settings.rate == OPTIMIZERS["adagrad"].tuning_rate


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--valid", "x"], "--valid needs the text of --train, or --evaluate"),
        (["--evaluate"], "--evaluate needs the text of --valid"),
        (["--weights", "w"], "--options and --weights should be given together"),
        (["--init", "m", "--preset", "tiny"], "--preset should be left out: the model"),
        (["--init", "m", "--cut-at", "byte"], "--cut-at should be left out: the model"),
        (["--tokens", "--cut-at", "byte"], "--cut-at should be left out: a model of"),
        (["--batch-size", "3", "--parts", "2"], "should be a multiple of --parts"),
        (["--epochs", "0"], "Invalid value for --epochs: Must be >= 1"),
        (["--zero-state", "1", "--published-state"], "--zero-state excludes --publish"),
        ("--init m --options o --weights w".split(), "--init excludes --options. Give"),
        (["--raw-text", "--tokenizer", "spaces"], "--tokenizer should be left out"),
    ],
)
def test_a_value_out_of_its_range_or_beside_another_is_refused(args, message, error_of):
    assert message in error_of(console.main, ["train", *args])


@pytest.mark.parametrize(
    ("negatives", "full_softmax", "expected"),
    [(95, False, 95), (96, False, None), (95, True, None)],
)
def test_the_softmax_is_full_for_small_vocabularies(negatives, full_softmax, expected):
    settings = RunSettings(negatives=negatives, full_softmax=full_softmax)
    assert settings.n_negatives(100) == expected


@pytest.mark.parametrize(
    ("epochs", "steps", "expected"), [(3, None, 21), (3, 20, 20), (None, 22, 22)]
)
def test_the_total_number_of_steps_follows_the_limits(epochs, steps, expected):
    assert Limits(epochs=epochs, steps=steps).total_steps(7) == expected
