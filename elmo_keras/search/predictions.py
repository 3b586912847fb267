"""The commands `score` and `substitutes`: what a language model predicts."""

import contextlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmo_keras.base.files import replacing
from elmo_keras.base.messages import waiting
from elmo_keras.commands.arguments import Count, Index, Words
from elmo_keras.commands.outputs import check_new_file
from elmo_keras.embed.engines.backend import choose_backend
from elmo_keras.embed.options import start_backend
from elmo_keras.hub.catalogue import parts_of_model
from elmo_keras.language_model import LanguageModel, SentenceScores
from elmo_keras.text.files import lines_of, open_text
from elmo_keras.text.scripts import N_SAMPLED, package_model, package_model_of
from elmo_keras.text.sentences import words_of_sentences

SENTENCES = ("line", "tokens", "unknown", "forward", "backward", "perplexity", "text")
TOKENS = ("line", "position", "token", "unknown", "forward", "backward")


def score(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    model: str | None = None,
    tokens: bool = False,
    output: Path | None = None,
) -> None:
    """Prints how probable a language model finds each sentence of a file.

    FILE holds one sentence a line, tokens separated by spaces; `-` is standard input, and
    words in quotes are a text. The result is a table with tabs: the line, its number of
    tokens and of unknown ones, the log probabilities in nats by the forward and the
    backward direction, the perplexity by both, and the text. With --tokens it has a line
    for each token instead.

        elmo-keras score FILE
        elmo-keras score "She sat on the bank ."
        elmo-keras score FILE --model MODEL_DIR --tokens --output scores.tsv

    Args:
        file: text, plain or gzipped, - or words in quotes
        model: a model with a softmax: a model directory, a zip, or a published model's name;
            the package's, by the script of the text, if not given
        tokens: a line for each token
        output: file of the table; standard output if not given
    """
    if output is not None:
        parts = parts_of_model(model) if model else ()
        check_new_file(output, [Path(file), *parts])
    head, rows = (TOKENS, token_rows) if tokens else (SENTENCES, sentence_rows)
    with contextlib.ExitStack() as stack:
        is_piped = file == "-"
        text = stack.enter_context(open_text(file))
        lines = lines_of(text, file)
        if model is None:
            model, lines = package_model_of(lines, 1 if is_piped else N_SAMPLED)
        language_model = read_language_model(model)
        table = sys.stdout
        if output is not None:
            path = stack.enter_context(replacing(output))
            table = stack.enter_context(path.open("w", encoding="utf-8"))
        print(*head, sep="\t", file=table)
        sentences = language_model.score(
            (line.split() for line in lines), progress=output is not None
        )
        for line_number, scores in enumerate(sentences, 1):
            for row in rows(scores):
                print(line_number, *row, sep="\t", file=table)


def read_language_model(model: str) -> LanguageModel:
    start_backend(choose_backend(model))
    with waiting(f"Loading {model}"):
        return LanguageModel.from_pretrained(model)


def sentence_rows(scores: SentenceScores) -> Iterator[tuple]:
    """The cells of a sentence after the line number."""
    forward, backward = (f"{total:.4f}" for total in scores.totals)
    text, perplexity = " ".join(scores.tokens), f"{scores.perplexity:.2f}"
    n_unknown = scores.unknown.sum()
    yield len(scores.tokens), n_unknown, forward, backward, perplexity, text


def token_rows(scores: SentenceScores) -> Iterator[tuple]:
    """The cells of each token after the line number; positions count from 0."""
    columns = zip(scores.tokens, scores.unknown, scores.forward, scores.backward)
    for position, (token, unknown, forward, backward) in enumerate(columns):
        yield position, token, int(unknown), f"{forward:.4f}", f"{backward:.4f}"


def substitutes(
    *sentence: Words,
    model: str | None = None,
    word: str | None = None,
    position: Index | None = None,
    top: Count = 10,
    direction: Literal["both", "forward", "backward"] | None = None,
) -> None:
    """Prints the words that a language model expects in place of a word.

    The sentence is split as the model's text was. With --direction, the words are the
    likeliest ones whatever word is there: forward by the tokens before it, backward by
    those after it, both by the product of the two.

        elmo-keras substitutes "The bank of the river" --word bank
        elmo-keras substitutes "The bank of the river" --position 4 --direction forward --model MODEL_DIR

    Args:
        sentence: a text or tokens
        model: a model with a softmax: a model directory, a zip, or a published model's name;
            the package's, by the script of the text, if not given
        word: a word that occurs once in the sentence
        position: index of a token, from 0
        top: number of words
        direction: print the likeliest words in it, also the word itself
    """
    if (word is None) == (position is None):
        raise ValueError("Give either --word or --position.")
    language_model = read_language_model(model or package_model(" ".join(sentence)))
    [tokens] = words_of_sentences(" ".join(sentence), language_model.tokenizer)
    if not tokens:
        raise ValueError("The sentence should have at least one token. It is empty.")
    if position is None:
        positions = [i for i, token in enumerate(tokens) if token == word]
        if len(positions) != 1:
            where = f"at the positions {positions}" if positions else "not in it"
            raise ValueError(
                f"--word should occur once in the sentence. {word!r} is {where}. Give "
                "--position instead."
            )
        position = positions[0]
    if direction is None:
        words = language_model.substitutes(tokens, position, top=top)
    else:
        words = language_model.likeliest(tokens, position, top=top, direction=direction)
    for other, log_probability in words:
        print(f"{math.exp(log_probability):9.3%}  {other}")
