"""The tagger; entities and roles, as conlleval and CoNLL-2005's script count them."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks import entities as spans
from elmo_keras.tasks.entities import arguments, entities
from elmo_keras.tasks.tagger import Tagger
from elmo_keras.tasks.task import Tagging
from tests.support.task_models import built, scores_of, text_inputs, token_vectors

TAGS = ["B-AN", "I-AN", "O"]
SENTENCES = [["ein", "und"], ["der", "eine", "Neu", "und"], ["war"]]
INPUTS = text_inputs(tokens=SENTENCES)


@functools.cache
def tagger():
    return built(Tagger(token_vectors("both", l2=0.5), tags=TAGS, units=5))


def test_empty_strings_at_the_end_of_a_sentence_get_no_tag():
    sentences = [["ein", "und"], ["ein", "", "und", "", ""], [""]]
    tags = tagger().predict(sentences)
    assert [*map(len, tags)] == [2, 3, 0]
    assert tags[0] == tagger().predict(sentences[:1])[0]


def test_one_graph_tags_batches_of_all_shapes():
    tagger = Tagger(token_vectors(), tags=TAGS, units=5)
    tagger.build()
    for sentences in (SENTENCES[:1], SENTENCES, SENTENCES[1:], [["ein"]]):
        assert [*map(len, tagger.predict(sentences))] == [*map(len, sentences)]
    assert tagger.predict_function.experimental_get_tracing_count() == 1


LABELS = np.array([[0, 1, -1, -1], [2, 0, 1, 2], [2, -1, -1, -1]])


def test_the_loss_is_the_mean_over_tokens():
    model, alone = (
        built(Tagger(token_vectors(), tags=TAGS, units=5, crf=crf))
        for crf in (True, False)
    )
    outputs = model(INPUTS)
    total = -np.sum(model.crf.log_likelihood(outputs, LABELS, LABELS >= 0))
    loss = model.compute_loss(INPUTS, LABELS, outputs)
    assert float(loss) == pytest.approx(total / 7, rel=1e-5)
    log_p = np.array(tf.nn.log_softmax(alone(INPUTS)))
    places = zip(*np.where(LABELS >= 0))
    total = -sum(log_p[(*place, LABELS[place])] for place in places)
    loss = alone.compute_loss(INPUTS, LABELS, alone(INPUTS))
    assert float(loss) == pytest.approx(total / 7, rel=1e-5)


@pytest.mark.parametrize(
    ("tags", "bio"),
    [
        ("I-A I-A O I-A", "B-A I-A O B-A"),  # IO
        ("I-A I-B I-B B-B", "B-A B-B I-B B-B"),  # IOB1
        ("B-A I-A B-A O", "B-A I-A B-A O"),  # BIO
        ("S-A B-A I-A E-A S-A", "B-A B-A I-A I-A B-A"),  # BIOES
        ("U-A B-A L-A I-A", "B-A B-A I-A B-A"),  # BILOU
        ("O B-A I-B I-A", "O B-A B-B B-A"),
    ],
)
def test_all_schemes_become_bio(tags, bio):
    assert spans.to_bio(tags.split()) == bio.split()


def test_entities_are_those_of_conlleval():
    # conlleval begins a chunk at an I- that follows no chunk of its type.
    expected = [(0, 1, "A"), (1, 2, "B"), (2, 3, "B"), (4, 5, "B")]
    assert entities("I-A I-B B-B O I-B".split()) == expected and entities([]) == []


@pytest.mark.parametrize(
    "tags, expected",
    [
        ("B-ARG0 B-V B-ARG1 I-ARG1", {("ARG0", (0, 1)), ("ARG1", (2, 4))}),
        # A role that continues after a gap is one argument of two pieces.
        ("B-A1 B-V B-C-A1 I-C-A1", {("A1", (0, 1), (2, 4))}),
        ("B-A1 B-C-A1 B-C-A1 O", {("A1", (0, 1), (1, 2), (2, 3))}),
        # A continuation belongs to the last argument of its role, or is one itself.
        ("B-A1 B-A1 B-V B-C-A1", {("A1", (0, 1)), ("A1", (1, 2), (3, 4))}),
        ("B-C-A2 B-V O B-A2", {("A2", (0, 1)), ("A2", (3, 4))}),
        # A reference is a role of its own; the predicate's particle is no argument.
        ("B-R-A0 B-V B-A0 B-C-V", {("R-A0", (0, 1)), ("A0", (2, 3))}),
        ("O B-V", set()),
    ],
)
def test_arguments_are_roles_with_their_pieces(tags, expected):
    assert arguments(tags.split()) == expected


@pytest.mark.parametrize(
    "spans_of, gold, found, f1, precision, recall",
    [
        # 3 entities, 4 found, 1 right: another type, one token too many, nothing there.
        (
            entities,
            ["B-A I-A O B-B O", "B-A O", "O"],
            ["B-A I-A O B-C O", "B-A I-A", "B-A"],
            *(2 / 7, 1 / 4, 1 / 3),
        ),
        # 3 arguments: A0 is right, A1 too short, the pieces of A1 wrong. 5 were found.
        (
            arguments,
            ["B-A0 B-V B-A1 I-A1 O", "B-A1 B-V B-C-A1 O O", "O B-V O O O"],
            ["B-A0 B-V B-A1 O B-A2", "B-A1 B-V O B-C-A1 O", "B-V B-A0 O O O"],
            *(2 * 1 / (3 + 5), 1 / 5, 1 / 3),
        ),
        (entities, ["O"], ["O"], 0, 0, 0),
        (arguments, ["B-V"], ["B-V"], 0, 0, 0),
    ],
)
def test_scores_are_those_counted_by_hand(spans_of, gold, found, f1, precision, recall):
    rows = [[spans_of(tags.split()) for tags in pair] for pair in zip(gold, found)]
    numbers = np.sum([spans.count_spans(*row) for row in rows], axis=0)
    expected = {"F1": f1, "precision": precision, "recall": recall}
    assert spans.span_scores(*numbers) == pytest.approx(expected)


def test_the_task_scores_roles_without_their_predicate_and_learns_it():
    tags, found, task = ["B-A0", "B-V", "O"], [["O", "B-V", "O"]], Tagging()
    examples = [{"predicate": [0, 1, 0], "tags": tags}]
    tagger = Tagger(token_vectors(), tags=tags, units=2, predicate_dim=3)
    assert task.targets(examples, tagger)[0].tolist() == [0, 1, 2]
    scores = scores_of(task, tagger, examples, found)
    assert scores["F1"] == 0 and scores["accuracy"] == pytest.approx(2 / 3)
    entities = Tagger(token_vectors(), tags=tags, units=2)
    assert scores_of(task, entities, examples, found)["recall"] == 1 / 2


@pytest.mark.parametrize(
    "tags",
    [
        ["B-PER", "I-PER", "B-LOC", "I-LOC", "O"],
        ["O", "S-A", "B-A", "I-A", "E-A", "U-B", "L-B", "I-B"],
        ["B-A"],
    ],
)
def test_spans_are_the_entities_of_any_tags(tags):
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(0, 9, 200), 0]
    rows = [rng.integers(len(tags), size=n).tolist() for n in lengths]
    numbers = tf.ragged.constant(rows, tf.int32).to_tensor(-1)
    found_spans = spans.tag_spans(numbers, tags)
    for i, row in enumerate(rows):
        expected = entities([tags[number] for number in row])
        n = int(found_spans.count[i])
        found = [x[i].numpy() for x in found_spans[:3]]
        names = [name.decode() for name in found[2][:n]]
        assert [*zip(found[0][:n], found[1][:n], names)] == expected
        assert set(found[0][n:]) | set(found[1][n:]) <= {-1}
        assert set(found[2][n:]) <= {b""}


def test_parts_of_speech_mark_no_spans():
    marks = map(spans.marks_spans, (["O", "B-A"], ["INTJ", "B", "NOUN"]))
    assert [*marks] == [True, False]
