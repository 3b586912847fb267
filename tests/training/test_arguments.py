"""The command line of training and the values that it becomes."""

import pytest

from elmo_keras.training.arguments import parse_command
from elmo_keras.training.options import Limits, TrainingOptions

FILES = ["--train", "t", "--valid", "v"]


def test_the_defaults_are_the_published_options():
    command = parse_command("", FILES)
    assert command.settings.options == TrainingOptions()
    assert command.limits == Limits(n_epochs=10)
    assert (command.text.train, command.text.valid) == (["t"], ["v"])


@pytest.mark.parametrize(
    ("arguments", "share"),
    [([], None), (["--zero-state", "0.25"], 0.25), (["--published-state"], 0.0)],
)
def test_the_share_of_sentences_from_the_zero_state_is_an_option(arguments, share):
    command = parse_command("", [*FILES, *arguments])
    assert command.settings.zero_state_share == share


def test_the_example_text_has_defaults_of_its_own():
    options = parse_command("", []).settings.options
    assert (options.n_epochs, options.batch_size, options.learning_rate) == (
        14,
        32,
        0.1,
    )
    given = parse_command("", ["--batch-size", "5"]).settings.options
    assert (given.n_epochs, given.batch_size) == (14, 5)


@pytest.mark.parametrize(
    ("arguments", "n_epochs", "n_steps"),
    [
        ([], 10, None),
        (["--steps", "3"], None, 3),
        (["--epochs", "2"], 2, None),
        (["--epochs", "2", "--steps", "3"], 2, 3),
    ],
)
def test_steps_alone_leave_the_number_of_epochs_open(arguments, n_epochs, n_steps):
    limits = parse_command("", [*FILES, *arguments]).limits
    assert (limits.n_epochs, limits.n_steps) == (n_epochs, n_steps)


@pytest.mark.parametrize(
    ("arguments", "patience", "raw_text"),
    [([], None, False), (["--patience", "2"], 2, False), (["--raw-text"], None, True)],
)
def test_patience_and_raw_text_are_off_unless_they_are_given(
    arguments, patience, raw_text
):
    command = parse_command("", [*FILES, *arguments])
    assert (command.limits.patience, command.text.raw_text) == (patience, raw_text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train", "x"], "--train and --valid should be given together"),
        (["--valid", "x"], "--train and --valid should be given together"),
        (["--evaluate"], "--evaluate needs the text of --valid"),
        (["--options", "o"], "--options and --weights should be given together"),
        (["--weights", "w"], "--options and --weights should be given together"),
        (["--init", "m", "--options", "o", "--weights", "w"], "--init and --options"),
        (["--init", "m", "--preset", "tiny"], "Leave out --preset"),
        (["--init", "m", "--cut-at", "byte"], "Leave out --cut-at"),
        (["--zero-state", "1", "--published-state"], "should not be given together"),
        (["--batch-size", "3", "--parts", "2"], "should be a multiple of --parts 2"),
    ],
)
def test_contradictions_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        parse_command("", arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "should be above 0. Received: 0"),
        (["--learning-rate", "nan"], "should be above 0. Received: nan"),
        (["--zero-state", "0"], "should be above 0 and at most 1. Received: 0"),
        (["--seed", "-1"], "should be from 0 to"),
    ],
)
def test_a_value_out_of_its_range_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        parse_command("", arguments)
    assert message in capsys.readouterr().err
