"""all-MiniLM-L6-v2 by torch, in float32: the mean of layers 3 to 6 at a word's first piece."""

import importlib.util
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import protocol
import torch
from tokenizers import Tokenizer
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

N_HEADS, N_LAYERS, DIM, BATCH = 12, 6, 384, 8
KEPT = slice(3, 7)
torch.set_num_threads(2)


def read_weights(content: bytes) -> dict[str, torch.Tensor]:
    """The float32 tensors of a safetensors file."""
    size = struct.unpack("<Q", content[:8])[0]
    weights = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            array = np.frombuffer(content[begin:end], np.float32)
            weights[name] = torch.from_numpy(array.reshape(entry["shape"]).copy())
    return weights


folder = importlib.util.find_spec("all_minilm_l6_v2").submodule_search_locations[0]
path = Path(folder) / "model.zip"
with zipfile.ZipFile(path) as archive:
    weights = read_weights(archive.read("model.safetensors"))
    tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
tokenizer.no_padding()
tokenizer.enable_truncation(512)


def dense(x, name):
    return linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def normalize(x, name):
    name = f"{name}.LayerNorm"
    return layer_norm(
        x, (DIM,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12
    )


def split_heads(x):
    return x.unflatten(-1, (N_HEADS, -1)).transpose(1, 2)


@torch.inference_mode()
def encode(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """All layers, `(layers, batch, time, dim)`."""
    tables = [
        weights[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position")
    ]
    kinds = weights["embeddings.token_type_embeddings.weight"]
    x = tables[0][ids] + tables[1][: ids.shape[1]] + kinds[0]
    layers = [normalize(x, "embeddings")]
    for i in range(N_LAYERS):
        x, name = layers[-1], f"encoder.layer.{i}"
        query, key, value = (
            split_heads(dense(x, f"{name}.attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        y = scaled_dot_product_attention(query, key, value, mask[:, None, None, :])
        y = dense(y.transpose(1, 2).flatten(2), f"{name}.attention.output.dense")
        x = normalize(x + y, f"{name}.attention.output")
        y = gelu(dense(x, f"{name}.intermediate.dense"))
        layers.append(normalize(x + dense(y, f"{name}.output.dense"), f"{name}.output"))
    return torch.stack(layers)


def encoded(sentences: list[list[str]]):
    """Yields the index of each sentence, the words of its pieces, and their layers."""
    encodings = [tokenizer.encode([*s], is_pretokenized=True) for s in sentences]
    order = np.argsort([-len(e.ids) for e in encodings], kind="stable")
    for first in range(0, len(order), BATCH):
        some = order[first : first + BATCH]
        shape = len(some), len(encodings[some[0]].ids)
        ids, mask = (
            torch.zeros(shape, dtype=torch.long),
            torch.zeros(shape, dtype=torch.bool),
        )
        for row, i in enumerate(some):
            n = len(encodings[i].ids)
            ids[row, :n] = torch.tensor(encodings[i].ids)
            mask[row, :n] = True
        layers = encode(ids, mask).numpy()
        for row, i in enumerate(some):
            words = encodings[i].word_ids
            yield i, words, layers[:, row, : len(words)]


def features(sentences: list[list[str]]) -> list[np.ndarray]:
    results = [np.empty(0)] * len(sentences)
    for i, words, layers in encoded(sentences):
        at = {word: k for k, word in reversed([*enumerate(words)])}
        places = [at.get(k, 0) for k in range(len(sentences[i]))]
        results[i] = layers[KEPT].mean(axis=0)[places]
    return results


def embed(sentences: list[list[str]]) -> list[np.ndarray]:
    """The mean of the last layer, as the model is meant to be used for sentences."""
    results = [np.empty(0)] * len(sentences)
    for i, _, layers in encoded(sentences):
        results[i] = layers[-1].mean(axis=0)
    return results


hello = protocol.hello("torch", size=path.stat().st_size)
protocol.answer_requests(hello, protocol.feature_requests(features, embed))
