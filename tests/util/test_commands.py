"""Every command: what is wrong with its input is one line on standard error, status 2."""

import re
from pathlib import Path
from typing import get_args

import pytest
from cyclopts import CycloptsError, Token

from elmo_keras.util import console

MISSING = r"No such file or directory: 'no.txt'$"
NO_MODEL = "There is no none. It is neither a path nor the name of a published model"
WRONG = {
    "models fetch smal": "Did you mean small?",
    "train --output out --batch-size 0": "--batch-size: Must be >= 1. Received: 0",
    "train no.txt --output out --text x": "Unknown option: --text",
    "embed no.txt out.npy --model en": MISSING,
    "embed text.txt out.npy --model none": NO_MODEL,
    "embed text.txt text.txt --model en": "The output should end in .hdf5",
    "embed text.txt out.npy": "Give --model, or --options and --weights",
    "embed text.txt out.npy --model en --layers 7": "--layers should be one of",
    "embed text.txt out.npy --model en --workers 2": "work only with",
    "annotate no.txt --with en-pos": MISSING,
    "annotate text.txt out.xyz --with en-pos": "The output should end in .conllu",
    "annotate text.txt --with none": "There is no pipeline none",
    "annotate text.txt --with en-coref": "Give an OUT that ends in .jsonl",
    "annotate s3://b/a.txt --with en-pos": "s3://b/a.txt is elsewhere. Copy it",
    "ask text.txt who --model en-ner": "en-ner answers no questions",
    "ask no.txt who": MISSING,
    "export none out": NO_MODEL,
    "export en out --layers 7": "--layers should be the index of one of 3 layers",
    "export en text.txt/out": "should be a folder for text.txt/out",
    "serve no.txt": "There is no no.txt. Give a folder of versions",
    "client no.txt out.npy": MISSING,
    "tag --train no.txt --output out": MISSING,
    "classify --train no.txt --output out": MISSING,
    "entail --train no.txt --output out": MISSING,
    "answer --train no.txt --output out": MISSING,
    "coreference --train no.txt --output out": MISSING,
    "parse --train no.txt --output out": MISSING,
    "search no.txt text.txt --model en": MISSING,
    "score no.txt --model en": MISSING,
    "score text.txt --model none": NO_MODEL,
    "substitutes a --model none": "Give either --word or --position",
    "embde": 'Unknown command "embde". Did you mean "embed"',
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_input_is_one_line_that_names_the_command(
    arguments, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a b\n")
    assert console.main(arguments.split()) == 2
    shown = capsys.readouterr()
    name = arguments.split()[0]
    program = f"elmo-keras {name}" if name in console.COMMANDS else "elmo-keras"
    assert re.fullmatch(rf"{program}: [^\n]+\n", shown.err) and shown.out == ""
    assert re.search(WRONG[arguments], shown.err)
    assert not [path for path in Path().iterdir() if path.name != "text.txt"]


def test_every_command_is_in_the_table():
    assert {arguments.split()[0] for arguments in WRONG} >= {*console.COMMANDS}


def test_only_a_message_about_a_parameter_names_options():
    options = {"layers": "--layers", "mix": "--mix"}
    for message, expected in {
        "`layers` should be `mix`, or `top`.": "--layers should be --mix, or `top`.",
        "a.json should hold `mix`": "a.json should hold `mix`",
        "`char_embed` should not be `mix`": "`char_embed` should not be `mix`",
    }.items():
        assert console._name_options(message, options) == expected


def types_in(hint):
    """The types that an annotation is made of."""
    return {hint}.union(*map(types_in, get_args(hint)))


@pytest.mark.parametrize("name", console.COMMANDS)
def test_an_option_with_a_number_refuses_other_numbers_by_name(name):
    for option in console.make_app()[name].assemble_argument_collection():
        types = types_in(option.hint) & {int, float}
        wrong = ["nan", "none"] if types else []
        if types == {int}:
            wrong += ["1.5", "1e3", "-0", "1_0"]
        for text in wrong:
            count = option.parameter.n_tokens or option.token_count()[0]
            option.tokens[:] = count * [Token(keyword=option.name, value=text)]
            with pytest.raises(CycloptsError, match=f"{option.name}.*{text}"):
                option.convert_and_validate()
