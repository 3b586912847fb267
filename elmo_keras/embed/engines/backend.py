"""The choice of the engine that computes vectors: LiteRT or TensorFlow."""

import functools
import os
from pathlib import Path
from typing import Any, Literal

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.base.messages import say
from elmo_keras.embed.engines.engine import LITE
from elmo_keras.lite.runtime import library

LITERT, TENSORFLOW = "litert", "tensorflow"
Backend = Literal["litert", "tensorflow"]
# NVIDIA's driver, also in Windows' subsystem for Linux.
_GPU = Path("/dev/nvidiactl"), Path("/usr/lib/wsl/lib/libcuda.so.1")


def choose_backend(
    model: Any,
    arithmetic: str | None = None,
    backend: str | None = None,
    *,
    on_gpu: bool | None = None,
) -> str:
    """The backend asked for or needed; else LiteRT, unless it is missing or there is a GPU.

    Raises:
        ValueError: the backend can't compute this.
    """
    check_choices((None, LITERT, TENSORFLOW), backend=backend)
    is_path = isinstance(model, (str, os.PathLike))
    needed = None
    if arithmetic == "int8" or (is_path and Path(model).suffix == LITE):
        needed = LITERT
    elif not is_path or arithmetic not in (None, "float32"):
        needed = TENSORFLOW
    if backend and needed not in (None, backend):
        raise ValueError(
            "LiteRT computes `.tflite` files and int8, TensorFlow `Elmo` layers and "
            f"bfloat16. Received: backend={backend!r}, arithmetic={arithmetic!r}. Leave "
            "out `backend`."
        )
    if chosen := backend or needed:
        return chosen
    on_gpu = has_gpu() if on_gpu is None else on_gpu
    return TENSORFLOW if on_gpu or not _has_litert() else LITERT


def has_gpu() -> bool:
    """Whether there is a GPU of NVIDIA that `CUDA_VISIBLE_DEVICES` doesn't hide."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip()
    return visible not in ("", "-1") and any(path.exists() for path in _GPU)


@functools.cache
def _has_litert():
    try:
        library()
    except ImportError as error:
        reason = " ".join(str(error).split())
        say(
            "TensorFlow computes, which starts seconds later and takes more memory than "
            f"LiteRT. {reason}"
        )
        return False
    return True
