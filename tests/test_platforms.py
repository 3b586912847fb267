"""Functions that other systems lack are not needed."""

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT
from tests.support.sizes import OPTIONS_FILE

# Names that Windows or macOS have not. Other packages are imported before they go.
JOBS = """
import os, select, signal, sys
import aiohttp, filelock, h5py, keras, numpy as np, tensorflow as tf, tqdm, matplotlib.pyplot
for name in "sched_getaffinity pread pwrite sysconf fork symlink geteuid O_DIRECTORY".split():
    delattr(os, name)
del select.poll, signal.SIGHUP
for name in "fcntl resource pwd grp termios".split():
    sys.modules[name] = None
import elmo_keras
from elmo_keras import Elmo, ElmoConfig, Embedder, Vocabulary
from elmo_keras.serve.config import batches_at_once
from elmo_keras.commands.console import main

with open("text.txt", "w", encoding="utf-8") as file:
    file.write("a few words\\nof a text ünd more\\n" * 8)
options = "--preset {OPTIONS_FILE} --epochs 1 --vocabulary-size 9 --batch-size 2"
files = "--train text.txt --valid text.txt.valid --output model"
open("text.txt.valid", "w").write("of a few words\\n")
assert main(["train", *options.split(), *files.split()]) == 0
elmo = Elmo.from_pretrained("model")
tokens = keras.Input((None,), dtype="string")
model = keras.Model(tokens, keras.layers.Dense(2)(elmo(tokens)))
model.compile("adam", "mse")
model.fit(tf.constant([["a", "few"]]), np.ones((1, 2, 2)), verbose=0)
model.save("model.keras")
again = keras.models.load_model("model.keras")
words = tf.constant([["a", "few"]])
np.testing.assert_array_equal(again.predict(words, verbose=0), model.predict(words, verbose=0))
assert len(Embedder("model", pooling="mean")(["a sentence", "two"])) == 2
assert main(["embed", "text.txt", "vectors.hdf5", "--model", "model"]) == 0
assert main(["export", "model", "exported", "--no-warmup"]) == 0
assert batches_at_once() >= 1
"""


@pytest.mark.journey
def test_the_jobs_work_without_what_other_systems_lack(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", JOBS.replace("{OPTIONS_FILE}", OPTIONS_FILE)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
