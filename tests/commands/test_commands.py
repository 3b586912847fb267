"""Every command: what is wrong with its input is one line on standard error, status 2."""

import re
from pathlib import Path
from typing import get_args

import pytest
from cyclopts import CycloptsError, Token

from elmo_keras.commands import console
from elmo_keras.commands.advice import GUESSES
from tests.support.commands import COMMANDS, app_of

MISSING = r"There is no file no.txt\.$"
NO_MODEL = "There is no none. It is neither a path nor the name of a published model"
WRONG = {
    "models fetch smal": "Did you mean small?",
    "train --output out --batch-size 0": "--batch-size: Must be >= 1. Received: 0",
    "train text.txt": "text.txt has no option before it. Did you mean --train text.txt",
    "train --train text.txt --output out --text x": "Did you mean --train",
    "annotate text.txt --model en-ner": "no option --model. Did you mean --with",
    "annotate --wiht en-ner text.txt": "no option --wiht. Did you mean --with",
    "embed text.txt out.npy --modle en": "no option --modle. Did you mean --model",
    "search text.txt --query a": 'no option --query. An example: .* FILE "a query"',
    "ask who?": "QUESTIONS is missing. An example: elmo-keras ask text.txt",
    "score text.txt en": "en has no option before it. Did you mean --model en",
    "train-head ner text.txt out": "Did you mean --train text.txt. .* train-head ner -",
    "train-head NER --train text.txt": "no kind NER. Did you mean ner. There are pos, ",
    "train-head --train text.txt --output out": "The kind is missing. There are pos, ",
    "train --preset smal --output out": "--preset should be one of .*Received: 'smal'",
    "embed no.txt out.npy": MISSING,
    "embed text.txt out.npy --model none": NO_MODEL,
    "embed text.txt text.txt --model en": "The output should end in .hdf5",
    "embed text.txt --model en": "OUTPUT is missing after text.txt. See",
    "--install-completion --shell x": "Choose from: .*zsh",
    "embed text.txt out.npy --weights w": "Give --model, or --options and --weights",
    "embed text.txt out.npy --model en --layers 7": "--layers should be one of",
    "embed text.txt out.npy --model en --workers 2": "work only with",
    "embed text.txt out.npy --model en --part-kilobytes 4": "work only with",
    "embed text.txt out.npy --model en --text-column=": "work only with",
    "embed text.txt out.npy --model en --options o.json": "Give --model, or --options",
    "annotate no.txt --with en-pos": MISSING,
    "annotate text.txt out.xyz --with en-pos": "The output should end in .conllu",
    "annotate text.txt --with none": "There is no pipeline none",
    "annotate text.txt o.html --with en-coref": "Give an OUT that ends in .jsonl, or none",
    "annotate s3://b/a.txt --with en-pos": "s3://b/a.txt is not a local path. Copy",
    "embed s3://b/a.txt out.npy --model en": "s3:/b/a.txt is not a local path. Copy",
    "search no.txt s3://b/a.txt --model en": MISSING,
    "train --train s3://b/a.txt --output out": "s3://b/a.txt is not a local path. Copy",
    "train-head ner --train a --output gs://b/a": "gs:/b/a is not a local path. Copy",
    "evaluate en-pos https://b/a.conllu": "https:/b/a.conllu is not a local path. Copy",
    "ask text.txt who --model en-ner": "en-ner answers no questions",
    "ask no.txt who": MISSING,
    "export none out": NO_MODEL,
    "export en out --layers 7": "--layers should be the index of one of 3 layers",
    "export en text.txt/out": "should be a folder for text.txt/out",
    "serve no.txt": "There is no no.txt. Give a folder of versions",
    "client no.txt out.npy": MISSING,
    "train-head pos --train no.txt --output out": MISSING,
    "train-head ner --train no.txt --output out": MISSING,
    "train-head srl --train no.txt --output out": MISSING,
    "train-head ud --train no.txt --output out": MISSING,
    "train-head coref --train no.txt --output out": MISSING,
    "train-head qa --train no.txt --output out": MISSING,
    "train-head classify --train no.txt --output out": MISSING,
    "train-head entail --train no.txt --output out": MISSING,
    "train-head tag --train no.txt --output out": "no kind tag. There are pos, ner, ",
    "train-head ner --train text.txt": "--output is missing.* train-head ner --help$",
    "train-head ner --train a --output b --metric squad": "no option --metric",
    "evaluate en-pos no.txt": MISSING,
    "evaluate en-pos text.txt": "text.txt:1: 10 columns separated by tabs",
    "evaluate none text.txt": "There is no pipeline none",
    "evaluate en-pos text.txt --output text.txt": "text.txt is an input",
    "search no.txt text.txt": MISSING,
    "score no.txt --model en": MISSING,
    "score text.txt --model none": NO_MODEL,
    "substitutes a --model none": "Give either --word or --position",
    "embde": "no command embde. Did you mean embed. There are annotate, ask, .* models",
    "tag text.txt": "annotate FILE --with en-pos` tags; `elmo-keras train-head pos -",
    "pos text.txt": "no command pos. `elmo-keras annotate FILE --with en-pos` tags; ",
    "ner text.txt": "annotate FILE --with en-ner` finds names; .* train-head ner --",
    "parse text.txt": "annotate FILE --with en-ud` parses; .* train-head ud --train",
    "answer text.txt": "`elmo-keras ask FILE QUESTION` answers; .* train-head qa --",
    "classify text.txt": r"FILE --with HEAD` labels .* train-head classify",
    "sentiment text.txt": "--with ko-sentiment` labels texts; .* train-head classify",
    "coreference text.txt": "--with en-coref` links mentions; .* train-head coref --",
    "predict text.txt": "no command predict. `elmo-keras annotate FILE`",
    "version text.txt": "`elmo-keras --version` prints it",
    "help train": "`elmo-keras --help` lists the commands",
    "pipeline en-ner": "`elmo-keras annotate FILE --with HEAD` runs a pipeline",
    "similarity a": "`elmo-keras search FILE QUERY` finds similar sentences",
    "fine-tune en": "`elmo-keras train --init en --train FILE` fine-tunes",
    "finetune en": "`elmo-keras train --init en --train FILE` fine-tunes",
    "download en": "`elmo-keras models fetch NAME` downloads",
    "info en": "`elmo-keras models` lists models and heads",
    "list all": "`elmo-keras models` lists models and heads",
    "entail text.txt": r"pipeline\(HEAD\)\(premise, hypothesis\)` .* train-head entail",
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


def test_every_command_and_every_guess_is_in_the_table():
    for name in (*COMMANDS, *GUESSES):
        assert any(arguments.startswith(f"{name} ") for arguments in WRONG), name


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


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_with_a_number_refuses_other_numbers_by_name(name):
    for option in app_of(name).assemble_argument_collection():
        types = types_in(option.hint) & {int, float}
        wrong = ["nan", "none"] if types else []
        if types == {int}:
            wrong += ["1.5", "1e3", "-0", "1_0"]
        for text in wrong:
            count = option.parameter.n_tokens or option.token_count()[0]
            option.tokens[:] = count * [Token(keyword=option.name, value=text)]
            with pytest.raises(CycloptsError, match=f"{option.name}.*{text}"):
                option.convert_and_validate()
