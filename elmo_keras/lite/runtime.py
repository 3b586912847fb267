"""Compiled LiteRT models, run by LiteRT's C functions.

Unlike LiteRT's Python interface, they release Python's lock, so that two threads work at
once.
"""

import ctypes
import errno
import functools
import importlib
import importlib.resources
import math
import os
import struct
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

KNOWN = "2.1.6", "2.2.", "2.3."  # versions; others are tried before use
TRIAL = "ELMO_KERAS_LITERT_TRIAL"  # set in the process that tries
ALIGNMENT = 64  # bytes; LiteRT uses aligned memory in place
_POINTER, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_LIBRARY = {"win32": "libLiteRt.dll", "darwin": "libLiteRt.dylib"}
_CPU, _PACKED_ONCE = 1, ":memory"


def aligned(*shape: int, dtype: DTypeLike = np.float32) -> np.ndarray:
    """An array of zeros whose memory LiteRT uses in place."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(n_bytes + ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return memory[first : first + n_bytes].view(dtype).reshape(shape)


class CompiledModel:
    """A flatbuffer, uint8, compiled for one processor, by kernels of XNNPACK only."""

    def __init__(self, data: np.ndarray):
        if data.ctypes.data % ALIGNMENT:
            moved = aligned(data.size, dtype=np.uint8)
            moved[:] = data
            data = moved
        _check_room(data.size)
        self._data = data
        address, size = _POINTER(data.ctypes.data), _SIZE(data.size)
        self._model = _get("CreateModelFromBuffer", _environment(), address, size)
        # The process's first one logs "INFO: Created … XNNPACK delegate": no option is
        # known that would keep it from doing so.
        compiled = _environment(), self._model, _cpu()
        self._handle = _get("CreateCompiledModel", *compiled)
        handles = ("CompiledModel", self._handle), ("Model", self._model)
        weakref.finalize(self, _destroy, handles).atexit = False
        self._signatures = {}
        for index in range(_get("GetNumModelSignatures", self._model, result=_SIZE())):
            signature = _get("GetModelSignature", self._model, _SIZE(index))
            key = _get("GetSignatureKey", signature, result=_TEXT()).decode()
            sides = [_tensors(signature, side) for side in ("Input", "Output")]
            self._signatures[key] = _SIZE(index), *sides
        name = "CompiledModelIsFullyAccelerated"
        if not _get(name, self._handle, result=ctypes.c_bool()):
            raise ValueError(
                "LiteRT has no fast kernel for an operation of this model. Use another "
                "version of ai-edge-litert (2.3 is known to have all), or another "
                "`arithmetic`."
            )

    def bind(
        self, signature: str, arrays: Mapping[str, np.ndarray]
    ) -> Callable[[], None]:
        """A function that runs a signature on these `aligned` arrays, by name, in place."""
        index, *sides = self._signatures.get(signature, (_SIZE(), {}, {}))
        tensors = [tensor for side in sides for tensor in side.items()]
        sizes = {name: _n_floats(array) for name, array in arrays.items()}
        if {name: _size(tensor_type) for name, tensor_type in tensors} != sizes:
            raise ValueError(f"The graph {signature} of the file has other inputs.")
        arguments = [self._handle, index]
        for tensors in sides:
            buffers = (_POINTER * len(tensors))()
            for i, (name, tensor_type) in enumerate(tensors.items()):
                address = _POINTER(arrays[name].ctypes.data)
                memory = tensor_type, address, _SIZE(arrays[name].nbytes), None
                buffers[i] = _get("CreateTensorBufferFromHostMemory", *memory)
            arguments += [_SIZE(len(buffers)), buffers]
        function = library().LiteRtRunCompiledModel

        def run(_keep=(self, arrays)):
            status = function(*arguments)
            if status:
                raise RuntimeError(f"LiteRT could not run {signature}: status {status}")

        return run


def _check_room(n_bytes):
    """Refuses a limit that XNNPACK, which packs weights into a file in memory, exceeds."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if 0 <= limit < 2 * n_bytes:  # XNNPACK ends the process
        raise OSError(
            errno.EFBIG,
            f"This process may write files of at most {limit:,} bytes (`ulimit -f`), and "
            f"LiteRT needs up to {2 * n_bytes:,} for one in memory. Raise the limit",
        )


def import_litert(*part: str) -> Any:
    try:
        return importlib.import_module(".".join(["ai_edge_litert", *part]))
    except ImportError as error:
        raise ImportError(
            "LiteRT is missing: pip install 'ai-edge-litert>=2.1.6'"
        ) from error


@functools.cache
def library() -> ctypes.CDLL:
    """LiteRT's C functions; the error says how to install them."""
    version = import_litert().__version__
    if not version.startswith(KNOWN) and TRIAL not in os.environ and not _works():
        raise ImportError(
            f"The C functions of ai-edge-litert {version} are not those of 2.1.6 to 2.3. "
            "pip install 'ai-edge-litert>=2.1.6,<2.4'"
        )
    name = _LIBRARY.get(sys.platform, "libLiteRt.so")
    package = importlib.resources.files("ai_edge_litert")
    return ctypes.CDLL(str(package / name))


def _works():
    """Whether a small model runs in a process of its own, which wrong arguments can end."""
    code = "from elmo_keras.lite.layers import probe; probe()"
    command = [sys.executable, "-c", code]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), TRIAL: "1"}
    return not subprocess.run(command, env=variables, capture_output=True).returncode


class _EnvironmentOption(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int64), ("kind", ctypes.c_int64), ("value", _SIZE)]


@functools.cache
def _environment():
    # Tags 24 (CPU only) and 25 (messages of errors only), with integers (kind 2): without
    # them, LiteRT reports on standard error which accelerators it did not find.
    options = [_EnvironmentOption(24, 2, 1), _EnvironmentOption(25, 2, 3)]
    return _get("CreateEnvironment", 2, (_EnvironmentOption * 2)(*options))


_nothing_to_destroy = ctypes.CFUNCTYPE(None, _POINTER)(lambda pointer: None)
# LiteRT keeps the address.
_XNNPACK = ctypes.create_string_buffer(
    f'num_threads = 1\nweight_cache_file_path = "{_PACKED_ONCE}"\n'.encode()
)


@functools.cache
def _cpu():
    """Options: one thread, and weights packed once for all signatures."""
    options = _get("CreateOptions")
    _call("SetOptionsHardwareAccelerators", options, _CPU)
    opaque = _get("CreateOpaqueOptions", b"xnnpack", _XNNPACK, _nothing_to_destroy)
    _call("AddOpaqueOptions", options, opaque)
    return options


def _tensors(signature, side):
    """The types of a signature's inputs or outputs, by name."""
    tensors = {}
    for i in range(_get(f"GetNumSignature{side}s", signature, result=_SIZE())):
        name = _get(
            f"GetSignature{side}Name", signature, _SIZE(i), result=_TEXT()
        ).decode()
        tensor = _get(f"GetSignature{side}TensorByIndex", signature, _SIZE(i))
        tensors[name] = ctypes.create_string_buffer(256)
        _call("GetRankedTensorType", tensor, tensors[name])
    return tensors


def _n_floats(array):
    """The number of values that LiteRT may read in place; it takes any bytes as floats."""
    in_place = array.flags.c_contiguous and not array.ctypes.data % ALIGNMENT
    return array.size if array.dtype == np.float32 and in_place else None


def _size(tensor_type):
    """The number of values of a tensor of float32 with one axis, as all of ours."""
    dtype, rank, size = struct.unpack_from("3i", tensor_type)
    return size if (dtype, rank) == (1, 1) else None


def _destroy(handles):
    for name, handle in handles:
        getattr(library(), f"LiteRtDestroy{name}")(handle)


def _get(name, *arguments, result: Any = None) -> Any:
    """The value of a C function's last argument, by default a pointer."""
    value = _POINTER() if result is None else result
    _call(name, *arguments, ctypes.byref(value))
    return value if result is None else value.value


def _call(name, *arguments):
    status = getattr(library(), f"LiteRt{name}")(*arguments)
    if status:
        raise RuntimeError(f"LiteRt{name} failed: status {status}")
