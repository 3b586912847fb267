"""From a text file to a file of vectors."""

import hashlib
import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.embedding.loop import Loop, Summary
from elmo_keras.embedding.output import is_npy
from elmo_keras.embedding.progress import Progress
from elmo_keras.embedding.sentences import Shard, read_batches
from elmo_keras.embedding.unfinished import Unfinished, only_run
from elmo_keras.embedding.vectors import SentenceVectors


def embed_corpus(
    elmo: Elmo,
    source: str | Path,
    output: str | Path,
    layers: str | int = "all",
    dtype: str = "float32",
    shard: tuple[int, int] = (1, 1),
    tokens_at_once: int = 2**13,
    cache_bytes: int = 2**28,
    forget_sentences: bool = False,
    overwrite: bool = False,
    verbose: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Summary:
    """Writes the vectors of all sentences of a text file.

    The file grows in the folder `OUTPUT.unfinished`. Where that is left by a call
    that was stopped or killed, the same call goes on after the last batch that was
    written, and the result is the same byte for byte.

    Args:
        elmo: gives the vectors.
        source: text, plain or gzipped, one sentence a line, tokens separated by
            spaces. Sentence i is line i, from 0; an empty line has no tokens.
        output: an HDF5 file with the dataset `"i"` for sentence i, and
            `sentence_to_index`, JSON from the lines to these names (of lines that
            are alike the last one's). Or a name ending in `.npy`: one array with
            the mean over the tokens of each sentence, 0 without tokens.
        layers: `"all"` `(layers, tokens, 2 · projection_dim)`; or `"average"`,
            `"top"`, `"mix"` (the first mix of `elmo`) or the index of a layer,
            `(tokens, 2 · projection_dim)`. The tokens are those of the line.
        dtype: `"float32"` or `"float16"`. That of the arithmetic is the layer's.
        shard: `(i, n)` for every n-th line from the i-th on, i from 1; the output's
            name then has `.i-of-n` before its ending. `read_embeddings` reads the
            shards as one.
        tokens_at_once: about so many tokens go through the LSTMs together.
        cache_bytes: of the vectors of words kept, about.
        forget_sentences: whether `sentence_to_index` is left out, as it is for
            more than 256 MiB of text.
        overwrite: whether a file of that name, whole or unfinished, is thrown away.
        verbose: 1 for a progress line on standard error.
        stop: asked after every batch; True ends the call.

    Raises:
        ValueError: an argument is out of its range, the text is not UTF-8, the
            output exists, or is the unfinished one of another text, model or call.
        OSError: a file can't be read or written; what was written is kept.
    """
    source, shard = Path(source), _checked_shard(shard)
    output = shard_path(Path(output), shard)
    vectors = SentenceVectors(elmo, layers, dtype, is_npy(output))
    word_bytes = elmo.config.projection_dim * np.dtype(np.float32).itemsize
    batches = read_batches(
        source, shard, tokens_at_once, max(1, cache_bytes // word_bytes)
    )
    identity = {
        "model": model_digest(elmo),
        "layers": str(layers),
        "dtype": dtype,
        "arithmetic": elmo.bilm.dtype_policy.name,
        "shard": str(shard),
        "tokens_at_once": tokens_at_once,
        "cache_bytes": cache_bytes,
        "elmo_keras": _version(),
    } | _mix(elmo, layers)
    with source.open("rb"), only_run(output):
        work = Unfinished(output, identity, overwrite)
        try:
            loop = Loop(work, elmo, vectors, shard, forget_sentences)
            with Progress(bool(verbose)) as progress:
                return loop.embed(batches, progress, stop)
        finally:
            work.close()


def shard_path(output: Path, shard: Shard) -> Path:
    """The name of a shard's output."""
    if shard.count == 1:
        return output
    name = f"{output.stem}.{shard.index}-of-{shard.count}{output.suffix}"
    return output.with_name(name)


def model_digest(elmo: Elmo) -> str:
    """SHA-256 of the configuration and the weights of the biLM."""
    digest = hashlib.sha256(json.dumps(elmo.config.to_dict()).encode())
    for weight in elmo.bilm.weights:
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()


def _checked_shard(shard):
    index, count = shard
    if not 1 <= index <= count:
        raise ValueError(
            f"`shard` should be (i, n) with i from 1 to n. Received: {shard!r}"
        )
    return Shard(index, count)


def _mix(elmo, layers):
    if layers != "mix":
        return {}
    mix = elmo.mixes[0]
    weights = np.asarray(mix.layer_weights()).tolist()
    return {
        "mix": weights,
        "gamma": float(mix.gamma.numpy()),
        "layer_norm": elmo.layer_norm,
    }


def _version():
    try:
        return importlib.metadata.version("elmo-keras")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
