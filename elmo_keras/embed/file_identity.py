"""Everything that the content of a file of vectors depends on, besides the text."""

from typing import Any

from elmo_keras.cli.fingerprint import installed_version
from elmo_keras.embed.batch_vectors import SentenceVectors
from elmo_keras.embed.model_digest import mix_values, model_digest
from elmo_keras.embed.numbered_batches import Shard


def file_identity(
    vectors: SentenceVectors, *, shard: Shard, tokens_at_once: int, cache_bytes: int
) -> dict[str, Any]:
    """What every file says about its vectors, as JSON values.

    Args:
        vectors: what computes the vectors.
        shard: which lines are embedded.
        tokens_at_once: about how many tokens go through the LSTMs together.
        cache_bytes: about how much memory is used to keep the vectors of words.
    """
    mix = mix_values(vectors.mix) if vectors.layers == "mix" else {}
    return mix | {
        "model": model_digest(vectors.elmo),
        "layers": str(vectors.layers),
        "dtype": vectors.dtype,
        "arithmetic": vectors.elmo.bilm.dtype_policy.name,
        "shard": str(shard),
        "tokens_at_once": tokens_at_once,
        "cache_bytes": cache_bytes,
        "elmo_keras": installed_version("elmo-keras") or "(not installed)",
    }


def rows_identity(vectors: SentenceVectors, *, texts: bool) -> dict[str, Any]:
    """What a Parquet file says besides `file_identity`.

    Args:
        vectors: what computes the vectors.
        texts: whether there is a column of texts.
    """
    options = vectors.elmo.config.to_summary()
    return {"pooling": vectors.pooling, "texts": texts, "options": options}
