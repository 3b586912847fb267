"""Builds the live page: ELMo in the visitor's own browser.

    python docs/live/build.py site/live en=MODEL ko=MODEL

The models are what `Elmo.from_pretrained` reads; the package's come with their heads. It
needs LiteRT, Node.js with npm, and the network, unless npm has the packages in
its cache.
"""

import argparse
import gzip
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_keras import Embedder, split_words
from elmo_keras.formats.model_directory import find_model
from elmo_keras.formats.quantise import quantise
from elmo_keras.heads.find import find_head, names
from elmo_keras.heads.head import PREDICATES, Head, read_card, read_head
from elmo_keras.heads.light import LightTokenVectors
from elmo_keras.heads.tagger.entities import PREDICATE, marks_spans
from elmo_keras.heads.tagger.light import LightTagger
from elmo_keras.lite.convert import convert
from elmo_keras.lite.layers import keras_lstm
from elmo_keras.text.word_rules import word_rules

HERE = Path(__file__).parent
PAGE = "index.html", "live.css", "live.js", "words.mjs", "sw.js", "korean.json"
LSTM = "kernel", "recurrent_kernel", "bias"
TASKS = "pos", "ner", "srl", "sentiment", "qa"  # whose heads run without TensorFlow
# Kind → what it finds, its LSTMs, dense layers, and attentions.
NETWORKS = {
    "classify": (
        "labels",
        ("encoder", "integrator"),
        ("attention", "maxout", "decision"),
        (),
    ),
    "qa": (
        "answers",
        ("encoder", "reader", "start_lstm", "end_lstm"),
        ("attended", "self_attended", "start_scores", "end_scores"),
        ("attention", "self_attention"),
    ),
}
RUNTIMES = "litert_wasm_internal", "litert_wasm_compat_internal"
FIRST_CLICK = 16_000_000  # bytes at most, of the runtime and a model
STEPS, WORDS = 8, 8  # each size of a graph costs the visitor memory


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the page's files go there")
    parser.add_argument("models", nargs="+", metavar="LANGUAGE=MODEL")
    arguments = parser.parse_args()
    languages = json.loads((HERE / "languages.json").read_text("utf-8"))
    models = dict(text.partition("=")[::2] for text in arguments.models)
    if unknown := models.keys() - languages.keys():
        parser.error(f"languages.json should have an entry for {', '.join(unknown)}.")
    for language, model in models.items():
        wanted = [f"{language}-{task}" for task in TASKS] if model == language else []
        heads = [find_head(name) for name in wanted if name in names()]
        languages[language] |= {"model": model, "heads": heads}
    build(arguments.folder, {language: languages[language] for language in models})
    return 0


def build(folder: Path, languages: dict[str, dict]) -> None:
    """Writes everything that the page fetches into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copy(HERE / name, folder)
    runtime = add_runtime(folder)
    entries = {}
    for language, entry in languages.items():
        model, heads = entry.pop("model"), entry.pop("heads")
        sizes = add_model(folder, language, model) | add_heads(folder, language, heads)
        opening = compare_uses(model, **entry["examples"][0])
        entries[language] = entry | sizes | {"opening": opening}
        first = runtime + sizes["bytes"]
        print(
            f"{language}: first click {first:,} bytes, words {sizes['softmaxBytes']:,}, "
            f"heads {sizes['headBytes']:,}"
        )
        if first > FIRST_CLICK:
            raise ValueError(
                f"The runtime and the model of {language} should have at most "
                f"{FIRST_CLICK:,} bytes. They have {first:,}: take a smaller model."
            )
    rules = word_rules("words", explicit=True)
    page = {"runtimeBytes": runtime, "languages": entries, "wordRules": rules}
    (folder / "models.json").write_text(json.dumps(page, ensure_ascii=False), "utf-8")


def add_runtime(folder: Path) -> int:
    """Bundles the worker and adds LiteRT.js; returns the bytes that a visitor fetches."""
    with tempfile.TemporaryDirectory() as temporary:
        for name in ("package.json", "worker.js"):
            shutil.copy(HERE / name, temporary)
        npm = [shutil.which("npm") or "npm", "--prefix", temporary]
        run([*npm, "install", "--prefer-offline", "--no-package-lock"], temporary)
        bundle = ["--bundle", "--minify", "--format=iife", "--log-level=warning"]
        out = f"--outfile={(folder / 'worker.js').resolve()}"
        run([*npm, "exec", "--", "esbuild", "worker.js", *bundle, out], temporary)
        wasm = Path(temporary) / "node_modules/@litertjs/core/wasm"
        for name in RUNTIMES:
            shutil.copy(wasm / f"{name}.js", folder)
            # Not named .gz: some servers would announce that as an encoding.
            write_gzip(folder / f"{name}.bin", (wasm / f"{name}.wasm").read_bytes())
    fetched = [f"{RUNTIMES[0]}.js", f"{RUNTIMES[0]}.bin", "worker.js"]
    return sum((folder / name).stat().st_size for name in fetched)


def run(command: list[str], folder: str) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def add_model(folder: Path, language: str, model: str) -> dict:
    """Writes a model and its softmax, if it has one; returns what the page needs."""
    files = find_model(model)
    config, datasets = files.config, files.datasets
    if config.dictionary is not None:
        raise ValueError(f"{model} reads tokens of a dictionary; the page reads bytes.")
    sizes = {"steps": {1: (STEPS,)}, "words": (WORDS,), "characters": ()}
    lite = convert(config, datasets, sizes=sizes)
    parts = {**lite.graphs, **lite.arrays}
    metadata = {"config": lite.metadata["config"], "steps": STEPS, "words": WORDS}
    name = f"{language}.bin"
    size = write_parts(folder / name, metadata, parts)
    sizes = {"file": name, "bytes": size, "dim": config.projection_dim}
    sizes["softmaxBytes"] = 0
    if files.has_softmax:
        softmax = files.softmax(files.vocabulary)
        values, scales = quantise(softmax["softmax/W"][...], 1)
        parts = {
            "kernel": values,
            "scales": scales[:, 0],
            "bias": softmax["softmax/b"][...],
        }
        metadata = {
            "words": files.vocabulary.words,
            "special": files.vocabulary.special,
        }
        name = f"{language}-words.bin"
        size = write_parts(folder / name, metadata, parts)
        sizes |= {"softmaxFile": name, "softmaxBytes": size}
    return sizes


def add_heads(folder: Path, language: str, heads: Sequence[Path]) -> dict:
    """Writes the heads in these folders; returns what the page needs."""
    if not heads:
        return {"headBytes": 0}
    # The head that finds predicates comes before that of their roles.
    folders = [f for path in heads for f in (path / PREDICATES, path) if f.exists()]
    metadata, parts = [], {}
    for i, path in enumerate(folders):
        head = read_head(path)
        if head.vectors.elmo_at != "input":
            raise ValueError(f"{path} should have ELMo at its input.")
        about, lstms, floats, integers = (
            network(head) if head.kind.name in NETWORKS else tagger(head)
        )
        words = LightTokenVectors(head)
        about |= {
            "words": head.vectors.words,
            "mix": words.mixes["input"].tolist(),
            "layer_norm": words.layer_norm,
            "units": head.card.model["units"],
        }
        no_words = np.zeros((1, 0), np.float32)
        integers["vectors"] = words.words.table if words.words else no_words
        floats["predicates"] = head.arrays.get("encoder/predicate/embeddings", no_words)
        for name, matrix in integers.items():
            integers[name], floats[f"{name}Scales"] = quantise(matrix, 0)
        graphs = {
            f"lstm{n}": keras_lstm(*arrays, steps={1: (STEPS,)})
            for n, arrays in enumerate(lstms)
        }
        groups = {"lstms": graphs, "floats": floats, "bytes": integers}
        metadata.append(about | {key: list(group) for key, group in groups.items()})
        arrays = graphs | floats | integers
        parts |= {f"{name} {i}": array for name, array in arrays.items()}
    name = f"{language}-heads.bin"
    size = write_parts(folder / name, {"heads": metadata}, parts)
    answers = any(about["finds"] == "answers" for about in metadata)
    # All taggers annotate the same words.
    rules = word_rules(read_card(folders[0]).tokenizer, explicit=True)
    sizes = {"headFile": name, "headBytes": size, "answers": answers}
    return sizes | {"labelRules": rules}


def tagger(head: Head) -> tuple[dict, list, dict, dict]:
    """What a tagger finds, its LSTMs, and its arrays in float32 and in int8."""
    light = LightTagger(head)
    crf = light.decoder.crf
    if crf is None:
        raise ValueError("A tagger of the page should have a CRF.")
    finds = "entities" if marks_spans(light.tags) else "parts"
    if set(light.tags) <= {f"B-{PREDICATE}", f"I-{PREDICATE}", "O"}:
        finds = "predicates"
    elif light.predicate_dim:
        finds = "frames"
    floats = {
        "bias": light.bias,
        "transitions": crf.transitions,
        "first": crf.first,
        "last": crf.last,
    }
    return {"finds": finds, "tags": light.tags}, light.lstms, floats, {}


def network(head: Head) -> tuple[dict, list, dict, dict]:
    """As `tagger`, of a classifier of texts or what answers questions."""
    finds, names, layers, attentions = NETWORKS[head.kind.name]
    arrays, arguments = head.arrays, head.card.model
    lstms = [
        [arrays[f"{name}/{way}/{part}"] for part in LSTM]
        for name in names
        for way in ("forward", "backward")
    ]
    floats = {f"{layer}Bias": arrays[f"{layer}/bias"] for layer in layers}
    floats |= {
        f"{name}_{x}": arrays[f"{name}/{x}"] for name in attentions for x in "uvw"
    }
    integers = {layer: arrays[f"{layer}/kernel"] for layer in layers}
    labels = arguments.get("labels", [])
    no_ngrams = np.zeros((1, len(labels)), np.float32)
    integers["ngrams"] = arrays.get("ngrams/kernel", no_ngrams)
    about = {"finds": finds, "labels": labels}
    about["longest"] = arguments.get("longest_answer", 0)
    return about, lstms, floats, integers


def compare_uses(model: str, word: str, sentences: Sequence[str]) -> dict:
    """A word's uses and the cosines of their vectors, which the page opens with."""
    texts = [split_words(sentence) for sentence in sentences]
    places = [[t.lower() for t in text].index(word.lower()) for text in texts]
    embedder = Embedder(model, layers="top", arithmetic="int8")
    vectors = embedder.encode(texts, normalize=True)
    uses = np.array([v[place] for v, place in zip(vectors, places)])
    cosines = (uses @ uses.T).astype(float).round(4).tolist()
    return {"word": word, "texts": texts, "places": places, "cosines": cosines}


def write_parts(path: Path, metadata: dict, parts: dict[str, np.ndarray]) -> int:
    """A gzip file: the length of a JSON header, the header, and arrays after it."""
    arrays = {name: np.ascontiguousarray(part) for name, part in parts.items()}
    lengths = [-(-array.nbytes // 64) * 64 for array in arrays.values()]
    starts = itertools.accumulate(lengths, initial=0)
    positions = {n: [start, a.nbytes] for (n, a), start in zip(arrays.items(), starts)}
    header = json.dumps(metadata | {"parts": positions}, default=list).encode()
    header += b" " * (-(len(header) + 4) % 64)
    content = [len(header).to_bytes(4, "little"), header]
    for array, length in zip(arrays.values(), lengths):
        content.append(array.tobytes().ljust(length, b"\0"))
    return write_gzip(path, b"".join(content))


def write_gzip(path: Path, content: bytes) -> int:
    path.write_bytes(gzip.compress(content, 9, mtime=0))
    return path.stat().st_size


if __name__ == "__main__":
    sys.exit(main())
