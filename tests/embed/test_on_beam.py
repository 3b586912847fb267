"""Vectors in pipelines of Apache Beam, on its runner for one machine."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import Elmo, ElmoConfig, Embedder

beam = pytest.importorskip("apache_beam", reason="needs apache-beam")
# ruff: noqa: E402
from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
from apache_beam.ml.transforms.base import EmbeddingTypeAdapter, MLTransform
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that

from elmo_keras.beam import ElmoModelHandler, ElmoTextEmbeddings, VectorRows
from elmo_keras.embed.on_beam.model_handler import n_tokens
from tests.support.commands import command

search = command("search")

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
        {"layers": [0.5, 1.0, -1.0], "gamma": 2.0, "pooling": "mean"},
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


def written(pipeline, handler, keyed, folder):
    """The table of Parquet files that a pipeline writes."""
    rows, path = VectorRows(handler), str(folder / "part")
    with pipeline:
        results = (
            pipeline
            | beam.Create(keyed)
            | RunInference(KeyedModelHandler(handler))
            | beam.MapTuple(rows)
        )
        results | beam.io.WriteToParquet(path, rows.schema, file_name_suffix=".parquet")
    return pq.read_table(folder)


def test_rows_in_parquet_are_found_by_search(
    model_directory, embedder, tmp_path, capsys, pipeline
):
    handler = ElmoModelHandler(model_directory, pooling="mean")
    keyed = [(f"line {i}", line) for i, line in enumerate(LINES)]
    table = written(pipeline, handler, keyed, tmp_path)
    assert table.schema.types == [pa.string(), pa.string(), pa.list_(pa.float32(), 10)]
    found = dict(zip(table["id"].to_pylist(), table["vector"].to_pylist()))
    wanted = {key: embedder(line) for key, line in keyed}
    vectors_are(wanted)(found.items())
    command = [str(tmp_path), "--model", str(model_directory), "--top", "1", LINES[2]]
    assert search(command) == 0
    assert capsys.readouterr().out.splitlines()[2].endswith(f" line 2  {LINES[2]}")


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"dtype": "float16"}, ["vectors"]),
        ({"layers": "all"}, ["layer_0", "layer_1", "layer_2"]),
        ({"layers": "all", "pooling": "max"}, ["layer_0", "layer_1", "layer_2"]),
    ],
)
def test_rows_fit_their_schema(model_directory, options, columns):
    handler = ElmoModelHandler(model_directory, **options)
    rows = VectorRows(handler, id_type=pa.int32())
    assert rows.schema.names == ["id", "text", *columns]
    examples = [*LINES, ["two", "tokens"]]
    results = handler.run_inference(examples, handler.load_model())
    made = [rows(key, result) for key, result in enumerate(results)]
    table = pa.Table.from_pylist(made, rows.schema)
    assert table["text"].to_pylist() == [*LINES, "two tokens"]
    expected = Embedder(model_directory, **options)(examples)[-1]
    expected = expected if len(columns) > 1 else [expected]
    for name, vectors in zip(columns, expected, strict=True):
        np.testing.assert_array_equal(table[name].to_pylist()[-1], vectors)


def test_columns_are_embedded_and_artifacts_give_the_same_again(
    model_directory, embedder, tmp_path, pipeline
):
    rows = [{"id": i, "a": line, "b": line.split()} for i, line in enumerate(LINES)]
    embeddings = ElmoTextEmbeddings(["a", "b"], model_directory)
    expected = {i: np.tile(embedder(line), (2, 1)) for i, line in enumerate(LINES)}

    def keyed(row):
        assert type(row["a"]) is list and type(row["a"][0]) is float
        return row["id"], [row["a"], row["b"]]

    artifacts = str(tmp_path / "artifacts")
    made = MLTransform(write_artifact_location=artifacts).with_transform(embeddings)
    with pipeline:
        texts = pipeline | beam.Create(rows)
        assert_that(texts | made | beam.Map(keyed), vectors_are(expected))
        untouched = texts | beam.Filter(lambda row: not isinstance(row["a"], str))
        assert_that(untouched, lambda actual: actual == [], label="texts are kept")
    with beam.Pipeline("DirectRunner", options=PipelineOptions([])) as again:
        texts = again | beam.Create(rows)
        read = texts | MLTransform(read_artifact_location=artifacts)
        assert_that(read | beam.Map(keyed), vectors_are(expected))


def test_elements_of_any_type_are_embedded_by_an_adapter(
    model_directory, embedder, tmp_path, pipeline
):
    adapter = EmbeddingTypeAdapter(
        lambda pairs: [text for _, text in pairs],
        lambda pairs, vectors: [(i, vector) for (i, _), vector in zip(pairs, vectors)],
    )
    embeddings = ElmoTextEmbeddings(model=model_directory, type_adapter=adapter)
    expected = {i: embedder(line) for i, line in enumerate(LINES)}
    made = MLTransform(write_artifact_location=str(tmp_path), transforms=[embeddings])
    with pipeline:
        found = pipeline | beam.Create(list(enumerate(LINES))) | made
        assert_that(found, vectors_are(expected))


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
    def refused(match, make=ElmoModelHandler, kind=ValueError, **arguments):
        with pytest.raises(kind, match=match):
            make(**{"model": model_directory, **arguments})

    layer = Elmo(ElmoConfig.preset("test"))
    refused("workers read it themselves", model=layer, kind=TypeError)
    refused("`pooling` should be None, 'mean' or 'max'", pooling="sum")
    refused("`dtype` should be", dtype="float64")
    refused("`batch_tokens` should be 1 or more", batch_tokens=0)
    refused("unexpected keyword argument 'layer'", layer=1, kind=TypeError)
    columns = {"make": ElmoTextEmbeddings, "columns": ["a"]}
    refused("A text has one vector", **columns, pooling=None)
    refused("A text has one vector", **columns, layers="all")
    refused("lists of tokens", **columns, tokenizer=str.split)
    refused("path or the name", **columns | {"model": None})
    refused("should be a list", **columns | {"columns": "a"})
    refused("Either columns or type_adapter", **columns | {"columns": None})
    with pytest.raises(ValueError, match="give the arguments to ElmoModelHandler"):
        ElmoModelHandler(model_directory).validate_inference_args({"layers": 1})


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
    wrong.update_model_path(str(tmp_path / "new"))
    with pytest.raises(FileNotFoundError, match="new"):
        wrong.load_model()


@pytest.mark.slow
@pytest.mark.parametrize("large_model", [False, True], ids=["own", "shared"])
def test_two_processes_compute_the_same(
    model_directory, embedder, tmp_path, large_model
):
    lines = [f"{line} {i}" for i in range(50) for line in LINES]
    handler = ElmoModelHandler(
        model_directory, pooling="mean", large_model=large_model, batch_tokens=64
    )
    workers = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    pipeline = beam.Pipeline(options=PipelineOptions(workers))
    table = written(pipeline, handler, [(line, line) for line in lines], tmp_path)
    found = dict(zip(table["id"].to_pylist(), table["vector"].to_pylist()))
    vectors_are(dict(zip(lines, embedder(lines))))(found.items())
    about = json.loads(table.schema.metadata[b"elmo_keras"])
    assert about["pooling"] == "mean" and about["layers"] == "average"


@pytest.mark.slow
def test_beams_own_embeddings_of_hub_modules_take_an_export(
    exported_version, exported_elmo, tmp_path, pipeline
):
    hub = pytest.importorskip(
        "apache_beam.ml.transforms.embeddings.tensorflow_hub",
        reason="needs tensorflow-hub and tensorflow-text",
    )
    embeddings = hub.TensorflowHubTextEmbeddings(
        columns=["text"], hub_url=str(exported_version)
    )
    lines = [line for line in LINES if line]
    wanted = [exported_elmo([line.split()])[0].numpy().mean(axis=0) for line in lines]
    made = MLTransform(write_artifact_location=str(tmp_path), transforms=[embeddings])
    with pipeline:
        rows = pipeline | beam.Create([{"id": line, "text": line} for line in lines])
        found = rows | made | beam.Map(lambda row: (row["id"], np.ravel(row["text"])))
        assert_that(found, vectors_are(dict(zip(lines, wanted))))


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("three words here", 5),
        (b"two words", 4),
        (["one token"], 3),
        ("", 2),
        ((("a", "key"), ["one", "two"]), 4),
        (("a", "tuple", "of", "tokens"), 6),
        (("key", 7), 2),
    ],
)
def test_an_example_counts_with_its_boundaries_and_without_its_key(example, expected):
    assert n_tokens(example) == expected
