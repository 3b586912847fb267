"""Loads damaged model files one after another, and prints what came of each.

    python -m tests.support.fuzz_worker SEEDS START STOP STEP

prints a line before each file, `NUMBER KIND`, and one after it: `loaded`, `refused` or
`failed ERROR`. SEEDS is a folder that `make_seeds` filled; the number of a file decides
its damage.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import zipfile
from pathlib import Path
from random import Random

import h5py
import keras
import numpy as np

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig, Vocabulary
from elmo_keras.embed.parts import JOB, Parts, read_metadata, write_part
from elmo_keras.export.version_paths import EXTRA, METADATA, export_metadata
from elmo_keras.formats.keras_files import load_keras_model
from elmo_keras.formats.model_directory import find_model, save_model
from elmo_keras.lite.convert import convert
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.lite.lite_file import LiteFile, read_lite, write_lite
from elmo_keras.training.checkpoint import read_checkpoint, save_checkpoint
from tests.support.many_langs_models import model_files, write_files
from tests.support.models import published_weights
from tests.support.mutations import (
    mutated,
    mutated_json,
    mutated_pickles,
    mutated_zip,
)
from tests.support.tf1_checkpoints import arrays, options, write
from tests.support.waiting import PATIENCE

MEMORY = 2**30  # bytes that a worker may take on top of what it has after its start
LONGEST_LINE = 5000
VOCABULARY = Vocabulary.count([["a", "b", "a", "단어"]])
# In this order, again and again.
KINDS = (
    *("options", "options", "options", "zip", "zip", "zip", "tar", "keras"),
    *("hdf5", "hdf5", "hdf5", "hdf5", "hdf5", "hdf5"),
    *("vocabulary", "vocabulary", "checkpoint", "tf1", "part", "info"),
    *("pickle", "pickle", "pickle", "pickle", "lite", "lite", "lite", "lite"),
    "job",
)
WORDS = [b"</S>", b"a", "단어".encode(), b"<S>"]


def make_seeds(folder: Path) -> None:
    """Writes a small sound file of each kind."""
    bilm, model = _bilm(), folder / "model"
    save_model(model, bilm, VOCABULARY)
    shutil.make_archive(str(folder / "archive"), "tar", model)
    content = (folder / "archive.tar").read_bytes()
    (folder / "archive.tar.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile(folder / "archive.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(model.glob("*.*")):
            archive.write(path, path.name)
    (folder / "weights").mkdir()
    shutil.copy(model / "weights.hdf5", folder / "weights/0.hdf5")
    kinds = [
        ({"libver": ("v108", "v108")}, {}),
        ({"libver": "latest"}, {}),
        ({"track_order": True}, {}),
        ({}, {"chunks": True, "compression": "gzip"}),
    ]
    for number, (of_file, of_dataset) in enumerate(kinds, 1):
        with h5py.File(folder / f"weights/{number}.hdf5", "w", **of_file) as file:
            for name, array in published_weights(bilm).items():
                array = array.astype("float32")
                file.create_dataset(name, data=array, **of_dataset)
    tokens = keras.Input((None,), dtype="string")
    keras.Model(tokens, Elmo(bilm.config)(tokens)).save(folder / "model.keras")
    state = {"a": np.arange(5.0), "b/c": np.ones((2, 3), "float32")}
    checkpoint = save_checkpoint(folder / "training", 3, state, metadata={"step": 3})
    checkpoint.rename(folder / "checkpoint.hdf5")
    (folder / "tf1").mkdir()
    write(folder / "tf1/model.ckpt-9", arrays())
    (folder / "tf1/options.json").write_text(json.dumps(options()))
    parts = Parts(folder / "parts", ".npy", read_metadata)
    with parts.only_writer():
        parts.open({"model": "x"})
        metadata = {"digest": "abc", "sentences": [0, 1], "lengths": [1, 2]}
        write_part(parts, 0, [np.ones((1, 5)), np.ones((2, 5))], metadata)
    for legacy in range(2):
        write_files(folder / f"many{legacy}", model_files(legacy=bool(legacy)))
    elmo = Elmo(bilm.config)
    elmo.build()
    convert(elmo, folder / "model.tflite", "float32")
    np.save(folder / "expected.npy", _vectors(folder / "model.tflite"))
    (folder / EXTRA).mkdir()
    about = {"options": bilm.config.to_options(), "mix": {"gamma": 1.0}}
    (folder / EXTRA / METADATA).write_text(json.dumps(about))


def _vectors(path):
    lite = LiteElmo.read(path)
    return lite.layers_of_vectors(lite.word_vectors(WORDS), np.array([2]))


def _bilm():
    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    bilm.build()
    return bilm


class Worker:
    """Damages files of `seeds` and loads them; `target` is an empty folder for them.

    The method of a kind raises ValueError or OSError where it refuses the file.
    """

    def __init__(self, seeds: Path, target: Path):
        self.seeds, self.target, self.bilm = seeds, target, _bilm()

    def _damaged(self, name, damage, random):
        path = self.target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damage((self.seeds / name).read_bytes(), random))
        return path

    def options(self, random):
        path = self._damaged("model/options.json", mutated_json, random)
        files = find_model(path, weights=self.seeds / "model/weights.hdf5")
        assert files.config.units == self.bilm.config.units

    def hdf5(self, random):
        path = self._damaged(f"weights/{random.randrange(5)}.hdf5", mutated, random)
        files = find_model(self.seeds / "model/options.json", weights=path)
        assert files.config == self.bilm.config
        files.read_into(self.bilm)

    def zip(self, random):
        self._load_archive(self._damaged("archive.zip", mutated_zip, random))

    def tar(self, random):
        name = random.choice(("archive.tar", "archive.tar.gz"))
        self._load_archive(self._damaged(name, mutated, random))

    def _load_archive(self, path):
        files = find_model(path)
        assert files.config.units == self.bilm.config.units
        for dataset in files.datasets.values():
            dataset[...]
        assert files.vocabulary is None or len(files.vocabulary) >= 3

    def keras(self, random):
        load_keras_model(self._damaged("model.keras", mutated_zip, random))

    def vocabulary(self, random):
        Vocabulary.load(self._damaged("model/vocab.txt", mutated, random))

    def checkpoint(self, random):
        def damage(content, random):
            if random.random() < 0.2:
                return mutated(content, random)
            front, content = content[:512], mutated(content[512:], random)
            return hashlib.sha256(content).digest() + front[32:] + content

        read_checkpoint(self._damaged("checkpoint.hdf5", damage, random))

    def tf1(self, random):
        shutil.copytree(self.seeds / "tf1", self.target / "tf1", dirs_exist_ok=True)
        ending = random.choice((".index", ".data-00000-of-00001"))
        path = self._damaged(f"tf1/model.ckpt-9{ending}", mutated, random)
        files = find_model(path.with_name("model.ckpt-9"))
        files.read_into(self.bilm)
        files.adagrad_accumulators(self.bilm)

    def part(self, random):
        name = "parts.unfinished/parts/part-0000000.npy"
        if read_metadata(self._damaged(name, mutated, random)) is None:
            raise ValueError("The part is computed again.")

    def pickle(self, random):
        folder = self.target / "many"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.seeds / f"many{random.randrange(2)}", folder)
        path = folder / random.choice(("token_embedder.pkl", "encoder.pkl"))
        path.write_bytes(mutated_pickles(path.read_bytes(), random))
        for dataset in find_model(folder).datasets.values():
            dataset[...]

    def lite(self, random):
        """Damaged bytes, which checksums find, or other values with right checksums."""
        if random.random() < 0.5:
            path = self._damaged("model.tflite", mutated, random)
            found, expected = _vectors(path), np.load(self.seeds / "expected.npy")
            np.testing.assert_array_equal(found, expected)
            return
        path, file = (
            self.target / "other.tflite",
            read_lite(self.seeds / "model.tflite"),
        )
        about, graphs, arrays = (
            dict(file.metadata),
            dict(file.graphs),
            dict(file.arrays),
        )
        match random.choice(("about", "about", "graphs", "arrays")):
            case "about":
                with contextlib.suppress(RecursionError):
                    text = json.dumps(about).encode()
                    about = json.loads(mutated_json(text, random))
            case "graphs":
                one, other = random.sample(sorted(graphs), 2)
                damaged = mutated(graphs[one].tobytes(), random) or b"x"
                damaged = np.frombuffer(damaged, np.uint8)
                graphs |= {one: random.choice((graphs[other], damaged))}
            case "arrays":
                name = random.choice(sorted(arrays))
                values = arrays.pop(name)
                other = values[:1], values.T, values[..., 0], values.astype(str)
                arrays[random.choice((name, "x"))] = random.choice(other)
        write_lite(path, LiteFile(about, graphs, arrays))
        _vectors(path)

    def job(self, random):
        folder = self._damaged(f"parts.unfinished/{JOB}", mutated_json, random).parent
        parts = Parts(folder.with_name("parts"), ".npy", read_metadata)
        with parts.only_writer():
            parts.open({"model": "x"})

    def info(self, random):
        self._damaged(f"{EXTRA}/{METADATA}", mutated_json, random)
        export_metadata(self.target)


def outcome(worker: Worker, kind: str, number: int) -> str:
    try:
        getattr(worker, kind)(Random(number))
    except (ValueError, OSError) as error:
        line = " ".join(str(error).split())
        return "refused" if 0 < len(line) <= LONGEST_LINE else f"failed {line[:500]}"
    except Exception as error:
        return f"failed {error!r:.500}".replace("\n", " ")
    return "loaded"


def main(seeds: str, *numbers: str) -> None:
    with tempfile.TemporaryDirectory() as target:
        os.environ["ELMO_KERAS_CACHE"] = f"{target}/cache"
        worker = Worker(Path(seeds), Path(target))
        # Allocations fail that go far beyond what the process has.
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for number in range(*map(int, numbers)):
            kind = KINDS[number % len(KINDS)]
            print(number, kind, flush=True)
            signal.alarm(int(PATIENCE))  # it ends a process that hangs
            with contextlib.redirect_stderr(io.StringIO()):
                found = outcome(worker, kind, number)
            print(found, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
