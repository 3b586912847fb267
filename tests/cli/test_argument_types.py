"""The types of arguments: a value, or a message that says what was expected."""

import argparse

import pytest

from elmo_keras.cli.argument_types import (
    Distinct,
    finite_number,
    non_negative,
    numbers,
    port,
    positive,
    rate,
    seconds,
    seed,
    share,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (positive(int), "3", 3),
        (positive(float), "1e-9", 1e-9),
        (non_negative(int), "0", 0),
        (non_negative(float), "0.5", 0.5),
        (rate, "0", 0.0),
        (share, "1", 1.0),
        (seconds, "86400", 86400.0),
        (seed, "4294967295", 2**32 - 1),
        (port, "0", 0),
        (numbers, "1,-2.5", [1.0, -2.5]),
        (finite_number, "-1e30", -1e30),
    ],
)
def test_a_value_in_the_range_is_parsed(kind, text, value):
    parsed = kind(text)
    assert parsed == value and type(parsed) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (finite_number, "nan", "a finite number"),
        (finite_number, "-inf", "a finite number"),
        (positive(int), "0", "above 0"),
        (positive(float), "nan", "above 0"),
        (positive(float), "inf", "above 0"),
        (non_negative(int), "-1", "0 or more"),
        (rate, "1", "from 0 to below 1"),
        (share, "0", "above 0 and at most 1"),
        (seconds, "86401", "0 to 86400 seconds"),
        (seed, "4294967296", r"from 0 to 2\*\*32 - 1"),
        (port, "65536", "a port from 0 to 65535"),
        (numbers, "1,inf", "a finite number"),
    ],
)
def test_a_value_out_of_the_range_is_refused(kind, text, expected):
    message = f"should be {expected}. Received: {text.split(',')[-1]}"
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        kind(text)


@pytest.mark.parametrize(("kind", "name"), [(positive(int), "int"), (rate, "float")])
def test_a_word_is_refused_with_the_name_of_the_type(kind, name, capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=kind)
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--n", "many"])
    assert f"invalid {name} value: 'many'" in capsys.readouterr().err


def test_a_value_given_repeatedly_is_refused_with_its_name(capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", action=Distinct, default=[1])
    assert parser.parse_args([]).seeds == [1]
    assert parser.parse_args(["--seeds", "2", "1"]).seeds == [2, 1]
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--seeds", "3", "1", "3", "1", "2"])
    expected = "argument --seeds: should be different. Given repeatedly: 3, 1"
    assert expected in capsys.readouterr().err
