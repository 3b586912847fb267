"""The tasks: how their examples are read, learned and scored; and settings of training."""

import collections
import dataclasses
import importlib
import operator
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from elmo_keras.config import Arithmetic, TokenizerName
from elmo_keras.tasks import data, entities, scores, trees
from elmo_keras.tasks.answer_text import LONGEST_ANSWER, NO_ANSWER, NOT_KNOWN
from elmo_keras.tasks.guidelines import follow_guidelines
from elmo_keras.tasks.head_files import PREDICATES
from elmo_keras.tasks.spans import holds_spans, read_spans
from elmo_keras.text.tokenizers import TOKENIZERS
from elmo_keras.text.word_rules import RULES
from elmo_keras.util.arguments import (
    Count,
    Counts,
    Index,
    NonNegative,
    OneLayer,
    Positive,
    Rate,
    Seed,
    Share,
)

if TYPE_CHECKING:
    from elmo_keras.tasks.batches import Batches
    from elmo_keras.tasks.task_model import TaskModel
    from elmo_keras.tasks.token_vectors import TokenVectors

AUTO, NONE = "auto", "none"  # instead of a language model
PREDICATE_DIM = 10
SCORED = "upos", "xpos", "feats", "lemma"  # labels of words that a parser gives
# Not recorded: files count by their examples, and a cache changes nothing.
UNRECORDED = "train", "dev", "test", "output", "no_cache"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How a model of a task is trained; None is the default of the task.

    Args:
        train: file of training examples
        output: folder of the head, its card, model.keras and results.json; a finished
            run is not repeated
        dev: file whose score decides when training stops
        test: file that is scored with the best weights
        dev_share: share of the training file that is held out where there is no `dev`
        limit: the first N training examples
        share: random share of the training examples, another one for each seed
        model: language model, see `Elmo.from_pretrained`; none for no ELMo; auto for the
            package's, by the script of the texts
        elmo_at: where ELMo is added to the task's network
        layers: mix, average, top, or the index of a layer
        l2: penalty on the mix, the paper's λ
        no_layer_norm: leave the layers of a token as they are before the mix
        elmo_dropout: rate of the dropout on ELMo
        fine_tune: train the language model as well
        arithmetic: of a frozen language model; int8 where LiteRT is installed
        no_cache: run a frozen language model in every epoch
        seed: of the initial weights, the dropout and the order of the examples
        epochs: maximum number of epochs; 12, more for few examples, 15 for `coreference`
        patience: epochs without a better dev score after which training stops; if not
            set, the best one of all is kept
        batch_size: examples in a batch; 32, or 8 for fewer than 1,000 examples
        learning_rate: of Adam; 0.003 for `tag`, 0.002 for `parse`, else 0.001
        schedule: constant, or cosine: the rate falls to 0 in the last epoch
        dropout: rate of the dropout on word and character vectors; 0.3 for `tag` and
            `parse`, else 0.5
        word_dim: size of a word's vector, 0 for none; 0, or that of `word_vectors`, 50 for
            `coreference` and `parse`, 100 without ELMo at the input
        min_count: a word has a vector of its own if it occurs N times in the training text,
            an ending if N of its words have it
        endings: length of the longest endings of words that have a vector of `word_dim`;
            3 for `parse`, else 0 for none
        word_vectors: file of vectors that words start with: GloVe, or word2vec as text
            or binary
        freeze_word_vectors: train no word vector
        character_dim: size of the vector of a word's characters, 0 for none; 0, or 64 for
            `coreference` and without ELMo at the input
        units: size of each LSTM in each direction; 160 for `tag`, 200 for `parse`, 50
            for `entail`, else 100
        layer_dropout: rate of the dropout between the layers; 0.2 for `classify` and
            `answer`, else 0.3
    """

    train: Path
    output: Path
    dev: Path | None = None
    test: Path | None = None
    dev_share: Share = 0.2
    limit: Count | None = None
    share: Share = 1.0
    model: str | None = AUTO
    elmo_at: Literal["input", "output", "both"] = "input"
    layers: OneLayer = "mix"
    l2: NonNegative = 0.001
    no_layer_norm: bool = False
    elmo_dropout: Rate = 0.3
    fine_tune: bool = False
    arithmetic: Arithmetic | None = None
    no_cache: bool = False
    seed: Seed = 1
    epochs: Count | None = None
    patience: Count | None = None
    batch_size: Count | None = None
    learning_rate: Positive | None = None
    schedule: Literal["constant", "cosine"] = "cosine"
    dropout: Rate | None = None
    word_dim: Index | None = None
    min_count: Count = 2
    endings: Index | None = None
    word_vectors: Path | None = None
    freeze_word_vectors: bool = False
    character_dim: Index | None = None
    units: Count | None = None
    layer_dropout: Rate | None = None


class Task:
    """How the examples of a task, dicts, are read, learned and scored."""

    name: ClassVar[str]
    model: ClassVar[str]  # the name of its class
    text_fields: ClassVar[tuple[str, ...]] = ("tokens",)  # see `TaskModel`
    tokenizer: str = "words"  # of texts that a pipeline gets, see `split_words`
    # Of the settings; the last two with ELMo at the input.
    defaults: ClassVar[dict[str, Any]] = {
        "learning_rate": 1e-3,
        "dropout": 0.5,
        "units": 100,
        "layer_dropout": 0.2,
        "epochs": 12,
        "word_dim": 0,
        "endings": 0,
        "character_dim": 0,
    }

    def read(self, path: Path, *, training: bool = False) -> list[dict]:
        """The examples of a file; a `ValueError` names the file and the line."""
        raise NotImplementedError

    def texts(self, examples: Sequence[dict]) -> list[list[str]]:
        """All lists of tokens of examples, as the model reads them."""
        return [example[field] for example in examples for field in self.text_fields]

    def make_model(
        self, token_vectors: "TokenVectors", examples: list[dict], **sizes: Any
    ) -> "TaskModel":
        """A model for the labels of training examples; `sizes` are `units` and `dropout`."""
        make = getattr(importlib.import_module("elmo_keras.tasks"), self.model)
        return make(token_vectors, **self.model_options(examples), **sizes)

    def model_options(self, examples: list[dict]) -> dict[str, Any]:
        """Further arguments of a model that learns examples."""
        raise NotImplementedError

    def targets(self, examples: list[dict], model: "TaskModel") -> Sequence:
        """The label of each example, see `Batches`."""
        raise NotImplementedError

    def calibrate(
        self, model: "TaskModel", examples: list[dict], batches: "Batches"
    ) -> None:
        """Sets what a model decides by, so that held-out examples score best."""

    def statistics(
        self, model: "TaskModel", examples: list[dict], results: list
    ) -> np.ndarray:
        """Counts `(examples, n)` of what `model.predict` gives, for `scores` to add up."""
        raise NotImplementedError

    def scores(self, statistics: np.ndarray) -> dict[str, float]:
        """Scores from 0 to 1 by name; the first one stops training."""
        raise NotImplementedError

    def parts(self, example: dict, result: Any = None) -> dict[Any, str]:
        """The labels of an example, or of its result, by what they label, for the card."""
        return {}

    def left_out(self, examples: list[dict]) -> list[tuple[str, str, int]]:
        """What `SpanEnds.fit` learns from, if the ends of spans are within words."""
        return []

    def companions(self) -> dict[str, "Task"]:
        """Tasks of the same files whose heads a pipeline needs too, by their folders."""
        return {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tagging(Task):
    """Trains a tagger: parts of speech, named entities, semantic roles.

    Files are CoNLL-U (--kind pos: accuracy); columns with entities as IO, BIO, BIOES or
    BMES, CoNLL-U with entities in MISC, or texts with labelled spans as doccano, Label
    Studio, Prodigy, brat and spaCy write them (--kind ner: F1 of entities); or columns
    with the word, the predicate and a column of BIO tags or brackets for each predicate
    (--kind srl: F1 of arguments as the script of CoNLL-2005 counts, without the predicate
    itself, which is given; --kind predicates: F1 of the predicates in the same files).

        elmo-keras tag --train train.conllu --dev dev.conllu --output DIR
        elmo-keras tag --train train.jsonl --output DIR --model lm

    Args:
        kind: of the files; if not set, pos for *.conllu, else ner
        columns: positions of word and tag in files of kind ner, from 1
        tokenizer: how texts are split, those of files with spans and those that the head
            gets: as the models' text, or as the treebanks EWT or GSD
        no_crf: decide each tag by itself
    """

    kind: Literal["pos", "ner", "srl", "predicates"] | None = None
    columns: Counts | None = None
    tokenizer: Literal["words", "ewt", "gsd"] = "words"
    no_crf: bool = False

    name, model = "tag", "Tagger"
    # With a learning rate of 0.001, ten epochs of 2,000 sentences find no entity.
    defaults = Task.defaults | {
        "learning_rate": 3e-3,
        "dropout": 0.3,
        "units": 160,
        "layer_dropout": 0.3,
    }

    def read(self, path, *, training=False):
        kind = self.kind or ("pos" if ".conllu" in path.suffixes else "ner")
        if kind == "ner" and self.columns is None and holds_spans(path):
            return read_spans(path, self.tokenizer)
        if kind == "ner":
            return data.read_columns(path, self.columns)
        if self.columns is not None:
            raise ValueError("`columns` is for `kind` ner. Leave it out.")
        readers = {"pos": data.read_conllu, "srl": data.read_roles}
        return readers.get(kind, data.read_predicates)(path)

    def model_options(self, examples):
        tags = sorted({tag for example in examples for tag in example["tags"]})
        dim = PREDICATE_DIM if self.kind == "srl" else 0
        return {"tags": tags, "crf": not self.no_crf, "predicate_dim": dim}

    def targets(self, examples, model):
        rows = [map(model.tags.index, example["tags"]) for example in examples]
        return [np.array([*row]) for row in rows]

    def statistics(self, model, examples, results):
        """Tags right and in all; if they mark spans, also spans right, in all and predicted."""
        find = entities.arguments if model.predicate_dim else entities.entities
        rows = []
        for example, predicted in zip(examples, results, strict=True):
            gold = example["tags"]
            row = [sum(map(operator.eq, gold, predicted)), len(gold)]
            if model.predicate_dim or entities.marks_spans(model.tags):
                row += entities.count_spans(find(gold), find(predicted))
            rows.append(row)
        return np.array(rows)

    def scores(self, statistics):
        n_right, n_tags, *spans = statistics.sum(axis=0)
        accuracy = {"accuracy": n_right / max(n_tags, 1)}
        return (entities.span_scores(*spans) if spans else {}) | accuracy

    def parts(self, example, result=None):
        """The spans that tags mark, or else the tokens, with their labels."""
        tags = example["tags"] if result is None else result
        if all(tag == entities.OUTSIDE or tag[1:2] == "-" for tag in tags):
            return {tuple(span): label for *span, label in entities.entities(tags)}
        return dict(enumerate(tags))

    def left_out(self, examples):
        ends = [end for e in examples for end in e.get("left_out", ())]
        n_within = sum(n > 0 for *_, n in ends)
        # Fewer are slips of the hand, which the text's words correct.
        return ends if n_within > len(ends) / 20 else []

    def companions(self):
        predicates = dataclasses.replace(self, kind="predicates")
        return {PREDICATES: predicates} if self.kind == "srl" else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parsing(Task):
    """Trains a parser of Universal Dependencies: heads, relations, tags and lemmas.

    Files are CoNLL-U. LAS is the share of words with the right head and relation, without
    its subtype as in UD's script, UAS that with the right head; the others are accuracies
    of UPOS, XPOS, FEATS and LEMMA, where --train has them.

        elmo-keras parse --train train.conllu --dev dev.conllu --output DIR

    Args:
        min_label_count: XPOS, FEATS and rules of lemmas are learned if they occur N times
        tokenizer: how the head splits texts: as the models' text, or as the treebanks EWT
            or GSD
    """

    min_label_count: Count = 3
    tokenizer: Literal["words", "ewt", "gsd"] = "words"

    name, model = "parse", "DependencyParser"
    defaults = Task.defaults | {
        "learning_rate": 2e-3,
        "dropout": 0.3,
        "units": 200,
        "layer_dropout": 0.3,
        "word_dim": 50,
        "endings": 3,
    }

    def read(self, path, *, training=False):
        return data.read_trees(path)

    def model_options(self, examples):
        relations = {r for e in examples for r in e["deprel"]} - {trees.ROOT}
        labels = {}
        for name in trees.LABELS:
            forms = collections.defaultdict(list)
            for example in examples:
                values = trees.label_values(example, name)
                for value, form in zip(values, example["tokens"]):
                    forms[value].append(form.lower())
            forms.pop(None, None)
            least = 1 if name in ("upos", "joined") else self.min_label_count
            frequent = {value for value, all_ in forms.items() if len(all_) >= least}
            if name == "lemma" and forms:
                # A rule of one form is no rule: `known_lemmas` has the form.
                frequent = {rule for rule in frequent if len({*forms[rule]}) > 1}
                frequent.add(trees.lemma_rule("a", "a"))
            if name == "upos" or len(forms) > 1 and frequent:
                labels[name] = sorted(frequent)
        return {
            "relations": sorted(relations),
            "labels": labels,
            "lemmas": trees.known_lemmas(examples) if "lemma" in labels else {},
            "follows_guidelines": _follow_guidelines(examples),
        }

    def targets(self, examples, model):
        return [trees.encode_tree(e, model.relations, model.labels) for e in examples]

    def statistics(self, model, examples, results):
        """Of each sentence the words; right arcs, heads and labels, −1 for no labels."""
        rows = []
        for gold, predicted in zip(examples, results, strict=True):
            heads = np.equal(gold["head"], predicted["head"])
            pairs = zip(gold["deprel"], predicted["deprel"])
            same = [a.split(":")[0] == b.split(":")[0] for a, b in pairs]
            rows.append([len(heads), (heads & same).sum(), heads.sum()])
            for name in SCORED:
                right = map(operator.eq, gold[name], predicted.get(name, ()))
                rows[-1].append(sum(right) if name in predicted else -1)
        return np.array(rows)

    def scores(self, statistics):
        n_words, *right = statistics.sum(axis=0)
        names = "LAS", "UAS", *(name.upper() for name in SCORED)
        return {name: n / n_words for name, n in zip(names, right) if n >= 0}

    def parts(self, example, result=None):
        """The relations of words to their heads."""
        tree = example if result is None else result
        return dict(zip(enumerate(tree["head"]), tree["deprel"]))


def _follow_guidelines(examples):
    """Whether the trees of a treebank do: fewer than one in twenty would be changed."""
    sample = examples[:: len(examples) // 1000 + 1]
    mended = [follow_guidelines(e, [True] * len(e["head"])) for e in sample]
    pairs = zip(sample, mended)
    n = sum((a["head"], a["deprel"]) != (b["head"], b["deprel"]) for a, b in pairs)
    return 20 * n < len(sample)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelTask(Task):
    """Examples with one label each, or with several.

    Args:
        split: split texts at spaces, or at punctuation too (words); lists of tokens stay
    """

    split: TokenizerName = "words"

    @property
    def tokenizer(self):
        return self.split if self.split in RULES else "words"

    def model_options(self, examples):
        labels = {label for example in examples for label in _labels(example)}
        return {"labels": sorted(labels), "multi_label": "labels" in examples[0]}

    def targets(self, examples, model):
        """The index of each label; of multi-label texts, 1 for each right one, else 0."""
        if model.multi_label:
            rows = [np.isin(model.labels, e["labels"]) for e in examples]
            return [row.astype("float32") for row in rows]
        return [model.labels.index(example["label"]) for example in examples]

    def statistics(self, model, examples, results):
        """Whether a label is right; or of each label whether it is, is expected and predicted."""
        if not model.multi_label:
            pairs = zip(examples, results, strict=True)
            return np.array([[example["label"] == label] for example, label in pairs])
        expected, predicted = (
            np.array([np.isin(model.labels, labels) for labels in rows])
            for rows in (map(_labels, examples), results)
        )
        return np.hstack([expected & predicted, expected, predicted])

    def scores(self, statistics):
        return scores.label_scores(statistics)

    def parts(self, example, result=None):
        labels = _labels(example) if result is None else result
        if "label" in example:
            return {"": labels if isinstance(labels, str) else labels[0]}
        return {label: label for label in labels}


def _labels(example):
    return example["labels"] if "labels" in example else [example["label"]]


class Classification(LabelTask):
    """Trains a classifier of texts.

    Files are JSON lines, or tables whose first line names the columns: `text` and
    `label`; or `labels` if a text may have none or several. The scores are accuracy, or
    macro and micro F1.

        elmo-keras classify --train train.jsonl --dev dev.jsonl --output DIR
        elmo-keras classify --train train.tsv --output DIR --model none
    """

    name, model = "classify", "TextClassifier"

    def read(self, path, *, training=False):
        return data.read_texts(path, TOKENIZERS[self.split])


class Entailment(LabelTask):
    """Trains a model of entailment: whether a hypothesis follows from a premise.

    Files are JSON lines, or tables whose first line names the columns: `premise`,
    `hypothesis`, and `label` or `labels`. The scores are those of `classify`.

        elmo-keras entail --train train.tsv --dev dev.tsv --output DIR
    """

    name, model = "entail", "ESIM"
    text_fields = "premise", "hypothesis"
    defaults = Task.defaults | {"units": 50, "layer_dropout": 0.3}

    def read(self, path, *, training=False):
        return data.read_pairs(path, TOKENIZERS[self.split])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answering(Task):
    """Trains a model that answers questions with a span of a text.

    Files are SQuAD's JSON, version 1.1 or 2.0, or JSON lines with the columns of Hugging
    Face's data sets; a model learns that some questions have no answer if --train has
    such questions, and gives none where that raises F1 on the held-out ones. The scores
    are F1 and exact match as SQuAD's scripts compute them.

        elmo-keras answer --train train.json --dev dev.json --output DIR

    Args:
        metric: squad's F1 counts words, korquad's characters
        longest_answer: maximum length of an answer in tokens
    """

    metric: Literal["squad", "korquad"] = "squad"
    longest_answer: Count = LONGEST_ANSWER

    name, model = "answer", "QuestionAnswering"
    text_fields = "context", "question"

    def read(self, path, *, training=False):
        """The questions of a file; warns of answers that are not at their offset."""
        examples = data.read_squad(path)
        if n_misplaced := sum(example["n_misplaced"] for example in examples):
            warnings.warn(
                f"{path}: answers that are not at their answer_start: {n_misplaced:,}. "
                "Questions without another one are scored, but not trained on.",
                stacklevel=2,
            )
        return examples

    def model_options(self, examples):
        return {
            "unanswerable": any(not example["answers"] for example in examples),
            "endings": data.answer_endings(examples),
            "longest_answer": self.longest_answer,
        }

    def targets(self, examples, model):
        """First and last token of each answer; `NO_ANSWER` or `NOT_KNOWN` without one."""
        none = {True: (NOT_KNOWN,) * 2, False: (NO_ANSWER,) * 2}
        return [np.array(e["span"] or none[bool(e["answers"])]) for e in examples]

    def statistics(self, model, examples, results):
        answers = [example["answers"] for example in examples]
        return scores.squad_statistics(results, answers, self.metric)

    def scores(self, statistics):
        return scores.squad_scores(statistics)

    def calibrate(self, model, examples, batches):
        """Moves the score of no answer to where F1 of the examples is the highest."""
        if not model.unanswerable:
            return
        from elmo_keras.tasks.batches import predictions  # by TensorFlow

        pairs = predictions(
            lambda x: zip(*map(np.array, model.best_answers(x))), batches
        )
        spans, margins = map(np.array, zip(*pairs))
        results = [model.result(*pair) for pair in zip(examples, spans)]
        f1, _, has_answer = self.statistics(model, examples, results).T
        order = np.argsort(-margins)
        gains = np.cumsum((f1 - ~has_answer.astype(bool))[order])
        n_answered = 1 + int(np.argmax(gains)) if gains.max() > 0 else 0
        edges = [margins.max() + 1, *margins[order], margins.min() - 1]
        shift = np.mean(edges[n_answered : n_answered + 2])
        model.no_answer_score.bias.assign_add([shift])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coreference(Task):
    """Trains a model of coreference: which mentions refer to the same entity.

    Files have the columns of CoNLL-2012. Each step reads one document, so --batch-size
    has no effect; the documents of --train are cut into parts of --sentences. The first
    score is the mean F1 of MUC, B³ and CEAF φ4; the scores of links get the constant that
    raises it most on --dev. Whether entities that are mentioned only once are learned,
    found and scored depends on --train: they are if it has such, unless --no-singletons
    leaves them out of all files.

        elmo-keras coreference --train train.conll --dev dev.conll --output DIR

    Args:
        hidden_units: size of the hidden layers that compute scores
        longest: maximum length of a mention in tokens
        mentions_per_token: λ, how many spans are kept
        sentences: length of the parts into which training documents are cut
        no_singletons: leave out entities that are mentioned once
    """

    hidden_units: Count = 150
    longest: Count = 10
    mentions_per_token: Positive = 0.4
    sentences: Count = 25
    no_singletons: bool = False

    name, model = "coreference", "CoreferenceModel"
    text_fields = ("sentences",)
    defaults = Task.defaults | {
        "layer_dropout": 0.3,
        "epochs": 15,
        "word_dim": 50,
        "character_dim": 64,
    }

    def read(self, path, *, training=False):
        """The documents of a file; those of the training file are cut into parts."""
        import scipy.optimize  # noqa: F401, so that it isn't missing after training

        documents = data.read_documents(path)
        if self.no_singletons:
            documents = list(map(data.without_singletons, documents))
        if not training:
            return documents
        kept, n = data.has_singletons(documents), self.sentences
        return [part for d in documents for part in data.windows(d, n, singletons=kept)]

    def texts(self, examples):
        return [sentence for e in examples for sentence in e["sentences"]]

    def model_options(self, examples):
        return {
            "hidden_units": self.hidden_units,
            "longest": self.longest,
            "mentions_per_token": self.mentions_per_token,
            "singletons": data.has_singletons(examples),
        }

    def targets(self, examples, model):
        """The mentions of each document: first token, last token, index of the cluster."""
        rows = (
            [(*mention, i) for i, c in enumerate(e["clusters"]) for mention in c]
            for e in examples
        )
        return [np.array(mentions, "int32").reshape(-1, 3) for mentions in rows]

    def statistics(self, model, examples, results):
        """Entities mentioned once count if the model learned such."""
        if not model.singletons:
            examples = list(map(data.without_singletons, examples))
        clusters = [example["clusters"] for example in examples]
        return scores.coreference_statistics(clusters, results)

    def scores(self, statistics):
        return scores.coreference_scores(statistics)

    def calibrate(self, model, examples, batches):
        """Moves the scores of antecedents to where the examples' F1 is the highest.

        Most spans are no mention, so that the loss alone makes links too rare.
        """
        from elmo_keras.tasks.batches import predictions  # by TensorFlow

        outputs = predictions(lambda x: [model(x, training=False)], batches)

        def f1(shift):
            results = []
            for example, output in zip(examples, outputs):
                none, antecedents = np.split(output["scores"], [1], axis=1)
                moved = np.concatenate([none - shift, antecedents], axis=1)
                links = model.decode(None, output | {"scores": moved})
                results.append(model.result(example, links[0].numpy()))
            values = self.scores(self.statistics(model, examples, results)).values()
            return next(iter(values)), -abs(shift)

        shift = max(np.arange(-2, 4.25, 0.25), key=f1)
        model.antecedents.scores.bias.assign_add([shift])
