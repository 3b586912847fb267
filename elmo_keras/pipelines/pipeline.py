"""Pipelines: text in, answers out."""

import functools
import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.argument_checks import shortened
from elmo_keras.embed.embedder import Embedder
from elmo_keras.hub.catalogue import BOX, HEAD_FILES, HUB
from elmo_keras.hub.hugging_face import download_from_hub
from elmo_keras.pipelines.head_files import (
    HEAD,
    LIGHT,
    keras_model,
    load_task_model,
    read_head,
)
from elmo_keras.pipelines.light_heads import Batch, LightClassifier, LightTagger
from elmo_keras.pipelines.texts import Text, join, read_text, script_is
from elmo_keras.tasks.entities import PREDICATE, marks_spans
from elmo_keras.text.length_batches import chunks, map_ahead
from elmo_keras.text.sentences import Sentence, has_items, plain

# Tokens of a text that gets a label; and those that are read at once, with the rest of the
# last sentence, of a text with mentions and of the context of a question.
MAX_LABELLED, MAX_LINKED, MAX_CONTEXT = 1000, 4000, 400
PREDICATES = "predicates"  # folder of the head that finds the predicates of roles
LANGUAGES: dict[str | None, str] = {"en": "English", "ko": "Korean"}


class NamedPipeline:
    """What pipelines of one text and of two share.

    Attributes:
        model: computes the predictions.
        embedder: of the layers that it reads, or None.
        language: of the texts, `"en"`, `"ko"` or None.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        *,
        embedder: Embedder | None = None,
        language: str | None = None,
    ):
        self.name, self.model = name, model
        self.embedder, self.language = embedder, language

    def __repr__(self) -> str:
        return f"pipeline({self.name!r})"

    def __reduce__(self):
        return pipeline, (self.name,)

    def check_script(self, text: Text) -> None:
        if not script_is(text, self.language):
            warnings.warn(
                f"{self.name} reads {LANGUAGES[self.language]}; most letters of a text "
                "are of another script, so that its result says little.",
                stacklevel=2,
            )


class Pipeline(NamedPipeline):
    """Answers for texts; `pipeline` makes one.

    A call reads the texts and gives them to `pipe`, which splits them, has batches of
    their parts predicted by `predict`, and makes the results by `annotate`.

    Args of a call:
        texts: a `str`; a list or another iterable of texts, each a `str` or a list of
            tokens; strings of NumPy, pandas, pyarrow or TensorFlow.

    Returns:
        The result of one `str`; a list of results; or, for an iterator, an iterator of
        results within bounded memory. A text has the same result alone and among others.

    Raises:
        TypeError: a text is neither a `str` nor a list of tokens.
        ValueError: a token is empty or not UTF-8.
    """

    type = "texts"  # or "words", "entities", "roles", which are found in sentences
    batch_size = 2**12  # tokens, whose layers are in memory, twice

    def __call__(self, texts: str | Iterable[Sentence]) -> Any:
        values = plain(texts)
        if isinstance(values, (str, bytes)):
            return next(self.pipe([read_text(0, values)]))
        if not has_items(values):
            raise TypeError(
                "Texts should be a str, or a list of texts, each a str or a list of "
                f"tokens. Received: {shortened(texts)}"
            )
        results = self.pipe(itertools.starmap(read_text, enumerate(values)))
        return results if isinstance(values, Iterator) else list(results)

    def pipe(self, texts: Iterable[Text]) -> Iterator[Any]:
        """Yields the result of each text in turn, which it reads as results are taken."""
        for text, (predictions,) in predict_texts([self], texts):
            yield self.annotate(text, predictions)

    def split(self, text: Text) -> list:
        """The parts of a text that are each read alone, such as its sentences."""
        return text.sentences

    def predict(self, batch: Batch) -> list:
        """The prediction for each part in a batch of about `batch_size` tokens."""
        raise NotImplementedError

    def annotate(self, text: Text, predictions: Sequence) -> Any:
        """The result of a text, from the predictions for its parts."""
        raise NotImplementedError


def predict_texts(
    pipelines: Sequence[Pipeline], texts: Iterable[Text]
) -> Iterator[tuple[Text, list[Sequence]]]:
    """Yields each text with the predictions for its parts, a sequence for each pipeline.

    Pipelines that read sentences by one language model get the same layers, which are
    computed once, while earlier ones are used.
    """
    of_sentences = [one for one in pipelines if one.type != "texts"]
    groups = [of_sentences] if of_sentences else []
    groups += [[one] for one in pipelines if one.type == "texts"]
    streams = map(_predict_together, groups, itertools.tee(texts, len(groups)))
    for rows in zip(*streams):
        predictions = dict(zip(join(groups), join([columns for _, columns in rows])))
        yield rows[0][0], [predictions[one] for one in pipelines]


def _predict_together(pipelines, texts):
    """As `predict_texts`, of pipelines that split texts in the same way."""
    embedders = {id(p.embedder): p.embedder for p in pipelines}

    def parts():
        for text in texts:
            for one in pipelines:
                one.check_script(text)
            *others, last = pipelines[0].split(text) or [[]]
            yield from ((part, None) for part in others)
            yield last, text  # which is complete with it

    def embed(parts):
        sentences = [part for part, _ in parts]
        return parts, {
            key: Batch(sentences, e.stream(sentences) if e else ())
            for key, e in embedders.items()
        }

    size, rows = pipelines[0].batch_size, []
    batches = chunks(parts(), size, lambda part: len(part[0]) or 1)
    for batch, embedded in map_ahead(embed, batches):
        columns = (p.predict(embedded[id(p.embedder)]) for p in pipelines)
        for (_, text), *row in zip(batch, *columns):
            rows.append(row)
            if text is not None:
                yield text, [*zip(*rows)]
                rows = []


class TagPipeline(Pipeline):
    """Parts of speech, or the spans that tags mark: a list of labelled pieces of a text."""

    @property
    def type(self):
        return "entities" if marks_spans(self.model.tags) else "words"

    def predict(self, batch):
        """The labelled tokens or entities of each sentence."""
        return self.model.tag(batch)

    def annotate(self, text, predictions):
        return [text.result(i, p) for i, row in enumerate(predictions) for p in row]


class RolePipeline(Pipeline):
    """Semantic roles: for each predicate of a text a dict of `predicate` and `roles`."""

    type = "roles"

    def __init__(self, name, model, predicates, **options):
        super().__init__(name, model, **options)
        self.predicates = predicates

    def predict(self, batch):
        """For each predicate of each sentence, itself and its roles."""
        predicates = enumerate(self.predicates.tag(batch))
        examples = [(i, one) for i, spans in predicates for one in spans]
        answers = []
        # A sentence is read once for each of its predicates.
        for some in chunks(examples, self.batch_size, lambda e: batch.lengths[e[0]]):
            sentences = [batch.sentences[i] for i, _ in some]
            layers = [batch.layers[i] for i, _ in some]
            positions = [predicate.first for _, predicate in some]
            answers += self.model.tag(Batch(sentences, layers, positions))
        frames = [[] for _ in batch.sentences]
        for (i, predicate), spans in zip(examples, answers):
            roles = [role for role in spans if role.label != PREDICATE]
            frames[i].append((predicate, roles))
        return frames

    def annotate(self, text, predictions):
        return [
            {
                "predicate": text.result(i, predicate),
                "roles": [text.result(i, role) for role in roles],
            }
            for i, frames in enumerate(predictions)
            for predicate, roles in frames
        ]


class LabelPipeline(Pipeline):
    """The label of a text, or a list of labels if it may have several."""

    def split(self, text):
        tokens = join(text.sentences)
        if len(tokens) > MAX_LABELLED:
            warnings.warn(
                f"{self.name} reads the first {MAX_LABELLED:,} tokens of a text.",
                stacklevel=2,
            )
        return [tokens[:MAX_LABELLED]]

    def predict(self, batch):
        """The probability of each label."""
        return self.model.probabilities(batch).tolist()

    def annotate(self, text, predictions):
        """The predicted labels, the most likely first."""
        pairs = sorted(zip(*predictions, self.model.labels), reverse=True)
        end = len(text.source)
        results = [text.at(0, end, label=label, score=p) for p, label in pairs]
        if not self.model.multi_label:
            return results[0]
        return [r for r in results if r["score"] >= self.model.threshold]


class CoreferencePipeline(Pipeline):
    """The entities of a text: a list of clusters, each a list of mentions."""

    batch_size = 1  # so that each part of a text is one

    def split(self, text):
        parts = list(chunks(text.sentences, MAX_LINKED, len))
        if len(parts) > 1:
            warnings.warn(
                f"{self.name} links mentions within parts of about "
                f"{MAX_LINKED:,} tokens.",
                stacklevel=2,
            )
        return parts

    def predict(self, batch):
        """The number of tokens of each part, and its clusters: first and last tokens."""
        return [
            (sum(map(len, part)), self.model.predict([part])[0] if part else [])
            for part in batch.sentences
        ]

    def annotate(self, text, predictions):
        spans, results, before = join(text.spans), [], 0
        for n_tokens, clusters in predictions:
            for cluster in clusters:
                mentions = [
                    text.at(spans[before + first][0], spans[before + last][1])
                    for first, last in sorted(cluster)
                ]
                results.append(mentions)
            before += n_tokens
        return results


class PairPipeline(NamedPipeline):
    """Answers for pairs of texts; `pipeline` makes one.

    The arguments of a call are the two fields of the model by name, each a `str` or a list
    of `str` of the same length, or one `str` for all of a list: `question` and `context`,
    or `premise` and `hypothesis`. Returns a dict, or a list of dicts.
    """

    def __call__(self, **texts: str | Sequence[str]) -> Any:
        fields = self.model.text_fields
        columns = [plain(texts.get(field)) for field in fields]
        lists = [column for column in columns if isinstance(column, (list, tuple))]
        n = len(lists[0]) if lists else 1
        columns = [[c] * n if isinstance(c, str) else c for c in columns]
        if (
            set(texts) != {*fields}
            or not all(isinstance(c, (list, tuple)) and len(c) == n for c in columns)
            or not all(isinstance(text, str) for column in columns for text in column)
        ):
            raise TypeError(
                f"{self.name} needs `{'` and `'.join(fields)}`, each a str, or "
                f"lists of str of the same length. Received: {shortened(texts)}"
            )
        results = []
        for i, pair in enumerate(zip(*columns)):
            read = [read_text(i, text) for text in pair]
            for text in read:
                self.check_script(text)
            results.append(self.answer(*read))
        return results if lists else results[0]

    def answer(self, first: Text, second: Text) -> dict[str, Any]:
        """The result of a pair, in the order of the fields."""
        from elmo_keras.pipelines.keras_heads import answers_to

        tokens = [[join(text.sentences)] for text in (first, second)]
        (answer,) = answers_to(self.model, tokens)
        return {
            "label": answer["label"].decode(),
            "score": float(answer["scores"].max()),
        }


class AnswerPipeline(PairPipeline):
    """The piece of `context` that answers `question`, or `""` with places of 0 for none."""

    def answer(self, first: Text, second: Text) -> dict[str, Any]:
        return self.best(first, second)[0]

    def best(self, context: Text, question: Text, n: int = 1) -> list[dict[str, Any]]:
        """The `n` best answers, of different pieces of the context, the best first.

        Their scores are probabilities among the answers of all pieces.
        """
        from elmo_keras.pipelines.keras_heads import answers_to
        from elmo_keras.tasks.answer_text import OffsetTokens

        question_tokens = join(question.sentences)
        sentences = zip(context.sentences, context.spans)
        pieces = list(chunks(sentences, MAX_CONTEXT, lambda pair: len(pair[0])))
        results = []
        if question_tokens and pieces:
            words = [
                OffsetTokens(join(tokens), *zip(*join(spans)))
                for tokens, spans in (zip(*piece) for piece in pieces)
            ]
            texts = [[piece.tokens for piece in words], [question_tokens] * len(words)]
            answers = answers_to(self.model, texts, self.model.log_scores)
            total = np.logaddexp.reduce([answer["log_total"] for answer in answers])
            for piece, answer in zip(words, answers):
                first, last = answer["span"].tolist()
                if first < 0:
                    continue
                source, begin = str(context.source), piece.begins[first]
                end = begin + len(piece.answer(source, first, last, self.model.endings))
                score = float(np.exp(answer["log_span"] - total))
                results.append(context.at(begin, end, score=score))
        results.sort(key=lambda result: -result["score"])
        return results[:n] or [context.at(0, 0, score=0.0)]


def pipeline(model: str | Path) -> Pipeline | PairPipeline:
    """A pipeline from text to answers.

    Args:
        model: the name of a head in the package, such as `"en-ner"`; the folder of a
            head; `hf://OWNER/NAME[@REVISION]`; or a `.keras` file that a task's command
            saved.

    Returns:
        A callable. For texts, its results are plain dicts of `text`, `label`, `score`,
        a probability, `start` and `end`: characters of a `str`, tokens of a list. For
        each text there is a list of labelled words or entities; a list of `predicate`
        and `roles`; a list of clusters of mentions; or one label. Questions and
        entailment take two texts by name, see `PairPipeline`.

    Raises:
        FileNotFoundError: nothing has this name; the message lists the names.
        ValueError: the files are damaged, or belong to another language model.
        ConnectionError: a hub can't be reached.

    Example:

    >>> tagger = pipeline("en-pos")  # doctest: +SKIP
    >>> tagger("It rains.")[0]  # doctest: +SKIP
    {'text': 'It', 'label': 'PRON', 'score': 0.99, 'start': 0, 'end': 2}
    """
    name = str(model)
    if Path(name).suffix == ".keras":
        return _keras_pipeline(name, load_task_model(Path(name)))
    folder = find_head(model)
    head = read_head(folder)
    options: dict[str, Any] = {"language": head.language}
    if head.class_name not in LIGHT:
        return _keras_pipeline(name, keras_model(head), **options)
    options["embedder"] = _embedder(head.language_model)
    if head.class_name == "TextClassifier":
        return LabelPipeline(name, LightClassifier(head), **options)
    if not head.config["predicate_dim"]:
        return TagPipeline(name, LightTagger(head), **options)
    predicates = read_head(folder / PREDICATES)
    if predicates.language_model != head.language_model:
        raise ValueError(f"The heads in {folder} have different language models.")
    return RolePipeline(name, LightTagger(head), LightTagger(predicates), **options)


def _keras_pipeline(name, model, **options):
    from elmo_keras.pipelines.keras_heads import KerasClassifier, KerasTagger

    class_name = type(model).__name__
    if class_name == "Tagger":
        if model.predicate_dim:
            raise ValueError(
                f"{name} labels the roles of given predicates. Make a head of it, with "
                f"one that finds predicates in its folder {PREDICATES}: see `save_head`."
            )
        return TagPipeline(name, KerasTagger(model), **options)
    if class_name == "TextClassifier":
        return LabelPipeline(name, KerasClassifier(model), **options)
    classes = {
        "CoreferenceModel": CoreferencePipeline,
        "QuestionAnswering": AnswerPipeline,
    }
    return classes.get(class_name, PairPipeline)(name, model, **options)


def find_head(model: str | Path) -> Path:
    """The folder of a head: a path, a name of the package, or files of a hub."""
    path, name = Path(model), str(model)
    if (path / HEAD).is_file():
        return path
    if name in names():
        return BOX / name
    if name.startswith(HUB):
        files = [f"{name}/{file}" for file in HEAD_FILES]
        return download_from_hub(files[:2], files[2:])[0].parent
    raise FileNotFoundError(
        f"There is no pipeline {name}. Give the folder of a head, a .keras file of a "
        f"task's command, hf://OWNER/NAME, or a name: {', '.join(names()) or 'none yet'}."
    )


def is_head(model: str | Path) -> bool:
    """Whether a string or path names a head that is on this machine."""
    return str(model) in names() or (Path(model) / HEAD).is_file()


def needs_tensorflow(model: str | Path) -> bool:
    """Whether the answers of `pipeline(model)` are computed by TensorFlow."""
    return (
        Path(model).suffix == ".keras"
        or read_head(find_head(model)).class_name not in LIGHT
    )


def names() -> list[str]:
    """The names of the heads in the package."""
    return sorted(file.parent.name for file in BOX.glob(f"*/{HEAD}"))


@functools.lru_cache(maxsize=4)
def _embedder(language_model):
    return Embedder(language_model, layers="all", arithmetic="int8")
