"""Checks that a text can be learned from with these words and batches."""

from elmo_keras.text.corpus import TextStatistics, unknown_share
from elmo_keras.training.inputs import MIN_COUNT, Inputs, VocabularySource
from elmo_keras.training.streams import Streams

MAX_UNKNOWN, MANY_UNKNOWN = 0.9, 0.5  # shares of the training text


def check_vocabulary(inputs: Inputs, words: VocabularySource) -> None:
    """Refuses a vocabulary that lacks nearly all of the training text.

    Args:
        inputs: the text and the vocabulary.
        words: the source of the vocabulary, for the message.

    Raises:
        ValueError: more than `MAX_UNKNOWN` of the tokens are not in it.
    """
    unknown = unknown_share(inputs.train, inputs.vocabulary)
    if unknown <= MAX_UNKNOWN:
        return
    if words.file:
        remedy = "Give another --vocabulary"
    elif inputs.pretrained and inputs.pretrained.vocabulary is inputs.vocabulary:
        remedy = "Give --new-softmax for a vocabulary of this text"
    else:
        count = words.min_count or MIN_COUNT
        size = "" if words.max_size is None else ", or a higher --vocabulary-size"
        remedy = f"Give a lower --min-count than {count}{size}"
        if count == 1:
            remedy = "Give a higher --vocabulary-size"
    raise ValueError(
        f"{unknown:.1%} of the tokens of the training text are not among the "
        f"{len(inputs.vocabulary):,} words of the vocabulary, so nearly all that there "
        f"is to predict is <UNK>. {remedy}."
    )


def remarks(text: TextStatistics, streams: Streams) -> list[str]:
    """Lines about what is allowed, but hardly intended.

    Args:
        text: of the training text.
        streams: its batches.
    """
    found = []
    unknown = text.unknown
    if unknown > MANY_UNKNOWN:
        found.append(
            f"Warning: {unknown:.0%} of the training text is <UNK>, which is easy to "
            "predict: the perplexity will look better than the model is."
        )
    n_predictions, rows = streams.corpus.n_predictions, streams.n_rows
    if rows * streams.unroll_steps > n_predictions:
        found.append(
            f"Warning: a batch of {rows:,} rows of {streams.unroll_steps} tokens is "
            f"larger than the training text, which has {n_predictions:,} tokens and "
            "sentence ends: part of each batch is empty. Give a lower --batch-size."
        )
    return found
