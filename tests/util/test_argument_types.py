"""The types of arguments: a value, or a message that says what was expected."""

import argparse

import pytest

from elmo_keras.util import argument_types as types


@pytest.mark.parametrize(
    ("kind", "text", "value", "refused", "expected"),
    [
        (types.positive(int), "3", 3, "0", "above 0"),
        (types.positive(float), "1e-9", 1e-9, "nan", "above 0"),
        (types.positive(float), "2", 2.0, "inf", "above 0"),
        (types.non_negative(int), "0", 0, "-1", "0 or more"),
        (types.non_negative(float), "0.5", 0.5, "-1", "0 or more"),
        (types.rate, "0", 0.0, "1", "from 0 to below 1"),
        (types.share, "1", 1.0, "0", "above 0 and at most 1"),
        (types.seconds, "86400", 86400.0, "86401", "0 to 86400 seconds"),
        (types.seed, "4294967295", 2**32 - 1, "4294967296", r"from 0 to 2\*\*32 - 1"),
        (types.port, "0", 0, "65536", "a port from 0 to 65535"),
        (types.numbers, "1,-2.5", [1.0, -2.5], "1,inf", "a finite number"),
        (types.finite_number, "-1e30", -1e30, "nan", "a finite number"),
        (types.finite_number, "0", 0.0, "-inf", "a finite number"),
    ],
)
def test_a_value_in_the_range_is_parsed_and_another_refused(
    kind, text, value, refused, expected
):
    parsed = kind(text)
    assert parsed == value and type(parsed) is type(value)
    message = f"should be {expected}. Received: {refused.split(',')[-1]}"
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        kind(refused)


@pytest.mark.parametrize(
    ("kind", "name"), [(types.positive(int), "int"), (types.rate, "float")]
)
def test_a_word_is_refused_with_the_name_of_the_type(kind, name, capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=kind)
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--n", "many"])
    assert f"invalid {name} value: 'many'" in capsys.readouterr().err


def test_a_value_given_repeatedly_is_refused_with_its_name(capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--seeds", type=int, nargs="+", action=types.Distinct, default=[1]
    )
    assert parser.parse_args([]).seeds == [1]
    assert parser.parse_args(["--seeds", "2", "1"]).seeds == [2, 1]
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--seeds", "3", "1", "3", "1", "2"])
    expected = "argument --seeds: should be different. Given repeatedly: 3, 1"
    assert expected in capsys.readouterr().err
