"""Pipelines: text in, answers out."""

import functools
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmo_keras.base.argument_checks import shortened, warn
from elmo_keras.base.progress import Progress
from elmo_keras.embed.embedder import Embedder
from elmo_keras.heads.find import absolute_head, find_head
from elmo_keras.heads.head import (
    KERAS,
    MODEL,
    copy_model,
    keras_model,
    load_task_model,
    read_head,
    whole_head,
)
from elmo_keras.heads.kinds import find_kind, load
from elmo_keras.heads.texts import Text, join, read_text
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.hub.catalogue import VOCABULARY
from elmo_keras.hub.local_files import local_files
from elmo_keras.text.length_batches import chunks, read_ahead
from elmo_keras.text.scripts import SCRIPTS, is_in_script
from elmo_keras.text.sentences import Sentence, has_items, plain
from elmo_keras.text.truecase import Truecaser
from elmo_keras.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from elmo_keras.heads.evaluation import Evaluation

LANGUAGES = {"en": "English", "ko": "Korean"}


class BasePipeline:
    """The base of pipelines of one text and of two.

    Args:
        name: the argument of `pipeline`.
        model: the kind's network, by Keras or without TensorFlow.
        kind: the name of the kind.
        language, tokenizer: see `Card`.
        embedder: computes all layers for `model`; None for networks that contain their
            language model.
        truecase: gives sentences in one case their usual letters before they are read.
        folder: the head's folder; None for a `.keras` file.

    Attributes:
        type: what is labelled: `words`, `entities`, `roles` or `syntax` of sentences; whole
            `texts`; or `pairs` of texts.
    """

    type: str

    def __init__(
        self,
        name: str,
        model: Any,
        *,
        kind: str,
        language: str | None = None,
        tokenizer: str = "words",
        embedder: Embedder | None = None,
        truecase: Truecaser | None = None,
        folder: Path | None = None,
    ):
        self.name, self.model, self.kind = name, model, kind
        self.language, self.tokenizer = language, tokenizer
        self.embedder, self.truecase, self.folder = embedder, truecase, folder
        self._head = absolute_head(name)

    def __repr__(self) -> str:
        return f"pipeline({self.name!r})"

    def __reduce__(self):
        return pipeline, (self._head,)

    @property
    def labels(self) -> list[str]:
        """The names of the labels."""
        return list(self.model.labels)

    def check_script(self, text: Text) -> None:
        """Warns if most of a text's first letters are not of the language's script."""
        sample = "".join(map(str, text.source[:500]))[:2000]
        if self.language in SCRIPTS and not is_in_script(sample, self.language):
            warn(
                f"{self.name} reads {LANGUAGES[self.language]}; most letters of a text "
                "are of another script, so that its result says little.",
            )

    def batch(self, sentences: Sequence[Sequence[str]]) -> TokenBatch:
        """Lists of tokens with their layers, which are computed once for equal lists."""
        if self.embedder is None:
            return TokenBatch(sentences)
        distinct = {tuple(tokens): tokens for tokens in sentences}
        layers = dict(zip(distinct, self.embedder.stream(distinct.values())))
        return TokenBatch(sentences, [layers[tuple(tokens)] for tokens in sentences])

    def predict_examples(self, examples: Sequence[dict]) -> list:
        """Predictions for examples of the head's task, in the form of their labels."""
        raise NotImplementedError

    def evaluate(self, data: Any, **options: Any) -> "Evaluation":
        """Scores the head on labelled data.

        Args:
            data: a file, or examples in memory, as `train_head` takes them.
            **options: those of the kind of head, such as `columns` of `ner`.

        Returns:
            The scores by name, from 0 to 1; F1 by label; and the most frequent mistakes.

        Raises:
            ValueError: an example is malformed; the message names its place.
        """
        # It imports the parser of commands, which answers don't need.
        from elmo_keras.heads.evaluation import evaluate

        return evaluate(self, data, **options)

    def save(self, folder: str | Path) -> None:
        """Copies the head to a folder, with its language model if that lies at a path.

        A `.keras` file, which holds its language model, becomes the folder's `model.keras`.

        Raises:
            FileExistsError: the folder holds something already.
        """
        if os.path.lexists(folder) and not (
            os.path.isdir(folder) and not os.listdir(folder)
        ):
            raise FileExistsError(f"{folder} exists. Give another name, or remove it.")
        if self.folder is None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            shutil.copy2(find_head(self._head), Path(folder) / MODEL)
        else:
            copy_model(self.folder, Path(folder))


class Pipeline(BasePipeline):
    """Answers for texts; `pipeline` makes one.

    A call reads the texts and gives them to `pipe`, which splits them, has batches of
    their parts predicted by `predict`, and makes the results by `annotate`.

    Args of a call:
        texts: a `str`; a list or another iterable of texts, each a `str` or a list of
            tokens; strings of NumPy, pandas, pyarrow or TensorFlow.
        progress: whether to show tokens and rate of a list; by default on a terminal, once
            it takes more than 3 seconds.

    Returns:
        The result of one `str`; a list of results; or, for an iterator, an iterator of
        results within bounded memory. A text has the same result alone and among others.

    Raises:
        TypeError: a text is neither a `str` nor a list of tokens.
        ValueError: a token is empty or not UTF-8.
    """

    type = "texts"
    batch_size = 2**12  # tokens; the layers of two batches are in memory

    def __call__(
        self, texts: str | Iterable[Sentence], *, progress: bool | None = None
    ) -> Any:
        values = plain(texts)
        if isinstance(values, (str, bytes)):
            return next(self.pipe([read_text(0, values, self.tokenizer)]))
        if not has_items(values):
            raise TypeError(
                "Texts should be a str, or a list of texts, each a str or a list of "
                f"tokens. Received: {shortened(texts)}"
            )
        read = (read_text(i, value, self.tokenizer) for i, value in enumerate(values))
        if isinstance(values, Iterator):
            return self.pipe(read)
        n, results = len(values) if isinstance(values, Sized) else None, []
        with Progress(progress=progress) as bar:
            for text, (predictions,) in predict_texts([self], read):
                results.append(self.annotate(text, predictions))
                bar.add(sum(map(len, text.sentences)), n and len(results) / n)
        return results

    def pipe(self, texts: Iterable[Text]) -> Iterator[Any]:
        """Yields the result of each text in turn, which it reads as results are taken."""
        for text, (predictions,) in predict_texts([self], texts):
            yield self.annotate(text, predictions)

    def split(self, text: Text) -> list:
        """The parts of a text that are read separately, such as its sentences."""
        if self.truecase is None:
            return text.sentences
        return [*map(self.truecase, text.sentences)]

    def predict(self, batch: TokenBatch) -> list:
        """The prediction for each part in a batch of about `batch_size` tokens."""
        raise NotImplementedError

    def annotate(self, text: Text, predictions: Sequence) -> Any:
        """The result of a text, from the predictions for its parts."""
        raise NotImplementedError

    def as_labels(self, predictions: Sequence) -> Any:
        """The predictions for a list of tokens, in the form of an example's labels."""
        raise NotImplementedError

    def predict_examples(self, examples):
        texts = (read_text(i, e["tokens"]) for i, e in enumerate(examples))
        return [self.as_labels(rows) for _, (rows,) in predict_texts([self], texts)]


def predict_texts(
    pipelines: Sequence[Pipeline], texts: Iterable[Text]
) -> Iterator[tuple[Text, list[Sequence]]]:
    """Yields each text with the predictions for its parts, a sequence for each pipeline.

    Pipelines that read sentences by one language model get the same layers, which are
    computed once, while earlier ones are used.
    """
    sentence_pipelines = [p for p in pipelines if p.type != "texts"]
    groups = [sentence_pipelines] if sentence_pipelines else []
    groups += [[p] for p in pipelines if p.type == "texts"]
    streams = map(_predict_together, groups, itertools.tee(texts, len(groups)))
    for rows in zip(*streams):
        predictions = dict(zip(join(groups), join([columns for _, columns in rows])))
        yield rows[0][0], [predictions[p] for p in pipelines]


class _Part(NamedTuple):
    tokens: Any  # a sentence, or what else a pipeline reads at once
    text: Text | None  # the text that ends with this part


def _parts(pipelines, texts):
    for text in texts:
        for pipeline in pipelines:
            pipeline.check_script(text)
        *parts, last = pipelines[0].split(text) or [[]]
        yield from (_Part(part, None) for part in parts)
        yield _Part(last, text)


def _predict_together(pipelines, texts):
    """Yields each text with its predictions by pipelines that split texts alike.

    While the networks read a batch, the embedders compute the layers of the next one.
    """
    embedders = list(dict.fromkeys(p.embedder for p in pipelines))
    indices = [embedders.index(p.embedder) for p in pipelines]

    def embed(parts):
        tokens = [part.tokens for part in parts]
        return parts, [
            TokenBatch(tokens, e.stream(tokens) if e else ()) for e in embedders
        ]

    def predict(embedded):
        parts, batches = embedded
        return parts, [p.predict(batches[i]) for p, i in zip(pipelines, indices)]

    size, predictions = pipelines[0].batch_size, []
    batches = chunks(_parts(pipelines, texts), size, lambda part: len(part.tokens) or 1)
    for parts, columns in read_ahead(map(predict, read_ahead(map(embed, batches)))):
        for part, *row in zip(parts, *columns):
            predictions.append(row)
            if part.text is not None:
                yield part.text, [*zip(*predictions)]
                predictions = []


def pipeline(model: str | Path) -> Any:
    """A pipeline from text to answers.

    Args:
        model: the name of a head in the package, such as `"en-ner"`; the folder of a
            head, such as `train_head` makes; `hf://OWNER/NAME[@REVISION]`; or a
            `.keras` file.

    Returns:
        A callable. For texts, its results are plain dicts of `text`, `label`, `score`,
        a probability, `start` and `end`: characters of a `str`, tokens of a list. For
        each text there is a list of labelled words or entities; a list of `predicate`
        and `roles`; a list of clusters of mentions, which have no `label`; or one label.
        Words of a tree have `sentence`, its index, `lemma`, `upos`, `xpos`, `feats`, `head`,
        the index of a word in the sentence or -1, and `deprel`, if the treebank has
        them. Questions and entailment take two texts by name, see `PairPipeline`.

    Raises:
        FileNotFoundError: nothing has this name; the message lists the names.
        ValueError: the files are damaged, or belong to another language model.
        ConnectionError: a hub can't be reached.

    Example:

    >>> tagger = pipeline("en-pos")  # doctest: +SKIP
    >>> tagger("It rains.")[0]  # doctest: +SKIP
    {'text': 'It', 'label': 'PRON', 'score': 0.99, 'start': 0, 'end': 2}
    """
    name, folder = str(model), find_head(model)
    if folder.suffix == KERAS:
        network = load_task_model(folder)
        make = load(find_kind(network.kind).pipeline)
        return make(name, network, kind=network.kind)
    head = read_head(folder)
    card, options = head.card, {}
    with whole_head(folder):
        if head.kind.light:
            network = load(head.kind.light)(head)
            options["embedder"] = _embedder(card.language_model, head.kind.arithmetic)
            if card.language == "en":
                options["truecase"] = _truecaser(card.language_model)
        else:
            network = keras_model(head)
        return load(head.kind.pipeline)(
            name,
            network,
            kind=card.kind,
            language=card.language,
            tokenizer=card.tokenizer,
            folder=folder,
            **options,
        )


@functools.lru_cache(maxsize=4)
def _embedder(language_model, arithmetic):
    return Embedder(language_model, layers="all", arithmetic=arithmetic)


@functools.lru_cache(maxsize=4)
def _truecaser(language_model):
    """The truecaser of a model's vocabulary; None if the model has none."""
    options, weights = local_files(language_model)
    file = options / VOCABULARY
    if weights is not None or not file.is_file():
        return None
    return Truecaser(Vocabulary.load(file).words)
