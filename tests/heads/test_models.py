"""Properties of the models of all kinds, and of the commands that train them."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import pipeline
from elmo_keras.heads import (
    ESIM,
    CoreferenceModel,
    DependencyParser,
    QuestionAnswering,
    Tagger,
    TextClassifier,
    TokenVectors,
)
from elmo_keras.heads.answering.decoding import best_answer
from elmo_keras.heads.coreference.decoding import find_clusters
from elmo_keras.heads.coreference.model import document_inputs
from elmo_keras.heads.kinds import KINDS, load
from elmo_keras.heads.label_model import LabelModel
from elmo_keras.heads.model import TaskModel
from elmo_keras.text.tokens import padded_tokens
from tests.support import task_models as support
from tests.support.commands import command
from tests.support.task_models import (
    SENTENCES,
    SPEAKERS,
    built,
    text_inputs,
    token_vectors,
)

TEXTS = [["ein", "drei", "neu"], ["zwei"], [], ["sechs", "ein", "ein", "vier"]]
ROLES = [["ein", "drei"], ["zwei", "ein", "neu"]]
OTHERS = [["drei"], ["vier", "ein"], [], ["zwei", "zwei"]]
BIO = ["B-AN", "I-AN", "O"]
LABELS = ["no", "maybe", "yes"]
PAIRS = {"premise": TEXTS, "hypothesis": OTHERS}
QUESTIONS = {
    "context": [*TEXTS[:2], TEXTS[3]],
    "question": [*OTHERS[:2], OTHERS[3]],
}


class Case(NamedTuple):
    """A small model of a kind, and what it is given and gives."""

    make: Callable[[TokenVectors], TaskModel]
    inputs: dict[str, tf.Tensor]
    labels: Any
    lists: Any  # the inputs as `predict` takes them
    expected: Callable[[Any, Any], list]  # the result of `predict`, from outputs
    text: str  # a file with examples; "" for other options of a kind
    scores: set[str]
    n_examples: int = 2
    by_token: bool = False  # whether outputs have an axis of tokens


TREES = 4 * (
    "1\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n"
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tdo\tdo\tVERB\tVBP\t_\t0\troot\t_\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_\n"
    "3.1\tsleep\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
)
DOCUMENTS = 2 * support.document(
    [
        ("Ann", "(0)"),
        ("met", "-"),
        None,
        ("She", "(0)"),
        ("hurt", "-"),
        ("herself", "(0)"),
        None,
    ]
)


def named(model, outputs):
    """The labels of highest probability."""
    return [model.labels[i] for i in np.argmax(outputs, axis=1)]


def best_tags(texts):
    """The best tags of a model with a CRF, by its layer in TensorFlow."""
    return lambda model, outputs: [
        [model.tags[number] for number in row if number >= 0]
        for row in model.crf(outputs, padded_tokens(texts) != "").numpy()
    ]


def best_trees(model, outputs):
    is_word = padded_tokens(TEXTS) != ""
    flat = {name: tf.boolean_mask(x, is_word).numpy() for name, x in outputs.items()}
    return model.decoder.trees(flat, TEXTS)


def best_spans(model, outputs):
    lengths = map(len, QUESTIONS["context"])
    rows = [
        best_answer((starts[:n], ends[:n], none), model.longest_answer)
        for starts, ends, none, n in zip(*map(np.array, outputs), lengths)
    ]
    return [answer.span if answer.is_answer else None for answer in rows]


def clusters(model, outputs):
    scores = {name: x.numpy() for name, x in outputs.items()}
    return [find_clusters(scores, model.singletons)]


CASES = {
    "ner": Case(
        lambda vectors: Tagger(vectors, tags=BIO, units=5),
        text_inputs(tokens=TEXTS),
        [[0, 1, 2, -1], [2, -1, -1, -1], [-1] * 4, [0, 1, 1, 2]],
        TEXTS,
        best_tags(TEXTS),
        "the O\ncat B-X\n\na O\n\n",
        {"F1", "precision", "recall", "accuracy"},
        by_token=True,
    ),
    "ud": Case(
        lambda vectors: DependencyParser(
            vectors,
            relations=["a", "b", "c"],
            labels={"upos": ["N", "V"], "joined": ["no", "yes"]},
            units=3,
            arc_units=5,
            relation_units=2,
            label_units=7,
        ),
        text_inputs(tokens=TEXTS),
        [
            [[2, 0, 1, 0], [0, -1, 0, 0], [2, 1, 1, 0], [-1] * 4],
            [[0, -1, 0, 1], *[[-1] * 4] * 3],
            [[-1] * 4] * 4,
            [[0, -1, 1, 1], [1, 2, 1, 0], [1, 0, 0, 0], [3, 0, 0, 1]],
        ],
        TEXTS,
        best_trees,
        TREES,
        {"LAS", "UAS", "UPOS", "XPOS", "FEATS", "LEMMA"},
        n_examples=8,
        by_token=True,
    ),
    "coref": Case(
        lambda vectors: CoreferenceModel(
            vectors, units=3, hidden_units=7, longest=2, mentions_per_token=1.0
        ),
        document_inputs(SENTENCES, SPEAKERS),
        [[[0, 0, 0], [4, 4, 0], [7, 7, 0]]],
        {"sentences": [SENTENCES], "speakers": [SPEAKERS]},
        clusters,
        DOCUMENTS,
        {"CoNLL F1", "MUC", "B³", "CEAF φ4", "CEAF φ3"},
        n_examples=4,  # a part for each sentence
    ),
    "qa": Case(
        lambda vectors: QuestionAnswering(
            vectors, units=3, unanswerable=True, endings=["eb"]
        ),
        text_inputs(**QUESTIONS),
        [[0, 1], [-1] * 2, [-2] * 2],
        QUESTIONS,
        best_spans,
        support.questions(*2 * [("Ann left.", "Who?", "Ann")]),
        {"F1", "exact match"},
        by_token=True,
    ),
    "classify": Case(
        lambda vectors: TextClassifier(vectors, labels=LABELS, units=3),
        text_inputs(tokens=TEXTS),
        [0, 1, 2, 1],
        TEXTS,
        named,
        "text\tlabel\ngut so\t+\nnicht so gut\t-\n",
        {"accuracy"},
    ),
    "entail": Case(
        lambda vectors: ESIM(vectors, labels=LABELS, units=3),
        text_inputs(**PAIRS),
        [0, 1, 2, 1],
        PAIRS,
        named,
        "premise\thypothesis\tlabel\na b\tb\t0\na b c\tnot c\t1\n",
        {"accuracy"},
    ),
}
CASES |= {
    "pos": CASES["ner"]._replace(
        make=lambda vectors: Tagger(vectors, tags=["ADJ", "NOUN", "X"], units=5),
        text=TREES,
        scores={"accuracy"},
        n_examples=8,
    ),
    "srl": CASES["ner"]._replace(
        make=lambda vectors: Tagger(vectors, tags=BIO, units=5, predicate_dim=3),
        inputs=text_inputs(tokens=ROLES) | {"predicate": tf.one_hot([1, 0], 3, 1, 0)},
        labels=[[0, 2, -1], [2, 0, 1]],
        lists={"tokens": ROLES, "predicate": [1, 0]},
        expected=best_tags(ROLES),
        text="She - B-A0 B-A0\nsaw see B-V O\nhim - B-A1 O\nleave leave O B-V\n\n",
    ),
    "ner, each token alone": CASES["ner"]._replace(
        make=lambda vectors: Tagger(vectors, tags=BIO, units=5, crf=False),
        expected=lambda model, outputs: [
            [BIO[number] for number in row[: len(tokens)]]
            for row, tokens in zip(np.argmax(outputs, axis=2), TEXTS)
        ],
        text="",
    ),
    "classify, several labels": CASES["classify"]._replace(
        make=lambda vectors: TextClassifier(
            vectors, labels=LABELS, units=3, multi_label=True
        ),
        labels=[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]],
        expected=lambda model, outputs: [
            [label for label, p in zip(LABELS, row) if p >= 0.3] for row in outputs
        ],
        text="text\tlabels\nOh no!\tjoy\nYes.\tanger,joy\n",
        scores={"macro F1", "micro F1"},
    ),
    "coref, singletons": CASES["coref"]._replace(
        make=lambda vectors: CoreferenceModel(
            vectors, units=3, hidden_units=7, longest=2, singletons=True
        ),
        text="",
    ),
}
QUICK = "ner", "qa"  # others share their parts, or have a file
VARIANTS = [
    pytest.param(name, marks=[] if name in QUICK else pytest.mark.journey)
    for name in CASES
]


@pytest.fixture(scope="module", params=VARIANTS)
def trained(request):
    """A case, its model with ELMo at both places, and the outputs."""
    case = CASES[request.param]
    keras.utils.set_random_seed(0)
    model = built(case.make(token_vectors("both", l2=0.5)))
    tf.config.run_functions_eagerly(True)
    outputs = model(case.inputs)
    tf.config.run_functions_eagerly(False)
    return case, model, outputs


@pytest.fixture(scope="module", params=VARIANTS)
def plain(request):
    """A case, and its model without ELMo."""
    keras.utils.set_random_seed(0)
    return request.param, built(CASES[request.param].make(token_vectors()))


def test_the_models_are_those_of_all_kinds():
    assert {name.partition(",")[0] for name in CASES} == {*KINDS}
    for name, case in CASES.items():
        model = case.make(token_vectors())
        assert model.kind == name.partition(",")[0]
        assert type(model) is load(KINDS[model.kind].model)


def assert_same(actual, expected, atol=0.0):
    for a, b in zip(
        keras.tree.flatten(actual), keras.tree.flatten(expected), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def test_a_saved_model_gives_the_same_answers_for_strings(trained, tmp_path, eagerly):
    case, model, outputs = trained
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    loaded.run_eagerly = True
    assert_same(loaded(case.inputs), outputs)
    assert loaded.get_config() == model.get_config()
    with pytest.warns(UserWarning, match="does not have a `quantize` method"):
        loaded.quantize("int8")  # by Keras: nothing that its configuration would lack
    assert len(loaded.weights) == len(model.weights)
    actual = keras.tree.flatten(loaded.predict(case.lists))
    expected = keras.tree.flatten(case.expected(model, outputs))
    for a, b in zip(actual, expected, strict=True):
        assert a == (pytest.approx(b) if isinstance(b, float) else b)  # a score


def test_each_weight_but_those_of_the_language_model_has_a_name(trained):
    _, model, _ = trained
    names, bilm = model.named_weights(), model.token_vectors.elmo.bilm.weights
    ids = [id(weight) for weight in names.values()]
    expected = {id(w) for w in model.weights} - {id(w) for w in bilm}
    assert len(ids) == len(expected) and set(ids) == expected
    assert {"encoder/forward/kernel", "encoder/output_mix/scalars"} <= {*names}


def test_given_layers_of_each_field_replace_the_language_model(trained, eagerly):
    case, model, outputs = trained
    elmo = model.token_vectors.elmo
    texts = {name: x for name, x in case.inputs.items() if x.dtype == tf.string}
    texts.pop("speakers", None)
    layers = {f"{name}_layers": elmo.all_layers(x) for name, x in texts.items()}
    assert_same(model(case.inputs | layers), outputs, atol=1e-5)
    expected = keras.tree.flatten(outputs)
    for name, x in layers.items():
        negated = keras.tree.flatten(model(case.inputs | layers | {name: -x}))
        changes = (np.abs(np.array(x) - y).max() for x, y in zip(negated, expected))
        assert max(changes) > 1e-4, name


def test_padding_and_other_examples_change_nothing(trained, eagerly):
    """Where outputs have an axis of tokens, it is that of the first input."""
    case, model, expected = trained
    if isinstance(model, CoreferenceModel):  # a batch is a document
        wider = {n: tf.pad(x, [[0, 0], [0, 3]]) for n, x in case.inputs.items()}
        assert_same(model(wider), expected, 1e-5)
        return
    if not case.by_token:
        assert np.ptp(np.array(expected), axis=0).min() > 1e-4
    lengths = np.count_nonzero(next(iter(case.inputs.values())).numpy(), axis=1)
    for part in (slice(1), slice(1, None)):  # the first example alone, and the others
        padded = {  # other texts by more than the first
            name: tf.pad(x[part], [[0, 0], [0, 1 if x.dtype == tf.int32 else extra]])
            for extra, (name, x) in enumerate(case.inputs.items(), 1)
        }
        outputs = keras.tree.flatten(model(padded))
        for row, i in enumerate(range(len(lengths))[part]):
            for x, y in zip(outputs, keras.tree.flatten(expected), strict=True):
                apart, together = x[row].numpy(), y[i].numpy()
                if case.by_token and apart.ndim:
                    apart, together = apart[: lengths[i]], together[: lengths[i]]
                assert np.all(np.isfinite(together))
                np.testing.assert_allclose(apart, together, rtol=0, atol=1e-5)


def test_the_penalty_of_the_mixes_is_in_the_loss(trained):
    case, model, outputs = trained
    model.compile(run_eagerly=True, jit_compile=False)
    mixes = model.token_vectors.elmo.mixes
    penalty = 0.5 * sum(float(np.sum(mix.scalars.numpy() ** 2)) for mix in mixes)
    labels = tf.constant(case.labels)
    loss = float(model.compute_loss(case.inputs, labels, outputs))
    scalars = [mix.scalars.numpy() for mix in mixes]
    for mix in mixes:
        mix.scalars.assign([0.0] * 3)
    rest = float(model.compute_loss(case.inputs, labels, outputs))
    for mix, values in zip(mixes, scalars):
        mix.scalars.assign(values)
    assert loss - rest == pytest.approx(penalty, rel=1e-4) and penalty > 0.1


def test_weights_of_examples_count_or_are_refused(plain):
    name, model = plain
    inputs, labels = CASES[name].inputs, tf.constant(CASES[name].labels)
    outputs, weights = model(inputs), tf.zeros(len(labels))
    if isinstance(model, LabelModel):
        assert not float(model.compute_loss(inputs, labels, outputs, weights))
    else:
        with pytest.raises(ValueError, match="`sample_weight` should be None"):
            model.compute_loss(inputs, labels, outputs, weights)


def test_a_graph_gives_the_same_outputs(plain, unoptimized_graphs):
    name, model = plain
    inputs = CASES[name].inputs
    expected = model.outputs(inputs)
    model.run_eagerly = False
    actual = model.outputs(inputs)
    model.run_eagerly = True
    # A graph may sum products in another order.
    assert_same(actual, expected, 1e-6)


def test_batches_of_all_shapes_have_one_graph_with_layers_and_one_without():
    model, n_graphs = CASES["ner"].make(token_vectors()), []
    model.build()
    examples = [{"tokens": tokens} for tokens in TEXTS]
    # Without ELMo, the layers are not read.
    for cache in (
        None,
        lambda texts: np.zeros((len(texts), 3, max(map(len, texts)), 10)),
    ):
        for some in examples[:1], examples, examples[1:2]:
            model.results(model.batches(some, cache=cache))
            n_graphs.append(model._graph.experimental_get_tracing_count())
    assert n_graphs == [1, 1, 1, 2, 2, 2]


def test_gradients_are_finite_with_texts_without_tokens(plain, eagerly):
    name, model = plain
    case = CASES[name]
    model.compile("sgd", run_eagerly=True, jit_compile=False)
    labels = tf.constant(case.labels)
    with tf.GradientTape() as tape:
        outputs = model(case.inputs, training=True)
        loss = model.compute_loss(case.inputs, labels, outputs)
    gradients = [
        tf.convert_to_tensor(gradient)
        for gradient in tape.gradient(loss, model.trainable_variables)
        if gradient is not None
    ]
    assert len(gradients) > 0.9 * len(model.trainable_variables)
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients)
    assert np.any([np.any(gradient) for gradient in gradients])


SMALL = "--units 3 --word-dim 4 --batch-size 4 --epochs 1".split()
FILES = {"head.json", "head.safetensors", "model.keras", "model_card.md"}


@pytest.mark.journey
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].text])
def test_a_command_leaves_a_head_and_its_scores_and_is_not_repeated(
    name, model_directory, tmp_path, capsys, request
):
    if name != "ud":  # the others learn in graphs in tests of their own
        request.getfixturevalue("eagerly")
    case, output = CASES[name], tmp_path / "out"
    train = tmp_path / "train"
    train.write_text(case.text, encoding="utf-8")
    words = f"--train {train} --dev {train} --output {output}".split()
    words = [name.partition(",")[0], *words, *SMALL, "--model", str(model_directory)]
    words += ["--sentences", "1"] if name == "coref" else []
    words += ["--character-dim", "2"]
    assert command("train-head")(words) == 0
    content = (output / "results.json").read_bytes()
    results = json.loads(content)
    assert results["cached"] and results["examples"] == case.n_examples
    assert set(results["dev"]) == case.scores
    folders = {"predicates"} if name == "srl" else set()
    files = FILES | {"results.json"} | folders
    assert {path.name for path in output.iterdir()} == files
    find = pipeline(output)
    texts = ("She left.",) * len(getattr(find, "fields", "1"))
    assert isinstance(find(*texts), list | dict)
    model = keras.models.load_model(output / "model.keras")
    model.run_eagerly = True
    n_inputs = len(next(iter(case.inputs.values())))
    assert len(model.predict(case.lists)) == (1 if name == "coref" else n_inputs)
    config = model.optimizer.get_config()["learning_rate"]["config"]
    assert config["decay_steps"] == int(model.optimizer.iterations)
    assert f"The head is in {output}\n" in capsys.readouterr().out
    assert command("train-head")(words) == 0
    assert "epoch" not in capsys.readouterr().out
    assert (output / "results.json").read_bytes() == content


def test_predict_takes_lists_of_equal_lengths():
    classifier = TextClassifier(token_vectors(), labels=["a", "b"], units=2)
    pairs = ESIM(token_vectors(), labels=["a", "b"], units=2)
    roles = Tagger(token_vectors(), tags=["B-V", "O"], units=2, predicate_dim=2)
    for model in classifier, pairs, roles:
        model.run_eagerly = True
    assert classifier.predict([]) == []
    assert pairs.predict({"premise": [], "hypothesis": []}) == []
    assert len(classifier.predict([[]])) == 1
    assert len(pairs.predict({"premise": [[]], "hypothesis": [[]]})) == 1
    with pytest.raises(ValueError, match="a list of `str` for each sentence"):
        classifier.predict(["a text"])
    for wrong in (
        {"premise": [["a"]], "hypothesis": [["a"], ["b"]]},
        {"premise": [["a"]]},
        {"premise": [["a"]], "hypothesis": [["a"]], "other": [["a"]]},
        [["a"]],
    ):
        with pytest.raises(ValueError, match="same length for hypothesis, premise"):
            pairs.predict(wrong)
    for predicate in 5, -1, 1:
        with pytest.raises(ValueError, match="position of a token .* for 1 tokens"):
            roles.predict({"tokens": [["a"]], "predicate": [predicate]})
    with pytest.raises(ValueError, match="position of a token"):
        roles.predict([["a"]])
    with pytest.raises(ValueError, match="same length for tokens"):
        classifier.predict({"tokens": [["a"]], "predicate": [0]})


def test_predict_of_tensors_is_that_of_keras():
    model = built(TextClassifier(token_vectors(), labels=["a", "b"], units=2))
    inputs = text_inputs(tokens=TEXTS)
    p = model.predict(inputs, verbose=0)
    np.testing.assert_allclose(p, model(inputs), atol=1e-6)
    assert model.predict(TEXTS) == [model.labels[i] for i in p.argmax(axis=1)]
