"""A task's command of the checkout that PYTHONPATH names, epoch by epoch.

    python epochs.py TASK [arguments of the task's command]

Each epoch of its `fit` waits for a request; the time ends before anything is scored.
"""

import sys
import time
from runpy import run_module

import keras
from protocol import answer


class OnRequest(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if not sys.stdin.readline():
            sys.exit()
        self.begin = time.perf_counter(), time.process_time()

    def on_epoch_end(self, epoch, logs=None):
        ends = time.perf_counter(), time.process_time()
        seconds, processor = (end - begin for begin, end in zip(self.begin, ends))
        loss = float(logs["loss"])
        answer({"seconds": seconds, "processor": processor, "loss": loss})


def main() -> None:
    fit = keras.Model.fit

    def fit_on_request(model, *args, callbacks=(), **kwargs):
        callbacks = [OnRequest(), *(callbacks or ())]
        return fit(model, *args, callbacks=callbacks, **kwargs)

    keras.Model.fit = fit_on_request
    answer("ready")
    del sys.argv[0]
    run_module(f"elmo_keras.tasks.{sys.argv[0]}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
