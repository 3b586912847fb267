"""Pipelines: text in, answers out."""

import functools
import itertools
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from elmo_keras.argument_checks import shortened
from elmo_keras.embed.embedder import Embedder
from elmo_keras.hub.catalogue import BOX, HEAD_FILES, HUB, VOCABULARY
from elmo_keras.hub.hugging_face import download_from_hub
from elmo_keras.hub.local_files import local_files
from elmo_keras.pipelines.light_heads import Batch, LightTagger
from elmo_keras.pipelines.light_networks import (
    LightAnswerer,
    LightClassifier,
    LightParser,
    Scores,
)
from elmo_keras.pipelines.texts import Text, join, pieces, read_text, script_is
from elmo_keras.progress import Progress
from elmo_keras.tasks.answer_text import OffsetTokens
from elmo_keras.tasks.entities import PREDICATE, marks_spans
from elmo_keras.tasks.guidelines import follow_guidelines
from elmo_keras.tasks.head_files import (
    HEAD,
    KERAS,
    MODEL,
    PREDICATES,
    is_light,
    keras_model,
    load_task_model,
    read_config,
    read_head,
    whole_head,
)
from elmo_keras.tasks.trees import JOINED
from elmo_keras.text.length_batches import chunks, read_ahead
from elmo_keras.text.sentences import Sentence, has_items, plain
from elmo_keras.text.truecase import Truecaser
from elmo_keras.text.vocabulary import Vocabulary

# Tokens of a text that gets a label; and those that are read at once, with the rest of the
# last sentence, of a text with mentions and of the context of a question. A longer sentence
# is cut: of the latter where it is as long as they are, of the former at `MAX_SENTENCE`.
MAX_LABELLED, MAX_LINKED, MAX_CONTEXT = 1000, 4000, 400
MAX_SENTENCE, MAX_PADDED = 250, 2**16
# What a word of a tree has, named as in CoNLL-U.
WORD_COLUMNS = "lemma", "upos", "xpos", "feats", "head", "deprel"
LANGUAGES: dict[str | None, str] = {"en": "English", "ko": "Korean"}


class NamedPipeline:
    """What pipelines of one text and of two share; `embedder` gives layers to `model`."""

    def __init__(
        self,
        name: str,
        model: Any,
        *,
        language: str | None = None,
        tokenizer: str = "words",
    ):
        self.name, self.model = name, model
        self.language, self.tokenizer = language, tokenizer
        self.embedder: Embedder | None = None
        self._head = absolute_head(name)

    def __repr__(self) -> str:
        return f"pipeline({self.name!r})"

    def __reduce__(self):
        return pipeline, (self._head,)

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
        progress: whether to show tokens and rate of a list; by default on a terminal, once
            it takes more than 3 seconds.

    Returns:
        The result of one `str`; a list of results; or, for an iterator, an iterator of
        results within bounded memory. A text has the same result alone and among others.

    Raises:
        TypeError: a text is neither a `str` nor a list of tokens.
        ValueError: a token is empty or not UTF-8.
    """

    type = (
        "texts"  # or those found in sentences: "words", "entities", "roles", "syntax"
    )
    batch_size = 2**12  # tokens, whose layers are in memory, twice
    truecase: Truecaser | None = None  # of sentences in one case, before they are read

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
        """The parts of a text that are each read alone, such as its sentences."""
        return (
            [*map(self.truecase, text.sentences)] if self.truecase else text.sentences
        )

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

    def predict(pair):
        batch, embedded = pair
        return batch, [p.predict(embedded[id(p.embedder)]) for p in pipelines]

    size, rows = pipelines[0].batch_size, []
    batches = chunks(parts(), size, lambda part: len(part[0]) or 1)
    for batch, columns in read_ahead(map(predict, read_ahead(map(embed, batches)))):
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
        result = text.entity if self.type == "entities" else text.result
        return [result(i, p) for i, row in enumerate(predictions) for p in row]


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
        positions = [(i, predicate.first) for i, predicate in examples]
        frames = [[] for _ in batch.sentences]
        answers = self.model.tag_predicates(batch, positions)
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


class SyntaxPipeline(Pipeline):
    """Universal Dependencies: a list of words with the arcs between them."""

    type = "syntax"

    def predict(self, batch):
        """The columns of each sentence."""
        return self.model.parse(batch)

    def trees(self, text: Text, predictions: Sequence) -> list[dict[str, list]]:
        """The columns of a text's sentences, by the guidelines if the treebank follows them.

        `joined` says of no word after space that it belongs to the word before.
        """
        trees = []
        for sentence, spans in zip(predictions, text.spans):
            ends = [-1, *(end for _, end in spans)]
            is_apart = [end < begin for end, (begin, _) in zip(ends, spans)]
            if not isinstance(text.source, str):
                is_apart = [True] * len(spans)
            if self.model.follows_guidelines:
                sentence = follow_guidelines(sentence, is_apart)
            if "joined" in sentence:
                pairs = zip(sentence["joined"], is_apart)
                joined = [JOINED[0] if apart else name for name, apart in pairs]
                sentence = sentence | {"joined": joined}
            trees.append(sentence)
        return trees

    def annotate(self, text, predictions):
        results = []
        for i, sentence in enumerate(self.trees(text, predictions)):
            columns = sentence | {"head": [head - 1 for head in sentence["head"]]}
            if "feats" in columns:
                columns["feats"] = ["" if x == "_" else x for x in columns["feats"]]
            names = [name for name in WORD_COLUMNS if name in columns]
            rows = zip(*(columns[name] for name in names))
            for (begin, end), row in zip(text.spans[i], rows):
                values = dict(zip(names, row))
                results.append(text.at(begin, end, sentence=i, **values))
        return results


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
        """The predicted labels of each text, or its label."""
        return _label(self.model, batch)

    def annotate(self, text, predictions):
        (labels,), end = predictions, len(text.source)
        if isinstance(labels, dict):
            return text.at(0, end, **labels)
        return [text.at(0, end, **label) for label in labels]


def _label(model, *batches):
    """Of each text or pair the likeliest label, or those above the threshold, and their score."""
    several, results = model.multi_label, []
    for row in model.probabilities(*batches).tolist():
        pairs = sorted(zip(row, model.labels), reverse=True)
        labels = [{"label": label, "score": score} for score, label in pairs]
        above = [one for one in labels if one["score"] >= model.threshold]
        results.append(above if several else labels[0])
    return results


def _bounded_parts(sentences):
    """Sentences in parts of `MAX_LINKED` tokens, or fewer if much of them is padding."""
    part, n_tokens, longest = [], 0, 0
    for sentence in sentences:
        longest = max(longest, len(sentence))
        if part and (n_tokens >= MAX_LINKED or (len(part) + 1) * longest > MAX_PADDED):
            yield part
            part, n_tokens, longest = [], 0, len(sentence)
        part.append(sentence)
        n_tokens += len(sentence)
    if part:
        yield part


class CoreferencePipeline(Pipeline):
    """The entities of a text: a list of clusters, each a list of mentions."""

    batch_size = 1  # so that each part of a text is one

    def split(self, text):
        sentences = [piece for s in text.sentences for piece in pieces(s, MAX_SENTENCE)]
        parts = list(_bounded_parts(sentences))
        if len(parts) > 1 or len(sentences) > len(text.sentences):
            warnings.warn(
                f"{self.name} links mentions within parts of about {MAX_LINKED:,} "
                f"tokens, and reads sentences in pieces of {MAX_SENTENCE}.",
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

    A call takes the two fields of the model, `question` and `context`, or `premise` and
    `hypothesis`: by name or in this order, each a `str` or a list of `str` of the same
    length, or one `str` for all of a list; or as a dict, or a list of dicts. Returns a dict,
    or a list of dicts; `progress` is that of `Pipeline`.
    """

    fields = "premise", "hypothesis"
    batch_size = 2**12  # tokens

    def __call__(
        self,
        *texts: Any,
        progress: bool | None = None,
        **named: str | Sequence[str],
    ) -> Any:
        rows, several = self._rows(texts, named)
        pairs = []
        for i, row in enumerate(rows):
            if not all(isinstance(text, str) for text in row):
                raise self._unlike(f"{shortened(row)} in row {i}")
            pairs.append([read_text(i, text, self.tokenizer) for text in row])
            for text in pairs[-1]:
                self.check_script(text)
        results = []
        with Progress(progress=progress) as bar:
            for some in chunks(pairs, self.batch_size, _n_tokens):
                results += self.answer(some)
                bar.add(sum(map(_n_tokens, some)), len(results) / len(pairs))
        return results if several else results[0]

    def _rows(self, texts, named):
        """The texts of each pair, and whether a list was given."""
        rows = plain(texts[0]) if len(texts) == 1 and not named else None
        if isinstance(rows, (list, tuple)):
            if not all(isinstance(row, Mapping) for row in rows):
                raise self._unlike(shortened(rows))
            return [tuple(row.get(key) for key in self.fields) for row in rows], True
        named = dict(zip(self.fields, texts)) | named
        if isinstance(rows, Mapping):
            named = {key: rows[key] for key in self.fields if key in rows}
        columns = [plain(named.get(key)) for key in self.fields]
        if {*named} != {*self.fields} or not all(
            isinstance(column, (str, list, tuple)) for column in columns
        ):
            raise self._unlike(shortened(named or texts))
        lists = [column for column in columns if not isinstance(column, str)]
        n = len(lists[0]) if lists else 1
        columns = [[c] * n if isinstance(c, str) else c for c in columns]
        if not all(len(column) == n for column in columns):
            raise self._unlike(f"{' and '.join(str(len(c)) for c in columns)} texts")
        return [*zip(*columns)], bool(lists)

    def _unlike(self, received):
        return TypeError(
            f"{self.name} needs `{'` and `'.join(self.fields)}`, each a str, or lists of "
            f"str of the same length. Received: {received}"
        )

    def answer(self, pairs: Sequence[Sequence[Text]]) -> list:
        """The result of each pair, whose texts are in the order of the fields."""
        columns = zip(*pairs)
        return _label(
            self.model,
            *(Batch([join(t.sentences) for t in texts]) for texts in columns),
        )


def _n_tokens(pair):
    return sum(len(tokens) for text in pair for tokens in text.sentences) or 1


class AnswerPipeline(PairPipeline):
    """The piece of `context` that answers `question`, or `""` with places of 0 for none.

    The score is the probability of the answer, or of no answer; `no_answer_score` is the
    latter in both cases, if the head learned that some questions have none.
    """

    fields = "question", "context"

    def answer(self, pairs):
        return [answers[0] for answers in self.best(pairs)]

    def best(
        self, pairs: Sequence[Sequence[Text]], n: int = 1
    ) -> list[list[dict[str, Any]]]:
        """The `n` best answers to each question, of different pieces of the context.

        The best comes first. Scores are probabilities among the answers of all pieces.
        """
        parts = (
            (i, question, part)
            for i, (question, context) in enumerate(pairs)
            if question.sentences
            for part in _context_parts(context)
        )
        found: list[list] = [[] for _ in pairs]
        for some in chunks(parts, self.batch_size, lambda part: len(part[2].tokens)):
            contexts = self._batch([part.tokens for _, _, part in some])
            questions = self._batch([join(q.sentences) for _, q, _ in some])
            rows = self.model.scores(contexts, questions)
            for (i, _, part), scores in zip(some, rows):
                found[i].append((part, *best_span(scores, self.model.longest_answer)))
        rows = zip(pairs, found)
        return [self._answers(context, spans)[:n] for (_, context), spans in rows]

    def _batch(self, texts):
        if self.embedder is None:
            return Batch(texts)
        different = {tuple(tokens): tokens for tokens in texts}
        layers = dict(zip(different, self.embedder.stream(different.values())))
        return Batch(texts, [layers[tuple(tokens)] for tokens in texts])

    def _answers(self, context, spans):
        """The answers of the parts that have one, the best first, or that there is none."""
        total = np.logaddexp.reduce([log_total for *_, log_total, _ in spans])
        results = []
        # By the part that is the likeliest to have an answer.
        log_none = min((log_none for *_, log_none in spans), default=-np.inf)
        none = float(np.exp(log_none))
        more = {"no_answer_score": none} if self.model.unanswerable else {}
        for part, span, log_span, *_ in spans:
            if span is not None:
                begin = part.begins[span[0]]
                text = part.answer(str(context.source), *span, self.model.endings)
                score = float(np.exp(log_span - total))
                end = begin + len(text)
                results.append(context.at(begin, end, score=score, **more))
        if not results:
            results.append(context.at(0, 0, score=none, **more))
        return sorted(results, key=lambda result: -result["score"])


def _context_parts(context):
    """The tokens of a context in parts of whole sentences where they aren't too long."""
    rows = ([*zip(*sentence)] for sentence in zip(context.sentences, context.spans))
    cut = (piece for row in rows for piece in pieces(row, MAX_CONTEXT))
    for part in chunks(cut, MAX_CONTEXT, len):
        tokens, spans = zip(*join(part))
        yield OffsetTokens(list(tokens), *zip(*spans))


def best_span(
    scores: Scores, longest: int
) -> tuple[tuple[int, int] | None, float, float, float]:
    """The best span of at most `longest` tokens, or None if no answer is more likely.

    The score of the one or the other comes after it, then the logarithm of the sum over all
    spans and no answer, and that of the probability of no answer.
    """
    starts, ends, none = scores
    padded = np.pad(ends, (0, longest - 1), constant_values=-np.inf)
    sums = starts[:, None] + sliding_window_view(padded, longest)
    first, distance = np.unravel_index(sums.argmax(), sums.shape)
    best = sums[first, distance]
    total = np.logaddexp.reduce(starts) + np.logaddexp.reduce(ends)
    span = (int(first), int(first + distance)) if best >= none else None
    total = float(np.logaddexp(total, none))
    return span, float(max(best, none)), total, float(none - total)


def pipeline(model: str | Path) -> Pipeline | PairPipeline:
    """A pipeline from text to answers.

    Args:
        model: the name of a head in the package, such as `"en-ner"`; the folder of a
            head, such as a task's command makes; `hf://OWNER/NAME[@REVISION]`; or a
            `.keras` file.

    Returns:
        A callable. For texts, its results are plain dicts of `text`, `label`, `score`,
        a probability, `start` and `end`: characters of a `str`, tokens of a list. For
        each text there is a list of labelled words or entities; a list of `predicate`
        and `roles`; a list of clusters of mentions; or one label. Words of a tree have
        `sentence`, its index, `lemma`, `upos`, `xpos`, `feats`, `head`, the index of a word
        in the sentence or -1, and `deprel`, as far as the treebank has them. Questions and
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
    name, file = str(model), keras_file(model)
    if file is not None:
        return _keras_pipeline(name, load_task_model(file))
    folder = find_head(model)
    head = read_head(folder)
    options: dict[str, Any] = {"language": head.language, "tokenizer": head.tokenizer}
    is_by_keras = not is_light(head.model)
    with whole_head(folder):
        if is_by_keras:
            made = _keras_pipeline(name, keras_model(head), **options)
        else:
            made = _light_pipeline(name, head, folder, **options)
    if is_by_keras:
        return made
    made.embedder = _embedder(head.language_model)
    if head.language == "en" and isinstance(made, Pipeline):
        made.truecase = _truecaser(head.language_model)
    return made


def _light_pipeline(name, head, folder, **options):
    class_name = head.model["class_name"]
    if class_name != "Tagger":
        made, light = {
            "TextClassifier": (LabelPipeline, LightClassifier),
            "QuestionAnswering": (AnswerPipeline, LightAnswerer),
            "DependencyParser": (SyntaxPipeline, LightParser),
        }[class_name]
        return made(name, light(head), **options)
    if not head.config["predicate_dim"]:
        return TagPipeline(name, LightTagger(head), **options)
    predicates = read_head(folder / PREDICATES)
    if predicates.language_model != head.language_model:
        raise ValueError("Its two heads have different language models.")
    finder = LightTagger(predicates)
    return RolePipeline(name, LightTagger(head), finder, **options)


def _keras_pipeline(name, model, **options):
    from elmo_keras.pipelines import keras_heads

    class_name = type(model).__name__
    if class_name == "Tagger" and model.predicate_dim:
        raise ValueError(
            f"{name} labels the roles of given predicates. Make a head of it without "
            f"characters, with one that finds predicates in its folder {PREDICATES}: see "
            "`save_head`."
        )
    classes = {
        "Tagger": (TagPipeline, keras_heads.KerasTagger),
        "TextClassifier": (LabelPipeline, keras_heads.KerasClassifier),
        "DependencyParser": (SyntaxPipeline, keras_heads.KerasParser),
        "CoreferenceModel": (CoreferencePipeline, lambda model: model),
        "QuestionAnswering": (AnswerPipeline, keras_heads.KerasAnswerer),
    }
    of_pairs = PairPipeline, keras_heads.KerasClassifier
    made, head = classes.get(class_name, of_pairs)
    return made(name, head(model), **options)


def type_of(model: str | Path) -> str:
    """What `pipeline(model)` finds, by its configuration: `Pipeline.type`, or "pairs"."""
    config = _config_of(model)
    with whole_head(model):
        name, arguments = config["class_name"], config["config"]
        if name == "Tagger" and arguments["predicate_dim"]:
            return "roles"
        if name == "Tagger":
            return "entities" if marks_spans(arguments["tags"]) else "words"
    if name == "DependencyParser":
        return "syntax"
    return "texts" if name in ("TextClassifier", "CoreferenceModel") else "pairs"


def needs_tensorflow(model: str | Path) -> bool:
    """Whether the answers of `pipeline(model)` are computed by TensorFlow."""
    return keras_file(model) is not None or not is_light(_config_of(model))


def _config_of(model):
    return read_config(keras_file(model) or find_head(model))


def keras_file(model: str | Path) -> Path | None:
    """The `.keras` file at a path, or in a folder that a task's command made without a head."""
    path = Path(model)
    if path.suffix == KERAS:
        return path
    has_head = (path / HEAD).is_file()
    return path / MODEL if (path / MODEL).is_file() and not has_head else None


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


def absolute_head(model: str | Path) -> str:
    """What names a head, independent of the current directory."""
    is_path = keras_file(model) is not None or (Path(model) / HEAD).is_file()
    return os.path.realpath(model) if is_path else str(model)


def names() -> list[str]:
    """The names of the heads in the package."""
    return sorted(file.parent.name for file in BOX.glob(f"*/{HEAD}"))


@functools.lru_cache(maxsize=4)
def _embedder(language_model):
    return Embedder(language_model, layers="all", arithmetic="int8")


@functools.lru_cache(maxsize=4)
def _truecaser(language_model):
    """By the model's vocabulary; None if it has none."""
    options, weights = local_files(language_model)
    file = options / VOCABULARY
    known = weights is None and file.is_file()
    return Truecaser(Vocabulary.load(file).words) if known else None
