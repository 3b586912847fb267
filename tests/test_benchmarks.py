"""The benchmarks' own arithmetic and requests; the peers are not needed."""

import contextlib
import json
import math
import types
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import ElmoConfig
from elmo_keras.layers import ProjectedLSTM
from tests.benchmarks import (
    answer_spans,
    approximate_search,
    embedding,
    engines,
    first_vector,
    growth,
    limits,
    long_documents,
    serving_plain,
    task_epochs,
    tasks,
)
from tests.benchmarks.arithmetic import (
    needed,
    of_position,
    of_training_step,
    of_word,
)
from tests.benchmarks.embedding_systems import OURS
from tests.benchmarks.kernel_count import counted
from tests.benchmarks.serving_plain_worker import timed
from tests.benchmarks.turns import Text, Turns, file_requests
from tests.benchmarks.vectors import cosines, difference

COMMANDS = [embedding, engines, growth, long_documents, tasks]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.__name__)
def test_a_text_that_is_missing_or_too_short_is_one_line_and_status_2(
    command, tmp_path, capsys
):
    text = tmp_path / "text.txt"
    assert command.main(["--text", str(text)]) == 2
    missing = capsys.readouterr().err
    text.write_text("one sentence\n", encoding="utf-8")
    assert command.main(["--text", str(text)]) == 2
    short = capsys.readouterr().err
    assert "text.txt" in missing and "the text has 1" in short
    assert missing.count("\n") == short.count("\n") == 1


def test_a_document_has_the_first_tokens_of_a_text():
    sentences = [["a", "b"], ["c", "d", "e"], ["f"]]
    assert long_documents.beginning(sentences, 4) == [["a", "b"], ["c", "d"]]
    assert long_documents.beginning(sentences, 6) == sentences


def test_stages_of_a_first_vector_follow_one_another():
    ends = {"Python": 0.25, "import": 2.25, "read": 2.5, "first": 3.0, "second": 3.125}
    start = {name: (end, 2 * end) for name, end in ends.items()}
    peer = {name: (end / 2, end) for name, end in ends.items()}
    _, ours = first_vector.rows({"AllenNLP": [peer], "eager": [start] * 3})
    assert ours == [
        "eager",
        *("2.00", "0.25", "0.50", "0.12"),
        "3.00 (3.00 – 3.00)",
        "2.00",
        "6.00",
    ]


def test_an_empty_text_is_refused_before_anything_is_started(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("", encoding="utf-8")
    for main, given in (first_vector.main, []), (serving_plain.main, [str(tmp_path)]):
        assert main([*given, "--text", str(text)]) == 2
        error = capsys.readouterr().err
        assert "the text has 0" in error and error.count("\n") == 1


def test_servers_are_compared_round_by_round():
    slow, fast = [[0.5] * 4, [0.25] * 8], [[0.125] * 16, [0.125] * 16]
    found = {"function": slow, "gRPC": slow, "embedded": fast}
    embedded = serving_plain.rows(found, 2.0)[-1]
    assert embedded == [
        "embedded",
        "8.0 (8.0 – 8.0)",
        "3.00",
        "3.00",
        "125.0 ms",
        "-250.0 ms",
    ]


def test_epochs_are_compared_with_the_first_system_after_their_first_epoch():
    def worker(name, seconds):
        answers = [{"seconds": s, "processor": 2 * s, "loss": s} for s in seconds]
        asked = iter(answers)
        one = types.SimpleNamespace(
            name=name, hello={"examples": 1000}, ask=lambda line: next(asked)
        )
        return contextlib.nullcontext(one)

    systems = [worker("other", [9.0, 2.0, 4.0]), worker("this", [5.0, 1.0, 1.0])]
    first, second = task_epochs.measured(systems, rounds=2)
    expected = ["other", "3.00 (2.00 – 4.00)", "1.00", "6.00", "1.00", "9.0 s"]
    assert first == ["1,000", *expected, "4.00000"]
    expected = ["this", "1.00 (1.00 – 1.00)", "3.00", "2.00", "3.00", "5.0 s"]
    assert second == ["1,000", *expected, "1.00000"]


def test_the_parts_of_a_step_are_those_of_the_layer():
    config = ElmoConfig.preset("test")
    lstm = ProjectedLSTM(config.units, config.projection_dim)
    lstm.build((None, None, config.projection_dim))
    weights = lstm.recurrent_kernel, lstm.projection_kernel
    read = sum(4 * math.prod(weight.shape) for weight in weights)
    assert limits.bytes_of_step(config) == read
    kernels = (*weights, lstm.kernel)
    assert limits.arithmetic(config) == 2 * sum(math.prod(k.shape) for k in kernels)
    times = limits.fastest(limits.parts(lstm, 2), rounds=1)
    assert [*times] == [*limits.PARTS, "step"] and min(times.values()) > 0
    times = limits.fastest(limits.one_row(config), rounds=1)
    assert {dtype for dtype, _ in times} == {*limits.DTYPES}
    assert len(times) == 4 and min(times.values()) > 0


def test_calls_of_a_turn_end_with_it():
    heard = []
    times = timed([heard.append, heard.append], ["a", "b"], 0.01)
    assert len(times) == len(heard) and {*heard} == {"a", "b"}


def test_too_few_vectors_to_search_are_one_line_and_status_2(tmp_path, capsys):
    np.save(tmp_path / "few.npy", np.ones((9, 2), "float32"))
    assert approximate_search.main([str(tmp_path / "few.npy")]) == 2
    error = capsys.readouterr().err
    assert "has 9 vectors: too few" in error and error.count("\n") == 1


def test_operations_in_loops_and_compiled_functions_are_counted():
    compiled = tf.function(lambda x: tf.tanh(x) + x, jit_compile=True)

    def step(x, n):
        _, x = tf.while_loop(
            lambda i, x: i < n, lambda i, x: (i + 1, compiled(tf.matmul(x, x))), (0, x)
        )
        return tf.tanh(x) * tf.cast(tf.shape(x)[0] + n, tf.float32)

    signature = tf.TensorSpec((2, 2)), tf.TensorSpec((), tf.int32)
    graph = tf.function(step, autograph=False).get_concrete_function(*signature).graph
    counts = counted(graph.as_graph_def(), rounds=5)
    assert counts == {"MatMul": 5, "XLA": 5, "Tanh": 1, "Mul": 1, "Cast": 1}


def test_the_arithmetic_of_the_original_model_is_the_published_one():
    config = ElmoConfig.preset("original")
    assert of_position(config) == 150_994_944
    assert of_word(config, "w" * 60) == pytest.approx(54e6, rel=0.1)


def test_the_arithmetic_of_a_small_model_equals_a_count_by_hand():
    config = ElmoConfig(7, 5, ((1, 2), (3, 4)), char_embedding_dim=2)
    of_lstm = 2 * 2 * 2 * (10 * 28 + 7 * 5)  # two layers, two directions
    per_window = 2 * (1 * 2 * 2 + 3 * 2 * 4)
    for_each_word = 2 * (2 * 6 * 6 + 6 * 5)
    words = [3, 4, 3, 3]  # characters with begin and end: "a", "bc", <S> and </S>
    expected = 5 * of_lstm + sum(n * per_window + for_each_word for n in words)
    assert needed(config, [["a", "bc"], ["a"]]) == expected


def test_the_arithmetic_of_a_training_step_equals_a_count_by_hand():
    config = ElmoConfig(7, 5, ((1, 2), (3, 4)), char_embedding_dim=2)
    of_lstm = 2 * 2 * 2 * (10 * 28 + 7 * 5)  # two layers, two directions
    of_softmax = 2 * 2 * 11 * 5  # two directions, 11 words
    of_words = of_word(config, "a") + of_word(config, "bc")
    expected = 3 * (20 * (of_lstm + of_softmax) + of_words)  # forward, and twice that
    assert of_training_step(config, [3, 4], positions=20, scored=11) == expected


def test_no_window_ends_after_the_longest_word():
    config = ElmoConfig(7, 5, ((3, 4),), n_highway=0, max_characters_per_token=9)
    longest, longer = of_word(config, "abcdefg"), of_word(config, "abcdefghij")
    assert longest == longer == 2 * (7 * 3 * 16 * 4 + 4 * 5)


def test_sentences_of_mixed_lengths_have_as_many_tokens_as_asked_for():
    batch = growth.mixed([["a", "b", "c"], ["d"]], 100, 500)
    lengths = [len(sentence) for sentence in batch]
    assert sum(lengths) == 500 and max(lengths) == 100 and min(lengths) < 20


def test_the_largest_difference_and_the_lowest_cosine_are_reported():
    expected = np.ones((2, 3, 5))
    vectors = expected.copy()
    vectors[1, 2, 0] = -1.0
    assert difference(vectors, expected) == "2.0e+00 of 1.0"
    assert cosines(vectors, expected) == "1.000000 (1.000000), 0.866667 (0.600000)"


def test_peers_get_the_file_sorted_and_every_sentence_once():
    text = Text(Path("text"), [["a", "b"], ["c", "d", "e"], ["f"]])
    assert file_requests("AllenNLP", text, [2]) == [
        ("AllenNLP, sorted, 2", '{"batches": [[2, 0], [1]]}')
    ]
    ours = OURS[0]
    assert file_requests(ours, text, [2]) == [(ours, '{"file": "text"}')]


class Clockwork:
    """A worker that takes a second for each sentence of a batch."""

    def __init__(self, name):
        self.name, self.asked = name, []

    def ask(self, line):
        self.asked.append(json.loads(line)["batches"])
        return {"seconds": sum(map(len, self.asked[-1]))}

    def peak_memory(self):
        return 2.0


def test_systems_get_the_same_batches_and_tokens_are_counted():
    config, systems = ElmoConfig.preset("test"), [Clockwork("a"), Clockwork("b")]
    text = Text(Path("text"), [["w"] * 5] * 9)
    measured = Turns(systems, config, seconds=0).of_batches(text, size=3)
    first, second = systems
    assert first.asked == second.asked and len(first.asked) == 3
    assert first.asked[:2] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [0, 1, 2]]]
    assert measured[0].rates == [5.0] * 3
    assert measured[1].speeds == [needed(config, text.sentences[:3]) / 3] * 3


def test_the_best_spans_are_scored_with_whole_tokens_and_with_characters(
    tmp_path, capsys
):
    def question(identity, text, start):
        answer = {"text": text, "answer_start": start}
        return {"id": identity, "question": "?", "answers": [answer]}

    context = "서울에서 태어났다"
    paragraph = {
        "context": context,
        "qas": [question("1", "서울", 0), question("2", context, 0)],
    }
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), "utf-8")
    assert answer_spans.main([str(path), "--scores", "korquad"]) == 0
    cells = [cell.strip() for cell in capsys.readouterr().out.split("|")[-7:]]
    # Of the first answer, two of the token's four characters: F1 2/3.
    assert cells[1:6] == ["questions", "2", "1", "83.33 / 50.00", "100.00 / 100.00"]
