"""The language model itself: probabilities of words, sentences and substitutes."""

from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel, check_process
from elmo_keras.formats.model_directory import find_model
from elmo_keras.layers.flat_sentences import sentence_numbers, with_boundaries
from elmo_keras.perplexity import HeldOutPerplexity, check_softmax, log_probability_sums
from elmo_keras.predictions import Predictions
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.sentences import Sentence
from elmo_keras.text.vocabulary import Vocabulary


class LanguageModel(Predictions):
    """A biLM with its softmax and vocabulary, asked for probabilities of words.

    Each sentence is read from the zero state.

    Args:
        bilm: a built biLM with a softmax.
        vocabulary: the words of the softmax.
        tokens_at_once: about how many tokens go through the LSTMs together.

    Raises:
        ValueError: the biLM has no softmax over these words.

    Example:

    >>> from elmo_keras import ElmoConfig
    >>> config = ElmoConfig.preset("test")
    >>> vocabulary = Vocabulary.count([["a", "rose", "is", "a", "rose"]])
    >>> bilm = BidirectionalLanguageModel(config, vocabulary_size=len(vocabulary))
    >>> bilm.build()
    >>> model = LanguageModel(bilm, vocabulary)
    >>> [scores] = model.score(["a rose"])
    >>> scores.forward.shape
    (2,)
    >>> len(model.likeliest(["a", "rose"], position=1, top=2))
    2
    """

    def __init__(
        self,
        bilm: BidirectionalLanguageModel,
        vocabulary: Vocabulary,
        *,
        tokens_at_once: int = 2**12,
    ):
        check_softmax(bilm, vocabulary)
        tokenizer = bilm.config.tokenizer
        super().__init__(vocabulary, tokenizer, tokens_at_once=tokens_at_once)
        self.bilm = bilm
        words, integers = (tf.TensorSpec((None,), d) for d in (tf.string, tf.int32))
        self._of_targets = tf.function(
            self._log_probabilities_of_targets,
            input_signature=(words, integers, integers),
            autograph=False,
        )
        self._at_position = tf.function(
            self._log_probabilities_at_position,
            input_signature=(words, integers),
            autograph=False,
        )

    @classmethod
    def from_pretrained(cls, model: str | Path) -> "LanguageModel":
        """The language model of a model directory.

        Raises:
            FileNotFoundError: a file is missing; the message names it.
            ValueError: a file doesn't fit, or the model has no softmax.
        """
        files = find_model(model)
        return cls(files.bilm(), files.predicted_words(model))

    def perplexity(
        self,
        text: Corpus | str | Iterable[Sentence],
        *,
        progress: bool = False,
    ) -> HeldOutPerplexity:
        """The perplexities of a text, with the full softmax.

        Every token and one end of each sentence are predicted, words outside of the
        vocabulary as `<UNK>`.

        Args:
            text: a `Corpus`, which may be larger than memory, or sentences as in
                `Embedder.encode`; at least one.
            progress: whether to show predictions, rate and time left.

        Returns:
            `zero`, with each sentence read from the zero state, and `carried`, with the
            state carried over from sentence to sentence in at most 32 rows, as published
            perplexities are measured: each `forward`, `backward` and their `mean`.
        """
        check_process()
        if not isinstance(text, Corpus):
            text = Corpus.from_sentences(text, tokenizer=self.tokenizer)
        if not len(text):
            raise ValueError("`text` should hold at least one sentence. It is empty.")
        sums = log_probability_sums(self.bilm, text, self.vocabulary, progress=progress)
        return HeldOutPerplexity.from_sums(sums, text.n_predictions)

    def of_targets(self, tokens, ids, lengths):
        check_process()
        words = tf.constant(tokens, tf.string)
        forward, backward = self._of_targets(words, ids, lengths)
        return forward.numpy(), backward.numpy()

    def at_position(self, tokens, position):
        words = tf.constant(tokens, tf.string)
        return self._at_position(words, tf.constant([position])).numpy()

    def _log_probabilities_of_targets(self, tokens, ids, lengths):
        """Forward and backward log probabilities, each `(tokens + sentences,)`."""
        ahead, back = self._last_layer(tokens, lengths)
        boundaries = tf.constant(self.vocabulary.special[:2])
        ids = with_boundaries(ids, lengths, boundaries)
        rows = sentence_numbers(lengths + 2)
        inside = rows[1:] == rows[:-1]  # between two tokens of the same sentence
        return [
            self.bilm.softmax.log_probabilities_of(  # pyright: ignore[reportOptionalMemberAccess]
                tf.boolean_mask(vectors, inside), tf.boolean_mask(targets, inside)
            )
            for vectors, targets in ((ahead[:-1], ids[1:]), (back[1:], ids[:-1]))
        ]

    def _last_layer(self, tokens, lengths):
        """The last layer of both directions, with `<S>` and `</S>`."""
        layers = self.bilm.layers_of_sentences(tokens, lengths, keep_boundaries=True)
        return tf.split(layers[-1], 2, axis=-1)

    def _log_probabilities_at_position(self, tokens, position):
        """By the forward and the backward direction: `(2, words)`."""
        ahead, back = self._last_layer(tokens, tf.size(tokens)[None])
        # `<S>` is before the first token: the one before the position has its index.
        vectors = tf.gather(ahead, position), tf.gather(back, position + 2)
        return tf.nn.log_softmax(self.bilm.softmax(tf.concat(vectors, axis=0)))  # pyright: ignore[reportOptionalCall]
