"""Vectors in pipelines of Apache Beam, on its runner for one machine."""

import numpy as np
import pytest

from elmo_keras import Elmo, ElmoConfig, Embedder

beam = pytest.importorskip("apache_beam", reason="needs apache-beam")
# ruff: noqa: E402
from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that

from elmo_keras.embed.beam import ElmoModelHandler

# Beam's own, of several kinds.
pytestmark = pytest.mark.filterwarnings("ignore")

LINES = ["a word", "", "three words here", "naïve 한국어 🙂", "a", "and a longer line"]


@pytest.fixture(scope="module")
def embedder(model_directory):
    return Embedder(model_directory, pooling="mean")


@pytest.fixture
def pipeline():
    return beam.Pipeline("DirectRunner", options=PipelineOptions([]))


def vectors_are(expected):
    """A check that a pipeline ends in these `(key, vectors)`, in any order."""

    def check(actual):
        actual = {key: np.asarray(vectors) for key, vectors in actual}
        assert actual.keys() == expected.keys()
        for key, vectors in expected.items():
            assert actual[key].shape == vectors.shape
            np.testing.assert_allclose(actual[key], vectors, atol=1e-6, rtol=0)

    return check


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pooling": "max", "layers": "all", "dtype": "float16"},
        {"mix": [0.5, 1.0, -1.0], "gamma": 2.0, "pooling": "mean"},
    ],
)
@pytest.mark.parametrize("normalize", [False, True])
def test_examples_get_the_vectors_of_an_embedder(model_directory, options, normalize):
    handler = ElmoModelHandler(model_directory, normalize=normalize, **options)
    examples = [*LINES, ["two words", "as tokens"]]
    results = list(handler.run_inference(examples, handler.load_model()))
    expected = Embedder(model_directory, **options).encode(
        examples, normalize=normalize
    )
    for result, example, vectors in zip(results, examples, expected, strict=True):
        assert (result.example, result.model_id) == (example, str(model_directory))
        assert result.inference.dtype == vectors.dtype
        np.testing.assert_array_equal(result.inference, vectors)
    assert list(handler.run_inference([], handler.load_model())) == []


def test_batches_are_bounded_by_tokens_with_keys_too(model_directory, pipeline):
    handler = ElmoModelHandler(model_directory, batch_tokens=20)
    sentences = [" ".join("word" * n) for n in (1, 2, 3, 30, 1, 1)] * 5
    keyed = list(enumerate(sentences))

    def sizes_are_within_bounds(batches):
        assert sum(map(len, batches)) == len(sentences)
        sizes = [sum(s.count(" ") + 3 for _, s in batch) for batch in batches]
        assert all(size <= 20 or len(b) == 1 for size, b in zip(sizes, batches))
        assert len(batches) < len(sentences)

    with pipeline:
        elements = pipeline | beam.Create(keyed, reshuffle=False)
        options = KeyedModelHandler(handler).batch_elements_kwargs()
        batches = elements | beam.BatchElements(**options)
        assert_that(batches | beam.Filter(bool), sizes_are_within_bounds)


def embedded(pipeline, handler, keyed):
    """The keys and vectors of the results."""
    results = pipeline | beam.Create(keyed) | RunInference(KeyedModelHandler(handler))
    return results | beam.MapTuple(lambda key, result: (key, result.inference))


def test_keys_stay_with_their_vectors(model_directory, embedder, pipeline):
    handler = ElmoModelHandler(model_directory, pooling="mean")
    keyed = [(f"line {i}", line) for i, line in enumerate(LINES)]
    expected = {key: embedder(line) for key, line in keyed}
    with pipeline:
        assert_that(embedded(pipeline, handler, keyed), vectors_are(expected))


def test_a_bad_example_fails_or_is_set_aside_with_its_batch(model_directory, pipeline):
    handler = ElmoModelHandler(model_directory, pooling="mean", batch_tokens=5)
    examples = ["three words here", 7, ["", "empty"], "and the last"]
    failing = beam.Pipeline("DirectRunner", options=PipelineOptions([]))
    failing | beam.Create(examples) | RunInference(handler)
    with pytest.raises(Exception, match="should be a str or a list of tokens"):
        failing.run()
    with pipeline:
        elements = pipeline | beam.Create(examples, reshuffle=False)
        good, bad = elements | RunInference(handler).with_exception_handling()
        assert_that(
            good | beam.Map(lambda result: result.example),
            lambda found: sorted(found) == [examples[3], examples[0]],
        )
        messages = bad.failed_inferences | beam.Map(lambda failed: str(failed[1][1]))
        assert_that(messages, lambda found: len(found) == 2, label="set aside")


def test_wrong_arguments_are_refused_when_the_pipeline_is_built(model_directory):
    def refused(match, kind=ValueError, **arguments):
        with pytest.raises(kind, match=match):
            ElmoModelHandler(**{"model": model_directory, **arguments})

    layer = Elmo(ElmoConfig.preset("test"))
    refused("should be a path, a name or an address", model=layer, kind=TypeError)
    refused("`pooling` should be one of", pooling="sum")
    refused("`dtype` should be", dtype="float64")
    refused("`batch_tokens` should be 1 or more", batch_tokens=0)
    refused("unexpected keyword argument 'layer'", layer=1, kind=TypeError)


def test_a_worker_refuses_a_model_that_is_missing_or_another(
    model_directory, embedder, tmp_path
):
    with pytest.raises(FileNotFoundError, match="There is no"):
        ElmoModelHandler(tmp_path / "none").load_model()
    right = ElmoModelHandler(
        model_directory, pooling="mean", fingerprint=embedder.fingerprint
    )
    assert right.load_model().fingerprint == embedder.fingerprint
    wrong = ElmoModelHandler(model_directory, fingerprint=embedder.fingerprint)
    with pytest.raises(ValueError, match="should be the model with the fingerprint"):
        wrong.load_model()


@pytest.mark.slow
@pytest.mark.parametrize("large_model", [False, True], ids=["own", "shared"])
def test_two_processes_compute_the_same(model_directory, embedder, large_model):
    lines = [f"{line} {i}" for i in range(50) for line in LINES]
    handler = ElmoModelHandler(
        model_directory, pooling="mean", large_model=large_model, batch_tokens=64
    )
    workers = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    expected = dict(zip(lines, embedder(lines)))
    with beam.Pipeline(options=PipelineOptions(workers)) as pipeline:
        keyed = [(line, line) for line in lines]
        assert_that(embedded(pipeline, handler, keyed), vectors_are(expected))
