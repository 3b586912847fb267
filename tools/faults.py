"""Checks the tests: each of these faults in the library must make its test fail.

The checkout is copied to a temporary folder, and the faults are put there, one after
another. That the tests pass without a fault is what the README's command shows.

    python -m tools.faults                          all faults, in five minutes
    python -m tools.faults elmo_keras/heads …       those of files that begin so
    python -m tools.faults --list                   what there is
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TIMEOUT = 300  # seconds of a test; with a fault it may never end
PYTEST = "-m pytest -q -x -p no:cacheprovider".split()
PASSED, FAILED = 0, 1  # exit statuses of pytest; others are no result of a test
NOTHING_RAN = 4, 5
FOUND, MISSED, BROKEN = "found", "MISSED", "broken"


class Fault(NamedTuple):
    file: str
    old: str  # occurs once in the file
    new: str
    test: str  # a file of tests, or one of its tests

    def __str__(self):
        return f"{self.file}: {' '.join(self.old.split()):.60}"


FAULTS = [
    # Layers.
    Fault(
        "elmo_keras/layers/lstm_cell.py",
        "i, j, f, o = tf.split(inputs, 4, axis=1)",
        "i, f, j, o = tf.split(inputs, 4, axis=1)",
        "tests/layers/test_projected_lstm.py",
    ),
    Fault(
        "elmo_keras/layers/projected_lstm.py",
        "tf.constant([0.0, 0.0, self.forget_bias, 0.0], bias.dtype)",
        "tf.constant([0.0, self.forget_bias, 0.0, 0.0], bias.dtype)",
        "tests/layers/test_projected_lstm.py",
    ),
    Fault(  # the state holds the sum of the skip connection
        "elmo_keras/layers/bidirectional_lstm.py",
        "last.append(state)",
        "last.append((x[-tf.shape(state[0])[0] :], state[1]))",
        "tests/training/test_step.py",
    ),
    Fault(  # the gate weighs the input, not what is made of it
        "elmo_keras/layers/highway.py",
        "return gate * ops.relu(transform) + (1 - gate) * inputs",
        "return (1 - gate) * ops.relu(transform) + gate * inputs",
        "tests/test_bilm.py",
    ),
    Fault(
        "elmo_keras/layers/pooling.py",
        "highest = tf.reduce_max(tf.where(mask[..., None], x, lowest), axis=1)",
        "highest = tf.reduce_sum(tf.where(mask[..., None], x, 0), axis=1)",
        "tests/layers/test_layers.py::test_pooling_reads_real_tokens_only",
    ),
    # Models.
    Fault(
        "elmo_keras/bilm.py",
        "x = tf.where(mask[..., None], x, tf.zeros_like(x))",
        "x = tf.identity(x)",
        "tests/test_bilm.py",
    ),
    Fault(  # a sentence without tokens has no `</S>`
        "elmo_keras/elmo.py",
        "tf.maximum(last_position(mask), 0) + 1",
        "last_position(mask) + 1",
        "tests/test_elmo.py::test_sentence_boundaries_are_kept_on_request",
    ),
    Fault(  # the backward direction sees the word itself
        "elmo_keras/language_model.py",
        "back[position + 2]",
        "back[position + 1]",
        "tests/test_language_model.py",
    ),
    Fault(
        "elmo_keras/perplexity.py",
        "float(np.sqrt(self.forward * self.backward))",
        "float((self.forward + self.backward) / 2)",
        "tests/test_perplexity.py::test_a_text_is_read_in_rows",
    ),
    Fault(  # a key that a published file lacks means none, not the default
        "elmo_keras/formats/options.py",
        '{"cell_clip": None, "proj_clip": None, "use_skip_connections": False}',
        '{"use_skip_connections": False}',
        "tests/formats/test_options.py",
    ),
    # Files.
    Fault(
        "elmo_keras/base/files.py",
        "        os.fsync(file.fileno())\n",
        "",
        "tests/formats/test_archives.py",
    ),
    # Text.
    Fault(
        "elmo_keras/text/word_rules.py",
        '            ("[Cc][Aa][Nn]", _either_case("not")),\n',
        "",
        "tests/text/test_tokenizers.py::test_words_are_split_as_in_the_corpora",
    ),
    Fault(
        "elmo_keras/text/characters.py",
        "return tf.where(index > ends, PADDING, ids)",
        "return tf.where(index > ends, END_OF_WORD, ids)",
        "tests/text/test_characters.py",
    ),
    Fault(  # the seed does not matter
        "elmo_keras/text/windows.py",
        "rng = np.random.default_rng((seed, epoch))",
        "rng = np.random.default_rng(epoch)",
        "tests/text/test_windows.py",
    ),
    Fault(  # ties depend on the order of sentences
        "elmo_keras/text/vocabulary.py",
        "words.sort(key=lambda word: (-counts[word], word))",
        "words.sort(key=lambda word: -counts[word])",
        "tests/text/test_vocabulary.py",
    ),
    # Formats and downloads.
    Fault(  # the row of padding is the first one
        "elmo_keras/formats/checkpoints.py",
        'datasets["char_embed"] = datasets["char_embed"][1:]',
        'datasets["char_embed"] = datasets["char_embed"][:-1]',
        "tests/formats/test_checkpoints.py",
    ),
    Fault(
        "elmo_keras/hub/local_files.py",
        "raise ConnectionError(text) from error",
        "print(text)",
        "tests/hub/test_download.py",
    ),
    # LiteRT.
    Fault(  # all sentences are reversed by the longest one's length
        "elmo_keras/lite/lstm.py",
        "(n - 1 - step if backward else step)",
        "(n[0] - 1 - step if backward else step)",
        "tests/lite/test_lite_elmo.py",
    ),
    Fault(
        "elmo_keras/lite/lstm_graph.py",
        "c = graph.clip(graph.add(remembered, new), cell_clip)",
        "c = graph.add(remembered, new)",
        "tests/lite/test_lite_elmo.py",
    ),
    # Vectors.
    Fault(  # in the order of the batches
        "elmo_keras/embed/embedder.py",
        "for array in in_turn(self._compute(tokens, n_sentences, bar)):",
        "for _, array in self._compute(tokens, n_sentences, bar):",
        "tests/embed/test_embedder.py",
    ),
    Fault(  # a part that the disk has changed is taken for a whole one
        "elmo_keras/jobs/parts.py",
        "if check and zlib.crc32(content) != checksum:",
        "if not check and zlib.crc32(content) != checksum:",
        "tests/jobs/test_jobs.py",
    ),
    Fault(  # a stale fingerprint
        "elmo_keras/embed/embedder.py",
        'SWITCHES = "keep_sentence_boundaries", "lower_case"',
        'SWITCHES = ("keep_sentence_boundaries",)',
        "tests/embed/test_embedder.py",
    ),
    # Training.
    Fault(
        "elmo_keras/training/step.py",
        "objective = loss * (1 / (2 * n_rows))",
        "objective = loss * (1 / n_rows)",
        "tests/training/test_step.py",
    ),
    Fault(  # a resumed run starts from the zero state
        "elmo_keras/training/loop.py",
        "self.state = distribution.scatter_rows(self.strategy, state)",
        "self.state = distribution.scatter_rows(self.strategy, zeros)",
        "tests/training/test_resume.py::test_stops_and_a_damaged_checkpoint_cost_steps",
    ),
    Fault(  # negatives and dropout are the same for all seeds
        "elmo_keras/training/streams.py",
        "rng = np.random.default_rng((self.seed, epoch, int(step) + 1))",
        "rng = np.random.default_rng((0, epoch, int(step) + 1))",
        "tests/training/test_streams.py",
    ),
    # Heads.
    Fault(
        "elmo_keras/heads/tagger/decoding.py",
        "paths = ends[:, first : first + n] + self.transitions[:, tags[:n]]",
        "paths = ends[:, first : first + n] + self.transitions.T[:, tags[:n]]",
        "tests/heads/tagger/test_decoding.py",
    ),
    Fault(  # a tree with two roots stays
        "elmo_keras/heads/parser/decoding.py",
        "if (heads[1:] == 0).sum() > 1:",
        "if (heads[1:] == 0).sum() > 2:",
        "tests/heads/parser/test_decoding.py",
    ),
    Fault(
        "elmo_keras/heads/answering/scores.py",
        "return 2 * common.total() / (len(predicted) + len(wanted))",
        "return common.total() / max(len(predicted), len(wanted))",
        "tests/heads/answering/test_scores.py",
    ),
    Fault(  # padding comes before a sentence
        "elmo_keras/heads/layer_cache.py",
        "row[:, :n] = self._layers[end - n : end].swapaxes(0, 1)",
        "row[:, time - n :] = self._layers[end - n : end].swapaxes(0, 1)",
        "tests/heads/test_layer_cache.py",
    ),
    Fault(  # a mention is its own antecedent
        "elmo_keras/heads/coreference/model.py",
        'earlier = outputs["antecedents"] < tf.range(tf.size(cluster))[:, None]',
        'earlier = outputs["antecedents"] <= tf.range(tf.size(cluster))[:, None]',
        "tests/heads/coreference/test_model.py",
    ),
    Fault(  # of equal scores, the higher loss is better
        "elmo_keras/heads/best_epoch.py",
        "key = -np.inf if np.isnan(first) else first, -losses[-1]",
        "key = -np.inf if np.isnan(first) else first, losses[-1]",
        "tests/heads/test_best_epoch.py",
    ),
    Fault(  # what is held out is trained on
        "elmo_keras/heads/reading.py",
        "train = [example for example, held_out in zip(examples, is_dev) if not held_out]",
        "train = [example for example, held_out in zip(examples, is_dev)]",
        "tests/heads/test_fit.py::test_a_share_of_one_file_is_held_out",
    ),
    Fault(
        "elmo_keras/heads/head.py",
        "head.arrays[name] = weight / np.float32(card.temperature)",
        "head.arrays[name] = weight * np.float32(card.temperature)",
        "tests/heads/test_temperature.py",
    ),
    Fault(  # rows of the block before
        "elmo_keras/lite/layers.py",
        "self._x[: len(part)] = part",
        "self._x[-len(part) :] = part",
        "tests/heads/test_light.py",
    ),
    Fault(  # decomposed words are unknown
        "elmo_keras/heads/texts.py",
        'words = [[normalize("NFC", value[a:b]) for a, b in row] for row in spans]',
        "words = [[value[a:b] for a, b in row] for row in spans]",
        "tests/heads/test_pipeline.py",
    ),
    Fault(  # a span ends one character late
        "elmo_keras/heads/texts.py",
        "ending = token[len(token) - part.left_out :]",
        "ending = token[len(token) - part.left_out + 1 :]",
        "tests/heads/tagger/test_span_ends.py",
    ),
    Fault(  # parts of another head are taken for this one's
        "elmo_keras/heads/annotate/command.py",
        'job = {"pipelines": pipelines, "heads": heads, "format": suffix}',
        'job = {"pipelines": pipelines, "format": suffix}',
        "tests/heads/annotate/test_command.py",
    ),
    Fault(  # layers of another arithmetic are read
        "elmo_keras/heads/run.py",
        "key = settings.model, settings.arithmetic, digest",
        "key = settings.model, digest",
        "tests/heads/test_fit.py::test_the_layers_of_the_same_files_are_computed_once",
    ),
    Fault(  # nothing of a token may be left
        "elmo_keras/heads/tagger/span_ends.py",
        "[: len(token)].argmax()",
        "[: len(token) + 1].argmax()",
        "tests/heads/tagger/test_span_ends.py",
    ),
    Fault(  # an answer ends with its last token
        "elmo_keras/heads/answering/pipeline.py",
        "end = begin + len(text)",
        "end = part.ends[answer.span[1]]",
        "tests/heads/answering/test_pipeline.py",
    ),
    # Search, exports, servers, adapters, commands.
    Fault(  # rows are those of a block, not of all
        "elmo_keras/search/find.py",
        "yield first + real, unit(block[real], mean)",
        "yield real, unit(block[real], mean)",
        "tests/search/test_search.py",
    ),
    Fault(  # 9 comes after 10
        "elmo_keras/export/version_paths.py",
        "return sorted(int(p.name) for p in paths if p.is_dir() or p.is_symlink())",
        "return [int(p.name) for p in sorted(paths) if p.is_dir() or p.is_symlink()]",
        "tests/serve/test_versions.py",
    ),
    Fault(
        "elmo_keras/serve/rest.py",
        'web.json_response({"error": str(error)}, status=error.http_status)',
        'web.json_response({"error": str(error)})',
        "tests/serve/test_rest_api.py",
    ),
    Fault(  # each request of a batch gets the first one's answer
        "elmo_keras/serve/batcher.py",
        "rows = {key: array[begin:end] for key, array in outputs.items()}",
        "rows = {key: array[: request.rows] for key, array in outputs.items()}",
        "tests/serve/test_batching.py",
    ),
    Fault(
        "elmo_keras/adapters/sklearn.py",
        "self.embedder_.encode(X, normalize=self.normalize)",
        "self.embedder_.encode(X)",
        "tests/adapters/test_sklearn.py",
    ),
    Fault(  # a hard link to an input is overwritten
        "elmo_keras/commands/outputs.py",
        "same_file = both and os.path.samefile(output, read)",
        "same_file = False",
        "tests/commands/test_outputs.py",
    ),
]


def check(fault: Fault) -> str:
    """The text of a fault's file with the fault; an error names what doesn't fit."""
    text = (ROOT / fault.file).read_text("utf-8")
    if (n := text.count(fault.old)) != 1:
        raise ValueError(f"{fault} should be there once, not {n} times.")
    if fault.old == fault.new or not (ROOT / fault.test.partition("::")[0]).exists():
        raise ValueError(f"{fault} changes nothing, or {fault.test} is missing.")
    return text.replace(fault.old, fault.new)


def copy_checkout(folder: Path) -> None:
    """Copies the files that git knows, and new ones that it does not ignore."""
    command = "git ls-files -z --cached --others --exclude-standard".split()
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, output.decode().split("\0")):
        if (ROOT / name).is_file():  # git lists deleted files, too
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_test(fault: Fault, folder: Path) -> int | None:
    """The status of pytest, None if it did not end in time."""
    # Compiled files are not told apart by a change within the same second.
    more = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *PYTEST, "-m", "journey or not nightly", fault.test]
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=os.environ | more,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
        ).returncode
    except subprocess.TimeoutExpired:
        return None


def result_of(fault: Fault, text: str, folder: Path) -> str:
    """Whether the test of a fault finds it; the copy is as before at the end."""
    path = folder / fault.file
    original = path.read_bytes()
    try:
        path.write_text(text, "utf-8", newline="")
        status = run_test(fault, folder)
    finally:
        path.write_bytes(original)
    if status in (PASSED, FAILED):
        return FOUND if status == FAILED else MISSED
    if status in NOTHING_RAN or status is None:
        return BROKEN
    # An error before any test, which is found if the fault is behind it.
    return FOUND if run_test(fault, folder) == PASSED else BROKEN


def main() -> int:
    parser = argparse.ArgumentParser("faults", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "prefixes", nargs="*", default=[""], help="what the paths of files begin with"
    )
    parser.add_argument("--list", action="store_true", help="print the faults")
    arguments = parser.parse_args()
    faults = [f for f in FAULTS if f.file.startswith(tuple(arguments.prefixes))]
    texts = [check(fault) for fault in faults]
    if arguments.list:
        print(*(f"{fault} ({fault.test})" for fault in faults), sep="\n")
        return 0
    results: dict[str, list[str]] = {FOUND: [], MISSED: [], BROKEN: []}
    with tempfile.TemporaryDirectory() as temporary:
        copy_checkout(Path(temporary))
        for i, (fault, text) in enumerate(zip(faults, texts), 1):
            print(f"{i:2}/{len(faults)} {fault} … ", end="", flush=True)
            start = time.perf_counter()
            result = result_of(fault, text, Path(temporary))
            print(f"{result}, {time.perf_counter() - start:.1f} s", flush=True)
            results[result].append(str(fault))
    if results[BROKEN]:
        print(f"broken: {results[BROKEN]}")
    print(f"found {len(results[FOUND])}, missed: {results[MISSED]}")
    return int(len(results[FOUND]) < len(faults))


if __name__ == "__main__":
    sys.exit(main())
